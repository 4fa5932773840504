//! Snapshots: frozen copies with a name. Whoever opens one gets a branch of it.

use annals_model::payload::{ForkedFrom, SessionStarted, SnapshotTaken};
use annals_model::{Payload, Seq, SessionId};
use serde::Serialize;

use crate::copying::Copying;
use crate::error::{Error, Result};
use crate::operations::Action;
use crate::store::Store;

/// A snapshot that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// The frozen copy.
    pub id: SessionId,
    /// Its number in the index; absent when the index can't be asked.
    pub conversation_id: Option<u64>,
    /// Its name.
    pub name: String,
    /// The session that it is a copy of.
    pub from: SessionId,
    /// The last event taken over.
    pub at_seq: Seq,
    /// The snapshot that had the name before; it is in the trash.
    pub replaced: Option<SessionId>,
}

/// Checks a snapshot's name: the rules of ids, and no name that means something else.
fn check(name: &str) -> Result<()> {
    let refused = |reason| Err(Error::InvalidName { name: name.to_owned(), reason });
    if SessionId::parse(name).is_err() {
        return refused(
            "a name has 1 to 128 letters, digits, dots, hyphens and underscores, and begins with a letter or a digit",
        );
    }
    if name.starts_with("session-") {
        return refused("names that begin with session- are for ids");
    }
    if name == "latest" {
        return refused("that means the newest session");
    }
    Ok(())
}

impl Store {
    /// Saves a session under a name: a frozen copy. With `replace`, a snapshot that has the name goes to the trash once the new one is whole.
    ///
    /// # Errors
    /// [`Error::InvalidName`], [`Error::SnapshotNameTaken`], [`Error::SessionExists`] when a session has the name as its id,
    /// [`Error::NothingToSave`], [`Error::SessionNotFound`], [`Error::Corrupt`], [`Error::Io`], [`Error::Operations`].
    ///
    /// # Durability
    /// The snapshot is durable when this returns. A crash leaves all of it or nothing, and of two with one name never both for longer than
    /// until the next operation.
    pub fn save(&self, from: &SessionId, name: &str, replace: bool) -> Result<Snapshot> {
        check(name)?;
        if self.summary(from)?.messages.unwrap_or(0) == 0 {
            return Err(Error::NothingToSave { id: from.clone() });
        }
        let operating = self.operate()?;
        if let Ok(id) = SessionId::parse(name)
            && self.contains(&id)
        {
            return Err(Error::SessionExists { id });
        }
        // Under the lock: two savers of one name follow one another.
        let old = self.snapshot_named(name)?.map(|snapshot| snapshot.id);
        if let (Some(session), false) = (&old, replace) {
            return Err(Error::SnapshotNameTaken { name: name.to_owned(), session: session.clone() });
        }
        let upto = self.last_seq(from)?;
        let started = self.first_line(from)?;
        let is_frozen = started.snapshot.is_some();
        let started = SessionStarted {
            forked_from: Some(ForkedFrom { session: from.clone(), seq: upto }),
            snapshot: Some(name.to_owned()),
            ..started
        };
        let id = self.new_id();
        self.build(&operating, &id, &Copying { from, upto, started, title: None })?;
        let replaced = old.map(|old| self.new_place(&old));
        let action = Action::Save {
            session: id.clone(),
            from: from.clone(),
            name: name.to_owned(),
            at_seq: upto,
            replaced: replaced.clone(),
        };
        let number = operating.begin(action)?;
        let outcome = self.put_in_place(&id).and_then(|()| {
            if !is_frozen {
                self.tell_parent(from, &snapshot_taken(&id, name))?;
            }
            replaced.as_ref().map_or(Ok(()), |trashed| operating.put_away(trashed))
        });
        operating.end(number, outcome)?;
        let replaced = replaced.map(|trashed| trashed.session);
        let conversation_id = self.took_in(&id);
        Ok(Snapshot {
            id,
            conversation_id,
            name: name.to_owned(),
            from: from.clone(),
            at_seq: upto,
            replaced,
        })
    }
}

/// What the session that a snapshot was taken of is told.
pub(crate) fn snapshot_taken(copy: &SessionId, name: &str) -> Payload {
    Payload::SnapshotTaken(SnapshotTaken { name: name.to_owned(), session: copy.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_something_else_are_refused() {
        for name in ["session-1", "latest", "", "-x", "a/b", "..", "#4", "a b"] {
            assert!(matches!(check(name), Err(Error::InvalidName { .. })), "{name}");
        }
        assert!(check("before-refactor.2").is_ok());
    }
}
