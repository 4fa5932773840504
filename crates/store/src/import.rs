//! Imports: other agents' session files become sessions, once, and grow when their files grow.
//!
//! Each import of a file ends with a `source_recorded` event: how far it was read, hashes to know the file again, where its raw bytes are
//! kept, and what the reader must know to go on. INVARIANT: what an event refers to is stored before the event; an import that was cut
//! short goes on after the last event that reached the log, because the same bytes always give the same events.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use annals_interop::claude_code::{FORMAT, Found, Importer};
use annals_interop::{Problem, Record, SourceFile};
use annals_log::Durability;
use annals_model::event::Event;
use annals_model::payload::{Chunk, Source, SourceRecorded};
use annals_model::{Json, Line, Payload, Seq, SessionId};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::reading::Found as FoundEvent;
use crate::session::{NewEvent, SessionWriter};
use crate::store::{NewSession, Store};

/// How much of a file is turned into events and written at a time; also the size of the blobs that keep its raw bytes.
const BATCH_BYTES: u64 = 8 * 1024 * 1024;

/// How much of a file's beginning and end is hashed to know it again.
const WITNESS_BYTES: u64 = 4096;

/// How far back in a log the last import's end is looked for before the whole log is read.
const TAIL_BYTES: u64 = 64 * 1024;

/// Told how far an import is.
pub trait Progress {
    /// Before the first file.
    fn started(&mut self, files: u64, bytes: u64);
    /// This many more bytes are done.
    fn advanced(&mut self, bytes: u64);
}

/// What an import did.
#[derive(Debug, Default)]
pub struct Imported {
    /// Files found.
    pub found: u64,
    /// Sessions with new events.
    pub imported: u64,
    /// Files in which nothing is new.
    pub unchanged: u64,
    /// The sessions with new events.
    pub sessions: Vec<ImportedSession>,
    /// What was lost, by kind.
    pub losses: BTreeMap<String, u64>,
    /// Records that could not be read, at most [`Imported::MAX_PROBLEMS`].
    pub problems: Vec<Problem>,
    /// Files that could not be imported.
    pub failed: Vec<(PathBuf, Error)>,
}

impl Imported {
    /// How many records that could not be read are told one by one.
    pub const MAX_PROBLEMS: usize = 100;
}

/// A session that got new events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportedSession {
    /// The session.
    pub id: SessionId,
    /// The file.
    pub source: String,
    /// Records read this time.
    pub records: u64,
    /// Events written this time.
    pub events: u64,
    /// Records that could not be read, this time.
    pub malformed: u64,
}

impl Store {
    /// Imports the files that were found. One bad file costs one file.
    ///
    /// # Durability
    /// Each session is durable before the next file is begun.
    pub fn import(&self, found: &Found, progress: &mut dyn Progress) -> Imported {
        let mut imported = Imported { found: found.files.len() as u64, ..Imported::default() };
        progress.started(imported.found, found.files.iter().map(|f| f.size).sum());
        for source in &found.files {
            match self.import_file(source, &mut imported) {
                Ok(Some(session)) => {
                    imported.imported += 1;
                    imported.sessions.push(session);
                }
                Ok(None) => imported.unchanged += 1,
                Err(error) => imported.failed.push((source.path.clone(), error)),
            }
            progress.advanced(source.size);
        }
        imported
    }

    fn import_file(&self, source: &SourceFile, report: &mut Imported) -> Result<Option<ImportedSession>> {
        for id in [&source.suggested, &source.alternative] {
            if !self.contains(id) {
                let importer = Importer::start(source)?;
                return Run::new(self, source, importer, None, Vec::new()).go(id, report);
            }
            let Some(past) = self.past_import(id)? else { continue };
            if past.is_current(source) {
                return Ok(None);
            }
            let Some((from, state)) = past.cursor(source)? else { continue };
            let importer = Importer::resume(source, from, &state)?;
            return Run::new(self, source, importer, past.recorded, past.after).go(id, report);
        }
        // Both ids are taken by other sources: the file was rewritten more than once.
        let taken = source.alternative.clone();
        Err(Error::SessionExists { id: taken })
    }

    /// What earlier imports left in a session. None when it is not one of ours.
    fn past_import(&self, id: &SessionId) -> Result<Option<Past>> {
        let mut reader = self.read(id)?;
        match reader.next_found()? {
            Some(FoundEvent::Event(Event { payload: Payload::SessionStarted(started), .. })) => {
                if started.imported_from.is_none_or(|from| from.format != FORMAT) {
                    return Ok(None);
                }
            }
            Some(_) => return Ok(None),
            // Its creation never finished; it is begun anew.
            None => return Ok(Some(Past::default())),
        }
        let tail = annals_log::last_lines(self.disk(), &self.session_dir(id), TAIL_BYTES);
        let tail = tail.map_err(|e| Error::from_log(id, e))?;
        let mut past = Past::default();
        for owned in &tail {
            let line = Line {
                seq: owned.seq,
                durable: None,
                prev: 0,
                ts: &owned.ts,
                turn: owned.turn,
                kind: &owned.kind,
                data: &owned.data,
                crc: 0,
            };
            if let Ok(event) = Event::from_line(&line) {
                past.note(event);
            }
        }
        if past.recorded.is_none() {
            past = Past::default();
            while let Some(found) = reader.next_found()? {
                if let FoundEvent::Event(event) = found {
                    past.note(event);
                }
            }
        }
        Ok(Some(past))
    }
}

/// What earlier imports left.
#[derive(Debug, Default)]
struct Past {
    recorded: Option<SourceRecorded>,
    /// Events of an import that did not come to its end: position, kind, offset of the record.
    after: Vec<(Seq, String, u64)>,
}

impl Past {
    fn note(&mut self, event: Event) {
        match event.payload {
            Payload::SourceRecorded(recorded) => {
                self.recorded = Some(recorded);
                self.after.clear();
            }
            payload => {
                if let Some(source) = source_of(&payload) {
                    self.after.push((event.seq, payload.kind().to_owned(), source.at));
                }
            }
        }
    }

    /// Whether the file is as it was, going by its size and time.
    fn is_current(&self, source: &SourceFile) -> bool {
        self.after.is_empty()
            && self.recorded.as_ref().is_some_and(|r| r.size == source.size && r.mtime_ms == source.mtime_ms)
    }

    /// Where to go on, provided that the file begins as it did. None when it was rewritten.
    fn cursor(&self, source: &SourceFile) -> Result<Option<(u64, Json)>> {
        let Some(recorded) = &self.recorded else { return Ok(Some((0, Json::default()))) };
        if source.size < recorded.end {
            return Ok(None);
        }
        let same = hashes(&source.path, recorded.end)? == (recorded.head.clone(), recorded.tail.clone());
        Ok(same.then(|| (recorded.end, recorded.state.clone())))
    }
}

/// The record that an event was made from.
fn source_of(payload: &Payload) -> Option<&Source> {
    match payload {
        Payload::UserMessage(p) => p.src.as_ref(),
        Payload::AssistantMessage(p) => p.src.as_ref(),
        Payload::ToolCall(p) => p.src.as_ref(),
        Payload::ToolResult(p) => p.src.as_ref(),
        Payload::Titled(p) => p.src.as_ref(),
        Payload::Tagged(p) => p.src.as_ref(),
        Payload::Moved(p) => p.src.as_ref(),
        Payload::TurnEnded(p) => p.src.as_ref(),
        Payload::Compaction(p) => p.src.as_ref(),
        Payload::FilesChanged(p) => p.src.as_ref(),
        Payload::Foreign(p) => Some(&p.src),
        _ => None,
    }
}

/// Hashes of a file's beginning and of what stands before `end`.
fn hashes(path: &Path, end: u64) -> Result<(String, String)> {
    let failed = |e| Error::io("read", path, e);
    let mut file = File::open(path).map_err(failed)?;
    let mut hash = |from: u64, to: u64| -> std::io::Result<String> {
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        (&file).take(to - from).read_to_end(&mut bytes)?;
        Ok(blake3::hash(&bytes).to_hex().to_string())
    };
    let head = hash(0, end.min(WITNESS_BYTES)).map_err(failed)?;
    let tail = hash(end.saturating_sub(WITNESS_BYTES), end).map_err(failed)?;
    Ok((head, tail))
}

/// One import of one file.
struct Run<'a> {
    store: &'a Store,
    source: &'a SourceFile,
    importer: Importer,
    before: Option<SourceRecorded>,
    /// Events that are in the log already, and will come again: skipped as long as they agree.
    present: std::vec::IntoIter<(Seq, String, u64)>,
    events: Vec<NewEvent>,
    chunks: Vec<Chunk>,
    /// Raw bytes before this offset are kept.
    kept_to: u64,
    records: u64,
    malformed: u64,
    written: u64,
}

impl<'a> Run<'a> {
    fn new(
        store: &'a Store,
        source: &'a SourceFile,
        importer: Importer,
        before: Option<SourceRecorded>,
        present: Vec<(Seq, String, u64)>,
    ) -> Self {
        let kept_to = importer.cursor();
        Self {
            store,
            source,
            importer,
            before,
            present: present.into_iter(),
            events: Vec::new(),
            chunks: Vec::new(),
            kept_to,
            records: 0,
            malformed: 0,
            written: 0,
        }
    }

    fn go(mut self, id: &SessionId, report: &mut Imported) -> Result<Option<ImportedSession>> {
        let mut writer: Option<SessionWriter> = None;
        loop {
            if let Some(writer) = &writer {
                self.place(writer);
            }
            let Some(record) = self.importer.next_record()? else { break };
            let writer = match &mut writer {
                Some(writer) => writer,
                None => {
                    let opened = self.open(id)?;
                    // Only now is it known where the first events go; the record is read again from there.
                    self.restart(&opened)?;
                    writer = Some(opened);
                    continue;
                }
            };
            self.take(writer, record, report)?;
            if self.importer.cursor() - self.kept_to >= BATCH_BYTES {
                self.write(writer)?;
            }
        }
        if let Some(unfinished) = self.importer.unfinished() {
            push_problem(report, unfinished.clone());
        }
        let Some(writer) = writer else { return Ok(None) };
        self.write(&writer)?;
        self.record(&writer)?;
        writer.close()?;
        for (kind, count) in self.importer.losses() {
            *report.losses.entry((*kind).to_owned()).or_default() += count;
        }
        Ok(Some(ImportedSession {
            id: id.clone(),
            source: self.source.path.display().to_string(),
            records: self.records,
            events: self.written,
            malformed: self.malformed,
        }))
    }

    fn open(&self, id: &SessionId) -> Result<SessionWriter> {
        if self.store.contains(id) {
            match self.store.open_writer_with(id, Durability::Os) {
                Ok((writer, _)) => return Ok(writer),
                // A creation that never finished: begun anew.
                Err(Error::SessionNotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let (ts, started) = self.importer.header()?;
        let new = NewSession { id: Some(id.clone()), ts, started };
        self.store.create_with(new, Durability::Os)
    }

    /// Begins reading again, now that the session is open.
    fn restart(&mut self, writer: &SessionWriter) -> Result<()> {
        let (from, state) = match &self.before {
            Some(recorded) => (recorded.end, recorded.state.clone()),
            None => (0, Json::default()),
        };
        self.importer = Importer::resume(self.source, from, &state)?;
        self.place(writer);
        Ok(())
    }

    /// Tells the reader which position the next event takes.
    fn place(&mut self, writer: &SessionWriter) {
        let next = match self.present.as_slice().first() {
            Some((seq, ..)) => *seq,
            None => writer.next_seq() + self.events.len() as u64,
        };
        self.importer.set_next_seq(next);
    }

    fn take(&mut self, writer: &SessionWriter, record: Record, report: &mut Imported) -> Result<()> {
        self.records += 1;
        if let Some(problem) = record.problem {
            self.malformed += 1;
            push_problem(report, problem);
        }
        for blob in &record.blobs {
            writer.put_blob(&blob.bytes)?;
        }
        for event in record.events {
            let is_import = source_of(&event.payload).is_some();
            if is_import && let Some((_, kind, at)) = self.present.next() {
                if kind != event.payload.kind() || at != record.at {
                    let reason = format!(
                        "{} no longer agrees with what was imported of it",
                        self.source.path.display()
                    );
                    return Err(Error::InvalidEvent { reason });
                }
                continue;
            }
            self.events.push(NewEvent { ts: event.ts, turn: event.turn, payload: event.payload });
        }
        Ok(())
    }

    /// Keeps the raw bytes read since the last time, then writes the events made from them.
    fn write(&mut self, writer: &SessionWriter) -> Result<()> {
        let to = self.importer.cursor();
        let failed = |e| Error::io("read", &self.source.path, e);
        let mut file = File::open(&self.source.path).map_err(failed)?;
        file.seek(SeekFrom::Start(self.kept_to)).map_err(failed)?;
        while self.kept_to < to {
            let want = (to - self.kept_to).min(BATCH_BYTES);
            let mut bytes = Vec::new();
            (&file).take(want).read_to_end(&mut bytes).map_err(failed)?;
            if bytes.is_empty() {
                return Err(failed(std::io::ErrorKind::UnexpectedEof.into()));
            }
            let len = bytes.len() as u64;
            let blob = writer.put_blob(&bytes)?;
            self.chunks.push(Chunk { at: self.kept_to, len, blob });
            self.kept_to += len;
        }
        if !self.events.is_empty() {
            writer.append(&self.events)?;
            self.written += self.events.len() as u64;
            self.events.clear();
        }
        Ok(())
    }

    /// Ends the import.
    fn record(&mut self, writer: &SessionWriter) -> Result<()> {
        let end = self.importer.cursor();
        let (head, tail) = hashes(&self.source.path, end)?;
        let before = self.before.take().unwrap_or_default();
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
        writer.append(&[Payload::from(recorded).into()])?;
        Ok(())
    }
}

fn push_problem(report: &mut Imported, problem: Problem) {
    if report.problems.len() < Imported::MAX_PROBLEMS {
        report.problems.push(problem);
    }
}
