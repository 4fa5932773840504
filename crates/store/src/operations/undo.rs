//! Taking operations back.
//!
//! Nothing is destroyed by it: what an operation made goes to the trash, what it changed is changed back by a new event. An operation on
//! whose outcome a newer one rests can't be taken back before that one.

use annals_model::{Seq, SessionId};

use super::{Action, Operating, Operation, Outcome, Trashed};
use crate::error::{Error, Result};
use crate::store::Store;

/// An operation that was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The operation.
    pub operation: Operation,
    /// The number of the operation that took it back.
    pub number: Seq,
}

impl Action {
    /// The sessions that it touches.
    #[must_use]
    pub fn sessions(&self) -> Vec<&SessionId> {
        match self {
            Self::Fork { session, .. }
            | Self::Save { session, .. }
            | Self::Rename { session, .. }
            | Self::Tag { session, .. }
            | Self::Move { session, .. }
            | Self::Repair { session, .. } => vec![session],
            Self::Delete { trashed } | Self::Restore { trashed } => vec![&trashed.session],
            Self::Empty { trashed } => trashed.iter().map(|t| &t.session).collect(),
            Self::Import { new, .. } => new.iter().collect(),
            Self::Relink { sessions, .. } => sessions.iter().map(|(id, _)| id).collect(),
            Self::Undo { .. } => Vec::new(),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fork { .. } => "fork",
            Self::Save { .. } => "save",
            Self::Rename { .. } => "rename",
            Self::Tag { .. } => "tag",
            Self::Move { .. } => "mv",
            Self::Delete { .. } => "rm",
            Self::Restore { .. } => "restore",
            Self::Empty { .. } => "empty",
            Self::Import { .. } => "import",
            Self::Repair { .. } => "repair",
            Self::Relink { .. } => "relink",
            Self::Undo { .. } => "undo",
        }
    }
}

impl Store {
    /// Takes back the last operation that can be, or the one of this number.
    ///
    /// # Errors
    /// [`Error::NothingToUndo`], [`Error::NoSuchOperation`], [`Error::CantUndo`]; [`Error::SessionOpen`] and [`Error::SessionBusy`] while a
    /// session that it touches is open; those of the change itself.
    ///
    /// # Durability
    /// Durable when this returns.
    pub fn undo(&self, number: Option<Seq>) -> Result<Undone> {
        let operating = self.operate()?;
        let all = operating.all()?;
        let operation = match number {
            Some(number) => {
                all.iter().find(|o| o.number == number).ok_or(Error::NoSuchOperation { number })?
            }
            None => last(&all).ok_or(Error::NothingToUndo)?,
        };
        refuse(operation, &all)?;
        let own = operating.begin(Action::Undo { operation: operation.number })?;
        let outcome = self.take_back(&operation.action);
        let operation = operation.clone();
        operating.end(own, outcome)?;
        Ok(Undone { operation, number: own })
    }

    fn take_back(&self, action: &Action) -> Result<()> {
        match action {
            Action::Fork { session, .. } => self.make_trash(session).map(drop),
            Action::Save { session, replaced, .. } => {
                self.make_trash(session)?;
                replaced.as_ref().map_or(Ok(()), |trashed| self.move_from_trash(trashed))
            }
            Action::Rename { session, before, .. } => {
                // A title can't be taken away; the one that the first prompt gave is set.
                self.append_title(session, before.as_deref().unwrap_or("(untitled)")).map(drop)
            }
            Action::Tag { session, before, .. } => self.append_tags(session, before),
            Action::Move { session, before, .. } => match before {
                Some(before) => self.append_move(session, before),
                None => Err(Error::CantUndo { number: 0, reason: "it had no workspace before".to_owned() }),
            },
            Action::Delete { trashed } => self.move_from_trash(trashed),
            Action::Restore { trashed } => self.move_to_trash(trashed),
            Action::Import { new, .. } => {
                new.iter().filter(|id| self.contains(id)).try_for_each(|id| self.make_trash(id).map(drop))
            }
            Action::Relink { sessions, .. } => {
                sessions.iter().try_for_each(|(session, before)| self.append_move(session, before))
            }
            Action::Empty { .. } | Action::Repair { .. } | Action::Undo { .. } => Ok(()),
        }
    }

    /// Puts a session into the trash under a new place.
    fn make_trash(&self, session: &SessionId) -> Result<Trashed> {
        let trashed = self.new_place(session);
        self.move_to_trash(&trashed)?;
        Ok(trashed)
    }
}

/// The last operation that was done, is no undo, and can be taken back at all.
fn last(all: &[Operation]) -> Option<&Operation> {
    all.iter()
        .rev()
        .find(|operation| operation.outcome == Outcome::Done && final_reason(&operation.action).is_none())
}

/// Why an operation can never be taken back.
fn final_reason(action: &Action) -> Option<&'static str> {
    match action {
        Action::Empty { .. } => Some("what was deleted for good can't be brought back"),
        Action::Repair { .. } => {
            Some("the damaged original is beside the session; the salvaged log is what can be read of it")
        }
        Action::Undo { .. } => Some("do again what was undone"),
        Action::Import { new, .. } if new.is_empty() => Some("it only added to sessions that were there"),
        _ => None,
    }
}

fn refuse(operation: &Operation, all: &[Operation]) -> Result<()> {
    let refused = |reason: String| Err(Error::CantUndo { number: operation.number, reason });
    match operation.outcome {
        Outcome::Done => {}
        Outcome::Undone => return refused("it was undone already".to_owned()),
        Outcome::Failed | Outcome::Open => return refused("it was never done".to_owned()),
    }
    if let Some(reason) = final_reason(&operation.action) {
        return refused(reason.to_owned());
    }
    let touched = operation.action.sessions();
    let newer = all.iter().filter(|o| o.number > operation.number && o.outcome == Outcome::Done);
    let depends = |o: &&Operation| {
        o.action.sessions().iter().any(|id| touched.contains(id))
            // A copy rests on the session that it was made of only for its name; it keeps its own bytes.
            && !matches!(o.action, Action::Import { .. })
    };
    match newer.into_iter().find(depends) {
        Some(newer) => refused(format!(
            "operation {} ({}) came after it; undo that one first",
            newer.number,
            newer.action.name()
        )),
        None => Ok(()),
    }
}

impl Operating<'_> {
    /// Whether what an undo that was cut short had to do is done. What is not is left: the operation counts as done, and can be undone again.
    pub(super) fn was_undone(&self, number: Seq) -> Result<bool> {
        let all = self.all()?;
        let Some(operation) = all.iter().find(|o| o.number == number) else { return Ok(false) };
        let store = self.store;
        let summary = |id: &SessionId| store.summary(id).ok();
        Ok(match &operation.action {
            Action::Fork { session, .. } => !store.contains(session),
            Action::Save { session, replaced, .. } => {
                if store.contains(session) {
                    return Ok(false);
                }
                if let Some(trashed) = replaced
                    && store.is_in_trash(trashed)
                    && !store.contains(&trashed.session)
                {
                    store.move_from_trash(trashed)?;
                }
                true
            }
            Action::Rename { session, before, .. } => summary(session).is_some_and(|s| s.title == *before),
            Action::Tag { session, before, .. } => summary(session).is_some_and(|s| s.tags == *before),
            Action::Move { session, before, .. } => summary(session).is_some_and(|s| s.workspace == *before),
            Action::Delete { trashed } => store.contains(&trashed.session) && !store.is_in_trash(trashed),
            Action::Restore { trashed } => store.is_in_trash(trashed),
            Action::Import { new, .. } => new.iter().all(|id| !store.contains(id)),
            Action::Relink { sessions, .. } => sessions
                .iter()
                .all(|(id, before)| summary(id).is_some_and(|s| s.workspace.as_ref() == Some(before))),
            Action::Empty { .. } | Action::Repair { .. } | Action::Undo { .. } => false,
        })
    }
}
