//! Building a copy of a session beside the sessions, and giving it its name there.
//!
//! ```text
//! <home>/tmp/copy-<id>/   the log's beginning, the blobs linked      everything synced
//!        │ rename
//! <home>/sessions/<id>/                                              from here on it is a session
//! ```
//!
//! INVARIANT: what has a name among the sessions is whole. A copy is built while the operations log is locked, so that whoever has that
//! lock knows what is left in `tmp` for somebody's who died.

use std::path::{Path, PathBuf};

use annals_log::{Forked, Forking};
use annals_model::payload::{SessionStarted, Titled};
use annals_model::{Draft, FORMAT, Payload, Seq, SessionId};

use crate::blobs;
use crate::error::{Error, Result};
use crate::home::tighten;
use crate::operations::Operating;
use crate::reading::Found;
use crate::store::Store;

/// What a copy's directory is called while it is built.
const PREFIX: &str = "copy-";

/// A copy to be made.
#[derive(Debug)]
pub(crate) struct Copying<'a> {
    /// The session that it is made of.
    pub(crate) from: &'a SessionId,
    /// The last event taken over.
    pub(crate) upto: Seq,
    /// Its line 0.
    pub(crate) started: SessionStarted,
    /// A title of its own.
    pub(crate) title: Option<String>,
}

impl Store {
    pub(crate) fn building_site(&self, id: &SessionId) -> PathBuf {
        self.shared.home.tmp().join(format!("{PREFIX}{id}"))
    }

    /// Line 0 of a session.
    pub(crate) fn first_line(&self, id: &SessionId) -> Result<SessionStarted> {
        let path = self.session_dir(id).join(annals_log::LOG_FILE);
        match self.reader(id)?.next_found()? {
            Some(Found::Event(event)) => match event.payload {
                Payload::SessionStarted(started) => Ok(started),
                _ => Err(Error::InvalidEvent { reason: format!("session {id} does not begin as a session") }),
            },
            Some(Found::Gap(damage)) => Err(Error::Corrupt { id: id.clone(), path, damage }),
            Some(Found::Unfit { error, .. }) => Err(Error::InvalidEvent {
                reason: format!("the first event of session {id} can't be read: {}", error.source),
            }),
            None => Err(Error::SessionNotFound { query: id.to_string(), similar: Vec::new() }),
        }
    }

    /// Builds a copy. Durable when this returns, under a name that nobody looks for.
    pub(crate) fn build(
        &self,
        _locked: &Operating<'_>,
        id: &SessionId,
        copying: &Copying<'_>,
    ) -> Result<Forked> {
        let tmp = self.shared.home.tmp();
        self.disk().create_dirs(&tmp).map_err(|e| Error::io("create", &tmp, e))?;
        tighten(&tmp)?;
        let (from, site) = (self.session_dir(copying.from), self.building_site(id));
        let now = self.shared.options.clock.now();
        let invalid = |e: serde_json::Error| Error::InvalidEvent { reason: e.to_string() };
        let started = SessionStarted { format: FORMAT, ..copying.started.clone() };
        let data = serde_json::to_string(&started).map_err(invalid)?;
        let first = Draft { ts: now, turn: None, kind: "session_started", data: &data };
        let title = copying.title.as_ref().map(|title| Titled { title: title.clone(), ..Titled::default() });
        let title = title.map(|titled| serde_json::to_string(&titled)).transpose().map_err(invalid)?;
        let extra = title.iter().map(|data| Draft { ts: now, turn: None, kind: "titled", data });
        let extra: Vec<Draft<'_>> = extra.collect();
        let forking = Forking { first, upto: Some(copying.upto), extra: &extra };
        let forked = annals_log::fork(self.disk(), &from, &site, &forking)
            .map_err(|e| Error::from_log(copying.from, e))?;
        // After the log: whatever its events refer to was there before they were.
        blobs::link_all(self.disk(), &from, &site)?;
        Ok(forked)
    }

    /// Gives a built copy its name among the sessions. Durable when this returns.
    pub(crate) fn put_in_place(&self, id: &SessionId) -> Result<()> {
        self.move_dir(&self.building_site(id), &self.session_dir(id))
    }

    /// Removes what there is of a copy that never got its name.
    pub(crate) fn remove_half_made(&self, id: &SessionId) -> Result<()> {
        self.remove_tree(&self.building_site(id))
    }

    /// Removes copies that never got their names. Nobody builds one now: the operations log is locked.
    pub(crate) fn remove_all_half_made(&self, _locked: &Operating<'_>) -> Result<()> {
        let entries = self.disk().list(&self.shared.home.tmp()).unwrap_or_default();
        let is_ours = |path: &Path| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(PREFIX))
        };
        entries.iter().filter(|path| is_ours(path)).try_for_each(|path| self.remove_tree(path))
    }
}
