//! What can go wrong with an index. None of it loses anything: the logs are the truth.

use std::path::PathBuf;

/// The result of asking the index.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the index.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The feed does not begin where the index stands: another process was here first. Read again from the index's cursor.
    #[error("the index of session {session} has moved on")]
    Stale {
        /// The session's id.
        session: String,
    },
    /// The file is no index of this version, or damaged.
    #[error("the index can't be read: {reason}")]
    Unusable {
        /// Why.
        reason: String,
    },
    /// The file, or the directory it is in, can't be written.
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
    /// SQLite says no.
    #[error("the index: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A folded record can't be read; the session is folded anew.
    #[error("a folded record can't be read")]
    Fold(#[from] serde_json::Error),
}

impl Error {
    /// Whether the index itself is broken and best made anew, in contrast to one that is busy, read-only or on a full disk.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, SchemaChanged, TypeMismatch};
        match self {
            Self::Unusable { .. } | Self::Fold(_) => true,
            Self::Sqlite(rusqlite::Error::SqliteFailure(error, message)) => {
                matches!(error.code, DatabaseCorrupt | NotADatabase | SchemaChanged | TypeMismatch)
                    || message.as_deref().is_some_and(|m| {
                        m.contains("no such table") || m.contains("no such column") || m.contains("malformed")
                    })
            }
            Self::Sqlite(
                rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::SqlInputError { .. },
            ) => true,
            _ => false,
        }
    }

    /// Whether it can't be written now: it can only be read, the disk is full, or another process holds it for too long.
    #[must_use]
    pub fn is_unwritable(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked, DiskFull, SystemIoFailure};
        match self {
            Self::Sqlite(rusqlite::Error::SqliteFailure(error, _)) => {
                self.is_read_only()
                    || matches!(error.code, DatabaseBusy | DatabaseLocked | DiskFull | SystemIoFailure)
            }
            Self::Io { .. } => true,
            _ => false,
        }
    }

    /// Whether the file or its directory can only be read.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        use rusqlite::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
        match self {
            Self::Sqlite(rusqlite::Error::SqliteFailure(error, _)) => {
                matches!(error.code, CannotOpen | PermissionDenied | ReadOnly)
            }
            Self::Io { source, .. } => matches!(
                source.kind(),
                std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem
            ),
            _ => false,
        }
    }
}
