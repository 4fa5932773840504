//! Session ids: the one constructor through which any string that becomes part of a path must go.
//!
//! INVARIANT: a [`SessionId`] never holds a path separator, a leading dot or anything else that could leave its
//! directory. Every way in (arguments, pipes, imports, file names) passes [`SessionId::parse`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The longest id, in bytes.
pub const MAX_ID_BYTES: usize = 128;

/// The id of a session: `^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

/// A string that is no session id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{:?} is not a session id: 1 to 128 letters, digits, dots, underscores or hyphens, starting with a letter or digit",
    shortened(.0)
)]
pub struct InvalidId(pub String);

fn shortened(id: &str) -> String {
    match id.char_indices().nth(60) {
        Some((cut, _)) => format!("{}…", id.get(..cut).unwrap_or_default()),
        None => id.to_owned(),
    }
}

impl SessionId {
    /// Takes a string as an id.
    ///
    /// # Errors
    /// [`InvalidId`] when it does not have the form of one.
    pub fn parse(id: &str) -> Result<Self, InvalidId> {
        let mut bytes = id.bytes();
        let first_ok = bytes.next().is_some_and(|b| b.is_ascii_alphanumeric());
        let rest_ok = bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        if first_ok && rest_ok && id.len() <= MAX_ID_BYTES {
            Ok(Self(id.to_owned()))
        } else {
            Err(InvalidId(id.to_owned()))
        }
    }

    /// Makes a new id, `session-YYYYMMDD-HHMMSS-<8 hex>`, from the time (UTC) and four random bytes.
    #[must_use]
    pub fn generate(now: Timestamp, random: [u8; 4]) -> Self {
        // "2026-11-30T21:00:00.123Z": the digits are cut out of the canonical form.
        let digits: String = now.to_string().chars().filter(char::is_ascii_digit).collect();
        let (day, time) = digits.split_at(8);
        let time = time.get(..6).unwrap_or(time);
        Self(format!("session-{day}-{time}-{:08x}", u32::from_be_bytes(random)))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({})", self.0)
    }
}

impl FromStr for SessionId {
    type Err = InvalidId;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Self::parse(s)
    }
}

impl TryFrom<String> for SessionId {
    type Error = InvalidId;
    fn try_from(s: String) -> Result<Self, Self::Error> {
        Self::parse(&s)
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_id_has_the_documented_form() {
        let now = Timestamp::parse("2026-11-30T21:05:09.123Z").unwrap();
        assert_eq!(SessionId::generate(now, [0, 1, 0xab, 0xff]).as_str(), "session-20261130-210509-0001abff");
    }

    /// Fault 10: an id with `../` wrote outside the store.
    #[test]
    fn nothing_that_could_leave_its_directory_is_an_id() {
        let long = "a".repeat(129);
        for bad in
            ["", ".", "..", "../x", "a/b", "a\\b", ".hidden", "-flag", "_x", "a b", "é", "a\0", "a\n", &long]
        {
            assert!(SessionId::parse(bad).is_err(), "{bad:?}");
        }
        for good in ["a", "A.b_c-1", "0f3b9c3e-8f0b-4a58-9f5f-2b1d6f0c9d11", &"a".repeat(128)] {
            assert!(SessionId::parse(good).is_ok(), "{good:?}");
        }
    }
}
