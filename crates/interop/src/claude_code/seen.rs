//! The ids of the records read so far, to know a record that comes twice.
//!
//! Not part of the state that travels through the log (it would grow with every import): a resumed import reads it from
//! the file again, which costs one pass that only steps over values.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use super::state::hash;

/// How many ids are remembered, the first ones of the file. Beyond, a duplicate is taken as new and counted as unchecked.
const MAX_IDS: usize = 1 << 20;

#[derive(Debug, Default)]
pub(crate) struct Seen(HashSet<u64, BuildHasherDefault<AsIs>>);

/// What is known of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    New,
    Duplicate,
    Unchecked,
}

impl Seen {
    pub(crate) fn see(&mut self, id: &str) -> Sight {
        let hash = hash(id);
        if self.0.contains(&hash) {
            Sight::Duplicate
        } else if self.0.len() < MAX_IDS {
            self.0.insert(hash);
            Sight::New
        } else {
            Sight::Unchecked
        }
    }

    pub(crate) fn knows(&self, id: &str) -> bool {
        self.0.contains(&hash(id))
    }
}

/// The keys are hashes already.
#[derive(Debug, Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
