//! Operations that a crash left open: finished when they had come past the point of no return, undone when they had not.
//!
//! | operation | that point | after it | before it |
//! |---|---|---|---|
//! | fork, save | the copy has its name among the sessions | the parent is told; a replaced snapshot goes to the trash | the half-made copy is removed |
//! | delete | the directory is in the trash | nothing | nothing |
//! | restore | the directory is among the sessions | nothing | nothing |
//! | empty | — | removed for good | — |
//! | rename, tag, move | the event is in the session's log | nothing | nothing |
//! | relink | — | the rest is moved | — |
//! | undo | as the operation that it is | | |

use annals_model::{Payload, SessionId};

use super::{Action, Operating, Operation, Outcome, Trashed};
use crate::error::{Error, Result};
use crate::fork::fork_point;
use crate::snapshot::snapshot_taken;

impl Operating<'_> {
    /// Sees to every operation that is open.
    pub(super) fn recover(&self) -> Result<()> {
        self.store.remove_all_half_made(self)?;
        let open: Vec<Operation> =
            self.all()?.into_iter().filter(|operation| operation.outcome == Outcome::Open).collect();
        for operation in open {
            // An undo is made of an operation of its own, which is recorded behind it and seen to by itself.
            if self.finish(&operation.action)? {
                self.done(operation.number)?;
            } else {
                self.failed(operation.number)?;
            }
        }
        Ok(())
    }

    /// Finishes an operation or undoes what there is of it. Whether it is done.
    fn finish(&self, action: &Action) -> Result<bool> {
        let store = self.store;
        match action {
            Action::Fork { session, from, at_seq } => {
                if !store.contains(session) {
                    store.remove_half_made(session)?;
                    return Ok(false);
                }
                self.tell(from, &fork_point(session, *at_seq))?;
                Ok(true)
            }
            Action::Save { session, from, name, replaced, .. } => {
                if !store.contains(session) {
                    store.remove_half_made(session)?;
                    return Ok(false);
                }
                self.tell(from, &snapshot_taken(session, name))?;
                if let Some(trashed) = replaced {
                    self.put_away(trashed)?;
                }
                Ok(true)
            }
            Action::Delete { trashed } => Ok(store.is_in_trash(trashed)),
            Action::Restore { trashed } => {
                Ok(!store.is_in_trash(trashed) && store.contains(&trashed.session))
            }
            Action::Empty { trashed } => {
                for trashed in trashed {
                    store.remove_for_good(trashed)?;
                }
                Ok(true)
            }
            Action::Rename { session, after, .. } => {
                Ok(store.summary(session).is_ok_and(|s| s.title.as_ref() == Some(after)))
            }
            Action::Tag { session, after, .. } => Ok(store.summary(session).is_ok_and(|s| &s.tags == after)),
            Action::Move { session, after, .. } => {
                Ok(store.summary(session).is_ok_and(|s| s.workspace.as_ref() == Some(after)))
            }
            Action::Relink { sessions, before, after } => {
                for (session, workspace) in sessions {
                    let now = store.summary(session).ok().and_then(|s| s.workspace);
                    if now.as_ref() == Some(workspace) {
                        store.append_move(session, &crate::change::relinked(workspace, before, after))?;
                    }
                }
                Ok(true)
            }
            Action::Import { .. } | Action::Repair { .. } => Ok(true),
            Action::Undo { operation } => self.was_undone(*operation),
        }
    }

    /// Tells the session that a copy was made of, unless that is a frozen one.
    fn tell(&self, from: &SessionId, payload: &Payload) -> Result<()> {
        match self.store.first_line(from) {
            Ok(started) if started.snapshot.is_none() => self.store.tell_parent(from, payload),
            _ => Ok(()),
        }
    }

    pub(crate) fn put_away(&self, trashed: &Trashed) -> Result<()> {
        if self.store.is_in_trash(trashed) || !self.store.contains(&trashed.session) {
            return Ok(());
        }
        match self.store.move_to_trash(trashed) {
            // Somebody reads the old one at this moment; both are there, the newer one has the name.
            Err(Error::SessionOpen { .. }) => Ok(()),
            other => other,
        }
    }
}
