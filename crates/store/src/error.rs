//! What can go wrong with a store.

use std::path::PathBuf;

use annals_log as log;
use annals_model::{InvalidId, SessionId};

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is no session id.
    #[error(transparent)]
    InvalidId(#[from] InvalidId),
    /// No session has this id or matches this text.
    #[error("no session {query:?}")]
    SessionNotFound {
        /// What was asked for.
        query: String,
        /// Ids that look like it.
        similar: Vec<SessionId>,
    },
    /// More than one session matches.
    #[error("{query:?} matches {} sessions", candidates.len())]
    Ambiguous {
        /// What was asked for.
        query: String,
        /// The sessions that match.
        candidates: Vec<SessionId>,
    },
    /// A session with this id exists already.
    #[error("session {id} exists already")]
    SessionExists {
        /// The id.
        id: SessionId,
    },
    /// Another process writes the session.
    #[error("session {id} is open in another process{}", holder.as_ref().map(|h| format!(" ({}, pid {} on {} since {})", h.program, h.pid, h.host, h.since)).unwrap_or_default())]
    SessionBusy {
        /// The session.
        id: SessionId,
        /// Who, as far as can be told.
        holder: Option<log::Holder>,
    },
    /// The session's log is damaged.
    #[error("session {id} is damaged: {} at line {}, byte {}", damage.kind, damage.line, damage.offset)]
    Corrupt {
        /// The session.
        id: SessionId,
        /// The log's file.
        path: PathBuf,
        /// The first damaged place.
        damage: log::Damage,
    },
    /// The session was written by a newer version.
    #[error("session {id} is in format {found}; this version knows up to {known}")]
    Newer {
        /// The session.
        id: SessionId,
        /// Its format.
        found: u64,
        /// The newest that is known.
        known: u32,
    },
    /// An event that can't be taken.
    #[error("{reason}")]
    InvalidEvent {
        /// What is wrong with it.
        reason: String,
    },
    /// The directory holds other things than sessions.
    #[error("{} is no session store: {reason}", path.display())]
    NotAStore {
        /// The directory.
        path: PathBuf,
        /// What is there instead.
        reason: &'static str,
    },
    /// The directory is on a network file system, where locks can't be relied on.
    #[error("{} is on a network file system ({kind}), where locks can't be relied on", path.display())]
    NetworkFileSystem {
        /// The directory.
        path: PathBuf,
        /// The file system.
        kind: &'static str,
    },
    /// Any other error of a session's log.
    #[error("session {id}: {source}")]
    Log {
        /// The session.
        id: SessionId,
        /// What the log says.
        source: log::Error,
    },
    /// The index can't be asked. The sessions themselves are not touched by it.
    #[error(transparent)]
    Index(#[from] annals_index::Error),
    /// A source can't be imported.
    #[error(transparent)]
    Import(#[from] annals_interop::Error),
    /// The system refused.
    #[error("can't {action} {}", path.display())]
    Io {
        /// What was tried, in words that follow "can't".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { action, path: path.into(), source }
    }

    /// An error of a session's log, under the name that it has here.
    pub(crate) fn from_log(id: &SessionId, error: log::Error) -> Self {
        let id = id.clone();
        match error {
            log::Error::NotFound { .. } | log::Error::NeverBegan { .. } => {
                Self::SessionNotFound { query: id.to_string(), similar: Vec::new() }
            }
            log::Error::AlreadyExists { .. } => Self::SessionExists { id },
            log::Error::Busy { holder, .. } => Self::SessionBusy { id, holder },
            log::Error::Corrupt { path, damage } => Self::Corrupt { id, path, damage },
            log::Error::Newer { found, known, .. } => Self::Newer { id, found, known },
            source => Self::Log { id, source },
        }
    }

    /// Its name, as scripts see it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::InvalidId(_) => "InvalidId",
            Self::SessionNotFound { .. } => "SessionNotFound",
            Self::Ambiguous { .. } => "Ambiguous",
            Self::SessionExists { .. } => "SessionExists",
            Self::SessionBusy { .. } => "SessionBusy",
            Self::Corrupt { .. } => "Corrupt",
            Self::Newer { .. } => "Newer",
            Self::InvalidEvent { .. } => "InvalidEvent",
            Self::NotAStore { .. } => "NotAStore",
            Self::NetworkFileSystem { .. } => "NetworkFileSystem",
            Self::Log { source, .. } => match source.kind() {
                log::ErrorKind::TooLong => "TooLong",
                log::ErrorKind::Poisoned => "Poisoned",
                log::ErrorKind::NoSpace => "NoSpace",
                log::ErrorKind::Denied => "Denied",
                _ => "Io",
            },
            Self::Import(error) => error.kind(),
            Self::Index(_) => "Index",
            Self::Io { source, .. } => match source.kind() {
                std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => "Denied",
                std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => "NoSpace",
                _ => "Io",
            },
        }
    }

    /// Whether the same call may succeed later without anything being repaired.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind(), "SessionBusy" | "NoSpace")
    }
}
