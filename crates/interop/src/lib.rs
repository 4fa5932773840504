//! Other agents' session formats, read into the events of Annals; one module a format.
//!
//! Readers open their sources read-only, stream them in bounded memory, keep every record reachable (what has no meaning here becomes a
//! `foreign` event), skip what can't be read and say where, and can go on where they stopped. They know neither store nor log.
//!
//! - [`claude_code`]: Claude Code's JSON lines.

pub mod claude_code;

mod base64;
mod error;
mod import;
mod lines;

pub use error::{Error, Result};
pub use import::{Blob, ImportedEvent, Problem, Record, SourceFile};
