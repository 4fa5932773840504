//! Reading sessions: events, state, raw lines. Creates nothing and takes no lock.

use annals_log::disk::Disk;
use annals_log::{Damage, Item, Reader, Tail};
use annals_model::event::Event;
use annals_model::fold::State;
use annals_model::{Payload, PayloadError, Seq, SessionId};

use crate::error::{Error, Result};

/// What a session's reader finds next.
#[derive(Debug)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant)] // one at a time, handed on at once
pub enum Found {
    /// An event.
    Event(Event),
    /// A whole event whose data does not fit its kind: shown as it is, never a reason to stop.
    Unfit {
        /// Its position.
        seq: Seq,
        /// Its kind.
        kind: String,
        /// What does not fit.
        error: PayloadError,
    },
    /// Damage: what was here can't be read.
    Gap(Damage),
}

/// Reads a session's events, oldest first. Asked again at the end, it gives what was appended since.
#[derive(Debug)]
pub struct EventReader {
    id: SessionId,
    reader: Reader,
}

impl EventReader {
    pub(crate) fn open(disk: &dyn Disk, dir: &std::path::Path, id: &SessionId) -> Result<Self> {
        let reader = Reader::open(disk, dir).map_err(|e| Error::from_log(id, e))?;
        Ok(Self { id: id.clone(), reader })
    }

    /// The next event or gap; None at the end.
    ///
    /// # Errors
    /// [`Error::Log`] when the file can't be read.
    pub fn next_found(&mut self) -> Result<Option<Found>> {
        let item = self.reader.next_item().map_err(|e| Error::from_log(&self.id, e))?;
        Ok(item.map(|item| match item {
            Item::Gap(damage) => Found::Gap(damage),
            Item::Line { line, .. } => match Event::from_line(&line) {
                Ok(event) => Found::Event(event),
                Err(error) => Found::Unfit { seq: line.seq, kind: line.kind.to_owned(), error },
            },
        }))
    }

    /// As [`EventReader::next_found`], but gives a whole line's bytes as they are stored, without the newline, to `line`, and a gap to
    /// `gap`. False at the end.
    ///
    /// # Errors
    /// [`Error::Log`] when the file can't be read.
    pub fn next_raw(&mut self, line: impl FnOnce(&[u8]), gap: impl FnOnce(Damage)) -> Result<bool> {
        match self.reader.next_item().map_err(|e| Error::from_log(&self.id, e))? {
            None => return Ok(false),
            Some(Item::Line { bytes, .. }) => line(bytes),
            Some(Item::Gap(damage)) => gap(damage),
        }
        Ok(true)
    }

    /// What stands behind the last event; known at the end.
    #[must_use]
    pub fn tail(&self) -> Tail {
        self.reader.tail()
    }
}

/// A session's state, and what could not be read.
#[derive(Debug, Default)]
pub struct Replay {
    /// The state.
    pub state: State,
    /// Damaged places.
    pub gaps: Vec<Damage>,
    /// Whole events whose data does not fit their kind.
    pub unfit: u64,
    /// Bytes behind the last whole event: an append under way, or the torn end that a crash left.
    pub unfinished_bytes: u64,
}

impl Replay {
    pub(crate) fn of(disk: &dyn Disk, dir: &std::path::Path, id: &SessionId) -> Result<Self> {
        let mut reader = EventReader::open(disk, dir, id)?;
        let mut replay = Self::default();
        while let Some(found) = reader.next_found()? {
            match found {
                Found::Event(event) => replay.state.apply(&event),
                Found::Unfit { .. } => replay.unfit += 1,
                Found::Gap(damage) => replay.gaps.push(damage),
            }
        }
        if replay.state.meta.events == 0 && replay.gaps.is_empty() {
            return Err(Error::SessionNotFound { query: id.to_string(), similar: Vec::new() });
        }
        if let Tail::Unfinished { len_bytes, .. } = reader.tail() {
            replay.unfinished_bytes = len_bytes;
        }
        replay.warm(disk, dir, id)?;
        Ok(replay)
    }

    /// Reads again what a revocation or a rewind uncovered.
    fn warm(&mut self, disk: &dyn Disk, dir: &std::path::Path, id: &SessionId) -> Result<()> {
        let cold = self.state.context.cold();
        let (Some(first), Some(last)) = (cold.first().copied(), cold.last().copied()) else { return Ok(()) };
        let mut reader = EventReader::open(disk, dir, id)?;
        while let Some(found) = reader.next_found()? {
            if let Found::Event(event) = found {
                if event.seq > last {
                    break;
                }
                if event.seq >= first && !matches!(event.payload, Payload::Unknown { .. }) {
                    self.state.context.warm(&event);
                }
            }
        }
        Ok(())
    }
}
