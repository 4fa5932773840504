//! `user` records: what people typed, what programs put in, what tools gave back, what a compaction left.

use std::borrow::Cow;

use annals_model::payload::{Attachment, Compaction, MessageKind, ToolResult, UserMessage};

use super::content::Content;
use super::{Mapping, link, wrapper};
use crate::claude_code::branch::{Link, Role};
use crate::object::Object;

/// The position behind `session_started`.
const FIRST_SEQ: u64 = 1;

impl Mapping<'_> {
    pub(super) fn user(&mut self, record: &Object<'_>) {
        let message = record.object("message");
        let Some(raw) = message.as_ref().and_then(|message| message.get("content")) else {
            return self.aside(record, "user");
        };
        let content = self.content(raw);
        let parent = record.str("parentUuid");
        let caller = record.str("sourceToolAssistantUUID");
        let session = record.str("sessionId");
        let is_result = !content.results.is_empty();
        let link = Link {
            session: session.as_deref(),
            ..link(record, parent.as_deref(), is_result.then_some(""), caller.as_deref())
        };
        if record.is("isCompactSummary") {
            return self.chained(&link, Role::Summary, |mapping| mapping.summary(&content));
        }
        let text = content.texts.join("\n");
        let kind = self.kind(record, &text, is_result);
        let role = match kind {
            _ if is_result => Role::Model,
            MessageKind::Context => Role::Context,
            _ => Role::Person,
        };
        self.chained(&link, role, |mapping| {
            for block in &content.results {
                mapping.tool_result(block);
            }
            if !text.is_empty() || !content.attachments.is_empty() {
                mapping.message(kind, text, content.attachments);
            } else if !is_result {
                mapping.foreign("user");
            }
        });
    }

    /// Logs a user message. A prompt begins a turn, and so does the task of a sub-agent.
    pub(super) fn message(&mut self, kind: MessageKind, whole: String, attachments: Vec<Attachment>) {
        if kind == MessageKind::Prompt || (kind == MessageKind::Task && self.state.sub_agent) {
            self.state.turn += 1;
        }
        let typed = if kind == MessageKind::Context { whole.as_str() } else { wrapper::typed(&whole) };
        let (text, sent) = if typed == whole { (whole, None) } else { (typed.to_owned(), Some(whole)) };
        let src = self.src();
        self.push(UserMessage { kind, text, sent, attachments, src });
    }

    fn tool_result(&mut self, block: &Object<'_>) {
        let (output, attachments) = self.output(block);
        let id = block.string("tool_use_id").unwrap_or_else(|| {
            self.report.lose("result_without_call");
            String::new()
        });
        let is_error = block.is("is_error");
        let src = self.src();
        self.push(ToolResult { id, output, is_error, attachments, src, ..ToolResult::default() });
    }

    /// The summary of a compaction: it stands for everything up to the boundary, earlier summaries included, but for what
    /// the compaction preserved.
    fn summary(&mut self, content: &Content<'_>) {
        let seq = self.seq();
        let boundary = self.state.boundary.take();
        let end = boundary.as_ref().map_or(seq, |boundary| boundary.end);
        let boundary = boundary.unwrap_or_default();
        let summary = content.texts.join("\n");
        if end <= FIRST_SEQ {
            // What it stands for lies in another file: the model was sent it all the same.
            self.report.lose("compaction_without_range");
            return self.message(MessageKind::Context, summary, Vec::new());
        }
        let src = self.src();
        self.push(Compaction {
            from: FIRST_SEQ,
            to: end - 1,
            summary,
            trigger: boundary.trigger,
            tokens_before: boundary.tokens_before,
            tokens_after: boundary.tokens_after,
            src,
        });
    }

    /// Who or what a text is from.
    fn kind(&self, record: &Object<'_>, text: &str, beside_result: bool) -> MessageKind {
        if record.is("isMeta") || record.is("isVisibleInTranscriptOnly") || wrapper::is_own(text) {
            return MessageKind::Context;
        }
        if wrapper::typed(text).is_empty() && !text.is_empty() {
            return MessageKind::Context;
        }
        if wrapper::is_others(text) || from_another(record) {
            return MessageKind::Task;
        }
        match record.str("promptSource").as_deref() {
            Some("queued") => MessageKind::Steer,
            Some("system") => MessageKind::Task,
            // The first text of a sub-agent was written by the agent that called it.
            _ if self.state.sub_agent => MessageKind::Task,
            // Said beside a tool's result, as when a call is denied: the turn runs on.
            _ if beside_result => MessageKind::Steer,
            _ => MessageKind::Prompt,
        }
    }
}

/// Whether the record names an origin other than the person at the keyboard.
fn from_another(record: &Object<'_>) -> bool {
    let Some(origin) = record.get("origin") else { return false };
    let kind =
        Object::of(origin).and_then(|origin| origin.str("kind")).or_else(|| crate::object::text_of(origin));
    !matches!(kind, Some(Cow::Borrowed("human" | "user" | "operator" | "keyboard" | "cli")))
}
