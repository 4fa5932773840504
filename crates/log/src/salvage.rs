//! Salvage: a new log of every record outside the damaged bytes; the original is kept.
//!
//! Events keep their numbers, since others refer to them; where one is lost, a `lost` event stands in its place. Lines behind a lost
//! one get a new `prev` and checksum, and seals are made anew without a key: what was tamper-evident before the damage can be
//! looked up in the original, which stays beside the log as `damaged-<n>.jsonl`.

use std::io;
use std::path::{Path, PathBuf};

use annals_model::line::{Draft, LINE_START, Place, check, encode};
use annals_model::payload::{Lost, Repaired, Sealed, SessionStarted};
use annals_model::{FORMAT, Seq, Timestamp};
use blake3::Hasher;
use memchr::memmem;

use crate::LOG_FILE;
use crate::disk::{Disk, DiskFile, OpenMode, read_full, write_full};
use crate::error::{Error, Result};
use crate::holder::{Lock, this_process};
use crate::options::Options;
use crate::scan::Pieces;
use crate::seeded;

/// What a salvage would keep and lose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SalvagePlan {
    /// Whole events found.
    pub kept: u64,
    /// Events that are lost: their numbers, in order, as ranges.
    pub lost: Vec<(Seq, Seq)>,
    /// Whole lines that say the same number again, left out.
    pub doubled: u64,
    /// Bytes of the log that belong to no whole line.
    pub damaged_bytes: u64,
}

/// A salvage that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvage {
    /// What was kept and lost.
    pub plan: SalvagePlan,
    /// The original.
    pub original: PathBuf,
}

/// Whole lines may be this many numbers ahead of how many there are; a number beyond that is not believed.
const MAX_LOST: u64 = 1_000_000;

/// The place of a whole line.
#[derive(Debug, Clone, Copy)]
struct Found {
    seq: Seq,
    offset: u64,
    len: usize,
}

/// Looks at the log in `dir` for what can be salvaged. Changes nothing.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Io`].
pub fn plan(disk: &dyn Disk, dir: &Path) -> Result<SalvagePlan> {
    survey(open(disk, dir)?.as_ref(), dir).map(|(plan, _)| plan)
}

/// Replaces the damaged log in `dir` by what can be salvaged.
///
/// # Errors
/// [`Error::NotFound`], [`Error::Busy`], [`Error::NeverBegan`] when no whole event is found, [`Error::Io`].
///
/// # Durability
/// The original and the new log are durable when this returns. A crash in between leaves the original in its place.
pub fn salvage(disk: &dyn Disk, dir: &Path, options: &Options) -> Result<Salvage> {
    let path = dir.join(LOG_FILE);
    let file = open(disk, dir)?;
    let mut lock = Lock::take(disk, dir, this_process(options.clock.now(), &options.program))?;
    let (plan, found) = survey(file.as_ref(), dir)?;
    if found.is_empty() {
        return Err(Error::NeverBegan { path });
    }
    let original = keep_original(disk, dir, file.as_ref())?;
    let new = dir.join("salvage.tmp");
    let failed = |e| Error::io("write", &new, e);
    match disk.remove(&new) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e)),
        _ => {}
    }
    let out = disk.open(&new, OpenMode::CreateNew).map_err(failed)?;
    let mut writer = Writer::new(out);
    for line in &found {
        if seeded::on("salvage_stops_at_gap") && line.seq > writer.next.0 {
            break;
        }
        writer.fill(line.seq).map_err(failed)?;
        writer.copy(file.as_ref(), line).map_err(failed)?;
    }
    let name = original.file_name().map(|n| n.to_string_lossy().into_owned());
    let repaired = Repaired { dropped_bytes: plan.damaged_bytes, kept_in: name };
    writer.line(options.clock.now(), None, "repaired", &json(&repaired)).map_err(failed)?;
    writer.finish().map_err(failed)?;
    disk.sync_dir(dir).map_err(failed)?;
    if !seeded::on("salvage_keeps_witness") {
        lock.forget()?;
    }
    disk.rename(&new, &path).and_then(|()| disk.sync_dir(dir)).map_err(|e| Error::io("replace", &path, e))?;
    Ok(Salvage { plan, original })
}

fn open(disk: &dyn Disk, dir: &Path) -> Result<Box<dyn DiskFile>> {
    let path = dir.join(LOG_FILE);
    disk.open(&path, OpenMode::Read).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => Error::NotFound { path: path.clone() },
        _ => Error::io("open", &path, e),
    })
}

/// Finds every whole line, wherever it starts, sorted by number.
fn survey(file: &dyn DiskFile, dir: &Path) -> Result<(SalvagePlan, Vec<Found>)> {
    let failed = |e| Error::io("read", dir.join(LOG_FILE), e);
    let finder = memmem::Finder::new(LINE_START);
    let (mut found, mut plan) = (Vec::new(), SalvagePlan::default());
    let mut pieces = Pieces::new(0);
    while let Some(piece) = pieces.next(file).map_err(failed)? {
        let bytes = pieces.bytes(&piece);
        let mut damaged = piece.len;
        // The first start from which the rest of the piece is whole; an earlier one is a line that was cut or merged.
        for from in finder.find_iter(bytes) {
            let rest = bytes.get(from..).unwrap_or_default();
            if let Ok(line) = check(rest) {
                found.push(Found { seq: line.seq, offset: piece.offset + from as u64, len: rest.len() });
                damaged = from as u64;
                break;
            }
        }
        plan.damaged_bytes += damaged;
    }
    let count = found.len() as u64;
    found.retain(|line| line.seq < count + MAX_LOST);
    // Stable: of two lines with one number the first in the file stays.
    found.sort_by_key(|line| line.seq);
    found.dedup_by_key(|line| line.seq);
    plan.kept = found.len() as u64;
    plan.doubled = count - plan.kept;
    let mut next = 0;
    for line in &found {
        if line.seq > next {
            plan.lost.push((next, line.seq - 1));
        }
        next = line.seq + 1;
    }
    Ok((plan, found))
}

/// Copies the log as it is to a new file beside it, durably.
fn keep_original(disk: &dyn Disk, dir: &Path, file: &dyn DiskFile) -> Result<PathBuf> {
    let mut number = 1;
    let (path, copy) = loop {
        let path = dir.join(format!("damaged-{number}.jsonl"));
        match disk.open(&path, OpenMode::CreateNew) {
            Ok(copy) => break (path, copy),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(e) => return Err(Error::io("create", path, e)),
        }
    };
    let failed = |e| Error::io("copy the log to", &path, e);
    let mut buf = vec![0; 256 * 1024];
    let mut at = 0;
    loop {
        let read = read_full(file, &mut buf, at).map_err(failed)?;
        if read == 0 {
            break;
        }
        write_full(copy.as_ref(), buf.get(..read).unwrap_or_default(), at).map_err(failed)?;
        at += read as u64;
    }
    copy.sync().and_then(|()| disk.sync_dir(dir)).map_err(failed)?;
    Ok(path)
}

fn json<T: serde::Serialize>(payload: &T) -> String {
    serde_json::to_string(payload).unwrap_or_else(|_| "{}".to_owned())
}

/// Writes the new log.
struct Writer {
    out: Box<dyn DiskFile>,
    buf: Vec<u8>,
    written: u64,
    next: (Seq, u32),
    ts: Timestamp,
    /// The bytes since the last seal, for the seals that are made anew.
    since_seal: Hasher,
    since_len: u64,
    /// Whether every byte so far is as it was, so that seals still hold.
    untouched: bool,
}

impl Writer {
    fn new(out: Box<dyn DiskFile>) -> Self {
        Self {
            out,
            buf: Vec::new(),
            written: 0,
            next: (0, 0),
            ts: Timestamp::default(),
            since_seal: Hasher::new(),
            since_len: 0,
            untouched: true,
        }
    }

    /// Puts `lost` events where there are none up to `seq`.
    fn fill(&mut self, seq: Seq) -> io::Result<()> {
        while self.next.0 < seq {
            self.untouched = false;
            if self.next.0 == 0 {
                let start = SessionStarted { format: FORMAT, ..SessionStarted::default() };
                self.line(self.ts, None, "session_started", &json(&start))?;
            } else {
                self.line(self.ts, None, "lost", &json(&Lost {}))?;
            }
        }
        Ok(())
    }

    fn copy(&mut self, file: &dyn DiskFile, found: &Found) -> io::Result<()> {
        let mut bytes = vec![0; found.len];
        let read = read_full(file, &mut bytes, found.offset)?;
        bytes.truncate(read);
        let Ok(line) = check(&bytes) else { return Err(io::ErrorKind::InvalidData.into()) };
        if line.seq == 0 {
            self.next.1 = line.prev;
        }
        self.ts = Timestamp::parse(line.ts).unwrap_or(self.ts);
        self.untouched &= line.prev == self.next.1 && line.seq == self.next.0;
        let data = if line.kind == "sealed" && !self.untouched {
            let blake3 = self.since_seal.finalize().to_hex().to_string();
            json(&Sealed { len_bytes: self.since_len, blake3, key: None })
        } else {
            String::from_utf8_lossy(line.data).into_owned()
        };
        self.line_with(line.durable, line.turn, line.kind, &data)
    }

    fn line(&mut self, ts: Timestamp, turn: Option<u64>, kind: &str, data: &str) -> io::Result<()> {
        self.ts = ts;
        self.line_with(self.next.0.checked_sub(1), turn, kind, data)
    }

    fn line_with(
        &mut self,
        durable: Option<Seq>,
        turn: Option<u64>,
        kind: &str,
        data: &str,
    ) -> io::Result<()> {
        let (seq, prev) = self.next;
        let start = self.buf.len();
        let draft = Draft { ts: self.ts, turn, kind, data };
        let crc = encode(&mut self.buf, Place { seq, durable, prev }, &draft);
        self.next = (seq + 1, if seq == 0 && prev != 0 { prev } else { crc });
        if kind == "sealed" {
            self.since_seal = Hasher::new();
            self.since_len = 0;
        }
        if seq > 0 {
            let line = self.buf.get(start..).unwrap_or_default();
            self.since_seal.update(line);
            self.since_len += line.len() as u64;
        }
        if self.buf.len() > 1024 * 1024 { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        write_full(self.out.as_ref(), &self.buf, self.written)?;
        self.written += self.buf.len() as u64;
        self.buf.clear();
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        if seeded::on("salvage_skips_sync") { Ok(()) } else { self.out.sync() }
    }
}
