//! Reading a log without the lock: every line checked, nothing created, nothing changed.
//!
//! A reader may run while a writer appends. It stops where the log ends *now* and can be asked again later. INVARIANT: an
//! append under way is never taken for damage: a break counts as damage only with proof behind it (see [`crate::scan`]), and
//! because the proof is younger than the bytes it speaks of, the broken place is read once more before it is believed.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};

use annals_model::Seq;
use annals_model::line::Line;

use crate::disk::{Disk, DiskFile, OpenMode};
use crate::error::{Error, Result};
use crate::holder::Witness;
use crate::scan::{Damage, DamageKind, Link, Piece, Pieces, look_beyond};
use crate::{LOG_FILE, holder, seeded};

/// What a reader finds next.
#[derive(Debug)]
pub enum Item<'a> {
    /// A whole, checked line.
    Line {
        /// The line.
        line: Line<'a>,
        /// Its bytes as stored, without the newline.
        bytes: &'a [u8],
        /// Its offset in the file.
        offset: u64,
    },
    /// Damage: what was here can't be read. Lines after it follow.
    Gap(Damage),
}

/// What stands behind the last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// Nothing, or newlines.
    Clean,
    /// Bytes that are no whole line: an append under way, or the torn end that a crash left.
    Unfinished {
        /// Where they start.
        offset: u64,
        /// How many, newlines at the end not counted.
        len_bytes: u64,
    },
}

/// Where a reader stands: what a writer needs to go on there.
#[derive(Debug, Clone, Default)]
pub(crate) struct Position {
    /// Offset behind the last good line.
    pub(crate) end: u64,
    /// Line number of the next line, from 1.
    pub(crate) line: u64,
    /// The last good line: its event, checksum and the value for the next line's `prev`.
    pub(crate) last: Option<(Seq, u32, u32)>,
    /// The highest watermark seen.
    pub(crate) durable: Option<Seq>,
    /// Offset of the last `sealed` line.
    pub(crate) sealed_at: Option<u64>,
    /// Offset behind line 0.
    pub(crate) first_end: u64,
    /// Whether the last good line is a clean close.
    pub(crate) closed: bool,
    /// Ends of the last lines, oldest first, to find where the part begins that is not known durable.
    ends: VecDeque<u64>,
}

/// How many line ends are remembered; more than any batch has lines in practice.
const REMEMBERED_ENDS: usize = 4096;

impl Position {
    /// Offset from which on bytes are not known to be durable.
    pub(crate) fn undurable_from(&self) -> u64 {
        let Some((last, ..)) = self.last else { return 0 };
        // The oldest remembered end stands in where the watermark lies further back.
        let behind = self.durable.map_or(u64::MAX, |d| last.saturating_sub(d));
        let index = usize::try_from(behind).ok().and_then(|b| (self.ends.len() - 1).checked_sub(b));
        match index.and_then(|i| self.ends.get(i)) {
            Some(end) => *end,
            None if self.ends.len() < REMEMBERED_ENDS => 0,
            None => self.ends.front().copied().unwrap_or(0),
        }
    }

    fn note(&mut self, line: &Line<'_>, offset: u64, end: u64) {
        if line.seq == 0 {
            self.first_end = end;
        }
        self.end = end;
        self.line += 1;
        self.last = Some((line.seq, line.crc, line.anchor()));
        self.durable = self.durable.max(line.durable);
        self.closed = line.kind == "closed";
        if line.kind == "sealed" {
            self.sealed_at = Some(offset);
        }
        if self.ends.len() == REMEMBERED_ENDS {
            self.ends.pop_front();
        }
        self.ends.push_back(end);
    }
}

/// Reads a log from its beginning, or from a remembered place, line by line.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    pieces: Pieces,
    link: Link,
    position: Position,
    tail: Tail,
    /// A damaged end was reported already.
    ended: bool,
    witness: Option<Witness>,
}

/// What to do with the piece at hand.
enum Step {
    Line(Found),
    Gap(Damage),
    End,
}

impl Reader {
    /// Opens the log in a session's directory.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none, [`Error::Io`].
    pub fn open(disk: &dyn Disk, dir: &Path) -> Result<Self> {
        let mut reader = Self::open_file(disk, &dir.join(LOG_FILE))?;
        reader.witness = holder::witness(disk, dir);
        Ok(reader)
    }

    /// Opens a log by its file, with nothing remembered of its end.
    pub(crate) fn open_file(disk: &dyn Disk, path: &Path) -> Result<Self> {
        let file = disk.open(path, OpenMode::Read).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Error::NotFound { path: path.to_owned() },
            _ => Error::io("open", path, e),
        })?;
        Ok(Self {
            path: path.to_owned(),
            file,
            pieces: Pieces::new(0),
            link: Link::FIRST,
            position: Position { line: 1, ..Position::default() },
            tail: Tail::Clean,
            ended: false,
            witness: None,
        })
    }

    /// Goes to a line that starts at `offset` and holds event `seq`, as an earlier reading found it. The chain before it is taken
    /// on trust.
    pub fn seek(&mut self, offset: u64, seq: Seq) {
        self.pieces.restart(offset);
        self.link = Link { seq, prev: None };
        self.position = Position { end: offset, line: seq + 1, ..Position::default() };
        self.ended = false;
    }

    /// Remembers where the log ended when that was last known, so that a missing end is noticed.
    pub fn remember(&mut self, witness: Option<Witness>) {
        if let Some(new) = witness
            && self.witness.is_none_or(|old| old.seq < new.seq)
        {
            self.witness = Some(new);
        }
    }

    /// The log's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What stands behind the last line; known once [`Reader::next_item`] returned None.
    #[must_use]
    pub fn tail(&self) -> Tail {
        self.tail
    }

    /// Offset behind the last line read.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.position.end
    }

    /// The event that comes next.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.link.seq
    }

    /// Whether the last line read is a clean close.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.position.closed
    }

    pub(crate) fn position(&self) -> &Position {
        &self.position
    }

    /// The next line or gap. None at the end; later calls see what was appended since.
    ///
    /// # Errors
    /// [`Error::Io`] when the file can't be read. Damage is no error: it comes as [`Item::Gap`].
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>> {
        match self.step().map_err(|e| Error::io("read", &self.path, e))? {
            Step::End => Ok(None),
            Step::Gap(damage) => Ok(Some(Item::Gap(damage))),
            Step::Line(found) => {
                let bytes = self.pieces.bytes(&found.piece);
                Ok(found.line(bytes).map(|line| Item::Line { line, bytes, offset: found.piece.offset }))
            }
        }
    }

    fn step(&mut self) -> std::io::Result<Step> {
        let Some(piece) = self.pieces.next(self.file.as_ref())? else { return Ok(self.end_here()) };
        if piece.len == 0 && seeded::on("blank_looks_clean") {
            self.pieces.restart(piece.offset);
            self.tail = Tail::Clean;
            return Ok(Step::End);
        }
        if !piece.whole || piece.len == 0 {
            return self.broken(piece.offset, DamageKind::Unreadable);
        }
        let bytes = self.pieces.bytes(&piece);
        let line = match self.link.judge(bytes) {
            Ok(line) => line,
            Err(kind) => return self.broken(piece.offset, kind),
        };
        if let Some(remembered) = self.witness
            && remembered.seq == line.seq
            && remembered.crc != line.crc
        {
            // Told once; the next call reads the line as what it is.
            self.witness = None;
            self.pieces.restart(piece.offset);
            let kind = DamageKind::Replaced { remembered: remembered.seq };
            return Ok(Step::Gap(self.damage(piece.offset, 0, 0, kind)));
        }
        self.link = Link::after(&line);
        self.position.note(&line, piece.offset, piece.end());
        Ok(Step::Line(Found::new(piece, bytes, &line)))
    }

    /// A break at `offset`: damage with proof, else the end.
    fn broken(&mut self, offset: u64, kind: DamageKind) -> std::io::Result<Step> {
        let beyond = look_beyond(self.file.as_ref(), offset, self.link.seq)?;
        if !beyond.proof {
            let len_bytes = beyond.end - offset;
            self.tail = if len_bytes == 0 { Tail::Clean } else { Tail::Unfinished { offset, len_bytes } };
            self.pieces.restart(offset);
            return Ok(self.missing_end(offset, len_bytes, kind));
        }
        // The proof is younger than the bytes at the break: what was being written then is whole now.
        self.pieces.restart(offset);
        if let Some(piece) = self.pieces.next(self.file.as_ref())? {
            let sound = piece.whole && self.link.judge(self.pieces.bytes(&piece)).is_ok();
            self.pieces.restart(offset);
            if sound {
                return self.step();
            }
        }
        let (resume, found) = match beyond.resume {
            Some(found) => found,
            // The proof itself lacks its newline: nothing whole follows.
            None => (beyond.end, self.link.seq),
        };
        let damage = self.damage(offset, resume - offset, found - self.link.seq, kind);
        self.pieces.restart(resume);
        self.link = Link { seq: found, prev: None };
        self.position.line += 1;
        self.position.end = resume;
        if beyond.resume.is_none() {
            self.ended = true;
        }
        Ok(Step::Gap(damage))
    }

    /// The end of the file, with nothing behind the last line.
    fn end_here(&mut self) -> Step {
        self.tail = Tail::Clean;
        let offset = self.pieces.offset();
        self.pieces.restart(offset);
        self.missing_end(offset, 0, DamageKind::Unreadable)
    }

    /// The end, unless more is remembered than there is.
    fn missing_end(&mut self, offset: u64, len_bytes: u64, kind: DamageKind) -> Step {
        match self.witness {
            Some(remembered) if remembered.seq >= self.link.seq && !self.ended => {
                self.ended = true;
                let kind = match kind {
                    DamageKind::Unreadable => DamageKind::Shortened { remembered: remembered.seq },
                    other => other,
                };
                let missing = remembered.seq + 1 - self.link.seq;
                Step::Gap(self.damage(offset, len_bytes, missing, kind))
            }
            _ => Step::End,
        }
    }

    fn damage(&self, offset: u64, len_bytes: u64, missing: u64, kind: DamageKind) -> Damage {
        Damage { line: self.position.line, offset, len_bytes, expected_seq: self.link.seq, missing, kind }
    }
}

/// A checked line as ranges of its piece. A borrowed [`Line`] can't leave the loop that may have to read on, and reading its head
/// again would cost a third of the whole check.
struct Found {
    piece: Piece,
    seq: Seq,
    durable: Option<Seq>,
    prev: u32,
    turn: Option<u64>,
    crc: u32,
    ts: Range<usize>,
    kind: Range<usize>,
    data: Range<usize>,
}

impl Found {
    fn new(piece: Piece, bytes: &[u8], line: &Line<'_>) -> Self {
        let range = |part: &[u8]| {
            let from = part.as_ptr().addr() - bytes.as_ptr().addr();
            from..from + part.len()
        };
        Self {
            piece,
            seq: line.seq,
            durable: line.durable,
            prev: line.prev,
            turn: line.turn,
            crc: line.crc,
            ts: range(line.ts.as_bytes()),
            kind: range(line.kind.as_bytes()),
            data: range(line.data),
        }
    }

    fn line<'a>(&self, bytes: &'a [u8]) -> Option<Line<'a>> {
        Some(Line {
            seq: self.seq,
            durable: self.durable,
            prev: self.prev,
            ts: std::str::from_utf8(bytes.get(self.ts.clone())?).ok()?,
            turn: self.turn,
            kind: std::str::from_utf8(bytes.get(self.kind.clone())?).ok()?,
            data: bytes.get(self.data.clone())?,
            crc: self.crc,
        })
    }
}
