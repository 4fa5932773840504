//! What of an event is searchable.
//!
//! INVARIANT: a piece never joins what stands apart in the log, so that whatever is found in a piece stands in the raw line
//! in one stretch, in its JSON-escaped spelling. The raw scan and the signatures rest on this.

use std::borrow::Cow;

use annals_model::payload::{MessageKind, Part, UserMessage};
use annals_model::{Event, Payload};

use crate::leaves::each_leaf;

/// Whose text a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// What a person typed, or what was sent in a person's place (a plan, a task, a hook).
    User,
    /// What the agent answered.
    Agent,
    /// The model's reasoning.
    Thinking,
    /// A tool's name and arguments.
    ToolCall,
    /// What a tool gave back.
    ToolResult,
    /// The summary of a condensation or compaction.
    Summary,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 6] =
        [Self::User, Self::Agent, Self::Thinking, Self::ToolCall, Self::ToolResult, Self::Summary];

    /// Its name on the command line and in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
            Self::Thinking => "thinking",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::Summary => "summary",
        }
    }

    /// The role of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }
}

/// Whether the role belongs to the transcript: what people typed and what the agent answered.
#[must_use]
pub fn is_transcript(role: Role) -> bool {
    matches!(role, Role::User | Role::Agent)
}

/// A stretch of text that is searched as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Whose text it is.
    pub role: Role,
    /// The text; never empty.
    pub text: Cow<'a, str>,
}

/// The searchable text of an event, in the order of its log line. Most kinds have none.
#[must_use]
pub fn pieces<'a>(event: &'a Event) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let mut push = |role, text: Cow<'a, str>| {
        if !text.is_empty() {
            pieces.push(Piece { role, text });
        }
    };
    match &event.payload {
        Payload::UserMessage(message) if is_searchable(message) => {
            push(Role::User, Cow::Borrowed(&message.text));
        }
        Payload::AssistantMessage(message) => {
            for part in &message.parts {
                match part {
                    Part::Text { text } => push(Role::Agent, Cow::Borrowed(text)),
                    Part::Thinking { text, .. } => push(Role::Thinking, Cow::Borrowed(text)),
                    _ => {}
                }
            }
        }
        Payload::ToolCall(call) => {
            push(Role::ToolCall, Cow::Borrowed(&call.name));
            each_leaf(call.input.as_str(), &mut |text| push(Role::ToolCall, text));
        }
        Payload::ToolResult(result) => {
            each_leaf(result.output.as_str(), &mut |text| push(Role::ToolResult, text));
        }
        Payload::Condensation(c) => push(Role::Summary, Cow::Borrowed(&c.summary)),
        Payload::Compaction(c) => push(Role::Summary, Cow::Borrowed(&c.summary)),
        _ => {}
    }
    pieces
}

/// What an event adds to the transcript: the user's text, or the agent's text parts joined by a blank line.
#[must_use]
pub fn transcript_text(event: &Event) -> Option<(Role, Cow<'_, str>)> {
    let pieces = pieces(event).into_iter().filter(|p| is_transcript(p.role) && !p.text.trim().is_empty());
    pieces.map(|piece| (piece.role, piece.text)).reduce(|(role, mut all), (_, text)| {
        all.to_mut().push_str("\n\n");
        all.to_mut().push_str(&text);
        (role, all)
    })
}

/// Whether a user's text is a search of an earlier day: `/search`, alone or followed by a blank. Who searches does not look
/// for the searches.
#[must_use]
pub fn is_search_command(text: &str) -> bool {
    let rest = text.trim_start().strip_prefix("/search");
    rest.is_some_and(|rest| rest.chars().next().is_none_or(char::is_whitespace))
}

fn is_searchable(message: &UserMessage) -> bool {
    message.kind != MessageKind::Context && !is_search_command(&message.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_model::Timestamp;

    fn event(kind: &str, data: &str) -> Event {
        let payload = Payload::parse(kind, data.as_bytes()).unwrap();
        Event { seq: 1, ts: Timestamp::default(), turn: None, payload }
    }

    fn texts(event: &Event) -> Vec<(&'static str, String)> {
        pieces(event).into_iter().map(|p| (p.role.as_str(), p.text.into_owned())).collect()
    }

    #[test]
    fn every_searchable_kind_gives_its_text() {
        for (kind, data, expected) in [
            ("user_message", r#"{"kind":"steer","text":"go on","sent":"x go on"}"#, vec![("user", "go on")]),
            (
                "assistant_message",
                r#"{"parts":[{"type":"thinking","text":"hm"},{"type":"text","text":"a"},{"type":"opaque","block":["z"]}]}"#,
                vec![("thinking", "hm"), ("agent", "a")],
            ),
            (
                "tool_call",
                r#"{"id":"c1","name":"edit","input":{"path":"a.rs","n":[1.50,true]}}"#,
                vec![
                    ("tool_call", "edit"),
                    ("tool_call", "a.rs"),
                    ("tool_call", "1.50"),
                    ("tool_call", "true"),
                ],
            ),
            ("tool_result", r#"{"id":"c1","output":"a\nb","is_error":false}"#, vec![("tool_result", "a\nb")]),
            (
                "tool_result",
                r#"{"id":"c1","output":[{"type":"text","text":"o"}],"is_error":true}"#,
                vec![("tool_result", "text"), ("tool_result", "o")],
            ),
            ("condensation", r#"{"from":1,"to":2,"summary":"s"}"#, vec![("summary", "s")]),
            ("compaction", r#"{"from":1,"to":2,"summary":"t"}"#, vec![("summary", "t")]),
            ("titled", r#"{"title":"nothing here"}"#, vec![]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|(r, t)| (r, t.to_owned())).collect();
            assert_eq!(texts(&event(kind, data)), expected, "{kind}");
        }
    }

    #[test]
    fn context_and_earlier_searches_are_left_out() {
        assert!(texts(&event("user_message", r#"{"kind":"context","text":"reminder"}"#)).is_empty());
        for text in ["/search", "/search foo", "  /search \\\"a b\\\"", "/search\\nfoo"] {
            let data = format!(r#"{{"kind":"prompt","text":"{text}"}}"#);
            assert!(texts(&event("user_message", &data)).is_empty(), "{text}");
        }
        for text in ["/searching", "use /search", "search"] {
            let data = format!(r#"{{"kind":"prompt","text":"{text}"}}"#);
            assert_eq!(texts(&event("user_message", &data)).len(), 1, "{text}");
        }
    }

    #[test]
    fn the_transcript_joins_an_answers_text_and_leaves_out_thinking() {
        let parts = r#"{"parts":[{"type":"text","text":"a"},{"type":"thinking","text":"hm"},{"type":"text","text":" "},{"type":"text","text":"b"}]}"#;
        let answer = event("assistant_message", parts);
        assert_eq!(transcript_text(&answer), Some((Role::Agent, Cow::from("a\n\nb"))));
        let prompt = event("user_message", r#"{"kind":"prompt","text":"hi"}"#);
        assert_eq!(transcript_text(&prompt), Some((Role::User, Cow::from("hi"))));
        assert_eq!(transcript_text(&event("tool_call", r#"{"id":"c","name":"x","input":{}}"#)), None);
    }

    #[test]
    fn roles_read_back_from_their_names() {
        for role in Role::ALL {
            assert_eq!(Role::from_name(role.as_str()), Some(role));
        }
        assert_eq!(Role::from_name("tool"), None);
    }
}
