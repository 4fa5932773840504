//! The store: all sessions of a data directory.

use annals_log::disk::{Disk, OpenMode};
use annals_log::{Durability, LOG_FILE, Log, Opening, Options, Salvage, SalvagePlan};
use annals_model::payload::SessionStarted;
use annals_model::{Draft, FORMAT, SessionId, Timestamp};

use crate::error::{Error, Result};
use crate::home::{Home, tighten};
use crate::inspect::{self, Verification};
use crate::list::{self, Listing, Summary};
use crate::options::StoreOptions;
use crate::reading::{EventReader, Replay};
use crate::session::SessionWriter;
use crate::{blobs, resolve};

/// All sessions of a data directory.
#[derive(Debug)]
pub struct Store {
    home: Home,
    options: StoreOptions,
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
        Ok(Self { home, options })
    }

    /// The data directory.
    #[must_use]
    pub fn home(&self) -> &std::path::Path {
        self.home.root()
    }

    pub(crate) fn session_dir(&self, id: &SessionId) -> std::path::PathBuf {
        self.home.session(id)
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        self.options.disk.as_ref()
    }

    fn log_options(&self, durability: Durability) -> Options {
        let mut options = Options::new(self.options.clock.clone()).durability(durability);
        options.program.clone_from(&self.options.program);
        options
    }

    fn writer(&self, id: SessionId, log: Log) -> SessionWriter {
        let dir = self.home.session(&id);
        SessionWriter::new(id, dir, log, self.options.disk.clone(), self.options.clock.clone())
    }

    /// Begins a session.
    ///
    /// # Errors
    /// [`Error::SessionExists`], [`Error::SessionBusy`], [`Error::Log`], [`Error::Io`].
    ///
    /// # Durability
    /// The session is durable when this returns, at any level.
    pub fn create(&self, new: NewSession) -> Result<SessionWriter> {
        self.create_with(new, self.options.durability)
    }

    pub(crate) fn create_with(&self, new: NewSession, durability: Durability) -> Result<SessionWriter> {
        let now = self.options.clock.now();
        let id = new.id.unwrap_or_else(|| SessionId::generate(now, self.options.random.four()));
        self.home.prepare(self.disk())?;
        let started = SessionStarted { format: FORMAT, ..new.started };
        let data =
            serde_json::to_string(&started).map_err(|e| Error::InvalidEvent { reason: e.to_string() })?;
        let first = Draft { ts: new.ts.unwrap_or(now), turn: None, kind: "session_started", data: &data };
        let dir = self.home.session(&id);
        let log = Log::create(self.disk(), &dir, self.log_options(durability), 0, &first)
            .map_err(|e| Error::from_log(&id, e))?;
        Ok(self.writer(id, log))
    }

    /// Opens a session for writing. What a crash left behind the last whole event is cut off and kept aside.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::SessionBusy`], [`Error::Corrupt`], [`Error::Newer`], [`Error::Log`].
    ///
    /// # Durability
    /// Everything that the opened session holds is durable when this returns.
    pub fn open_writer(&self, id: &SessionId) -> Result<(SessionWriter, Opening)> {
        self.open_writer_with(id, self.options.durability)
    }

    pub(crate) fn open_writer_with(
        &self,
        id: &SessionId,
        durability: Durability,
    ) -> Result<(SessionWriter, Opening)> {
        let dir = self.home.session(id);
        let opened = Log::open(self.disk(), &dir, self.log_options(durability), None);
        let (log, opening) = opened.map_err(|e| Error::from_log(id, e))?;
        self.home.tighten()?;
        tighten(&dir)?;
        tighten(&dir.join(LOG_FILE))?;
        Ok((self.writer(id.clone(), log), opening))
    }

    /// Whether there is a session with this id.
    #[must_use]
    pub fn contains(&self, id: &SessionId) -> bool {
        self.disk().open(&self.home.session(id).join(LOG_FILE), OpenMode::Read).is_ok()
    }

    /// Every session, newest first.
    ///
    /// # Errors
    /// [`Error::Io`] when the data directory can't be read. A bad session is no error: it is counted as hidden.
    pub fn list(&self) -> Result<Listing> {
        list::list(self.disk(), &self.home)
    }

    /// One session as a list shows it.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`] when there is none, or none of it is legible.
    pub fn summary(&self, id: &SessionId) -> Result<Summary> {
        list::summary(self.disk(), &self.home, id)
            .map_err(|_| Error::SessionNotFound { query: id.to_string(), similar: Vec::new() })
    }

    /// All ids, sorted.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn ids(&self) -> Result<Vec<SessionId>> {
        list::ids(self.disk(), &self.home)
    }

    /// The session that is meant: an id, a unique beginning or end of one (4 characters or more), or `latest`.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::Ambiguous`], [`Error::InvalidId`].
    pub fn resolve(&self, query: &str) -> Result<SessionId> {
        resolve::resolve(self.disk(), &self.home, query)
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
        EventReader::open(self.disk(), &self.home.session(id), id)
    }

    /// Folds a session. Memory follows the live context and the transcript, not the log's length.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::Log`].
    pub fn replay(&self, id: &SessionId) -> Result<Replay> {
        Replay::of(self.disk(), &self.home.session(id), id)
    }

    /// Reads at most `limit_bytes` of a session's blob.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn blob(&self, id: &SessionId, name: &str, offset: u64, limit_bytes: usize) -> Result<Vec<u8>> {
        let dir = self.home.session(id);
        blobs::read(self.disk(), &dir, name, offset, limit_bytes).map_err(|e| Error::io("read blob", name, e))
    }

    /// Verifies a session: every line, link, seal and blob. Takes no lock and changes nothing.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::Log`]. What is wrong with the session is no error.
    pub fn verify(&self, id: &SessionId) -> Result<Verification> {
        inspect::verify(self.disk(), &self.home.session(id), id)
    }

    /// What a repair of a damaged session would keep and lose. Changes nothing.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::Log`].
    pub fn repair_plan(&self, id: &SessionId) -> Result<SalvagePlan> {
        annals_log::salvage_plan(self.disk(), &self.home.session(id)).map_err(|e| Error::from_log(id, e))
    }

    /// Replaces a damaged session's log by what is whole of it. The original is kept beside it.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::SessionBusy`], [`Error::Log`].
    ///
    /// # Durability
    /// The original and the repaired log are durable when this returns.
    pub fn repair(&self, id: &SessionId) -> Result<Salvage> {
        let options = self.log_options(Durability::Strict);
        annals_log::salvage(self.disk(), &self.home.session(id), &options).map_err(|e| Error::from_log(id, e))
    }
}
