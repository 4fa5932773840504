//! What goes into and comes out of a tool, as providers accept it: arguments as an object, output as bounded text.

use serde_json::Value;

use crate::fold::Fate;
use crate::json::Json;
use crate::payload::ToolResult;

/// What stands for a result that a summary covers, when its call is still shown.
pub(super) const SUMMARISED: &str = "Done; the result is part of the summary of this conversation.";

/// Arguments as a JSON object. Anything else is wrapped, and what no parser would read is carried as text.
pub(super) fn arguments(input: &Json) -> String {
    let text = input.as_str();
    let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
    match parsed(text) {
        Some(Value::Object(_)) => text.to_owned(),
        Some(value) => wrapped(value),
        // A lone surrogate has a spelling in JSON but is no text; a number may be out of everyone's range.
        None => match parsed(&without_lone_surrogates(text)) {
            Some(object @ Value::Object(_)) => object.to_string(),
            Some(value) => wrapped(value),
            None => wrapped(Value::from(text)),
        },
    }
}

fn wrapped(value: Value) -> String {
    serde_json::json!({ "value": value }).to_string()
}

/// Replaces `\ud800`-style escapes that have no partner by the replacement character.
fn without_lone_surrogates(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let (taken, kept) = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (12, None),
            (Some(0xd800..=0xdfff), _) => (6, Some("\\ufffd")),
            (Some(_), _) => (6, None),
            // Two bytes for any other escape, so that `\\` does not hide what follows.
            (None, _) => (2, None),
        };
        let (escape, after) = escape.split_at_checked(taken).unwrap_or((escape, ""));
        out.push_str(kept.unwrap_or(escape));
        rest = after;
    }
    out + rest
}

/// The code unit that a text begins with, spelled `\uXXXX`.
fn unit(text: &str) -> Option<u16> {
    text.strip_prefix("\\u")?.get(..4).and_then(|hex| u16::from_str_radix(hex, 16).ok())
}

/// A result's text, at most `max_bytes` of it and a note on the rest.
pub(super) fn result_text(result: &ToolResult, max_bytes: usize) -> String {
    let mut text = bounded(plain_text(&result.output), max_bytes);
    if result.blob.is_some() {
        text.push_str("\n[only the beginning is here; the session keeps the whole output]");
    }
    text
}

/// The output as text: a string as it is, a list of blocks block by block, anything else as JSON.
fn plain_text(output: &Json) -> String {
    let text = |json: &str| serde_json::from_str::<String>(json).ok();
    if let Some(text) = text(output.as_str()).or_else(|| text(&without_lone_surrogates(output.as_str()))) {
        return text;
    }
    match serde_json::from_str::<Value>(output.as_str()) {
        Ok(Value::Null) => String::new(),
        Ok(Value::Array(blocks)) => blocks_text(&blocks).unwrap_or_else(|| output.as_str().to_owned()),
        _ => output.as_str().to_owned(),
    }
}

/// The text of `[{"type":"text","text":"…"}, …]`; none when it is another kind of list.
fn blocks_text(blocks: &[Value]) -> Option<String> {
    let texts: Option<Vec<String>> = blocks
        .iter()
        .map(|block| match (block.get("type")?.as_str()?, block.get("text")) {
            ("text", Some(Value::String(text))) => Some(text.clone()),
            (kind, _) => Some(format!("[{kind} left out]")),
        })
        .collect();
    texts.filter(|texts| !texts.is_empty()).map(|texts| texts.join("\n"))
}

/// Cuts a long output at character boundaries, keeps three quarters from its beginning and one from its end (where a build says
/// what went wrong), and says what is missing.
fn bounded(text: String, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text;
    }
    let head = text.floor_char_boundary(max_bytes - max_bytes / 4);
    let tail = text.ceil_char_boundary(text.len() - max_bytes / 4);
    let (begins, ends) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    format!(
        "{begins}\n[{} of {} bytes left out here; the session keeps the whole output]\n{ends}",
        tail - head,
        text.len()
    )
}

/// What the model is told of a call that has no result.
pub(super) fn closing_words(fate: Fate) -> &'static str {
    match fate {
        Fate::NotStarted => {
            "Not started: the session was interrupted before this tool began. Nothing happened; it is safe to retry."
        }
        Fate::OutcomeUnknown => {
            "Outcome unknown: the session was interrupted while this tool may have been running. \
             Check what it did before retrying."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_always_an_object() {
        for (input, expected) in [
            (r#"{"a":1.50}"#, r#"{"a":1.50}"#),
            ("[1]", r#"{"value":[1]}"#),
            (r#""ls""#, r#"{"value":"ls"}"#),
            (r#"{"a":"\ud800x"}"#, "{\"a\":\"\u{fffd}x\"}"),
            (r#"{"a":"\ud83d\ude00\udc00"}"#, "{\"a\":\"😀\u{fffd}\"}"),
            (r#"{"a":1e999}"#, r#"{"value":"{\"a\":1e999}"}"#),
        ] {
            assert_eq!(arguments(&Json::parse(input).unwrap()), expected, "{input}");
        }
        assert_eq!(without_lone_surrogates(r"\\ud800 \ud83d"), r"\\ud800 \ufffd");
        assert_eq!(without_lone_surrogates("\\é\\"), "\\é\\");
    }

    /// Fault 27: a 19 MB tool output with images bricked the thread.
    #[test]
    fn long_output_is_cut_at_characters_and_says_so() {
        let text = "ä".repeat(10_000);
        let cut = bounded(text.clone(), 1_001);
        assert!(cut.len() < 1_100 && cut.starts_with('ä') && cut.ends_with('ä'));
        let kept = cut.matches('ä').count() * 2;
        assert!(cut.contains(&format!("[{} of 20000 bytes left out", text.len() - kept)), "{cut}");
        assert!(bounded(text, 0).contains("20000 of 20000 bytes left out"));
        assert_eq!(bounded("short".to_owned(), 5), "short");
    }

    #[test]
    fn blocks_are_read_as_text() {
        let text = |json: &str| plain_text(&Json::parse(json).unwrap());
        assert_eq!(
            text(r#"[{"type":"text","text":"a"},{"type":"image","data":"…"}]"#),
            "a\n[image left out]"
        );
        assert_eq!(text("[1,2]"), "[1,2]");
        assert_eq!(text("null"), "");
        assert_eq!(text(r#""a\udc00""#), "a\u{fffd}");
    }
}
