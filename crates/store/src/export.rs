//! Exports for people: Markdown and HTML.

use std::io::Write;

use annals_export::{Header, Options, Report};
use annals_model::event::Event;
use annals_model::fold::Live;
use annals_model::{SessionId, Timestamp};

use crate::error::{Error, Result};
use crate::reading::{EventReader, Found};
use crate::store::Store;

/// A format for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Document {
    /// Markdown.
    Markdown,
    /// One page of HTML that needs nothing else.
    Html,
}

impl Store {
    /// Writes a session for people to read: prompts, answers, each call with its arguments and result. Thinking and dropped branches are left
    /// out. Secrets are masked unless `mask` is false; what it can't know as a secret it can't mask. `time` writes a time for people.
    ///
    /// The log is read twice and never held; damaged places are shown as such.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::Log`]; [`Error::Output`] when `out` fails.
    pub fn export(
        &self,
        id: &SessionId,
        document: Document,
        mask: bool,
        time: &dyn Fn(Timestamp) -> String,
        out: &mut dyn Write,
    ) -> Result<Report> {
        let mut live = Live::default();
        let mut reader = self.read(id)?;
        while let Some(found) = reader.next_found()? {
            if let Found::Event(event) = found {
                live.apply(&event);
            }
        }
        let header = self.header(id)?;
        let options = Options { mask: mask.then(annals_export::Masker::standard), time };
        let mut reader = self.read(id)?;
        let mut failed = None;
        let mut events = || next(&mut reader, &mut failed);
        let report = match document {
            Document::Markdown => annals_export::markdown(&header, &live, &mut events, &options, out),
            Document::Html => annals_export::html(&header, &live, &mut events, &options, out),
        };
        match failed {
            Some(error) => Err(error),
            None => report.map_err(|source| Error::Output { source }),
        }
    }

    fn header(&self, id: &SessionId) -> Result<Header> {
        let summary = self.summary(id)?;
        let source = match (&summary.source, &summary.from) {
            (Some(format), _) => Some(format!("imported from {format}")),
            (None, Some(from)) => Some(format!("copied from {} behind event {}", from.session, from.seq)),
            (None, None) => None,
        };
        Ok(Header {
            conversation_id: summary.conversation_id,
            title: summary.title,
            workspace: summary.workspace,
            started: summary.created,
            source,
            model: summary.model,
            agent: summary.agent,
            ..Header::new(id.clone())
        })
    }
}

/// The next event; an error ends it and is kept.
fn next(reader: &mut EventReader, failed: &mut Option<Error>) -> Option<Event> {
    loop {
        match reader.next_found() {
            Ok(Some(Found::Event(event))) => return Some(event),
            // Their positions are missing in what is given, which is shown.
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(error) => {
                *failed = Some(error);
                return None;
            }
        }
    }
}
