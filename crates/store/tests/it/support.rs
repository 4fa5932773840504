//! A store in a directory of its own, with a clock and dice that count.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use annals::log::Durability;
use annals::log::disk::{Disk, DiskFile, OpenMode, OsDisk};
use annals::model::event::Event;
use annals::model::payload::{AssistantMessage, MessageKind, Outcome, Part, TurnEnded, UserMessage};
use annals::model::{Clock, Payload, SessionId, Timestamp};
use annals::{Found, NewEvent, NewSession, Random, SessionWriter, Store, StoreOptions};

/// A second per question.
#[derive(Default)]
struct Counting(AtomicI64);

impl Clock for Counting {
    fn now(&self) -> Timestamp {
        let n = self.0.fetch_add(1, Ordering::Relaxed);
        Timestamp::parse(&format!(
            "2026-11-{:02}T{:02}:{:02}:{:02}Z",
            1 + n / 86400,
            n / 3600 % 24,
            n / 60 % 60,
            n % 60
        ))
        .unwrap()
    }
}

#[derive(Default)]
struct Dice(AtomicU32);

impl Random for Dice {
    fn four(&self) -> [u8; 4] {
        self.0.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b1).to_be_bytes()
    }
}

pub(crate) fn options(home: &Path) -> StoreOptions {
    StoreOptions::new(home.to_owned(), Arc::new(Counting::default()), Arc::new(Dice::default()))
}

pub(crate) struct Fixture {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) store: Store,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut StoreOptions)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut options = options(&dir.path().join("home"));
        change(&mut options);
        let store = Store::open(options).unwrap();
        Self { dir, store }
    }

    pub(crate) fn at(durability: Durability) -> Self {
        Self::with(|o| o.durability = durability)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn log_of(&self, id: &SessionId) -> PathBuf {
        self.home().join("sessions").join(id.as_str()).join("events.jsonl")
    }

    pub(crate) fn create(&self, id: &str) -> SessionWriter {
        let id = Some(SessionId::parse(id).unwrap());
        self.store.create(NewSession { id, ..NewSession::default() }).unwrap()
    }

    /// A closed session with one prompt and one answer.
    pub(crate) fn conversation(&self, id: &str, text: &str) -> SessionId {
        let session = self.create(id);
        session.append(&[prompt(text), answer("done")]).unwrap();
        session.close().unwrap();
        SessionId::parse(id).unwrap()
    }

    pub(crate) fn events(&self, id: &SessionId) -> Vec<Event> {
        let mut reader = self.store.read(id).unwrap();
        let mut events = Vec::new();
        while let Some(found) = reader.next_found().unwrap() {
            match found {
                Found::Event(event) => events.push(event),
                other => panic!("{other:?}"),
            }
        }
        events
    }

    pub(crate) fn kinds(&self, id: &SessionId) -> Vec<String> {
        self.events(id).iter().map(|e| e.payload.kind().to_owned()).collect()
    }
}

pub(crate) fn prompt(text: &str) -> NewEvent {
    let kind = MessageKind::Prompt;
    let message = UserMessage { kind, text: text.to_owned(), sent: None, attachments: Vec::new(), src: None };
    Payload::from(message).into()
}

pub(crate) fn answer(text: &str) -> NewEvent {
    let message =
        AssistantMessage { parts: vec![Part::Text { text: text.to_owned() }], ..AssistantMessage::default() };
    Payload::from(message).into()
}

pub(crate) fn turn_ended() -> NewEvent {
    Payload::from(TurnEnded { outcome: Outcome::Completed, error: None, duration_ms: None, src: None }).into()
}

/// The real disk, counting what is asked of it; refuses syncs of files, and does something before a writer's lock is taken, on request.
#[derive(Debug, Default, Clone)]
pub(crate) struct Watched {
    pub(crate) seen: Arc<Seen>,
}

#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) before_lock: std::sync::Mutex<Option<Box<dyn FnOnce() + Send>>>,
    pub(crate) bytes_read: std::sync::atomic::AtomicU64,
    pub(crate) file_syncs: AtomicU32,
    pub(crate) refuse_syncs: std::sync::atomic::AtomicBool,
    pub(crate) dir_syncs: std::sync::Mutex<Vec<PathBuf>>,
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seen").finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct WatchedFile(Box<dyn DiskFile>, Arc<Seen>);

impl Disk for Watched {
    fn open(&self, path: &Path, mode: OpenMode) -> std::io::Result<Box<dyn DiskFile>> {
        if mode == OpenMode::CreateOrOpen && path.ends_with("writer.lock") {
            let before = self.seen.before_lock.lock().unwrap().take();
            before.into_iter().for_each(|before| before());
        }
        Ok(Box::new(WatchedFile(OsDisk.open(path, mode)?, self.seen.clone())))
    }
    fn create_dirs(&self, path: &Path) -> std::io::Result<()> {
        OsDisk.create_dirs(path)
    }
    fn sync_dir(&self, path: &Path) -> std::io::Result<()> {
        self.seen.dir_syncs.lock().unwrap().push(path.to_owned());
        OsDisk.sync_dir(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        OsDisk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> std::io::Result<()> {
        OsDisk.remove(path)
    }
    fn remove_dir(&self, path: &Path) -> std::io::Result<()> {
        OsDisk.remove_dir(path)
    }
    fn hard_link(&self, from: &Path, to: &Path) -> std::io::Result<()> {
        OsDisk.hard_link(from, to)
    }
    fn metadata(&self, path: &Path) -> std::io::Result<annals_log::disk::Stat> {
        OsDisk.metadata(path)
    }
    fn list(&self, path: &Path) -> std::io::Result<Vec<PathBuf>> {
        OsDisk.list(path)
    }
}

impl DiskFile for WatchedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let read = self.0.read_at(buf, offset)?;
        self.1.bytes_read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> std::io::Result<usize> {
        self.0.write_at(buf, offset)
    }
    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.0.set_len(len)
    }
    fn len(&self) -> std::io::Result<u64> {
        self.0.len()
    }
    fn sync(&self) -> std::io::Result<()> {
        if self.1.refuse_syncs.load(Ordering::Relaxed) {
            return Err(std::io::Error::other("refused"));
        }
        self.1.file_syncs.fetch_add(1, Ordering::Relaxed);
        self.0.sync()
    }
    fn try_lock(&self) -> std::io::Result<bool> {
        self.0.try_lock()
    }
}
