//! What can go wrong with a store.

use std::path::PathBuf;

use annals_log as log;
use annals_model::{InvalidId, Seq, SessionId};

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
    /// A process has the session open, and what was asked needs it closed.
    #[error("session {id} is open{}", holder.as_ref().map(|h| format!(" in {} (pid {} on {} since {})", h.program, h.pid, h.host, h.since)).unwrap_or_default())]
    SessionOpen {
        /// The session.
        id: SessionId,
        /// Who has it open, as far as can be told.
        holder: Option<log::Holder>,
    },
    /// The session is a snapshot: it is never continued, only branched from.
    #[error("session {id} is the snapshot {name:?}, which is never continued")]
    Frozen {
        /// The session.
        id: SessionId,
        /// The snapshot's name.
        name: String,
    },
    /// Another snapshot has the name.
    #[error("there is a snapshot {name:?} already")]
    SnapshotNameTaken {
        /// The name.
        name: String,
        /// The snapshot that has it.
        session: SessionId,
    },
    /// The text can't be a snapshot's name.
    #[error("{name:?} can't be a snapshot's name: {reason}")]
    InvalidName {
        /// The text.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// The session has no messages yet.
    #[error("session {id} has no messages yet; there is nothing to save")]
    NothingToSave {
        /// The session.
        id: SessionId,
    },
    /// A cut that is outside the log.
    #[error("session {id} has the events 0 to {last}; there is no event {asked}")]
    NoSuchEvent {
        /// The session.
        id: SessionId,
        /// The event that was asked for.
        asked: Seq,
        /// The last one that there is.
        last: Seq,
    },
    /// What was named is no prompt.
    #[error("{asked} is no prompt of session {id}")]
    NotRewindPoint {
        /// The session.
        id: SessionId,
        /// What was named.
        asked: String,
    },
    /// What was before the position was never logged.
    #[error("session {id} can't go back before event {boundary}: what came before it was not logged")]
    CantRewindConversation {
        /// The session.
        id: SessionId,
        /// The event from which on everything is logged.
        boundary: Seq,
    },
    /// A file that is no bundle, or not whole.
    #[error("not a whole bundle: {reason}")]
    Bundle {
        /// What is wrong with it.
        reason: String,
    },
    /// Where an export is written to fails.
    #[error("can't write the export")]
    Output {
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// A text that can't be searched for.
    #[error("can't search for that: {reason}")]
    InvalidQuery {
        /// Why not.
        reason: String,
    },
    /// A title without a character that shows.
    #[error("a title needs at least one character that shows")]
    EmptyTitle,
    /// A text that can't be a tag.
    #[error("{tag:?} can't be a tag")]
    InvalidTag {
        /// The text.
        tag: String,
    },
    /// Nothing in the trash is named so.
    #[error("nothing in the trash is named {query:?}")]
    NotInTrash {
        /// What was asked for.
        query: String,
    },
    /// No operation can be taken back.
    #[error("there is nothing to undo")]
    NothingToUndo,
    /// No operation has this number.
    #[error("there is no operation {number}")]
    NoSuchOperation {
        /// The number.
        number: Seq,
    },
    /// The operation can't be taken back.
    #[error("operation {number} can't be undone: {reason}")]
    CantUndo {
        /// Its number.
        number: Seq,
        /// Why not.
        reason: String,
    },
    /// The operations log can't be used.
    #[error("the operations log: {source}")]
    Operations {
        /// What the log says.
        source: log::Error,
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
            log::Error::NoSuchEvent { asked, last, .. } => Self::NoSuchEvent { id, asked, last },
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
            Self::SessionOpen { .. } => "SessionOpen",
            Self::Frozen { .. } => "Frozen",
            Self::SnapshotNameTaken { .. } => "SnapshotNameTaken",
            Self::InvalidName { .. } => "InvalidName",
            Self::NothingToSave { .. } => "NothingToSave",
            Self::NoSuchEvent { .. } => "NoSuchEvent",
            Self::NotRewindPoint { .. } => "NotRewindPoint",
            Self::CantRewindConversation { .. } => "CantRewindConversation",
            Self::InvalidQuery { .. } => "InvalidQuery",
            Self::Bundle { .. } => "Bundle",
            Self::EmptyTitle => "EmptyTitle",
            Self::InvalidTag { .. } => "InvalidTag",
            Self::NotInTrash { .. } => "NotInTrash",
            Self::NothingToUndo => "NothingToUndo",
            Self::NoSuchOperation { .. } => "NoSuchOperation",
            Self::CantUndo { .. } => "CantUndo",
            Self::Operations { source: log::Error::Busy { .. } } => "OperationsBusy",
            Self::Log { source, .. } | Self::Operations { source } => match source.kind() {
                log::ErrorKind::TooLong => "TooLong",
                log::ErrorKind::Poisoned => "Poisoned",
                log::ErrorKind::NoSpace => "NoSpace",
                log::ErrorKind::Denied => "Denied",
                _ => "Io",
            },
            Self::Import(error) => error.kind(),
            Self::Index(_) => "Index",
            Self::Io { source, .. } | Self::Output { source } => match source.kind() {
                std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => "Denied",
                std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => "NoSpace",
                _ => "Io",
            },
        }
    }

    /// Whether the same call may succeed later without anything being repaired.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind(), "SessionBusy" | "SessionOpen" | "OperationsBusy" | "NoSpace")
    }
}
