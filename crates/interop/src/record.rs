//! What reading one record yields: events, blobs, and what is wrong with it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use annals_model::{Payload, Timestamp};

/// How many problems are kept in full; the others are counted.
pub const MAX_PROBLEMS: usize = 100;

/// One record of a source and what it means. A record yields at least one event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Record {
    /// Offset of its first byte in the file.
    pub at: u64,
    /// Its length in bytes, without what separates it from the next.
    pub len: u64,
    /// Its line in the file, from 1.
    pub line_number: u64,
    /// What it means, in order.
    pub events: Vec<ImportedEvent>,
    /// The bytes that the events name by their hash.
    pub blobs: Vec<Blob>,
    /// What is wrong with it. Its event is then a `foreign` one of the kind `malformed`.
    pub problem: Option<Problem>,
}

/// An event to be logged.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedEvent {
    /// When it happened, when the source says so.
    pub ts: Option<Timestamp>,
    /// The turn that it belongs to, from 1; none before the first prompt.
    pub turn: Option<u64>,
    /// What happened.
    pub payload: Payload,
}

/// Bytes that an event names: an image or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// BLAKE3 of the bytes, in hex.
    pub name: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Blob {
    /// Takes bytes as a blob.
    #[must_use]
    pub fn of(bytes: Vec<u8>) -> Self {
        Self { name: blake3::hash(&bytes).to_hex().to_string(), bytes }
    }
}

/// What is wrong with a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A stable name: `malformed`, `line_too_long`, `unterminated`.
    pub kind: &'static str,
    /// The file.
    pub path: PathBuf,
    /// Its line in the file, from 1.
    pub line_number: u64,
    /// Offset of the record in its file, in bytes.
    pub offset: u64,
    /// What is wrong, for people.
    pub detail: String,
}

/// The problems of one import: the first [`MAX_PROBLEMS`] in full, and how many there were.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Problems {
    /// The first ones.
    pub first: Vec<Problem>,
    /// How many there were.
    pub total: u64,
}

/// What an import reports besides its records.
#[derive(Debug, Clone, Default)]
pub(crate) struct Report {
    pub(crate) losses: BTreeMap<&'static str, u64>,
    pub(crate) problems: Problems,
}

impl Report {
    pub(crate) fn lose(&mut self, kind: &'static str) {
        self.lose_many(kind, 1);
    }

    pub(crate) fn lose_many(&mut self, kind: &'static str, count: u64) {
        if count > 0 {
            *self.losses.entry(kind).or_default() += count;
        }
    }

    pub(crate) fn problem(&mut self, problem: Problem) {
        self.problems.total += 1;
        if self.problems.first.len() < MAX_PROBLEMS {
            self.problems.first.push(problem);
        }
    }
}
