//! A small reader of unit texts: factors with exponents, products, quotients, brackets, remarks
//! (FITS 4.0, section 4.3.1). It adds up exponents by kind; what they mean is decided above.

use super::names::{Kind, kind};

/// A `BUNIT` longer than this is prose, not a unit.
const LONGEST_CHARS: usize = 200;
/// Brackets in brackets, at most.
const DEEPEST: usize = 8;
/// Exponents beyond this are misprints.
const LARGEST_EXPONENT: f64 = 99.0;

/// Net exponents by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Powers {
    pub beam: f64,
    pub pixel: f64,
    pub solid_angle: f64,
    pub angle: f64,
    pub flux: f64,
    pub temperature: f64,
    pub logarithmic: bool,
}

impl Powers {
    fn of(kind: Kind) -> Self {
        let mut one = Self::default();
        match kind {
            Kind::Beam => one.beam = 1.0,
            Kind::Pixel => one.pixel = 1.0,
            Kind::SolidAngle => one.solid_angle = 1.0,
            Kind::Angle => one.angle = 1.0,
            Kind::Flux => one.flux = 1.0,
            Kind::Temperature => one.temperature = 1.0,
            Kind::Logarithm => one.logarithmic = true,
            Kind::Other => {}
        }
        one
    }

    /// `self` times `other` to the power `exponent`.
    fn times(self, other: Self, exponent: f64) -> Self {
        Self {
            beam: self.beam + exponent * other.beam,
            pixel: self.pixel + exponent * other.pixel,
            solid_angle: self.solid_angle + exponent * other.solid_angle,
            angle: self.angle + exponent * other.angle,
            flux: self.flux + exponent * other.flux,
            temperature: self.temperature + exponent * other.temperature,
            logarithmic: self.logarithmic || other.logarithmic,
        }
    }
}

/// The net exponents of a unit text, or `None` if it is not made of known units.
pub fn powers(text: &str) -> Option<Powers> {
    let chars: Vec<char> = text.chars().take(LONGEST_CHARS + 1).collect();
    if chars.len() > LONGEST_CHARS {
        return None;
    }
    product(&chars, 0)
}

/// One product, the whole of `chars`.
fn product(chars: &[char], depth: usize) -> Option<Powers> {
    if depth > DEEPEST {
        return None;
    }
    let mut at = Cursor { chars, depth };
    let mut net = None;
    loop {
        let sign = at.operator(net.is_some())?;
        if at.chars.is_empty() {
            // Nothing at all, or an operator with nothing after it.
            return if sign == Operator::Blank { net } else { None };
        }
        let exponent = if sign == Operator::Divide { -1.0 } else { 1.0 };
        match at.factor()? {
            Factor::Units(units) => {
                net = Some(net.unwrap_or_default().times(units, exponent));
            }
            Factor::Remark { beam } => {
                // Only `K (main beam)` and the like may speak of a beam in passing.
                let before = net.filter(|_| sign != Operator::Divide)?;
                if beam && before.temperature <= 0.0 {
                    return None;
                }
            }
        }
    }
}

/// What stands between two factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    /// Blanks, or nothing.
    Blank,
    Multiply,
    Divide,
}

/// What one factor turned out to be.
enum Factor {
    Units(Powers),
    /// A bracket that is no unit; `beam` tells whether it speaks of one.
    Remark {
        beam: bool,
    },
}

/// The characters still to be read.
struct Cursor<'a> {
    chars: &'a [char],
    depth: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<char> {
        self.chars.first().copied()
    }

    fn skip(&mut self, count: usize) -> &'a [char] {
        let (taken, rest) = self.chars.split_at(count.min(self.chars.len()));
        self.chars = rest;
        taken
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a [char] {
        self.skip(self.chars.iter().take_while(|c| wanted(**c)).count())
    }

    fn starts_with(&self, word: &str) -> bool {
        let mut chars = self.chars.iter();
        word.chars()
            .all(|w| chars.next().is_some_and(|c| c.eq_ignore_ascii_case(&w)))
    }

    /// At most one operator with blanks around it; a product only where a factor came before.
    fn operator(&mut self, after_factor: bool) -> Option<Operator> {
        self.take_while(char::is_whitespace);
        let found = match self.peek() {
            Some('/') => Operator::Divide,
            Some('*' | '.' | '\u{b7}') if after_factor => Operator::Multiply,
            _ if self.starts_with("per ") || self.starts_with("per(") => {
                self.skip(2);
                Operator::Divide
            }
            _ => return Some(Operator::Blank),
        };
        self.skip(1);
        self.take_while(char::is_whitespace);
        match self.peek() {
            Some('/' | '*' | '.') => None,
            _ => Some(found),
        }
    }

    fn factor(&mut self) -> Option<Factor> {
        match self.peek()? {
            '(' | '[' => self.group(),
            c if c.is_ascii_digit() || c == '.' => {
                self.number()?;
                self.exponent()?;
                Some(Factor::Units(Powers::default()))
            }
            c if is_name(c) => self.unit().map(Factor::Units),
            _ => None,
        }
    }

    /// A name and its exponent, or a function of a group.
    fn unit(&mut self) -> Option<Powers> {
        let name: String = self.take_while(is_name).iter().collect();
        if name.eq_ignore_ascii_case("sqrt") {
            return product(self.bracket()?, self.depth + 1)
                .map(|inner| Powers::default().times(inner, 0.5));
        }
        let unit = Powers::of(kind(&name)?);
        Some(Powers::default().times(unit, self.exponent()?))
    }

    fn group(&mut self) -> Option<Factor> {
        let inner = self.bracket()?;
        let Some(units) = product(inner, self.depth + 1) else {
            let text: String = inner.iter().collect::<String>().to_lowercase();
            let remark = text.chars().any(char::is_alphabetic);
            let beam = text.contains("beam") || text.contains("bm");
            return remark.then_some(Factor::Remark { beam });
        };
        Some(Factor::Units(
            Powers::default().times(units, self.exponent()?),
        ))
    }

    /// The inside of the bracket that begins here.
    fn bracket(&mut self) -> Option<&'a [char]> {
        if !matches!(self.peek()?, '(' | '[' | '{') {
            return None;
        }
        let mut open = 0_usize;
        let end = self.chars.iter().position(|c| {
            match c {
                '(' | '[' | '{' => open += 1,
                ')' | ']' | '}' => open -= 1,
                _ => {}
            }
            open == 0
        })?;
        self.skip(end + 1).get(1..end)
    }

    /// The exponent here, 1 where there is none; `None` where one is begun and not finished.
    fn exponent(&mut self) -> Option<f64> {
        let marked = if self.starts_with("**") {
            self.skip(2);
            true
        } else if self.peek() == Some('^') {
            self.skip(1);
            true
        } else {
            false
        };
        let value = match self.peek() {
            Some('(' | '{') if marked || self.numeric_bracket() => {
                let mut inside = Cursor {
                    chars: self.bracket()?,
                    depth: self.depth,
                };
                inside.fraction()?
            }
            Some('+' | '-') => self.signed()?,
            Some(c) if c.is_ascii_digit() => self.signed()?,
            _ if marked => return None,
            _ => 1.0,
        };
        (value.is_finite() && value.abs() <= LARGEST_EXPONENT).then_some(value)
    }

    /// Whether a bracket with nothing but a number begins here, as in `m(-2)`.
    fn numeric_bracket(&self) -> bool {
        let mut ahead = Cursor {
            chars: self.chars,
            depth: self.depth,
        };
        let numeric = |c: &char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | '/' | ' ');
        ahead
            .bracket()
            .is_some_and(|inside| !inside.is_empty() && inside.iter().all(numeric))
    }

    /// `3`, `-1.5` or `2/3`, to the end.
    fn fraction(&mut self) -> Option<f64> {
        self.take_while(char::is_whitespace);
        let mut value = self.signed()?;
        self.take_while(char::is_whitespace);
        if self.peek() == Some('/') {
            self.skip(1);
            value /= self.signed()?;
        }
        self.take_while(char::is_whitespace);
        self.chars.is_empty().then_some(value)
    }

    fn signed(&mut self) -> Option<f64> {
        let sign = match self.peek()? {
            '-' => -1.0,
            _ => 1.0,
        };
        self.skip(usize::from(matches!(self.peek(), Some('+' | '-'))));
        Some(sign * self.decimal()?)
    }

    /// Digits with at most one point among them.
    fn decimal(&mut self) -> Option<f64> {
        let whole = self.take_while(|c| c.is_ascii_digit());
        let mut text: String = whole.iter().collect();
        let point_and_digit = matches!(self.chars, ['.', digit, ..] if digit.is_ascii_digit());
        if point_and_digit {
            text.push('.');
            self.skip(1);
            text.extend(self.take_while(|c| c.is_ascii_digit()));
        }
        text.parse().ok()
    }

    /// A numeric factor such as `10`, `0.001` or `1e-3`.
    fn number(&mut self) -> Option<f64> {
        let mantissa = self.decimal()?;
        let digits = match self.chars {
            ['e' | 'E' | 'd' | 'D', '+' | '-', digit, ..] => digit,
            ['e' | 'E' | 'd' | 'D', digit, ..] => digit,
            _ => return Some(mantissa),
        };
        if digits.is_ascii_digit() {
            self.skip(1);
            self.signed()?;
        }
        Some(mantissa)
    }
}

/// A character of a unit's name: letters of any script, the degree of `%` included.
fn is_name(c: char) -> bool {
    c.is_alphabetic() || c == '%' || c == '\u{b5}'
}
