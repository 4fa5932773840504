//! The vocabulary of Annals: what a session's log says, and what follows from it. Pure functions over plain data.
//!
//! - [`id`], [`time`], [`json`], [`canon`], [`usage`], [`title`]: the small words.
//! - [`mod@line`]: the canonical line, its checksum and its head, read without a JSON parser.
//! - [`event`], [`payload`]: kinds and payloads.
//! - [`fold`]: from events to state. [`view`]: from state to what a provider is sent.
//!
//! It is not a store: it opens no file, reads no clock, knows no SQL and no runtime.

pub mod canon;
pub mod event;
pub mod fold;
pub mod id;
pub mod json;
pub mod line;
pub mod payload;
pub mod time;
pub mod title;
pub mod usage;
pub mod view;

pub use event::{Event, KINDS, Payload, PayloadError, Seq};
pub use id::{InvalidId, SessionId};
pub use json::Json;
pub use line::{Draft, Line, LineError, Place};
pub use time::{Clock, Timestamp};
pub use usage::Usage;

/// The version of the log's format that this library writes, named by every `session_started`. Older ones are read for
/// ever; a newer one is refused with a message.
pub const FORMAT: u32 = 1;
