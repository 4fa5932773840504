//! What is asked of a simulated disk, and how a call is made to fail.

use std::path::PathBuf;

/// What is asked of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Call {
    Open,
    Read,
    Write,
    Sync,
    SetLen,
    Rename,
    Remove,
    SyncDir,
    CreateDirs,
    RemoveDir,
    HardLink,
}

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An input/output error; nothing was done.
    Error,
    /// No space; nothing was done.
    NoSpace,
    /// A write that takes this many bytes and says so.
    Short(usize),
    /// A write that takes this many bytes and then fails.
    Partial(usize),
    /// Interrupted by a signal; nothing was done.
    Interrupted,
    /// From this call on everything fails, as if the process had died before it.
    Stop,
}

/// Which call fails, counted from 0 over the calls of this kind (or over all but reads and opens for reading).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultAt {
    /// Of which kind; any that changes something when None.
    pub call: Option<Call>,
    /// The how-manieth.
    pub n: u64,
    /// How.
    pub fault: Fault,
}

/// One recorded call, whether or not it succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// What was asked.
    pub call: Call,
    /// Of which file or directory: the name it was opened by, for a rename the new name.
    pub path: PathBuf,
}
