//! The operations log: what was done to sessions, so that it can be finished after a crash, told, and taken back.
//!
//! ```text
//! <home>/operations/events.jsonl     begun 12 {"what":"fork",…} │ done 12 │ begun 14 {"what":"rename",…} │ done 14 │ …
//! ```
//!
//! It is a log like a session's, with its guarantees; its lock makes operations of all processes follow one another. An operation on several files
//! is begun here, durably, before the first of them is touched, and done when the last one is. INVARIANT: whoever takes the lock finds every
//! operation before its own done or undone, for it sees to those that a crash left open.
//!
//! An operation's number is the position of the event that began it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use annals_log::{Durability, Log};
use annals_model::{Draft, Seq, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::store::Store;

mod recover;
mod undo;

pub use undo::Undone;

/// How long one process waits for another one's operation.
const WAIT: Duration = Duration::from_secs(20);

/// Something done to sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Action {
    /// A session was forked.
    Fork {
        /// The child.
        session: SessionId,
        /// The parent.
        from: SessionId,
        /// The last event taken over.
        at_seq: Seq,
    },
    /// A session was saved under a name.
    Save {
        /// The frozen copy.
        session: SessionId,
        /// The session that it is a copy of.
        from: SessionId,
        /// The name.
        name: String,
        /// The last event taken over.
        at_seq: Seq,
        /// The snapshot that had the name before, and its place in the trash.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced: Option<Trashed>,
    },
    /// A session got another title.
    Rename {
        /// The session.
        session: SessionId,
        /// The title before.
        before: Option<String>,
        /// The title after.
        after: String,
    },
    /// A session got other tags.
    Tag {
        /// The session.
        session: SessionId,
        /// The tags before.
        before: Vec<String>,
        /// The tags after.
        after: Vec<String>,
    },
    /// A session was moved to another workspace.
    Move {
        /// The session.
        session: SessionId,
        /// The workspace before.
        before: Option<String>,
        /// The workspace after.
        after: String,
    },
    /// A session was put into the trash.
    Delete {
        /// The session, and its place there.
        trashed: Trashed,
    },
    /// A session was taken out of the trash.
    Restore {
        /// The session, and its place there.
        trashed: Trashed,
    },
    /// Sessions in the trash were deleted for good.
    Empty {
        /// The sessions, and their places.
        trashed: Vec<Trashed>,
    },
    /// Sessions were imported.
    Import {
        /// Those that were not there before.
        new: Vec<SessionId>,
        /// How many grew.
        grown: u64,
        /// Where from.
        from: String,
    },
    /// A damaged session was salvaged.
    Repair {
        /// The session.
        session: SessionId,
        /// Where the original is.
        original: String,
    },
    /// Sessions of one workspace were moved to another.
    Relink {
        /// The sessions, and their workspaces before.
        sessions: Vec<(SessionId, String)>,
        /// The workspace, or the beginning of it, before.
        before: String,
        /// After.
        after: String,
    },
    /// An operation was taken back.
    Undo {
        /// Its number.
        operation: Seq,
    },
}

/// A session in the trash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trashed {
    /// The session.
    pub session: SessionId,
    /// The name of its directory there.
    pub place: String,
}

/// How an operation came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was done.
    Done,
    /// It failed, or a crash cut it short, and nothing of it is left.
    Failed,
    /// It was taken back.
    Undone,
    /// It is under way, or a crash cut it short and nobody saw to it yet.
    Open,
}

/// An operation as the operations log tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Operation {
    /// Its number.
    pub number: Seq,
    /// When it was begun.
    pub time: Timestamp,
    /// Which program did it.
    pub program: String,
    /// How it came out.
    pub outcome: Outcome,
    /// What was done.
    #[serde(flatten)]
    pub action: Action,
}

const BEGUN: &str = "operation_begun";
const DONE: &str = "operation_done";
const FAILED: &str = "operation_failed";

#[derive(Serialize, Deserialize)]
struct Begun {
    program: String,
    #[serde(flatten)]
    action: Action,
}

#[derive(Serialize, Deserialize)]
struct Ended {
    operation: Seq,
}

/// The operations log, locked: an operation is under way.
#[derive(Debug)]
pub(crate) struct Operating<'a> {
    store: &'a Store,
    log: Log,
}

impl Store {
    fn operations_dir(&self) -> PathBuf {
        self.shared.home.root().join("operations")
    }

    /// Takes the operations log's lock and sees to what a crash left open.
    pub(crate) fn operate(&self) -> Result<Operating<'_>> {
        let operating = self.take_operations()?;
        operating.recover()?;
        Ok(operating)
    }

    fn take_operations(&self) -> Result<Operating<'_>> {
        let dir = self.operations_dir();
        let options = || self.shared.log_options(Durability::Strict);
        let failed = |error| Error::Operations { source: error };
        let until = Instant::now() + WAIT;
        self.shared.home.prepare(self.disk())?;
        loop {
            let log = match Log::open(self.disk(), &dir, options(), None) {
                Err(annals_log::Error::NotFound { .. } | annals_log::Error::NeverBegan { .. }) => {
                    let now = self.shared.options.clock.now();
                    let first =
                        Draft { ts: now, turn: None, kind: "operations_started", data: "{\"format\":1}" };
                    Log::create(self.disk(), &dir, options(), 0, &first)
                }
                other => other.map(|(log, _)| log),
            };
            match log {
                Ok(log) => return Ok(Operating { store: self, log }),
                Err(error @ (annals_log::Error::Busy { .. } | annals_log::Error::AlreadyExists { .. })) => {
                    if Instant::now() > until {
                        return Err(failed(error));
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// What was done to sessions, oldest first.
    ///
    /// # Errors
    /// [`Error::Operations`] when the operations log can't be read.
    pub fn operations(&self) -> Result<Vec<Operation>> {
        let dir = self.operations_dir();
        let reader = match annals_log::Reader::open(self.disk(), &dir) {
            Ok(reader) => reader,
            Err(annals_log::Error::NotFound { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(Error::Operations { source: error }),
        };
        read(reader)
    }

    /// Notes something that was done and touches nothing else.
    pub(crate) fn note_operation(&self, action: Action) -> Result<Seq> {
        let operating = self.operate()?;
        let number = operating.begin(action)?;
        operating.done(number)?;
        operating.close()?;
        Ok(number)
    }

    /// Finishes or undoes what a crash left open.
    ///
    /// # Errors
    /// [`Error::Operations`], and those of what has to be done.
    pub fn recover_operations(&self) -> Result<()> {
        if self.operations()?.iter().any(|operation| operation.outcome == Outcome::Open) {
            self.operate()?.close()?;
        }
        Ok(())
    }
}

/// Reads the operations log. Damage costs the operations in it.
fn read(mut reader: annals_log::Reader) -> Result<Vec<Operation>> {
    let mut all: Vec<Operation> = Vec::new();
    while let Some(item) = reader.next_item().map_err(|source| Error::Operations { source })? {
        let annals_log::Item::Line { line, .. } = item else { continue };
        let ended = || serde_json::from_slice::<Ended>(line.data).ok().map(|ended| ended.operation);
        match line.kind {
            BEGUN => {
                // One of a newer version is passed over.
                let Ok(Begun { program, action }) = serde_json::from_slice(line.data) else { continue };
                let time = Timestamp::parse(line.ts).unwrap_or_default();
                all.push(Operation { number: line.seq, time, program, outcome: Outcome::Open, action });
            }
            DONE => set(&mut all, ended(), Outcome::Done),
            FAILED => set(&mut all, ended(), Outcome::Failed),
            _ => {}
        }
    }
    Ok(all)
}

fn set(all: &mut [Operation], number: Option<Seq>, outcome: Outcome) {
    let Some(at) = number.and_then(|n| all.binary_search_by_key(&n, |o| o.number).ok()) else { return };
    let Some(operation) = all.get_mut(at) else { return };
    operation.outcome = outcome;
    if let (Action::Undo { operation: undone }, Outcome::Done) = (&operation.action, outcome) {
        let undone = *undone;
        set(all, Some(undone), Outcome::Undone);
    }
}

impl Operating<'_> {
    /// Begins an operation: it is on disk before anything is done.
    pub(crate) fn begin(&self, action: Action) -> Result<Seq> {
        let begun = Begun { program: self.store.shared.options.program.clone(), action };
        self.write(BEGUN, &begun)
    }

    pub(crate) fn done(&self, number: Seq) -> Result<()> {
        self.write(DONE, &Ended { operation: number }).map(drop)
    }

    pub(crate) fn failed(&self, number: Seq) -> Result<()> {
        self.write(FAILED, &Ended { operation: number }).map(drop)
    }

    /// Ends an operation as it came out.
    pub(crate) fn end<T>(self, number: Seq, outcome: Result<T>) -> Result<T> {
        match outcome {
            Ok(value) => {
                self.done(number)?;
                self.close()?;
                Ok(value)
            }
            Err(error) => {
                // What was asked failed; that is what is told. What can't be noted now is seen to by the next one.
                let _ = self.failed(number).and_then(|()| self.close());
                Err(error)
            }
        }
    }

    pub(crate) fn close(self) -> Result<()> {
        self.log.close().map(drop).map_err(|source| Error::Operations { source })
    }

    fn write(&self, kind: &str, data: &impl Serialize) -> Result<Seq> {
        let data = serde_json::to_string(data).map_err(|e| Error::InvalidEvent { reason: e.to_string() })?;
        let ts = self.store.shared.options.clock.now();
        let ack = self.log.commit(&[Draft { ts, turn: None, kind, data: &data }]);
        ack.map(|ack| ack.seq).map_err(|source| Error::Operations { source })
    }

    /// The operations so far.
    fn all(&self) -> Result<Vec<Operation>> {
        self.store.operations()
    }
}
