//! Operations on several files, stopped at every call of the disk and then killed or cut from power: afterwards everything is as it was
//! before or as it is when they are done, and never anything else.

use std::collections::BTreeMap;
use std::path::Path;

use annals::log::Durability;
use annals::log::disk::Disk;
use annals::model::SessionId;
use annals::{Cut, Found, NewSession, Outcome, Store};
use annals_testkit::sim::SimDisk;

use crate::crash::{HOME, aftermaths, stop_at, store};
use crate::support::{answer, prompt};

fn id(text: &str) -> SessionId {
    text.parse().unwrap()
}

/// A home with two sessions, a snapshot, and a session in the trash.
fn begin() -> SimDisk {
    let disk = SimDisk::new();
    let store = store(&disk, Durability::Strict);
    for (name, texts) in [("one", ["a", "b"]), ("two", ["c", "d"]), ("gone", ["e", "f"])] {
        let new = NewSession { id: Some(id(name)), ..NewSession::default() };
        let session = store.create(new).unwrap();
        session.put_blob(name.as_bytes()).unwrap();
        for text in texts {
            session.append(&[prompt(text), answer(text)]).unwrap();
        }
        session.close().unwrap();
    }
    store.move_to(&id("one"), "/old").unwrap();
    store.move_to(&id("two"), "/old/sub").unwrap();
    store.save(&id("one"), "frozen", false).unwrap();
    store.delete(&id("gone")).unwrap();
    disk
}

/// What a user sees. Sessions that were made meanwhile go by the name `new`: their ids are no matter.
#[derive(Debug, PartialEq, Eq, Clone)]
struct Seen {
    sessions: BTreeMap<String, Vec<String>>,
    trash: Vec<String>,
}

fn seen(store: &Store, before: Option<&Seen>) -> Seen {
    let name = |id: &SessionId| match before {
        Some(before)
            if !before.sessions.contains_key(id.as_str()) && !before.trash.contains(&id.to_string()) =>
        {
            "new".to_owned()
        }
        _ => id.to_string(),
    };
    let mut sessions = BTreeMap::new();
    for id in store.ids().unwrap() {
        let problems = store.verify(&id).unwrap().problems;
        assert!(problems.is_empty(), "{id}: {problems:?}");
        let summary = store.summary(&id).unwrap();
        let entries = store.replay(&id).unwrap().state.transcript.entries();
        let mut facts: Vec<String> = entries.into_iter().map(|entry| entry.text).collect();
        facts.push(format!(
            "{:?} {:?} {:?} {:?} {:?}",
            summary.title, summary.snapshot, summary.workspace, summary.tags, summary.messages
        ));
        sessions.insert(name(&id), facts);
    }
    let mut trash: Vec<String> = store.trash().unwrap().iter().map(|entry| name(&entry.session)).collect();
    trash.sort();
    Seen { sessions, trash }
}

fn told(store: &Store, parent: &SessionId) -> Vec<String> {
    let mut reader = store.read(parent).unwrap();
    let mut told = Vec::new();
    while let Some(found) = reader.next_found().unwrap() {
        if let Found::Event(event) = found
            && matches!(event.payload.kind(), "fork_point" | "snapshot_taken")
        {
            told.push(event.payload.to_data().unwrap());
        }
    }
    told
}

/// Stops `operation` at every call. Returns how many states were looked at.
fn stop_everywhere(
    what: &str,
    prepare: impl Fn(&Store),
    operation: impl Fn(&Store) -> annals::Result<()>,
) -> usize {
    let begun = begin();
    prepare(&store(&begun, Durability::Strict));
    let before = seen(&store(&begun, Durability::Strict), None);
    let whole = begun.kill();
    operation(&store(&whole, Durability::Strict)).unwrap();
    let after = seen(&store(&whole, Durability::Strict), Some(&before));
    assert_ne!(before, after, "{what} changes something");
    let mut states = 0;
    for n in 0.. {
        let disk = begun.kill();
        stop_at(&disk, n);
        let is_done = operation(&store(&disk, Durability::Strict)).is_ok();
        // A mere kill, and two power cuts.
        for (m, left) in aftermaths(&disk, n).iter().take(3).enumerate() {
            let case = format!("{what}, stop at {n}, aftermath {m}");
            let store = store(left, Durability::Strict);
            store.recover_operations().unwrap_or_else(|e| panic!("{case}: {e}"));
            let found = seen(&store, Some(&before));
            let allowed = if is_done { found == after } else { found == before || found == after };
            assert!(allowed, "{case} (done: {is_done}): {found:#?}\nbefore: {before:#?}\nafter: {after:#?}");
            let open = store.operations().unwrap().into_iter().filter(|o| o.outcome == Outcome::Open).count();
            assert_eq!(open, 0, "{case}");
            // The next operation finds nothing in its way, and nothing half-made is left.
            store.rename(&id("two"), "next").unwrap_or_else(|e| panic!("{case}: {e}"));
            let half_made = left.list(&Path::new(HOME).join("tmp")).unwrap_or_default();
            assert!(half_made.is_empty(), "{case}: {half_made:?}");
            check_told(&store, &case);
            states += 1;
        }
        disk.heal();
        if is_done {
            break;
        }
    }
    states
}

/// Copies that have a name are known to the session that they were made of, once each.
fn check_told(store: &Store, case: &str) {
    for parent in ["one", "two"].map(id) {
        let Ok((writer, _)) = store.open_writer(&parent) else { continue };
        writer.close().unwrap();
        let told = told(store, &parent);
        for child in store.ids().unwrap() {
            let from = store.summary(&child).unwrap().from;
            if from.is_some_and(|from| from.session == parent.as_str()) {
                let about = told.iter().filter(|data| data.contains(&format!("\"{child}\""))).count();
                assert_eq!(about, 1, "{case}: {parent} of {child}: {told:?}");
            }
        }
    }
}

#[test]
fn a_fork_is_made_whole_or_not_at_all() {
    let states =
        stop_everywhere("fork", |_| {}, |s| s.fork(&id("one"), Cut::Turns(1), Some("cut")).map(drop));
    assert!(states > 100, "{states}");
}

#[test]
fn a_snapshot_is_replaced_by_a_whole_one() {
    let states = stop_everywhere("save", |_| {}, |s| s.save(&id("two"), "frozen", true).map(drop));
    assert!(states > 100, "{states}");
}

#[test]
fn deleting_and_bringing_back_is_one_step() {
    stop_everywhere("rm", |_| {}, |s| s.delete(&id("one")).map(drop));
    stop_everywhere("restore", |_| {}, |s| s.restore("gone").map(drop));
    stop_everywhere("empty", |_| {}, |s| s.empty_trash(None).map(drop));
}

#[test]
fn changes_by_an_event_are_made_or_not() {
    stop_everywhere("rename", |_| {}, |s| s.rename(&id("one"), "other").map(drop));
    stop_everywhere("tag", |_| {}, |s| s.tag(&id("one"), &["t".into()], &[]).map(drop));
    stop_everywhere("mv", |_| {}, |s| s.move_to(&id("one"), "/new"));
}

#[test]
fn taking_back_is_one_step_too() {
    stop_everywhere("undo rm", |s| drop(s.delete(&id("one")).unwrap()), |s| s.undo(None).map(drop));
    stop_everywhere(
        "undo fork",
        |s| drop(s.fork(&id("one"), Cut::End, None).unwrap()),
        |s| s.undo(None).map(drop),
    );
    stop_everywhere(
        "undo save",
        |s| drop(s.save(&id("two"), "frozen", true).unwrap()),
        |s| s.undo(None).map(drop),
    );
    stop_everywhere("undo rename", |s| drop(s.rename(&id("one"), "x").unwrap()), |s| s.undo(None).map(drop));
}

/// Several sessions, a change each: one that was begun is finished by the next operation.
#[test]
fn a_relink_that_was_begun_is_finished() {
    let begun = begin();
    for n in 0.. {
        let disk = begun.kill();
        stop_at(&disk, n);
        let is_done = store(&disk, Durability::Strict).relink("/old", "/new").is_ok();
        for left in aftermaths(&disk, n) {
            let store = store(&left, Durability::Strict);
            store.recover_operations().unwrap();
            let workspaces = ["one", "two"].map(|name| store.summary(&id(name)).unwrap().workspace.unwrap());
            let old = ["/old".to_owned(), "/old/sub".to_owned()];
            let new = ["/new".to_owned(), "/new/sub".to_owned()];
            assert!(workspaces == new || (!is_done && workspaces == old), "stop at {n}: {workspaces:?}");
        }
        if is_done {
            break;
        }
    }
}

#[test]
fn a_bundle_comes_in_whole_or_not_at_all() {
    let source = begin();
    let mut bundle = Vec::new();
    let exporter = store(&source, Durability::Strict);
    let session = exporter.create(NewSession { id: Some(id("bundled")), ..NewSession::default() }).unwrap();
    session.append(&[prompt("x")]).unwrap();
    session.close().unwrap();
    exporter.export_bundle(&id("bundled"), &mut bundle).unwrap();
    let states = stop_everywhere(
        "import of a bundle",
        |_| {},
        |store| store.import_bundle(&mut bundle.as_slice()).map(drop),
    );
    assert!(states > 30, "{states}");
}
