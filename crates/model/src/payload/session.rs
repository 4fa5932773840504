//! The session itself: its start, names, places and copies.

use serde::{Deserialize, Serialize};

use super::Source;
use crate::event::Seq;
use crate::id::SessionId;

/// Line 0 of every log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionStarted {
    /// The version of the log's format; see [`crate::FORMAT`].
    pub format: u32,
    /// The canonical absolute path that the session belongs to; compared as a string, never resolved again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The stable identity behind the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The agent's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The model provider's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What started it: a chat when absent, else `worker`, `background`, `record`, `demo`, ….
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// A title given at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where it was forked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// The snapshot that it was branched from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_snapshot: Option<String>,
    /// The name under which it was saved: a frozen copy, never continued in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// The other agent's session that it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_from: Option<ImportedFrom>,
    /// The session and call that this sub-agent works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentCall>,
}

/// A cut in another session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkedFrom {
    /// The parent.
    pub session: SessionId,
    /// The last event taken over.
    pub seq: Seq,
}

/// Another agent's session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ImportedFrom {
    /// The format, as `claude-code`.
    pub format: String,
    /// The file's path at the first import.
    pub path: String,
    /// The session's id over there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// The call in another session that a sub-agent works for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentCall {
    /// The parent session.
    pub session: SessionId,
    /// The tool call, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// Another session was forked from this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkPoint {
    /// The child.
    pub session: SessionId,
    /// The last event that it took over.
    pub seq: Seq,
}

/// A title; the last one counts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Titled {
    /// The title.
    pub title: String,
    /// Chosen by a program, so that a person's choice wins over it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generated: bool,
    /// Where it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<Source>,
}

/// All tags of the session; the last event counts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tagged {
    /// The tags.
    pub tags: Vec<String>,
    /// Where it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<Source>,
}

/// Another workspace from here on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Moved {
    /// Where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Where it is.
    pub to: String,
    /// The stable identity behind that workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Where it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<Source>,
}

/// Another model from here on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModelChanged {
    /// The model.
    pub model: String,
    /// Its provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

/// Another agent from here on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentChanged {
    /// The agent.
    pub agent: String,
}

/// A snapshot of this session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotTaken {
    /// The snapshot's name.
    pub name: String,
    /// The frozen copy.
    pub session: SessionId,
}

/// The boundary before which nothing was logged durably.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HistoryImported {
    /// How many messages lie before it.
    pub messages: u64,
}

/// The number that the index gave.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConversationAssigned {
    /// The conversation id.
    pub id: u64,
}

/// The session is over.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionEnded {
    /// Why.
    pub reason: String,
}
