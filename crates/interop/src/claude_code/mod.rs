//! Claude Code: `~/.claude/projects/<directory>/<session>.jsonl`, sub-agents beside them.
//!
//! The log keeps the file's order. One API response comes as several records with the same message id; they share `response`, and usage counts
//! once per response. A prompt whose parent is an earlier record is a rewind. Records without a meaning here become `foreign` events.
//!
//! What is *not* carried over, each counted as a loss: inline sub-agent records of old versions (kept as foreign), branches that
//! can't be told soundly (kept in file order), lone surrogates in strings (replaced), attachments that are no base64.

mod convert;
mod discover;
mod importer;
mod parse;
#[cfg(feature = "sample")]
pub mod sample;
mod state;

pub use discover::{Environment, Found, Skipped, discover};
pub use importer::Importer;

/// The format's name.
pub const FORMAT: &str = "claude-code";
