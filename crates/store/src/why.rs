//! Why something is listed, or is not.

use annals_model::{SessionId, Timestamp};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::import::Quiet;
use crate::index::{Reach, sweep};
use crate::list::Summary;
use crate::operations::Operation;
use crate::store::Store;

/// What is known of an id, or of a file of another agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Why {
    /// It is listed.
    Listed {
        /// The session.
        session: Box<Summary>,
    },
    /// It is there and not shown.
    Hidden {
        /// The session.
        id: SessionId,
        /// `unfinished`, `unreadable`, `damaged`.
        reason: String,
    },
    /// It is in the trash.
    Trashed {
        /// The session.
        id: SessionId,
        /// Since when.
        deleted: Timestamp,
    },
    /// It is gone; this operation was the last that named it.
    Gone {
        /// The session.
        id: SessionId,
        /// The operation.
        operation: Box<Operation>,
    },
    /// It is a file that sessions were imported from.
    Source {
        /// The sessions.
        sessions: Vec<SessionId>,
        /// The file's size when it was last imported.
        size: u64,
        /// Its modification time then, in milliseconds since the epoch.
        mtime_ms: i64,
        /// Whether it is another one now: the next import reads on.
        changed: bool,
    },
    /// It is a directory, or was one, that sessions belong to.
    Workspace {
        /// How many sessions.
        sessions: u64,
    },
    /// Nothing is known of it.
    Unknown,
}

impl Store {
    /// Why a session, a file of another agent or a workspace is listed or not. `path` is the text as an absolute path.
    ///
    /// # Errors
    /// [`Error::Ambiguous`], [`Error::Index`], [`Error::Io`].
    pub fn why(&self, query: &str, path: &std::path::Path) -> Result<Why> {
        match self.resolve(query) {
            Ok(id) => return self.why_session(id),
            Err(Error::SessionNotFound { .. } | Error::InvalidId(_)) => {}
            Err(other) => return Err(other),
        }
        let shared = &self.shared;
        let text = path.display().to_string();
        let known = shared.indexer.ask(|index| {
            sweep(shared, index, Reach::Names, &mut Quiet)?;
            Ok(index.sessions_of_source(&text)?)
        })?;
        if let Some((_, size, mtime_ms)) = known.first().cloned() {
            let now = std::fs::metadata(path).ok().map(|found| found.len());
            let sessions = known.into_iter().map(|(id, _, _)| id).collect();
            return Ok(Why::Source { sessions, size, mtime_ms, changed: now != Some(size) });
        }
        let sessions = self.in_workspace(&text)?.len() as u64;
        if sessions > 0 {
            return Ok(Why::Workspace { sessions });
        }
        let in_trash = self.trash()?.into_iter().find(|entry| entry.session.as_str() == query);
        if let Some(entry) = in_trash {
            return Ok(Why::Trashed { id: entry.session, deleted: entry.deleted });
        }
        let mut operations = self.operations()?;
        operations.retain(|operation| operation.action.sessions().iter().any(|id| id.as_str() == query));
        match (operations.pop(), SessionId::parse(query)) {
            (Some(operation), Ok(id)) => Ok(Why::Gone { id, operation: Box::new(operation) }),
            _ => Ok(Why::Unknown),
        }
    }

    fn why_session(&self, id: SessionId) -> Result<Why> {
        let shared = &self.shared;
        let reason = shared.indexer.ask(|index| {
            crate::index::facts(shared, index, &id)?;
            Ok(index.hidden_reason(&id)?)
        })?;
        match reason {
            Some(reason) => Ok(Why::Hidden { id, reason }),
            None => Ok(Why::Listed { session: Box::new(self.summary(&id)?) }),
        }
    }
}
