//! What a store is given from outside: place, disk, clock, randomness.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use annals_log::Durability;
use annals_log::disk::{Disk, OsDisk};
use annals_model::Clock;

use crate::index::Indexing;

/// Where random bytes come from.
pub trait Random: Send + Sync {
    /// Four random bytes, enough to tell the sessions of one second apart.
    fn four(&self) -> [u8; 4];
}

/// What stays the same of a project when its directory is moved or made anew.
pub trait Projects: Send + Sync {
    /// The identity of the project that a directory belongs to: the same text in every copy of it. None when it has none.
    fn of(&self, workspace: &str) -> Option<String>;
}

/// No directory belongs to a project.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProjects;

impl Projects for NoProjects {
    fn of(&self, _workspace: &str) -> Option<String> {
        None
    }
}

/// Options of a store.
#[derive(Clone)]
pub struct StoreOptions {
    /// The data directory.
    pub home: PathBuf,
    /// The file system.
    pub disk: Arc<dyn Disk>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of random bytes.
    pub random: Arc<dyn Random>,
    /// What tells projects apart.
    pub projects: Arc<dyn Projects>,
    /// When appends are acknowledged.
    pub durability: Durability,
    /// The program's name, for those who find a session busy.
    pub program: String,
    /// Whether a network file system is accepted.
    pub allow_network_fs: bool,
    /// Where the index is kept.
    pub indexing: Indexing,
}

impl StoreOptions {
    /// The real disk, strict durability.
    #[must_use]
    pub fn new(home: PathBuf, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        Self {
            home,
            disk: Arc::new(OsDisk),
            clock,
            random,
            projects: Arc::new(NoProjects),
            durability: Durability::Strict,
            program: "annals".to_owned(),
            allow_network_fs: false,
            indexing: Indexing::OnDisk,
        }
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreOptions")
            .field("home", &self.home)
            .field("durability", &self.durability)
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}
