//! A session opened for writing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use annals_log::{Ack, Durability, Log, Promise, Ticket, Witness};
use annals_model::canon::canonical;
use annals_model::payload::ConversationAssigned;
use annals_model::{Draft, KINDS, Payload, Seq, SessionId, Timestamp};

use crate::error::{Error, Result};
use crate::shared::Shared;
use crate::{blobs, index};

/// An event on its way into a session.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// When it happened; now, when absent.
    pub ts: Option<Timestamp>,
    /// The turn it belongs to.
    pub turn: Option<u64>,
    /// What happened.
    pub payload: Payload,
}

impl From<Payload> for NewEvent {
    fn from(payload: Payload) -> Self {
        Self { ts: None, turn: None, payload }
    }
}

/// An event as text, checked and in canonical form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawEvent {
    turn: Option<u64>,
    kind: String,
    data: String,
}

impl RawEvent {
    /// Checks an event that comes as text.
    ///
    /// # Errors
    /// [`Error::InvalidEvent`] for a kind that is unknown (private ones begin with `x_`) or the store's own, and for data that is no
    /// JSON or does not fit its kind.
    pub fn parse(kind: &str, data: &str, turn: Option<u64>) -> Result<Self> {
        let invalid = |reason| Error::InvalidEvent { reason };
        if Payload::is_reserved(kind) {
            return Err(invalid(format!("{kind:?} events are written by the store alone")));
        }
        let private = kind.starts_with("x_")
            && kind.len() <= 64
            && kind.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !private && !KINDS.contains(&kind) {
            return Err(invalid(format!("unknown kind {kind:?}; private kinds begin with x_")));
        }
        let data = canonical(data).map_err(|e| invalid(format!("data: {e}")))?;
        if let Err(error) = Payload::parse(kind, data.as_bytes()) {
            return Err(invalid(format!("{error}: {}", error.source)));
        }
        Ok(Self { turn, kind: kind.to_owned(), data })
    }
}

/// An event's data in canonical form. What a payload carries as JSON may have been laid out on several lines by whoever made it.
fn data_of(payload: &Payload) -> Result<String> {
    let invalid = |reason| Error::InvalidEvent { reason };
    let kind = payload.kind();
    if matches!(kind, "session_started" | "repaired" | "lost" | "sealed" | "closed") {
        return Err(invalid(format!("{kind:?} events are written by the log alone")));
    }
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    if let Payload::Unknown { kind, .. } = payload
        && (kind.is_empty() || !kind.bytes().all(word) || KINDS.contains(&kind.as_str()))
    {
        return Err(invalid(format!("{kind:?} can't be the kind of an event that is not known")));
    }
    let data = payload.to_data().map_err(|e| invalid(e.to_string()))?;
    canonical(&data).map_err(|e| invalid(format!("data: {e}")))
}

/// The one writer of a session. Share it between threads by reference or in an `Arc`.
pub struct SessionWriter {
    id: SessionId,
    dir: PathBuf,
    log: Log,
    shared: Arc<Shared>,
    /// Held while a blob is written.
    keeping: Mutex<()>,
}

impl std::fmt::Debug for SessionWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionWriter").field("id", &self.id).field("log", &self.log).finish_non_exhaustive()
    }
}

impl SessionWriter {
    pub(crate) fn new(id: SessionId, log: Log, shared: Arc<Shared>) -> Self {
        let dir = shared.home.session(&id);
        Self { id, dir, log, shared, keeping: Mutex::new(()) }
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The session's directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn disk(&self) -> &dyn annals_log::disk::Disk {
        self.shared.disk()
    }

    /// The position that the next event will take.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.log.next_seq()
    }

    /// Appends events, together and in order. At the end of a turn the session is sealed.
    ///
    /// # Errors
    /// [`Error::InvalidEvent`] for what only the log writes, and for kinds that can't stand in a line; [`Error::Log`]. Nothing was appended
    /// then, or (`Poisoned`) its fate is unknown.
    ///
    /// # Durability
    /// As the store's [`Durability`] says; the acknowledgement names which. At `barrier`, events that others rely on (see
    /// [`Payload::is_barrier`]) are durable when this returns.
    pub fn append(&self, events: &[NewEvent]) -> Result<Ack> {
        let ack = self.append_plainly(events)?;
        self.after(events.iter().map(|event| event.payload.kind()), ack)
    }

    /// Appends events and does nothing that they might ask for besides.
    pub(crate) fn append_plainly(&self, events: &[NewEvent]) -> Result<Ack> {
        let mut drafts = Vec::with_capacity(events.len());
        for event in events {
            let data = data_of(&event.payload)?;
            drafts.push((
                event.ts.unwrap_or_else(|| self.shared.options.clock.now()),
                event.turn,
                event.payload.kind(),
                data,
            ));
        }
        let drafts: Vec<Draft<'_>> =
            drafts.iter().map(|(ts, turn, kind, data)| Draft { ts: *ts, turn: *turn, kind, data }).collect();
        self.log.commit(&drafts).map_err(|e| self.error(e))
    }

    /// Appends an event that came as text.
    ///
    /// # Errors
    /// As [`SessionWriter::append`].
    ///
    /// # Durability
    /// As [`SessionWriter::append`].
    pub fn append_raw(&self, event: &RawEvent) -> Result<Ack> {
        let ack = self.submit(event)?.wait().map_err(|e| self.error(e))?;
        self.after([event.kind.as_str()], ack)
    }

    /// Appends events that came as text; those that are under way together share one sync. An acknowledgement each, in order.
    pub(crate) fn append_all(&self, events: &[&RawEvent]) -> Vec<Result<Ack>> {
        let tickets: Vec<Result<Ticket<'_>>> = events.iter().map(|event| self.submit(event)).collect();
        let acks = tickets.into_iter().map(|ticket| ticket.and_then(|t| t.wait().map_err(|e| self.error(e))));
        let acks: Vec<Result<Ack>> = acks.collect();
        let appended = events.iter().zip(&acks).filter(|(_, ack)| ack.is_ok());
        let settled = self.settle(appended.map(|(event, _)| event.kind.as_str()));
        let ack = |ack: Ack| match &settled {
            Ok(promise) => Ok(Ack { promise: promise.unwrap_or(ack.promise), ..ack }),
            Err(error) => Err(self.error(error.clone())),
        };
        acks.into_iter().map(|a| a.and_then(ack)).collect()
    }

    fn submit(&self, event: &RawEvent) -> Result<Ticket<'_>> {
        let draft = Draft {
            ts: self.shared.options.clock.now(),
            turn: event.turn,
            kind: &event.kind,
            data: &event.data,
        };
        self.log.append(&[draft]).map_err(|e| self.error(e))
    }

    fn after<'k>(&self, kinds: impl IntoIterator<Item = &'k str>, ack: Ack) -> Result<Ack> {
        let promise = self.settle(kinds).map_err(|e| self.error(e))?;
        Ok(Ack { promise: promise.unwrap_or(ack.promise), ..ack })
    }

    /// Does what events of these kinds, just appended, ask for besides being written. Says what they are promised when that is more than
    /// they were promised so far.
    fn settle<'k>(&self, kinds: impl IntoIterator<Item = &'k str>) -> annals_log::Result<Option<Promise>> {
        let (mut barrier, mut seal) = (false, false);
        for kind in kinds {
            barrier |= Payload::is_barrier(kind);
            seal |= kind == "turn_ended";
        }
        if seal {
            // Mail that can't be taken in now waits.
            let _ = self.take_in_mail();
            // The events are in the log whatever becomes of their seal; to call them rejected would have them appended twice. The next
            // seal covers these bytes too, and a writer that can't go on says so at the next append.
            let _ = self.log.seal();
        }
        if barrier && self.log.options().durability == Durability::Barrier {
            self.log.barrier()?;
            return Ok(Some(Promise::Durable));
        }
        Ok(None)
    }

    /// Makes everything appended so far durable.
    ///
    /// # Errors
    /// [`Error::Log`].
    ///
    /// # Durability
    /// All before it survives a power cut.
    pub fn barrier(&self) -> Result<()> {
        self.log.barrier().map(drop).map_err(|e| self.error(e))
    }

    /// Keeps bytes beside the log and returns their name, for events to refer to.
    ///
    /// # Errors
    /// [`Error::Io`].
    ///
    /// # Durability
    /// Durable when this returns.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<String> {
        let _one_at_a_time = self.keeping.lock().unwrap_or_else(PoisonError::into_inner);
        blobs::put(self.shared.disk(), &self.dir, bytes)
    }

    /// Seals and closes the session.
    ///
    /// # Errors
    /// [`Error::Log`].
    ///
    /// # Durability
    /// Everything is durable, at any level.
    pub fn close(self) -> Result<Witness> {
        // Both can wait for the next writer.
        let _ = self.take_in_mail();
        let _ = self.record_number();
        let (witness, id, shared) = self.seal_and_close()?;
        shared.indexer.tell(|index| {
            index::facts(&shared, index, &id)?;
            index::text(&shared, index, &id)?;
            Ok(index.unmark_live(&id)?)
        });
        Ok(witness)
    }

    /// Seals and closes the session and leaves the index to whoever closes many.
    pub(crate) fn close_alone(self) -> Result<()> {
        self.seal_and_close().map(drop)
    }

    fn seal_and_close(self) -> Result<(Witness, SessionId, Arc<Shared>)> {
        let Self { id, log, shared, .. } = self;
        let witness = log.close().map_err(|e| Error::from_log(&id, e))?;
        Ok((witness, id, shared))
    }

    /// Records the session's number, unless its log names it already.
    fn record_number(&self) -> Result<()> {
        let (id, shared) = (&self.id, &self.shared);
        let unrecorded = shared.indexer.ask(|index| {
            index::facts(shared, index, id)?;
            let number = index.number_of(id)?;
            // A number that lives as long as this process is none to record.
            Ok(number.filter(|(_, recorded)| !recorded && index.is_kept()))
        })?;
        if let Some((number, _)) = unrecorded {
            let assigned = ConversationAssigned { id: number };
            self.append_plainly(&[Payload::ConversationAssigned(assigned).into()])?;
        }
        Ok(())
    }

    fn error(&self, error: annals_log::Error) -> Error {
        Error::from_log(&self.id, error)
    }
}
