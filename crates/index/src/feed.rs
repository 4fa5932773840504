//! What the index is fed of a log's facts: the new lines, folded outside any transaction.
//!
//! ```text
//! log  ──────────────┬───────────────────┐
//!       known        │ cursor … lines … │ next cursor
//!                    └── Feed: fold, sources, tokens by hour
//! ```
//!
//! What was said in them is fed apart, see [`crate::TextFeed`]: a list waits for no search index.

use std::collections::BTreeMap;

use annals_model::event::Event;
use annals_model::fold::Meta;
use annals_model::payload::{FilesChanged, Foreign, SourceRecorded, ToolCall, ToolResult};
use annals_model::{Line, Payload, Seq, Timestamp};
use serde::{Deserialize, Serialize};

const HOUR_MS: i64 = 3_600_000;

/// Where a log was read up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    /// Offset behind the last line read.
    pub read_to: u64,
    /// The event that comes next.
    pub next_seq: Seq,
    /// What the next line's `prev` must name; see [`Line::anchor`].
    pub anchor: u32,
}

/// A log's file as it was when it was read: one that is still the same has nothing new in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    /// Its length, in bytes.
    pub len: u64,
    /// Its modification time, in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Its inode: a log that was replaced is another file.
    pub identity: u64,
}

/// A file that was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its path.
    pub path: String,
    /// Its size when it was read.
    pub size: u64,
    /// Its modification time then, in milliseconds since the epoch.
    pub mtime_ms: i64,
    /// Everything before this offset is imported.
    pub read_to: u64,
}

/// Tokens and messages of one hour with one model; differences, since a response's usage may be corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Spent {
    pub(crate) messages: i64,
    pub(crate) calls: i64,
    pub(crate) input: i64,
    pub(crate) cached: i64,
    pub(crate) cache_write: i64,
    pub(crate) output: i64,
    pub(crate) cost_micros: i64,
    pub(crate) unpriced: i64,
}

/// What a session's fold must know to go on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Fold {
    pub(crate) meta: Meta,
    /// Whether damage was met.
    pub(crate) damaged: bool,
}

/// The new lines of one log, folded.
#[derive(Debug)]
pub struct Feed {
    pub(crate) from: Cursor,
    pub(crate) to: Cursor,
    pub(crate) fold: Fold,
    pub(crate) sources: Vec<Source>,
    pub(crate) spent: BTreeMap<(i64, String), Spent>,
}

impl Feed {
    /// A feed that begins at a log's beginning.
    #[must_use]
    pub fn from_the_start() -> Self {
        Self::new(Cursor::default(), Fold::default())
    }

    pub(crate) fn new(from: Cursor, fold: Fold) -> Self {
        Self { from, to: from, fold, sources: Vec::new(), spent: BTreeMap::new() }
    }

    /// Where the next line is expected.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        self.to
    }

    /// The metadata so far.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.fold.meta
    }

    /// Takes in a checked line that ends before `end`, its newline included.
    pub fn take(&mut self, line: &Line<'_>, end: u64) {
        self.to = Cursor { read_to: end, next_seq: line.seq + 1, anchor: line.anchor() };
        let ts = Timestamp::parse(line.ts).unwrap_or_default();
        let Some(event) = event_for_the_index(line, ts) else {
            // Whole, but its data does not fit its kind: it counts, and says nothing.
            self.fold.meta.events = line.seq + 1;
            return;
        };
        self.apply(&event);
        if let Payload::SourceRecorded(recorded) = event.payload {
            let SourceRecorded { path, size, mtime_ms, end, .. } = recorded;
            self.sources.push(Source { path, size, mtime_ms, read_to: end });
        }
    }

    /// Damage was met: what is behind it is read, what was in it is lost.
    pub fn damage(&mut self) {
        self.fold.damaged = true;
    }

    /// Folds an event and notes what it spent.
    fn apply(&mut self, event: &Event) {
        let before = (self.fold.meta.usage, self.fold.meta.messages);
        self.fold.meta.apply(event);
        let meta = &self.fold.meta;
        let after = (meta.usage, meta.messages);
        // A response's context size changes nothing here; compare what is added up.
        if (before.0.calls, before.0.output, before.0.input, before.1)
            == (after.0.calls, after.0.output, after.0.input, after.1)
            && before.0.cached == after.0.cached
            && before.0.cache_write == after.0.cache_write
        {
            return;
        }
        let hour = event.ts.as_millis().div_euclid(HOUR_MS);
        let model = meta.model.clone().unwrap_or_default();
        let copied = meta.forked_from.as_ref().is_some_and(|from| event.seq <= from.seq);
        let spent = self.spent.entry((hour, model)).or_default();
        let change = |before: u64, after: u64| after.cast_signed().wrapping_sub(before.cast_signed());
        if !copied {
            spent.messages += change(before.1, after.1);
        }
        spent.calls += change(before.0.calls, after.0.calls);
        spent.input += change(before.0.input, after.0.input);
        spent.cached += change(before.0.cached, after.0.cached);
        spent.cache_write += change(before.0.cache_write, after.0.cache_write);
        spent.output += change(before.0.output, after.0.output);
        spent.cost_micros += change(before.0.cost_micros, after.0.cost_micros);
        spent.unpriced += change(before.0.unpriced, after.0.unpriced);
    }
}

/// Tool calls, results and imported records are most of a log's bytes; of these the fold needs the ids alone.
fn event_for_the_index(line: &Line<'_>, ts: Timestamp) -> Option<Event> {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    let id = || serde_json::from_slice::<Named>(line.data).ok().map(|named| named.id);
    let payload = match line.kind {
        "tool_call" => ToolCall { id: id()?, ..ToolCall::default() }.into(),
        "tool_result" => ToolResult { id: id()?, ..ToolResult::default() }.into(),
        "foreign" => Foreign::default().into(),
        "source_recorded" => {
            let recorded: SourceFacts = serde_json::from_slice(line.data).ok()?;
            let SourceFacts { path, size, mtime_ms, end } = recorded;
            SourceRecorded { path, size, mtime_ms, end, ..SourceRecorded::default() }.into()
        }
        "files_changed" => FilesChanged::default().into(),
        kind => Payload::parse(kind, line.data).ok()?,
    };
    Some(Event { seq: line.seq, ts, turn: line.turn, payload })
}

/// What the index wants of a `source_recorded`; the rest may be long.
#[derive(Deserialize)]
struct SourceFacts {
    path: String,
    size: u64,
    mtime_ms: i64,
    end: u64,
}
