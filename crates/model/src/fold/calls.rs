//! Calls and their results: which belongs to which, and what is known of a call that has none.
//!
//! Ids are unique by contract, yet some providers count from zero in every response. A result therefore goes to the latest turn that
//! has an open call of its id, and there to the first one. The first result of a call counts; one without a call is left alone.
//!
//! What a summary covers still takes part by its id: a call whose result was summarised is not open, and one whose tool began is not
//! "safe to run".

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::context::{Item, Trace};
use crate::event::Seq;
use crate::payload::{MessageKind, ToolCall, ToolResult};

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

/// How a call ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End<'a> {
    /// With this result.
    Result(Seq, &'a ToolResult),
    /// With a result that a summary stands for.
    Summarised,
}

/// A live call and what became of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paired<'a> {
    pub(crate) seq: Seq,
    /// Absent when a summary covers the call.
    pub(crate) call: Option<&'a ToolCall>,
    pub(crate) end: Option<End<'a>>,
    began: bool,
    turn: u64,
}

impl Paired<'_> {
    pub(crate) fn fate(&self) -> Fate {
        let promised = self.call.is_some_and(|call| call.deferred);
        if promised && !self.began { Fate::NotStarted } else { Fate::OutcomeUnknown }
    }
}

/// Pairs calls and results in one pass over the live items, in the order of their events.
#[derive(Debug, Default)]
pub(super) struct Pairs<'a> {
    calls: Vec<Paired<'a>>,
    /// Indices of the calls without a result, by id.
    open: BTreeMap<&'a str, Vec<usize>>,
    /// Ids of calls that ran on a branch that was dropped: a rewind takes back words, not what a tool did.
    ran: BTreeSet<&'a str>,
    turn: u64,
}

impl<'a> Pairs<'a> {
    /// Takes note of what happened on a dropped branch.
    pub(super) fn dropped(&mut self, item: &'a Item) {
        match item {
            Item::Started(id) | Item::Cold(Trace::Started(id) | Trace::Result(id)) => self.ran.insert(id),
            Item::Result(result) => self.ran.insert(&result.id),
            _ => false,
        };
    }

    /// Takes in a live item.
    pub(super) fn live(&mut self, seq: Seq, item: &'a Item) {
        match item {
            Item::User(message) if message.kind == MessageKind::Prompt => self.turn += 1,
            Item::Cold(Trace::Prompt) => self.turn += 1,
            Item::Call(call) => self.call(seq, &call.id, Some(call)),
            Item::Cold(Trace::Call(id)) => self.call(seq, id, None),
            Item::Started(id) | Item::Cold(Trace::Started(id)) => {
                if let Some(call) = self.meant_by(id).and_then(|index| self.calls.get_mut(index)) {
                    call.began = true;
                }
            }
            Item::Result(result) => self.result(&result.id, End::Result(seq, result)),
            Item::Cold(Trace::Result(id)) => self.result(id, End::Summarised),
            _ => {}
        }
    }

    /// The calls, in the order of their events.
    pub(super) fn finish(mut self) -> Vec<Paired<'a>> {
        for call in &mut self.calls {
            call.began |= call.call.is_some_and(|c| self.ran.contains(c.id.as_str()));
        }
        self.calls
    }

    fn call(&mut self, seq: Seq, id: &'a str, call: Option<&'a ToolCall>) {
        self.open.entry(id).or_default().push(self.calls.len());
        self.calls.push(Paired { seq, call, end: None, began: false, turn: self.turn });
    }

    /// The open call that an event with this id is about.
    fn meant_by(&self, id: &str) -> Option<usize> {
        let open = self.open.get(id)?;
        let turn = |index: &usize| self.calls.get(*index).map(|call| call.turn);
        let latest = turn(open.last()?);
        // Calls of one turn stand at the end; a result rarely has more than one to choose from.
        let first = open.iter().rev().take_while(|index| turn(index) == latest).last();
        first.copied()
    }

    fn result(&mut self, id: &str, end: End<'a>) {
        let Some(index) = self.meant_by(id) else { return };
        if let Some(call) = self.calls.get_mut(index) {
            call.end = Some(end);
        }
        if let Some(open) = self.open.get_mut(id)
            && let Some(at) = open.iter().rposition(|other| *other == index)
        {
            open.remove(at);
        }
    }
}
