//! Redis strings: bytes, sometimes read as integers.

use std::fmt;
use std::rc::Rc;

use host::{Digest, Fold};
use spec::Token;

/// The value of a key. Copies share the bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Value(Rc<[u8]>);

impl Value {
    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The value as a 64-bit integer, if Redis takes it for one: decimal, without a plus sign, leading
    /// zeros or spaces.
    #[must_use]
    pub fn as_integer(&self) -> Option<i64> {
        let text = std::str::from_utf8(&self.0).ok()?;
        let digits = text.strip_prefix('-').unwrap_or(text);
        let canonical = text == "0" || digits.starts_with(|first| matches!(first, '1'..='9'));
        canonical.then(|| text.parse().ok()).flatten()
    }
}

impl Value {
    /// The first sixteen hexadecimal digits as a number: what an owner value is as a fencing token. What does not
    /// begin with a digit is 0.
    #[must_use]
    pub fn as_token(&self) -> Token {
        let digits = self.0.iter().take(16).map_while(|byte| char::from(*byte).to_digit(16));
        Token(digits.fold(0, |number, digit| number << 4 | u64::from(digit)))
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        text.as_bytes().into()
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self(number.to_string().into_bytes().into())
    }
}

impl Digest for Value {
    fn digest(&self, fold: &mut Fold) {
        fold.bytes(&self.0);
    }
}

impl fmt::Display for Value {
    /// In quotes, escaped. Long values are owner values: their first bytes tell them apart.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WHOLE: usize = 12;
        const START: usize = 4;
        if self.0.len() <= WHOLE {
            write!(f, "\"{}\"", self.0.escape_ascii())
        } else {
            write!(f, "\"{}…\"", self.0[..START].escape_ascii())
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::Value;

    #[test]
    fn only_canonical_decimals_are_integers() {
        for number in [0, 1, -1, 10, i64::MAX, i64::MIN] {
            assert_eq!(Value::from(number).as_integer(), Some(number));
        }
        for text in ["", "-", "-0", "00", "01", "-01", "+1", " 1", "1 ", "1.5", "abc", "--1", "9223372036854775808"] {
            assert_eq!(Value::from(text).as_integer(), None, "{text}");
        }
    }

    #[test]
    fn long_values_are_shown_by_their_first_bytes() {
        assert_eq!(Value::from("33").to_string(), "\"33\"");
        assert_eq!(Value::from("7f3a5c00112233445566").to_string(), "\"7f3a…\"");
        assert_eq!(Value::from(&b"a\"\xff"[..]).to_string(), r#""a\"\xff""#);
    }
}
