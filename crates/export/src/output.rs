//! What a tool gave back, as text: a string as it is, a list of content blocks block by block, anything else as JSON.

use annals_model::Json;
use serde::Deserialize;

#[derive(Deserialize)]
struct Content {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

pub(crate) fn text_of(output: &Json) -> String {
    if let Some(text) = output.as_string() {
        return text;
    }
    if output.as_str() == "null" {
        return String::new();
    }
    match serde_json::from_str::<Vec<Content>>(output.as_str()) {
        Ok(blocks) if !blocks.is_empty() => blocks.into_iter().map(shown).collect::<Vec<_>>().join("\n"),
        _ => output.as_str().to_owned(),
    }
}

fn shown(block: Content) -> String {
    block.text.unwrap_or_else(|| format!("[{}]", block.kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_become_text() {
        for (json, text) in [
            (r#""a\nb""#, "a\nb"),
            ("null", ""),
            (r#"[{"type":"text","text":"a"},{"type":"image","source":{}}]"#, "a\n[image]"),
            (r#"{"k":1.50}"#, r#"{"k":1.50}"#),
            ("[]", "[]"),
            ("[1,2]", "[1,2]"),
            (r#""\ud800""#, r#""\ud800""#),
        ] {
            assert_eq!(text_of(&Json::parse(json).unwrap()), text);
        }
    }
}
