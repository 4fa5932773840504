//! Imports: other agents' session files become sessions, once, and grow when their files grow.
//!
//! Each import of a file ends with a `source_recorded` event: how far it was read, hashes to know the file again, where its raw bytes are
//! kept, and what the reader must know to go on.
//!
//! ```text
//! session_started │ events of records … │ source_recorded │ more … │ source_recorded
//!                   ▲ raw bytes in blobs before them        ▲ a cut here goes on from the record before, skipping what is there
//! ```
//!
//! INVARIANT: what an event refers to is stored before the event; an import that was cut short goes on after the last event that reached
//! the log, because the same bytes always give the same events.
//!
//! Files that the index knows as they are now are passed over without a look at their sessions; what was imported is taken into the index
//! at the end, all of it together.
//!
//! INVARIANT: where an import goes on is read from the log while its lock is held. What is looked at before that only decides whether
//! there is anything to do.

use std::collections::BTreeMap;
use std::path::PathBuf;

use annals_interop::claude_code::{Found, Importer};
use annals_interop::{Problem, SourceFile};
use annals_log::Durability;
use annals_model::SessionId;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::operations::Action;
use crate::session::SessionWriter;
use crate::store::{NewSession, Store};

mod fit;
mod indexed;
mod past;
mod run;

use indexed::Plan;
use past::{Past, Standing};
use run::{Run, Stop};

/// How many sessions one file may become by being rewritten again and again.
const MAX_REWRITES: u32 = 100;

/// A kind of long work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Files of other agents become sessions.
    Importing,
    /// What lists show is read from logs.
    Listing,
    /// What searches ask is made from logs.
    Indexing,
}

/// Told how far an import, or the reading of logs into the index, is.
pub trait Progress {
    /// Another kind of work begins; what was told before is done.
    fn phase(&mut self, _phase: Phase) {}
    /// Before the first file. What was told before is done.
    fn started(&mut self, files: u64, bytes: u64);
    /// This many more bytes are done.
    fn advanced(&mut self, bytes: u64);
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn started(&mut self, _files: u64, _bytes: u64) {}
    fn advanced(&mut self, _bytes: u64) {}
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
    /// Files whose sessions are in the trash: they stay there.
    pub trashed: u64,
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

    fn problem(&mut self, problem: Problem) {
        if self.problems.len() < Self::MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }
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

/// What became of importing a file under one id.
enum Outcome {
    Imported(ImportedSession),
    Unchanged,
    /// The id is another source's, or this one's before it was rewritten.
    Taken,
}

/// Tells a file's progress, never more than its size.
pub(crate) struct Meter<'a> {
    progress: &'a mut dyn Progress,
    left: u64,
}

impl Meter<'_> {
    fn advance(&mut self, bytes: u64) {
        let bytes = bytes.min(self.left);
        self.left -= bytes;
        if bytes > 0 {
            self.progress.advanced(bytes);
        }
    }
}

impl Store {
    /// Imports the files that were found. One bad file costs one file.
    ///
    /// # Durability
    /// Each session is durable before the next file is begun.
    pub fn import(&self, found: &Found, progress: &mut dyn Progress) -> Imported {
        let mut imported = Imported { found: found.files.len() as u64, ..Imported::default() };
        let Plan { todo, numbers } = self.plan(found, &mut imported);
        progress.phase(Phase::Importing);
        progress.started(todo.len() as u64, todo.iter().map(|f| f.size).sum());
        let mut new = Vec::new();
        for source in todo {
            let is_new = !self.contains(&source.suggested);
            let mut meter = Meter { progress, left: source.size };
            let number = numbers.get(&source.suggested).copied();
            match self.import_file(source, number, &mut imported, &mut meter) {
                Ok(Some(session)) => {
                    imported.imported += 1;
                    if is_new || session.id != source.suggested {
                        new.push(session.id.clone());
                    }
                    imported.sessions.push(session);
                }
                Ok(None) => imported.unchanged += 1,
                Err(error) => imported.failed.push((source.path.clone(), error)),
            }
            meter.advance(u64::MAX);
        }
        if imported.imported > 0 {
            self.take_in(&imported, progress);
            let grown = imported.imported - new.len() as u64;
            let action = Action::Import { new, grown, from: found.root.display().to_string() };
            if let Err(error) = self.note_operation(action) {
                self.shared.indexer.note(format!("the import can't be undone: {error}"));
            }
        }
        imported
    }

    fn import_file(
        &self,
        source: &SourceFile,
        number: Option<u64>,
        report: &mut Imported,
        meter: &mut Meter<'_>,
    ) -> Result<Option<ImportedSession>> {
        for id in candidates(source) {
            let number = number.filter(|_| id == source.suggested);
            match self.import_as(&id, source, number, report, meter)? {
                Outcome::Imported(session) => return Ok(Some(session)),
                Outcome::Unchanged => return Ok(None),
                Outcome::Taken => {}
            }
        }
        Err(Error::SessionExists { id: source.alternative.clone() })
    }

    fn import_as(
        &self,
        id: &SessionId,
        source: &SourceFile,
        number: Option<u64>,
        report: &mut Imported,
        meter: &mut Meter<'_>,
    ) -> Result<Outcome> {
        // A look without the lock: most files have nothing new, and then nothing is locked, written or created.
        let mut past = if self.contains(id) { Past::read(self, id)? } else { Some(Past::default()) };
        let mut importer = match Past::stand(past.as_ref(), source)? {
            Standing::Current => return Ok(Outcome::Unchanged),
            Standing::Taken => return Ok(Outcome::Taken),
            Standing::From(at, state) => Importer::resume(source, at, &state)?,
        };
        if importer.next_record()?.is_none() {
            importer.unfinished().cloned().into_iter().for_each(|problem| report.problem(problem));
            return Ok(Outcome::Unchanged);
        }
        let (writer, created) = self.writer_for(id, &importer)?;
        if !created {
            // Another import may have been here meanwhile, and a torn tail is gone that was taken for events.
            past = Past::read(self, id)?;
        }
        let outcome = match Past::stand(past.as_ref(), source)? {
            Standing::Current => Outcome::Unchanged,
            Standing::Taken => Outcome::Taken,
            Standing::From(at, state) => {
                let importer = Importer::resume(source, at, &state)?;
                let number = number.filter(|_| created);
                match Run::new(&writer, source, importer, past.unwrap_or_default()).go(number, report, meter)
                {
                    Ok(session) => Outcome::Imported(session),
                    Err(Stop::Disagrees) => Outcome::Taken,
                    Err(Stop::Failed(error)) => return Err(error),
                }
            }
        };
        writer.close_alone()?;
        Ok(outcome)
    }

    /// The session's writer, and whether the session is new.
    fn writer_for(&self, id: &SessionId, importer: &Importer) -> Result<(SessionWriter, bool)> {
        match self.open_writer_with(id, Durability::Os) {
            Ok((writer, _)) => return Ok((writer, false)),
            // Not there, or a creation that never finished: begun anew.
            Err(Error::SessionNotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        let (ts, started) = (importer.began()?, importer.header()?);
        let new = NewSession { id: Some(id.clone()), ts, started };
        match self.create_with(new, Durability::Os) {
            Ok(writer) => Ok((writer, true)),
            Err(Error::SessionExists { .. }) => {
                self.open_writer_with(id, Durability::Os).map(|(writer, _)| (writer, false))
            }
            Err(error) => Err(error),
        }
    }
}

/// The ids that a source may have here, the preferred one first.
fn candidates(source: &SourceFile) -> impl Iterator<Item = SessionId> {
    let rewritten = source.alternative.clone();
    let numbered = (2..=MAX_REWRITES).filter_map(move |n| SessionId::parse(&format!("{rewritten}.{n}")).ok());
    [source.suggested.clone(), source.alternative.clone()].into_iter().chain(numbered)
}
