//! The store on a disk that stops at every call and then loses what was not synced.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use annals::import::{Imported, Progress};
use annals::interop::claude_code::{Environment, discover};
use annals::log::Durability;
use annals::log::disk::Disk;
use annals::model::payload::{Attachment, MessageKind, UserMessage};
use annals::model::{Payload, SessionId};
use annals::{Error, Found, NewEvent, NewSession, Store};
use annals_testkit::rng::Rng;
use annals_testkit::sim::{Call, Fault, FaultAt, SimDisk};

use crate::import::{branched, lines};
use crate::support::options;

/// How many power cuts are tried after each stop, besides a mere kill.
pub(crate) const CUTS: u64 = 4;

/// Nothing of this name is on the real disk.
pub(crate) const HOME: &str = "/no-such-place/of-annals/home";

struct Silent;

impl Progress for Silent {
    fn started(&mut self, _files: u64, _bytes: u64) {}
    fn advanced(&mut self, _bytes: u64) {}
}

pub(crate) fn store(disk: &SimDisk, durability: Durability) -> Store {
    let mut options = options(Path::new(HOME));
    options.disk = Arc::new(disk.clone());
    options.indexing = annals::Indexing::InMemory;
    options.durability = durability;
    Store::open(options).unwrap()
}

fn import(disk: &SimDisk, source: &Path) -> Imported {
    let found = discover(Some(source), &Environment::default()).unwrap();
    store(disk, Durability::Strict).import(&found, &mut Silent)
}

pub(crate) fn stop_at(disk: &SimDisk, n: u64) {
    disk.fail(FaultAt { call: None, n, fault: Fault::Stop });
}

/// What a kill, and what power cuts leave of a disk.
pub(crate) fn aftermaths(disk: &SimDisk, seed: u64) -> Vec<SimDisk> {
    let mut rng = Rng::new(seed);
    let mut all = vec![disk.kill()];
    all.extend((0..CUTS).map(|_| disk.crash(&mut rng)));
    all
}

/// A session without positions, times and the log's own lines: what was imported, what the model would see, the raw bytes kept.
#[derive(Debug, PartialEq)]
struct Content {
    made: Vec<String>,
    seen: Vec<String>,
    kept: Vec<u8>,
}

fn content(store: &Store, id: &SessionId) -> Content {
    let mut reader = store.read(id).unwrap();
    let (mut made, mut kept) = (Vec::new(), Vec::new());
    while let Some(found) = reader.next_found().unwrap() {
        let Found::Event(event) = found else { panic!("{found:?}") };
        match event.payload {
            Payload::SourceRecorded(recorded) => {
                for chunk in recorded.chunks {
                    assert_eq!(chunk.at, kept.len() as u64);
                    kept.extend(store.blob(id, &chunk.blob, 0, usize::MAX).unwrap());
                }
            }
            Payload::Sealed(_) | Payload::Closed(_) | Payload::Repaired(_) => {}
            // Its position may differ; what it does is compared in `seen`.
            Payload::Rewound(_) => made.push("rewound".to_owned()),
            payload => made.push(format!("{payload:?}")),
        }
    }
    let state = store.replay(id).unwrap().state;
    let seen = state.context.items().iter().map(|(_, item)| format!("{item:?}")).collect();
    Content { made, seen, kept }
}

fn check_import(disk: &SimDisk, source: &Path, expected: &Content, case: &str) {
    let again = import(disk, source);
    assert!(again.failed.is_empty(), "{case}: {:?}", again.failed);
    let store = store(disk, Durability::Strict);
    let id: SessionId = "cut".parse().unwrap();
    assert_eq!(store.ids().unwrap(), std::slice::from_ref(&id), "{case}");
    assert_eq!(&content(&store, &id), expected, "{case}");
    let problems = store.verify(&id).unwrap().problems;
    assert!(problems.is_empty(), "{case}: {problems:?}");
    assert_eq!(import(disk, source).unchanged, 1, "{case}");
}

/// What an event refers to is kept before the event: the source may be gone when the import would go on.
fn check_raw_bytes(disk: &SimDisk, source: &[u8], case: &str) {
    let id: SessionId = "cut".parse().unwrap();
    let Ok(mut reader) = store(disk, Durability::Strict).read(&id) else { return };
    let names = disk.list(&Path::new(HOME).join("sessions/cut/blobs")).unwrap_or_default();
    let blobs: Vec<Vec<u8>> = names.iter().filter_map(|name| disk.contents(name)).collect();
    while let Some(found) = reader.next_found().unwrap() {
        let Found::Event(event) = found else { panic!("{case}: {found:?}") };
        let data: serde_json::Value = serde_json::from_str(&event.payload.to_data().unwrap()).unwrap();
        let place = |key: &str| usize::try_from(data["src"][key].as_u64()?).ok();
        if let (Some(at), Some(len)) = (place("at"), place("len")) {
            let raw = &source[at..at + len];
            let kept = blobs.iter().any(|blob| memchr::memmem::find(blob, raw).is_some());
            assert!(kept, "{case}: the bytes of event {} are nowhere", event.seq);
        }
    }
}

/// A conversation with a picture in it.
fn source() -> Vec<serde_json::Value> {
    let mut records = branched("cut");
    let picture = serde_json::json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "Zm9vYmFy"}});
    records[4]["message"]["content"] =
        serde_json::json!([{"type": "text", "text": "second, instead"}, picture]);
    records
}

/// REL-1: an import stopped at any call, then a kill or a power cut, goes on where it stopped: nothing doubled, nothing lost.
#[test]
fn an_import_survives_a_stop_at_every_call() {
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("cut.jsonl");
    let records = source();
    let mut states = 0;
    for first in [0, 4, 6] {
        let begun = SimDisk::new();
        if first > 0 {
            std::fs::write(&path, lines(&records[..first])).unwrap();
            assert_eq!(import(&begun, &path).imported, 1);
        }
        std::fs::write(&path, lines(&records)).unwrap();
        let whole = begun.kill();
        assert_eq!(import(&whole, &path).imported, 1);
        let expected = content(&store(&whole, Durability::Strict), &"cut".parse().unwrap());
        assert_eq!(expected.kept, lines(&records));
        for n in 0.. {
            let disk = begun.kill();
            stop_at(&disk, n);
            let stopped = import(&disk, &path);
            for (m, after) in aftermaths(&disk, n).iter().enumerate() {
                let case = format!("{first} records, stop at {n}, aftermath {m}");
                check_raw_bytes(after, &expected.kept, &case);
                check_import(after, &path, &expected, &case);
                states += 1;
            }
            if stopped.failed.is_empty() {
                // Told as done: nothing is left to import, whatever the power does.
                for after in aftermaths(&disk, n) {
                    assert_eq!(import(&after, &path).unchanged, 1);
                }
                break;
            }
        }
    }
    println!("{states} states after a stop of an import");
    assert!(states > 300);
}

/// An import stopped again and again comes to its end.
#[test]
fn an_import_may_be_stopped_again_and_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.jsonl");
    std::fs::write(&path, lines(&source())).unwrap();
    let whole = SimDisk::new();
    import(&whole, &path);
    let expected = content(&store(&whole, Durability::Strict), &"cut".parse().unwrap());
    for seed in 0..150 {
        let mut rng = Rng::new(seed);
        let mut disk = SimDisk::new();
        for _ in 0..rng.below(6) {
            stop_at(&disk, rng.below(45));
            import(&disk, &path);
            disk = if rng.one_in(2) { disk.kill() } else { disk.crash(&mut rng) };
        }
        check_import(&disk, &path, &expected, &format!("seed {seed}"));
    }
}

fn with_picture(n: u64, blob: String) -> NewEvent {
    let attachment =
        Attachment { media_type: "image/png".to_owned(), blob: Some(blob), ..Attachment::default() };
    let kind = MessageKind::Prompt;
    let text = format!("prompt {n}");
    Payload::from(UserMessage { kind, text, sent: None, attachments: vec![attachment], src: None }).into()
}

/// Begins a session in a new home and appends until the disk stops. Says how many prompts were acknowledged; None when not even the
/// session was.
fn use_it(disk: &SimDisk, durability: Durability) -> Option<u64> {
    let id = Some("one".parse().unwrap());
    let session = store(disk, durability).create(NewSession { id, ..NewSession::default() }).ok()?;
    let mut acknowledged = 0;
    let mut go = |n: u64| -> Result<(), Error> {
        // Two of three are the same picture.
        let blob = session.put_blob(format!("picture {}", n / 2).as_bytes())?;
        session.append(&[with_picture(n, blob)])?;
        acknowledged += 1;
        Ok(())
    };
    let stopped = (0..4).try_for_each(&mut go).is_err();
    if !stopped {
        let _ = session.close();
    }
    Some(acknowledged)
}

/// LOG-5: what was acknowledged is there after any power cut, with the blobs that it refers to, from the first session of a new home on.
#[test]
fn what_was_acknowledged_is_there_with_its_blobs() {
    let mut states = 0;
    for durability in [Durability::Strict, Durability::Barrier] {
        for n in 0.. {
            let disk = SimDisk::new();
            stop_at(&disk, n);
            let acknowledged = use_it(&disk, durability);
            for (m, after) in aftermaths(&disk, n).iter().enumerate() {
                let case = format!("{durability}, stop at {n}, aftermath {m}");
                check_used(after, acknowledged, &case);
                states += 1;
            }
            disk.heal();
            if disk.changes() <= n {
                break;
            }
        }
    }
    println!("{states} states after a stop of a session");
    assert!(states > 300);
}

fn check_used(disk: &SimDisk, acknowledged: Option<u64>, case: &str) {
    let store = store(disk, Durability::Strict);
    let id: SessionId = "one".parse().unwrap();
    match store.open_writer(&id) {
        Ok((session, _)) => {
            session.append(&[with_picture(99, session.put_blob(b"picture 0").unwrap())]).unwrap();
            session.close().unwrap();
        }
        Err(Error::SessionNotFound { .. }) if acknowledged.is_none() => return,
        Err(error) => panic!("{case}: {error}"),
    }
    let problems = store.verify(&id).unwrap().problems;
    assert!(problems.is_empty(), "{case}: {problems:?}");
    let entries = store.replay(&id).unwrap().state.transcript.entries();
    let texts: Vec<&str> = entries.iter().map(|e| e.text.as_str()).collect();
    let (last, before) = texts.split_last().unwrap();
    assert_eq!(*last, "prompt 99");
    // All that was acknowledged, in order, and at most the one that was under way.
    let least = usize::try_from(acknowledged.unwrap_or(0)).unwrap();
    assert!((least..=least + 1).contains(&before.len()), "{case}: {texts:?}");
    for (n, text) in before.iter().enumerate() {
        assert_eq!(*text, format!("prompt {n}"), "{case}");
    }
}

/// A blob got its name, and the process was killed before the name was durable. The next one finds the blob there: before an event
/// refers to it, the name is made durable.
#[test]
fn a_blob_that_was_there_already_is_durable_too() {
    let disk = SimDisk::new();
    let id: SessionId = "one".parse().unwrap();
    let new = NewSession { id: Some(id.clone()), ..NewSession::default() };
    let session = store(&disk, Durability::Strict).create(new).unwrap();
    session.put_blob(b"another").unwrap();
    disk.fail(FaultAt { call: Some(Call::SyncDir), n: 0, fault: Fault::Stop });
    session.put_blob(b"picture").unwrap_err();
    let disk = disk.kill();
    let (session, _) = store(&disk, Durability::Strict).open_writer(&id).unwrap();
    let blob = session.put_blob(b"picture").unwrap();
    session.append(&[with_picture(0, blob)]).unwrap();
    let mut rng = Rng::new(1);
    for cut in 0..20 {
        let problems = store(&disk.crash(&mut rng), Durability::Strict).verify(&id).unwrap().problems;
        assert!(problems.is_empty(), "cut {cut}: {problems:?}");
    }
}

/// A disk that is full, or fails once, at any call: an error, and nothing acknowledged is lost.
#[test]
fn errors_at_any_call_lose_nothing() {
    for fault in [Fault::Error, Fault::NoSpace, Fault::Partial(7), Fault::Interrupted] {
        for n in 0..60 {
            let disk = SimDisk::new();
            disk.fail(FaultAt { call: None, n, fault });
            let acknowledged = use_it(&disk, Durability::Strict);
            disk.heal();
            check_used(&disk.kill(), acknowledged, &format!("{fault:?} at {n}"));
        }
    }
}
