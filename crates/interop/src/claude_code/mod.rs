//! Claude Code's sessions: JSON lines in `<root>/projects/<project>/<session>.jsonl`, one record a line, linked by
//! `parentUuid`, several records for one response of the model.
//!
//! - [`discover`] finds session files; [`looks_like_claude_code`] tells them from others.
//! - [`Importer`] reads one, record by record, and can stop and go on between any two of them.
//! - `sample` (feature `sample`) makes sessions of any size for tests and benchmarks.
//!
//! What becomes of what:
//!
//! | record | event |
//! |---|---|
//! | `user` with text | `user_message` (prompt, steer, task or context); as a compaction's summary `compaction` |
//! | `user` with `tool_result` blocks | one `tool_result` each |
//! | `assistant` | `assistant_message` for text, thinking and usage; one `tool_call` per `tool_use` |
//! | `summary`, `ai-title`, `agent-name`, `custom-title` | `titled`, when the title changes |
//! | `tag`, `relocated`, `system/turn_duration` | `tagged`, `moved`, `turn_ended` |
//! | everything else | `foreign`, with the record's type as its kind |
//!
//! The log keeps the order of the file. Where a prompt goes back to an earlier record, `rewound` says so.

mod branch;
mod discover;
mod header;
mod ids;
mod importer;
mod map;
#[cfg(feature = "sample")]
pub mod sample;
mod seen;
mod sniff;
mod state;

pub use crate::found::{Environment, Found, Skipped};
pub use discover::discover;
pub use importer::Importer;
pub use sniff::looks_like_claude_code;

/// The name of the format.
pub const FORMAT: &str = "claude-code";
