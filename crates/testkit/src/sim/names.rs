//! The names of a simulated disk: as programs see them, and as a power cut may leave them.
//!
//! A name stands in a directory that is known by its number, so that moving a directory moves all that is in it. Each unsynced change
//! is kept or lost by itself, in the order it was made ([`changes`]). The roots (`/` and the empty path) are always there.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

mod changes;

use changes::{Change, Pending};

/// What a name stands for, by its number. Files and directories share the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    Dir(u64),
    File(u64),
}

/// A name's place: the number of its directory, and the name.
type Place = (u64, OsString);

/// Where paths begin that don't begin with `/`, and those that do.
const ROOTS: [u64; 2] = [0, 1];

/// All names of one state of the disk.
#[derive(Debug, Clone, Default)]
struct Entries(BTreeMap<Place, Entry>);

impl Entries {
    fn get(&self, place: &Place) -> Option<Entry> {
        self.0.get(place).copied()
    }

    fn inside(&self, dir: u64) -> impl Iterator<Item = (&OsString, Entry)> {
        let names = self.0.range((dir, OsString::new())..(dir + 1, OsString::new()));
        names.map(|((_, name), entry)| (name, *entry))
    }

    fn is_empty(&self, dir: u64) -> bool {
        self.inside(dir).next().is_none()
    }

    fn resolve(&self, path: &Path) -> io::Result<Entry> {
        path.components().try_fold(Entry::Dir(ROOTS[0]), |at, component| match (component, at) {
            (Component::RootDir, _) => Ok(Entry::Dir(ROOTS[1])),
            (Component::CurDir, at) => Ok(at),
            (Component::Normal(_), Entry::File(_)) => Err(io::ErrorKind::NotADirectory.into()),
            (Component::Normal(name), Entry::Dir(dir)) => {
                self.get(&(dir, name.to_owned())).ok_or_else(|| io::ErrorKind::NotFound.into())
            }
            _ => Err(io::Error::new(io::ErrorKind::Unsupported, "not simulated: paths with ..")),
        })
    }

    /// The directories that can be reached from the roots.
    fn reached(&self) -> BTreeSet<u64> {
        let (mut reached, mut open) = (BTreeSet::from(ROOTS), ROOTS.to_vec());
        while let Some(dir) = open.pop() {
            for (_, entry) in self.inside(dir) {
                if let Entry::Dir(below) = entry
                    && reached.insert(below)
                {
                    open.push(below);
                }
            }
        }
        reached
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    visible: Entries,
    durable: Entries,
    pending: Vec<Pending>,
    numbers: u64,
    ticks: i64,
    /// When the names in a directory last changed.
    changed: BTreeMap<u64, i64>,
}

impl Names {
    /// The next moment; no two are the same.
    pub(super) fn tick(&mut self) -> i64 {
        self.ticks += 1;
        self.ticks
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers + ROOTS[1]
    }

    pub(super) fn get(&self, path: &Path) -> io::Result<Entry> {
        self.visible.resolve(path)
    }

    /// When the names in a directory last changed.
    pub(super) fn changed(&self, dir: u64) -> i64 {
        self.changed.get(&dir).copied().unwrap_or(0)
    }

    /// The inodes that have a name.
    pub(super) fn inodes(&self) -> BTreeSet<u64> {
        let inode = |entry: &Entry| match entry {
            Entry::File(inode) => Some(*inode),
            Entry::Dir(_) => None,
        };
        self.visible.0.values().filter_map(inode).collect()
    }

    /// The names in a directory.
    pub(super) fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let dir = self.dir(path)?;
        Ok(self.visible.inside(dir).map(|(name, _)| path.join(name)).collect())
    }

    /// Makes a new file's name; returns the file's number.
    pub(super) fn create(&mut self, path: &Path) -> io::Result<u64> {
        let place = self.place(path)?;
        let inode = self.number();
        self.change(Change::Link(place, Entry::File(inode)));
        Ok(inode)
    }

    pub(super) fn hard_link(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let entry = self.get(from)?;
        let place = self.place(to)?;
        match (self.visible.get(&place), entry) {
            (Some(_), _) => Err(io::ErrorKind::AlreadyExists.into()),
            (None, Entry::Dir(_)) => Err(io::ErrorKind::PermissionDenied.into()),
            (None, Entry::File(_)) => {
                self.change(Change::Link(place, entry));
                Ok(())
            }
        }
    }

    pub(super) fn create_dirs(&mut self, path: &Path) -> io::Result<()> {
        match self.get(path) {
            Ok(Entry::Dir(_)) => return Ok(()),
            Ok(Entry::File(_)) => return Err(io::ErrorKind::AlreadyExists.into()),
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            Err(_) => {}
        }
        if let Some(parent) = path.parent() {
            match self.create_dirs(parent) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                    return Err(io::ErrorKind::NotADirectory.into());
                }
                other => other?,
            }
        }
        let place = self.place(path)?;
        let (dir, now) = (self.number(), self.tick());
        self.changed.insert(dir, now);
        self.change(Change::Link(place, Entry::Dir(dir)));
        Ok(())
    }

    /// Moves a file or a directory.
    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (self.place(from)?, self.place(to)?);
        let entry = self.visible.get(&from).ok_or(io::ErrorKind::NotFound)?;
        if let Entry::Dir(dir) = entry
            && self.is_at_or_below(to.0, dir)
        {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        match (entry, self.visible.get(&to)) {
            (_, Some(Entry::Dir(dir))) if self.is_at_or_below(from.0, dir) => {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            (entry, Some(same)) if same == entry => return Ok(()),
            (Entry::File(_), Some(Entry::Dir(_))) => return Err(io::ErrorKind::IsADirectory.into()),
            (Entry::Dir(_), Some(Entry::File(_))) => return Err(io::ErrorKind::NotADirectory.into()),
            (_, Some(Entry::Dir(dir))) if !self.visible.is_empty(dir) => {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            _ => {}
        }
        let replaced = self.visible.get(&to);
        self.change(Change::Rename { from, to, entry, replaced });
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        match self.get(path)? {
            Entry::Dir(_) => Err(io::ErrorKind::IsADirectory.into()),
            entry => {
                let place = self.place(path)?;
                self.change(Change::Unlink(place, entry));
                Ok(())
            }
        }
    }

    pub(super) fn remove_dir(&mut self, path: &Path) -> io::Result<()> {
        let dir = self.dir(path)?;
        if !self.visible.is_empty(dir) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        let place = self.place(path)?;
        self.change(Change::Unlink(place, Entry::Dir(dir)));
        Ok(())
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.visible);
        let now = self.tick();
        self.changed.extend(change.dirs().map(|dir| (dir, now)));
        self.pending.push(Pending::new(change));
    }

    fn dir(&self, path: &Path) -> io::Result<u64> {
        match self.get(path)? {
            Entry::Dir(dir) => Ok(dir),
            Entry::File(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn place(&self, path: &Path) -> io::Result<Place> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        Ok((self.dir(path.parent().unwrap_or(Path::new("")))?, name.to_owned()))
    }

    /// Whether `dir` is `top` or lies below it.
    fn is_at_or_below(&self, dir: u64, top: u64) -> bool {
        let below = |d: &u64| {
            self.visible.inside(*d).any(|(_, e)| matches!(e, Entry::Dir(d) if self.is_at_or_below(dir, d)))
        };
        dir == top || below(&top)
    }
}
