//! The index beside the sessions: opened when it is first asked, brought up to date before it answers, made anew when it is broken.
//!
//! ```text
//! list    names that are new or gone, sessions that are open,    (stat of one directory and of the logs shown)
//!         logs of the page that are other files than before
//! others  every log whose file changed                           (stat of every log)
//! search  and the text of what is not in the search indexes yet
//! ```
//!
//! A session's writer marks it live before its log is touched and reads it into the index when it closes; a process that died left the mark. After
//! a power cut the index may lack its last commits, marks included: another boot of the machine means that every log is looked at once.
//!
//! INVARIANT: trouble with the index never fails an append and never hides a session. It is told by [`Store::notices`], and what can't be
//! written is kept in memory for as long as the process runs.
//!
//! [`Store::notices`]: crate::Store::notices

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use annals_index::Index;

use crate::error::{Error, Result};

mod catch_up;
mod sweep;

pub(crate) use catch_up::{facts, stamp, text};
pub(crate) use sweep::{Reach, read_text, sweep, threads};

/// Where the index is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Indexing {
    /// In the data directory, when it can be written.
    #[default]
    OnDisk,
    /// In memory, made anew by each process: for a data directory that is not on a real disk.
    InMemory,
}

/// The name of the index's file.
pub(crate) const INDEX_FILE: &str = "index.sqlite";

#[derive(Debug, Default)]
enum Slot {
    #[default]
    Closed,
    Open(Index),
}

/// The index of a store.
#[derive(Debug)]
pub(crate) struct Indexer {
    indexing: Indexing,
    path: PathBuf,
    slot: Mutex<Slot>,
    notices: Mutex<Vec<String>>,
}

impl Indexer {
    pub(crate) fn new(indexing: Indexing, home: &std::path::Path) -> Self {
        Self { indexing, path: home.join(INDEX_FILE), slot: Mutex::default(), notices: Mutex::default() }
    }

    /// Asks the index. A broken one is put aside and the question asked again of a new one, so `ask` begins with bringing it up to date.
    pub(crate) fn ask<T>(&self, mut ask: impl FnMut(&mut Index) -> Result<T>) -> Result<T> {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tries = 0;
        // Before there is a home there is nothing to know, and nothing to keep.
        if self.indexing == Indexing::OnDisk && !self.has_home() {
            return ask(&mut Index::in_memory()?);
        }
        loop {
            if matches!(*slot, Slot::Closed) {
                *slot = Slot::Open(self.open()?);
            }
            let Slot::Open(index) = &mut *slot else { continue };
            tries += 1;
            match ask(index) {
                Err(Error::Index(error)) if tries < 3 && error.is_broken() => {
                    *slot = Slot::Closed;
                    self.replace(&error);
                }
                // Another user's, on a medium that can't be written, or on a full one: it is put together in memory.
                Err(Error::Index(error)) if tries < 3 && error.is_unwritable() => {
                    if !error.is_read_only() {
                        self.note(format!("{error}; this time there is one in memory"));
                    }
                    *slot = Slot::Open(Index::in_memory()?);
                }
                other => return other,
            }
        }
    }

    /// Tells the index something that it would find out by itself later. Trouble is noted, not raised.
    pub(crate) fn tell(&self, tell: impl FnMut(&mut Index) -> Result<()>) {
        if let Err(error) = self.ask(tell) {
            self.note(format!("the index could not be brought up to date: {error}"));
        }
    }

    fn has_home(&self) -> bool {
        self.path.parent().is_some_and(|home| home.join("sessions").is_dir())
    }

    fn open(&self) -> Result<Index> {
        if self.indexing == Indexing::InMemory {
            return Ok(Index::in_memory()?);
        }
        match Index::open(&self.path) {
            Ok(opened) => {
                if let Some(aside) = opened.set_aside {
                    let place = aside.path.display();
                    self.note(format!("{}; it is made anew, the old one is {place}", aside.reason));
                }
                Ok(opened.index)
            }
            Err(error) if error.is_read_only() => {
                Index::open_read_only(&self.path).or_else(|_| Index::in_memory()).map_err(Error::from)
            }
            Err(error) => {
                self.note(format!("{error}; this time there is one in memory"));
                Ok(Index::in_memory()?)
            }
        }
    }

    fn replace(&self, error: &annals_index::Error) {
        if self.indexing == Indexing::InMemory {
            return;
        }
        match Index::set_aside(&self.path, error.to_string()) {
            Ok(aside) => self.note(format!(
                "{}; it is made anew, the old one is {}",
                aside.reason,
                aside.path.display()
            )),
            Err(error) => self.note(format!("the index is broken and can't be put aside: {error}")),
        }
    }

    /// Puts the index aside and forgets it, to be made anew.
    pub(crate) fn discard(&self) -> Result<()> {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        *slot = Slot::Closed;
        if self.indexing == Indexing::OnDisk {
            Index::delete(&self.path)?;
        }
        Ok(())
    }

    pub(crate) fn note(&self, notice: String) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        if !notices.contains(&notice) {
            notices.push(notice);
        }
    }

    pub(crate) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
