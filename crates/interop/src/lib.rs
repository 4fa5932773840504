//! Readers of other agents' session files. Each opens its sources read-only, streams them record by record, and says
//! what every record means in the vocabulary of [`annals_model`].
//!
//! - [`claude_code`]: Claude Code's JSON-lines sessions.
//! - [`found`]: what a search for sessions yields; [`record`]: what reading one yields; [`error`]: what can go wrong.
//! - [`lines`]: the reader of lines that all line formats share.
//!
//! It is not a store: it writes nothing, keeps nothing between calls, and reads neither clock nor environment. Where the
//! next import goes on is the caller's to keep: [`claude_code::Importer::cursor`] and [`claude_code::Importer::state`].
//!
//! Guarantees: no record is fatal to the others; no record is dropped (one without a meaning becomes a `foreign` event
//! that names its bytes); memory is bounded by the longest line; the same bytes give the same events, however often the
//! import was interrupted between two records.

pub mod claude_code;
pub mod error;
pub mod found;
pub mod lines;
pub mod record;

mod base64;
mod lossy;
mod object;
mod surrogate;

pub use error::{Error, Result};
pub use found::{Environment, Found, SkipReason, Skipped, SourceFile};
pub use record::{Blob, ImportedEvent, Problem, Problems, Record};
