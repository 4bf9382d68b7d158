//! Header cards as 80 bytes: written in order, nothing checked, so that hostile ones are easy.
//! Independent of the code under test.

/// One header card.
pub type RawCard = [u8; 80];

/// A header value of a test.
#[derive(Clone, Debug)]
pub enum Val {
    Logical(bool),
    Integer(i64),
    Real(f64),
    Text(String),
}

impl From<bool> for Val {
    fn from(v: bool) -> Self {
        Self::Logical(v)
    }
}
impl From<i64> for Val {
    fn from(v: i64) -> Self {
        Self::Integer(v)
    }
}
impl From<i32> for Val {
    fn from(v: i32) -> Self {
        Self::Integer(v.into())
    }
}
impl From<usize> for Val {
    fn from(v: usize) -> Self {
        Self::Integer(i64::try_from(v).unwrap())
    }
}
impl From<f64> for Val {
    fn from(v: f64) -> Self {
        Self::Real(v)
    }
}
impl From<&str> for Val {
    fn from(v: &str) -> Self {
        Self::Text(v.to_owned())
    }
}

impl Val {
    fn written(&self) -> String {
        match self {
            Self::Logical(v) => format!("{:>20}", if *v { "T" } else { "F" }),
            Self::Integer(v) => format!("{v:>20}"),
            Self::Real(v) => format!("{:>20}", real(*v)),
            Self::Text(v) => format!("{:<20}", format!("'{:<8}'", v.replace('\'', "''"))),
        }
    }
}

fn real(v: f64) -> String {
    assert!(v.is_finite(), "a card cannot hold {v}");
    let s = format!("{v:E}");
    if s.contains('.') {
        s
    } else {
        s.replacen('E', ".0E", 1)
    }
}

/// Pads a text to one card.
pub fn raw(text: impl AsRef<[u8]>) -> RawCard {
    let text = text.as_ref();
    assert!(
        text.len() <= 80,
        "card too long: {}",
        String::from_utf8_lossy(text)
    );
    let mut card = [b' '; 80];
    card[..text.len()].copy_from_slice(text);
    card
}

/// The keyword of a card: the first eight bytes without trailing blanks.
pub fn keyword(card: &RawCard) -> String {
    String::from_utf8_lossy(&card[..8]).trim_end().to_owned()
}

/// An ordered list of cards, without END.
#[derive(Clone, Debug, Default)]
pub struct Cards(pub Vec<RawCard>);

impl Cards {
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the card of this keyword, or appends one.
    pub fn set(mut self, key: &str, value: impl Into<Val>) -> Self {
        let card = raw(format!("{key:<8}= {}", value.into().written()));
        match self.0.iter_mut().find(|c| keyword(c) == key) {
            Some(old) => *old = card,
            None => self.0.push(card),
        }
        self
    }

    /// Appends even if the keyword is there already.
    pub fn again(mut self, key: &str, value: impl Into<Val>) -> Self {
        self.0
            .push(raw(format!("{key:<8}= {}", value.into().written())));
        self
    }

    pub fn without(mut self, key: &str) -> Self {
        self.0.retain(|c| keyword(c) != key);
        self
    }

    /// Appends any bytes as a card.
    pub fn line(mut self, text: impl AsRef<[u8]>) -> Self {
        self.0.push(raw(text));
        self
    }

    pub fn history(self, text: &str) -> Self {
        self.line(format!("HISTORY {text}"))
    }

    pub fn and(mut self, more: &Self) -> Self {
        self.0.extend_from_slice(&more.0);
        self
    }
}
