//! Tools: calls, results, and the files that they changed.

use serde::{Deserialize, Serialize};

use super::{Attachment, Source};
use crate::json::Json;

/// The model asks for a tool. Logged before anything happens.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolCall {
    /// The call's id, unique in its session.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub input: Json,
    /// The recorder promises a `tool_started` before the tool runs. Without the promise a call that has no result has an
    /// unknown outcome: nobody could tell whether it ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
    /// The provider's response id that it came in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// Where it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<Source>,
}

/// The tool begins.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolStarted {
    /// The call's id.
    pub id: String,
}

/// What the tool gave back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call's id.
    pub id: String,
    /// Text as a JSON string, or whatever the tool returned.
    pub output: Json,
    /// Whether it failed.
    #[serde(default)]
    pub is_error: bool,
    /// How long it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// BLAKE3 in hex of the whole output, when `output` is only its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Images and files that came with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Where it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<Source>,
}

/// A turn changed these files: their states before and after, as blobs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FilesChanged {
    /// The files.
    pub files: Vec<FileChange>,
    /// Where it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<Source>,
}

/// One file's change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FileChange {
    /// The path as the tool named it.
    pub path: String,
    /// Blob before; absent when the file did not exist or its bytes were not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Blob after; absent when the file was deleted or its bytes were not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}
