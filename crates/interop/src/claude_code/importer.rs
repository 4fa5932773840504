//! The streaming reader of one session file: record after record, able to stop and go on between any two.
//!
//! INVARIANT: cutting an import at any record and resuming it with [`Importer::state`] yields the same events as reading in
//! one go. `tests/it/resume.rs` holds it to that.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;

use annals_model::payload::{SessionStarted, Source};
use annals_model::{Json, Timestamp};

use super::map::Mapping;
use super::seen::Seen;
use super::state::{State, VERSION};
use super::{FORMAT, header, sniff};
use crate::error::{Error, Result};
use crate::found::SourceFile;
use crate::lines::{LineReader, MAX_LINE_BYTES, RawLine};
use crate::object::Object;
use crate::record::{Problem, Problems, Record, Report};
use crate::surrogate;

/// Reads a session file.
///
/// The file is opened read-only and never locked. A record that can't be read becomes a `foreign` event and a problem, and
/// stops nothing; only the file system can make [`Importer::next_record`] fail.
#[derive(Debug)]
pub struct Importer {
    source: SourceFile,
    reader: LineReader,
    line: Option<(RawLine, Trimmed)>,
    cursor: u64,
    state: State,
    seen: Seen,
    report: Report,
    /// The last line, when it may still be growing.
    unfinished: Option<Problem>,
    ended: bool,
}

/// What lies around a record within its line.
#[derive(Debug, Clone, Copy, Default)]
struct Trimmed {
    start: usize,
    end: usize,
    nuls: u64,
}

impl Importer {
    /// Starts at the beginning of a file.
    ///
    /// # Errors
    /// [`Error::NotThisFormat`] when its first bytes are not those of a Claude Code session, [`Error::SourceNotFound`] and
    /// [`Error::Io`] when it can't be read.
    pub fn start(source: &SourceFile) -> Result<Self> {
        Self::start_with_limit(source, MAX_LINE_BYTES)
    }

    /// Like [`Importer::start`], with another limit than [`MAX_LINE_BYTES`] for the length of a line, in bytes.
    ///
    /// # Errors
    /// As [`Importer::start`].
    pub fn start_with_limit(source: &SourceFile, max_line_bytes: usize) -> Result<Self> {
        let head = header::head(source)?;
        if !sniff::looks_like_claude_code(&head) {
            return Err(Error::NotThisFormat { path: source.path.clone(), format: FORMAT });
        }
        let state = Self::fresh(source, &head)?;
        Self::open(source, 0, state, max_line_bytes)
    }

    /// Goes on at `from`, the [`Importer::cursor`] of an earlier import, with the [`Importer::state`] that belongs to it; or begins
    /// anew when `from` is 0. That the file's bytes before `from` are still the same is the caller's to check.
    ///
    /// # Errors
    /// [`Error::StaleState`] when the state is not of this version or does not parse: begin anew then.
    /// [`Error::SourceNotFound`] and [`Error::Io`] when the file can't be read.
    pub fn resume(source: &SourceFile, from: u64, state: &Json) -> Result<Self> {
        if from == 0 {
            let state = Self::fresh(source, &header::head(source)?)?;
            return Self::open(source, 0, state, MAX_LINE_BYTES);
        }
        let stale = |cause| Error::StaleState { path: source.path.clone(), source: cause };
        let state: Option<State> = serde_json::from_str(state.as_str()).map_err(|e| stale(Some(e)))?;
        let state = state.filter(|state| state.v == VERSION).ok_or_else(|| stale(None))?;
        let mut importer = Self::open(source, from, state, MAX_LINE_BYTES)?;
        importer.recall(from)?;
        Ok(importer)
    }

    fn fresh(source: &SourceFile, head: &[u8]) -> Result<State> {
        let sub_agent = source.parent.is_some() || is_agents_file(source);
        let workspace = header::facts(source, head)?.workspace;
        Ok(State { sub_agent, workspace, ..State::default() })
    }

    fn open(source: &SourceFile, at: u64, state: State, max_line_bytes: usize) -> Result<Self> {
        let failed = |e| Error::io(&source.path, e);
        let file = File::open(&source.path).map_err(failed)?;
        let reader = LineReader::start(file, at, max_line_bytes).map_err(failed)?;
        Ok(Self {
            source: source.clone(),
            reader,
            line: None,
            cursor: at,
            state,
            seen: Seen::default(),
            report: Report::default(),
            unfinished: None,
            ended: false,
        })
    }

    /// Reads the ids of the records before `end` again.
    fn recall(&mut self, end: u64) -> Result<()> {
        let failed = |e| Error::io(&self.source.path, e);
        let file = File::open(&self.source.path).map_err(failed)?;
        let mut lines = LineReader::start(file, 0, MAX_LINE_BYTES).map_err(failed)?;
        while lines.position() < end {
            let Some(line) = lines.next_line().map_err(failed)? else { break };
            if line.at >= end {
                break;
            }
            let bytes = lines.bytes(&line);
            // A line that was cut off by the end of the last import is only known up to there.
            let known = usize::try_from(end - line.at).unwrap_or(usize::MAX).min(bytes.len());
            let bytes = bytes.get(..known).unwrap_or_default();
            let trimmed = trim(bytes);
            let text = crate::lossy::text(bytes.get(trimmed.start..trimmed.end).unwrap_or_default());
            let (text, _) = surrogate::replace(&text);
            if let Some(id) = Object::parse(&text).ok().and_then(|record| record.string("uuid")) {
                self.seen.see(&id);
            }
        }
        Ok(())
    }

    /// When the session began: the first time that its first records name.
    ///
    /// # Errors
    /// As [`Importer::header`].
    pub fn began(&self) -> Result<Option<Timestamp>> {
        header::began(&self.source)
    }

    /// What line 0 of the session's log says, going by the file's first records.
    ///
    /// # Errors
    /// [`Error::SourceNotFound`] and [`Error::Io`] when the file can't be read.
    pub fn header(&self) -> Result<SessionStarted> {
        header::session_started(&self.source)
    }

    /// The next record, or none when there is no further one yet: at the end of the file, or before a last line that has no
    /// newline and can't be read, which may still be growing. Blank lines and runs of NULs are stepped over.
    ///
    /// # Errors
    /// [`Error::Io`] when the file can't be read further.
    pub fn next_record(&mut self) -> Result<Option<Record>> {
        self.line = None;
        while !self.ended {
            let line = self.reader.next_line().map_err(|e| Error::io(&self.source.path, e))?;
            let Some(line) = line else {
                self.ended = true;
                break;
            };
            let trimmed = trim(self.reader.bytes(&line));
            let blank = trimmed.start == trimmed.end && !line.too_long;
            if blank && !line.terminated {
                self.ended = true;
            } else if blank {
                self.report.lose_many("nul_bytes", trimmed.nuls);
                self.step(&line);
            } else if let Some(record) = self.take(&line, trimmed) {
                self.step(&line);
                self.line = Some((line, trimmed));
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Moves the cursor behind a line.
    fn step(&mut self, line: &RawLine) {
        self.state.lines += u64::from(line.terminated);
        self.cursor = self.reader.position();
    }

    /// Takes a line as a record; none when it may still be growing, which ends the import.
    fn take(&mut self, line: &RawLine, trimmed: Trimmed) -> Option<Record> {
        let bytes = self.reader.bytes(line).get(trimmed.start..trimmed.end).unwrap_or_default();
        let (at, len) = if line.too_long {
            (line.at, line.len)
        } else {
            (line.at + trimmed.start as u64, bytes.len() as u64)
        };
        let line_number = self.state.lines + 1;
        let path = &self.source.path;
        let problem =
            |kind, detail: String| Problem { kind, path: path.clone(), line_number, offset: at, detail };
        let text = crate::lossy::text(bytes);
        let is_utf8 = matches!(text, Cow::Borrowed(_));
        let (text, lone) = surrogate::replace(&text);
        let parsed = if line.too_long {
            Err(problem("line_too_long", format!("the line has {len} bytes")))
        } else {
            Object::parse(&text).map_err(|e| problem("malformed", e.to_string()))
        };
        if let (Err(_), false) = (&parsed, line.terminated) {
            let detail = "the last line has no end and can't be read yet".to_owned();
            self.unfinished = Some(problem("unterminated", detail));
            self.ended = true;
            return None;
        }
        self.report.lose_many("lone_surrogate", lone);
        self.report.lose_many("nul_bytes", trimmed.nuls);
        if !is_utf8 {
            self.report.lose("invalid_utf8");
        }
        let mut mapping = Mapping {
            state: &mut self.state,
            seen: &mut self.seen,
            report: &mut self.report,
            src: Source { at, len, id: None },
            ts: None,
            events: Vec::new(),
            blobs: Vec::new(),
        };
        let problem = match parsed {
            Ok(record) => {
                mapping.record(&record);
                None
            }
            Err(problem) => {
                mapping.malformed(&problem.detail);
                Some(problem)
            }
        };
        let Mapping { events, blobs, .. } = mapping;
        if let Some(problem) = &problem {
            self.report.problem(problem.clone());
            self.report.lose("malformed");
        }
        self.state.next_seq += events.len() as u64;
        self.state.records += 1;
        Some(Record { at, len, line_number, events, blobs, problem })
    }

    /// The bytes of the record last given out; none when it was too long to be read.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        match &self.line {
            Some((line, trimmed)) => {
                self.reader.bytes(line).get(trimmed.start..trimmed.end).unwrap_or_default()
            }
            None => &[],
        }
    }

    /// Offset in the file before which everything has been read, in bytes: where the next import goes on.
    #[must_use]
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// What a later import must be given to go on at [`Importer::cursor`].
    #[must_use]
    pub fn state(&self) -> Json {
        serde_json::to_value(&self.state).map_or_else(|_| Json::default(), Json::from)
    }

    /// The position in the log that the next event is expected at: 1 at the start, `session_started` being 0.
    #[must_use]
    pub fn next_seq(&self) -> u64 {
        self.state.next_seq
    }

    /// Says at which position of the log the next event will lie, when the log holds other events in between.
    pub fn set_next_seq(&mut self, seq: u64) {
        self.state.go_to(seq);
    }

    /// Records read from this file so far, malformed ones and earlier imports included.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.state.records
    }

    /// What of this import could not be carried over in full, by kind. Earlier imports are not included.
    #[must_use]
    pub fn losses(&self) -> &BTreeMap<&'static str, u64> {
        &self.report.losses
    }

    /// The last line, when it has no end and can't be read: it may still be growing, and the next import looks again.
    #[must_use]
    pub fn unfinished(&self) -> Option<&Problem> {
        self.unfinished.as_ref()
    }

    /// What was wrong with records of this import.
    #[must_use]
    pub fn problems(&self) -> &Problems {
        &self.report.problems
    }
}

/// Finds the record in a line: without a byte order mark, NULs and white space around it.
fn trim(bytes: &[u8]) -> Trimmed {
    let around = |byte: &u8| matches!(byte, 0 | b' ' | b'\t' | b'\r');
    let mut start = 0;
    let mut rest = bytes;
    loop {
        let skipped = rest.iter().take_while(|byte| around(byte)).count();
        let marked = rest.get(skipped..).unwrap_or_default();
        let mark = if marked.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        start += skipped + mark;
        rest = marked.get(mark..).unwrap_or_default();
        if mark == 0 {
            break;
        }
    }
    let end = start + rest.len() - rest.iter().rev().take_while(|byte| around(byte)).count();
    let outside = bytes.get(..start).into_iter().chain(bytes.get(end..)).flatten();
    Trimmed { start, end, nuls: outside.filter(|byte| **byte == 0).count() as u64 }
}

fn is_agents_file(source: &SourceFile) -> bool {
    source.path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"agent-"))
}
