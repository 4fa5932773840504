//! A simulated disk.
//!
//! Of each file it knows what is durable and what was done since the last sync; of each directory, which names are durable. A power cut
//! ([`SimDisk::crash`]) leaves the durable part and any subset of the rest:
//!
//! - of unsynced writes, any subset of their 512-byte sectors, in any order;
//! - of a grown file, any length in between, with zeros where data did not land;
//! - of an unsynced truncation, the old length or the new one;
//! - of names created, renamed or removed since their directory was synced, each or none; a rename is one change, also that of a
//!   directory with all that is in it, and is durable once both directories were synced;
//! - of the times of changes, those that went with the last synced change of a file's length.
//!
//! After a failed sync the pages count as clean, as on Linux: asking again makes nothing durable; only writing again does. Until the
//! next good sync of the file a power cut may find them on the disk or not; behind it they are lost, the worse of the two.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

mod calls;
mod crash;
mod fault;
mod inode;
mod names;

pub use fault::{Call, Fault, FaultAt, Operation};
pub use inode::SECTOR_BYTES;

use inode::Inode;
use names::{Entry, Names};

#[derive(Debug, Default)]
struct State {
    inodes: BTreeMap<u64, Inode>,
    names: Names,
    /// Which inode each open handle stands for, and which handle holds each locked inode.
    handles: BTreeMap<u64, u64>,
    locks: BTreeMap<u64, u64>,
    next_handle: u64,
    counts: BTreeMap<Call, u64>,
    changing: u64,
    bytes_read: u64,
    bytes_written: u64,
    operations: Option<Vec<Operation>>,
    fault: Option<FaultAt>,
    stopped: bool,
    capacity: Option<usize>,
}

/// The disk. Clones are the same disk.
#[derive(Clone, Default)]
pub struct SimDisk(Arc<Mutex<State>>);

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimDisk")
    }
}

impl SimDisk {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Makes one call fail. Counting begins now.
    pub fn fail(&self, fault: FaultAt) {
        let mut state = self.state();
        state.counts.clear();
        state.changing = 0;
        state.fault = Some(fault);
    }

    /// Lets everything succeed again.
    pub fn heal(&self) {
        let mut state = self.state();
        state.fault = None;
        state.stopped = false;
    }

    /// Bounds the bytes of all files together. A write takes what still fits; the next one fails.
    pub fn set_capacity(&self, bytes: Option<usize>) {
        self.state().capacity = bytes;
    }

    /// How many calls of a kind were made.
    #[must_use]
    pub fn count(&self, call: Call) -> u64 {
        self.state().counts.get(&call).copied().unwrap_or(0)
    }

    /// How many calls were made that change something.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.state().changing
    }

    /// How many bytes were read.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.state().bytes_read
    }

    /// How many bytes were written.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.state().bytes_written
    }

    /// Sets all counts to zero.
    pub fn reset_counts(&self) {
        let mut state = self.state();
        state.counts.clear();
        state.changing = 0;
        state.bytes_read = 0;
        state.bytes_written = 0;
    }

    /// Records the calls from now on, beginning anew.
    pub fn record(&self) {
        self.state().operations = Some(Vec::new());
    }

    /// The calls since [`SimDisk::record`], in their order.
    #[must_use]
    pub fn operations(&self) -> Vec<Operation> {
        self.state().operations.clone().unwrap_or_default()
    }

    /// A file's bytes as programs see them.
    #[must_use]
    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        match state.names.get(path).ok()? {
            Entry::File(inode) => state.inodes.get(&inode).map(|i| i.bytes().to_vec()),
            Entry::Dir(_) => None,
        }
    }

    /// Replaces a file's bytes, durably: damage from outside.
    pub fn damage(&self, path: &Path, bytes: &[u8]) {
        let mut state = self.state();
        let Ok(Entry::File(inode)) = state.names.get(path) else { panic!("a file to damage") };
        let now = state.names.tick();
        state.inodes.insert(inode, Inode::settled(bytes.to_vec(), now));
    }
}
