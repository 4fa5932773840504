//! What model calls cost: token counts and money.

use serde::{Deserialize, Serialize};

/// The tokens of one model request. `input` excludes what the cache gave or took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens read at full price.
    pub input: u64,
    /// Tokens read from the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Tokens written to the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Tokens written by the model, thinking included.
    pub output: u64,
    /// Cost in millionths of a US dollar; absent when not priced, never zero for "unknown".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde asks for
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Usage {
    /// The size of the prompt: everything the model read.
    #[must_use]
    pub fn context(&self) -> u64 {
        self.input.saturating_add(self.cached).saturating_add(self.cache_write)
    }
}
