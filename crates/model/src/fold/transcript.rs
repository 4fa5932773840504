//! The transcript: what people typed and what the agent finally answered, without tool calls. It keeps what summaries took out of the
//! model's context.

use serde::Serialize;

use super::branch::Branches;
use crate::event::{Event, Payload, Seq};
use crate::payload::{MessageKind, Part};
use crate::time::Timestamp;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A user message of this kind.
    User(MessageKind),
    /// The agent.
    Agent,
}

/// One thing said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Position of the (first) event.
    pub seq: Seq,
    /// Its time.
    pub ts: Timestamp,
    /// The turn.
    pub turn: Option<u64>,
    /// Who speaks.
    pub role: Role,
    /// What is said. Of an answer: all the text of the turn, runs joined by a blank line.
    pub text: String,
}

/// The transcript of a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Transcript {
    entries: Branches<Entry>,
}

/// The non-thinking text of an answer's parts.
pub(crate) fn text_of(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

impl Transcript {
    /// Takes in the next event.
    pub fn apply(&mut self, event: &Event) {
        let (role, text) = match &event.payload {
            Payload::UserMessage(m) if m.kind != MessageKind::Context => (Role::User(m.kind), m.text.clone()),
            Payload::AssistantMessage(m) => (Role::Agent, text_of(&m.parts)),
            Payload::Rewound(r) => return self.entries.rewind(event.seq, r.to_seq),
            Payload::RewindUndone(_) => return self.entries.undo(),
            _ => return,
        };
        if role != Role::Agent || !text.is_empty() {
            self.entries
                .push(event.seq, Entry { seq: event.seq, ts: event.ts, turn: event.turn, role, text });
        }
    }

    /// What is live, oldest first; consecutive texts of the agent are one answer.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for entry in self.entries.live().map(|e| &e.item) {
            match entries.last_mut() {
                Some(last) if last.role == Role::Agent && entry.role == Role::Agent => {
                    last.text.push_str("\n\n");
                    last.text.push_str(&entry.text);
                }
                _ => entries.push(entry.clone()),
            }
        }
        entries
    }
}
