//! Imports: every canonical event names the record it was made from, and the records' raw bytes lie in blobs.

use serde::{Deserialize, Serialize};

use crate::json::Json;

/// The record of another agent's file that an event was made from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Source {
    /// Offset of the record in its file, in bytes.
    pub at: u64,
    /// Length of the record without its newline, in bytes.
    pub len: u64,
    /// The record's own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// The end of an import: what was read, where its bytes are kept, and where the next import goes on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SourceRecorded {
    /// The format, as `claude-code`.
    pub format: String,
    /// The file.
    pub path: String,
    /// Everything before this offset has been read.
    pub end: u64,
    /// BLAKE3 in hex of the file's first 4 KiB (or of all, when shorter than that) at the time.
    pub head: String,
    /// BLAKE3 in hex of the 4 KiB (or less) before `end`.
    pub tail: String,
    /// The file's size and modification time (milliseconds since the epoch) when it was read: equal ones need no look.
    pub size: u64,
    /// See `size`.
    pub mtime_ms: i64,
    /// The raw bytes read, in order.
    pub chunks: Vec<Chunk>,
    /// Records read so far, malformed ones included.
    pub records: u64,
    /// Malformed records so far.
    pub malformed: u64,
    /// What the reader must know to go on, in its own words.
    #[serde(default)]
    pub state: Json,
}

/// A run of a file's raw bytes, kept as a blob.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Chunk {
    /// Offset of its first byte in the file.
    pub at: u64,
    /// Its length.
    pub len: u64,
    /// BLAKE3 of its bytes in hex: the name of the blob.
    pub blob: String,
}

/// A record that has no meaning here, or could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Foreign {
    /// The format it belongs to.
    pub format: String,
    /// What it is called there; `malformed` when it could not be read.
    pub kind: String,
    /// What is wrong with it, when something is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Where its bytes are.
    pub src: Source,
}
