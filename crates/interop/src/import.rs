//! What every reader gives: sources, records, the events made from them, and what could not be read.

use std::path::PathBuf;

use annals_model::payload::ParentCall;
use annals_model::{Payload, SessionId, Timestamp};

/// A session file of another agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub size: u64,
    /// Its modification time, in milliseconds since the epoch.
    pub mtime_ms: i64,
    /// The id that its session has over there, or one made from the path.
    pub suggested: SessionId,
    /// Another id, for when the suggested one is taken by a different source.
    pub alternative: SessionId,
    /// The session that this sub-agent works for.
    pub parent: Option<ParentCall>,
}

/// One record of a source, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its offset in the file.
    pub at: u64,
    /// Its length without the newline.
    pub len: u64,
    /// Its line, from 1.
    pub line_number: u64,
    /// The events made from it, at least one.
    pub events: Vec<ImportedEvent>,
    /// Images and attachments that the events refer to.
    pub blobs: Vec<Blob>,
    /// What is wrong with it.
    pub problem: Option<Problem>,
}

/// An event made from a record.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedEvent {
    /// When it happened, if the record says so.
    pub ts: Option<Timestamp>,
    /// The turn, counted by prompts.
    pub turn: Option<u64>,
    /// What happened.
    pub payload: Payload,
}

/// Bytes that an event refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// BLAKE3 of the bytes, in hex.
    pub name: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A record that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line_number: u64,
    /// The record's offset.
    pub offset: u64,
    /// What is wrong.
    pub detail: String,
}
