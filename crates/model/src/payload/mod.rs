//! The payloads, one room per subject. Fields are optional wherever a recorder may not know them.
//!
//! A field that a newer version added is ignored here and stays in the log's bytes.

mod context;
mod goal;
mod log;
mod message;
mod session;
mod source;
mod tool;
mod turn;

pub use context::{Compaction, Condensation, CondensationRevoked, RewindUndone, Rewound};
pub use goal::{GoalCleared, GoalJudged, GoalSet, Verdict};
pub use log::{Closed, Lost, Repaired, Sealed};
pub use message::{AssistantMessage, Attachment, MessageKind, Part, UserMessage};
pub use session::{
    AgentChanged, ConversationAssigned, ForkPoint, ForkedFrom, HistoryImported, ImportedFrom, ModelChanged,
    Moved, ParentCall, SessionEnded, SessionStarted, SnapshotTaken, Tagged, Titled,
};
pub use source::{Chunk, Foreign, Source, SourceRecorded};
pub use tool::{FileChange, FilesChanged, ToolCall, ToolResult, ToolStarted};
pub use turn::{Outcome, TurnEnded, TurnStarted, UsageRecorded};
