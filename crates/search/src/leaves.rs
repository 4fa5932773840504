//! The leaves of a JSON text: its strings, numbers and truth values, without keys.
//!
//! Nothing is parsed into a value, because a leaf must stand in the raw line as it stands here: a number keeps its digits,
//! and a string is cut in two at a lone surrogate, whose escape has no decoded spelling.

use std::borrow::Cow;

/// Calls `each` with the text of every leaf, in order. A string cut at a lone surrogate counts as several.
///
/// `json` is one valid JSON value; of anything else it gives what can be made out.
pub(crate) fn each_leaf<'a>(json: &'a str, each: &mut dyn FnMut(Cow<'a, str>)) {
    let bytes = json.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let start = at;
        match byte {
            b'"' => {
                at = string_end(bytes, start + 1);
                if !is_key(bytes, at + 1) {
                    each_run(json.get(start + 1..at).unwrap_or_default(), each);
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
                at = scalar_end(bytes, start);
                let text = json.get(start..at).unwrap_or_default();
                if text != "null" {
                    each(Cow::Borrowed(text));
                }
            }
            _ => at += 1,
        }
    }
}

/// Where the quote stands that closes a string whose inside starts at `from`.
fn string_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(next) = memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
        if bytes.get(at + next) == Some(&b'"') {
            return at + next;
        }
        at += next + 2;
    }
    bytes.len()
}

/// Whether a colon is the next thing from `at` on.
fn is_key(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b':')
}

fn scalar_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.');
    from + rest.iter().position(|b| !is_part(b)).unwrap_or(rest.len())
}

/// Decodes the inside of a JSON string, in runs between lone surrogates.
fn each_run<'a>(raw: &'a str, each: &mut dyn FnMut(Cow<'a, str>)) {
    let Some(mut next) = memchr::memchr(b'\\', raw.as_bytes()) else {
        return each(Cow::Borrowed(raw));
    };
    let (mut out, mut at) = (String::with_capacity(raw.len()), 0);
    loop {
        out.push_str(raw.get(at..next).unwrap_or_default());
        let (decoded, used) = escape(raw.get(next..).unwrap_or_default());
        match decoded {
            Some(c) => out.push(c),
            None => each(Cow::Owned(std::mem::take(&mut out))),
        }
        at = next + used;
        let rest = raw.as_bytes().get(at..).unwrap_or_default();
        match memchr::memchr(b'\\', rest) {
            Some(distance) => next = at + distance,
            None => break,
        }
    }
    out.push_str(raw.get(at..).unwrap_or_default());
    each(Cow::Owned(out));
}

/// The character that the escape at the start of `text` stands for (`None`: a lone surrogate, or no escape) and its length.
fn escape(text: &str) -> (Option<char>, usize) {
    let simple = match text.as_bytes().get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b @ (b'"' | b'\\' | b'/')) => char::from(*b),
        Some(b'u') => return unicode(text),
        _ => return (None, 1),
    };
    (Some(simple), 2)
}

fn unicode(text: &str) -> (Option<char>, usize) {
    match (unit(text, 0), unit(text, 6)) {
        (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) => {
            (char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)), 12)
        }
        (Some(unit), _) => (char::from_u32(unit), 6),
        (None, _) => (None, 2),
    }
}

/// The UTF-16 unit of the `\uXXXX` at `at`.
fn unit(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn leaves(json: &str) -> Vec<String> {
        let mut found = Vec::new();
        each_leaf(json, &mut |text| found.push(text.into_owned()));
        found
    }

    #[test]
    fn keys_and_nulls_are_no_leaves_and_numbers_keep_their_digits() {
        let json = r#"{"a":["x\"y",1.50,-0e+3,true,null],"b\\":{"c":"","d" : "t"}}"#;
        assert_eq!(leaves(json), ["x\"y", "1.50", "-0e+3", "true", "", "t"]);
        assert_eq!(leaves(r#""a\u00e9\ud83d\ude00\/\n""#), ["aé😀/\n"]);
    }

    #[test]
    fn a_lone_surrogate_cuts_its_string() {
        assert_eq!(leaves(r#"["a\ud800b\udc00\ud800\ud83d\ude00"]"#), ["a", "b", "", "😀"]);
    }

    #[test]
    fn what_is_no_json_ends() {
        for bad in ["\"", "\"\\", "\"\\u12", "{\"a", "tru", "\\", "[1", "\"\\ü\""] {
            let _ = leaves(bad);
        }
    }

    fn collect(value: &Value, out: &mut Vec<String>) {
        match value {
            Value::Null => {}
            Value::String(s) => out.push(s.clone()),
            Value::Array(a) => a.iter().for_each(|v| collect(v, out)),
            Value::Object(m) => m.values().for_each(|v| collect(v, out)),
            other => out.push(other.to_string()),
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..5)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn they_are_the_leaves_of_the_parsed_value(value in json()) {
            let mut expected = Vec::new();
            collect(&value, &mut expected);
            prop_assert_eq!(&leaves(&value.to_string()), &expected);
            prop_assert_eq!(&leaves(&serde_json::to_string_pretty(&value).unwrap()), &expected);
        }
    }
}
