//! The store: all sessions of a data directory.

use std::sync::Arc;

use annals_log::disk::{Disk, OpenMode};
use annals_log::{Durability, LOG_FILE, Log, Opening, Salvage, SalvagePlan};
use annals_model::payload::SessionStarted;
use annals_model::{Draft, FORMAT, SessionId, Timestamp};

use crate::error::{Error, Result};
use crate::home::{Home, tighten};
use crate::index::Indexer;
use crate::inspect::{self, Verification};
use crate::operations::Action;
use crate::options::StoreOptions;
use crate::reading::{EventReader, Replay};
use crate::session::SessionWriter;
use crate::shared::Shared;
use crate::{blobs, list};

/// All sessions of a data directory.
#[derive(Debug)]
pub struct Store {
    pub(crate) shared: Arc<Shared>,
}

/// A session about to be made.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// Its id; a new one is made when absent.
    pub id: Option<SessionId>,
    /// When it began; now, when absent.
    pub ts: Option<Timestamp>,
    /// Line 0. Its format is set by the store.
    pub started: SessionStarted,
}

impl Store {
    /// Opens a data directory. Creates nothing: a directory that does not exist is a store without sessions.
    ///
    /// # Errors
    /// [`Error::NotAStore`], [`Error::NetworkFileSystem`], [`Error::Io`].
    pub fn open(options: StoreOptions) -> Result<Self> {
        let home = Home::open(&options.home, options.allow_network_fs)?;
        let indexer = Indexer::new(options.indexing, home.root());
        Ok(Self { shared: Arc::new(Shared { home, options, indexer }) })
    }

    /// The data directory.
    #[must_use]
    pub fn home(&self) -> &std::path::Path {
        self.shared.home.root()
    }

    pub(crate) fn session_dir(&self, id: &SessionId) -> std::path::PathBuf {
        self.shared.home.session(id)
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        self.shared.disk()
    }

    /// An id that no session has. A chat that may stay unused takes one and is made with its first message.
    #[must_use]
    pub fn new_id(&self) -> SessionId {
        let options = &self.shared.options;
        loop {
            let id = SessionId::generate(options.clock.now(), options.random.four());
            if self.disk().metadata(&self.session_dir(&id)).is_err() {
                return id;
            }
        }
    }

    fn writer(&self, id: SessionId, log: Log) -> SessionWriter {
        SessionWriter::new(id, log, self.shared.clone())
    }

    /// Begins a session.
    ///
    /// # Errors
    /// [`Error::SessionExists`], [`Error::SnapshotNameTaken`] when a snapshot has the id for its name, [`Error::SessionBusy`],
    /// [`Error::Log`], [`Error::Io`].
    ///
    /// # Durability
    /// The session is durable when this returns, at any level.
    pub fn create(&self, new: NewSession) -> Result<SessionWriter> {
        if let Some(id) = &new.id
            && let Ok(Some(snapshot)) = self.snapshot_named(id.as_str())
        {
            return Err(Error::SnapshotNameTaken { name: id.to_string(), session: snapshot.id });
        }
        self.create_with(new, self.shared.options.durability)
    }

    pub(crate) fn create_with(&self, new: NewSession, durability: Durability) -> Result<SessionWriter> {
        let now = self.shared.options.clock.now();
        let id = new.id.unwrap_or_else(|| self.new_id());
        self.shared.home.prepare(self.disk())?;
        let started = SessionStarted { format: FORMAT, ..new.started };
        let data =
            serde_json::to_string(&started).map_err(|e| Error::InvalidEvent { reason: e.to_string() })?;
        let first = Draft { ts: new.ts.unwrap_or(now), turn: None, kind: "session_started", data: &data };
        let dir = self.shared.home.session(&id);
        self.mark_live(&id);
        let log = Log::create(self.disk(), &dir, self.shared.log_options(durability), 0, &first)
            .map_err(|e| Error::from_log(&id, e))?;
        Ok(self.writer(id, log))
    }

    /// Opens a session for writing. What a crash left behind the last whole event is cut off and kept aside.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::SessionBusy`], [`Error::Frozen`] for a snapshot, [`Error::Corrupt`], [`Error::Newer`],
    /// [`Error::Log`].
    ///
    /// # Durability
    /// Everything that the opened session holds is durable when this returns.
    pub fn open_writer(&self, id: &SessionId) -> Result<(SessionWriter, Opening)> {
        self.open_writer_with(id, self.shared.options.durability)
    }

    pub(crate) fn open_writer_with(
        &self,
        id: &SessionId,
        durability: Durability,
    ) -> Result<(SessionWriter, Opening)> {
        if let Ok(SessionStarted { snapshot: Some(name), .. }) = self.first_line(id) {
            return Err(Error::Frozen { id: id.clone(), name });
        }
        self.open_any(id, durability)
    }

    /// Opens a session, or a snapshot, for what is said about it.
    pub(crate) fn open_even_frozen(&self, id: &SessionId) -> Result<(SessionWriter, Opening)> {
        self.open_any(id, self.shared.options.durability)
    }

    fn open_any(&self, id: &SessionId, durability: Durability) -> Result<(SessionWriter, Opening)> {
        let dir = self.shared.home.session(id);
        self.mark_live(id);
        let opened = Log::open(self.disk(), &dir, self.shared.log_options(durability), None);
        let (log, opening) = opened.map_err(|e| Error::from_log(id, e))?;
        self.shared.home.tighten()?;
        tighten(&dir)?;
        tighten(&dir.join(LOG_FILE))?;
        let writer = self.writer(id.clone(), log);
        // Mail that can't be taken in now waits.
        let _ = writer.take_in_mail();
        Ok((writer, opening))
    }

    /// Tells the index that a log may grow from here on. The mark of one that could not be opened goes with the next list.
    fn mark_live(&self, id: &SessionId) {
        self.shared.indexer.tell(|index| Ok(index.mark_live(id, std::process::id())?));
    }

    /// What was not as it should be with the index, in words; told once.
    #[must_use]
    pub fn notices(&self) -> Vec<String> {
        self.shared.indexer.take_notices()
    }

    /// Whether there is a session with this id.
    #[must_use]
    pub fn contains(&self, id: &SessionId) -> bool {
        self.disk().open(&self.shared.home.session(id).join(LOG_FILE), OpenMode::Read).is_ok()
    }

    /// All ids, sorted.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn ids(&self) -> Result<Vec<SessionId>> {
        list::ids(self.disk(), &self.shared.home)
    }

    /// Reads a session's events. Takes no lock; the session may be written meanwhile.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], also for one whose creation never finished; [`Error::Log`].
    pub fn read(&self, id: &SessionId) -> Result<EventReader> {
        if self.reader(id)?.next_found()?.is_none() {
            return Err(Error::SessionNotFound { query: id.to_string(), similar: Vec::new() });
        }
        self.reader(id)
    }

    /// As [`Store::read`], but a session whose creation never finished reads as empty.
    pub(crate) fn reader(&self, id: &SessionId) -> Result<EventReader> {
        EventReader::open(self.disk(), &self.shared.home.session(id), id)
    }

    /// Folds a session. Memory follows the live context and the transcript, not the log's length.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::Log`].
    pub fn replay(&self, id: &SessionId) -> Result<Replay> {
        Replay::of(self.disk(), &self.shared.home.session(id), id)
    }

    /// Reads at most `limit_bytes` of a session's blob.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn blob(&self, id: &SessionId, name: &str, offset: u64, limit_bytes: usize) -> Result<Vec<u8>> {
        let dir = self.shared.home.session(id);
        blobs::read(self.disk(), &dir, name, offset, limit_bytes).map_err(|e| Error::io("read blob", name, e))
    }

    /// Verifies a session: every line, link, seal and blob. Takes no lock and changes nothing.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::Log`]. What is wrong with the session is no error.
    pub fn verify(&self, id: &SessionId) -> Result<Verification> {
        inspect::verify(self.disk(), &self.shared.home.session(id), id)
    }

    /// What a repair of a damaged session would keep and lose. Changes nothing.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::Log`].
    pub fn repair_plan(&self, id: &SessionId) -> Result<SalvagePlan> {
        annals_log::salvage_plan(self.disk(), &self.shared.home.session(id))
            .map_err(|e| Error::from_log(id, e))
    }

    /// Replaces a damaged session's log by what is whole of it. The original is kept beside it.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::SessionBusy`], [`Error::Log`].
    ///
    /// # Durability
    /// The original and the repaired log are durable when this returns.
    pub fn repair(&self, id: &SessionId) -> Result<Salvage> {
        let options = self.shared.log_options(Durability::Strict);
        let salvaged = annals_log::salvage(self.disk(), &self.shared.home.session(id), &options)
            .map_err(|e| Error::from_log(id, e))?;
        let original = salvaged.original.display().to_string();
        if let Err(error) = self.note_operation(Action::Repair { session: id.clone(), original }) {
            self.shared.indexer.note(format!("the repair is not in the operations log: {error}"));
        }
        Ok(salvaged)
    }
}
