//! What can go wrong with a source.

use std::path::PathBuf;

/// The result of reading a source.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of a source as a whole. What is wrong with single records is no error: see [`crate::Problem`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing at this path.
    #[error("nothing at {}", path.display())]
    SourceNotFound {
        /// The path.
        path: PathBuf,
    },
    /// The file is in another format.
    #[error("{} is no {format} session", path.display())]
    NotThisFormat {
        /// The file.
        path: PathBuf,
        /// The format that was expected.
        format: &'static str,
    },
    /// The system refused.
    #[error("can't read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            std::io::ErrorKind::NotFound => Self::SourceNotFound { path },
            _ => Self::Io { path, source },
        }
    }

    /// Its name, as scripts see it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SourceNotFound { .. } => "SourceNotFound",
            Self::NotThisFormat { .. } => "NotThisFormat",
            Self::Io { .. } => "Io",
        }
    }
}
