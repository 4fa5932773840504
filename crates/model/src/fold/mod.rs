//! The fold: the pure function from events to state.
//!
//! ```text
//! events ──→ Meta        what a list shows: title, times, counts, usage, status
//!        ├─→ Transcript  what people typed and what was finally answered
//!        └─→ Context     what the model saw: messages, calls, results, summaries in the place of what they stand for
//! ```
//!
//! No clock, no randomness, no call to anything: the same log gives the same state for ever, and folding a prefix and then the rest
//! is folding it all. Every part can be folded alone.

mod activity;
mod branch;
mod calls;
mod context;
mod live;
mod meta;
mod transcript;

pub use activity::Status;
pub use calls::{Fate, OpenCall};
pub use context::{Context, Item, Trace};
pub use live::Live;
pub use meta::{Meta, UsageTotals};
pub use transcript::{Entry, Role, Transcript};

pub(crate) use calls::{End, Paired};

use serde::Serialize;

use crate::event::Event;

/// The state of a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct State {
    /// What a list shows.
    pub meta: Meta,
    /// What people said and were answered.
    pub transcript: Transcript,
    /// What the model saw.
    pub context: Context,
}

impl State {
    /// Takes in the next event.
    pub fn apply(&mut self, event: &Event) {
        self.meta.apply(event);
        self.transcript.apply(event);
        self.context.apply(event);
    }

    /// The calls that have no result, oldest first.
    #[must_use]
    pub fn open_calls(&self) -> Vec<OpenCall> {
        self.context.open_calls()
    }
}

#[cfg(test)]
pub(crate) mod tests;
