//! The calls of a simulated disk: the two traits, with faults, counts and the capacity.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use annals_log::disk::{Disk, DiskFile, OpenMode, Stat};

use super::names::Entry;
use super::{Call, Fault, Inode, Operation, SimDisk, State};

impl State {
    /// Counts and records a call, and says whether, and how, it fails.
    fn call(&mut self, call: Call, changes: bool, path: &Path) -> io::Result<Option<Fault>> {
        if let Some(operations) = &mut self.operations {
            operations.push(Operation { call, path: path.to_owned() });
        }
        let of_kind = self.counts.entry(call).or_default();
        let (of_kind_now, any_now) = (*of_kind, self.changing);
        *of_kind += 1;
        self.changing += u64::from(changes);
        self.alive()?;
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
                self.alive().map(|()| None)
            }
            fault @ (Fault::Short(_) | Fault::Partial(_)) if call == Call::Write => Ok(Some(fault)),
            Fault::Short(_) | Fault::Partial(_) => Err(io::Error::other("simulated input/output error")),
        }
    }

    fn alive(&self) -> io::Result<()> {
        if self.stopped { Err(io::Error::other("the process is dead")) } else { Ok(()) }
    }

    /// The bytes of all files that have a name or are open. Holes count.
    fn used(&self) -> usize {
        let mut inodes = self.names.inodes();
        inodes.extend(self.handles.values());
        inodes.iter().map(|n| self.inodes[n].bytes().len()).sum()
    }

    fn inode(&mut self, number: u64) -> &mut Inode {
        self.inodes.get_mut(&number).expect("an open file's inode")
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.state();
        let known = state.names.get(path);
        let creates = known.is_err() && matches!(mode, OpenMode::CreateNew | OpenMode::CreateOrOpen);
        state.call(Call::Open, creates, path)?;
        let inode = match (known, mode) {
            (Ok(_), OpenMode::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Ok(Entry::Dir(_)), _) => return Err(io::ErrorKind::IsADirectory.into()),
            (Ok(Entry::File(inode)), _) => inode,
            (Err(e), OpenMode::Read | OpenMode::ReadWrite) => return Err(e),
            (Err(_), OpenMode::CreateNew | OpenMode::CreateOrOpen) => {
                let inode = state.names.create(path)?;
                let now = state.names.tick();
                state.inodes.insert(inode, Inode::settled(Vec::new(), now));
                inode
            }
        };
        let handle = state.next_handle;
        state.next_handle += 1;
        state.handles.insert(handle, inode);
        let writable = mode != OpenMode::Read;
        Ok(Box::new(SimFile { disk: self.clone(), inode, handle, path: path.to_owned(), writable }))
    }

    fn create_dirs(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.call(Call::CreateDirs, true, path)?;
        state.names.create_dirs(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.call(Call::SyncDir, true, path)?;
        state.names.sync_dir(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.call(Call::Rename, true, to)?;
        state.names.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.call(Call::Remove, true, path)?;
        state.names.remove(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.call(Call::RemoveDir, true, path)?;
        state.names.remove_dir(path)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.call(Call::HardLink, true, to)?;
        state.names.hard_link(from, to)
    }

    fn metadata(&self, path: &Path) -> io::Result<Stat> {
        let state = self.state();
        state.alive()?;
        Ok(match state.names.get(path)? {
            Entry::Dir(dir) => {
                Stat { len: 0, mtime_ns: state.names.changed(dir), is_dir: true, identity: dir }
            }
            Entry::File(inode) => {
                let file = &state.inodes[&inode];
                let len = file.bytes().len() as u64;
                Stat { len, mtime_ns: file.mtime(), is_dir: false, identity: inode }
            }
        })
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let state = self.state();
        state.alive()?;
        state.names.list(path)
    }
}

struct SimFile {
    disk: SimDisk,
    inode: u64,
    handle: u64,
    path: PathBuf,
    writable: bool,
}

impl SimFile {
    fn need_writable(&self) -> io::Result<()> {
        if self.writable { Ok(()) } else { Err(io::Error::other("a file opened for reading was written to")) }
    }
}

impl fmt::Debug for SimFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimFile({})", self.path.display())
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        state.handles.remove(&self.handle);
        state.locks.retain(|_, held| *held != self.handle);
    }
}

impl DiskFile for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.state();
        state.call(Call::Read, false, &self.path)?;
        let bytes = state.inode(self.inode).bytes();
        let from = usize::try_from(offset).unwrap().min(bytes.len());
        let len = buf.len().min(bytes.len() - from);
        buf[..len].copy_from_slice(&bytes[from..from + len]);
        state.bytes_read += len as u64;
        Ok(len)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.state();
        let fault = state.call(Call::Write, true, &self.path)?;
        self.need_writable()?;
        let at = usize::try_from(offset).unwrap();
        let mut room = buf.len();
        if let Some(capacity) = state.capacity {
            let len = state.inode(self.inode).bytes().len();
            // Bytes within the file cost nothing; a gap before them does.
            room = room.min((len + capacity.saturating_sub(state.used())).saturating_sub(at));
            if room == 0 && !buf.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        let (taken, fails) = match fault {
            Some(Fault::Short(k)) => (room.min(k.max(1)), false),
            Some(Fault::Partial(k)) => (room.min(k), true),
            _ => (room, false),
        };
        let now = state.names.tick();
        state.inode(self.inode).write(at, &buf[..taken], now);
        state.bytes_written += taken as u64;
        if fails { Err(io::Error::other("simulated input/output error")) } else { Ok(taken) }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.call(Call::SetLen, true, &self.path)?;
        self.need_writable()?;
        let now = state.names.tick();
        state.inode(self.inode).set_len(usize::try_from(len).unwrap(), now);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        let mut state = self.disk.state();
        state.alive()?;
        Ok(state.inode(self.inode).bytes().len() as u64)
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        let synced = state.call(Call::Sync, true, &self.path);
        let stopped = state.stopped;
        match synced {
            Ok(_) => state.inode(self.inode).sync(),
            // A process that died before the call did not ask.
            Err(_) if stopped => {}
            Err(_) => state.inode(self.inode).drop_dirty(),
        }
        synced.map(drop)
    }

    fn try_lock(&self) -> io::Result<bool> {
        let mut state = self.disk.state();
        state.alive()?;
        let holder = *state.locks.entry(self.inode).or_insert(self.handle);
        Ok(holder == self.handle)
    }
}
