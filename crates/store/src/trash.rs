//! The trash: deleted sessions, whole, until somebody empties it.
//!
//! ```text
//! <home>/trash/<milliseconds>-<id>/     the session's directory as it was, and when it was deleted
//! ```
//!
//! INVARIANT: a session is in one place. It goes there and back by one rename, with its lock held, so that nobody writes it meanwhile; from
//! that moment on no list or search knows it.

use std::path::{Path, PathBuf};

use annals_log::{LOG_FILE, Reader};
use annals_model::{SessionId, Timestamp};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::home::Home;
use crate::index;
use crate::operations::{Action, Trashed};
use crate::store::Store;

/// A session in the trash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrashEntry {
    /// The session.
    pub session: SessionId,
    /// The name of its directory there.
    pub place: String,
    /// When it was deleted.
    pub deleted: Timestamp,
    /// Its title.
    pub title: Option<String>,
    /// How many events.
    pub events: u64,
    /// What it takes on disk, in bytes.
    pub len_bytes: u64,
}

impl Home {
    pub(crate) fn trash(&self) -> PathBuf {
        self.root().join("trash")
    }
}

impl Store {
    fn place(&self, trashed: &Trashed) -> PathBuf {
        self.shared.home.trash().join(&trashed.place)
    }

    pub(crate) fn is_in_trash(&self, trashed: &Trashed) -> bool {
        self.disk().metadata(&self.place(trashed)).is_ok_and(|found| found.is_dir)
    }

    /// A place in the trash that nothing has yet.
    pub(crate) fn new_place(&self, session: &SessionId) -> Trashed {
        let mut millis = self.shared.options.clock.now().as_millis();
        loop {
            let trashed = Trashed { session: session.clone(), place: format!("{millis}-{session}") };
            if !self.is_in_trash(&trashed) {
                return trashed;
            }
            millis += 1;
        }
    }

    /// Puts a session into the trash. Its copies and what it did to files stay.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`]; [`Error::SessionOpen`] while a process has it open.
    ///
    /// # Durability
    /// Durable when this returns. A crash leaves it where it was or in the trash.
    pub fn delete(&self, id: &SessionId) -> Result<Trashed> {
        if !self.disk().metadata(&self.shared.home.session(id)).is_ok_and(|found| found.is_dir) {
            return Err(Error::SessionNotFound { query: id.to_string(), similar: Vec::new() });
        }
        let trashed = self.new_place(id);
        let operating = self.operate()?;
        let number = operating.begin(Action::Delete { trashed: trashed.clone() })?;
        let outcome = self.move_to_trash(&trashed);
        operating.end(number, outcome)?;
        Ok(trashed)
    }

    pub(crate) fn move_to_trash(&self, trashed: &Trashed) -> Result<()> {
        let (from, to) = (self.shared.home.session(&trashed.session), self.place(trashed));
        let held = self.hold(&trashed.session, &from)?;
        let trash = self.shared.home.trash();
        self.disk().create_dirs(&trash).map_err(|e| Error::io("create", &trash, e))?;
        crate::home::tighten(&trash)?;
        // Also one that was there: whoever made it may have died before its name was durable.
        let root = self.shared.home.root();
        self.disk().sync_dir(root).map_err(|e| Error::io("sync", root, e))?;
        self.move_dir(&from, &to)?;
        drop(held);
        self.forget(&trashed.session);
        Ok(())
    }

    pub(crate) fn move_from_trash(&self, trashed: &Trashed) -> Result<()> {
        let (from, to) = (self.place(trashed), self.shared.home.session(&trashed.session));
        if self.disk().metadata(&to).is_ok() {
            return Err(Error::SessionExists { id: trashed.session.clone() });
        }
        self.move_dir(&from, &to)?;
        let (shared, id) = (&self.shared, &trashed.session);
        shared.indexer.tell(|index| {
            index::facts(shared, index, id)?;
            index::text(shared, index, id)
        });
        Ok(())
    }

    /// Renames a directory; durable when this returns.
    pub(crate) fn move_dir(&self, from: &Path, to: &Path) -> Result<()> {
        let failed = |e| Error::io("move", from, e);
        self.disk().rename(from, to).map_err(failed)?;
        // The new name first: between the two a power cut may show the old one again, never none.
        for parent in [to.parent(), from.parent()].into_iter().flatten() {
            self.disk().sync_dir(parent).map_err(failed)?;
        }
        Ok(())
    }

    /// Takes a session's lock so that nobody opens it.
    pub(crate) fn hold(&self, id: &SessionId, dir: &Path) -> Result<annals_log::Held> {
        let options = &self.shared.options;
        let held = annals_log::hold(self.disk(), dir, options.clock.now(), &options.program);
        held.map_err(|error| match Error::from_log(id, error) {
            Error::SessionBusy { id, holder } => Error::SessionOpen { id, holder },
            other => other,
        })
    }

    /// The index forgets a session.
    pub(crate) fn forget(&self, id: &SessionId) {
        self.shared.indexer.tell(|index| {
            let mut write = index.write()?;
            write.remove(id)?;
            write.commit()?;
            Ok(index.unmark_live(id)?)
        });
    }

    /// What is in the trash, newest first.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn trash(&self) -> Result<Vec<TrashEntry>> {
        let dir = self.shared.home.trash();
        let entries = match self.disk().list(&dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(Error::io("read", dir, e)),
        };
        let mut all: Vec<TrashEntry> = entries.iter().filter_map(|path| self.entry(path)).collect();
        all.sort_by(|a, b| b.deleted.cmp(&a.deleted).then_with(|| b.place.cmp(&a.place)));
        Ok(all)
    }

    fn entry(&self, path: &Path) -> Option<TrashEntry> {
        let place = path.file_name()?.to_str()?.to_owned();
        let (millis, id) = place.split_once('-')?;
        let (deleted, session) = (Timestamp::from_millis(millis.parse().ok()?), SessionId::parse(id).ok()?);
        let mut feed = annals_index::Feed::from_the_start();
        if let Ok(mut reader) = Reader::open(self.disk(), path) {
            while let Ok(Some(item)) = reader.next_item() {
                if let annals_log::Item::Line { line, bytes, offset } = item {
                    feed.take(&line, offset + bytes.len() as u64 + 1);
                }
            }
        }
        let meta = feed.meta();
        let (title, events) = (meta.title.clone(), meta.events);
        let len_bytes = self.size_of(path);
        Some(TrashEntry { session, place, deleted, title, events, len_bytes })
    }

    /// The bytes of the files in a session's directory.
    pub(crate) fn size_of(&self, dir: &Path) -> u64 {
        let len = |path: &Path| {
            self.disk().metadata(path).map_or(0, |found| if found.is_dir { 0 } else { found.len })
        };
        let files = |dir: &Path| -> u64 {
            self.disk().list(dir).unwrap_or_default().iter().map(|path| len(path)).sum()
        };
        files(dir) + files(&dir.join("blobs"))
    }

    /// Takes a session out of the trash: the one of this id that was deleted last, or the one at this place.
    ///
    /// # Errors
    /// [`Error::NotInTrash`]; [`Error::SessionExists`] when a session has its id by now.
    ///
    /// # Durability
    /// Durable when this returns.
    pub fn restore(&self, wanted: &str) -> Result<SessionId> {
        let all = self.trash()?;
        let part = |e: &&TrashEntry| {
            wanted.len() >= 4
                && (e.session.as_str().starts_with(wanted) || e.session.as_str().ends_with(wanted))
        };
        let exact = all.iter().find(|e| e.place == wanted || e.session.as_str() == wanted);
        let entry = match exact {
            Some(entry) => entry,
            None => {
                let mut ids: Vec<SessionId> = all.iter().filter(part).map(|e| e.session.clone()).collect();
                ids.sort();
                ids.dedup();
                if ids.len() > 1 {
                    return Err(Error::Ambiguous { query: wanted.to_owned(), candidates: ids });
                }
                let found = all.iter().find(part);
                found.ok_or_else(|| Error::NotInTrash { query: wanted.to_owned() })?
            }
        };
        let trashed = Trashed { session: entry.session.clone(), place: entry.place.clone() };
        let operating = self.operate()?;
        let number = operating.begin(Action::Restore { trashed: trashed.clone() })?;
        let outcome = self.move_from_trash(&trashed);
        operating.end(number, outcome)?;
        Ok(trashed.session)
    }

    /// Deletes for good what was put into the trash before a time; everything when none is given. Returns what is gone.
    ///
    /// # Errors
    /// [`Error::Io`]; what was removed by then is gone, the rest goes with the next operation.
    pub fn empty_trash(&self, before: Option<Timestamp>) -> Result<Vec<TrashEntry>> {
        let gone: Vec<TrashEntry> =
            self.trash()?.into_iter().filter(|e| before.is_none_or(|before| e.deleted < before)).collect();
        if gone.is_empty() {
            return Ok(gone);
        }
        let trashed: Vec<Trashed> =
            gone.iter().map(|e| Trashed { session: e.session.clone(), place: e.place.clone() }).collect();
        let operating = self.operate()?;
        let number = operating.begin(Action::Empty { trashed: trashed.clone() })?;
        for trashed in &trashed {
            // An error leaves the operation open: the next one goes on with it.
            self.remove_for_good(trashed)?;
        }
        operating.end(number, Ok(gone))
    }

    pub(crate) fn remove_for_good(&self, trashed: &Trashed) -> Result<()> {
        // The place comes from the operations log; it never leads out of the trash.
        if trashed.place.contains(['/', '\\']) || trashed.place.starts_with('.') {
            return Ok(());
        }
        self.remove_tree(&self.place(trashed))
    }

    /// Removes a session's directory: the log last but one, so that a half-removed one never looks like a session without blobs.
    pub(crate) fn remove_tree(&self, dir: &Path) -> Result<()> {
        let disk = self.disk();
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |e| Error::io("remove", path, e)
        };
        if disk.metadata(dir).is_err() {
            return Ok(());
        }
        for sub in ["blobs", "inbox"] {
            let sub = dir.join(sub);
            for file in disk.list(&sub).unwrap_or_default() {
                disk.remove(&file).map_err(failed(&file))?;
            }
            if disk.metadata(&sub).is_ok() {
                disk.remove_dir(&sub).map_err(failed(&sub))?;
            }
        }
        let mut files = disk.list(dir).map_err(failed(dir))?;
        files.sort_by_key(|path| path.ends_with(LOG_FILE));
        for file in files {
            disk.remove(&file).map_err(failed(&file))?;
        }
        disk.remove_dir(dir).map_err(failed(dir))?;
        dir.parent().map_or(Ok(()), |parent| disk.sync_dir(parent).map_err(failed(parent)))
    }
}
