//! Group commit: appends that come while a sync is under way share the next one.
//!
//! ```text
//! append A ─┐                      ┌─ append B, C, D: numbered and encoded at once, into the next batch
//!           └ leader: write, sync ─┴→ tells A's batch; the next one to wait leads B, C, D
//! ```
//!
//! No thread of its own: whoever waits first and finds nobody leading, leads. Numbering and encoding happen in one critical section
//! (INVARIANT(I1): a number is never taken outside it), writing and syncing outside it, by one leader at a time.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;

use annals_model::Seq;
use annals_model::line::{Draft, MAX_LINE_BYTES, Place, encode};

use crate::disk::{DiskFile, write_full};
use crate::error::{Error, Result};
use crate::options::Promise;
use crate::seeded;

/// What became of a batch; told once, read by all who wait for it.
///
/// Each batch has a signal of its own: those who wait for the next batch are not woken when this one is done, but for the one
/// among them that leads next.
#[derive(Debug, Default)]
pub(crate) struct BatchFate {
    told: OnceLock<Result<Promise>>,
    signal: Condvar,
}

/// A batch's fate, shared by its tickets.
pub(crate) type Fate = Arc<BatchFate>;

impl BatchFate {
    fn get(&self) -> Option<&Result<Promise>> {
        self.told.get()
    }

    fn tell(&self, outcome: Result<Promise>) {
        let _ = self.told.set(outcome);
        self.signal.notify_all();
    }
}

/// Appends that will be written together.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    /// The last event in it and the checksum that the next line names.
    last: Option<(Seq, u32)>,
    fate: Fate,
}

#[derive(Debug)]
struct State {
    pending: Batch,
    /// Where the next event goes: its number and what it names as `prev`.
    next: (Seq, u32),
    /// Where the written log ends, for a return there: number, `prev`, offset.
    written: (Seq, u32, u64),
    /// Length of the file: the written log and the runway behind it.
    allocated: u64,
    durable: Option<Seq>,
    leading: bool,
    broken: Option<Broken>,
    wakers: Vec<Waker>,
    /// A batch's buffer, kept for the next one.
    spare: Vec<u8>,
}

#[derive(Debug, Clone)]
enum Broken {
    Poisoned(Arc<io::Error>),
    Closed,
}

/// The committer of one log's file.
#[derive(Debug)]
pub(crate) struct Committer {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    runway_bytes: u64,
    state: Mutex<State>,
    done: Condvar,
}

/// Where a committer starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    pub(crate) next_seq: Seq,
    pub(crate) prev: u32,
    pub(crate) end: u64,
    pub(crate) allocated: u64,
    pub(crate) durable: Option<Seq>,
}

/// How much may wait for a leader before an append leads by itself.
const PENDING_LIMIT_BYTES: usize = 8 * 1024 * 1024;

impl Committer {
    pub(crate) fn new(path: PathBuf, file: Box<dyn DiskFile>, runway_bytes: u64, start: Start) -> Self {
        let state = State {
            pending: Batch::default(),
            next: (start.next_seq, start.prev),
            written: (start.next_seq, start.prev, start.end),
            allocated: start.allocated,
            durable: start.durable,
            leading: false,
            broken: None,
            wakers: Vec::new(),
            spare: Vec::new(),
        };
        Self { path, file, runway_bytes, state: Mutex::new(state), done: Condvar::new() }
    }

    pub(crate) fn file(&self) -> &dyn DiskFile {
        self.file.as_ref()
    }

    /// Numbers and encodes events. They are pending until somebody leads.
    pub(crate) fn add(&self, drafts: &[Draft<'_>], sync: bool) -> Result<(Seq, Fate)> {
        let mut state = self.lock();
        self.usable(&state)?;
        let ticket = self.encode(&mut state, drafts)?;
        if state.pending.bytes.len() > PENDING_LIMIT_BYTES {
            self.drive(state, &ticket.1, sync);
        }
        Ok(ticket)
    }

    /// Waits until nothing is under way, then adds one event that is made from the place where it will stand.
    pub(crate) fn add_at_rest(
        &self,
        sync: bool,
        make: impl FnOnce(u64) -> Result<Option<OwnedDraft>>,
    ) -> Result<Option<(Seq, Fate)>> {
        let mut state = self.lock();
        loop {
            self.usable(&state)?;
            if state.leading {
                state = self.wait_for_leader(state);
            } else if state.pending.last.is_some() {
                state = self.lead(state, sync);
            } else {
                break;
            }
        }
        // Nothing can be added while the lock is held, so the offset stays true.
        match make(state.written.2)? {
            Some(draft) => self.encode(&mut state, &[draft.borrow()]).map(Some),
            None => Ok(None),
        }
    }

    fn encode(&self, state: &mut State, drafts: &[Draft<'_>]) -> Result<(Seq, Fate)> {
        let (first, first_prev) = state.next;
        let (mut seq, mut prev) = (first, first_prev);
        let durable = state.durable;
        let before = state.pending.bytes.len();
        if before == 0 && state.pending.bytes.capacity() < state.spare.capacity() {
            std::mem::swap(&mut state.pending.bytes, &mut state.spare);
        }
        for draft in drafts {
            let start = state.pending.bytes.len();
            let durable = match () {
                () if seeded::on("watermark_ahead") => seq.checked_sub(1),
                () if seeded::on("watermark_never") => None,
                () => durable,
            };
            let prev_named = if seeded::on("prev_not_chained") { 0 } else { prev };
            let crc = encode(&mut state.pending.bytes, Place { seq, durable, prev: prev_named }, draft);
            let len = state.pending.bytes.len() - start;
            if len > MAX_LINE_BYTES {
                state.pending.bytes.truncate(before);
                return Err(Error::TooLong { len_bytes: len as u64, limit_bytes: MAX_LINE_BYTES as u64 });
            }
            // Line 0 of a fork names its own anchor; see `Line::anchor`.
            prev = if seq == 0 && prev != 0 { prev } else { crc };
            seq += 1;
        }
        if seeded::on("stale_number") && drafts.len() > 1 {
            seq -= 1;
        }
        state.next = (seq, prev);
        if seq > first {
            state.pending.last = Some(state.next);
        }
        Ok((seq.saturating_sub(1), Arc::clone(&state.pending.fate)))
    }

    /// Waits for a batch's fate, leading where nobody does.
    pub(crate) fn wait(&self, fate: &Fate, sync: bool) -> Result<Promise> {
        if fate.get().is_none() {
            self.drive(self.lock(), fate, sync);
        }
        fate.get().cloned().unwrap_or_else(|| Err(Error::Closed { path: self.path.clone() }))
    }

    /// As [`Committer::wait`], for a future: leads when nobody does (and then blocks for the write and the sync), else leaves a waker.
    pub(crate) fn poll(&self, fate: &Fate, sync: bool, waker: &Waker) -> Option<Result<Promise>> {
        let state = self.lock();
        if fate.get().is_none() && state.leading {
            let mut state = state;
            state.wakers.push(waker.clone());
            return None;
        }
        if fate.get().is_none() {
            self.drive(state, fate, sync);
        }
        fate.get().cloned()
    }

    fn drive<'a>(&'a self, mut state: MutexGuard<'a, State>, fate: &Fate, sync: bool) {
        while fate.get().is_none() {
            state = if state.leading {
                fate.signal.wait(state).unwrap_or_else(PoisonError::into_inner)
            } else {
                self.lead(state, sync)
            };
        }
    }

    /// Writes everything that is pending, and syncs everything that was written.
    pub(crate) fn flush(&self, sync: bool) -> Result<Option<Seq>> {
        let mut state = self.lock();
        loop {
            self.usable(&state)?;
            let last = state.next.0.checked_sub(1);
            if state.leading {
                state = self.wait_for_leader(state);
            } else if state.pending.last.is_some() || (sync && state.durable < last) {
                let fate = Arc::clone(&state.pending.fate);
                let had_events = state.pending.last.is_some();
                state = self.lead(state, sync);
                if had_events && let Some(Err(error)) = fate.get() {
                    return Err(error.clone());
                }
            } else {
                return Ok(state.durable);
            }
        }
    }

    /// Leads one batch: writes it, syncs it, tells its fate.
    fn lead<'a>(&'a self, mut state: MutexGuard<'a, State>, sync: bool) -> MutexGuard<'a, State> {
        let batch = std::mem::take(&mut state.pending);
        let (written_end, allocated) = (state.written.2, state.allocated);
        if let Some(broken) = state.broken.clone() {
            batch.fate.tell(Err(self.refusal(&broken, state.durable)));
            self.done.notify_all();
            return state;
        }
        state.leading = true;
        drop(state);
        let outcome = self.write(&batch.bytes, written_end, allocated, sync);
        let mut state = self.lock();
        state.leading = false;
        let fate = match outcome {
            Ok(allocated) => {
                state.allocated = allocated;
                if let Some((seq, prev)) = batch.last {
                    state.written = (seq, prev, written_end + batch.bytes.len() as u64);
                }
                if sync {
                    state.durable = state.written.0.checked_sub(1);
                }
                Ok(if sync { Promise::Durable } else { Promise::Written })
            }
            Err(Failure::TakenBack(error)) => {
                // What was encoded since follows events that are not there: it goes with them.
                let later = std::mem::take(&mut state.pending);
                let error = Error::io("write", &self.path, error);
                if later.last.is_some() {
                    later.fate.tell(Err(error.clone()));
                }
                if !seeded::on("no_rollback") {
                    state.next = (state.written.0, state.written.1);
                }
                state.allocated = state.written.2;
                Err(error)
            }
            Err(Failure::Unknown(error)) => {
                let broken = Broken::Poisoned(Arc::new(error));
                state.broken = Some(broken.clone());
                let error = self.refusal(&broken, state.durable);
                let later = std::mem::take(&mut state.pending);
                later.fate.tell(Err(error.clone()));
                Err(error)
            }
        };
        batch.fate.tell(fate);
        if state.pending.last.is_some() {
            state.pending.fate.signal.notify_one();
        }
        let mut spare = batch.bytes;
        spare.clear();
        if spare.capacity() <= PENDING_LIMIT_BYTES {
            state.spare = spare;
        }
        for waker in state.wakers.drain(..) {
            waker.wake();
        }
        self.done.notify_all();
        state
    }

    /// Writes a batch at the log's end, with a new piece of runway where the old one is used up. Returns the file's new length.
    fn write(&self, bytes: &[u8], at: u64, allocated: u64, sync: bool) -> std::result::Result<u64, Failure> {
        let end = at + bytes.len() as u64;
        let written = if bytes.is_empty() || seeded::on("skip_write") {
            Ok(allocated)
        } else if end <= allocated || self.runway_bytes == 0 {
            write_full(self.file(), bytes, at).map(|()| allocated.max(end))
        } else {
            self.write_with_runway(bytes, at)
        };
        let allocated = match written {
            Ok(allocated) => allocated,
            Err(error) => return Err(self.take_back(at, error)),
        };
        if sync && !seeded::on("skip_sync") {
            let mut synced = self.file.sync();
            if synced.is_err() && seeded::on("retry_sync") {
                synced = self.file.sync();
            }
            synced.map_err(Failure::Unknown)?;
        }
        Ok(allocated)
    }

    /// The batch and the new runway in one write: one sync then makes the bytes and the file's length durable together.
    fn write_with_runway(&self, bytes: &[u8], at: u64) -> io::Result<u64> {
        let end = at + bytes.len() as u64;
        let new_len = end + self.runway_bytes;
        let mut buf = Vec::with_capacity(usize::try_from(new_len - at).unwrap_or(0));
        buf.extend_from_slice(bytes);
        buf.resize(usize::try_from(new_len - at).unwrap_or(buf.len()), b'\n');
        match write_full(self.file(), &buf, at) {
            Ok(()) => Ok(new_len),
            // No room for the runway: the events alone may still fit.
            Err(_) => {
                self.file.set_len(at)?;
                write_full(self.file(), bytes, at).map(|()| end)
            }
        }
    }

    /// Cuts the file back to where it was before a failed write. INVARIANT: nothing is ever written behind a stub.
    fn take_back(&self, at: u64, error: io::Error) -> Failure {
        if seeded::on("keep_stub") {
            return Failure::TakenBack(error);
        }
        match self.file.set_len(at) {
            Ok(()) => Failure::TakenBack(error),
            Err(_) => Failure::Unknown(error),
        }
    }

    /// Cuts off the runway and ends all writing. The file's new length is made durable.
    pub(crate) fn finish(&self) -> Result<u64> {
        let mut state = self.lock();
        while state.leading {
            state = self.wait_for_leader(state);
        }
        self.usable(&state)?;
        let end = state.written.2;
        if state.allocated > end {
            let cut = self.file.set_len(end).and_then(|()| self.file.sync());
            if let Err(error) = cut {
                let broken = Broken::Poisoned(Arc::new(error));
                state.broken = Some(broken.clone());
                return Err(self.refusal(&broken, state.durable));
            }
        }
        state.broken = Some(Broken::Closed);
        Ok(end)
    }

    /// The last durable event, the next event's number, and where the written log ends.
    pub(crate) fn standing(&self) -> (Option<Seq>, Seq, u64) {
        let state = self.lock();
        (state.durable, state.next.0, state.written.2)
    }

    /// The checksum that the next line will name.
    pub(crate) fn prev(&self) -> u32 {
        self.lock().next.1
    }

    fn usable(&self, state: &State) -> Result<()> {
        match &state.broken {
            Some(broken) => Err(self.refusal(broken, state.durable)),
            None => Ok(()),
        }
    }

    fn refusal(&self, broken: &Broken, durable: Option<Seq>) -> Error {
        match broken {
            Broken::Poisoned(cause) => {
                Error::Poisoned { path: self.path.clone(), durable, cause: Arc::clone(cause) }
            }
            Broken::Closed => Error::Closed { path: self.path.clone() },
        }
    }

    /// A panic in another thread can't leave the state half-changed: no call that may panic runs under the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for_leader<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.done.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a write failed.
enum Failure {
    /// The file is as it was before.
    TakenBack(io::Error),
    /// What the disk holds is not known.
    Unknown(io::Error),
}

/// A draft that owns its data.
#[derive(Debug)]
pub(crate) struct OwnedDraft {
    pub(crate) ts: annals_model::Timestamp,
    pub(crate) kind: &'static str,
    pub(crate) data: String,
}

impl OwnedDraft {
    pub(crate) fn borrow(&self) -> Draft<'_> {
        Draft { ts: self.ts, turn: None, kind: self.kind, data: &self.data }
    }
}
