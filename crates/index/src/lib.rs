//! The index: one SQLite file that says of every session what a list, a search or a statistic asks. It is made from the logs and may be
//! deleted at any moment.
//!
//! | I want to | look at |
//! |---|---|
//! | open it, whatever is there | [`Index::open`], [`Index::open_read_only`], [`Index::in_memory`] |
//! | take in a log's new lines | [`Feed`], then [`Index::write`] and [`Write::apply`] |
//! | take in what they say | [`TextFeed`], then [`Write::apply_text`] |
//! | list | [`Index::list`] |
//! | know a session's number, or the other way | [`Index::number_of`], [`Index::session_of`] |
//! | search | [`Index::words`], [`Index::blocks`] |
//! | count | [`Index::usage`] |
//!
//! INVARIANT(I4): what the index says of a session follows from its log alone. It is fed forward only: each [`Feed`] begins where the one
//! before it ended, and one that does not is refused as [`Error::Stale`], so that two processes that read the same lines count them once.
//!
//! It does not know the logs' files: offsets are taken in and given back. It is never the only copy of anything but the numbers of
//! sessions whose log does not name one yet.

mod apply;
mod error;
mod feed;
mod index;
mod known;
mod list;
mod live;
mod number;
mod schema;
mod signatures;
mod text;
mod usage;
mod words;

pub use apply::{Applied, Write};
pub use error::{Error, Result};
pub use feed::{Cursor, Feed, Source, Stamp};
pub use index::{Index, Opened, SetAside};
pub use known::Known;
pub use list::{Filter, Page, Row, Tally};
pub use number::Number;
pub use signatures::{Block, Extent};
pub use text::TextFeed;
pub use usage::{By, UsageRow};
pub use words::{WordHit, WordHits};
