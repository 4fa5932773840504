//! The model's context: what it saw, with summaries in the place of what they stand for.
//!
//! INVARIANT: folding holds no content that a summary covers. Its place is remembered; when a revocation or a rewind uncovers it, it is
//! *cold* and has to be read from the log again ([`Context::cold`], [`Context::warm`]). So memory follows the live context, not
//! the log.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::branch::Branches;
use super::calls::{OpenCall, Paired, Pairs};
use crate::event::{Event, Payload, Seq};
use crate::payload::{AssistantMessage, MessageKind, ToolCall, ToolResult, UserMessage};

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
    Cold(Trace),
}

/// What is remembered of an item whose content was let go: as much as pairing calls with results needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Trace {
    /// A prompt.
    Prompt,
    /// A call with this id.
    Call(String),
    /// The tool of the call with this id began.
    Started(String),
    /// A result of the call with this id.
    Result(String),
    /// Anything else.
    Other,
}

impl Item {
    fn trace(&self) -> Trace {
        match self {
            Self::User(message) if message.kind == MessageKind::Prompt => Trace::Prompt,
            Self::Call(call) => Trace::Call(call.id.clone()),
            Self::Started(id) => Trace::Started(id.clone()),
            Self::Result(result) => Trace::Result(result.id.clone()),
            Self::Cold(trace) => trace.clone(),
            Self::User(_) | Self::Assistant(_) | Self::Summary { .. } => Trace::Other,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Held {
    item: Item,
    /// Whether a summary stands for it; of a summary, whether it is not shown.
    covered: bool,
}

/// The model's context.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Context {
    items: Branches<Held>,
    /// Summaries that were revoked, at the place of the revocation: a rewind takes that back too.
    revoked: Branches<Seq>,
}

impl Context {
    /// Takes in the next event.
    pub fn apply(&mut self, event: &Event) {
        let item = match &event.payload {
            Payload::Rewound(rewound) => {
                self.items.rewind(event.seq, rewound.to_seq);
                self.revoked.rewind(event.seq, rewound.to_seq);
                return self.cover(0);
            }
            Payload::RewindUndone(_) => {
                self.items.undo();
                self.revoked.undo();
                return self.cover(0);
            }
            // One that names the future must not undo what is not there yet.
            Payload::CondensationRevoked(revoked) if revoked.seq < event.seq => {
                self.revoked.push(event.seq, revoked.seq);
                return self.cover(0);
            }
            Payload::Condensation(c) => summary(event.seq, c.from, c.to, &c.summary),
            Payload::Compaction(c) => summary(event.seq, c.from, c.to, &c.summary),
            payload => content(payload),
        };
        let Some(item) = item else { return };
        let since = if let Item::Summary { from, .. } = item { Some(from) } else { None };
        self.items.push(event.seq, Held { item, covered: false });
        if let Some(since) = since {
            self.cover(since);
        }
    }

    /// Works out anew which items from `since` on the summaries cover. Rare: once per summary, revocation or rewind.
    fn cover(&mut self, since: Seq) {
        let shown = self.shown();
        let from = self.items.all().partition_point(|held| held.seq < since);
        for held in self.items.all_mut().iter_mut().skip(from) {
            let place = shown.range(..=held.seq).next_back();
            held.item.covered = match held.item.item {
                // One that is not shown is undone, overlaps another in part, or lies in a later one's range.
                Item::Summary { from, .. } => shown.get(&from).is_none_or(|(_, seq)| *seq != held.seq),
                _ => place.is_some_and(|(_, (to, _))| held.seq <= *to),
            };
            let is_warm = !matches!(held.item.item, Item::Summary { .. } | Item::Cold(_));
            if held.item.covered && held.live && is_warm {
                held.item.item = Item::Cold(held.item.item.trace());
            }
        }
    }

    /// The summaries that are shown: by the beginning of their range its end, and their position. The ranges are disjoint.
    fn shown(&self) -> BTreeMap<Seq, (Seq, Seq)> {
        let mut shown: BTreeMap<Seq, (Seq, Seq)> = BTreeMap::new();
        let revoked: BTreeSet<Seq> = self.revoked.live().map(|revocation| revocation.item).collect();
        for held in self.items.live().filter(|held| !revoked.contains(&held.seq)) {
            let Item::Summary { from, to, .. } = held.item.item else { continue };
            let inside: Vec<(Seq, Seq)> = shown.range(from..=to).map(|(f, (t, _))| (*f, *t)).collect();
            let before = shown.range(..from).next_back();
            // One that overlaps an earlier one in part would hide half of it: it stays in the log and is not used.
            if before.is_some_and(|(_, (t, _))| *t >= from) || inside.last().is_some_and(|(_, t)| *t > to) {
                continue;
            }
            for (f, _) in inside {
                shown.remove(&f);
            }
            shown.insert(from, (to, held.seq));
        }
        shown
    }

    /// What the model is to see, in order: a summary stands where its range began.
    #[must_use]
    pub fn items(&self) -> Vec<(Seq, &Item)> {
        let visible = self.items.live().filter(|held| !held.item.covered);
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
        let cold = self.items.live().filter(|h| !h.item.covered && matches!(h.item.item, Item::Cold(_)));
        cold.map(|held| held.seq).collect()
    }

    /// Gives content back to an event that [`Context::cold`] named.
    pub fn warm(&mut self, event: &Event) {
        let Ok(index) = self.items.all().binary_search_by_key(&event.seq, |held| held.seq) else { return };
        if let Some(held) = self.items.all_mut().get_mut(index)
            && matches!(held.item.item, Item::Cold(_))
            && let Some(item) = content(&event.payload)
        {
            held.item.item = item;
        }
    }

    /// The calls that have no result, oldest first; also those of earlier turns.
    #[must_use]
    pub fn open_calls(&self) -> Vec<OpenCall> {
        let open = self.calls().into_iter().filter(|paired| paired.end.is_none());
        open.filter_map(|paired| {
            let ToolCall { id, name, .. } = paired.call?;
            Some(OpenCall { seq: paired.seq, id: id.clone(), name: name.clone(), fate: paired.fate() })
        })
        .collect()
    }

    /// The live calls and what became of them, in the order of their events.
    pub(crate) fn calls(&self) -> Vec<Paired<'_>> {
        let mut pairs = Pairs::default();
        for held in self.items.all() {
            if held.live {
                pairs.live(held.seq, &held.item.item);
            } else {
                pairs.dropped(&held.item.item);
            }
        }
        pairs.finish()
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
