//! One import of one file into a session that is open for it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use annals_interop::claude_code::{FORMAT, Importer};
use annals_interop::{Problem, Record, SourceFile};
use annals_model::payload::{Chunk, ConversationAssigned, Source, SourceRecorded};
use annals_model::{Payload, Seq};

use super::fit::fit;
use super::past::{Past, hashes};
use super::{Imported, ImportedSession, Meter};
use crate::error::Error;
use crate::session::{NewEvent, SessionWriter};

/// How much of a file is turned into events and written at a time; also the size of the blobs that keep its raw bytes.
const BATCH_BYTES: u64 = 8 * 1024 * 1024;

/// Why an import did not come to its end.
pub(super) enum Stop {
    /// The source does not give again what is in the log of it. Nothing was appended.
    Disagrees,
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

type Result<T> = std::result::Result<T, Stop>;

/// One import of one file.
pub(super) struct Run<'a> {
    writer: &'a SessionWriter,
    source: &'a SourceFile,
    importer: Importer,
    past: Past,
    events: Vec<NewEvent>,
    chunks: Vec<Chunk>,
    /// Raw bytes before this offset are kept.
    kept_to: u64,
    records: u64,
    malformed: u64,
    written: u64,
    problems: Vec<Problem>,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        writer: &'a SessionWriter,
        source: &'a SourceFile,
        importer: Importer,
        past: Past,
    ) -> Self {
        let kept_to = importer.cursor();
        Self {
            writer,
            source,
            importer,
            past,
            events: Vec::new(),
            chunks: Vec::new(),
            kept_to,
            records: 0,
            malformed: 0,
            written: 0,
            problems: Vec::new(),
        }
    }

    /// Imports what is new. The report is added to only when the import comes to its end.
    /// `number` is the session's, when it is new and has one to record.
    pub(super) fn go(
        mut self,
        number: Option<u64>,
        report: &mut Imported,
        meter: &mut Meter<'_>,
    ) -> Result<ImportedSession> {
        meter.advance(self.kept_to);
        loop {
            self.importer.set_next_seq(self.next_seq());
            let Some(record) = self.importer.next_record()? else { break };
            self.take(record)?;
            if self.importer.cursor() - self.kept_to >= BATCH_BYTES {
                self.write(meter)?;
            }
        }
        if !self.past.present.is_empty() {
            return Err(Stop::Disagrees);
        }
        self.write(meter)?;
        self.record(number)?;
        let unfinished = self.importer.unfinished().cloned();
        self.problems.into_iter().chain(unfinished).for_each(|problem| report.problem(problem));
        let losses: &BTreeMap<&str, u64> = self.importer.losses();
        for (kind, count) in losses {
            *report.losses.entry((*kind).to_owned()).or_default() += count;
        }
        Ok(ImportedSession {
            id: self.writer.id().clone(),
            source: self.source.path.display().to_string(),
            records: self.records,
            events: self.written,
            malformed: self.malformed,
        })
    }

    /// The position of the next event that the reader gives.
    fn next_seq(&self) -> Seq {
        let present = self.past.present.front().or(self.past.trailing.as_ref());
        present.map_or_else(|| self.writer.next_seq() + self.events.len() as u64, |(seq, _)| *seq)
    }

    fn take(&mut self, record: Record) -> Result<()> {
        self.records += 1;
        if let Some(problem) = record.problem {
            self.malformed += 1;
            if self.problems.len() < Imported::MAX_PROBLEMS {
                self.problems.push(problem);
            }
        }
        for blob in &record.blobs {
            self.writer.put_blob(&blob.bytes)?;
        }
        let src = Source { at: record.at, len: record.len, id: None };
        for event in record.events {
            let (payload, blob) = fit(event.payload, &src);
            if let Some(blob) = blob {
                self.writer.put_blob(&blob.bytes)?;
            }
            if !self.is_present(&payload, record.at)? {
                self.events.push(NewEvent { ts: event.ts, turn: event.turn, payload });
            }
        }
        Ok(())
    }

    /// Whether an event is in the log already. Those that are must come again in the order in which they stand there.
    fn is_present(&mut self, payload: &Payload, at: u64) -> Result<bool> {
        match self.past.present.pop_front() {
            Some((_, present)) if present.is(payload, at) => Ok(true),
            Some(_) => Err(Stop::Disagrees),
            None => Ok(self.past.trailing.take().is_some_and(|(_, rewind)| rewind.is(payload, at))),
        }
    }

    /// Keeps the raw bytes read since the last time, then writes the events made from them.
    fn write(&mut self, meter: &mut Meter<'_>) -> Result<()> {
        let to = self.importer.cursor();
        let failed = |e| Error::io("read", &self.source.path, e);
        let mut file = File::open(&self.source.path).map_err(failed)?;
        file.seek(SeekFrom::Start(self.kept_to)).map_err(failed)?;
        while self.kept_to < to {
            let want = (to - self.kept_to).min(BATCH_BYTES);
            let mut bytes = Vec::new();
            (&file).take(want).read_to_end(&mut bytes).map_err(failed)?;
            if bytes.is_empty() {
                return Err(failed(std::io::ErrorKind::UnexpectedEof.into()).into());
            }
            let len = bytes.len() as u64;
            let blob = self.writer.put_blob(&bytes)?;
            self.chunks.push(Chunk { at: self.kept_to, len, blob });
            self.kept_to += len;
            meter.advance(len);
        }
        if !self.events.is_empty() {
            self.writer.append(&self.events)?;
            self.written += self.events.len() as u64;
            self.events.clear();
        }
        Ok(())
    }

    /// Ends the import.
    fn record(&mut self, number: Option<u64>) -> Result<()> {
        let end = self.importer.cursor();
        let (head, tail) = hashes(&self.source.path, end)?;
        let before = self.past.recorded.take().unwrap_or_default();
        let recorded = SourceRecorded {
            format: FORMAT.to_owned(),
            path: self.source.path.display().to_string(),
            end,
            head,
            tail,
            size: self.source.size,
            mtime_ms: self.source.mtime_ms,
            chunks: std::mem::take(&mut self.chunks),
            records: before.records + self.records,
            malformed: before.malformed + self.malformed,
            state: self.importer.state(),
        };
        let assigned = number.map(|id| Payload::ConversationAssigned(ConversationAssigned { id }).into());
        let events: Vec<NewEvent> = assigned.into_iter().chain([Payload::from(recorded).into()]).collect();
        self.writer.append(&events)?;
        Ok(())
    }
}
