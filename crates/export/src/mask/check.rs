//! What tells a secret from what only looks like one: entropy, classes of characters, boundaries.

use serde::Deserialize;

use super::rule::{Left, Right};

/// What a secret has to consist of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Needs {
    #[default]
    Nothing,
    LetterAndDigit,
    /// A digit, or punctuation that names don't have.
    DigitOrMark,
}

impl Needs {
    pub(super) fn are_met_by(self, secret: &str) -> bool {
        let digit = || secret.bytes().any(|b| b.is_ascii_digit());
        match self {
            Self::Nothing => true,
            Self::LetterAndDigit => digit() && secret.bytes().any(|b| b.is_ascii_alphabetic()),
            Self::DigitOrMark => {
                digit()
                    || secret.bytes().any(|b| b.is_ascii_punctuation() && !matches!(b, b'_' | b'-' | b'.'))
            }
        }
    }
}

/// Shannon's entropy in bits per byte.
pub(super) fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let len = text.len() as f64;
    let share = |count: &u32| f64::from(*count) / len;
    counts.iter().filter(|count| **count > 0).map(|count| -share(count) * share(count).log2()).sum()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a match may begin behind `before`.
pub(super) fn left_is_met(left: Left, before: &[u8]) -> bool {
    match left {
        Left::Any => true,
        Left::Digit => before.last().is_some_and(u8::is_ascii_digit),
        Left::Word => before.last().is_none_or(|last| !is_word(*last) || ends_an_escape(before)),
    }
}

/// Whether a match may end before `after`.
pub(super) fn right_is_met(right: Right, after: &[u8]) -> bool {
    right == Right::Any || after.first().is_none_or(|first| !is_word(*first))
}

/// A letter that belongs to an escape is no letter: `\n` in JSON, `%3D` in an address.
fn ends_an_escape(before: &[u8]) -> bool {
    match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', a, b] => a.is_ascii_hexdigit() && b.is_ascii_hexdigit(),
        _ => ends_a_colour(before),
    }
}

/// `\u001b[31m`, as a terminal's colours look in JSON.
fn ends_a_colour(before: &[u8]) -> bool {
    let Some((b'm', rest)) = before.split_last() else { return false };
    let digits = rest.iter().rev().take(16).take_while(|b| b.is_ascii_digit() || **b == b';').count();
    let rest = rest.get(..rest.len() - digits).unwrap_or_default();
    rest.ends_with(b"\x1b[") || rest.to_ascii_lowercase().ends_with(b"1b[") || rest.ends_with(b"\\e[")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_shannons() {
        assert!(entropy("") == 0.0 || entropy("").is_nan());
        assert!(entropy("aaaa").abs() < 1e-9);
        assert!((entropy("abcd") - 2.0).abs() < 1e-9);
    }

    #[test]
    fn an_escapes_letter_is_no_word() {
        for before in [&b"a "[..], b"", b"=", b"\\n", b"%3D", b"\x1b[1;31m", b"\\u001b[0m"] {
            assert!(left_is_met(Left::Word, before), "{before:?}");
        }
        for before in [&b"a"[..], b"_", b"n", b"m", b"[m1", b"om"] {
            assert!(!left_is_met(Left::Word, before), "{before:?}");
        }
    }
}
