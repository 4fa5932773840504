//! The writer's lock and what stands in its file: who holds it, and where the log ended at the last clean close.
//!
//! The lock is the operating system's, on `writer.lock` beside the log: it goes when its holder dies, so there is no stale lock
//! and no time-out. The file's content is only for people and for checks:
//!
//! ```json
//! {"pid":4711,"host":"box","since":"2026-11-30T21:00:00.123Z","program":"annals record",
//!  "witness":{"seq":41,"end":20480,"crc":"51d0c7e2","sum":"0c1d2e3f"}}
//! ```
//!
//! The **witness** is a second fact about the log's end, kept apart from it: a log that lacks what it names was damaged or cut,
//! however whole it looks. History only grows, so an old witness stays true and needs no sync of its own.

use std::io;
use std::path::{Path, PathBuf};

use annals_model::{Seq, Timestamp};
use serde::{Deserialize, Serialize};

use crate::disk::{Disk, DiskFile, OpenMode, read_full, write_full};
use crate::error::{Error, Result};

/// The name of the lock's file.
pub const LOCK_FILE: &str = "writer.lock";

/// Who writes a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// The machine.
    pub host: String,
    /// Since when.
    pub since: Timestamp,
    /// The program.
    pub program: String,
}

/// Where a log ended when its writer last closed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// Position of the last line.
    pub seq: Seq,
    /// Length of the log up to and with that line, in bytes.
    pub end: u64,
    /// That line's checksum.
    #[serde(with = "hex_crc")]
    pub crc: u32,
}

mod hex_crc {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde asks for
    pub(super) fn serialize<S: Serializer>(crc: &u32, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&format!("{crc:08x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<u32, D::Error> {
        let text = String::deserialize(d)?;
        u32::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Content {
    #[serde(flatten)]
    holder: Option<Holder>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    witness: Option<Summed>,
}

/// A witness with its own checksum: one that was damaged itself says nothing.
#[derive(Debug, Serialize, Deserialize)]
struct Summed {
    #[serde(flatten)]
    witness: Witness,
    #[serde(with = "hex_crc")]
    sum: u32,
}

impl Summed {
    fn of(witness: Witness) -> Self {
        let text = format!("{},{},{:08x}", witness.seq, witness.end, witness.crc);
        Self { witness, sum: crc32c::crc32c(text.as_bytes()) }
    }

    fn checked(&self) -> Option<Witness> {
        (Self::of(self.witness).sum == self.sum).then_some(self.witness)
    }
}

/// The lock, held until dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    content: Content,
}

/// Reads the lock's file; content that can't be read says nothing.
fn read_content(file: &dyn DiskFile) -> Content {
    let mut buf = vec![0; 4096];
    let len = read_full(file, &mut buf, 0).unwrap_or(0);
    buf.truncate(len);
    serde_json::from_slice(&buf).unwrap_or_default()
}

/// What the last clean close left, read without the lock. None when there is nothing, or nothing legible.
#[must_use]
pub fn witness(disk: &dyn Disk, dir: &Path) -> Option<Witness> {
    let file = disk.open(&dir.join(LOCK_FILE), OpenMode::Read).ok()?;
    read_content(file.as_ref()).witness.and_then(|w| w.checked())
}

/// Who holds the lock, as far as its file and the process table tell. Asking takes no lock: a reader never stands in a
/// writer's way. On another machine's word, or where the process table can't be asked, the file is believed.
#[must_use]
pub fn holder(disk: &dyn Disk, dir: &Path) -> Option<Holder> {
    let file = disk.open(&dir.join(LOCK_FILE), OpenMode::Read).ok()?;
    read_content(file.as_ref()).holder.filter(|holder| holder.host != host_name() || is_alive(holder.pid))
}

#[cfg(unix)]
fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    // Anything but "no such process" means that there is one, though perhaps somebody else's.
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_alive(_pid: u32) -> bool {
    true
}

impl Lock {
    /// Takes the lock for `holder`.
    pub(crate) fn take(disk: &dyn Disk, dir: &Path, holder: Holder) -> Result<Self> {
        let path = dir.join(LOCK_FILE);
        let file = disk.open(&path, OpenMode::CreateOrOpen).map_err(|e| Error::io("open", &path, e))?;
        match file.try_lock() {
            Ok(true) => {}
            Ok(false) => {
                let holder = read_content(file.as_ref()).holder;
                return Err(Error::Busy { path: dir.to_owned(), holder });
            }
            Err(e) => return Err(Error::io("lock", &path, e)),
        }
        let witness = read_content(file.as_ref()).witness;
        let mut lock = Self { file, path, content: Content { holder: Some(holder), witness } };
        lock.write()?;
        Ok(lock)
    }

    /// The witness that the last clean close left.
    pub(crate) fn witness(&self) -> Option<Witness> {
        self.content.witness.as_ref().and_then(Summed::checked)
    }

    /// Notes where the log ends, after its close is durable.
    pub(crate) fn leave(&mut self, witness: Witness) -> Result<()> {
        self.content = Content { holder: None, witness: Some(Summed::of(witness)) };
        self.write()
    }

    /// Forgets the witness, durably: the log is about to be rewritten by a repair.
    pub(crate) fn forget(&mut self) -> Result<()> {
        self.content.witness = None;
        self.write()?;
        // Durable before the rewritten log takes its place: an old witness would call the new log damaged.
        self.file.sync().map_err(|e| Error::io("sync", &self.path, e))
    }

    /// Written in one piece and padded with blanks to a fixed size, so that a shorter text leaves nothing of a longer one
    /// and a reader never meets an empty file.
    fn write(&mut self) -> Result<()> {
        let failed = |source| Error::io("write", &self.path, source);
        let mut text = serde_json::to_vec(&self.content).map_err(|e| failed(io::Error::other(e)))?;
        text.push(b'\n');
        text.resize(text.len().max(512), b' ');
        let len = text.len() as u64;
        write_full(self.file.as_ref(), &text, 0).map_err(failed)?;
        if self.file.len().map_err(failed)? > len {
            self.file.set_len(len).map_err(failed)?;
        }
        Ok(())
    }
}

/// A log's lock without the log: nobody writes the session while this lives.
#[derive(Debug)]
pub struct Held(#[allow(dead_code)] Lock);

/// Takes a session's lock for something else than appending: moving or copying what lies in its directory.
///
/// # Errors
/// [`Error::Busy`], [`Error::Io`].
pub fn hold(disk: &dyn Disk, dir: &Path, since: Timestamp, program: &str) -> Result<Held> {
    let mut lock = Lock::take(disk, dir, this_process(since, program))?;
    // Nobody writes the log: its file names no holder but for the moment in which others ask.
    lock.content.holder = None;
    lock.write()?;
    Ok(Held(lock))
}

/// This process as a holder.
pub(crate) fn this_process(since: Timestamp, program: &str) -> Holder {
    Holder { pid: std::process::id(), host: host_name(), since, program: program.to_owned() }
}

#[cfg(unix)]
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host_name() -> String {
    "this machine".to_owned()
}
