//! Durable sessions for AI agents.
//!
//! A session is an append-only event log: the only truth, checked line by line, safe against crashes. This crate keeps the sessions of a
//! data directory: it creates, appends, reads, folds, verifies, repairs and imports them.
//!
//! | I want to | look at |
//! |---|---|
//! | keep a new session | [`Store::create`], then [`SessionWriter::append`] |
//! | go on with one | [`Store::open_writer`], [`Store::replay`] |
//! | know what there is | [`Store::list`], [`Store::resolve`] |
//! | read one, even while it is written | [`Store::read`] |
//! | send it to a model | [`Store::replay`], then [`annals_model::view::messages`] |
//! | let any program record through a pipe | [`record`] |
//! | bring in other agents' sessions | [`Store::import`] |
//! | go another way from some point on | [`Store::fork`], [`Store::save`] |
//! | name, tag, move, delete, bring back | [`Store::rename`], [`Store::tag`], [`Store::move_to`], [`Store::delete`], [`Store::restore`] |
//! | see and take back what was done | [`Store::operations`], [`Store::undo`] |
//! | find what was said or done | [`Store::search`] |
//! | read it elsewhere, hand it on | [`Store::export`], [`Store::export_bundle`], [`Store::import_bundle`] |
//! | be sure | [`Store::verify`], [`Store::repair_plan`], [`Store::repair`] |
//!
//! It is no agent, has no runtime and needs none, and reads neither environment nor clock: both are passed in.
//!
//! ```
//! use std::sync::Arc;
//! use annals::{NewSession, Random, Store, StoreOptions};
//! use annals::model::{Clock, Payload, Timestamp, payload::{MessageKind, UserMessage}};
//!
//! struct Now;
//! impl Clock for Now {
//!     fn now(&self) -> Timestamp { Timestamp::parse("2026-11-30T21:00:00Z").unwrap() }
//! }
//! struct Dice;
//! impl Random for Dice {
//!     fn four(&self) -> [u8; 4] { [1, 2, 3, 4] }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let home = tempfile::tempdir()?;
//! let store = Store::open(StoreOptions::new(home.path().to_owned(), Arc::new(Now), Arc::new(Dice)))?;
//! let session = store.create(NewSession::default())?;
//! let prompt = UserMessage {
//!     kind: MessageKind::Prompt,
//!     text: "hello".into(),
//!     sent: None,
//!     attachments: vec![],
//!     src: None,
//! };
//! // Returns once it is on disk.
//! let ack = session.append(&[Payload::from(prompt).into()])?;
//! assert_eq!(ack.seq, 1);
//! let id = session.id().clone();
//! session.close()?;
//! assert_eq!(store.replay(&id)?.state.meta.title.as_deref(), Some("hello"));
//! # Ok(())
//! # }
//! ```

pub mod import;
pub mod record;

mod blobs;
mod bundle;
mod change;
mod copying;
mod error;
mod export;
mod fork;
mod home;
mod inbox;
mod index;
mod inspect;
mod list;
mod operations;
mod options;
mod reading;
mod reindex;
mod resolve;
mod search;
mod session;
mod shared;
mod snapshot;
mod space;
mod store;
mod trash;
mod why;

pub use annals_index::{By, Filter, UsageRow};
pub use annals_interop as interop;
pub use annals_log as log;
pub use annals_model as model;

pub use annals_export::Report;
pub use annals_search::text::Role;
pub use bundle::{Manifest, Unbundled, is_bundle};
pub use error::{Error, Result};
pub use export::Document;
pub use fork::{Cut, Fork};
pub use index::Indexing;
pub use inspect::{Problem, Verification};
pub use list::{CopiedFrom, Hidden, ListQuery, Listing, Summary};
pub use operations::{Action, Operation, Outcome, Trashed, Undone};
pub use options::{NoProjects, Projects, Random, StoreOptions};
pub use reading::{EventReader, Found, Replay};
pub use search::{Answer, Hit, Mode, Search};
pub use session::{NewEvent, RawEvent, SessionWriter};
pub use snapshot::Snapshot;
pub use space::{DiskUse, Space};
pub use store::{NewSession, Store};
pub use trash::TrashEntry;
pub use why::Why;
