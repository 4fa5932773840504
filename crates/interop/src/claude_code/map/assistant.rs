//! `assistant` records: pieces of the model's response, each with the usage of the response so far.

use annals_model::payload::{AssistantMessage, Part, ToolCall};
use annals_model::{Json, Usage};

use super::{Mapping, link};
use crate::claude_code::branch::{Link, Role};
use crate::object::{Object, list_of, text_of};

/// The model of messages that the program wrote itself: local errors.
const SYNTHETIC: &str = "<synthetic>";

impl Mapping<'_> {
    pub(super) fn assistant(&mut self, record: &Object<'_>) {
        let Some(message) = record.object("message") else { return self.aside(record, "assistant") };
        let parent = record.str("parentUuid");
        let id = message.str("id");
        let session = record.str("sessionId");
        let response = Some(id.as_deref().unwrap_or(""));
        let link = Link { session: session.as_deref(), ..link(record, parent.as_deref(), response, None) };
        self.chained(&link, Role::Model, |mapping| mapping.response(record, &message));
    }

    /// Counts the usage of a record that is no part of the conversation.
    pub(super) fn assistant_usage(&mut self, record: &Object<'_>) {
        let Some(message) = record.object("message") else { return };
        let mut said = Said::of(record, &message);
        if let Some(usage) = self.news(&mut said) {
            self.say(Vec::new(), said, Some(usage));
        }
    }

    fn response(&mut self, record: &Object<'_>, message: &Object<'_>) {
        let mut said = Said::of(record, message);
        let (parts, calls) = self.parts(message, said.response.as_ref());
        if parts.is_empty() {
            // A record that only calls tools is a message of its own when it has news of the usage.
            match self.news(&mut said) {
                Some(usage) => self.say(Vec::new(), said, Some(usage)),
                None if calls.is_empty() => self.foreign("assistant"),
                None => {}
            }
        } else {
            let usage = match (&said.response, said.usage) {
                (Some(response), Some(usage)) => self.state.count_usage(response, usage),
                (_, usage) => usage,
            };
            self.say(parts, said, usage);
        }
        for call in calls {
            self.push(call);
        }
    }

    /// The usage, when it differs from what was said of this response before.
    fn news(&mut self, said: &mut Said) -> Option<Usage> {
        let usage = said.usage.filter(|usage| *usage != Usage::default())?;
        let Some(response) = &said.response else { return Some(usage) };
        if self.state.known_usage(response) == Some(usage) {
            return None;
        }
        self.state.count_usage(response, usage)
    }

    fn say(&mut self, parts: Vec<Part>, said: Said, usage: Option<Usage>) {
        let Said { model, response, finish, .. } = said;
        let src = self.src();
        self.push(AssistantMessage { parts, agent: None, model, response, usage, finish, src });
    }

    /// Splits the content into what is said and what is called.
    fn parts(&mut self, message: &Object<'_>, response: Option<&String>) -> (Vec<Part>, Vec<ToolCall>) {
        let (mut parts, mut calls) = (Vec::new(), Vec::new());
        let Some(content) = message.get("content") else { return (parts, calls) };
        if let Some(text) = text_of(content) {
            parts.push(Part::Text { text: text.into_owned() });
            return (parts, calls);
        }
        for raw in list_of(content).unwrap_or_default() {
            let block = Object::of(raw).unwrap_or_default();
            let part = match block.str("type").as_deref() {
                Some("text") => block.string("text").map(|text| Part::Text { text }),
                Some("thinking") => Some(Part::Thinking {
                    text: block.string("thinking").unwrap_or_default(),
                    signature: block.string("signature"),
                }),
                Some("redacted_thinking") => block.string("data").map(|data| Part::RedactedThinking { data }),
                Some("tool_use") => {
                    let call = self.call(&block, response, calls.len());
                    calls.push(call);
                    continue;
                }
                _ => None,
            };
            parts.push(part.unwrap_or_else(|| Part::Opaque { block: self.json(raw) }));
        }
        (parts, calls)
    }

    fn call(&mut self, block: &Object<'_>, response: Option<&String>, place: usize) -> ToolCall {
        let id = block.string("id").unwrap_or_else(|| {
            self.report.lose("call_without_id");
            format!("{}#{place}", self.src.id.as_deref().unwrap_or("call"))
        });
        ToolCall {
            id,
            name: block.string("name").unwrap_or_default(),
            input: block.any("input").map_or_else(Json::default, |raw| self.json(raw)),
            deferred: false,
            response: response.cloned(),
            src: self.src(),
        }
    }
}

/// What a record says of its response.
struct Said {
    model: Option<String>,
    response: Option<String>,
    usage: Option<Usage>,
    finish: Option<String>,
}

impl Said {
    fn of(record: &Object<'_>, message: &Object<'_>) -> Self {
        let model = message.string("model");
        let synthetic = model.as_deref() == Some(SYNTHETIC);
        let response = match (message.str("id"), record.str("requestId")) {
            (Some(id), Some(request)) => Some(format!("{id}/{request}")),
            (Some(one), None) | (None, Some(one)) => Some(one.into_owned()),
            (None, None) => None,
        };
        Self {
            model: model.filter(|_| !synthetic),
            response,
            usage: message.object("usage").filter(|_| !synthetic).map(|usage| usage_of(&usage)),
            finish: message.string("stop_reason"),
        }
    }
}

fn usage_of(usage: &Object<'_>) -> Usage {
    let count = |name| usage.count(name).unwrap_or(0);
    Usage {
        input: count("input_tokens"),
        cached: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        output: count("output_tokens"),
        cost_micros: None,
    }
}
