//! What a search for sessions yields: files in a stable order, and what was passed over and why.

use std::fmt;
use std::path::PathBuf;

use annals_model::SessionId;
use annals_model::payload::ParentCall;

/// What a search may know of the machine: libraries never read the environment by themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// The value of `CLAUDE_CONFIG_DIR`, when set and not empty.
    pub claude_config_dir: Option<PathBuf>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
}

/// A session file that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Where it lies.
    pub path: PathBuf,
    /// Its size in bytes when it was found.
    pub size: u64,
    /// Its modification time, in milliseconds since the epoch.
    pub mtime_ms: i64,
    /// The id that its session should get.
    pub suggested: SessionId,
    /// The id to take when another file's session has the suggested one.
    pub alternative: SessionId,
    /// The call that it works for, when it is a sub-agent's file.
    pub parent: Option<ParentCall>,
}

/// Something that looked like a session file but is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Where it lies.
    pub path: PathBuf,
    /// Why it was passed over.
    pub reason: SkipReason,
}

/// Why something was passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SkipReason {
    /// It holds no bytes.
    Empty,
    /// It is of another format.
    NotThisFormat,
    /// It can't be read.
    Unreadable,
    /// It is a link, a pipe or another thing that is no plain file.
    NotAFile,
    /// The search ended here: too deep, or too many entries.
    TooMuch,
}

impl SkipReason {
    /// The reason, for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::NotThisFormat => "another format",
            Self::Unreadable => "unreadable",
            Self::NotAFile => "not a plain file",
            Self::TooMuch => "too deep, or too many files",
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a search found. Parents come before their sub-agents; otherwise in the order of the paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Where it was looked.
    pub root: PathBuf,
    /// The session files.
    pub files: Vec<SourceFile>,
    /// What was passed over.
    pub skipped: Vec<Skipped>,
}
