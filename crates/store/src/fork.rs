//! Forks: a session of its own that begins as another one did.

use annals_model::fold::Role;
use annals_model::payload::{ForkPoint, ForkedFrom, MessageKind, SessionStarted};
use annals_model::title::title_of;
use annals_model::{Payload, Seq, SessionId};
use serde::Serialize;

use crate::copying::Copying;
use crate::error::{Error, Result};
use crate::index;
use crate::operations::Action;
use crate::reading::Found;
use crate::store::Store;

/// Where a fork parts from its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cut {
    /// At its end.
    #[default]
    End,
    /// Behind this event.
    At(Seq),
    /// Behind this many turns: before the prompt that follows them. 0, and more turns than there are, takes all.
    Turns(i64),
}

/// A fork that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fork {
    /// The child.
    pub id: SessionId,
    /// Its number in the index; absent when the index can't be asked.
    pub conversation_id: Option<u64>,
    /// The parent.
    pub from: SessionId,
    /// The last event taken over.
    pub at_seq: Seq,
}

impl Store {
    /// Makes a session that begins as another one did: its events up to a cut keep their positions and bytes, its blobs are linked. The
    /// parent is told, by its owner when it is open. Of a snapshot it is the branch that is worked on; the snapshot stays as it is.
    ///
    /// The child has the parent's title unless it gets one of its own, and no tags or snapshot's name that came after the cut.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::NoSuchEvent`], [`Error::NotRewindPoint`] for negative turns,
    /// [`Error::CantRewindConversation`] for a cut before what was logged, [`Error::EmptyTitle`], [`Error::Corrupt`] when the parent is
    /// damaged before the cut, [`Error::Io`], [`Error::Operations`].
    ///
    /// # Durability
    /// The child is durable when this returns. A crash leaves all of it or nothing.
    pub fn fork(&self, from: &SessionId, cut: Cut, title: Option<&str>) -> Result<Fork> {
        let title = title.map(|title| title_of(title).ok_or(Error::EmptyTitle)).transpose()?;
        let upto = self.cut_of(from, cut)?;
        // Shorter than the parent, it could lack the title that the parent has now.
        let title = match title {
            None if cut != Cut::End => self.summary(from)?.title,
            title => title,
        };
        let started = self.first_line(from)?;
        let from_snapshot = started.snapshot.clone().or(started.from_snapshot.clone());
        let is_frozen = started.snapshot.is_some();
        let started = SessionStarted {
            forked_from: Some(ForkedFrom { session: from.clone(), seq: upto }),
            from_snapshot,
            snapshot: None,
            ..started
        };
        let operating = self.operate()?;
        let id = self.new_id();
        self.build(&operating, &id, &Copying { from, upto, started, title })?;
        let action = Action::Fork { session: id.clone(), from: from.clone(), at_seq: upto };
        let number = operating.begin(action)?;
        let outcome = self.put_in_place(&id).and_then(|()| match is_frozen {
            // A frozen copy stays as it is; the branch knows where it came from.
            true => Ok(()),
            false => self.tell_parent(from, &fork_point(&id, upto)),
        });
        operating.end(number, outcome)?;
        Ok(Fork { conversation_id: self.took_in(&id), id, from: from.clone(), at_seq: upto })
    }

    /// The last event that a cut takes over.
    fn cut_of(&self, from: &SessionId, cut: Cut) -> Result<Seq> {
        let last = self.last_seq(from)?;
        let upto = match cut {
            Cut::End => return Ok(last),
            Cut::At(seq) if seq > last => {
                return Err(Error::NoSuchEvent { id: from.clone(), asked: seq, last });
            }
            Cut::At(seq) => seq,
            Cut::Turns(n) if n < 0 => {
                return Err(Error::NotRewindPoint { id: from.clone(), asked: format!("turn {n}") });
            }
            Cut::Turns(n) => match self.prompt_behind(from, n)? {
                None => return Ok(last),
                Some(prompt) => prompt,
            },
        };
        match self.boundary(from)? {
            Some(boundary) if upto < boundary => {
                Err(Error::CantRewindConversation { id: from.clone(), boundary })
            }
            _ => Ok(upto),
        }
    }

    /// The event before the prompt that comes behind `turns` turns, or before the mark that begins its turn. None when there is no such
    /// prompt.
    fn prompt_behind(&self, from: &SessionId, turns: i64) -> Result<Option<Seq>> {
        let turns = usize::try_from(turns).unwrap_or(0);
        if turns == 0 {
            return Ok(None);
        }
        let entries = self.replay(from)?.state.transcript.entries();
        let prompts = entries.iter().filter(|entry| entry.role == Role::User(MessageKind::Prompt));
        let Some(prompt) = prompts.map(|entry| entry.seq).nth(turns) else { return Ok(None) };
        let mut before = prompt.saturating_sub(1);
        let mut reader = self.reader(from)?;
        while let Some(found) = reader.next_found()? {
            if let Found::Event(event) = found {
                if event.seq == before && matches!(event.payload, Payload::TurnStarted(_)) {
                    before = before.saturating_sub(1);
                }
                if event.seq >= before {
                    break;
                }
            }
        }
        Ok(Some(before))
    }

    /// Where a session's durable history begins, when it had one before it was logged.
    fn boundary(&self, id: &SessionId) -> Result<Option<Seq>> {
        let failed = |e| Error::from_log(id, e);
        let mut reader = annals_log::Reader::open(self.disk(), &self.session_dir(id)).map_err(failed)?;
        while let Some(item) = reader.next_item().map_err(failed)? {
            if let annals_log::Item::Line { line, .. } = item
                && line.kind == "history_imported"
            {
                return Ok(Some(line.seq));
            }
        }
        Ok(None)
    }

    /// The last whole event of a session.
    pub(crate) fn last_seq(&self, id: &SessionId) -> Result<Seq> {
        let shared = &self.shared;
        let known = shared.indexer.ask(|index| {
            index::facts(shared, index, id)?;
            Ok(index.known(id)?)
        })?;
        let next = known.map_or(0, |known| known.cursor.next_seq);
        next.checked_sub(1)
            .ok_or_else(|| Error::SessionNotFound { query: id.to_string(), similar: Vec::new() })
    }

    /// Takes a new session into the index and tells its number.
    pub(crate) fn took_in(&self, id: &SessionId) -> Option<u64> {
        let shared = &self.shared;
        let number = shared.indexer.ask(|index| {
            index::facts(shared, index, id)?;
            Ok(index.number_of(id)?.map(|(number, _)| number))
        });
        number.ok().flatten()
    }
}

/// What the parent of a fork is told.
pub(crate) fn fork_point(child: &SessionId, at_seq: Seq) -> Payload {
    Payload::ForkPoint(ForkPoint { session: child.clone(), seq: at_seq })
}
