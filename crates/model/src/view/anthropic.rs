//! Anthropic's Messages: roles alternate and begin with the user; results stand first in the message after their calls.

use serde_json::{Value, json};

use super::media::{image_url, note};
use super::steps::{Called, Said, Step};
use super::{Target, model_family};
use crate::payload::{Attachment, Part};

/// Builds the messages.
pub(super) fn messages(steps: &[Step], target: &Target) -> Vec<Value> {
    let mut messages = Messages::default();
    for step in steps {
        match step {
            Step::User { text, attachments } => {
                messages.add("user", text_block(text));
                messages.add("user", attachments.iter().map(attachment_block));
            }
            Step::Summary(text) => {
                messages.add("user", text_block(&format!("[Summary of the conversation so far]\n{text}")));
            }
            Step::Said(said) => {
                messages.add("assistant", said_blocks(said, target));
                messages.add("assistant", said.calls.iter().map(call_block));
                messages.add("user", said.calls.iter().map(result_block));
            }
        }
    }
    messages.finish()
}

/// Messages under construction; blocks of one role in a row make one message.
#[derive(Default)]
struct Messages {
    done: Vec<(&'static str, Vec<Value>)>,
}

impl Messages {
    fn add(&mut self, role: &'static str, blocks: impl IntoIterator<Item = Value>) {
        for block in blocks {
            match self.done.last_mut() {
                Some((last, held)) if *last == role => held.push(block),
                Some(_) => self.done.push((role, vec![block])),
                None if role == "user" => self.done.push((role, vec![block])),
                None => {
                    let opening =
                        json!({"type": "text", "text": "[The conversation begins with the assistant.]"});
                    self.done.push(("user", vec![opening]));
                    self.done.push((role, vec![block]));
                }
            }
        }
    }

    fn finish(mut self) -> Vec<Value> {
        // A last answer is a prefill there: it may not end in white space.
        if let Some((role, blocks)) = self.done.last_mut()
            && *role == "assistant"
            && let Some(text) = blocks.last_mut().and_then(|b| b.get_mut("text"))
        {
            *text = Value::from(text.as_str().unwrap_or_default().trim_end());
        }
        self.done.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
    }
}

fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn attachment_block(attachment: &Attachment) -> Value {
    match image_url(attachment) {
        Some(url) => json!({"type": "image", "source": {"type": "url", "url": url}}),
        None => note_block(attachment),
    }
}

fn note_block(attachment: &Attachment) -> Value {
    json!({"type": "text", "text": note(attachment)})
}

fn said_blocks(said: &Said, target: &Target) -> Vec<Value> {
    let family = model_family(&target.model);
    let block = |(part, model): &(Part, Option<String>)| {
        let same_family = model.as_deref().is_some_and(|m| model_family(m) == family);
        match part {
            Part::Text { text } => text_block(text),
            Part::Thinking { text, signature: Some(signature) }
                if same_family && !text.trim().is_empty() && !signature.is_empty() =>
            {
                Some(json!({"type": "thinking", "thinking": text, "signature": signature}))
            }
            Part::RedactedThinking { data } if same_family && !data.is_empty() => {
                Some(json!({"type": "redacted_thinking", "data": data}))
            }
            _ => None,
        }
    };
    let mut blocks: Vec<Value> = said.parts.iter().filter_map(block).collect();
    // No message may end in reasoning: such an answer was cut short before it said anything.
    while said.calls.is_empty() && blocks.last().is_some_and(is_reasoning) {
        blocks.pop();
    }
    blocks
}

fn call_block(call: &Called) -> Value {
    let input: Value = serde_json::from_str(&call.input).unwrap_or_else(|_| json!({}));
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
}

fn result_block(call: &Called) -> Value {
    let mut content: Vec<Value> = text_block(&call.output).into_iter().collect();
    // Of an error nothing but text is taken.
    let attached = if call.is_error { note_block } else { attachment_block };
    content.extend(call.attachments.iter().map(attached));
    if call.is_error && content.is_empty() {
        content.push(json!({"type": "text", "text": "The tool failed without a message."}));
    }
    if call.is_error {
        json!({"type": "tool_result", "tool_use_id": call.id, "content": content, "is_error": true})
    } else {
        json!({"type": "tool_result", "tool_use_id": call.id, "content": content})
    }
}

fn is_reasoning(block: &Value) -> bool {
    matches!(block.get("type").and_then(Value::as_str), Some("thinking" | "redacted_thinking"))
}
