//! The writer of a log: append, wait, seal, close.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use annals_model::Seq;
use annals_model::line::Draft;

use crate::commit::{Committer, Fate, OwnedDraft};
use crate::error::{Error, Result};
use crate::holder::{Lock, Witness};
use crate::options::{Ack, Durability, Options, Promise};
use crate::{seal, seeded};

/// The one writer of a session's log. Share it between threads by reference or in an `Arc`.
///
/// Dropping it without [`Log::close`] is what a killed process does: acknowledged events are safe, the rest may be lost, and the
/// next open has a little more to check.
#[derive(Debug)]
pub struct Log {
    pub(crate) path: PathBuf,
    pub(crate) committer: Committer,
    pub(crate) options: Options,
    pub(crate) lock: Mutex<Lock>,
    /// What is sealed so far: the offset where the next seal's bytes begin, once that is known.
    pub(crate) sealed_to: Mutex<seal::Sealed>,
    /// The last close, while nothing was appended since.
    pub(crate) reopened: Option<Witness>,
}

/// An append on its way. Waiting for it is what makes the promise; dropping it takes nothing back.
#[derive(Debug)]
#[must_use = "an event is acknowledged by waiting for its ticket"]
pub struct Ticket<'a> {
    committer: &'a Committer,
    fate: Fate,
    seq: Seq,
    sync: bool,
}

impl Ticket<'_> {
    /// The position of the last event of this append, provided that it is acknowledged.
    #[must_use]
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// Waits for the acknowledgement.
    ///
    /// # Errors
    /// [`Error::Io`] when it could not be written: nothing of it is in the log. [`Error::Poisoned`] when its fate is unknown.
    pub fn wait(self) -> Result<Ack> {
        self.ack(self.committer.wait(&self.fate, self.sync))
    }

    fn ack(&self, promise: Result<Promise>) -> Result<Ack> {
        promise.map(|promise| Ack { seq: self.seq, promise })
    }
}

/// For async code, on any runtime. When nobody else writes at that moment, polling does the write and the sync itself and so blocks for
/// about as long as one sync of the disk; where that matters, wait on a blocking thread.
impl Future for Ticket<'_> {
    type Output = Result<Ack>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.committer.poll(&self.fate, self.sync, context.waker()) {
            Some(promise) => Poll::Ready(self.ack(promise)),
            None => Poll::Pending,
        }
    }
}

impl Log {
    /// Numbers events and hands them to the next commit. All of one call stand together, in order.
    ///
    /// `data` must be canonical JSON on one line ([`annals_model::canon`]); the store sees to that.
    ///
    /// # Errors
    /// [`Error::TooLong`], [`Error::Poisoned`], [`Error::Closed`]; nothing was appended then.
    ///
    /// # Durability
    /// None before the ticket is waited for; then as [`Durability`] says.
    pub fn append(&self, drafts: &[Draft<'_>]) -> Result<Ticket<'_>> {
        let sync = self.options.durability == Durability::Strict;
        let (seq, fate) = self.committer.add(drafts, sync)?;
        Ok(Ticket { committer: &self.committer, fate, seq, sync })
    }

    /// Appends and waits.
    ///
    /// # Errors
    /// As [`Log::append`] and [`Ticket::wait`].
    ///
    /// # Durability
    /// As [`Durability`] says; the acknowledgement names which.
    pub fn commit(&self, drafts: &[Draft<'_>]) -> Result<Ack> {
        self.append(drafts)?.wait()
    }

    /// Makes everything appended so far durable, at any level.
    ///
    /// # Errors
    /// As [`Ticket::wait`].
    ///
    /// # Durability
    /// All before it survives a power cut.
    pub fn barrier(&self) -> Result<Option<Seq>> {
        self.committer.flush(true)
    }

    /// Seals what was appended since the last seal. Does nothing when nothing was.
    ///
    /// # Errors
    /// As [`Log::commit`]; [`Error::Io`] when the bytes can't be read back.
    ///
    /// # Durability
    /// As [`Log::commit`].
    pub fn seal(&self) -> Result<()> {
        let sync = self.options.durability == Durability::Strict;
        self.seal_with(sync)
    }

    fn seal_with(&self, sync: bool) -> Result<()> {
        let mut sealed = self.sealed_to.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seal_at = None;
        let added = self.committer.add_at_rest(sync, |end| {
            let from =
                sealed.start(self.committer.file(), end).map_err(|e| Error::io("read", &self.path, e))?;
            if sealed.covers(end) {
                return Ok(None);
            }
            let digest = seal::digest(self.committer.file(), from, end, self.options.seal_key.as_ref())
                .map_err(|e| Error::io("read", &self.path, e))?;
            seal_at = Some(end);
            let payload = annals_model::payload::Sealed {
                len_bytes: end - from,
                blake3: digest.to_hex().to_string(),
                key: self.options.seal_key.as_ref().map(|key| key.id.clone()),
            };
            Ok(Some(self.own_line("sealed", &payload)?))
        })?;
        if let Some((_, fate)) = added {
            self.committer.wait(&fate, sync)?;
        }
        if let Some(at) = seal_at {
            sealed.note(at, self.committer.standing().2);
        }
        Ok(())
    }

    pub(crate) fn own_line<T: serde::Serialize>(
        &self,
        kind: &'static str,
        payload: &T,
    ) -> Result<OwnedDraft> {
        let data = serde_json::to_string(payload)
            .map_err(|e| Error::io("write", &self.path, std::io::Error::other(e)))?;
        Ok(OwnedDraft { ts: self.options.clock.now(), kind, data })
    }

    /// Seals, writes the closing line, cuts off the runway and lets the lock go. A log in which nothing was appended since its last
    /// close is left as it was.
    ///
    /// # Errors
    /// As [`Log::barrier`] and [`Log::seal`]. The lock is let go in any case.
    ///
    /// # Durability
    /// Everything is durable, at any level.
    pub fn close(self) -> Result<Witness> {
        let (_, next_seq, _) = self.committer.standing();
        if let Some(witness) = self.reopened
            && witness.seq + 1 == next_seq
        {
            self.committer.finish()?;
            self.leave(witness)?;
            return Ok(witness);
        }
        let sync = !seeded::on("close_skips_sync");
        self.committer.flush(sync)?;
        self.seal_with(sync)?;
        // A line of its own after a sync of its own: its watermark then vouches for everything before it, the seal included.
        let closing = self.own_line("closed", &annals_model::payload::Closed {})?;
        let (seq, fate) = self.committer.add(&[closing.borrow()], sync)?;
        self.committer.wait(&fate, sync)?;
        let crc = self.committer.prev();
        let end = self.committer.finish()?;
        let witness = Witness { seq, end, crc };
        self.leave(witness)?;
        Ok(witness)
    }

    fn leave(&self, witness: Witness) -> Result<()> {
        if seeded::on("forget_witness") {
            return Ok(());
        }
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).leave(witness)
    }

    /// The position that the next event will take.
    #[must_use]
    pub fn next_seq(&self) -> Seq {
        self.committer.standing().1
    }

    /// The last event known to be durable.
    #[must_use]
    pub fn durable_seq(&self) -> Option<Seq> {
        self.committer.standing().0
    }

    /// The log's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The options it was opened with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }
}
