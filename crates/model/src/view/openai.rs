//! OpenAI's Chat Completions: tool messages follow the assistant message that called, arguments are a string.

use serde_json::{Value, json};

use super::media::{image_url, note};
use super::steps::{Called, Said, Step};
use crate::payload::{Attachment, Part};

/// Builds the messages.
pub(super) fn messages(steps: &[Step]) -> Vec<Value> {
    let mut messages = Vec::new();
    for step in steps {
        match step {
            Step::User { text, attachments } => messages.extend(user(text, attachments)),
            Step::Summary(text) => messages.push(
                json!({"role": "system", "content": format!("Summary of the conversation so far:\n{text}")}),
            ),
            Step::Said(said) => {
                messages.extend(assistant(said));
                messages.extend(said.calls.iter().map(result));
            }
        }
    }
    messages
}

fn user(text: &str, attachments: &[Attachment]) -> Option<Value> {
    if attachments.is_empty() {
        return (!text.trim().is_empty()).then(|| json!({"role": "user", "content": text}));
    }
    let mut content: Vec<Value> = Vec::new();
    if !text.trim().is_empty() {
        content.push(json!({"type": "text", "text": text}));
    }
    content.extend(attachments.iter().map(|attachment| match image_url(attachment) {
        Some(url) => json!({"type": "image_url", "image_url": {"url": url}}),
        None => json!({"type": "text", "text": note(attachment)}),
    }));
    Some(json!({"role": "user", "content": content}))
}

fn assistant(said: &Said) -> Option<Value> {
    let texts = said.parts.iter().filter_map(|(part, _)| match part {
        Part::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n\n");
    let calls: Vec<Value> = said.calls.iter().map(call).collect();
    match (text.is_empty(), calls.is_empty()) {
        (true, true) => None,
        (false, true) => Some(json!({"role": "assistant", "content": text})),
        (true, false) => Some(json!({"role": "assistant", "content": null, "tool_calls": calls})),
        (false, false) => Some(json!({"role": "assistant", "content": text, "tool_calls": calls})),
    }
}

fn call(call: &Called) -> Value {
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.input}})
}

fn result(call: &Called) -> Value {
    let notes = call.attachments.iter().map(note);
    let mut lines: Vec<String> = vec![call.output.clone()];
    lines.extend(notes);
    let text = lines.join("\n");
    let text = if text.trim().is_empty() { "(no output)".to_owned() } else { text };
    json!({"role": "tool", "tool_call_id": call.id, "content": text})
}
