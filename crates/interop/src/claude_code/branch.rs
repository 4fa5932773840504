//! Branches: which records go back to an earlier one, so that what came after it is no longer live.
//!
//! Claude Code links every record to its parent, and most links that skip something are no rewinds: parallel tool results
//! belong to different records of one response, hooks and progress hang between, a compaction starts a new root. A rewind
//! is told only where a record that a person caused goes back over conversation of another response.
//!
//! INVARIANT: where that can't be told soundly, history stays linear: nothing is hidden on a guess.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::state::hash;

/// How many records of the chain are remembered.
const RECENT: usize = 256;

/// How many turns are remembered by the record that they began after.
const TURNS: usize = 1024;

/// How many preserved records of a compaction may stand for the leaf.
const ALIASES: usize = 64;

/// The parent of a root.
const ROOT: u64 = 0;

/// What a record of the chain is to the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Hooks, attachments, progress, context: no conversation, goes nowhere.
    Aside,
    /// Put in by the program: no conversation, but may be the first record after a rewind.
    Context,
    /// Typed, or caused from outside: may go back.
    Person,
    /// A part of a response, or a result that belongs to one.
    Model,
    /// The start of a compaction: a root by design.
    Boundary,
    /// A compaction's summary.
    Summary,
}

/// A record of the chain, as it comes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Link<'a> {
    pub(crate) uuid: Option<&'a str>,
    /// None: the record does not say. `Some(None)`: it is a root.
    pub(crate) parent: Option<Option<&'a str>>,
    /// The response: the message's id. Empty for those that only belong to one through their parent.
    pub(crate) response: Option<&'a str>,
    /// For a tool's result: the record that called it.
    pub(crate) caller: Option<&'a str>,
    pub(crate) session: Option<&'a str>,
}

/// What to do before a record's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Linear,
    /// The live history ends before this position.
    Rewind(u64),
    /// A branch may be here; it can't be told.
    Unclear,
    /// The parent was never seen.
    Orphan,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Branches {
    recent: VecDeque<Known>,
    turns: VecDeque<Turn>,
    aliases: Vec<u64>,
    leaf: u64,
    session: u64,
    /// The file links its records at all; one whose records are all roots says nothing by that.
    linked: bool,
}

/// A record of the chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "(u64, u64, u64, u64, u8)", into = "(u64, u64, u64, u64, u8)")]
struct Known {
    uuid: u64,
    /// Positions of its events, `from..next`.
    from: u64,
    next: u64,
    /// Its response, 0 for none.
    group: u64,
    conversation: bool,
    /// A rewind left it behind.
    dead: bool,
}

impl From<(u64, u64, u64, u64, u8)> for Known {
    fn from((uuid, from, next, group, flags): (u64, u64, u64, u64, u8)) -> Self {
        Self { uuid, from, next, group, conversation: flags & 1 != 0, dead: flags & 2 != 0 }
    }
}

impl From<Known> for (u64, u64, u64, u64, u8) {
    fn from(known: Known) -> Self {
        let flags = u8::from(known.conversation) | u8::from(known.dead) << 1;
        (known.uuid, known.from, known.next, known.group, flags)
    }
}

/// A turn: the hash of the record that it began after, the position where it begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Turn(u64, u64);

impl Branches {
    /// Judges a record before its events. `next` is the position of its first event; `seen` knows all ids of the file.
    pub(crate) fn judge(
        &self,
        link: &Link<'_>,
        role: Role,
        next: u64,
        seen: impl Fn(&str) -> bool,
    ) -> Verdict {
        let Some(parent) = link.parent else { return Verdict::Linear };
        if self.leaf == 0 || matches!(role, Role::Aside | Role::Boundary | Role::Summary) {
            return Verdict::Linear;
        }
        let at = parent.map_or(ROOT, hash);
        if at == self.leaf || self.aliases.contains(&at) {
            return Verdict::Linear;
        }
        if at == ROOT && (!self.linked || self.session != link.session.map_or(0, hash)) {
            // A second session's root in one file, or a file that links nothing.
            return if self.linked { Verdict::Unclear } else { Verdict::Linear };
        }
        // The program goes back only where a person could: to where a turn began.
        let goes_back = role == Role::Person || self.turns.iter().any(|turn| turn.0 == at);
        if role == Role::Context && !goes_back {
            return Verdict::Linear;
        }
        let goes_back = goes_back && role != Role::Model;
        let group = self.group(link, at);
        match self.recent.iter().rposition(|known| known.uuid == at) {
            Some(place) => self.judge_recent(place, group, goes_back, next),
            None => match self.turns.iter().find(|turn| turn.0 == at) {
                Some(turn) if goes_back => Verdict::Rewind(turn.1),
                _ if at == ROOT => self.judge_root(group),
                _ if parent.is_some_and(seen) => Verdict::Unclear,
                _ => Verdict::Orphan,
            },
        }
    }

    fn judge_root(&self, group: u64) -> Verdict {
        // A copy of a response that is already here may start a root of its own.
        let copy = group != 0 && self.recent.iter().any(|known| known.group == group);
        if copy { Verdict::Linear } else { Verdict::Unclear }
    }

    fn judge_recent(&self, place: usize, group: u64, goes_back: bool, next: u64) -> Verdict {
        let Some(parent) = self.recent.get(place) else { return Verdict::Linear };
        let ours = |known: &Known| known.group != 0 && (known.group == parent.group || known.group == group);
        let mut to = parent.next;
        let mut skips = false;
        for known in self.recent.iter().skip(place + 1).filter(|known| !known.dead) {
            if known.conversation && !ours(known) {
                skips = true;
                break;
            }
            if known.group != 0 && known.group == parent.group {
                to = known.next;
            }
        }
        if parent.dead {
            Verdict::Unclear
        } else if !skips {
            Verdict::Linear
        } else if goes_back && to < next {
            Verdict::Rewind(to)
        } else {
            Verdict::Unclear
        }
    }

    /// The response that a record belongs to: its own, its caller's or its parent's.
    fn group(&self, link: &Link<'_>, parent: u64) -> u64 {
        if let Some(response) = link.response.filter(|response| !response.is_empty()) {
            return hash(response);
        }
        if link.response.is_none() {
            return 0;
        }
        let of = |at: u64| self.recent.iter().rev().find(|known| known.uuid == at).map(|known| known.group);
        link.caller.map(hash).and_then(of).or_else(|| of(parent)).unwrap_or(0)
    }

    /// The position of the first event of a record, while it is remembered.
    pub(crate) fn start_of(&self, uuid: &str) -> Option<u64> {
        let uuid = hash(uuid);
        self.recent.iter().rev().find(|known| known.uuid == uuid && !known.dead).map(|known| known.from)
    }

    /// Takes a rewind into account: what it left is dead.
    pub(crate) fn rewind(&mut self, to: u64) {
        for known in &mut self.recent {
            known.dead |= known.next > to;
        }
        self.turns.retain(|turn| turn.1 <= to);
    }

    /// Takes a record into account. Its events lie at `from..next`.
    pub(crate) fn add(&mut self, link: &Link<'_>, role: Role, from: u64, next: u64) {
        let Some(uuid) = link.uuid else { return };
        let parent = link.parent.map(|parent| parent.map_or(ROOT, hash));
        let group = if role == Role::Model { self.group(link, parent.unwrap_or(ROOT)) } else { 0 };
        if parent.is_some_and(|parent| parent != ROOT && parent == self.leaf) {
            self.linked = true;
        }
        if let (Role::Person, Some(parent)) = (role, parent)
            && !self.turns.iter().any(|turn| turn.0 == parent)
        {
            if self.turns.len() == TURNS {
                self.turns.pop_front();
            }
            self.turns.push_back(Turn(parent, from));
        }
        if matches!(role, Role::Person | Role::Model) {
            self.aliases.clear();
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        let conversation = !matches!(role, Role::Aside | Role::Context);
        self.leaf = hash(uuid);
        self.recent.push_back(Known { uuid: self.leaf, from, next, group, conversation, dead: false });
        if let Some(session) = link.session {
            self.session = hash(session);
        }
    }

    /// What the log put behind the last record, at `from..to`, goes with it.
    pub(crate) fn stretch(&mut self, from: u64, to: u64) {
        if let Some(last) = self.recent.back_mut().filter(|last| last.next == from && to > from) {
            last.next = to;
        }
    }

    /// A compaction kept these records: until the conversation goes on, they stand for the leaf.
    pub(crate) fn preserve<'a>(&mut self, ids: impl Iterator<Item = &'a str>) {
        self.aliases = ids.map(hash).take(ALIASES).collect();
    }
}
