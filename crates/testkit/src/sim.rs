//! A simulated disk.
//!
//! Of each file it knows what is durable and what was done since the last sync; of each directory, which names are durable. A power cut
//! ([`SimDisk::crash`]) leaves the durable part and any subset of the rest:
//!
//! - of unsynced writes, any subset of their 512-byte sectors, in any order;
//! - of a grown file, any length in between, with zeros where data did not land;
//! - of an unsynced truncation, the old length or the new one;
//! - of names created, renamed or removed since their directory was synced, each or none.
//!
//! After a failed sync the pages count as clean, as on Linux: asking again makes nothing durable; only writing again does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use annals_log::disk::{Disk, DiskFile, OpenMode};

use crate::rng::Rng;

/// The unit that reaches the disk whole or not at all.
pub const SECTOR_BYTES: usize = 512;

/// Something done to a file since its last sync.
#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    SetLen(usize),
}

#[derive(Debug, Clone, Default)]
struct Inode {
    durable: Vec<u8>,
    volatile: Vec<u8>,
    changes: Vec<Change>,
}

/// What is asked of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Call {
    Open,
    Read,
    Write,
    Sync,
    SetLen,
    Rename,
    Remove,
    SyncDir,
    CreateDirs,
}

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An input/output error; nothing was done.
    Error,
    /// No space; nothing was done.
    NoSpace,
    /// A write that takes this many bytes and says so.
    Short(usize),
    /// A write that takes this many bytes and then fails.
    Partial(usize),
    /// Interrupted by a signal; nothing was done.
    Interrupted,
    /// From this call on everything fails, as if the process had died before it.
    Stop,
}

/// Which call fails, counted from 0 over the calls of this kind (or over all but reads and opens for reading).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultAt {
    /// Of which kind; any that changes something when None.
    pub call: Option<Call>,
    /// The how-manieth.
    pub n: u64,
    /// How.
    pub fault: Fault,
}

#[derive(Debug, Default)]
struct State {
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    /// Names as programs see them, and as a power cut would leave them.
    names: BTreeMap<PathBuf, u64>,
    durable_names: BTreeMap<PathBuf, u64>,
    dirs: BTreeSet<PathBuf>,
    durable_dirs: BTreeSet<PathBuf>,
    locks: BTreeMap<u64, u64>,
    next_handle: u64,
    counts: BTreeMap<Call, u64>,
    changing: u64,
    bytes_read: u64,
    fault: Option<FaultAt>,
    stopped: bool,
    capacity: Option<usize>,
}

/// The disk. Clones are the same disk.
#[derive(Clone, Default)]
pub struct SimDisk(Arc<Mutex<State>>);

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimDisk")
    }
}

impl SimDisk {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Makes one call fail. Counting begins now.
    pub fn fail(&self, fault: FaultAt) {
        let mut state = self.state();
        state.counts.clear();
        state.changing = 0;
        state.fault = Some(fault);
    }

    /// Lets everything succeed again.
    pub fn heal(&self) {
        let mut state = self.state();
        state.fault = None;
        state.stopped = false;
    }

    /// Bounds the bytes of all files together.
    pub fn set_capacity(&self, bytes: Option<usize>) {
        self.state().capacity = bytes;
    }

    /// How many calls of a kind were made.
    #[must_use]
    pub fn count(&self, call: Call) -> u64 {
        self.state().counts.get(&call).copied().unwrap_or(0)
    }

    /// How many calls were made that change something.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.state().changing
    }

    /// How many bytes were read.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.state().bytes_read
    }

    /// Sets all counts to zero.
    pub fn reset_counts(&self) {
        let mut state = self.state();
        state.counts.clear();
        state.changing = 0;
        state.bytes_read = 0;
    }

    /// A file's bytes as programs see them.
    #[must_use]
    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        let inode = state.names.get(path)?;
        state.inodes.get(inode).map(|i| i.volatile.clone())
    }

    /// Replaces a file's bytes, durably: damage from outside.
    pub fn damage(&self, path: &Path, bytes: &[u8]) {
        let mut state = self.state();
        let inode = state.names.get(path).copied().expect("a file to damage");
        let inode = state.inodes.get_mut(&inode).expect("its inode");
        *inode = Inode { durable: bytes.to_vec(), volatile: bytes.to_vec(), changes: Vec::new() };
    }

    /// What is left when the process is killed and the machine goes on: everything written, no locks.
    #[must_use]
    pub fn kill(&self) -> Self {
        let state = self.state();
        Self(Arc::new(Mutex::new(State {
            inodes: state.inodes.clone(),
            next_inode: state.next_inode,
            names: state.names.clone(),
            durable_names: state.durable_names.clone(),
            dirs: state.dirs.clone(),
            durable_dirs: state.durable_dirs.clone(),
            ..State::default()
        })))
    }

    /// What a power cut may leave.
    #[must_use]
    pub fn crash(&self, rng: &mut Rng) -> Self {
        let names = self.crash_names(&mut |_| rng.one_in(2));
        let mode = rng.below(5);
        let mut sector = 0_u64;
        let cut = rng.below(40);
        self.crash_files(names, &mut |_| {
            sector += 1;
            match mode {
                0 => false,
                1 => true,
                2 => sector < cut,
                _ => rng.one_in(2),
            }
        })
    }

    /// Every state that a power cut may leave, as long as no more than `limit` independent choices are open (`None` otherwise).
    #[must_use]
    pub fn all_crashes(&self, limit: u32) -> Option<Vec<Self>> {
        let mut choices = 0_u32;
        let names = self.crash_names(&mut |_| {
            choices += 1;
            false
        });
        let _ = self.crash_files(names, &mut |_| {
            choices += 1;
            false
        });
        if choices > limit {
            return None;
        }
        let all = (0_u64..1 << choices).map(|bits| {
            let mut n = 0;
            let mut choose = |_: u64| {
                n += 1;
                bits >> (n - 1) & 1 == 1
            };
            let names = self.crash_names(&mut choose);
            self.crash_files(names, &mut choose)
        });
        Some(all.collect())
    }

    /// The names that a power cut may leave: each unsynced change of a directory is kept or lost.
    fn crash_names(&self, keep: &mut dyn FnMut(u64) -> bool) -> (BTreeMap<PathBuf, u64>, BTreeSet<PathBuf>) {
        let state = self.state();
        let mut dirs = state.durable_dirs.clone();
        for dir in state.dirs.difference(&state.durable_dirs) {
            if dir.parent().is_none_or(|p| dirs.contains(p)) && keep(0) {
                dirs.insert(dir.clone());
            }
        }
        let mut names = BTreeMap::new();
        let all: BTreeSet<&PathBuf> = state.names.keys().chain(state.durable_names.keys()).collect();
        for path in all {
            let (new, old) = (state.names.get(path), state.durable_names.get(path));
            let chosen = if new == old || keep(0) { new } else { old };
            if let Some(inode) = chosen
                && path.parent().is_none_or(|p| dirs.contains(p))
            {
                names.insert(path.clone(), *inode);
            }
        }
        (names, dirs)
    }

    fn crash_files(
        &self,
        (names, dirs): (BTreeMap<PathBuf, u64>, BTreeSet<PathBuf>),
        keep: &mut dyn FnMut(u64) -> bool,
    ) -> Self {
        let state = self.state();
        let mut inodes = BTreeMap::new();
        for (number, inode) in &state.inodes {
            let mut image = inode.durable.clone();
            for change in &inode.changes {
                match change {
                    Change::SetLen(len) => {
                        if keep(0) {
                            image.resize(*len, 0);
                        }
                    }
                    Change::Write(at, bytes) => {
                        let end = at + bytes.len();
                        // The length and the data reach the disk apart.
                        if end > image.len() && keep(0) {
                            image.resize(end, 0);
                        }
                        let mut from = *at;
                        while from < end {
                            let to = ((from / SECTOR_BYTES + 1) * SECTOR_BYTES).min(end);
                            let blank = bytes[from - at..to - at].iter().all(|b| *b == b'\n');
                            // A run of newlines over newlines is no choice.
                            let same = image.get(from..to) == Some(&bytes[from - at..to - at]);
                            let far_runway = blank && from > *at + SECTOR_BYTES * 8;
                            if !same && !far_runway && keep(1) {
                                if image.len() < to {
                                    image.resize(to, 0);
                                }
                                image[from..to].copy_from_slice(&bytes[from - at..to - at]);
                            }
                            from = to;
                        }
                    }
                }
            }
            inodes.insert(*number, Inode { durable: image.clone(), volatile: image, changes: Vec::new() });
        }
        Self(Arc::new(Mutex::new(State {
            inodes,
            next_inode: state.next_inode,
            names: names.clone(),
            durable_names: names,
            dirs: dirs.clone(),
            durable_dirs: dirs,
            ..State::default()
        })))
    }
}

impl State {
    /// Counts a call and says whether, and how, it fails.
    fn call(&mut self, call: Call, changes: bool) -> io::Result<Option<Fault>> {
        let of_kind = self.counts.entry(call).or_default();
        let (of_kind_now, any_now) = (*of_kind, self.changing);
        *of_kind += 1;
        self.changing += u64::from(changes);
        if self.stopped {
            return Err(io::Error::other("the process is dead"));
        }
        let Some(at) = self.fault else { return Ok(None) };
        let hit = match at.call {
            Some(kind) => kind == call && of_kind_now == at.n,
            None => changes && any_now == at.n,
        };
        if !hit {
            return Ok(None);
        }
        match at.fault {
            Fault::Error => Err(io::Error::other("simulated input/output error")),
            Fault::NoSpace => Err(io::ErrorKind::StorageFull.into()),
            Fault::Interrupted => Err(io::ErrorKind::Interrupted.into()),
            Fault::Stop => {
                self.stopped = true;
                Err(io::Error::other("the process is dead"))
            }
            fault @ (Fault::Short(_) | Fault::Partial(_)) => {
                if call == Call::Write {
                    Ok(Some(fault))
                } else {
                    Err(io::Error::other("simulated input/output error"))
                }
            }
        }
    }

    fn used(&self) -> usize {
        self.inodes.values().map(|i| i.volatile.len()).sum()
    }

    fn write(&mut self, inode: u64, bytes: &[u8], at: usize) {
        let inode = self.inodes.get_mut(&inode).expect("an open file's inode");
        let end = at + bytes.len();
        if inode.volatile.len() < end {
            inode.volatile.resize(end, 0);
        }
        inode.volatile[at..end].copy_from_slice(bytes);
        inode.changes.push(Change::Write(at, bytes.to_vec()));
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.state();
        let known = state.names.get(path).copied();
        let creates = known.is_none() && matches!(mode, OpenMode::CreateNew | OpenMode::CreateOrOpen);
        state.call(Call::Open, creates)?;
        let inode = match (known, mode) {
            (Some(_), OpenMode::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Some(inode), _) => inode,
            (None, OpenMode::Read | OpenMode::ReadWrite) => return Err(io::ErrorKind::NotFound.into()),
            (None, _) => {
                if path.parent().is_some_and(|p| !state.dirs.contains(p)) {
                    return Err(io::ErrorKind::NotFound.into());
                }
                let inode = state.next_inode;
                state.next_inode += 1;
                state.inodes.insert(inode, Inode::default());
                state.names.insert(path.to_owned(), inode);
                inode
            }
        };
        let handle = state.next_handle;
        state.next_handle += 1;
        Ok(Box::new(SimFile { disk: self.clone(), inode, handle }))
    }

    fn create_dirs(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.call(Call::CreateDirs, true)?;
        let dirs: Vec<PathBuf> = path.ancestors().map(Path::to_owned).collect();
        state.dirs.extend(dirs);
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.call(Call::SyncDir, true)?;
        let within = |p: &PathBuf| p.parent() == Some(path);
        let (names, dirs) = (state.names.clone(), state.dirs.clone());
        state.durable_names.retain(|p, _| !within(p));
        state.durable_names.extend(names.into_iter().filter(|(p, _)| within(p)));
        state.durable_dirs.extend(dirs.into_iter().filter(|p| within(p) || p.parent().is_none()));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.call(Call::Rename, true)?;
        let inode = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), inode);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.call(Call::Remove, true)?;
        state.names.remove(path).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let state = self.state();
        if !state.dirs.contains(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let within = |p: &&PathBuf| p.parent() == Some(path);
        Ok(state.names.keys().chain(state.dirs.iter()).filter(within).cloned().collect())
    }
}

struct SimFile {
    disk: SimDisk,
    inode: u64,
    handle: u64,
}

impl fmt::Debug for SimFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimFile({})", self.inode)
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let handle = self.handle;
        self.disk.state().locks.retain(|_, held| *held != handle);
    }
}

impl DiskFile for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.state();
        state.call(Call::Read, false)?;
        let bytes = &state.inodes.get(&self.inode).expect("an open file's inode").volatile;
        let from = usize::try_from(offset).unwrap().min(bytes.len());
        let len = buf.len().min(bytes.len() - from);
        buf[..len].copy_from_slice(&bytes[from..from + len]);
        state.bytes_read += len as u64;
        Ok(len)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.state();
        let fault = state.call(Call::Write, true)?;
        let at = usize::try_from(offset).unwrap();
        let len = state.inodes.get(&self.inode).expect("an open file's inode").volatile.len();
        let mut room = buf.len();
        if let Some(capacity) = state.capacity {
            let free = capacity.saturating_sub(state.used());
            room = room.min(free + len.saturating_sub(at));
            if room == 0 && !buf.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        match fault {
            Some(Fault::Short(k)) => room = room.min(k.max(1)),
            Some(Fault::Partial(k)) => {
                let taken = room.min(k);
                state.write(self.inode, &buf[..taken], at);
                return Err(io::Error::other("simulated input/output error"));
            }
            _ => {}
        }
        state.write(self.inode, &buf[..room], at);
        Ok(room)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.call(Call::SetLen, true)?;
        let len = usize::try_from(len).unwrap();
        let inode = state.inodes.get_mut(&self.inode).expect("an open file's inode");
        inode.volatile.resize(len, 0);
        inode.changes.push(Change::SetLen(len));
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.state().inodes.get(&self.inode).expect("an open file's inode").volatile.len() as u64)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        let synced = state.call(Call::Sync, true);
        let stopped = state.stopped;
        let inode = state.inodes.get_mut(&self.inode).expect("an open file's inode");
        match synced {
            Ok(_) => {
                // Only what is still dirty becomes durable: what a failed sync dropped is clean, and lost.
                let changes = std::mem::take(&mut inode.changes);
                for change in changes {
                    match change {
                        Change::SetLen(len) => inode.durable.resize(len, 0),
                        Change::Write(at, bytes) => {
                            let end = at + bytes.len();
                            if inode.durable.len() < end {
                                inode.durable.resize(end, 0);
                            }
                            inode.durable[at..end].copy_from_slice(&bytes);
                        }
                    }
                }
                Ok(())
            }
            Err(e) => {
                if !stopped {
                    inode.changes.clear();
                }
                Err(e)
            }
        }
    }

    fn try_lock(&self) -> io::Result<bool> {
        let mut state = self.disk.state();
        if state.stopped {
            return Err(io::Error::other("the process is dead"));
        }
        let handle = self.handle;
        let holder = *state.locks.entry(self.inode).or_insert(handle);
        Ok(holder == handle)
    }
}
