//! What can go wrong with a log.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use annals_model::Seq;

use crate::holder::Holder;
use crate::scan::Damage;

/// The result of a log operation.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the log. Cheap to clone: one failed commit is told to every append that waited for it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no log here.
    #[error("no log at {}", path.display())]
    NotFound {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// There is a file, but not one whole event in it: its creation was cut short and never acknowledged.
    #[error("{} holds no event: its creation never finished", path.display())]
    NeverBegan {
        /// The log's file.
        path: PathBuf,
    },
    /// A log is here already.
    #[error("a log exists already at {}", path.display())]
    AlreadyExists {
        /// Where.
        path: PathBuf,
    },
    /// Another writer holds the log.
    #[error("{} is being written by another process", path.display())]
    Busy {
        /// The log's directory.
        path: PathBuf,
        /// Who, as far as can be told.
        holder: Option<Holder>,
    },
    /// Acknowledged bytes are damaged; the log can be read around the damage, but not written.
    #[error("{} is damaged at line {}, byte {}", path.display(), damage.line, damage.offset)]
    Corrupt {
        /// The log's file.
        path: PathBuf,
        /// The first damaged place.
        damage: Damage,
    },
    /// The log is in a format that this version does not know.
    #[error("{} is in format {found}; this version knows up to {known}", path.display())]
    Newer {
        /// The log's file.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// The newest that is known.
        known: u32,
    },
    /// A line over [`annals_model::line::MAX_LINE_BYTES`]; nothing was written for it.
    #[error("an event of {len_bytes} bytes is over the limit of {limit_bytes}")]
    TooLong {
        /// Its length.
        len_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// A failed sync, or a failed write that could not be taken back: what the disk holds is unknown. Opening the log again
    /// is the only way on.
    #[error("{} can't be trusted since an earlier error; open it again", path.display())]
    Poisoned {
        /// The log's file.
        path: PathBuf,
        /// The last event that is durable.
        durable: Option<Seq>,
        /// What failed first.
        #[source]
        cause: Arc<io::Error>,
    },
    /// The log ends before the event that was asked for.
    #[error("{} has no event {asked}: it has 0 to {last}", path.display())]
    NoSuchEvent {
        /// The log's file.
        path: PathBuf,
        /// The event asked for.
        asked: Seq,
        /// The last event that is there.
        last: Seq,
    },
    /// The log was closed.
    #[error("{} was closed", path.display())]
    Closed {
        /// The log's file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("can't {action} {}", path.display())]
    Io {
        /// What was tried, in words that follow "can't".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        #[source]
        source: Arc<io::Error>,
    },
}

/// The kinds of [`Error`], for those who decide by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// [`Error::NotFound`].
    NotFound,
    /// [`Error::NeverBegan`].
    NeverBegan,
    /// [`Error::AlreadyExists`].
    AlreadyExists,
    /// [`Error::Busy`].
    Busy,
    /// [`Error::Corrupt`].
    Corrupt,
    /// [`Error::Newer`].
    Newer,
    /// [`Error::TooLong`].
    TooLong,
    /// [`Error::Poisoned`].
    Poisoned,
    /// [`Error::NoSuchEvent`].
    NoSuchEvent,
    /// [`Error::Closed`].
    Closed,
    /// [`Error::Io`] because the disk, a quota or a file-size limit is exhausted.
    NoSpace,
    /// [`Error::Io`] because of permissions or a read-only file system.
    Denied,
    /// Any other [`Error::Io`].
    Io,
}

impl Error {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { action, path: path.into(), source: Arc::new(source) }
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::NeverBegan { .. } => ErrorKind::NeverBegan,
            Self::AlreadyExists { .. } => ErrorKind::AlreadyExists,
            Self::Busy { .. } => ErrorKind::Busy,
            Self::Corrupt { .. } => ErrorKind::Corrupt,
            Self::Newer { .. } => ErrorKind::Newer,
            Self::TooLong { .. } => ErrorKind::TooLong,
            Self::Poisoned { .. } => ErrorKind::Poisoned,
            Self::NoSuchEvent { .. } => ErrorKind::NoSuchEvent,
            Self::Closed { .. } => ErrorKind::Closed,
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                    ErrorKind::NoSpace
                }
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::Denied,
                _ => ErrorKind::Io,
            },
        }
    }

    /// Whether the same call may succeed later without anything being repaired.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind(), ErrorKind::Busy | ErrorKind::NoSpace)
    }
}
