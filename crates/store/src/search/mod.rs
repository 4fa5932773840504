//! Search: in one session, across all by words, and in everything that logs hold.
//!
//! | asked | looked at | found |
//! |---|---|---|
//! | words in a session | its transcript | substrings, most terms first (FIND-1) |
//! | words across sessions | the table of words | ranked; all of them, or any when all give nothing |
//! | words with tools, exact, regular expression | the logs, where signatures don't rule a block out | newest first |
//!
//! The index is brought up to date before it is asked, so that what was appended a moment ago is found, and what was deleted is not.

use annals_index::Filter;
use annals_model::{Seq, SessionId, Timestamp};
use annals_search::query::Query;
use annals_search::text::Role;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::import::Progress;
use crate::index::{Reach, read_text, sweep};
use crate::store::Store;

mod everything;
mod inside;
mod ranked;

/// How the text of a search is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Words and "quoted phrases", of any case.
    #[default]
    Words,
    /// Exactly this text.
    Exact,
    /// A regular expression.
    Regex,
}

/// What is sought, and where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Search {
    /// The text.
    pub text: String,
    /// How it is meant.
    pub mode: Mode,
    /// Only in this session.
    pub session: Option<SessionId>,
    /// Only in these sessions. Its times are asked of what was said, not of the sessions.
    pub filter: Filter,
    /// Only what these said; empty for people and agents.
    pub roles: Vec<Role>,
    /// Thinking, tool calls, what tools gave back and summaries too.
    pub everything: bool,
    /// How many hits at most; 0 for all.
    pub limit: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Answer {
    /// How many messages or events match.
    pub total: u64,
    /// Whether not all words of the query are in each hit, since nothing has them all.
    pub relaxed: bool,
    /// The hits: of a search in a session oldest first, of words the best first, else the newest first.
    pub hits: Vec<Hit>,
}

/// Something that matches.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// The session.
    pub session: SessionId,
    /// Its title.
    pub title: Option<String>,
    /// The event.
    pub seq: Seq,
    /// Whose text it is: `user`, `agent`, `thinking`, `tool_call`, `tool_result`, `summary`.
    pub role: &'static str,
    /// When.
    pub time: Timestamp,
    /// The text around the hit, about 300 characters, white space collapsed.
    pub excerpt: String,
    /// Where the hits stand in it: beginning and end, in bytes of its UTF-8.
    pub ranges: Vec<(usize, usize)>,
}

impl Hit {
    fn cut(mut self, excerpt: annals_search::excerpt::Excerpt) -> Self {
        self.ranges = excerpt.ranges.into_iter().map(|range| (range.start, range.end)).collect();
        self.excerpt = excerpt.text;
        self
    }
}

impl Search {
    fn query(&self) -> Result<Query> {
        Query::parse(&self.text).map_err(|e| Error::InvalidQuery { reason: e.to_string() })
    }

    /// Whether a piece of this role is sought.
    fn wants(&self, role: Role) -> bool {
        match self.roles.is_empty() {
            true => self.everything || annals_search::text::is_transcript(role),
            false => self.roles.contains(&role),
        }
    }

    /// Whether more than what people and agents said is sought.
    fn is_deep(&self) -> bool {
        self.everything || self.roles.iter().any(|role| !annals_search::text::is_transcript(*role))
    }
}

impl Store {
    /// Searches. The first search after much was written reads it into the search indexes first, which `progress` is told of.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`], [`Error::SessionNotFound`], [`Error::Index`], [`Error::Io`].
    pub fn search(&self, search: &Search, progress: &mut dyn Progress) -> Result<Answer> {
        match (&search.session, search.mode) {
            (Some(id), Mode::Words) if !search.is_deep() => inside::search(self, search, id),
            (_, mode) => {
                let needle = everything::needle(search)?;
                let query = if mode == Mode::Words { Some(search.query()?) } else { None };
                let shared = &self.shared;
                shared.indexer.ask(|index| {
                    sweep(shared, index, Reach::Files, progress)?;
                    read_text(shared, index, progress)?;
                    match &query {
                        Some(query) if !search.is_deep() => ranked::search(self, index, search, query),
                        _ => everything::search(self, index, search, &needle),
                    }
                })
            }
        }
    }
}
