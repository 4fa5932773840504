//! Forks, snapshots, changes, the trash, and the log of it all.

use annals::model::payload::{MessageKind, TurnStarted, UserMessage};
use annals::model::{Payload, SessionId};
use annals::{Cut, Error, Found, NewSession, Outcome, Store};

use crate::support::options;

fn prompt(text: &str) -> annals::NewEvent {
    let message = UserMessage {
        kind: MessageKind::Prompt,
        text: text.into(),
        sent: None,
        attachments: vec![],
        src: None,
    };
    Payload::UserMessage(message).into()
}

fn turn(index: u64) -> annals::NewEvent {
    Payload::TurnStarted(TurnStarted { index, ..TurnStarted::default() }).into()
}

fn home() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(options(dir.path())).unwrap();
    (dir, store)
}

fn session(store: &Store, id: &str, texts: &[&str]) -> SessionId {
    let id: SessionId = id.parse().unwrap();
    let writer = store.create(NewSession { id: Some(id.clone()), ..NewSession::default() }).unwrap();
    for text in texts {
        writer.append(&[prompt(text)]).unwrap();
    }
    writer.close().unwrap();
    id
}

fn texts(store: &Store, id: &SessionId) -> Vec<String> {
    store.replay(id).unwrap().state.transcript.entries().into_iter().map(|entry| entry.text).collect()
}

fn kinds(store: &Store, id: &SessionId) -> Vec<String> {
    let mut reader = store.read(id).unwrap();
    let mut kinds = Vec::new();
    while let Some(found) = reader.next_found().unwrap() {
        let Found::Event(event) = found else { panic!("{found:?}") };
        kinds.push(event.payload.kind().to_owned());
    }
    kinds
}

fn lines(store: &Store, id: &SessionId) -> Vec<Vec<u8>> {
    let log = std::fs::read(store.home().join("sessions").join(id.as_str()).join("events.jsonl")).unwrap();
    log.split(|b| *b == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

#[test]
fn a_fork_takes_over_bytes_and_the_parent_is_told() {
    let (_dir, store) = home();
    let parent = session(&store, "parent", &["one", "two", "three"]);
    let before = lines(&store, &parent);
    let fork = store.fork(&parent, Cut::At(2), None).unwrap();
    assert_eq!((&fork.from, fork.at_seq), (&parent, 2));
    assert_eq!(texts(&store, &fork.id), ["one", "two"]);
    let (after, child) = (lines(&store, &parent), lines(&store, &fork.id));
    assert_eq!(after[..before.len()], before[..], "nothing of the parent is another");
    assert_eq!(child[1..3], before[1..3], "the copied lines keep their bytes");
    assert!(kinds(&store, &parent)[before.len()..].contains(&"fork_point".to_owned()));
    let (parent, child) = (store.summary(&parent).unwrap(), store.summary(&fork.id).unwrap());
    assert_eq!((child.title.as_deref(), child.messages), (Some("one"), Some(2)));
    assert_eq!(child.from.unwrap().session, "parent");
    assert_eq!(parent.messages, Some(3));
    assert_ne!(parent.conversation_id, child.conversation_id);
    for id in [&parent.id, &fork.id] {
        assert_eq!(store.verify(id).unwrap().problems, []);
    }
}

#[test]
fn a_cut_is_where_it_is_said() {
    let (_dir, store) = home();
    let id: SessionId = "turns".parse().unwrap();
    let writer = store.create(NewSession { id: Some(id.clone()), ..NewSession::default() }).unwrap();
    for (n, text) in (1..).zip(["a", "b", "c"]) {
        writer.append(&[turn(n), prompt(text)]).unwrap();
    }
    writer.close().unwrap();
    let of = |cut| texts(&store, &store.fork(&id, cut, None).unwrap().id);
    assert_eq!(of(Cut::Turns(1)), ["a"]);
    assert_eq!(of(Cut::Turns(2)), ["a", "b"]);
    for all in [Cut::End, Cut::Turns(0), Cut::Turns(3), Cut::Turns(99)] {
        assert_eq!(of(all), ["a", "b", "c"], "{all:?}");
    }
    let one = store.fork(&id, Cut::Turns(1), Some("another")).unwrap();
    assert!(
        !kinds(&store, &one.id)[2..].contains(&"turn_started".to_owned()),
        "{:?}",
        kinds(&store, &one.id)
    );
    assert_eq!(store.summary(&one.id).unwrap().title.as_deref(), Some("another"));
    assert!(matches!(store.fork(&id, Cut::Turns(-1), None), Err(Error::NotRewindPoint { .. })));
    let last = store.summary(&id).unwrap().events - 1;
    assert!(
        matches!(store.fork(&id, Cut::At(last + 1), None), Err(Error::NoSuchEvent { last: l, .. }) if l == last)
    );
    assert!(matches!(store.fork(&id, Cut::End, Some("  ")), Err(Error::EmptyTitle)));
    let nobody: SessionId = "nobody".parse().unwrap();
    assert!(matches!(store.fork(&nobody, Cut::End, None), Err(Error::SessionNotFound { .. })));
}

#[test]
fn an_open_parent_records_its_forks_itself() {
    let (dir, store) = home();
    let id: SessionId = "live".parse().unwrap();
    let writer = store.create(NewSession { id: Some(id.clone()), ..NewSession::default() }).unwrap();
    writer.append(&[prompt("one")]).unwrap();
    // Another process, as far as locks go.
    let other = Store::open(options(dir.path())).unwrap();
    let first = other.fork(&id, Cut::End, None).unwrap();
    let second = other.fork(&id, Cut::End, None).unwrap();
    assert_eq!(texts(&store, &first.id), ["one"]);
    assert!(!kinds(&store, &id).contains(&"fork_point".to_owned()));
    writer.append(&[prompt("two")]).unwrap();
    writer.close().unwrap();
    let told = kinds(&store, &id).into_iter().filter(|kind| kind == "fork_point").count();
    assert_eq!(told, 2);
    assert_ne!(first.id, second.id);
    store.open_writer(&id).unwrap().0.close().unwrap();
    assert_eq!(kinds(&store, &id).into_iter().filter(|kind| kind == "fork_point").count(), 2, "once each");
}

#[test]
fn a_snapshot_is_frozen_and_is_branched_from() {
    let (_dir, store) = home();
    let id = session(&store, "work", &["one"]);
    let saved = store.save(&id, "before", false).unwrap();
    assert_eq!(store.resolve("before").unwrap(), saved.id);
    assert!(matches!(store.open_writer(&saved.id), Err(Error::Frozen { .. })));
    assert!(matches!(store.save(&id, "before", false), Err(Error::SnapshotNameTaken { .. })));
    assert!(matches!(store.save(&id, "session-x", false), Err(Error::InvalidName { .. })));
    assert!(matches!(store.save(&id, "work", false), Err(Error::SessionExists { .. })));
    let frozen = lines(&store, &saved.id);
    let branch = store.fork(&saved.id, Cut::End, None).unwrap();
    assert_eq!(lines(&store, &saved.id), frozen, "a branch leaves no trace in it");
    let summary = store.summary(&branch.id).unwrap();
    assert_eq!((summary.from_snapshot.as_deref(), summary.snapshot), (Some("before"), None));
    store.open_writer(&branch.id).unwrap().0.close().unwrap();
    assert_ne!(store.resolve("latest").unwrap(), saved.id);
    let again = store.save(&id, "before", true).unwrap();
    assert_eq!(again.replaced, Some(saved.id.clone()));
    assert_eq!(store.resolve("before").unwrap(), again.id);
    assert!(!store.contains(&saved.id));
    assert_eq!(store.trash().unwrap()[0].session, saved.id);
    let empty = session(&store, "empty", &[]);
    assert!(matches!(store.save(&empty, "nothing", false), Err(Error::NothingToSave { .. })));
}

#[test]
fn what_was_done_is_told_and_taken_back() {
    let (_dir, store) = home();
    let id = session(&store, "work", &["first words"]);
    assert!(matches!(store.undo(None), Err(Error::NothingToUndo)));
    assert_eq!(store.rename(&id, "  A   better\ntitle ").unwrap(), "A better");
    assert_eq!(store.tag(&id, &["x".into(), "a".into()], &[]).unwrap(), ["a", "x"]);
    store.move_to(&id, "/elsewhere").unwrap();
    store.delete(&id).unwrap();
    assert!(!store.contains(&id));
    assert!(store.list().unwrap().sessions.is_empty());
    let done: Vec<_> = store.operations().unwrap().iter().map(|o| o.action.name()).collect();
    assert_eq!(done, ["rename", "tag", "mv", "rm"]);
    let first = store.operations().unwrap()[0].number;
    assert!(matches!(store.undo(Some(first)), Err(Error::CantUndo { .. })), "others came after it");
    assert_eq!(store.undo(None).unwrap().operation.action.name(), "rm");
    assert_eq!(texts(&store, &id), ["first words"]);
    // It had no workspace: there is none to go back to.
    assert!(matches!(store.undo(None), Err(Error::CantUndo { .. })));
    store.move_to(&id, "/third").unwrap();
    assert_eq!(store.undo(None).unwrap().operation.action.name(), "mv");
    assert_eq!(store.summary(&id).unwrap().workspace.as_deref(), Some("/elsewhere"));
    let outcomes: Vec<_> = store.operations().unwrap().iter().map(|o| (o.action.name(), o.outcome)).collect();
    assert!(outcomes.contains(&("rm", Outcome::Undone)), "{outcomes:?}");
    assert!(matches!(store.rename(&id, " \n "), Err(Error::EmptyTitle)));
    assert!(matches!(store.tag(&id, &["a b".into()], &[]), Err(Error::InvalidTag { .. })));
}

#[test]
fn the_trash_gives_back_and_is_emptied() {
    let (_dir, store) = home();
    let one = session(&store, "one-of-two", &["one"]);
    let two = session(&store, "two-of-two", &["two"]);
    store.delete(&one).unwrap();
    store.delete(&two).unwrap();
    assert_eq!(store.trash().unwrap().len(), 2);
    assert!(matches!(store.restore("of-two"), Err(Error::Ambiguous { .. })));
    assert!(matches!(store.restore("nothing-like-it"), Err(Error::NotInTrash { .. })));
    assert_eq!(store.restore("one-of").unwrap(), one);
    assert_eq!(texts(&store, &one), ["one"]);
    let gone = store.empty_trash(None).unwrap();
    assert_eq!((gone.len(), &gone[0].session, gone[0].title.as_deref()), (1, &two, Some("two")));
    assert!(store.trash().unwrap().is_empty());
    let number = store.operations().unwrap().last().unwrap().number;
    assert!(matches!(store.undo(Some(number)), Err(Error::CantUndo { .. })));
}

#[test]
fn an_open_session_is_not_deleted() {
    let (dir, store) = home();
    let id: SessionId = "open".parse().unwrap();
    let writer = store.create(NewSession { id: Some(id.clone()), ..NewSession::default() }).unwrap();
    let other = Store::open(options(dir.path())).unwrap();
    let error = other.delete(&id).unwrap_err();
    assert!(matches!(error, Error::SessionOpen { .. }), "{error}");
    writer.close().unwrap();
    other.delete(&id).unwrap();
    assert_eq!(other.operations().unwrap()[0].outcome, Outcome::Failed);
}

#[test]
fn a_number_survives_the_index() {
    let (dir, store) = home();
    let ids: Vec<SessionId> = (0..5).map(|n| session(&store, &format!("s{n}"), &["x"])).collect();
    let child = store.fork(&ids[3], Cut::End, None).unwrap().id;
    store.open_writer(&child).unwrap().0.close().unwrap();
    store.delete(&ids[1]).unwrap();
    let numbers = |store: &Store| -> Vec<_> {
        let mut all: Vec<_> =
            store.list().unwrap().sessions.into_iter().map(|s| (s.id, s.conversation_id)).collect();
        all.sort();
        all
    };
    let before = numbers(&store);
    drop(store);
    for file in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
        let _ = std::fs::remove_file(dir.path().join(file));
    }
    let again = Store::open(options(dir.path())).unwrap();
    assert_eq!(numbers(&again), before);
    let number = before[0].1.unwrap();
    assert_eq!(again.resolve(&format!("#{number}")).unwrap(), before[0].0);
}

#[test]
fn a_moved_project_is_relinked() {
    let (_dir, store) = home();
    let id: SessionId = "moved".parse().unwrap();
    let mut new = NewSession { id: Some(id.clone()), ..NewSession::default() };
    new.started.workspace = Some("/old/place/sub".into());
    let writer = store.create(new).unwrap();
    writer.append(&[prompt("hi")]).unwrap();
    writer.close().unwrap();
    let (moved, open) = store.relink("/old/place", "/new").unwrap();
    assert_eq!((moved.as_slice(), open.as_slice()), (std::slice::from_ref(&id), [].as_slice()));
    let summary = store.summary(&id).unwrap();
    assert_eq!(summary.workspace.as_deref(), Some("/new/sub"));
    assert_eq!(summary.moved_from.as_deref(), Some("/old/place/sub"));
    store.undo(None).unwrap();
    assert_eq!(store.summary(&id).unwrap().workspace.as_deref(), Some("/old/place/sub"));
}
