//! The list: sessions as the index knows them, newest first, and how many are not shown.

use std::collections::HashSet;

use annals_index::{Filter, Index, Page, Row};
use annals_log::disk::Disk;
use annals_model::fold::UsageTotals;
use annals_model::{Seq, SessionId, Timestamp};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::home::Home;
use crate::import::Quiet;
use crate::index::{Reach, sweep};
use crate::shared::Shared;
use crate::store::Store;

/// What a list says of one session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Its id.
    pub id: SessionId,
    /// Its number in the index.
    pub conversation_id: Option<u64>,
    /// Its title.
    pub title: Option<String>,
    /// What it is doing: `idle`, `interrupted`, `ended`, `open` (a process writes it now), `damaged`.
    pub status: &'static str,
    /// How many events.
    pub events: u64,
    /// How many messages.
    pub messages: Option<u64>,
    /// The first event's time.
    pub created: Option<Timestamp>,
    /// The last message's time.
    pub updated: Option<Timestamp>,
    /// The workspace.
    pub workspace: Option<String>,
    /// The project: the stable identity behind the workspace.
    pub project: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// What started it.
    pub origin: Option<String>,
    /// The format that it was imported from.
    pub source: Option<String>,
    /// The name that it was saved under: a frozen copy.
    pub snapshot: Option<String>,
    /// Where it was copied from.
    pub from: Option<CopiedFrom>,
    /// The snapshot that it was branched from.
    pub from_snapshot: Option<String>,
    /// The session that it works for.
    pub parent: Option<String>,
    /// The workspace that it was moved from.
    pub moved_from: Option<String>,
    /// The event that moved it.
    pub moved_at: Option<Seq>,
    /// Its tags.
    pub tags: Vec<String>,
    /// The last turn's number.
    pub last_turn: Option<u64>,
    /// The last turn's trace context.
    pub traceparent: Option<String>,
    /// What it cost.
    pub usage: UsageTotals,
}

/// A cut in another session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CopiedFrom {
    /// The session.
    pub session: String,
    /// The last event taken over.
    pub seq: Seq,
}

/// Sessions that a list does not show, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hidden {
    /// `unfinished` (its creation never finished), `unreadable`, `damaged` (not even its first event is legible), `filtered` (the question
    /// leaves it out), `limit` (it is on another page).
    pub reason: String,
    /// How many.
    pub count: u64,
}

/// A list of sessions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Listing {
    /// The sessions, newest first.
    pub sessions: Vec<Summary>,
    /// How many there are, shown or not.
    pub total: u64,
    /// How many the question means, on this page or another.
    pub matching: u64,
    /// How many are not shown, and why.
    pub hidden: Vec<Hidden>,
}

/// What to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListQuery {
    /// Which sessions.
    pub filter: Filter,
    /// How many of the newest are passed over.
    pub skip: u64,
    /// How many at most; 0 for all.
    pub limit: u64,
}

/// The ids of all session directories, sorted. Entries that are no session are passed over.
pub(crate) fn ids(disk: &dyn Disk, home: &Home) -> Result<Vec<SessionId>> {
    let dir = home.sessions();
    let entries = match disk.list(&dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io("read", dir, e)),
    };
    let names = entries.iter().filter_map(|path| path.file_name()?.to_str());
    let mut ids: Vec<SessionId> = names.filter_map(|name| SessionId::parse(name).ok()).collect();
    ids.sort();
    Ok(ids)
}

impl Store {
    /// Every session, newest first.
    ///
    /// # Errors
    /// [`Error::Io`] when the data directory can't be read. A bad session is no error: it is counted as hidden.
    pub fn list(&self) -> Result<Listing> {
        self.list_of(&ListQuery::default())
    }

    /// The sessions that are asked for, newest first. No log is read but those that are open, new, or shown and another file than the index
    /// knows: what is shown is true, and the rest is looked at when it is.
    ///
    /// # Errors
    /// [`Error::Io`] when the data directory can't be read.
    pub fn list_of(&self, query: &ListQuery) -> Result<Listing> {
        let shared = &self.shared;
        shared.indexer.ask(|index| {
            sweep(shared, index, Reach::Names, &mut Quiet)?;
            let page = index.list(&query.filter, query.skip, query.limit)?;
            let changed: Vec<&SessionId> =
                page.rows.iter().filter(|row| !is_as_known(shared, row)).map(|row| &row.id).collect();
            if changed.is_empty() {
                return listing(index, page);
            }
            for id in changed {
                crate::index::facts(shared, index, id)?;
            }
            listing(index, index.list(&query.filter, query.skip, query.limit)?)
        })
    }

    /// One session as a list shows it.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`] when there is none, or none of it is legible.
    pub fn summary(&self, id: &SessionId) -> Result<Summary> {
        let shared = &self.shared;
        let found = shared.indexer.ask(|index| {
            crate::index::facts(shared, index, id)?;
            let open = open_ids(index)?;
            Ok(index.row(id)?.map(|row| summary(row, &open)))
        })?;
        found.ok_or_else(|| Error::SessionNotFound { query: id.to_string(), similar: Vec::new() })
    }

    /// Sessions that were copied from this one, oldest first.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub fn copies_of(&self, id: &SessionId) -> Result<Vec<Summary>> {
        let shared = &self.shared;
        shared.indexer.ask(|index| {
            sweep(shared, index, Reach::Names, &mut Quiet)?;
            let open = open_ids(index)?;
            Ok(index.copies_of(id)?.into_iter().map(|row| summary(row, &open)).collect())
        })
    }
}

/// Whether a log's file is the one that the index has read.
fn is_as_known(shared: &Shared, row: &Row) -> bool {
    crate::index::stamp(shared.disk(), &shared.home.session(&row.id)).is_ok_and(|now| now == Some(row.stamp))
}

fn listing(index: &Index, page: Page) -> Result<Listing> {
    let open = open_ids(index)?;
    let mut hidden: Vec<Hidden> = index
        .hidden()?
        .into_iter()
        .map(|tally| Hidden { reason: tally.reason, count: tally.count })
        .collect();
    let total = page.shown + hidden.iter().map(|h| h.count).sum::<u64>();
    let left_out =
        [("filtered", page.shown - page.matching), ("limit", page.matching - page.rows.len() as u64)];
    let left_out = left_out.into_iter().filter(|(_, count)| *count > 0);
    hidden.extend(left_out.map(|(reason, count)| Hidden { reason: reason.to_owned(), count }));
    let sessions = page.rows.into_iter().map(|row| summary(row, &open)).collect();
    Ok(Listing { sessions, total, matching: page.matching, hidden })
}

/// The sessions that a process has open; those whose process died were seen to before.
pub(crate) fn open_ids(index: &Index) -> Result<HashSet<SessionId>> {
    Ok(index.live()?.into_iter().collect())
}

pub(crate) fn summary(row: Row, open: &HashSet<SessionId>) -> Summary {
    let status = match row.status.as_str() {
        _ if row.damaged => "damaged",
        _ if open.contains(&row.id) => "open",
        "ended" => "ended",
        "interrupted" => "interrupted",
        _ => "idle",
    };
    let (moved_from, moved_at) = row.moved_from.unzip();
    Summary {
        id: row.id,
        conversation_id: Some(row.number),
        title: row.title,
        status,
        events: row.events,
        messages: Some(row.messages),
        created: row.created,
        updated: row.updated.or(row.created),
        workspace: row.workspace,
        project: row.project,
        agent: row.agent,
        model: row.model,
        origin: row.origin,
        source: row.source,
        snapshot: row.snapshot,
        from: row.from.map(|(session, seq)| CopiedFrom { session, seq }),
        from_snapshot: row.from_snapshot,
        parent: row.parent,
        moved_from,
        moved_at,
        tags: row.tags,
        last_turn: row.last_turn,
        traceparent: row.traceparent,
        usage: row.usage,
    }
}
