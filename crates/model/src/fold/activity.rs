//! What a session is doing, as far as its log tells. A log can't tell a living agent from one that was killed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{Event, Payload, Seq};
use crate::payload::MessageKind;

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The agent is at rest.
    #[default]
    Idle,
    /// A prompt or a result waits for the model's answer, or a turn is open.
    Running,
    /// A tool call has no result, and no prompt came after it.
    Interrupted,
    /// The session is over.
    Ended,
}

/// What a status is told from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Activity {
    now: Doing,
    /// What it was doing before each rewind that was not taken back.
    rewound: Vec<Doing>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Doing {
    ended: bool,
    /// A turn began and did not end.
    in_turn: bool,
    /// Something waits for the model.
    waiting: bool,
    /// Calls since the last prompt without a result, with their positions.
    open_calls: BTreeMap<String, Seq>,
}

impl Activity {
    pub(super) fn status(&self) -> Status {
        let Doing { ended, in_turn, waiting, open_calls } = &self.now;
        match (*ended, open_calls.is_empty(), *in_turn || *waiting) {
            (true, ..) => Status::Ended,
            (_, false, _) => Status::Interrupted,
            (_, _, true) => Status::Running,
            (_, _, false) => Status::Idle,
        }
    }

    pub(super) fn apply(&mut self, event: &Event) {
        let now = &mut self.now;
        match &event.payload {
            Payload::UserMessage(message) => {
                now.ended = false;
                now.waiting = true;
                if message.kind == MessageKind::Prompt {
                    // Whoever goes on has seen that they are open; else one lost result would mark the session for ever.
                    now.open_calls.clear();
                }
            }
            Payload::AssistantMessage(_) => now.waiting = false,
            Payload::ToolCall(call) => {
                now.open_calls.insert(call.id.clone(), event.seq);
            }
            Payload::ToolResult(result) => {
                now.open_calls.remove(&result.id);
                now.waiting = true;
            }
            Payload::TurnStarted(_) => {
                now.ended = false;
                now.in_turn = true;
            }
            Payload::TurnEnded(_) => {
                now.in_turn = false;
                now.waiting = false;
            }
            Payload::SessionEnded(_) => now.ended = true,
            Payload::Rewound(rewound) => self.rewind(rewound.to_seq),
            Payload::RewindUndone(_) => {
                if let Some(before) = self.rewound.pop() {
                    self.now = before;
                }
            }
            _ => {}
        }
    }

    fn rewind(&mut self, to_seq: Seq) {
        let before = std::mem::take(&mut self.now);
        let kept = before.open_calls.iter().filter(|(_, seq)| **seq < to_seq);
        self.now.open_calls = kept.map(|(id, seq)| (id.clone(), *seq)).collect();
        self.now.ended = before.ended;
        self.rewound.push(before);
    }
}
