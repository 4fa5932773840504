//! The end of a log, read from its end: how a large log is opened without being read, and how a list learns what happened last.

use std::io;
use std::path::Path;

use annals_model::line::{Line, check};
use memchr::{memchr, memrchr};

use crate::disk::{Disk, DiskFile, OpenMode, read_full};
use crate::error::{Error, Result};

/// The last bytes of a log, cut at a line's beginning, without the runway.
#[derive(Debug, Default)]
pub(crate) struct TailBytes {
    /// Offset of the first byte.
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
}

/// How much is looked at first when the runway is searched for its beginning; then more, as it gets longer.
const FIRST_STEP_BYTES: u64 = 2 * 1024;
const STEP_BYTES: u64 = 64 * 1024;

/// Offset behind the last byte that is no newline, plus its newline when there is one.
fn content_end(file: &dyn DiskFile) -> io::Result<u64> {
    let len = file.len()?;
    let mut end = len;
    let mut step = FIRST_STEP_BYTES;
    let mut buf = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(step);
        buf.resize(usize::try_from(end - start).unwrap_or(0), 0);
        let read = read_full(file, &mut buf, start)?;
        let slice = buf.get(..read).unwrap_or_default();
        if let Some(last) = slice.iter().rposition(|b| *b != b'\n') {
            let behind = start + last as u64 + 1;
            return Ok((behind + 1).min(len));
        }
        end = start;
        step = (step * 4).min(STEP_BYTES);
    }
    Ok(0)
}

/// Reads up to `limit` bytes from the end. The first line in them is whole.
pub(crate) fn read(file: &dyn DiskFile, limit: u64) -> io::Result<TailBytes> {
    let end = content_end(file)?;
    let start = end.saturating_sub(limit);
    let mut bytes = vec![0; usize::try_from(end - start).unwrap_or(0)];
    let read = read_full(file, &mut bytes, start)?;
    bytes.truncate(read);
    let mut offset = start;
    if start > 0 {
        // The line that `start` falls into is not whole, unless it happens to begin there; either way the next one is.
        let cut = memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1);
        bytes.drain(..cut);
        offset += cut as u64;
    }
    Ok(TailBytes { offset, bytes })
}

impl TailBytes {
    /// The whole lines, last one first, with their offsets; stops at the first piece that is none.
    pub(crate) fn lines_back(&self) -> impl Iterator<Item = (u64, Line<'_>)> {
        let mut rest = self.bytes.as_slice();
        std::iter::from_fn(move || {
            let body = rest.strip_suffix(b"\n")?;
            let from = memrchr(b'\n', body).map_or(0, |at| at + 1);
            let line = check(body.get(from..)?).ok()?;
            rest = rest.get(..from)?;
            Some((self.offset + from as u64, line))
        })
    }
}

/// A line that owns its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedLine {
    /// Its position.
    pub seq: annals_model::Seq,
    /// Its time, canonical text.
    pub ts: String,
    /// The turn it belongs to.
    pub turn: Option<u64>,
    /// Its kind.
    pub kind: String,
    /// Its payload, unparsed.
    pub data: Vec<u8>,
}

impl OwnedLine {
    /// The line as one that borrows its text. What links it to others (`durable`, `prev`, `crc`) is not kept, and zero or None in it.
    #[must_use]
    pub fn line(&self) -> Line<'_> {
        Line {
            seq: self.seq,
            durable: None,
            prev: 0,
            ts: &self.ts,
            turn: self.turn,
            kind: &self.kind,
            data: &self.data,
            crc: 0,
        }
    }
}

/// The whole lines within the last `limit_bytes` of the log in `dir`, oldest first. Each is checked by itself; what lies before them is
/// not looked at. A torn end yields the lines before it only when it is short enough to leave some.
///
/// # Errors
/// [`crate::Error::NotFound`], [`crate::Error::Io`].
pub fn last_lines(disk: &dyn Disk, dir: &Path, limit_bytes: u64) -> Result<Vec<OwnedLine>> {
    let path = dir.join(crate::LOG_FILE);
    let file = disk.open(&path, OpenMode::Read).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => Error::NotFound { path: path.clone() },
        _ => Error::io("open", &path, e),
    })?;
    let tail = read(file.as_ref(), limit_bytes).map_err(|e| Error::io("read", &path, e))?;
    let pieces = tail.bytes.split_inclusive(|b| *b == b'\n').filter_map(|piece| piece.strip_suffix(b"\n"));
    let lines = pieces.filter_map(|piece| check(piece).ok());
    let owned = lines.map(|line| OwnedLine {
        seq: line.seq,
        ts: line.ts.to_owned(),
        turn: line.turn,
        kind: line.kind.to_owned(),
        data: line.data.to_vec(),
    });
    Ok(owned.collect())
}
