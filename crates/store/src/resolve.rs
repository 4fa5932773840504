//! Which session is meant: an id, a part of one, a number, a snapshot's name, or `latest`.

use std::collections::HashSet;

use annals_index::Filter;
use annals_model::{InvalidId, SessionId};

use crate::error::{Error, Result};
use crate::import::Quiet;
use crate::index::{Reach, sweep};
use crate::list::{self, ListQuery, Summary};
use crate::store::Store;

/// The shortest beginning or end of an id that is accepted.
const MIN_PART_CHARS: usize = 4;

impl Store {
    /// The session that is meant: an id, a unique beginning or end of one (4 characters or more), `#` and a conversation id, a snapshot's
    /// name, or `latest` (the newest that is no snapshot).
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::Ambiguous`], [`Error::InvalidId`].
    pub fn resolve(&self, query: &str) -> Result<SessionId> {
        let shared = &self.shared;
        if query == "latest" {
            let filter = Filter { snapshots: Some(false), ..Filter::default() };
            let newest = self.list_of(&ListQuery { filter, skip: 0, limit: 1 })?.sessions.into_iter().next();
            return newest.map(|s| s.id).ok_or_else(|| not_found(query, Vec::new()));
        }
        if let Some(number) = query.strip_prefix('#') {
            let Ok(number) = number.parse() else { return Err(not_found(query, Vec::new())) };
            let found = shared.indexer.ask(|index| {
                sweep(shared, index, Reach::Names, &mut Quiet)?;
                Ok(index.session_of(number)?)
            })?;
            return found.ok_or_else(|| not_found(query, Vec::new()));
        }
        let id = SessionId::parse(query);
        if let Ok(id) = &id
            && shared.disk().metadata(&shared.home.session(id)).is_ok_and(|found| found.is_dir)
        {
            return Ok(id.clone());
        }
        if id.is_ok()
            && let Some(snapshot) = self.snapshot_named(query)?
        {
            return Ok(snapshot.id);
        }
        part(&list::ids(shared.disk(), &shared.home)?, query, id)
    }

    /// The snapshot of this name.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub fn snapshot_named(&self, name: &str) -> Result<Option<Summary>> {
        let shared = &self.shared;
        shared.indexer.ask(|index| {
            sweep(shared, index, Reach::Names, &mut Quiet)?;
            Ok(index.snapshot(name)?.map(|row| list::summary(row, &HashSet::new())))
        })
    }
}

/// The session whose id begins or ends so.
fn part(ids: &[SessionId], query: &str, id: std::result::Result<SessionId, InvalidId>) -> Result<SessionId> {
    // An end of an id may begin with a hyphen or a dot, which an id may not.
    let part_ok = query.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    if !part_ok || query.contains("..") {
        return Err(id.map_or_else(Error::from, |_| not_found(query, Vec::new())));
    }
    let long_enough = query.chars().count() >= MIN_PART_CHARS;
    let matches = |id: &&SessionId| id.as_str().starts_with(query) || id.as_str().ends_with(query);
    let mut candidates: Vec<SessionId> =
        if long_enough { ids.iter().filter(matches).cloned().collect() } else { Vec::new() };
    match candidates.len() {
        1 => Ok(candidates.remove(0)),
        0 => {
            id?;
            Err(not_found(query, similar(ids, query)))
        }
        _ => Err(Error::Ambiguous { query: query.to_owned(), candidates }),
    }
}

fn not_found(query: &str, similar: Vec<SessionId>) -> Error {
    Error::SessionNotFound { query: query.to_owned(), similar }
}

/// Up to three ids that share the longest beginning or end with what was asked for.
fn similar(ids: &[SessionId], query: &str) -> Vec<SessionId> {
    let common = |a: &mut dyn Iterator<Item = u8>, b: &mut dyn Iterator<Item = u8>| {
        a.zip(b).take_while(|(a, b)| a == b).count()
    };
    let score = |id: &SessionId| {
        let begin = common(&mut id.as_str().bytes(), &mut query.bytes());
        begin.max(common(&mut id.as_str().bytes().rev(), &mut query.bytes().rev()))
    };
    let mut scored: Vec<(usize, &SessionId)> =
        ids.iter().map(|id| (score(id), id)).filter(|(s, _)| *s >= 4).collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.cmp(a.1)));
    scored.into_iter().take(3).map(|(_, id)| id.clone()).collect()
}
