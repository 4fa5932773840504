//! The model's context: what it saw, with summaries in the place of what they stand for.
//!
//! INVARIANT: folding holds no content that a summary covers. Its place is remembered; when a revocation or a rewind uncovers it, it is
//! *cold* and has to be read from the log again ([`Context::cold`], [`Context::warm`]). So memory follows the live context, not
//! the log.

use std::collections::BTreeSet;

use serde::Serialize;

use super::branch::Branches;
use crate::event::{Event, Payload, Seq};
use crate::payload::{AssistantMessage, ToolCall, ToolResult, UserMessage};

/// One thing in the context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Item {
    /// A user message.
    User(UserMessage),
    /// An answer.
    Assistant(AssistantMessage),
    /// A tool call.
    Call(ToolCall),
    /// A tool began.
    Started(String),
    /// A result.
    Result(ToolResult),
    /// A summary of `from..=to`.
    Summary {
        /// First event that it stands for.
        from: Seq,
        /// Last event that it stands for.
        to: Seq,
        /// The summary.
        text: String,
    },
    /// Something whose content was let go because a summary covers it.
    Cold,
}

/// What is known of a call that has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The tool did not begin: safe to run.
    NotStarted,
    /// It may have run, in part or in whole: look before running it again.
    OutcomeUnknown,
}

/// A call that has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenCall {
    /// Its position.
    pub seq: Seq,
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What is known.
    pub fate: Fate,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Held {
    item: Item,
    /// Position of the summary that covers it.
    covered_by: Option<Seq>,
}

/// The model's context.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Context {
    items: Branches<Held>,
    /// Summaries that were revoked.
    revoked: BTreeSet<Seq>,
}

impl Context {
    /// Takes in the next event.
    pub fn apply(&mut self, event: &Event) {
        let item = match &event.payload {
            Payload::Rewound(rewound) => {
                self.items.rewind(event.seq, rewound.to_seq);
                return self.cover();
            }
            Payload::RewindUndone(_) => {
                self.items.undo();
                return self.cover();
            }
            Payload::CondensationRevoked(revoked) => {
                self.revoked.insert(revoked.seq);
                return self.cover();
            }
            Payload::Condensation(c) => summary(event.seq, c.from, c.to, &c.summary),
            Payload::Compaction(c) => summary(event.seq, c.from, c.to, &c.summary),
            payload => content(payload),
        };
        let Some(item) = item else { return };
        let is_summary = matches!(item, Item::Summary { .. });
        self.items.push(event.seq, Held { item, covered_by: None });
        if is_summary {
            self.cover();
        }
    }

    /// Works out anew which items the summaries cover. Rare: once per summary, revocation or rewind.
    fn cover(&mut self) {
        let mut standing: Vec<(Seq, Seq, Seq)> = Vec::new();
        for held in self.items.live() {
            let Item::Summary { from, to, .. } = held.item.item else { continue };
            let fits = standing.iter().all(|(_, f, t)| to < *f || *t < from || (from <= *f && *t <= to));
            // One that overlaps an earlier one in part would hide half of it: it stays in the log and is not used.
            if fits && !self.revoked.contains(&held.seq) {
                standing.push((held.seq, from, to));
            }
        }
        let used: BTreeSet<Seq> = standing.iter().map(|(seq, ..)| *seq).collect();
        for held in self.items.all_mut() {
            let is_summary = matches!(held.item.item, Item::Summary { .. });
            // The last summary that contains it wins; a summary is contained when its whole range is.
            let (low, high) = match held.item.item {
                Item::Summary { from, to, .. } => (from, to),
                _ => (held.seq, held.seq),
            };
            let by = standing
                .iter()
                .rev()
                .find(|(seq, f, t)| *f <= low && high <= *t && (!is_summary || *seq > held.seq))
                .map(|(seq, ..)| *seq);
            held.item.covered_by = match by {
                None if is_summary && !used.contains(&held.seq) => Some(held.seq),
                by => by,
            };
            if by.is_some() && !is_summary && held.live {
                held.item.item = Item::Cold;
            }
        }
    }

    /// What the model is to see, in order: a summary stands where its range began.
    #[must_use]
    pub fn items(&self) -> Vec<(Seq, &Item)> {
        let visible = self.items.live().filter(|held| held.item.covered_by.is_none());
        let mut items: Vec<(Seq, Seq, &Item)> = visible
            .map(|held| match &held.item.item {
                summary @ Item::Summary { from, .. } => (*from, held.seq, summary),
                item => (held.seq, held.seq, item),
            })
            .collect();
        items.sort_by_key(|(place, seq, _)| (*place, *seq));
        items.into_iter().map(|(_, seq, item)| (seq, item)).collect()
    }

    /// Positions of events whose content is wanted again. Empty but after a revocation or a rewind.
    #[must_use]
    pub fn cold(&self) -> Vec<Seq> {
        let cold = self.items.live().filter(|h| h.item.covered_by.is_none() && h.item.item == Item::Cold);
        cold.map(|held| held.seq).collect()
    }

    /// Gives content back to an event that [`Context::cold`] named.
    pub fn warm(&mut self, event: &Event) {
        let Ok(index) = self.items.all().binary_search_by_key(&event.seq, |held| held.seq) else { return };
        if let Some(held) = self.items.all_mut().get_mut(index)
            && held.item.item == Item::Cold
            && let Some(item) = content(&event.payload)
        {
            held.item.item = item;
        }
    }

    /// The calls that have no result, oldest first.
    #[must_use]
    pub fn open_calls(&self) -> Vec<OpenCall> {
        let mut open: Vec<OpenCall> = Vec::new();
        for (seq, item) in self.items() {
            match item {
                Item::Call(call) => {
                    let fate = if call.deferred { Fate::NotStarted } else { Fate::OutcomeUnknown };
                    open.push(OpenCall { seq, id: call.id.clone(), name: call.name.clone(), fate });
                }
                Item::Started(id) => {
                    open.iter_mut().filter(|c| c.id == *id).for_each(|c| c.fate = Fate::OutcomeUnknown);
                }
                Item::Result(result) => {
                    if let Some(index) = open.iter().position(|c| c.id == result.id) {
                        open.remove(index);
                    }
                }
                _ => {}
            }
        }
        open
    }
}

fn summary(seq: Seq, from: Seq, to: Seq, text: &str) -> Option<Item> {
    // A range that is none, or that reaches beyond its own event, stands for nothing.
    (from <= to && to < seq).then(|| Item::Summary { from, to, text: text.to_owned() })
}

fn content(payload: &Payload) -> Option<Item> {
    match payload {
        Payload::UserMessage(m) => Some(Item::User(m.clone())),
        Payload::AssistantMessage(m) => Some(Item::Assistant(m.clone())),
        Payload::ToolCall(c) => Some(Item::Call(c.clone())),
        Payload::ToolStarted(s) => Some(Item::Started(s.id.clone())),
        Payload::ToolResult(r) => Some(Item::Result(r.clone())),
        _ => None,
    }
}
