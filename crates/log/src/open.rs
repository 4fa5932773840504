//! Creating a log, and opening one for writing: check, repair, go on.
//!
//! | crash while | what the next open finds | what it does |
//! |---|---|---|
//! | creating | no file, or one without a whole event | never acknowledged: may be begun anew |
//! | writing a batch | any subset of the unsynced sectors | beyond the watermark: keeps the bytes aside, cuts, appends `repaired` |
//! | extending the runway | newlines or zeros at the end | uses or cuts them |
//! | naming the file | a whole log whose name may not be durable | makes the names durable |
//! | closing | a seal without a closing line | goes on |
//!
//! INVARIANT(I3): the cut is durable before anything new is appended, and what is valid but not known to be durable is written
//! again and synced: a page that a failed sync left marked clean would otherwise never reach the disk.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use annals_model::line::{Draft, Line, check};
use annals_model::{FORMAT, Seq};
use serde::Deserialize;

use crate::LOG_FILE;
use crate::commit::{Committer, Start};
use crate::disk::{Disk, DiskFile, OpenMode, read_full, write_full};
use crate::error::{Error, Result};
use crate::holder::{Lock, Witness, this_process};
use crate::options::Options;
use crate::reader::{Item, Position, Reader, Tail};
use crate::scan::{Pieces, look_beyond};
use crate::seal::Sealed;
use crate::seeded;
use crate::tail;
use crate::writer::Log;

/// What opening a log found and did.
#[derive(Debug, Clone, Default)]
pub struct Opening {
    /// Whether the last writer closed cleanly.
    pub was_closed: bool,
    /// How many bytes of the log were read to open it.
    pub read_bytes: u64,
    /// The torn tail that was cut off, if there was one.
    pub repair: Option<Repair>,
}

/// A torn tail that was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The event that could not be read there.
    pub seq: Seq,
    /// Where the log was cut.
    pub offset: u64,
    /// How many bytes were cut off.
    pub dropped_bytes: u64,
    /// The file that keeps them.
    pub kept_in: PathBuf,
}

/// How much of a log's end is read to find its closing lines.
const TAIL_BYTES: u64 = 8 * 1024;

impl Log {
    /// Begins a log in `dir`, which is made when it does not exist, with its first event.
    ///
    /// A file left by a creation that never finished is taken over. `anchor` is what line 0 names as `prev`: zero, but for a fork.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`], [`Error::Busy`], [`Error::TooLong`], [`Error::Io`].
    ///
    /// # Durability
    /// The event, the log's name and those of `dir` and the directory above it are durable when this returns, at any level.
    pub fn create(
        disk: &dyn Disk,
        dir: &Path,
        options: Options,
        anchor: u32,
        first: &Draft<'_>,
    ) -> Result<Self> {
        let path = dir.join(LOG_FILE);
        disk.create_dirs(dir).map_err(|e| Error::io("create", dir, e))?;
        let lock = Lock::take(disk, dir, this_process(options.clock.now(), &options.program))?;
        let file = disk.open(&path, OpenMode::CreateOrOpen).map_err(|e| Error::io("create", &path, e))?;
        let read = |e| Error::io("read", &path, e);
        let len = file.len().map_err(read)?;
        if len > 0 {
            let beyond = look_beyond(file.as_ref(), 0, 0).map_err(read)?;
            if beyond.proof || beyond.resume.is_some() {
                return Err(Error::AlreadyExists { path });
            }
            // What is here was never acknowledged, or is damaged past all knowing: kept, as every torn end is.
            set_aside(disk, dir, file.as_ref(), 0, 0, len)?;
            file.set_len(0).and_then(|()| file.sync()).map_err(|e| Error::io("empty", &path, e))?;
        }
        let start = Start { next_seq: 0, prev: anchor, end: 0, allocated: 0, durable: None };
        let log = Self::assemble(path, file, options, lock, start, None, None);
        log.commit(std::slice::from_ref(first))?;
        log.barrier()?;
        *log.sealed_to.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
            Sealed::none(log.committer.standing().2);
        if !seeded::on("skip_sync_dir") {
            sync_names(disk, dir)?;
        }
        Ok(log)
    }

    /// Opens the log in `dir` for writing. A torn tail is cut off; what it held is kept aside.
    ///
    /// `remembered` is where the log ended when that was last known (a close, the index): with it a log of any size that was closed
    /// cleanly is opened by its last lines alone, and a missing end is noticed.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NeverBegan`], [`Error::Busy`], [`Error::Corrupt`], [`Error::Newer`], [`Error::Io`].
    ///
    /// # Durability
    /// Everything that the opened log holds is durable when this returns.
    pub fn open(
        disk: &dyn Disk,
        dir: &Path,
        options: Options,
        remembered: Option<Witness>,
    ) -> Result<(Self, Opening)> {
        let path = dir.join(LOG_FILE);
        // Asked before the lock's file is made: opening what is not there creates nothing.
        let file = disk.open(&path, OpenMode::ReadWrite).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => Error::NotFound { path: path.clone() },
            _ => Error::io("open", &path, e),
        })?;
        let lock = Lock::take(disk, dir, this_process(options.clock.now(), &options.program))?;
        refuse_newer(file.as_ref(), &path)?;
        let witness = newer(remembered, lock.witness());
        let failed = |e| Error::io("read", &path, e);
        if file.len().map_err(failed)? > options.check_up_to_bytes
            && let Some(end) = clean_end(file.as_ref(), witness).map_err(failed)?
        {
            let opening = Opening { was_closed: true, read_bytes: 2 * TAIL_BYTES, repair: None };
            return Ok((Self::assemble(path, file, options, lock, end.0, witness, Some(end.1)), opening));
        }
        Self::recover(disk, dir, file, options, lock, witness)
    }

    /// Reads the whole log, repairs its end, and goes on there.
    fn recover(
        disk: &dyn Disk,
        dir: &Path,
        file: Box<dyn DiskFile>,
        options: Options,
        lock: Lock,
        witness: Option<Witness>,
    ) -> Result<(Self, Opening)> {
        let path = dir.join(LOG_FILE);
        let mut reader = Reader::open(disk, dir)?;
        reader.remember(witness);
        while let Some(item) = reader.next_item()? {
            if let Item::Gap(damage) = item {
                if seeded::on("cut_at_first_bad_line") {
                    break;
                }
                return Err(Error::Corrupt { path, damage });
            }
        }
        let position = reader.position();
        let Some((last, crc, anchor)) = position.last else { return Err(Error::NeverBegan { path }) };
        let seq = last + 1;
        let repair = match reader.tail() {
            Tail::Unfinished { offset, len_bytes } => {
                set_aside(disk, dir, file.as_ref(), seq, offset, len_bytes)?
            }
            Tail::Clean => None,
        };
        let allocated = settle(file.as_ref(), position, &options, &reader.tail())
            .map_err(|e| Error::io("repair", &path, e))?;
        if !seeded::on("trust_the_names") {
            sync_names(disk, dir)?;
        }
        let start = Start { next_seq: seq, prev: anchor, end: position.end, allocated, durable: Some(last) };
        let sealed = match position.sealed_at {
            Some(at) => Sealed::after(at, if position.closed { position.end } else { at }),
            None => Sealed::none(position.first_end),
        };
        let reopened = position.closed.then_some(Witness { seq: last, end: position.end, crc });
        let opening =
            Opening { was_closed: position.closed, read_bytes: position.end, repair: repair.clone() };
        let log = Self::assemble(path, file, options, lock, start, reopened, Some(sealed));
        if let Some(repair) = &repair {
            let kept_in = repair.kept_in.file_name().map(|n| n.to_string_lossy().into_owned());
            let payload = annals_model::payload::Repaired { dropped_bytes: repair.dropped_bytes, kept_in };
            let draft = log.own_line("repaired", &payload)?;
            log.commit(&[draft.borrow()])?;
            log.barrier()?;
        }
        Ok((log, opening))
    }

    fn assemble(
        path: PathBuf,
        file: Box<dyn DiskFile>,
        options: Options,
        lock: Lock,
        start: Start,
        reopened: Option<Witness>,
        sealed: Option<Sealed>,
    ) -> Self {
        let committer = Committer::new(path.clone(), file, options.runway_bytes(), start);
        let sealed = sealed.unwrap_or(Sealed::none(0));
        Self { path, committer, options, lock: Mutex::new(lock), sealed_to: Mutex::new(sealed), reopened }
    }
}

/// Makes the log's name, and those of the directories on the way to it, durable. An open after a crash does it too: the creation may
/// have been cut short before it came to that, on a machine that went on.
pub(crate) fn sync_names(disk: &dyn Disk, dir: &Path) -> Result<()> {
    for name in [Some(dir), dir.parent(), dir.parent().and_then(Path::parent)].into_iter().flatten() {
        // The directory above a name without one is the current one.
        let name = if name.as_os_str().is_empty() { Path::new(".") } else { name };
        disk.sync_dir(name).map_err(|e| Error::io("sync", name, e))?;
    }
    Ok(())
}

/// The later of two witnesses.
fn newer(a: Option<Witness>, b: Option<Witness>) -> Option<Witness> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.seq > a.seq { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// A log from the future is left alone: its tail may follow rules that this version does not know.
fn refuse_newer(file: &dyn DiskFile, path: &Path) -> Result<()> {
    let mut pieces = Pieces::new(0);
    let first = pieces.next(file).map_err(|e| Error::io("read", path, e))?;
    let Some(first) = first else { return Ok(()) };
    let Ok(line) = check(pieces.bytes(&first)) else { return Ok(()) };
    match newer_format(&line) {
        Some(found) => Err(Error::Newer { path: path.to_owned(), found, known: FORMAT }),
        None => Ok(()),
    }
}

/// The format that a log's first line names, when it is newer than the one known here.
pub(crate) fn newer_format(first: &Line<'_>) -> Option<u64> {
    #[derive(Deserialize)]
    struct Format {
        format: u64,
    }
    let Format { format } = serde_json::from_slice(first.data).ok()?;
    (first.kind == "session_started" && format > u64::from(FORMAT)).then_some(format)
}

/// Where a log ends that was closed cleanly where the witness says so; found by its last lines alone.
fn clean_end(file: &dyn DiskFile, witness: Option<Witness>) -> io::Result<Option<(Start, Sealed)>> {
    let Some(witness) = witness else { return Ok(None) };
    if file.len()? != witness.end {
        return Ok(None);
    }
    let tail = tail::read(file, TAIL_BYTES)?;
    let mut lines = tail.lines_back();
    let Some((closed_at, closed)) = lines.next() else { return Ok(None) };
    let Some((sealed_at, sealed)) = lines.next() else { return Ok(None) };
    let agrees = closed.kind == "closed"
        && sealed.kind == "sealed"
        && closed.seq == witness.seq
        && closed.crc == witness.crc
        && closed.prev == sealed.crc;
    let start = Start {
        next_seq: closed.seq + 1,
        prev: closed.anchor(),
        end: witness.end,
        allocated: witness.end,
        durable: Some(closed.seq),
    };
    debug_assert!(closed_at > sealed_at);
    Ok(agrees.then(|| (start, Sealed::after(sealed_at, witness.end))))
}

/// Keeps a torn tail's bytes in a file of their own, durably. None when there is nothing but zeros and newlines.
fn set_aside(
    disk: &dyn Disk,
    dir: &Path,
    file: &dyn DiskFile,
    seq: Seq,
    offset: u64,
    len_bytes: u64,
) -> Result<Option<Repair>> {
    let path = dir.join(LOG_FILE);
    let beyond = look_beyond(file, offset, seq).map_err(|e| Error::io("read", &path, e))?;
    if !beyond.content || seeded::on("drop_torn_bytes") {
        return Ok(None);
    }
    let (kept_in, kept) = new_torn_file(disk, dir, seq)?;
    let failed = |e| Error::io("keep the torn tail in", &kept_in, e);
    let mut buf = vec![0; usize::try_from(len_bytes).unwrap_or(usize::MAX).min(256 * 1024)];
    let mut done = 0;
    while done < len_bytes {
        let want = usize::try_from(len_bytes - done).unwrap_or(usize::MAX).min(buf.len());
        let Some(slice) = buf.get_mut(..want) else { break };
        let read = read_full(file, slice, offset + done).map_err(failed)?;
        if read == 0 {
            break;
        }
        write_full(kept.as_ref(), slice.get(..read).unwrap_or_default(), done).map_err(failed)?;
        done += read as u64;
    }
    kept.sync().and_then(|()| disk.sync_dir(dir)).map_err(failed)?;
    Ok(Some(Repair { seq, offset, dropped_bytes: len_bytes, kept_in }))
}

fn new_torn_file(disk: &dyn Disk, dir: &Path, seq: Seq) -> Result<(PathBuf, Box<dyn DiskFile>)> {
    let mut attempt = 1;
    loop {
        let name = if attempt == 1 { format!("torn-{seq}.bin") } else { format!("torn-{seq}-{attempt}.bin") };
        let path = dir.join(name);
        match disk.open(&path, OpenMode::CreateNew) {
            Ok(file) => return Ok((path, file)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => attempt += 1,
            Err(e) => return Err(Error::io("create", path, e)),
        }
    }
}

/// Brings the file behind the last good line into order and makes it durable. Returns the file's length.
fn settle(file: &dyn DiskFile, position: &Position, options: &Options, tail: &Tail) -> io::Result<u64> {
    let mut allocated = file.len()?;
    let torn = matches!(tail, Tail::Unfinished { .. });
    if (torn || options.runway_bytes() == 0) && allocated > position.end && !seeded::on("skip_repair") {
        file.set_len(position.end)?;
        allocated = position.end;
    }
    if !seeded::on("trust_the_cache") {
        rewrite(file, position.undurable_from(), position.end)?;
    }
    if !seeded::on("skip_repair_sync") {
        file.sync()?;
    }
    Ok(allocated)
}

/// Writes the bytes `from..to` again, as they are.
fn rewrite(file: &dyn DiskFile, from: u64, to: u64) -> io::Result<()> {
    let mut buf = vec![0; usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX).min(256 * 1024)];
    let mut at = from;
    while at < to {
        let want = usize::try_from(to - at).unwrap_or(usize::MAX).min(buf.len());
        let Some(slice) = buf.get_mut(..want) else { break };
        let read = read_full(file, slice, at)?;
        if read == 0 {
            break;
        }
        write_full(file, slice.get(..read).unwrap_or_default(), at)?;
        at += read as u64;
    }
    Ok(())
}
