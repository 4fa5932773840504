//! What the log's writer says of the log itself.

use serde::{Deserialize, Serialize};

/// A torn tail, left by a crash, was cut off before anything new was written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Repaired {
    /// How many bytes were cut off.
    pub dropped_bytes: u64,
    /// The file beside the log that keeps them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_in: Option<String>,
}

/// BLAKE3 over the bytes from the start of the previous `sealed` line (or from the end of line 0) to the start of this one.
///
/// A seal thus vouches for the seal before it, and never for line 0, so that the seals of a fork hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sealed {
    /// How many bytes it covers.
    pub len_bytes: u64,
    /// The digest in hex; keyed when `key` names one.
    pub blake3: String,
    /// The id of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The writer closed cleanly. The last line until the session is opened for writing again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Closed {}

/// An event was here; damage made it unreadable. A salvage puts this in its place so that the numbers of the others stay.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lost {}
