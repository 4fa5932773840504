//! What can go wrong with a source as a whole. What is wrong with one record is a [`crate::Problem`] and stops nothing.

use std::path::{Path, PathBuf};

/// The result of reading a source.
pub type Result<T> = std::result::Result<T, Error>;

/// A source that can't be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system refused.
    #[error("can't read {}", path.display())]
    Io {
        /// What was to be read.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// There is nothing at the path.
    #[error("{} does not exist", path.display())]
    SourceNotFound {
        /// The path.
        path: PathBuf,
    },
    /// The file is of another format.
    #[error("{} is not a {format} session", path.display())]
    NotThisFormat {
        /// The file.
        path: PathBuf,
        /// The format that was expected, as `claude-code`.
        format: &'static str,
    },
    /// The state of an earlier import can't be used: read the file from its start.
    #[error("the state of the last import of {} can't be used", path.display())]
    StaleState {
        /// The file.
        path: PathBuf,
        /// What is wrong with the state, when it does not parse.
        #[source]
        source: Option<serde_json::Error>,
    },
}

impl Error {
    /// Its name, as scripts see it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Io { .. } => "Io",
            Self::SourceNotFound { .. } => "SourceNotFound",
            Self::NotThisFormat { .. } => "NotThisFormat",
            Self::StaleState { .. } => "StaleState",
        }
    }

    /// Whether the same call may succeed later without a change to the source.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == std::io::ErrorKind::Interrupted)
    }

    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        if source.kind() == std::io::ErrorKind::NotFound {
            Self::SourceNotFound { path: path.to_owned() }
        } else {
            Self::Io { path: path.to_owned(), source }
        }
    }
}
