//! The view: what a model provider is sent, built from the state, valid by construction.
//!
//! The log accepts what happened; providers refuse what does not follow their rules. Here every call gets exactly one result in the right
//! place, what is empty is left out, signatures go only to the model family that made them, and calls left open by a crash are
//! closed in words the model understands. Nothing is executed and nothing in the log changes.
//!
//! [`check`] holds the providers' rules a second time, written against what is sent, for tests and for the doubtful.

mod anthropic;
pub mod check;
mod media;
mod names;
mod openai;
mod output;
mod steps;

use serde::Serialize;
use serde_json::Value;

use crate::fold::{Context, OpenCall};

/// Whose rules the messages must follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions, and what imitates them.
    OpenAi,
}

/// For whom a view is built.
#[derive(Debug, Clone)]
pub struct Target {
    /// Whose rules.
    pub provider: Provider,
    /// The model; its family decides who gets which signature.
    pub model: String,
    /// How much of one tool result is sent, in bytes. The whole stays in the log.
    pub max_output_bytes: usize,
}

impl Target {
    /// A tool result's share of the context: about 25,000 tokens.
    pub const DEFAULT_MAX_OUTPUT_BYTES: usize = 100_000;

    /// A target with the default limits.
    #[must_use]
    pub fn new(provider: Provider, model: &str) -> Self {
        let max_output_bytes = Self::DEFAULT_MAX_OUTPUT_BYTES;
        Self { provider, model: model.to_owned(), max_output_bytes }
    }
}

/// What a provider is sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct View {
    /// The messages, in the provider's own form.
    pub messages: Vec<Value>,
    /// The calls that were closed because they have no result.
    #[serde(skip)]
    pub closed: Vec<OpenCall>,
}

/// Builds the messages for a provider.
#[must_use]
pub fn messages(context: &Context, target: &Target) -> View {
    let steps = steps::steps(context, target);
    let messages = match target.provider {
        Provider::Anthropic => anthropic::messages(&steps, target),
        Provider::OpenAi => openai::messages(&steps),
    };
    View { messages, closed: context.open_calls() }
}

/// The family of a model: signatures and encrypted reasoning are good within it alone.
#[must_use]
pub fn model_family(model: &str) -> &str {
    // Routers prefix the maker's name: `anthropic/claude-…`, `us.anthropic.claude-…`.
    let name = model.rsplit('/').next().unwrap_or(model);
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    if name.contains("claude") {
        "claude"
    } else if starts(&["gpt", "o1", "o3", "o4", "chatgpt", "codex"]) {
        "openai"
    } else if starts(&["gemini"]) {
        "gemini"
    } else {
        name
    }
}

#[cfg(test)]
mod tests;
