//! What changes the model's context without being a message: summaries and rewinds.

use serde::{Deserialize, Serialize};

use super::Source;
use crate::event::Seq;
use crate::usage::Usage;

/// A summary stands for the events `from..=to` in the model's context. The originals stay in the log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Condensation {
    /// First event of the range.
    pub from: Seq,
    /// Last event of the range.
    pub to: Seq,
    /// The summary.
    pub summary: String,
    /// Size of the context before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// Size of the context after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_after: Option<u64>,
    /// The model that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// The condensation at `seq` is undone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CondensationRevoked {
    /// Position of the condensation.
    pub seq: Seq,
}

/// The agent shrank its live context: `summary` replaced exactly `from..=to`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Compaction {
    /// First event that it replaced.
    pub from: Seq,
    /// Last event that it replaced.
    pub to: Seq,
    /// What stands in their place.
    pub summary: String,
    /// What caused it: `manual` or `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    /// Size of the context before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// Size of the context after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_after: Option<u64>,
    /// Where it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<Source>,
}

/// The live history ends before `to_seq`; what follows this event belongs to the new branch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rewound {
    /// Position of the first event that is no longer live.
    pub to_seq: Seq,
}

/// The last rewind that was not yet taken back is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RewindUndone {}
