//! A log on a simulated disk, and the model in memory that it must agree with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use annals_log::disk::Disk;
use annals_log::{Durability, Error, Item, Log, Options, Promise, Reader, Runway, Tail};
use annals_model::Draft;
use annals_testkit::clock::FixedClock;
use annals_testkit::rng::Rng;
use annals_testkit::sim::SimDisk;

/// What is wrong, in words.
pub(crate) type Verdict<T = ()> = Result<T, String>;

/// One line as the model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) kind: String,
    pub(crate) data: String,
}

/// The model: what the log holds for certain, and what may follow it.
pub(crate) struct World {
    pub(crate) disk: SimDisk,
    pub(crate) options: Options,
    /// What an earlier open found: it must be there for ever.
    pub(crate) settled: Vec<Entry>,
    /// What was submitted since, by position; each text is used once, so that one that comes back from the dead is recognised.
    pub(crate) submitted: Vec<Entry>,
    /// How many events are acknowledged as durable.
    pub(crate) durable: u64,
    /// How many events are acknowledged as written.
    pub(crate) written: u64,
    pub(crate) counter: u64,
    pub(crate) began: bool,
}

pub(crate) fn dir() -> PathBuf {
    PathBuf::from("/home/sessions/s")
}

pub(crate) fn log_path() -> PathBuf {
    dir().join(annals_log::LOG_FILE)
}

impl World {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let durability = match rng.below(4) {
            0 => Durability::Barrier,
            1 => Durability::Os,
            _ => Durability::Strict,
        };
        let runway = match rng.below(3) {
            0 => Runway::Off,
            1 => Runway::Bytes(700),
            _ => Runway::Bytes(4096),
        };
        Self::with(durability, runway)
    }

    pub(crate) fn with(durability: Durability, runway: Runway) -> Self {
        let mut options = Options::new(Arc::new(FixedClock::default())).durability(durability).runway(runway);
        // Both ways of opening what was closed cleanly: by its last lines, and in full.
        options.check_up_to_bytes = if matches!(runway, Runway::Bytes(_)) { 0 } else { 2000 };
        // A log makes durable its directory and the two above it; what is above those is its caller's.
        let disk = SimDisk::new();
        disk.create_dirs(Path::new("/home")).unwrap();
        disk.sync_dir(Path::new("/")).unwrap();
        Self {
            disk,
            options,
            settled: Vec::new(),
            submitted: Vec::new(),
            durable: 0,
            written: 0,
            counter: 0,
            began: false,
        }
    }

    fn text(&mut self, len: usize) -> String {
        self.counter += 1;
        format!("{{\"n\":{},\"pad\":\"{}\"}}", self.counter, "x".repeat(len))
    }

    /// Creates the log. An error is one of the disk, and the log is then not there.
    pub(crate) fn create(&mut self) -> Result<Log, Error> {
        let data = format!("{{\"format\":1,\"n\":{}}}", self.counter);
        self.counter += 1;
        let first = Draft { ts: self.options.clock.now(), turn: None, kind: "session_started", data: &data };
        let before = std::mem::replace(
            &mut self.submitted,
            vec![Entry { kind: "session_started".into(), data: data.clone() }],
        );
        let created = Log::create(&self.disk, &dir(), self.options.clone(), 0, &first);
        if matches!(created, Err(Error::AlreadyExists { .. })) {
            // An earlier attempt failed after its event had been written: it may stand there.
            self.submitted = before;
        }
        let log = created?;
        self.durable = 1;
        self.written = 1;
        self.began = true;
        Ok(log)
    }

    /// Appends `count` events, in one call or in several that wait together.
    pub(crate) fn append(&mut self, log: &Log, count: u64, len: usize, together: bool) -> Result<(), Error> {
        // What failed is not in the log: its positions are taken again.
        self.forget_unwritten(log.next_seq());
        let texts: Vec<String> = (0..count).map(|_| self.text(len)).collect();
        let ts = self.options.clock.now();
        let drafts: Vec<Draft<'_>> =
            texts.iter().map(|data| Draft { ts, turn: None, kind: "user_message", data }).collect();
        self.submitted.extend(texts.iter().map(|t| Entry { kind: "user_message".into(), data: t.clone() }));
        if together {
            let ack = log.commit(&drafts)?;
            self.note(ack.seq, ack.promise);
        } else {
            let tickets: Vec<_> = drafts.iter().map(|d| log.append(std::slice::from_ref(d))).collect();
            let mut failed = None;
            for ticket in tickets {
                match ticket.and_then(|t| t.wait()) {
                    Ok(ack) => self.note(ack.seq, ack.promise),
                    Err(e) => failed = Some(e),
                }
            }
            if let Some(e) = failed {
                return Err(e);
            }
        }
        Ok(())
    }

    fn note(&mut self, seq: u64, promise: Promise) {
        self.written = self.written.max(seq + 1);
        if promise == Promise::Durable {
            self.durable = self.durable.max(seq + 1);
        }
    }

    /// Lines that the log wrote by itself, or whose write failed, are brought into the model from what stands there.
    pub(crate) fn forget_unwritten(&mut self, next_seq: u64) {
        let base = self.settled.len() as u64;
        let want = usize::try_from(next_seq.saturating_sub(base)).unwrap();
        self.submitted.truncate(want);
        while self.submitted.len() < want {
            self.submitted.push(Entry { kind: "sealed".into(), data: String::new() });
        }
    }

    pub(crate) fn all_durable(&mut self, log: &Log) {
        self.durable = self.durable.max(log.next_seq());
    }

    /// Checks that what is read agrees with the model. `survived`: events that must be there.
    pub(crate) fn check(&self, found: &[Entry], survived: u64) -> Verdict {
        let must = survived.max(self.settled.len() as u64);
        if (found.len() as u64) < must {
            return Err(format!("{must} events were acknowledged, {} are there", found.len()));
        }
        for (seq, entry) in found.iter().enumerate() {
            let own = matches!(entry.kind.as_str(), "sealed" | "closed" | "repaired");
            let base = self.settled.len();
            if seq < base {
                if *entry != self.settled[seq] {
                    return Err(format!("event {seq} was {:?}, is {entry:?}", self.settled[seq]));
                }
            } else if !own && self.submitted.get(seq - base) != Some(entry) {
                return Err(format!(
                    "event {seq} is {:.60}, but {:.60?} was submitted there",
                    entry.data,
                    self.submitted.get(seq - base).map(|e| e.data.clone())
                ));
            }
        }
        Ok(())
    }
}

/// Reads a log without the lock: its lines, what stands behind them, and the first damage.
pub(crate) fn read(disk: &dyn Disk, dir: &Path) -> Verdict<(Vec<Entry>, Tail)> {
    let mut reader = match Reader::open(disk, dir) {
        Ok(reader) => reader,
        Err(Error::NotFound { .. }) => return Ok((Vec::new(), Tail::Clean)),
        Err(e) => return Err(format!("can't be read: {e}")),
    };
    let mut entries = Vec::new();
    while let Some(item) = reader.next_item().map_err(|e| e.to_string())? {
        match item {
            Item::Line { line, .. } => entries.push(Entry {
                kind: line.kind.to_owned(),
                data: String::from_utf8(line.data.to_vec()).unwrap(),
            }),
            Item::Gap(damage) => return Err(format!("a crash was called damage: {damage:?}")),
        }
    }
    Ok((entries, reader.tail()))
}

/// Opens a log after a crash, checks it against the model, and makes what it holds the settled part.
pub(crate) fn recover(world: &mut World, survived: u64) -> Verdict<Option<Log>> {
    let disk = world.disk.clone();
    let (before, tail) = read(&disk, &dir())?;
    if world.began || !before.is_empty() {
        world.check(&before, survived)?;
    }
    let torn = torn_files(&disk);
    let held = match tail {
        Tail::Unfinished { offset, .. } => holds_something(&disk.contents(&log_path()).unwrap(), offset),
        Tail::Clean => false,
    };
    match Log::open(&disk, &dir(), world.options.clone(), None) {
        Ok((log, opening)) => {
            let (after, _) = read(&disk, &dir())?;
            if after.len() < before.len() || after[..before.len()] != before[..] {
                return Err("opening changed what was readable".to_owned());
            }
            world.check(&after, survived)?;
            // Judged by the raw bytes, not by the reader: nothing of an earlier life may lie behind an opened log.
            let image = disk.contents(&log_path()).unwrap();
            let lines: usize =
                image.split_inclusive(|b| *b == b'\n').take(after.len()).map(<[u8]>::len).sum();
            if image[lines..].iter().any(|b| *b != b'\n') {
                return Err("an opened log has something behind its last line".to_owned());
            }
            if held && (opening.repair.is_none() || torn_files(&disk) == torn) {
                return Err("torn bytes were not kept".to_owned());
            }
            world.settled = after;
            world.submitted.clear();
            world.began = true;
            world.durable = log.next_seq();
            world.written = world.durable;
            Ok(Some(log))
        }
        Err(Error::NotFound { .. } | Error::NeverBegan { .. }) if !world.began => Ok(None),
        Err(e) => Err(format!("can't be opened: {e}")),
    }
}

fn torn_files(disk: &SimDisk) -> usize {
    let entries = disk.list(&dir()).unwrap_or_default();
    entries.iter().filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("torn-"))).count()
}

fn holds_something(image: &[u8], offset: u64) -> bool {
    image[usize::try_from(offset).unwrap()..].iter().any(|b| *b != 0 && *b != b'\n')
}
