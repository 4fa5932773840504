//! Changes of names that are not durable yet, and what a power cut makes of them.
//!
//! A change is durable once every directory that it changes was synced; that is two for a move between directories. A sync makes what it
//! makes durable so in the order of the changes: it brings along each earlier one that a later one builds on, as a journal does.
//!
//! INVARIANT: a power cut leaves a move's old place or its new one, whole: never both, never neither.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::{Entries, Entry, Names, Place};

/// A change of one directory, or of two.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Link(Place, Entry),
    Unlink(Place, Entry),
    Rename { from: Place, to: Place, entry: Entry, replaced: Option<Entry> },
}

impl Change {
    /// The names that it makes or takes away.
    fn places(&self) -> impl Iterator<Item = &Place> {
        let (first, second) = match self {
            Self::Link(place, _) | Self::Unlink(place, _) => (place, None),
            Self::Rename { from, to, .. } => (from, Some(to)),
        };
        std::iter::once(first).chain(second)
    }

    /// The directories whose names it changes.
    pub(super) fn dirs(&self) -> impl Iterator<Item = u64> {
        self.places().map(|(dir, _)| *dir)
    }

    /// The directory that it took away, which was empty by then.
    fn takes_away(&self) -> Option<u64> {
        match self {
            Self::Unlink(_, Entry::Dir(dir)) | Self::Rename { replaced: Some(Entry::Dir(dir)), .. } => {
                Some(*dir)
            }
            _ => None,
        }
    }

    /// Whether this later change can't be without the earlier one.
    fn builds_on(&self, earlier: &Self) -> bool {
        let same_name = self.places().any(|place| earlier.places().any(|before| before == place));
        same_name || self.takes_away().is_some_and(|gone| earlier.dirs().any(|dir| dir == gone))
    }

    /// Whether it can be made where other changes were lost.
    fn applies(&self, entries: &Entries) -> bool {
        let reached = entries.reached();
        let made = self.dirs().all(|dir| reached.contains(&dir));
        let (target, there) = match self {
            Self::Link(place, _) | Self::Unlink(place, _) => (place, true),
            Self::Rename { from, to, entry, .. } => (to, entries.get(from) == Some(*entry)),
        };
        let emptied = !matches!(entries.get(target), Some(Entry::Dir(dir)) if !entries.is_empty(dir));
        made && emptied && there && self.keeps_in_reach(entries)
    }

    /// Whether a directory that it moves does not come to lie within itself, because a move before was lost.
    fn keeps_in_reach(&self, entries: &Entries) -> bool {
        let Self::Rename { entry: Entry::Dir(moved), .. } = self else { return true };
        let mut then = entries.clone();
        self.apply(&mut then);
        then.reached().contains(moved)
    }

    /// Whether it puts something else where a lost move's file or directory still is.
    fn takes_the_old_name(&self, lost: &Self, entries: &Entries) -> bool {
        let Self::Rename { from, entry, .. } = lost else { return false };
        match self {
            Self::Link(place, _) | Self::Rename { to: place, .. } => {
                place == from && entries.get(from) == Some(*entry)
            }
            Self::Unlink(..) => false,
        }
    }

    pub(super) fn apply(&self, entries: &mut Entries) {
        let unlink = |entries: &mut Entries, place: &Place, entry: &Entry| {
            if entries.get(place) == Some(*entry) {
                entries.0.remove(place);
            }
        };
        match self {
            Self::Link(place, entry) => {
                entries.0.insert(place.clone(), *entry);
            }
            Self::Unlink(place, entry) => unlink(entries, place, entry),
            Self::Rename { from, to, entry, .. } => {
                unlink(entries, from, entry);
                entries.0.insert(to.clone(), *entry);
            }
        }
    }
}

/// A change and the directories that must still be synced for it.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    change: Change,
    waits_for: BTreeSet<u64>,
}

impl Pending {
    pub(super) fn new(change: Change) -> Self {
        let waits_for = change.dirs().collect();
        Self { change, waits_for }
    }
}

impl Names {
    pub(in super::super) fn sync_dir(&mut self, path: &Path) -> io::Result<()> {
        let dir = self.dir(path)?;
        for pending in &mut self.pending {
            pending.waits_for.remove(&dir);
        }
        for later in (0..self.pending.len()).rev() {
            let (before, rest) = self.pending.split_at_mut(later);
            if rest[0].waits_for.is_empty() {
                let needed = before.iter_mut().filter(|earlier| rest[0].change.builds_on(&earlier.change));
                needed.for_each(|earlier| earlier.waits_for.clear());
            }
        }
        let durable = &mut self.durable;
        self.pending.retain(|pending| {
            let done = pending.waits_for.is_empty();
            if done {
                pending.change.apply(durable);
            }
            !done
        });
        Ok(())
    }

    /// The names that a power cut may leave; `keep` decides each open choice.
    pub(in super::super) fn crash(&self, keep: &mut dyn FnMut() -> bool) -> Self {
        let mut entries = self.durable.clone();
        let mut lost: Vec<&Change> = Vec::new();
        for Pending { change, .. } in &self.pending {
            // Where what it builds on was lost there is nothing to choose: a move's old name can't be given away before it is free.
            let freed = lost.iter().all(|lost| !change.takes_the_old_name(lost, &entries));
            if freed && change.applies(&entries) && keep() {
                change.apply(&mut entries);
            } else {
                lost.push(change);
            }
        }
        let reached = entries.reached();
        entries.0.retain(|(dir, _), _| reached.contains(dir));
        let mut after = self.clone();
        let now = after.tick();
        after.changed.extend(self.pending.iter().flat_map(|p| p.change.dirs()).map(|dir| (dir, now)));
        after.pending.clear();
        after.visible = entries.clone();
        after.durable = entries;
        after
    }
}
