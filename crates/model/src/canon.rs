//! Canonical JSON text: one value, no white space outside strings, strings escaped the way `serde_json` does.
//!
//! What programs send through a pipe is brought into this form before it is stored, so that raw bytes can be searched with
//! one spelling of every needle. Nothing is re-serialised through a value: numbers keep their digits (a re-serialised float
//! fails its hash), keys keep their order, and an escaped lone surrogate stays escaped, because it has no other spelling.

/// How deeply arrays and objects may be nested.
pub const MAX_DEPTH: usize = 128;

/// Why a text is no JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CanonError {
    /// Not JSON from this byte on.
    #[error("not JSON at byte {offset}")]
    Syntax {
        /// Offset of the first byte that does not fit.
        offset: usize,
    },
    /// Nested too deeply.
    #[error("nested more than {MAX_DEPTH} deep at byte {offset}")]
    TooDeep {
        /// Offset of the bracket that is one too many.
        offset: usize,
    },
}

/// Brings a JSON text into canonical form.
///
/// # Errors
/// [`CanonError`] when the text is not exactly one JSON value, or nested more than [`MAX_DEPTH`] deep.
pub fn canonical(text: &str) -> Result<String, CanonError> {
    let mut writer = Writer { text: text.as_bytes(), at: 0, out: Vec::with_capacity(text.len()) };
    writer.space();
    writer.value(0)?;
    writer.space();
    if writer.at < writer.text.len() {
        return Err(writer.syntax());
    }
    // Every byte written is ASCII, a whole run of the (UTF-8) input, or an encoded char.
    String::from_utf8(writer.out).map_err(|e| CanonError::Syntax { offset: e.utf8_error().valid_up_to() })
}

struct Writer<'a> {
    text: &'a [u8],
    at: usize,
    out: Vec<u8>,
}

impl Writer<'_> {
    fn syntax(&self) -> CanonError {
        CanonError::Syntax { offset: self.at }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes `byte` if it comes next, and writes it.
    fn take(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        if here {
            self.out.push(byte);
            self.at += 1;
        }
        here
    }

    fn expect(&mut self, byte: u8) -> Result<(), CanonError> {
        if self.take(byte) { Ok(()) } else { Err(self.syntax()) }
    }

    fn value(&mut self, depth: usize) -> Result<(), CanonError> {
        if depth >= MAX_DEPTH && matches!(self.peek(), Some(b'{' | b'[')) {
            return Err(CanonError::TooDeep { offset: self.at });
        }
        match self.peek() {
            Some(b'{') => self.members(depth),
            Some(b'[') => self.elements(depth),
            Some(b'"') => self.string(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn members(&mut self, depth: usize) -> Result<(), CanonError> {
        self.expect(b'{')?;
        self.space();
        if self.take(b'}') {
            return Ok(());
        }
        loop {
            self.space();
            self.string()?;
            self.space();
            self.expect(b':')?;
            self.space();
            self.value(depth + 1)?;
            self.space();
            if !self.take(b',') {
                return self.expect(b'}');
            }
        }
    }

    fn elements(&mut self, depth: usize) -> Result<(), CanonError> {
        self.expect(b'[')?;
        self.space();
        if self.take(b']') {
            return Ok(());
        }
        loop {
            self.space();
            self.value(depth + 1)?;
            self.space();
            if !self.take(b',') {
                return self.expect(b']');
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), CanonError> {
        if !self.text.get(self.at..).unwrap_or_default().starts_with(word) {
            return Err(self.syntax());
        }
        self.out.extend_from_slice(word);
        self.at += word.len();
        Ok(())
    }

    fn digits(&mut self) -> Result<(), CanonError> {
        let start = self.at;
        while let Some(b @ b'0'..=b'9') = self.peek() {
            self.out.push(b);
            self.at += 1;
        }
        if self.at == start { Err(self.syntax()) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<(), CanonError> {
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), CanonError> {
        self.expect(b'"')?;
        loop {
            let run = self.text.get(self.at..).unwrap_or_default();
            let plain =
                run.iter().position(|b| matches!(b, b'"' | b'\\' | 0..=0x1f)).ok_or_else(|| self.syntax())?;
            self.out.extend_from_slice(run.get(..plain).unwrap_or_default());
            self.at += plain;
            match self.peek() {
                Some(b'"') => return self.expect(b'"'),
                Some(b'\\') => self.escape()?,
                _ => return Err(self.syntax()),
            }
        }
    }

    fn escape(&mut self) -> Result<(), CanonError> {
        let kind = self.text.get(self.at + 1).copied();
        match kind {
            Some(b @ (b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't')) => {
                self.out.extend_from_slice(&[b'\\', b]);
                self.at += 2;
            }
            Some(b'/') => {
                self.out.push(b'/');
                self.at += 2;
            }
            Some(b'u') => {
                let (unit, mut used) = (self.unit(self.at)?, 6);
                let mut code = unit;
                if (0xd800..0xdc00).contains(&unit)
                    && let Ok(low @ 0xdc00..0xe000) = self.unit(self.at + 6)
                {
                    code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                    used = 12;
                }
                self.at += used;
                self.char(code);
            }
            _ => return Err(self.syntax()),
        }
        Ok(())
    }

    /// The UTF-16 unit of a `\uXXXX` that starts at `at`.
    fn unit(&self, at: usize) -> Result<u32, CanonError> {
        let digits = self.text.get(at..at + 6).and_then(|t| t.strip_prefix(b"\\u"));
        let digits = digits.filter(|d| d.iter().all(u8::is_ascii_hexdigit)).ok_or_else(|| self.syntax())?;
        let text = std::str::from_utf8(digits).map_err(|_| self.syntax())?;
        u32::from_str_radix(text, 16).map_err(|_| self.syntax())
    }

    /// Writes a code point as `serde_json` would; a lone surrogate keeps its escape.
    fn char(&mut self, code: u32) {
        match char::from_u32(code) {
            Some('"') => self.out.extend_from_slice(b"\\\""),
            Some('\\') => self.out.extend_from_slice(b"\\\\"),
            Some('\u{8}') => self.out.extend_from_slice(b"\\b"),
            Some('\u{c}') => self.out.extend_from_slice(b"\\f"),
            Some('\n') => self.out.extend_from_slice(b"\\n"),
            Some('\r') => self.out.extend_from_slice(b"\\r"),
            Some('\t') => self.out.extend_from_slice(b"\\t"),
            Some(c) if c >= ' ' => self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            _ => self.out.extend_from_slice(format!("\\u{code:04x}").as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn space_goes_and_strings_get_one_spelling() {
        let text =
            " { \"a\" : [ 1.50 , -0e+3 ,\n true ] , \"\\u00e9\\/\\ud83d\\ude00\\u0009\\ud800\" : null } ";
        assert_eq!(canonical(text).unwrap(), "{\"a\":[1.50,-0e+3,true],\"é/😀\\t\\ud800\":null}");
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for bad in [
            "",
            "{",
            "{}x",
            "[1,]",
            "{\"a\"}",
            "01",
            "1.",
            "\"a\nb\"",
            "\"\\x\"",
            "nul",
            "{\"a\":1,}",
            "\"\\u12\"",
        ] {
            assert!(canonical(bad).is_err(), "{bad:?}");
        }
        assert_eq!(canonical(&"[".repeat(100_000)), Err(CanonError::TooDeep { offset: MAX_DEPTH }));
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
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
        fn it_is_what_serde_json_writes(value in json()) {
            let compact = serde_json::to_string(&value).unwrap();
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(&canonical(&compact).unwrap(), &compact);
            prop_assert_eq!(&canonical(&pretty).unwrap(), &compact);
        }

        #[test]
        fn it_accepts_what_serde_json_accepts(text in "[\\[\\]{}\",:0-9eE+.\\\\ntrufalse -]{0,24}") {
            let theirs = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
            prop_assert_eq!(canonical(&text).is_ok(), theirs, "{}", text);
        }
    }
}
