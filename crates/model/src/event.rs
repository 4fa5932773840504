//! Events: one immutable fact each, with a kind and a typed payload.
//!
//! The list of kinds is closed and stands once, in [`events!`](self) below; docs/format.md describes it for people.
//!
//! INVARIANT(I9): a kind that this version does not know is kept byte for byte as [`Payload::Unknown`] and shown as unknown.

use serde_json::value::RawValue;

use crate::json::Json;
use crate::line::Line;
use crate::payload::*;
use crate::time::Timestamp;

/// An event's position in its log, from 0, without gaps.
pub type Seq = u64;

/// One event, parsed.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Position in the log.
    pub seq: Seq,
    /// When it happened; for display, never for order.
    pub ts: Timestamp,
    /// The turn it belongs to.
    pub turn: Option<u64>,
    /// What happened.
    pub payload: Payload,
}

/// A payload that does not fit its kind.
#[derive(Debug, thiserror::Error)]
#[error("the data of a {kind} event does not fit")]
pub struct PayloadError {
    /// The kind.
    pub kind: String,
    /// What does not fit.
    #[source]
    pub source: serde_json::Error,
}

impl Event {
    /// Parses the payload of a checked line.
    ///
    /// # Errors
    /// [`PayloadError`] when the data does not fit a kind that this version knows.
    pub fn from_line(line: &Line<'_>) -> Result<Self, PayloadError> {
        Ok(Self {
            seq: line.seq,
            // `check` accepts any 24 bytes there; a time that can't be read is shown as the epoch, never an error.
            ts: Timestamp::parse(line.ts).unwrap_or_default(),
            turn: line.turn,
            payload: Payload::parse(line.kind, line.data)?,
        })
    }
}

macro_rules! events {
    ($( $(#[$doc:meta])* $name:ident = $text:literal ),* $(,)?) => {
        /// What an event says, by kind.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum Payload {
            $( $(#[$doc])* $name($name), )*
            /// A kind from a newer version, or a private one (`x_…`), as it was stored.
            Unknown {
                /// Its kind.
                kind: String,
                /// Its data, byte for byte.
                data: Json,
            },
        }

        /// Every kind that this version knows, in the order of the documentation.
        pub const KINDS: &[&str] = &[$($text),*];

        impl Payload {
            /// The kind's name in the log.
            #[must_use]
            pub fn kind(&self) -> &str {
                match self {
                    $( Self::$name(_) => $text, )*
                    Self::Unknown { kind, .. } => kind,
                }
            }

            /// Parses the data of an event of this kind.
            ///
            /// # Errors
            /// [`PayloadError`] when the data does not fit a known kind, or is no JSON at all.
            pub fn parse(kind: &str, data: &[u8]) -> Result<Self, PayloadError> {
                let failed = |source| PayloadError { kind: kind.to_owned(), source };
                match kind {
                    $( $text => serde_json::from_slice(data).map(Self::$name).map_err(failed), )*
                    _ => serde_json::from_slice::<Box<RawValue>>(data)
                        .map(|raw| Self::Unknown { kind: kind.to_owned(), data: Json::from(raw) })
                        .map_err(failed),
                }
            }

            /// The data as canonical JSON.
            ///
            /// # Errors
            /// Only if a payload holds something that JSON can't express; none of ours does.
            pub fn to_data(&self) -> Result<String, serde_json::Error> {
                match self {
                    $( Self::$name(payload) => serde_json::to_string(payload), )*
                    Self::Unknown { data, .. } => Ok(data.as_str().to_owned()),
                }
            }
        }

        $( impl From<$name> for Payload {
            fn from(payload: $name) -> Self { Self::$name(payload) }
        } )*
    };
}

events! {
    /// Line 0 of every log: what the session is and where it comes from.
    SessionStarted = "session_started",
    /// Something sent to the agent.
    UserMessage = "user_message",
    /// What the model answered.
    AssistantMessage = "assistant_message",
    /// The model asks for a tool.
    ToolCall = "tool_call",
    /// The tool begins: from here on its outcome may be unknown.
    ToolStarted = "tool_started",
    /// What the tool gave back.
    ToolResult = "tool_result",
    /// A summary stands for a range of events in the model's context.
    Condensation = "condensation",
    /// A condensation is undone.
    CondensationRevoked = "condensation_revoked",
    /// The agent shrank its live context.
    Compaction = "compaction",
    /// Another session was forked from this one.
    ForkPoint = "fork_point",
    /// The live history ends before a position.
    Rewound = "rewound",
    /// The last rewind is taken back.
    RewindUndone = "rewind_undone",
    /// The session has a title.
    Titled = "titled",
    /// The session has these tags.
    Tagged = "tagged",
    /// The session belongs to another workspace from here on.
    Moved = "moved",
    /// Another model answers from here on.
    ModelChanged = "model_changed",
    /// Another agent answers from here on.
    AgentChanged = "agent_changed",
    /// Tokens spent outside a message.
    UsageRecorded = "usage_recorded",
    /// A turn begins.
    TurnStarted = "turn_started",
    /// A turn is over.
    TurnEnded = "turn_ended",
    /// A goal was set.
    GoalSet = "goal_set",
    /// A judge looked at the goal.
    GoalJudged = "goal_judged",
    /// The goal is gone.
    GoalCleared = "goal_cleared",
    /// A turn changed files: a checkpoint.
    FilesChanged = "files_changed",
    /// A snapshot was taken of this session.
    SnapshotTaken = "snapshot_taken",
    /// What lies before was not logged durably.
    HistoryImported = "history_imported",
    /// Raw bytes of another agent's file are kept in a blob: the import's cursor.
    SourceRecorded = "source_recorded",
    /// A record of another agent that has no meaning here; its bytes are kept.
    Foreign = "foreign",
    /// The index gave this session its number.
    ConversationAssigned = "conversation_assigned",
    /// A torn tail was cut off.
    Repaired = "repaired",
    /// An event was here that damage made unreadable; put in its place by a salvage.
    Lost = "lost",
    /// A digest over the bytes since the last seal.
    Sealed = "sealed",
    /// The writer closed cleanly.
    Closed = "closed",
    /// The session is over.
    SessionEnded = "session_ended",
}

impl Payload {
    /// Whether `kind` is written by the store alone and never taken from a pipe.
    #[must_use]
    pub fn is_reserved(kind: &str) -> bool {
        matches!(
            kind,
            "session_started"
                | "fork_point"
                | "snapshot_taken"
                | "history_imported"
                | "source_recorded"
                | "conversation_assigned"
                | "repaired"
                | "lost"
                | "sealed"
                | "closed"
        )
    }

    /// Whether an event of this kind must be on disk before what follows it, at durability `barrier`.
    #[must_use]
    pub fn is_barrier(kind: &str) -> bool {
        matches!(
            kind,
            "session_started"
                | "user_message"
                | "tool_call"
                | "tool_started"
                | "tool_result"
                | "turn_ended"
                | "source_recorded"
                | "session_ended"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_payloads_of_the_pipe_are_accepted() {
        for (kind, data) in [
            ("user_message", r#"{"kind":"prompt","text":"hi"}"#),
            ("assistant_message", r#"{"parts":[{"type":"text","text":"hello"}]}"#),
            ("tool_call", r#"{"id":"c1","name":"ls","input":{"path":"."}}"#),
            ("tool_result", r#"{"id":"c1","output":"a b","is_error":false}"#),
        ] {
            let payload = Payload::parse(kind, data.as_bytes()).unwrap();
            assert_eq!(payload.kind(), kind);
            assert_eq!(payload.to_data().unwrap(), data);
        }
    }

    /// Fault 11: an event kind from a newer version was cut off as a torn tail.
    #[test]
    fn an_unknown_kind_is_kept_byte_for_byte() {
        let data = r#"{"z":1.50,"a":"é","n":{"k":[1,2]}}"#;
        let payload = Payload::parse("hologram_shown", data.as_bytes()).unwrap();
        assert!(matches!(payload, Payload::Unknown { .. }));
        assert_eq!(payload.to_data().unwrap(), data);
    }

    #[test]
    fn every_kind_can_be_a_line() {
        for kind in KINDS {
            assert!(kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{kind}");
        }
    }
}
