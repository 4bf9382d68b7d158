//! What a card may say, and numbers from text. No card layout here.

/// The value of a card (FITS 4.0, 4.2).
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value: the field is blank (FITS 4.0, 4.1.2.3), or the card is commentary.
    Undefined,
    /// T or F (FITS 4.0, 4.2.2).
    Logical(bool),
    /// An integer of at most 64 bits (FITS 4.0, 4.2.3).
    Integer(i64),
    /// A real, exponents E and D alike (FITS 4.0, 4.2.4); also an integer beyond 64 bits.
    Real(f64),
    /// A complex integer, real part first (FITS 4.0, 4.2.5).
    ComplexInteger(i64, i64),
    /// A complex number, real part first (FITS 4.0, 4.2.6).
    Complex(f64, f64),
    /// A string, quotes undone, trailing blanks gone (FITS 4.0, 4.2.1).
    Text(String),
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Logical(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Integer(i64::from(value))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

/// A value without quotes: T, F, a number or a pair of numbers in brackets.
pub(super) fn bare(token: &[u8]) -> Option<Value> {
    match token {
        b"T" => return Some(Value::Logical(true)),
        b"F" => return Some(Value::Logical(false)),
        _ => {}
    }
    match token
        .strip_prefix(b"(")
        .and_then(|rest| rest.strip_suffix(b")"))
    {
        Some(pair) => complex(pair),
        None => number(token),
    }
}

/// `re, im` without the brackets.
fn complex(pair: &[u8]) -> Option<Value> {
    let mut parts = pair
        .split(|&byte| byte == b',')
        .map(|part| number(part.trim_ascii()));
    let (re, im) = (parts.next()??, parts.next()??);
    if parts.next().is_some() {
        return None;
    }
    match (re, im) {
        (Value::Integer(re), Value::Integer(im)) => Some(Value::ComplexInteger(re, im)),
        (re, im) => Some(Value::Complex(as_real(&re)?, as_real(&im)?)),
    }
}

/// An integer or real as a real.
pub(crate) fn as_real(value: &Value) -> Option<f64> {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "a real was asked for")]
        Value::Integer(integer) => Some(*integer as f64),
        Value::Real(real) => Some(*real),
        _ => None,
    }
}

/// An integer (a real if it needs more than 64 bits) or a real.
fn number(token: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(token).ok()?;
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().map(Value::Integer).ok().or_else(|| real(text));
    }
    let (mantissa, exponent) = match unsigned.split_once(['E', 'e', 'D', 'd']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    if !is_mantissa(mantissa) || !exponent.is_none_or(is_exponent) {
        return None;
    }
    real(&text.replace(['D', 'd'], "E"))
}

/// Digits with at most one point, and at least one digit.
fn is_mantissa(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty())
}

/// Digits with an optional sign.
fn is_exponent(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// A finite real from text whose form was checked.
fn real(text: &str) -> Option<Value> {
    text.parse()
        .ok()
        .filter(|real: &f64| real.is_finite())
        .map(Value::Real)
}
