//! Imports: once, growing with their source, whatever cuts them short.

use std::fs;
use std::path::{Path, PathBuf};

use annals::import::{Imported, Progress};
use annals::interop::claude_code::{Environment, Found, discover, sample};
use annals::model::event::Event;
use annals::model::fold::State;
use annals::model::{Payload, SessionId};
use annals::{Error, Store};
use serde_json::{Value, json};

use crate::support::{Fixture, Watched, options, prompt};

#[derive(Default)]
struct Told {
    total: u64,
    done: u64,
}

impl Progress for Told {
    fn started(&mut self, _files: u64, bytes: u64) {
        // What was begun before is done.
        assert_eq!(self.done, self.total);
        (self.done, self.total) = (0, bytes);
    }
    fn advanced(&mut self, bytes: u64) {
        self.done += bytes;
    }
}

fn find(path: &Path) -> Found {
    discover(Some(path), &Environment::default()).unwrap()
}

fn import(store: &Store, path: &Path) -> Imported {
    let mut told = Told::default();
    let imported = store.import(&find(path), &mut told);
    assert_eq!(told.done, told.total);
    imported
}

fn clean(imported: &Imported) -> &Imported {
    assert!(imported.failed.is_empty(), "{:?}", imported.failed);
    imported
}

pub(crate) fn lines(records: &[Value]) -> Vec<u8> {
    records.iter().flat_map(|r| format!("{r}\n").into_bytes()).collect()
}

/// A conversation with a branch in it: the third prompt goes on from the first answer.
pub(crate) fn branched(session: &str) -> Vec<Value> {
    let record = |n: u32, parent: Option<u32>, kind: &str, content: Value| {
        let uuid = |n: u32| format!("{session}-{n}");
        let message = if kind == "user" {
            json!({"role": "user", "content": content})
        } else {
            json!({"id": format!("msg{n}"), "role": "assistant", "model": "claude-opus-4", "content": content,
                "usage": {"input_tokens": 1, "output_tokens": n}})
        };
        json!({"type": kind, "uuid": uuid(n), "parentUuid": parent.map(uuid), "sessionId": session,
            "cwd": "/w", "timestamp": format!("2026-10-01T00:00:{n:02}.000Z"), "message": message})
    };
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let calls = json!([{"type": "text", "text": "two calls"},
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
        {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "pwd"}}]);
    let results = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "a"},
        {"type": "tool_result", "tool_use_id": "t2", "content": "b"}]);
    vec![
        record(1, None, "user", json!("first")),
        record(2, Some(1), "assistant", text("answer one")),
        record(3, Some(2), "user", json!("second, abandoned")),
        record(4, Some(3), "assistant", text("answer two")),
        record(5, Some(2), "user", json!("second, instead")),
        record(6, Some(5), "assistant", calls),
        record(7, Some(6), "user", results),
        record(8, Some(7), "assistant", text("answer three")),
        record(9, Some(6), "user", json!("third, after the calls")),
        record(10, Some(9), "assistant", text("answer four")),
    ]
}

fn write(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(format!("{name}.jsonl"));
    fs::write(&path, bytes).unwrap();
    path
}

/// What an import made: its events without what the log wrote of its own.
fn made(f: &Fixture, id: &str) -> Vec<Payload> {
    let own = ["sealed", "closed", "repaired", "source_recorded", "session_started", "conversation_assigned"];
    let events = f.events(&id.parse().unwrap()).into_iter().map(|e| e.payload);
    events.filter(|p| !own.contains(&p.kind())).collect()
}

fn texts(f: &Fixture, id: &str) -> Vec<String> {
    let state = f.store.replay(&id.parse().unwrap()).unwrap().state;
    state.transcript.entries().into_iter().map(|e| e.text).collect()
}

/// The raw bytes that a session's imports kept, put together.
fn kept(f: &Fixture, id: &str) -> Vec<u8> {
    let id: SessionId = id.parse().unwrap();
    let mut bytes = Vec::new();
    for event in f.events(&id) {
        if let Payload::SourceRecorded(recorded) = event.payload {
            for chunk in recorded.chunks {
                assert_eq!(chunk.at, bytes.len() as u64);
                bytes.extend(f.store.blob(&id, &chunk.blob, 0, usize::MAX).unwrap());
            }
            assert_eq!(recorded.end, bytes.len() as u64);
        }
    }
    bytes
}

#[test]
fn an_import_is_done_once() {
    let f = Fixture::new();
    let source = lines(&sample::records(7, "abcd", 300));
    let path = write(f.dir.path(), "abcd", &source);
    let first = import(&f.store, &path);
    assert_eq!((clean(&first).imported, first.unchanged), (1, 0));
    assert_eq!(first.sessions[0].id.as_str(), "abcd");
    assert_eq!(first.sessions[0].records, 300);
    assert_eq!(kept(&f, "abcd"), source);
    let log = fs::read(f.log_of(&"abcd".parse().unwrap())).unwrap();
    let second = import(&f.store, &path);
    assert_eq!((clean(&second).imported, second.unchanged), (0, 1));
    // Touched, but not changed.
    fs::write(&path, &source).unwrap();
    let third = import(&f.store, &path);
    assert_eq!((clean(&third).imported, third.unchanged), (0, 1));
    assert_eq!(fs::read(f.log_of(&"abcd".parse().unwrap())).unwrap(), log);
    let summary = f.store.summary(&"abcd".parse().unwrap()).unwrap();
    assert_eq!(summary.source.as_deref(), Some("claude-code"));
    assert!(f.store.verify(&summary.id).unwrap().problems.is_empty());
}

#[test]
fn a_grown_source_adds_what_is_new() {
    let records = branched("grow");
    let whole = Fixture::new();
    clean(&import(&whole.store, &write(whole.dir.path(), "grow", &lines(&records))));
    for cut in 1..records.len() {
        let f = Fixture::new();
        let path = write(f.dir.path(), "grow", &lines(&records[..cut]));
        clean(&import(&f.store, &path));
        fs::write(&path, lines(&records)).unwrap();
        let second = import(&f.store, &path);
        assert_eq!(clean(&second).sessions[0].records, (records.len() - cut) as u64);
        assert_eq!(kept(&f, "grow"), lines(&records));
        assert_eq!(texts(&f, "grow"), texts(&whole, "grow"), "cut at {cut}");
        assert_eq!(made(&f, "grow").len(), made(&whole, "grow").len());
    }
}

/// A record that is being written is taken in when it is whole.
#[test]
fn an_unfinished_last_line_waits() {
    let f = Fixture::new();
    let source = lines(&branched("tail"));
    let cut = source.len() - 40;
    let path = write(f.dir.path(), "tail", &source[..cut]);
    let first = import(&f.store, &path);
    assert_eq!((clean(&first).sessions[0].records, first.problems.len()), (9, 1));
    fs::write(&path, &source).unwrap();
    assert_eq!(clean(&import(&f.store, &path)).sessions[0].records, 1);
    assert_eq!(kept(&f, "tail"), source);
}

#[test]
fn a_rewritten_source_becomes_a_session_of_its_own() {
    let f = Fixture::new();
    let path = write(f.dir.path(), "abcd", &lines(&sample::records(1, "abcd", 40)));
    clean(&import(&f.store, &path));
    let log = fs::read(f.log_of(&"abcd".parse().unwrap())).unwrap();
    let mut seen = vec!["abcd".to_owned()];
    for seed in 2..5 {
        // Once shorter, once longer, once about the same.
        fs::write(&path, lines(&sample::records(seed, "abcd", 10 + 30 * usize::try_from(seed % 3).unwrap())))
            .unwrap();
        let again = import(&f.store, &path);
        assert_eq!(clean(&again).imported, 1, "seed {seed}");
        let id = again.sessions[0].id.to_string();
        assert!(!seen.contains(&id), "{id}");
        seen.push(id);
        assert_eq!(clean(&import(&f.store, &path)).unchanged, 1);
    }
    assert_eq!(fs::read(f.log_of(&"abcd".parse().unwrap())).unwrap(), log);
}

#[test]
fn an_id_that_is_taken_is_left_alone() {
    let f = Fixture::new();
    f.conversation("abcd", "mine");
    let path = write(f.dir.path(), "abcd", &lines(&sample::records(1, "abcd", 40)));
    let imported = import(&f.store, &path);
    assert!(clean(&imported).sessions[0].id.as_str().starts_with("abcd."));
    assert_eq!(texts(&f, "abcd"), ["mine", "done"]);
    assert_eq!(clean(&import(&f.store, &path)).unchanged, 1);
}

/// Two files of the same size and time, under two directories, with one id.
#[test]
fn size_and_time_alone_make_no_file_the_same() {
    let f = Fixture::new();
    let (a, b) = (f.dir.path().join("src/a"), f.dir.path().join("src/b"));
    let source = String::from_utf8(lines(&branched("twin"))).unwrap();
    let time = fs::FileTimes::new()
        .set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1));
    for (dir, text) in [(&a, source.clone()), (&b, source.replace("answer four", "ANSWER FOUR"))] {
        fs::create_dir_all(dir).unwrap();
        let path = write(dir, "twin", text.as_bytes());
        fs::File::options().write(true).open(path).unwrap().set_times(time).unwrap();
    }
    let imported = import(&f.store, &f.dir.path().join("src"));
    assert_eq!((clean(&imported).imported, imported.unchanged), (2, 0));
}

#[test]
fn malformed_records_are_told_and_stop_nothing() {
    let f = Fixture::new();
    let mut source = lines(&branched("bad")[..4]);
    source.extend_from_slice(b"{\"type\":\"user\", broken\n\0\0\0\n[1]\n");
    source.extend(lines(&branched("bad")[4..]));
    let path = write(f.dir.path(), "bad", &source);
    let imported = import(&f.store, &path);
    assert_eq!((clean(&imported).sessions[0].malformed, imported.losses["malformed"]), (2, 2));
    assert_eq!(imported.problems.iter().map(|p| p.line_number).collect::<Vec<_>>(), [5, 7]);
    assert_eq!(kept(&f, "bad"), source);
    assert_eq!(texts(&f, "bad").last().map(String::as_str), Some("answer four"));
}

#[test]
fn one_busy_session_costs_one_session() {
    let f = Fixture::new();
    let dir = f.dir.path().join("src");
    fs::create_dir(&dir).unwrap();
    for name in ["one", "two"] {
        write(&dir, name, &lines(&branched(name)));
    }
    clean(&import(&f.store, &dir));
    for name in ["one", "two"] {
        let grown = [branched(name), sample::records(3, name, 5)].concat();
        write(&dir, name, &lines(&grown));
    }
    let (held, _) = f.store.open_writer(&"one".parse().unwrap()).unwrap();
    let imported = import(&f.store, &dir);
    assert_eq!(imported.imported, 1);
    assert!(matches!(imported.failed.as_slice(), [(_, Error::SessionBusy { .. })]), "{:?}", imported.failed);
    held.close().unwrap();
    let imported = import(&f.store, &dir);
    assert_eq!((clean(&imported).imported, imported.unchanged), (1, 1));
}

/// Cuts a log behind its line `keep`, as a crash that lost the rest would, and forgets the clean close.
fn cut_log(f: &Fixture, id: &str, keep: usize, torn: &[u8]) {
    let path = f.log_of(&id.parse().unwrap());
    let bytes = fs::read(&path).unwrap();
    let end: usize = bytes.split_inclusive(|b| *b == b'\n').take(keep).map(<[u8]>::len).sum();
    fs::write(&path, [&bytes[..end], torn].concat()).unwrap();
    fs::remove_file(path.with_file_name("writer.lock")).unwrap();
}

/// An import cut short behind any event goes on where it stopped: nothing doubled, nothing lost, the same state.
#[test]
fn an_import_cut_short_anywhere_goes_on_there() {
    let records = branched("cut");
    let whole = Fixture::new();
    clean(&import(&whole.store, &write(whole.dir.path(), "cut", &lines(&records))));
    let id: SessionId = "cut".parse().unwrap();
    let expected = texts(&whole, "cut");
    let count = whole.events(&id).len();
    let kinds: Vec<String> = made(&whole, "cut").iter().map(|p| p.kind().to_owned()).collect();
    assert!(kinds.contains(&"rewound".to_owned()));
    for keep in 1..=count {
        for torn in [&b""[..], b"{\"seq\":99,\"d\":-1,\"prev\":\"00"] {
            let f = Fixture::new();
            let path = write(f.dir.path(), "cut", &lines(&records));
            clean(&import(&f.store, &path));
            cut_log(&f, "cut", keep, torn);
            clean(&import(&f.store, &path));
            let case = format!("cut behind line {keep}, torn {}", torn.len());
            assert_eq!(f.store.ids().unwrap().len(), 1, "{case}");
            let now: Vec<String> = made(&f, "cut").iter().map(|p| p.kind().to_owned()).collect();
            assert_eq!(now, kinds, "{case}");
            assert_eq!(texts(&f, "cut"), expected, "{case}");
            assert_eq!(shape(&f, "cut"), shape(&whole, "cut"), "{case}");
            assert!(f.store.verify(&id).unwrap().problems.is_empty(), "{case}");
            if keep < count - 2 {
                assert_eq!(kept(&f, "cut"), lines(&records), "{case}");
            }
            assert_eq!(clean(&import(&f.store, &path)).unchanged, 1, "{case}");
        }
    }
}

/// What the model would be sent, without positions.
fn shape(f: &Fixture, id: &str) -> Vec<String> {
    let state = f.store.replay(&id.parse().unwrap()).unwrap().state;
    state.context.items().iter().map(|(_, item)| format!("{item:?}")).collect()
}

/// As above, for an import of what a source grew by.
#[test]
fn a_second_import_cut_short_goes_on_too() {
    let records = branched("cut");
    let whole = Fixture::new();
    clean(&import(&whole.store, &write(whole.dir.path(), "cut", &lines(&records))));
    for first in [2, 4, 6, 8] {
        let mut keep = None;
        loop {
            let f = Fixture::new();
            let path = write(f.dir.path(), "cut", &lines(&records[..first]));
            clean(&import(&f.store, &path));
            let before = f.events(&"cut".parse().unwrap()).len();
            fs::write(&path, lines(&records)).unwrap();
            clean(&import(&f.store, &path));
            let after = f.events(&"cut".parse().unwrap()).len();
            let at = keep.unwrap_or(before);
            if at > after {
                break;
            }
            cut_log(&f, "cut", at, b"");
            clean(&import(&f.store, &path));
            assert_eq!(shape(&f, "cut"), shape(&whole, "cut"), "{first} records, then cut behind line {at}");
            assert_eq!(made(&f, "cut").len(), made(&whole, "cut").len());
            keep = Some(at + 1);
        }
    }
}

/// A whole line behind a broken one is part of the torn tail: what it says is cut off with it and has to be imported again.
#[test]
fn lines_behind_a_torn_one_do_not_count() {
    let f = Fixture::new();
    let records = branched("cut");
    let path = write(f.dir.path(), "cut", &lines(&records));
    clean(&import(&f.store, &path));
    let expected = texts(&f, "cut");
    let log = f.log_of(&"cut".parse().unwrap());
    // The log as an import leaves it that is cut short before its end: nothing in it vouches for anything.
    let bytes = fs::read(&log).unwrap();
    let mut pieces: Vec<Vec<u8>> = bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    let recorded = pieces.iter().position(|p| memchr::memmem::find(p, b"source_recorded").is_some()).unwrap();
    pieces.truncate(recorded + 1);
    pieces[5][10] ^= 1;
    fs::write(&log, pieces.concat()).unwrap();
    fs::remove_file(log.with_file_name("writer.lock")).unwrap();
    clean(&import(&f.store, &path));
    assert_eq!(texts(&f, "cut"), expected);
    assert_eq!(clean(&import(&f.store, &path)).unchanged, 1);
}

/// An interrupted import whose source was rewritten meanwhile does not mix the two.
#[test]
fn a_source_rewritten_after_a_crash_is_not_mixed_in() {
    let f = Fixture::new();
    let path = write(f.dir.path(), "cut", &lines(&branched("cut")));
    clean(&import(&f.store, &path));
    cut_log(&f, "cut", 5, b"");
    let before = made(&f, "cut");
    fs::write(&path, lines(&sample::records(9, "cut", 30))).unwrap();
    let imported = import(&f.store, &path);
    assert_eq!(clean(&imported).imported, 1);
    assert_ne!(imported.sessions[0].id.as_str(), "cut");
    assert_eq!(made(&f, "cut"), before);
    assert_eq!(imported.sessions[0].records, 30);
}

/// People may go on with an imported session here, and over there; both stay.
#[test]
fn events_added_here_stay_when_the_source_grows() {
    let f = Fixture::new();
    let records = branched("both");
    let path = write(f.dir.path(), "both", &lines(&records[..2]));
    clean(&import(&f.store, &path));
    let (session, _) = f.store.open_writer(&"both".parse().unwrap()).unwrap();
    session.append(&[prompt("asked here")]).unwrap();
    session.close().unwrap();
    fs::write(&path, lines(&records[..4])).unwrap();
    clean(&import(&f.store, &path));
    assert_eq!(texts(&f, "both"), ["first", "answer one", "asked here", "second, abandoned", "answer two"]);
    assert_eq!(clean(&import(&f.store, &path)).unchanged, 1);
}

/// Another import does it all between this one's look at the session and its lock.
#[test]
fn where_to_go_on_is_read_under_the_lock() {
    for first in [0, 4] {
        let records = branched("race");
        let disk = Watched::default();
        let f = Fixture::with(|o| o.disk = std::sync::Arc::new(disk.clone()));
        let path = write(f.dir.path(), "race", &lines(&records[..first]));
        if first > 0 {
            clean(&import(&f.store, &path));
        }
        fs::write(&path, lines(&records)).unwrap();
        let (home, source) = (f.home(), path.clone());
        *disk.seen.before_lock.lock().unwrap() = Some(Box::new(move || {
            let other = Store::open(options(&home)).unwrap();
            assert_eq!(clean(&import(&other, &source)).imported, 1);
        }));
        let imported = import(&f.store, &path);
        assert!(disk.seen.before_lock.lock().unwrap().is_none());
        assert_eq!((clean(&imported).imported, imported.unchanged), (0, 1));
        let whole = Fixture::new();
        clean(&import(&whole.store, &write(whole.dir.path(), "race", &lines(&records))));
        assert_eq!(shape(&f, "race"), shape(&whole, "race"), "after {first} records");
    }
}

/// Two imports at once: one does it, the other finds it busy or done. Nothing is doubled.
#[test]
fn two_imports_at_once_double_nothing() {
    for round in 0..10 {
        let f = Fixture::new();
        let records = sample::records(round, "race", 60);
        let path = write(f.dir.path(), "race", &lines(&records));
        let barrier = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let store = Store::open(options(&f.home())).unwrap();
                    let found = find(&path);
                    barrier.wait();
                    let imported = store.import(&found, &mut Told::default());
                    for (_, error) in imported.failed {
                        assert!(matches!(error, Error::SessionBusy { .. }), "{error}");
                    }
                });
            }
        });
        let ids: Vec<String> = f.store.ids().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(ids, ["race"]);
        let mut state = State::default();
        let events: Vec<Event> = f.events(&"race".parse().unwrap());
        events.iter().for_each(|e| state.apply(e));
        let whole = Fixture::new();
        clean(&import(&whole.store, &write(whole.dir.path(), "race", &lines(&records))));
        assert_eq!(made(&f, "race"), made(&whole, "race"), "round {round}");
    }
}

/// Larger than one batch: raw bytes in several blobs, progress told on the way.
#[test]
fn a_large_source_comes_in_batches() {
    let f = Fixture::new();
    let mut source = Vec::new();
    for seed in 0..8 {
        source.extend(lines(&sample::records(seed, &format!("big{seed}"), 2_500)));
    }
    assert!(source.len() > 9 * 1024 * 1024, "{}", source.len());
    let path = write(f.dir.path(), "big", &source);
    let imported = import(&f.store, &path);
    assert_eq!(clean(&imported).sessions[0].records, 20_000);
    assert_eq!(kept(&f, "big"), source);
    // Cut short in the second batch, far behind what is read at a log's end.
    let lines_in_log = f.events(&"big".parse().unwrap()).len();
    let made_at_once = made(&f, "big").len();
    cut_log(&f, "big", lines_in_log - 100, b"");
    clean(&import(&f.store, &path));
    assert_eq!(made(&f, "big").len(), made_at_once);
}

/// A record whose event is too long for the log costs neither its file nor its bytes.
#[test]
fn an_output_too_long_for_a_line_goes_into_a_blob() {
    let home = tempfile::tempdir().unwrap();
    let source = home.path().join("0f3b9c3e-8f0b-4a58-9f5f-2b1d6f0c9d11.jsonl");
    let output = "0123456789abcdef".repeat(70 * 1024 * 1024 / 16);
    let prompt = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","cwd":"/w","timestamp":"2026-10-01T00:00:00Z","message":{"role":"user","content":"go"}}"#;
    let result = format!(
        r#"{{"type":"user","uuid":"u2","parentUuid":"u1","sessionId":"s","timestamp":"2026-10-01T00:00:01Z","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t1","content":"{output}"}}]}}}}"#
    );
    let last = r#"{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"s","timestamp":"2026-10-01T00:00:02Z","message":{"role":"user","content":"thanks"}}"#;
    std::fs::write(&source, format!("{prompt}\n{result}\n{last}\n")).unwrap();
    let store = annals::Store::open(annals::StoreOptions::new(
        home.path().join("data"),
        std::sync::Arc::new(annals_testkit::clock::FixedClock::default()),
        std::sync::Arc::new(Four),
    ))
    .unwrap();
    let found = annals::interop::claude_code::discover(Some(&source), &Default::default()).unwrap();
    let imported = store.import(&found, &mut Silent);
    assert!(imported.failed.is_empty(), "{:?}", imported.failed);
    let id = &imported.sessions[0].id;
    let mut reader = store.read(id).unwrap();
    let mut kept = None;
    while let Some(found) = reader.next_found().unwrap() {
        if let annals::Found::Event(event) = found
            && let annals::model::Payload::ToolResult(result) = event.payload
        {
            kept = result.blob;
        }
    }
    let blob = store.blob(id, &kept.unwrap(), 0, usize::MAX).unwrap();
    assert!(blob == output.as_bytes());
    assert_eq!(store.replay(id).unwrap().state.transcript.entries().len(), 2);
    assert!(store.verify(id).unwrap().problems.is_empty());
}

struct Four;

impl annals::Random for Four {
    fn four(&self) -> [u8; 4] {
        [0; 4]
    }
}

struct Silent;

impl annals::import::Progress for Silent {
    fn started(&mut self, _files: u64, _bytes: u64) {}
    fn advanced(&mut self, _bytes: u64) {}
}
