//! The names of a simulated disk: as programs see them, and as a power cut may leave them.
//!
//! Each unsynced change of a directory is kept or lost by itself, in the order it was made. A rename is one change: it leaves the
//! old state or the new one, never both names of it and never neither. The roots (`/` and the empty path) are always there.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    Dir,
    File(u64),
}

type Entries = BTreeMap<PathBuf, Entry>;

/// A change of a directory since its last sync.
#[derive(Debug, Clone)]
enum Change {
    Link(PathBuf, Entry),
    Unlink(PathBuf, Entry),
    Rename { from: PathBuf, to: PathBuf, entry: Entry },
}

impl Change {
    fn dir(&self) -> Option<&Path> {
        match self {
            Self::Link(path, _) | Self::Unlink(path, _) | Self::Rename { to: path, .. } => path.parent(),
        }
    }

    fn apply(&self, entries: &mut Entries) {
        let unlink = |entries: &mut Entries, path: &PathBuf, entry: &Entry| {
            if entries.get(path) == Some(entry) {
                entries.remove(path);
            }
        };
        match self {
            Self::Link(path, entry) => {
                entries.insert(path.clone(), *entry);
            }
            Self::Unlink(path, entry) => unlink(entries, path, entry),
            Self::Rename { from, to, entry } => {
                unlink(entries, from, entry);
                entries.insert(to.clone(), *entry);
            }
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Names {
    visible: Entries,
    durable: Entries,
    changes: Vec<Change>,
}

impl Default for Names {
    fn default() -> Self {
        Self::settled(["", "/"].map(|root| (PathBuf::from(root), Entry::Dir)).into())
    }
}

impl Names {
    fn settled(entries: Entries) -> Self {
        Self { visible: entries.clone(), durable: entries, changes: Vec::new() }
    }

    pub(super) fn get(&self, path: &Path) -> Option<Entry> {
        self.visible.get(path).copied()
    }

    /// The inodes that have a name.
    pub(super) fn inodes(&self) -> BTreeSet<u64> {
        let inode = |entry: &Entry| match entry {
            Entry::File(inode) => Some(*inode),
            Entry::Dir => None,
        };
        self.visible.values().filter_map(inode).collect()
    }

    /// The names in a directory.
    pub(super) fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        self.need_dir(dir)?;
        Ok(self.visible.keys().filter(|p| p.parent() == Some(dir)).cloned().collect())
    }

    /// Gives a new file its name.
    pub(super) fn link(&mut self, path: &Path, inode: u64) -> io::Result<()> {
        self.need_dir(path.parent().unwrap_or(Path::new("")))?;
        self.change(Change::Link(path.to_owned(), Entry::File(inode)));
        Ok(())
    }

    pub(super) fn create_dirs(&mut self, path: &Path) -> io::Result<()> {
        let mut missing = Vec::new();
        for dir in path.ancestors() {
            match self.get(dir) {
                Some(Entry::Dir) => break,
                Some(Entry::File(_)) if dir == path => return Err(io::ErrorKind::AlreadyExists.into()),
                Some(Entry::File(_)) => return Err(io::ErrorKind::NotADirectory.into()),
                None => missing.push(dir.to_owned()),
            }
        }
        for dir in missing.into_iter().rev() {
            self.change(Change::Link(dir, Entry::Dir));
        }
        Ok(())
    }

    /// Moves a file within its directory.
    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let entry = self.need_file(from)?;
        self.need_dir(to.parent().unwrap_or(Path::new("")))?;
        match self.get(to) {
            Some(Entry::Dir) => return Err(io::ErrorKind::IsADirectory.into()),
            Some(same) if same == entry => return Ok(()),
            _ => {}
        }
        if from.parent() != to.parent() {
            // Which of the two directories makes it durable differs between file systems; nobody here asks for it.
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "renames between directories are not simulated",
            ));
        }
        self.change(Change::Rename { from: from.to_owned(), to: to.to_owned(), entry });
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        let entry = self.need_file(path)?;
        self.change(Change::Unlink(path.to_owned(), entry));
        Ok(())
    }

    pub(super) fn sync_dir(&mut self, dir: &Path) -> io::Result<()> {
        self.need_dir(dir)?;
        let durable = &mut self.durable;
        self.changes.retain(|change| {
            let here = change.dir() == Some(dir);
            if here {
                change.apply(durable);
            }
            !here
        });
        Ok(())
    }

    /// The names that a power cut may leave; `keep` decides each open choice.
    pub(super) fn crash(&self, keep: &mut dyn FnMut() -> bool) -> Self {
        let mut entries = self.durable.clone();
        for change in &self.changes {
            // Within a directory that is lost there is nothing to choose.
            if change.dir().is_none_or(|dir| reachable(&entries, dir)) && keep() {
                change.apply(&mut entries);
            }
        }
        let kept =
            entries.iter().filter(|(path, _)| path.parent().is_none_or(|dir| reachable(&entries, dir)));
        Self::settled(kept.map(|(path, entry)| (path.clone(), *entry)).collect())
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.visible);
        self.changes.push(change);
    }

    fn need_file(&self, path: &Path) -> io::Result<Entry> {
        match self.get(path) {
            Some(Entry::Dir) => Err(io::ErrorKind::IsADirectory.into()),
            Some(entry) => Ok(entry),
            None => Err(self.missing(path)),
        }
    }

    fn need_dir(&self, dir: &Path) -> io::Result<()> {
        match self.get(dir) {
            Some(Entry::Dir) => Ok(()),
            Some(Entry::File(_)) => Err(io::ErrorKind::NotADirectory.into()),
            None => Err(self.missing(dir)),
        }
    }

    /// Why a path is not there: nothing of that name, or a file where a directory should be.
    pub(super) fn missing(&self, path: &Path) -> io::Error {
        let above = path.ancestors().skip(1).find_map(|p| self.get(p));
        match above {
            Some(Entry::File(_)) => io::ErrorKind::NotADirectory.into(),
            _ => io::ErrorKind::NotFound.into(),
        }
    }
}

fn reachable(entries: &Entries, dir: &Path) -> bool {
    dir.ancestors().all(|d| entries.get(d) == Some(&Entry::Dir))
}
