//! The list: every session, newest first, from the heads and tails of their logs.
//!
//! Small logs are read whole. Of a large one only the first and the last part is read, so that a list costs the same whatever the
//! sizes; what can't be known that way is left out of the answer (`messages` is None) rather than guessed.

use std::collections::BTreeMap;

use annals_log::disk::{Disk, OpenMode};
use annals_log::{LOG_FILE, OwnedLine, holder};
use annals_model::event::Event;
use annals_model::fold::{Meta, Status};
use annals_model::{Line, SessionId, Timestamp};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::home::Home;
use crate::reading::{EventReader, Found};

/// Logs up to this size are read whole.
const WHOLE_BYTES: u64 = 512 * 1024;

/// How much of a larger log's beginning and end is read.
const PART_BYTES: u64 = 64 * 1024;

/// What a list says of one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Its id.
    pub id: SessionId,
    /// Its number in the index; None as long as it has none.
    pub conversation_id: Option<u64>,
    /// Its title.
    pub title: Option<String>,
    /// What it is doing: `idle`, `running`, `interrupted`, `ended`, `open` (a process writes it now), `damaged`.
    pub status: &'static str,
    /// How many events.
    pub events: u64,
    /// How many messages; None when only the index could tell.
    pub messages: Option<u64>,
    /// The first event's time.
    pub created: Option<Timestamp>,
    /// The last message's time.
    pub updated: Option<Timestamp>,
    /// The workspace.
    pub workspace: Option<String>,
    /// What started it.
    pub origin: Option<String>,
    /// The format that it was imported from.
    pub source: Option<String>,
}

/// Sessions that a list does not show, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hidden {
    /// `unfinished` (its creation never finished), `unreadable`, `damaged` (not even its first event is legible), `limit`.
    pub reason: &'static str,
    /// How many.
    pub count: u64,
}

/// A list of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The sessions, newest first.
    pub sessions: Vec<Summary>,
    /// How many there are.
    pub total: u64,
    /// How many are not shown, and why.
    pub hidden: Vec<Hidden>,
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

pub(crate) fn list(disk: &dyn Disk, home: &Home) -> Result<Listing> {
    let mut listing = Listing::default();
    let mut hidden: BTreeMap<&'static str, u64> = BTreeMap::new();
    for id in ids(disk, home)? {
        listing.total += 1;
        // One bad session costs one session.
        match summary(disk, home, &id) {
            Ok(summary) => listing.sessions.push(summary),
            Err(reason) => *hidden.entry(reason).or_default() += 1,
        }
    }
    listing
        .sessions
        .sort_by(|a, b| b.updated.or(b.created).cmp(&a.updated.or(a.created)).then(b.id.cmp(&a.id)));
    listing.hidden = hidden.into_iter().map(|(reason, count)| Hidden { reason, count }).collect();
    Ok(listing)
}

/// A session's summary, or why there is none.
pub(crate) fn summary(
    disk: &dyn Disk,
    home: &Home,
    id: &SessionId,
) -> std::result::Result<Summary, &'static str> {
    let dir = home.session(id);
    let not_there = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => "unfinished",
        _ => "unreadable",
    };
    let file = disk.open(&dir.join(LOG_FILE), OpenMode::Read).map_err(not_there)?;
    let len = file.len().map_err(not_there)?;
    let whole = len <= WHOLE_BYTES;
    let mut meta = Meta::default();
    let mut damaged = false;
    let mut reader = EventReader::open(disk, &dir, id).map_err(|_| "unreadable")?;
    let mut read = 0;
    while let Some(found) = reader.next_found().map_err(|_| "unreadable")? {
        match found {
            Found::Event(event) => meta.apply(&event),
            Found::Unfit { .. } => {}
            Found::Gap(_) => damaged = true,
        }
        read += 1;
        if !whole && read >= 64 {
            break;
        }
    }
    if !whole {
        let head = meta.events;
        let tail = annals_log::last_lines(disk, &dir, PART_BYTES).map_err(|_| "unreadable")?;
        tail.iter().filter(|line| line.seq >= head).filter_map(event).for_each(|event| meta.apply(&event));
    }
    if meta.events == 0 {
        return Err(if damaged { "damaged" } else { "unfinished" });
    }
    let open = holder::holder(disk, &dir).is_some();
    let status = match meta.status() {
        _ if damaged => "damaged",
        _ if open => "open",
        Status::Idle => "idle",
        // Nobody writes it: what was running was cut short.
        Status::Running | Status::Interrupted => "interrupted",
        Status::Ended => "ended",
    };
    Ok(Summary {
        id: id.clone(),
        conversation_id: None,
        title: meta.title,
        status,
        events: meta.events,
        messages: whole.then_some(meta.messages),
        created: meta.created,
        updated: meta.updated.or(meta.created),
        workspace: meta.workspace,
        origin: meta.origin,
        source: meta.imported_from.map(|from| from.format),
    })
}

fn event(line: &OwnedLine) -> Option<Event> {
    let line = Line {
        seq: line.seq,
        durable: None,
        prev: 0,
        ts: &line.ts,
        turn: line.turn,
        kind: &line.kind,
        data: &line.data,
        crc: 0,
    };
    Event::from_line(&line).ok()
}
