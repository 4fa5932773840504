//! One line to one JSON object, with what real files hold: byte-order marks, NUL runs, invalid UTF-8, lone surrogates.

use serde_json::Value;

/// What a line is.
pub(super) enum Parsed {
    /// A record, and whether something in it had to be replaced to read it.
    Record(Box<Value>, bool),
    /// White space or NULs.
    Blank,
    /// Neither.
    Malformed(String),
}

/// Reads a line.
pub(super) fn parse(line: &[u8]) -> Parsed {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let line = trim(line);
    if line.is_empty() {
        return Parsed::Blank;
    }
    let error = match serde_json::from_slice::<Value>(line) {
        Ok(value) => return object(value, false),
        Err(error) => error,
    };
    // Invalid UTF-8 and lone surrogates are the two things that a JSON parser refuses and writers still write.
    let text = String::from_utf8_lossy(line);
    match serde_json::from_str::<Value>(&replace_lone_surrogates(&text)) {
        Ok(value) => object(value, true),
        Err(_) => Parsed::Malformed(error.to_string()),
    }
}

fn object(value: Value, replaced: bool) -> Parsed {
    if value.is_object() {
        Parsed::Record(Box::new(value), replaced)
    } else {
        Parsed::Malformed("not an object".to_owned())
    }
}

fn trim(line: &[u8]) -> &[u8] {
    let blank = |b: &u8| b.is_ascii_whitespace() || *b == 0;
    let from = line.iter().position(|b| !blank(b)).unwrap_or(line.len());
    let to = line.iter().rposition(|b| !blank(b)).map_or(from, |at| at + 1);
    line.get(from..to).unwrap_or_default()
}

/// Replaces escaped surrogates that have no partner by the replacement character's escape.
fn replace_lone_surrogates(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let unit = |from: usize| {
            let digits = escape.get(from..from + 6)?.strip_prefix("\\u")?;
            u32::from_str_radix(digits, 16).ok()
        };
        let used = match unit(0) {
            Some(0xd800..0xdc00) if matches!(unit(6), Some(0xdc00..0xe000)) => 12,
            Some(0xd800..0xe000) => {
                out.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            Some(_) => 6,
            // A backslash and whatever it escapes, which may be a character of several bytes.
            None => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        out.push_str(escape.get(..used).unwrap_or(escape));
        rest = escape.get(used..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Whether a file's beginning looks like this format: one of its first lines is a record as it writes them.
pub(super) fn looks_like_ours(beginning: &[u8]) -> bool {
    const OWN: &[&str] = &[
        "user",
        "assistant",
        "system",
        "summary",
        "attachment",
        "progress",
        "ai-title",
        "custom-title",
        "last-prompt",
        "queue-operation",
        "file-history-snapshot",
        "mode",
        "permission-mode",
        "agent-name",
        "tag",
    ];
    let lines = beginning.split(|b| *b == b'\n').take(50);
    let mut cut_line_of_ours = false;
    for line in lines {
        match parse(line) {
            Parsed::Record(record, _) => {
                let own_type = record.get("type").and_then(Value::as_str).is_some_and(|t| OWN.contains(&t));
                let own_field = ["sessionId", "uuid", "leafUuid", "parentUuid", "messageId"]
                    .iter()
                    .any(|f| record.get(f).is_some());
                if own_type && own_field {
                    return true;
                }
            }
            Parsed::Malformed(_) => {
                // A first record longer than what was read, or torn: judged by its fields' names.
                cut_line_of_ours |= memchr::memmem::find(line, b"\"sessionId\":").is_some()
                    && memchr::memmem::find(line, b"\"type\":").is_some();
            }
            Parsed::Blank => {}
        }
    }
    cut_line_of_ours
}
