//! One record to events.

use annals_model::payload::*;
use annals_model::{Json, Payload, Timestamp, Usage};
use serde_json::Value;

use super::FORMAT;
use super::state::{Boundary, State};
use crate::base64;
use crate::import::{Blob, ImportedEvent};

/// The model name of messages that the program made up itself: errors, interruptions.
pub(super) const SYNTHETIC: &str = "<synthetic>";

/// Turns one record into events.
pub(super) struct Converter<'s> {
    state: &'s mut State,
    src: Source,
    ts: Option<Timestamp>,
    first_seq: u64,
    events: Vec<ImportedEvent>,
    blobs: Vec<Blob>,
    losses: Vec<&'static str>,
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn number(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_u64()
}

impl<'s> Converter<'s> {
    pub(super) fn new(state: &'s mut State, src: Source) -> Self {
        let first_seq = state.next_seq;
        Self { state, src, ts: None, first_seq, events: Vec::new(), blobs: Vec::new(), losses: Vec::new() }
    }

    pub(super) fn finish(self) -> (Vec<ImportedEvent>, Vec<Blob>, Vec<&'static str>) {
        (self.events, self.blobs, self.losses)
    }

    fn emit(&mut self, payload: impl Into<Payload>) {
        let payload = payload.into();
        if matches!(payload, Payload::UserMessage(_) | Payload::AssistantMessage(_) | Payload::ToolCall(_)) {
            self.state.last_said = self.state.next_seq;
        }
        self.state.next_seq += 1;
        let turn = (self.state.turn > 0).then_some(self.state.turn);
        self.events.push(ImportedEvent { ts: self.ts, turn, payload });
    }

    fn src(&self) -> Option<Source> {
        Some(self.src.clone())
    }

    fn foreign(&mut self, kind: &str) {
        let foreign = Foreign {
            format: FORMAT.to_owned(),
            kind: kind.to_owned(),
            problem: None,
            src: self.src.clone(),
        };
        self.emit(foreign);
    }

    pub(super) fn record(&mut self, record: &Value) {
        let kind = text(record, "type").unwrap_or("unknown").to_owned();
        let id = text(record, "uuid").map(str::to_owned);
        self.src.id.clone_from(&id);
        self.ts = text(record, "timestamp").and_then(|t| Timestamp::parse(t).ok());
        if let Some(id) = &id
            && self.state.events_of(id).is_some()
        {
            self.losses.push("duplicate");
            return self.foreign("duplicate");
        }
        match kind.as_str() {
            "user" | "assistant" if flag(record, "isSidechain") && text(record, "agentId").is_none() => {
                // Old versions wrote sub-agents into the main file; they are no part of the conversation.
                self.losses.push("sidechain_inline");
                self.foreign("sidechain");
            }
            "user" => self.user(record),
            "assistant" => self.assistant(record),
            "system" => self.system(record),
            "attachment" => self.attachment(record),
            "summary" => self.title(&kind, text(record, "summary"), true),
            "ai-title" => self.title(&kind, text(record, "aiTitle"), true),
            "agent-name" => self.title(&kind, text(record, "agentName"), true),
            "custom-title" => self.title(&kind, text(record, "customTitle"), false),
            "tag" => {
                let tags =
                    text(record, "tag").filter(|t| !t.is_empty()).map(str::to_owned).into_iter().collect();
                let src = self.src();
                self.emit(Tagged { tags, src });
            }
            "relocated" => match text(record, "relocatedCwd") {
                Some(to) => {
                    let src = self.src();
                    self.emit(Moved { from: None, to: to.to_owned(), src });
                }
                None => self.foreign(&kind),
            },
            _ => self.foreign(&kind),
        }
        if let Some(id) = id {
            let (from, to) = (self.first_seq, self.state.next_seq);
            self.state.remember(&id, from, to);
        }
    }

    fn title(&mut self, kind: &str, title: Option<&str>, generated: bool) {
        let title = title.unwrap_or_default();
        let known = self.state.titles.insert(kind.to_owned(), title.to_owned());
        if title.trim().is_empty() || known.as_deref() == Some(title) {
            return self.foreign(kind);
        }
        let src = self.src();
        self.emit(Titled { title: title.to_owned(), generated, src });
    }

    fn user(&mut self, record: &Value) {
        let content = record.pointer("/message/content").cloned().unwrap_or_default();
        let blocks = match &content {
            Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
            Value::Array(blocks) => blocks.clone(),
            _ => return self.foreign("user"),
        };
        let mut said = Vec::new();
        let mut attachments = Vec::new();
        for block in &blocks {
            match text(block, "type").unwrap_or_default() {
                "text" => said.push(text(block, "text").unwrap_or_default()),
                "image" | "document" => attachments.extend(self.attached(block)),
                "tool_result" => self.tool_result(block),
                _ => self.losses.push("user_block"),
            }
        }
        let said = said.join("\n\n");
        if flag(record, "isCompactSummary") {
            return self.compaction(&said);
        }
        if said.trim().is_empty() && attachments.is_empty() {
            if self.events.is_empty() {
                self.foreign("user");
            }
            return;
        }
        let (kind, typed) = kind_of(record, &said);
        if kind == MessageKind::Prompt {
            self.rewind(record);
            self.state.turn += 1;
            self.state.response = None;
        }
        let sent = typed.as_ref().map(|_| said.clone());
        let src = self.src();
        self.emit(UserMessage { kind, text: typed.unwrap_or(said), sent, attachments, src });
    }

    /// A prompt whose parent is an earlier record of the conversation goes on from there: what came after the parent is no longer live.
    fn rewind(&mut self, record: &Value) {
        let Some(parent) = text(record, "parentUuid") else { return };
        match self.state.events_of(parent) {
            Some((_, behind)) if self.state.last_said >= behind => self.emit(Rewound { to_seq: behind }),
            Some(_) => {}
            None if self.state.recent.is_empty() => {}
            None => self.losses.push("branch_kept_linear"),
        }
    }

    fn compaction(&mut self, summary: &str) {
        let boundary = self.state.boundary.take();
        let before = boundary.as_ref().map_or(self.state.next_seq.saturating_sub(1), |b| b.to);
        let kept_from = boundary.as_ref().and_then(|b| b.kept_from);
        let to = kept_from.map_or(before, |kept| kept.saturating_sub(1)).min(before);
        let (from, src) = (self.state.compact_from, self.src());
        if to < from {
            self.losses.push("compaction_empty");
            return self.foreign("user/compact_summary");
        }
        let (trigger, tokens_before, tokens_after) = match boundary {
            Some(b) => (b.trigger, b.tokens_before, b.tokens_after),
            None => (None, None, None),
        };
        // The next one replaces this summary too.
        self.emit(Compaction {
            from,
            to,
            summary: summary.to_owned(),
            trigger,
            tokens_before,
            tokens_after,
            src,
        });
    }

    fn attached(&mut self, block: &Value) -> Option<Attachment> {
        let source = block.get("source")?;
        let media_type = text(source, "media_type").unwrap_or("application/octet-stream").to_owned();
        let name = text(block, "title").map(str::to_owned);
        if let Some(url) = text(source, "url") {
            return Some(Attachment { media_type, url: Some(url.to_owned()), name, ..Attachment::default() });
        }
        let Some(bytes) = text(source, "data").and_then(base64::decode) else {
            self.losses.push("attachment_unreadable");
            return Some(Attachment { media_type, name, ..Attachment::default() });
        };
        let blob = blake3::hash(&bytes).to_hex().to_string();
        let len_bytes = Some(bytes.len() as u64);
        self.blobs.push(Blob { name: blob.clone(), bytes });
        Some(Attachment { media_type, blob: Some(blob), url: None, name, len_bytes })
    }

    fn tool_result(&mut self, block: &Value) {
        let id = text(block, "tool_use_id").unwrap_or_default().to_owned();
        let mut attachments = Vec::new();
        let output = match block.get("content") {
            None | Some(Value::Null) => Json::string(""),
            Some(Value::String(text)) => Json::string(text),
            Some(Value::Array(parts)) => {
                let mut texts = Vec::new();
                let mut plain = true;
                for part in parts {
                    match text(part, "type") {
                        Some("text") => texts.push(text(part, "text").unwrap_or_default()),
                        Some("image" | "document") => attachments.extend(self.attached(part)),
                        _ => plain = false,
                    }
                }
                if plain { Json::string(&texts.join("\n")) } else { Json::from(Value::Array(parts.clone())) }
            }
            Some(other) => Json::from(other.clone()),
        };
        let (is_error, src) = (flag(block, "is_error"), self.src());
        self.emit(ToolResult { id, output, is_error, attachments, src, ..ToolResult::default() });
    }

    fn assistant(&mut self, record: &Value) {
        let Some(message) = record.get("message") else { return self.foreign("assistant") };
        let model = text(message, "model").filter(|m| *m != SYNTHETIC).map(str::to_owned);
        let response =
            text(message, "id").filter(|_| model.is_some()).map(|id| match text(record, "requestId") {
                Some(request) => format!("{id}/{request}"),
                None => id.to_owned(),
            });
        let blocks = match message.get("content") {
            Some(Value::Array(blocks)) => blocks.clone(),
            Some(Value::String(text)) => vec![serde_json::json!({"type": "text", "text": text})],
            _ => Vec::new(),
        };
        let mut parts = Vec::new();
        let mut calls = Vec::new();
        for block in &blocks {
            let owned = |key| text(block, key).unwrap_or_default().to_owned();
            match text(block, "type").unwrap_or_default() {
                "text" => parts.push(Part::Text { text: owned("text") }),
                "thinking" => {
                    let signature = text(block, "signature").map(str::to_owned);
                    parts.push(Part::Thinking { text: owned("thinking"), signature });
                }
                "redacted_thinking" => parts.push(Part::RedactedThinking { data: owned("data") }),
                "tool_use" => calls.push(ToolCall {
                    id: owned("id"),
                    name: owned("name"),
                    input: block.get("input").cloned().map(Json::from).unwrap_or_default(),
                    deferred: false,
                    response: response.clone(),
                    src: self.src(),
                }),
                _ => parts.push(Part::Opaque { block: Json::from(block.clone()) }),
            }
        }
        let usage = model.as_ref().and_then(|_| self.usage(message, response.as_deref()));
        let finish = text(message, "stop_reason").map(str::to_owned);
        if !parts.is_empty() || usage.is_some() || calls.is_empty() {
            let (agent, src) = (None, self.src());
            self.emit(AssistantMessage { parts, agent, model, response, usage, finish, src });
        }
        for call in calls {
            self.emit(call);
        }
    }

    /// Usage of a response, each time that it is larger than what was told of that response before.
    fn usage(&mut self, message: &Value, response: Option<&str>) -> Option<Usage> {
        let usage = message.get("usage").filter(|u| u.is_object())?;
        let output = number(usage, "output_tokens").unwrap_or(0);
        if let Some(response) = response {
            match &mut self.state.response {
                Some((last, told)) if last == response => {
                    if output < *told {
                        return None;
                    }
                    *told = output;
                }
                other => *other = Some((response.to_owned(), output)),
            }
        }
        Some(Usage {
            input: number(usage, "input_tokens").unwrap_or(0),
            cached: number(usage, "cache_read_input_tokens").unwrap_or(0),
            cache_write: number(usage, "cache_creation_input_tokens").unwrap_or(0),
            output,
            cost_micros: None,
        })
    }

    fn system(&mut self, record: &Value) {
        let subtype = text(record, "subtype").unwrap_or("unknown");
        match subtype {
            "compact_boundary" => {
                let metadata = record.get("compactMetadata").cloned().unwrap_or_default();
                let preserved = [
                    metadata.pointer("/preservedSegment/headUuid"),
                    metadata.pointer("/preservedMessages/uuids/0"),
                ];
                let kept = preserved
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .find_map(|id| self.state.events_of(id));
                self.state.boundary = Some(Boundary {
                    trigger: text(&metadata, "trigger").map(str::to_owned),
                    tokens_before: number(&metadata, "preTokens"),
                    tokens_after: number(&metadata, "postTokens"),
                    kept_from: kept.map(|(from, _)| from),
                    to: self.state.next_seq.saturating_sub(1),
                });
                self.foreign("system/compact_boundary");
            }
            "turn_duration" => {
                let (duration_ms, src) = (number(record, "durationMs"), self.src());
                self.emit(TurnEnded { outcome: Outcome::Completed, error: None, duration_ms, src });
            }
            other => self.foreign(&format!("system/{other}")),
        }
    }

    fn attachment(&mut self, record: &Value) {
        let attachment = record.get("attachment").cloned().unwrap_or_default();
        let kind = text(&attachment, "type").unwrap_or("unknown").to_owned();
        // Typed while the agent was at work, and sent with the next request.
        let queued = text(&attachment, "prompt").or_else(|| text(&attachment, "command")).map(str::to_owned);
        match (kind.as_str(), queued) {
            ("queued_command", Some(text)) if !text.trim().is_empty() => {
                let src = self.src();
                self.emit(UserMessage {
                    kind: MessageKind::Steer,
                    text,
                    sent: None,
                    attachments: Vec::new(),
                    src,
                });
            }
            _ => self.foreign(&format!("attachment/{kind}")),
        }
    }
}

/// Who a user record is from, and what was typed when that is less than what was sent.
fn kind_of(record: &Value, said: &str) -> (MessageKind, Option<String>) {
    const WRAPPERS: &[&str] = &["ide_opened_file", "ide_selection", "system-reminder"];
    const PROGRAM: &[&str] = &[
        "<command-name>",
        "<command-message>",
        "<local-command-stdout>",
        "<local-command-stderr>",
        "<bash-stdout>",
        "<local-command-caveat>",
    ];
    if flag(record, "isMeta") || flag(record, "isVisibleInTranscriptOnly") {
        return (MessageKind::Context, None);
    }
    let mut typed = said.trim_start();
    if PROGRAM.iter().any(|tag| typed.starts_with(tag)) {
        return (MessageKind::Context, None);
    }
    // The program puts what the editor shows before, and reminders around, what was typed.
    while let Some(rest) = WRAPPERS.iter().find_map(|tag| {
        let rest = typed.strip_prefix(&format!("<{tag}>"))?;
        let close = format!("</{tag}>");
        rest.find(&close).and_then(|at| rest.get(at + close.len()..))
    }) {
        typed = rest.trim_start();
    }
    if typed.is_empty() && !said.trim().is_empty() {
        return (MessageKind::Context, None);
    }
    let kind = match (text(record, "promptSource"), record.pointer("/origin/kind").and_then(Value::as_str)) {
        (Some("queued"), _) => MessageKind::Steer,
        (Some("system"), _) => MessageKind::Context,
        (_, Some(kind)) if kind != "user" && kind != "human" => MessageKind::Task,
        _ => MessageKind::Prompt,
    };
    let typed = (typed.len() < said.trim_start().len()).then(|| typed.to_owned());
    (kind, typed)
}
