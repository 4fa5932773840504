//! Reads one file, record by record.

use std::collections::BTreeMap;
use std::path::PathBuf;

use annals_model::payload::{Foreign, ImportedFrom, SessionStarted, Source};
use annals_model::{Json, Payload, Timestamp};
use serde_json::Value;

use super::convert::Converter;
use super::parse::{Parsed, parse};
use super::state::State;
use super::{FORMAT, convert};
use crate::error::{Error, Result};
use crate::import::{ImportedEvent, Problem, Record, SourceFile};
use crate::lines::{Lines, Span, beginning};

/// Reads one session file. The same bytes always give the same events, in one go or in several.
#[derive(Debug)]
pub struct Importer {
    source: SourceFile,
    lines: Lines,
    cursor: u64,
    state: State,
    losses: BTreeMap<&'static str, u64>,
    unfinished: Option<Problem>,
}

impl Importer {
    /// Begins at the file's beginning. The log holds one event already: its `session_started`.
    ///
    /// # Errors
    /// [`Error::SourceNotFound`], [`Error::Io`].
    pub fn start(source: &SourceFile) -> Result<Self> {
        Self::resume(source, 0, &Json::default())
    }

    /// Goes on at `from`, where an earlier import stopped with `state`.
    ///
    /// # Errors
    /// [`Error::SourceNotFound`], [`Error::Io`].
    pub fn resume(source: &SourceFile, from: u64, state: &Json) -> Result<Self> {
        let fresh = State { next_seq: 1, compact_from: 1, ..State::default() };
        let state = serde_json::from_str::<Option<State>>(state.as_str()).ok().flatten().unwrap_or(fresh);
        Ok(Self {
            lines: Lines::open(&source.path, from)?,
            source: source.clone(),
            cursor: from,
            state,
            losses: BTreeMap::new(),
            unfinished: None,
        })
    }

    /// Line 0 of the session's log and its time, from the file's first records.
    ///
    /// # Errors
    /// [`Error::SourceNotFound`], [`Error::Io`].
    pub fn header(&self) -> Result<(Option<Timestamp>, SessionStarted)> {
        let bytes = beginning(&self.source.path, 256 * 1024)?;
        let records: Vec<Value> = bytes
            .split(|b| *b == b'\n')
            .filter_map(|line| match parse(line) {
                Parsed::Record(record, _) => Some(*record),
                _ => None,
            })
            .collect();
        let text = |record: &Value, pointer: &str| {
            record.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
        };
        let first = |pointer: &str| records.iter().find_map(|record| text(record, pointer));
        let model =
            records.iter().filter_map(|r| text(r, "/message/model")).find(|m| m != convert::SYNTHETIC);
        let ts = first("/timestamp").and_then(|t| Timestamp::parse(&t).ok());
        let started = SessionStarted {
            format: annals_model::FORMAT,
            workspace: first("/cwd"),
            agent: Some(FORMAT.to_owned()),
            provider: Some("anthropic".to_owned()),
            model,
            imported_from: Some(ImportedFrom {
                format: FORMAT.to_owned(),
                path: self.source.path.display().to_string(),
                session: first("/sessionId"),
            }),
            parent: self.source.parent.clone(),
            ..SessionStarted::default()
        };
        Ok((ts, started))
    }

    /// The next record; None at the end, and before a last line that is not finished.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn next_record(&mut self) -> Result<Option<Record>> {
        while let Some(span) = self.lines.next().map_err(|e| Error::io(&self.source.path, e))? {
            let bytes = self.lines.bytes();
            let parsed = if bytes.is_empty() && span.len > 0 {
                Parsed::Malformed(format!("a record of {} bytes is too long to read", span.len))
            } else {
                parse(bytes)
            };
            if let (Parsed::Malformed(detail), false) = (&parsed, span.whole) {
                // It may still be growing: the next import looks again.
                self.unfinished = Some(self.problem(&span, format!("unfinished last line: {detail}")));
                return Ok(None);
            }
            self.cursor = span.end();
            self.state.lines += 1;
            match parsed {
                Parsed::Blank => {}
                Parsed::Record(record, replaced) => {
                    if replaced {
                        self.lose("lone_surrogate");
                    }
                    return Ok(Some(self.convert(&span, &record)));
                }
                Parsed::Malformed(detail) => return Ok(Some(self.malformed(&span, detail))),
            }
        }
        Ok(None)
    }

    fn convert(&mut self, span: &Span, record: &Value) -> Record {
        let mut converter = Converter::new(&mut self.state, Source { at: span.at, len: span.len, id: None });
        converter.record(record);
        let (events, blobs, losses) = converter.finish();
        for loss in losses {
            self.lose(loss);
        }
        Record { at: span.at, len: span.len, line_number: self.state.lines, events, blobs, problem: None }
    }

    fn malformed(&mut self, span: &Span, detail: String) -> Record {
        let problem = self.problem(span, detail.clone());
        self.lose("malformed");
        self.state.next_seq += 1;
        let foreign = Foreign {
            format: FORMAT.to_owned(),
            kind: "malformed".to_owned(),
            problem: Some(detail),
            src: Source { at: span.at, len: span.len, id: None },
        };
        let turn = (self.state.turn > 0).then_some(self.state.turn);
        Record {
            at: span.at,
            len: span.len,
            line_number: self.state.lines,
            events: vec![ImportedEvent { ts: None, turn, payload: Payload::Foreign(foreign) }],
            blobs: Vec::new(),
            problem: Some(problem),
        }
    }

    fn problem(&self, span: &Span, detail: String) -> Problem {
        let path: PathBuf = self.source.path.clone();
        let line_number = self.state.lines.max(1) + u64::from(!span.whole && self.state.lines > 0);
        Problem { path, line_number, offset: span.at, detail }
    }

    fn lose(&mut self, kind: &'static str) {
        *self.losses.entry(kind).or_default() += 1;
    }

    /// Everything before this offset has been read.
    #[must_use]
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// What a later import must be given to go on.
    #[must_use]
    pub fn state(&self) -> Json {
        serde_json::to_value(&self.state).map(Json::from).unwrap_or_default()
    }

    /// What was lost, by kind.
    #[must_use]
    pub fn losses(&self) -> &BTreeMap<&'static str, u64> {
        &self.losses
    }

    /// The last line, when it is not finished.
    #[must_use]
    pub fn unfinished(&self) -> Option<&Problem> {
        self.unfinished.as_ref()
    }

    /// Tells which position the next event takes in the log, where it is not the one after the last.
    pub fn set_next_seq(&mut self, seq: u64) {
        self.state.go_to(seq);
    }
}
