//! JSON for programs: one document, which is safe to look at in a terminal too.

use std::fmt::Write;

use serde::Serialize;

use super::text::is_harmful;
use crate::error::Result;

/// A value in one line, without the newline.
pub(crate) fn json_line(value: &impl Serialize) -> Result<String> {
    Ok(escaped(serde_json::to_string(value)?))
}

/// A value laid out for people, without the last newline.
pub(crate) fn json_pretty(value: &impl Serialize) -> Result<String> {
    Ok(escaped(serde_json::to_string_pretty(value)?))
}

/// JSON escapes ASCII's control characters and lets those beyond it through, as well as those that turn the direction of text. Outside of
/// strings there are none, and escaped they mean the same.
fn escaped(json: String) -> String {
    let harmful = |c: char| c != '\n' && is_harmful(c);
    if !json.contains(harmful) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if harmful(c) {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_mean_the_same() {
        let text = "a\u{9b}31m\u{7f}\u{202e}\u{1b}\ncafé";
        let line = json_line(&text).unwrap();
        assert_eq!(line, "\"a\\u009b31m\\u007f\\u202e\\u001b\\ncafé\"");
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
        assert_eq!(json_pretty(&[1]).unwrap(), "[\n  1\n]");
    }
}
