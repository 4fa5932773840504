//! One session's file: an append-only log of checked lines that survives crashes.
//!
//! | I have / want | look at |
//! |---|---|
//! | a directory, and want to write there | [`Log::create`], [`Log::open`] |
//! | events to store | [`Log::append`] → [`Ticket::wait`], or [`Log::commit`] |
//! | a log to read, while it may be written | [`Reader`] |
//! | a log, and want one that begins like it | [`fork`] |
//! | doubts | [`verify`], then [`salvage`] |
//!
//! It deals in bytes and lines; what an event means is not its business. It writes three kinds of line by itself: `repaired`,
//! `sealed` and `closed`. Everything it asks of a disk goes through [`disk`], so that the proof can stand in its place.
//!
//! **Guarantees**, each with its proof in the crash suite: an acknowledged event is never lost; what was never acknowledged
//! may survive or not, but never comes back later; damage to acknowledged bytes is reported, never cut away.

pub mod disk;
pub mod holder;

mod commit;
mod error;
mod fork;
mod open;
mod options;
mod reader;
mod salvage;
mod scan;
mod seal;
pub mod seeded;
mod tail;
mod verify;
mod writer;

pub use error::{Error, ErrorKind, Result};
pub use fork::{Forked, Forking, fork};
pub use holder::{Held, Holder, Witness, hold};
pub use open::{Opening, Repair};
pub use options::{Ack, Durability, Options, Promise, Runway, SealKey, UnknownDurability};
pub use reader::{Item, Reader, Tail};
pub use salvage::{Salvage, SalvagePlan, plan as salvage_plan, salvage};
pub use scan::{Damage, DamageKind};
pub use tail::{OwnedLine, last_lines};
pub use verify::{Report, verify};
pub use writer::{Log, Ticket};

/// The name of a log's file in its session's directory.
pub const LOG_FILE: &str = "events.jsonl";
