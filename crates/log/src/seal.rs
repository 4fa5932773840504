//! Seals: BLAKE3 over runs of a log, so that alteration by someone who can compute a CRC is noticed too.
//!
//! A seal covers the bytes from the start of the seal before it (so that seals vouch for each other), or from the end of line 0 where
//! there is none (line 0 is a fork's own), to its own start. The bytes are read back from the file: what is sealed is what is
//! stored, and hashing a long run at once is several times faster than line by line.

use std::io;

use blake3::{Hash, Hasher};

use crate::disk::{DiskFile, read_full};
use crate::options::SealKey;

/// How far a log is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sealed {
    /// Where the next seal's bytes begin: the start of the last seal, or the end of line 0 (zero: not looked up yet).
    from: u64,
    /// Offset behind the last seal's line, or the end of line 0.
    to: u64,
}

impl Sealed {
    /// After the seal at `at`, whose line ends at `end`.
    pub(crate) fn after(at: u64, end: u64) -> Self {
        Self { from: at, to: end }
    }

    /// A log without seals whose line 0 ends at `end`.
    pub(crate) fn none(end: u64) -> Self {
        Self { from: end, to: end }
    }

    pub(crate) fn note(&mut self, at: u64, end: u64) {
        *self = Self::after(at, end);
    }

    /// Whether nothing was appended since the last seal.
    pub(crate) fn covers(&self, end: u64) -> bool {
        self.to >= end
    }

    /// Where the next seal's bytes begin.
    pub(crate) fn start(&mut self, file: &dyn DiskFile, end: u64) -> io::Result<u64> {
        if self.from == 0 {
            let first = first_line_end(file)?.min(end);
            *self = Self::none(first);
        }
        Ok(if crate::seeded::on("seal_wrong_range") { self.from + 1 } else { self.from })
    }
}

fn first_line_end(file: &dyn DiskFile) -> io::Result<u64> {
    let mut pieces = crate::scan::Pieces::new(0);
    Ok(pieces.next(file)?.map_or(0, |piece| piece.end()))
}

/// The hasher of a seal.
pub(crate) fn hasher(key: Option<&SealKey>) -> Hasher {
    key.map_or_else(Hasher::new, |key| Hasher::new_keyed(&key.bytes))
}

/// The digest of the bytes `from..to`.
pub(crate) fn digest(file: &dyn DiskFile, from: u64, to: u64, key: Option<&SealKey>) -> io::Result<Hash> {
    let mut hasher = hasher(key);
    let mut buf = vec![0; usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX).min(1024 * 1024)];
    let mut at = from;
    while at < to {
        let want = usize::try_from(to - at).unwrap_or(usize::MAX).min(buf.len());
        let Some(slice) = buf.get_mut(..want) else { break };
        let read = read_full(file, slice, at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        hasher.update(slice.get(..read).unwrap_or_default());
        at += read as u64;
    }
    Ok(hasher.finalize())
}
