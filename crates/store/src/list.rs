//! The list: every session, newest first.
//!
//! Logs of a usual size are read through, without parsing what a list does not show. Of a large one only the first and the last part is
//! read, so that a list costs the same whatever the sizes; what can't be known that way is left out of the answer (`messages` is None)
//! rather than guessed. A title given in the part between is missed until there is an index.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use annals_log::disk::{Disk, OpenMode};
use annals_log::{Item, LOG_FILE, OwnedLine, Reader, holder};
use annals_model::event::Event;
use annals_model::fold::{Meta, Status};
use annals_model::payload::{FilesChanged, Foreign, SourceRecorded, ToolCall, ToolResult};
use annals_model::{Line, Payload, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::home::Home;

/// Logs up to this size are read through.
const WHOLE_BYTES: u64 = 16 * 1024 * 1024;

/// How much of a larger log's beginning and end is read.
const PART_BYTES: u64 = 64 * 1024;

/// Up to this many sessions are read by one thread.
const ALONE: usize = 8;

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
    let ids = ids(disk, home)?;
    let mut listing = Listing { total: ids.len() as u64, ..Listing::default() };
    let mut hidden: BTreeMap<&'static str, u64> = BTreeMap::new();
    for summary in summaries(disk, home, &ids) {
        // One bad session costs one session.
        match summary {
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

type Summarised = std::result::Result<Summary, &'static str>;

/// The summaries of sessions, in no order; by all processors when there are many.
fn summaries(disk: &dyn Disk, home: &Home, ids: &[SessionId]) -> Vec<Summarised> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    if ids.len() <= ALONE || threads == 1 {
        return ids.iter().map(|id| summary(disk, home, id)).collect();
    }
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Vec::with_capacity(ids.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(id) = ids.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let summary = summary(disk, home, id);
                    all.lock().unwrap_or_else(PoisonError::into_inner).push(summary);
                }
            });
        }
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// A session's summary, or why there is none.
pub(crate) fn summary(disk: &dyn Disk, home: &Home, id: &SessionId) -> Summarised {
    let dir = home.session(id);
    let not_there = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => "unfinished",
        _ => "unreadable",
    };
    let file = disk.open(&dir.join(LOG_FILE), OpenMode::Read).map_err(not_there)?;
    let len = file.len().map_err(not_there)?;
    let whole = len <= WHOLE_BYTES;
    let mut seen = Seen::default();
    let mut reader = Reader::open(disk, &dir).map_err(|_| "unreadable")?;
    let mut lines = 0;
    while let Some(item) = reader.next_item().map_err(|_| "unreadable")? {
        match item {
            Item::Line { line, offset, .. } => {
                seen.take(&line);
                lines += 1;
                // The first prompt, and so the title, may stand behind a long beginning.
                if !whole && lines >= 16 && (offset >= PART_BYTES && seen.meta.title.is_some() || lines >= 64)
                {
                    break;
                }
            }
            Item::Gap(_) => seen.damaged = true,
        }
    }
    if !whole {
        let tail = last_lines(disk, &dir, len).map_err(|_| "unreadable")?;
        seen.go_on_at_the_end(&tail);
        // Reading through would notice this.
        seen.damaged |= holder::witness(disk, &dir).is_some_and(|witness| witness.end > len);
    }
    if seen.events == 0 {
        return Err(if seen.damaged { "damaged" } else { "unfinished" });
    }
    let open = holder::holder(disk, &dir).is_some();
    Ok(seen.summary(id, open, whole))
}

/// The last lines of a log of `len` bytes. The part read grows until there is a whole line in it: the last one may be long.
fn last_lines(disk: &dyn Disk, dir: &std::path::Path, len: u64) -> annals_log::Result<Vec<OwnedLine>> {
    let mut part = PART_BYTES;
    loop {
        let lines = annals_log::last_lines(disk, dir, part)?;
        if !lines.is_empty() || part >= len {
            return Ok(lines);
        }
        part *= 16;
    }
}

/// What was seen of a log.
#[derive(Debug, Default)]
struct Seen {
    meta: Meta,
    /// What the last lines alone tell: what the first ones left open may be settled in between.
    end: Option<Meta>,
    /// Events, whether or not their data fits.
    events: u64,
    last: Option<Timestamp>,
    damaged: bool,
}

impl Seen {
    fn take(&mut self, line: &Line<'_>) {
        self.events = line.seq + 1;
        if let Some(event) = event_for_a_list(line) {
            self.meta.apply(&event);
            self.last = Some(event.ts);
        }
    }

    fn go_on_at_the_end(&mut self, tail: &[OwnedLine]) {
        let (head, mut end) = (self.events, Meta::default());
        for owned in tail.iter().filter(|line| line.seq >= head) {
            let line = owned.line();
            if let Some(event) = event_for_a_list(&line) {
                end.apply(&event);
            }
            self.take(&line);
        }
        self.end = Some(end);
    }

    fn summary(self, id: &SessionId, open: bool, whole: bool) -> Summary {
        let status = match self.end.as_ref().unwrap_or(&self.meta).status() {
            _ if self.damaged => "damaged",
            _ if open => "open",
            Status::Idle => "idle",
            // Nobody writes it: what was running was cut short.
            Status::Running | Status::Interrupted => "interrupted",
            Status::Ended => "ended",
        };
        let updated = match &self.end {
            // The last message lies between: not before the last event by much, and not where the beginning says.
            Some(end) => end.updated.or(self.last),
            None => self.meta.updated,
        };
        Summary {
            id: id.clone(),
            conversation_id: None,
            title: self.meta.title,
            status,
            events: self.events,
            messages: whole.then_some(self.meta.messages),
            created: self.meta.created,
            updated: updated.or(self.meta.created),
            workspace: self.meta.workspace,
            origin: self.meta.origin,
            source: self.meta.imported_from.map(|from| from.format),
        }
    }
}

/// Tool calls, results and imported records are most of a log's bytes, and a list shows none of what they say.
fn event_for_a_list(line: &Line<'_>) -> Option<Event> {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    let id = || serde_json::from_slice::<Named>(line.data).ok().map(|named| named.id);
    let payload = match line.kind {
        "tool_call" => ToolCall { id: id()?, ..ToolCall::default() }.into(),
        "tool_result" => ToolResult { id: id()?, ..ToolResult::default() }.into(),
        "foreign" => Foreign::default().into(),
        "source_recorded" => SourceRecorded::default().into(),
        "files_changed" => FilesChanged::default().into(),
        kind => Payload::parse(kind, line.data).ok()?,
    };
    let ts = Timestamp::parse(line.ts).unwrap_or_default();
    Some(Event { seq: line.seq, ts, turn: line.turn, payload })
}
