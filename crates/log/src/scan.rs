//! Looking at a log's bytes: pieces between newlines, the chain from line to line, and what a break in it means.
//!
//! ```text
//! line line line ░░░░broken░░░░ line line        ← is the break a torn tail, or damage?
//!                └ expected n          └ d
//! ```
//!
//! Lines that were written together and synced once reach the disk in any order, so a valid line after a broken one proves
//! nothing. What proves damage is the **durable watermark**: a valid line that says `d ≥ n` was written when event `n` was known
//! to be on disk. INVARIANT(I3): without such a proof a break is the torn end of what was never acknowledged.

use std::io;

use annals_model::Seq;
use annals_model::line::{LINE_START, Line, LineError, MAX_LINE_BYTES, check};
use memchr::{memchr, memmem};

use crate::disk::DiskFile;
use crate::seeded;

/// A damaged place in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Line in the file, from 1.
    pub line: u64,
    /// Offset of the first byte that does not fit.
    pub offset: u64,
    /// How many bytes don't fit, up to the next line that does, or to the end of the file.
    pub len_bytes: u64,
    /// The event expected here.
    pub expected_seq: Seq,
    /// How many events are missing here; zero where bytes are too many rather than too few.
    pub missing: u64,
    /// What does not fit.
    pub kind: DamageKind,
}

/// What does not fit at a damaged place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DamageKind {
    /// The bytes are no line.
    #[error("these bytes are no event")]
    Unreadable,
    /// A line's checksum does not hold.
    #[error("checksum is {found:08x}, expected {expected:08x}")]
    Checksum {
        /// What the line says.
        expected: u32,
        /// What its bytes yield.
        found: u32,
    },
    /// Another event than the next one stands here.
    #[error("event {found} where {expected} was expected")]
    Sequence {
        /// The next event.
        expected: Seq,
        /// The one that stands here.
        found: Seq,
    },
    /// The line follows another line than the one before it.
    #[error("follows a line with checksum {found:08x}, expected {expected:08x}")]
    Chain {
        /// The checksum of the line before.
        expected: u32,
        /// The one that the line names.
        found: u32,
    },
    /// The end is missing: a clean close, or the index, remembers more than there is.
    #[error("the log ends before event {remembered}, which was acknowledged")]
    Shortened {
        /// The last event that was acknowledged.
        remembered: Seq,
    },
    /// The last acknowledged line is another one than remembered.
    #[error("event {remembered} is not the one that was acknowledged")]
    Replaced {
        /// The event.
        remembered: Seq,
    },
    /// The bytes since the last seal are not the sealed ones.
    #[error("the seal does not match the bytes that it covers")]
    Seal,
    /// The seal was made with a key that is not at hand, so it could not be checked.
    #[error("the seal needs the key {key:?}")]
    SealKey {
        /// The key's id.
        key: String,
    },
}

impl DamageKind {
    /// Its name in `--json` output.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Checksum { .. } => "checksum",
            Self::Sequence { .. } => "sequence",
            Self::Chain { .. } => "chain",
            Self::Shortened { .. } => "shortened",
            Self::Replaced { .. } => "replaced",
            Self::Seal => "seal",
            Self::SealKey { .. } => "seal_key",
        }
    }
}

/// The bytes between two newlines, as a range of the buffer of [`Pieces`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Its offset in the file.
    pub(crate) offset: u64,
    /// Its length without the newline. Longer than the buffer's range when it is over the limit.
    pub(crate) len: u64,
    from: usize,
    to: usize,
    /// Whether a newline ends it.
    pub(crate) whole: bool,
}

impl Piece {
    /// Offset behind the piece and its newline.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.len + u64::from(self.whole)
    }
}

/// Cuts a file into pieces through one reused buffer. Reading a whole file into fresh memory costs ten times the read itself.
#[derive(Debug)]
pub(crate) struct Pieces {
    buf: Vec<u8>,
    /// File offset of `buf[0]`.
    start: u64,
    filled: usize,
    at: usize,
    /// The last read filled the buffer: there is more, and larger reads are worth their memory.
    eager: bool,
}

const FIRST_BYTES: usize = 16 * 1024;
const BUFFER_BYTES: usize = 1024 * 1024;

impl Pieces {
    pub(crate) fn new(offset: u64) -> Self {
        Self { buf: Vec::new(), start: offset, filled: 0, at: 0, eager: false }
    }

    /// The offset of the next piece.
    pub(crate) fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    /// Goes to an offset and forgets what was read: the file may have changed there.
    pub(crate) fn restart(&mut self, offset: u64) {
        self.start = offset;
        self.filled = 0;
        self.at = 0;
    }

    /// The bytes of a piece that was just returned. Empty for one over the limit.
    pub(crate) fn bytes(&self, piece: &Piece) -> &[u8] {
        self.buf.get(piece.from..piece.to).unwrap_or_default()
    }

    /// The next piece; None at the end of the file.
    pub(crate) fn next(&mut self, file: &dyn DiskFile) -> io::Result<Option<Piece>> {
        let mut searched = 0;
        loop {
            let unread = self.buf.get(self.at..self.filled).unwrap_or_default();
            if let Some(found) = unread.get(searched..).and_then(|rest| memchr(b'\n', rest)) {
                return Ok(Some(self.take(searched + found, true)));
            }
            searched = unread.len();
            if searched > MAX_LINE_BYTES {
                return self.skip_overlong(file).map(Some);
            }
            if !self.fill(file)? {
                return Ok((searched > 0).then(|| self.take(searched, false)));
            }
        }
    }

    fn take(&mut self, len: usize, whole: bool) -> Piece {
        let from = self.at;
        let piece = Piece { offset: self.offset(), len: len as u64, from, to: from + len, whole };
        self.at += len + usize::from(whole);
        piece
    }

    /// Reads more behind what is unread. False at the end of the file.
    fn fill(&mut self, file: &dyn DiskFile) -> io::Result<bool> {
        if self.at > 0 {
            self.buf.copy_within(self.at..self.filled, 0);
            self.start += self.at as u64;
            self.filled -= self.at;
            self.at = 0;
        }
        // Small at first, since most logs and most questions are: zeroing a megabyte costs more than reading a small log.
        if self.filled == self.buf.len() || (self.eager && self.buf.len() < BUFFER_BYTES) {
            let len = self.buf.len();
            // Beyond a megabyte only a line that is longer asks for more.
            let grown = if len < BUFFER_BYTES { (len * 4).clamp(FIRST_BYTES, BUFFER_BYTES) } else { len * 2 };
            self.buf.resize(grown, 0);
        }
        let offset = self.start + self.filled as u64;
        let free = self.buf.get_mut(self.filled..).unwrap_or_default();
        let free_len = free.len();
        let read = loop {
            match file.read_at(free, offset) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.eager = read == free_len;
        self.filled += read;
        Ok(read > 0)
    }

    /// Steps over a piece that is too long to be a line, without keeping it.
    fn skip_overlong(&mut self, file: &dyn DiskFile) -> io::Result<Piece> {
        let offset = self.offset();
        self.restart(offset + (self.filled - self.at) as u64);
        self.buf.truncate(BUFFER_BYTES);
        self.buf.shrink_to_fit();
        loop {
            let unread = self.buf.get(self.at..self.filled).unwrap_or_default();
            if let Some(found) = memchr(b'\n', unread) {
                self.at += found;
                let len = self.offset() - offset;
                self.at += 1;
                return Ok(Piece { offset, len, from: 0, to: 0, whole: true });
            }
            self.at = self.filled;
            if !self.fill(file)? {
                return Ok(Piece { offset, len: self.offset() - offset, from: 0, to: 0, whole: false });
            }
        }
    }
}

/// What the next line must say to continue the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) seq: Seq,
    /// None right after a gap: whatever line stands there begins the chain anew.
    pub(crate) prev: Option<u32>,
}

impl Link {
    pub(crate) const FIRST: Self = Self { seq: 0, prev: None };

    /// Checks that `bytes` are the line that comes next.
    pub(crate) fn judge<'a>(&self, bytes: &'a [u8]) -> std::result::Result<Line<'a>, DamageKind> {
        let line = check(bytes).map_err(|e| match e {
            LineError::Checksum { expected, found } => DamageKind::Checksum { expected, found },
            _ => DamageKind::Unreadable,
        })?;
        if line.seq != self.seq {
            return Err(DamageKind::Sequence { expected: self.seq, found: line.seq });
        }
        match self.prev {
            Some(expected) if line.prev != expected => Err(DamageKind::Chain { expected, found: line.prev }),
            _ if line.durable.is_some_and(|d| d >= line.seq) => Err(DamageKind::Unreadable),
            _ => Ok(line),
        }
    }

    /// The link behind a line.
    pub(crate) fn after(line: &Line<'_>) -> Self {
        Self { seq: line.seq + 1, prev: Some(line.anchor()) }
    }
}

/// What lies behind a break in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Beyond {
    /// A valid line proves that the event expected at the break was durable.
    pub(crate) proof: bool,
    /// Where the next whole line with that or a later event starts, and which event it is.
    pub(crate) resume: Option<(u64, Seq)>,
    /// Whether anything but newlines and NULs is there.
    pub(crate) content: bool,
    /// Offset behind the last byte that is no newline.
    pub(crate) end: u64,
}

/// Looks at everything from a break on, to the end of the file. A line may start inside a broken one.
pub(crate) fn look_beyond(file: &dyn DiskFile, offset: u64, expected: Seq) -> io::Result<Beyond> {
    let finder = memmem::Finder::new(LINE_START);
    let mut beyond = Beyond { end: offset, ..Beyond::default() };
    let mut pieces = Pieces::new(offset);
    while let Some(piece) = pieces.next(file)? {
        let bytes = pieces.bytes(&piece);
        if piece.len == 0 {
            continue;
        }
        beyond.end = piece.offset + piece.len;
        beyond.content |= bytes.is_empty() || bytes.iter().any(|b| *b != 0);
        for from in finder.find_iter(bytes) {
            let Ok(line) = check(bytes.get(from..).unwrap_or_default()) else { continue };
            if line.seq >= expected && beyond.resume.is_none() && piece.whole {
                beyond.resume = Some((piece.offset + from as u64, line.seq));
            }
            let naive = seeded::on("valid_line_follows") && line.seq >= expected;
            if naive || line.durable.is_some_and(|d| d >= expected) {
                beyond.proof = true;
            }
        }
        if beyond.proof && beyond.resume.is_some() {
            // Enough is known; `end` and `content` are only asked for when there is no proof.
            break;
        }
    }
    Ok(beyond)
}
