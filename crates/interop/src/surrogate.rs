//! Lone surrogates in `\u` escapes: what JavaScript writes when it cuts a string between two halves of a character, and
//! what no JSON parser in Rust accepts. They are replaced before parsing; the record's raw bytes keep them.

use std::borrow::Cow;

use memchr::{memchr, memmem};

/// Replaces lone surrogates by `\ufffd`, in place of the same length. Says how many there were.
pub(crate) fn replace(text: &str) -> (Cow<'_, str>, u64) {
    let bytes = text.as_bytes();
    if memmem::find(bytes, b"\\ud").is_none() && memmem::find(bytes, b"\\uD").is_none() {
        return (Cow::Borrowed(text), 0);
    }
    let (mut out, mut copied, mut at, mut count) = (String::new(), 0, 0, 0);
    while let Some(step) = bytes.get(at..).and_then(|rest| memchr(b'\\', rest)) {
        let here = at + step;
        at = match escape(bytes, here) {
            Some(0xD800..=0xDBFF) if matches!(escape(bytes, here + 6), Some(0xDC00..=0xDFFF)) => here + 12,
            Some(0xD800..=0xDFFF) => {
                out.push_str(text.get(copied..here).unwrap_or_default());
                out.push_str("\\ufffd");
                copied = here + 6;
                count += 1;
                copied
            }
            Some(_) => here + 6,
            // Another escape, `\\` above all: its second character begins none.
            None => here + 2,
        };
    }
    if count == 0 {
        return (Cow::Borrowed(text), 0);
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    (Cow::Owned(out), count)
}

/// The value of the `\uXXXX` escape at `at`.
fn escape(bytes: &[u8], at: usize) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = bytes.get(at..at + 6)? else { return None };
    digits.iter().try_fold(0, |value, digit| Some(value * 16 + char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::replace;

    #[test]
    fn only_lone_ones_are_replaced() {
        for (text, expected, count) in [
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#, 0),
            (r#""\ud83d""#, r#""\ufffd""#, 1),
            (r#""\uDE00\ud83d x""#, r#""\ufffd\ufffd x""#, 2),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#, 1),
            (r#""\\ud83d""#, r#""\\ud83d""#, 0),
            (r#""\\\ud83d""#, r#""\\\ufffd""#, 1),
            (r#""\ud8"#, r#""\ud8"#, 0),
        ] {
            let (out, n) = replace(text);
            assert_eq!((out.as_ref(), n), (expected, count), "{text}");
        }
    }
}
