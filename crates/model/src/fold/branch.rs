//! Rewinds: which items are live. Nothing is destroyed, so that a rewind can be taken back.

use serde::Serialize;

use crate::event::Seq;

/// Items in the order of their events, each live or on a dropped branch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Branches<T> {
    items: Vec<Branched<T>>,
    /// Rewinds that were not taken back, oldest first.
    rewinds: Vec<Rewind>,
}

/// An item with its event's position.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Branched<T> {
    pub(crate) seq: Seq,
    pub(crate) live: bool,
    pub(crate) item: T,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Rewind {
    at: Seq,
    /// Indices of the items that it dropped.
    dropped: Vec<usize>,
}

impl<T> Default for Branches<T> {
    fn default() -> Self {
        Self { items: Vec::new(), rewinds: Vec::new() }
    }
}

impl<T> Branches<T> {
    pub(crate) fn push(&mut self, seq: Seq, item: T) {
        self.items.push(Branched { seq, live: true, item });
    }

    /// Drops what is live from `to_seq` on. `at` is the rewind's own position.
    pub(crate) fn rewind(&mut self, at: Seq, to_seq: Seq) {
        let from = self.items.partition_point(|i| i.seq < to_seq);
        let mut dropped = Vec::new();
        for (index, item) in self.items.iter_mut().enumerate().skip(from) {
            if item.live {
                item.live = false;
                dropped.push(index);
            }
        }
        self.rewinds.push(Rewind { at, dropped });
    }

    /// Takes the last rewind back: what came after it is dropped, what it dropped is live again.
    pub(crate) fn undo(&mut self) {
        let Some(rewind) = self.rewinds.pop() else { return };
        let from = self.items.partition_point(|i| i.seq < rewind.at);
        for item in self.items.iter_mut().skip(from) {
            item.live = false;
        }
        for index in rewind.dropped {
            if let Some(item) = self.items.get_mut(index) {
                item.live = true;
            }
        }
    }

    pub(crate) fn all(&self) -> &[Branched<T>] {
        &self.items
    }

    pub(crate) fn all_mut(&mut self) -> &mut [Branched<T>] {
        &mut self.items
    }

    pub(crate) fn live(&self) -> impl DoubleEndedIterator<Item = &Branched<T>> {
        self.items.iter().filter(|i| i.live)
    }
}
