//! A fork: a new log that begins as another one does, under a first line of its own.
//!
//! ```text
//! parent   line 0   line 1 … line n   line n+1 …
//! child    line 0'  line 1 … line n   extra lines
//!          └ prev: what line 1 names, so that the copied lines keep their bytes, chain and seals
//! ```
//!
//! The parent is read without its lock and never written to; a writer may append to it meanwhile. INVARIANT: what is written to the
//! child is what was checked: the lines go from the reader's buffer to the new file, never by way of a second reading of a file that
//! may have changed in between.

use std::io;
use std::path::Path;
use std::thread::{self, Scope, ScopedJoinHandle};

use annals_model::Seq;
use annals_model::line::{Draft, Line, MAX_LINE_BYTES, Place, encode};

use crate::disk::{Disk, DiskFile, OpenMode, write_full};
use crate::error::{Error, Result};
use crate::open::{newer_format, sync_names};
use crate::reader::{Item, Reader};
use crate::{LOG_FILE, seeded};

/// What a fork begins with, takes over and goes on with.
#[derive(Debug, Clone, Copy)]
pub struct Forking<'a> {
    /// The child's own line 0.
    pub first: Draft<'a>,
    /// The last event that is taken over; None takes over every whole line that is there now. With 0 nothing is but the place in the chain.
    pub upto: Option<Seq>,
    /// Lines that follow the ones taken over.
    pub extra: &'a [Draft<'a>],
}

/// A fork that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forked {
    /// The last event taken over; 0 when there is none but line 0.
    pub last_copied: Seq,
    /// The event that the child's first append will be.
    pub next_seq: Seq,
    /// The child's length in bytes.
    pub len_bytes: u64,
}

/// How much is gathered before it is written.
const WRITE_BYTES: usize = 512 * 1024;

/// How much is written before the disk is set to work on it, while the rest is still being read and checked.
const AHEAD_BYTES: u64 = 16 * 1024 * 1024;

/// Makes a log in `to_dir`, which must not exist, that holds the beginning of the log in `from_dir`. The parent's lines are checked up to
/// the last one taken over; a torn end behind it is left out, and damage behind it is not looked for.
///
/// # Errors
/// [`Error::NotFound`], [`Error::NeverBegan`] and [`Error::Newer`] of the parent; [`Error::Corrupt`] when it is damaged in what is to be
/// taken over; [`Error::NoSuchEvent`] when it ends before `upto`; [`Error::AlreadyExists`], [`Error::TooLong`], [`Error::Io`]. What was
/// begun in `to_dir` is removed again as far as the disk lets it.
///
/// # Durability
/// Everything is durable when this returns: the child's bytes, its name, and those of `to_dir` and the directory above it. Before that a
/// crash leaves anything of the child, so build it under a name that nobody looks for, and rename `to_dir` then. An event of the parent
/// that was written but not acknowledged as durable may be in the child and, after a power cut, not in the parent.
pub fn fork(disk: &dyn Disk, from_dir: &Path, to_dir: &Path, forking: &Forking<'_>) -> Result<Forked> {
    let mut reader = Reader::open(disk, from_dir)?;
    let anchor = parent_anchor(&mut reader)?;
    let path = to_dir.join(LOG_FILE);
    let file = begin(disk, to_dir, &path)?;
    let forked = thread::scope(|scope| {
        let mut child = Child::new(file.as_ref(), &path, anchor, scope);
        let last_copied = child.fill(&mut reader, forking)?;
        if !seeded::on("fork_skips_dir_sync") {
            sync_names(disk, to_dir)?;
        }
        Ok(Forked { last_copied, next_seq: child.next.0, len_bytes: child.written })
    });
    if forked.is_err() && !seeded::on("fork_leaves_a_stub") {
        drop(file);
        let _ = disk.remove(&path).and_then(|()| disk.remove_dir(to_dir));
    }
    forked
}

/// Makes the directory and the empty file.
fn begin(disk: &dyn Disk, to_dir: &Path, path: &Path) -> Result<Box<dyn DiskFile>> {
    match disk.metadata(to_dir) {
        Ok(_) => return Err(Error::AlreadyExists { path: to_dir.to_owned() }),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(Error::io("create", to_dir, e)),
    }
    disk.create_dirs(to_dir).map_err(|e| Error::io("create", to_dir, e))?;
    disk.open(path, OpenMode::CreateNew).map_err(|e| {
        // Fails when somebody else was quicker: what is in there is theirs.
        let _ = disk.remove_dir(to_dir);
        match e.kind() {
            io::ErrorKind::AlreadyExists => Error::AlreadyExists { path: to_dir.to_owned() },
            _ => Error::io("create", path, e),
        }
    })
}

/// Reads the parent's line 0: what the next line names as `prev`.
fn parent_anchor(reader: &mut Reader) -> Result<u32> {
    let path = reader.path().to_owned();
    match reader.next_item()? {
        None => Err(Error::NeverBegan { path }),
        Some(Item::Gap(damage)) => Err(Error::Corrupt { path, damage }),
        Some(Item::Line { line, .. }) => match newer_format(&line) {
            Some(found) => Err(Error::Newer { path, found, known: annals_model::FORMAT }),
            None => chained(&line, path),
        },
    }
}

fn chained(line: &Line<'_>, path: std::path::PathBuf) -> Result<u32> {
    match line.anchor() {
        // One line in four billion: a `prev` of zero says that there is no parent.
        0 => Err(Error::io(
            "fork",
            path,
            io::Error::new(io::ErrorKind::Unsupported, "line 0 has the checksum 0"),
        )),
        _ if seeded::on("fork_wrong_anchor") => Ok(line.crc),
        anchor => Ok(anchor),
    }
}

/// The log that is being made.
struct Child<'scope, 'env> {
    file: &'env dyn DiskFile,
    path: &'env Path,
    buf: Vec<u8>,
    written: u64,
    /// The next line: its event, and what it names as `prev`.
    next: (Seq, u32),
    /// The highest watermark of the lines taken over.
    durable: Option<Seq>,
    scope: &'scope Scope<'scope, 'env>,
    /// A sync that was begun early, and how much was written then.
    ahead: Option<ScopedJoinHandle<'scope, io::Result<()>>>,
    ahead_from: u64,
}

impl<'scope, 'env> Child<'scope, 'env> {
    fn new(
        file: &'env dyn DiskFile,
        path: &'env Path,
        anchor: u32,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Self {
        let (buf, next) = (Vec::new(), (0, anchor));
        Self { file, path, buf, written: 0, next, durable: None, scope, ahead: None, ahead_from: 0 }
    }

    /// Writes all of the child, durably. Returns the last event taken over.
    fn fill(&mut self, reader: &mut Reader, forking: &Forking<'_>) -> Result<Seq> {
        self.line(&forking.first)?;
        let last_copied = self.copy(reader, forking.upto)?;
        for draft in forking.extra {
            self.line(draft)?;
        }
        self.flush()?;
        self.begun_sync()?;
        if !seeded::on("fork_skips_sync") {
            self.file.sync().map_err(|e| Error::io("sync", self.path, e))?;
        }
        Ok(last_copied)
    }

    /// Takes over the parent's lines behind line 0.
    fn copy(&mut self, reader: &mut Reader, upto: Option<Seq>) -> Result<Seq> {
        let path = reader.path().to_owned();
        let mut last = 0;
        while upto.is_none_or(|upto| last < upto) {
            match reader.next_item()? {
                Some(Item::Line { line, bytes, .. }) => {
                    last = line.seq;
                    self.take(&line, bytes)?;
                }
                Some(Item::Gap(_)) if seeded::on("fork_ends_at_damage") => break,
                Some(Item::Gap(damage)) => return Err(Error::Corrupt { path, damage }),
                None => match upto {
                    Some(asked) => return Err(Error::NoSuchEvent { path, asked, last }),
                    None => break,
                },
            }
        }
        Ok(last)
    }

    /// A line of its own.
    fn line(&mut self, draft: &Draft<'_>) -> Result<()> {
        let ((seq, prev), start) = (self.next, self.buf.len());
        let durable = if seeded::on("fork_watermark_ahead") { seq.checked_sub(1) } else { self.durable };
        let crc = encode(&mut self.buf, Place { seq, durable, prev }, draft);
        let len = self.buf.len() - start;
        if len > MAX_LINE_BYTES {
            return Err(Error::TooLong { len_bytes: len as u64, limit_bytes: MAX_LINE_BYTES as u64 });
        }
        // Behind line 0 the chain goes on as in the parent.
        self.next = (seq + 1, if seq == 0 { prev } else { crc });
        self.flush_when_full()
    }

    /// A line of the parent, as it is stored.
    fn take(&mut self, line: &Line<'_>, bytes: &[u8]) -> Result<()> {
        self.buf.extend_from_slice(bytes);
        self.buf.push(b'\n');
        self.next = (line.seq + 1, line.crc);
        self.durable = self.durable.max(line.durable);
        self.flush_when_full()
    }

    fn flush_when_full(&mut self) -> Result<()> {
        if self.buf.len() < WRITE_BYTES { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<()> {
        write_full(self.file, &self.buf, self.written).map_err(|e| Error::io("write", self.path, e))?;
        self.written += self.buf.len() as u64;
        self.buf.clear();
        let busy = self.ahead.as_ref().is_some_and(|sync| !sync.is_finished());
        if self.written - self.ahead_from < AHEAD_BYTES || busy {
            return Ok(());
        }
        self.begun_sync()?;
        let file = self.file;
        // Where there can be no thread the last sync has more to do, and that is all.
        self.ahead = thread::Builder::new().spawn_scoped(self.scope, move || file.sync()).ok();
        self.ahead_from = self.written;
        Ok(())
    }

    /// Waits for the sync that was begun. Its error must not be passed over: the last sync would not tell it again.
    fn begun_sync(&mut self) -> Result<()> {
        let Some(begun) = self.ahead.take() else { return Ok(()) };
        let synced = begun.join().unwrap_or_else(|_| Err(io::Error::other("a sync ended in a panic")));
        synced.map_err(|e| Error::io("sync", self.path, e))
    }
}
