//! Writing a session.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use annals::log::{Durability, Promise};
use annals::model::payload::{Sealed, ToolCall};
use annals::model::{Json, Payload};
use annals::record::{Answer, record};
use annals::{Error, NewEvent, NewSession};

use crate::support::{Fixture, Watched, answer, prompt, turn_ended};

#[test]
fn what_was_appended_is_read_back_and_goes_on_after_a_close() {
    let f = Fixture::new();
    let id = f.conversation("one", "hi");
    let (session, opening) = f.store.open_writer(&id).unwrap();
    assert!(opening.was_closed);
    session.append(&[prompt("again")]).unwrap();
    drop(session); // as a killed process would
    assert_eq!(
        f.kinds(&id),
        [
            "session_started",
            "user_message",
            "assistant_message",
            "conversation_assigned",
            "sealed",
            "closed",
            "user_message"
        ]
    );
    let replay = f.store.replay(&id).unwrap();
    assert_eq!(replay.state.meta.title.as_deref(), Some("hi"));
    assert_eq!(replay.state.transcript.entries().len(), 3);
}

#[test]
fn a_second_writer_is_told_who_holds_the_session() {
    let f = Fixture::new();
    let session = f.create("one");
    match f.store.open_writer(session.id()) {
        Err(error @ Error::SessionBusy { .. }) => {
            assert!(error.is_retryable());
            assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        }
        other => panic!("{other:?}"),
    }
    let again = NewSession { id: Some(session.id().clone()), ..NewSession::default() };
    assert!(matches!(f.store.create(again.clone()), Err(Error::SessionBusy { .. })));
    session.close().unwrap();
    assert!(matches!(f.store.create(again), Err(Error::SessionExists { .. })));
}

/// The end of a turn is sealed at every level.
#[test]
fn the_end_of_a_turn_is_sealed() {
    for durability in [Durability::Strict, Durability::Barrier, Durability::Os] {
        let f = Fixture::at(durability);
        let session = f.create("one");
        session.append(&[prompt("hi"), answer("yes"), turn_ended()]).unwrap();
        let id = session.id().clone();
        drop(session);
        assert_eq!(f.kinds(&id).last().map(String::as_str), Some("sealed"), "{durability}");
        let line = br#"{"kind":"turn_ended","data":{"outcome":"completed"}}"#;
        let (session, _) = f.store.open_writer(&id).unwrap();
        assert!(matches!(record(&session, &[line]).as_slice(), [Answer::Acknowledged(_)]));
        drop(session);
        assert_eq!(f.kinds(&id).iter().filter(|k| *k == "sealed").count(), 2, "{durability}");
    }
}

/// At `barrier`, what others rely on is durable when it is acknowledged; other events need no sync.
#[test]
fn barriers_sync_and_nothing_else_does() {
    let disk = Watched::default();
    let f = Fixture::with(|o| {
        o.disk = Arc::new(disk.clone());
        o.durability = Durability::Barrier;
    });
    let session = f.create("one");
    let syncs = || disk.seen.file_syncs.load(Ordering::Relaxed);
    let before = syncs();
    assert_eq!(session.append(&[answer("thinking")]).unwrap().promise, Promise::Written);
    assert_eq!(syncs(), before);
    assert_eq!(session.append(&[prompt("go")]).unwrap().promise, Promise::Durable);
    assert_eq!(syncs(), before + 1);
}

/// Fault 1 and INVARIANT(I2): no line is acknowledged whose barrier failed, wherever it stands among those that came together.
#[test]
fn no_line_is_acknowledged_over_a_failed_barrier() {
    let disk = Watched::default();
    let f = Fixture::with(|o| {
        o.disk = Arc::new(disk.clone());
        o.durability = Durability::Barrier;
    });
    let session = f.create("one");
    disk.seen.refuse_syncs.store(true, Ordering::Relaxed);
    let lines: [&[u8]; 3] = [
        br#"{"kind":"user_message","data":{"kind":"prompt","text":"a"}}"#,
        br#"{"kind":"x_note","data":1}"#,
        br#"{"kind":"nonsense","data":1}"#,
    ];
    for answer in record(&session, &lines) {
        assert!(matches!(answer, Answer::Rejected(_)), "{answer:?}");
    }
}

/// Fault 4: a failed sync is never retried into a success.
#[test]
fn a_failed_sync_poisons_the_writer_and_loses_nothing_acknowledged() {
    let disk = Watched::default();
    let f = Fixture::with(|o| o.disk = Arc::new(disk.clone()));
    let session = f.create("one");
    session.append(&[prompt("kept")]).unwrap();
    disk.seen.refuse_syncs.store(true, Ordering::Relaxed);
    assert_eq!(session.append(&[prompt("unknown")]).unwrap_err().kind(), "Poisoned");
    disk.seen.refuse_syncs.store(false, Ordering::Relaxed);
    assert_eq!(session.append(&[prompt("refused")]).unwrap_err().kind(), "Poisoned");
    let id = session.id().clone();
    drop(session);
    let (session, _) = f.store.open_writer(&id).unwrap();
    session.append(&[prompt("goes on")]).unwrap();
    drop(session);
    let texts: Vec<String> =
        f.store.replay(&id).unwrap().state.transcript.entries().into_iter().map(|e| e.text).collect();
    assert_eq!(texts.first().map(String::as_str), Some("kept"));
    assert_eq!(texts.last().map(String::as_str), Some("goes on"));
    assert!(!texts.contains(&"refused".to_owned()));
}

/// A payload may carry JSON as its author laid it out. In the log it is one line all the same.
#[test]
fn json_that_came_on_several_lines_is_stored_on_one() {
    let f = Fixture::new();
    let session = f.create("one");
    let call: ToolCall =
        serde_json::from_str("{\"id\":\"c1\",\"name\":\"ls\",\"input\":{\n  \"path\": \"/\"\n}}").unwrap();
    session.append(&[Payload::from(call).into()]).unwrap();
    session.append(&[prompt("after")]).unwrap();
    let id = session.id().clone();
    session.close().unwrap();
    let verification = f.store.verify(&id).unwrap();
    assert!(verification.problems.is_empty(), "{:?}", verification.problems);
    match &f.events(&id)[1].payload {
        Payload::ToolCall(call) => assert_eq!(call.input.as_str(), r#"{"path":"/"}"#),
        other => panic!("{other:?}"),
    }
}

/// A kind is part of the line's fixed form, and the log's own lines are the log's.
#[test]
fn what_would_spoil_the_log_is_refused() {
    let f = Fixture::new();
    let session = f.create("one");
    let unknown = |kind: &str| Payload::Unknown { kind: kind.to_owned(), data: Json::default() };
    let seal = Sealed { len_bytes: 1, blake3: String::new(), key: None };
    for payload in [
        unknown(""),
        unknown("x_\n"),
        unknown("x_\",\"data\":{}"),
        unknown("X_note"),
        unknown("sealed"),
        Payload::from(seal),
        Payload::from(annals::model::payload::Closed {}),
    ] {
        let refused = session.append(&[prompt("with it"), NewEvent::from(payload.clone())]);
        assert!(matches!(refused, Err(Error::InvalidEvent { .. })), "{payload:?}");
    }
    session.append(&[unknown("x_note").into(), unknown("from_a_newer_version").into()]).unwrap();
    let id = session.id().clone();
    session.close().unwrap();
    assert!(f.store.verify(&id).unwrap().problems.is_empty());
    assert_eq!(f.events(&id).len(), 6);
}

#[test]
fn lines_of_the_pipe_are_answered_in_order_and_bad_ones_leave_nothing() {
    let f = Fixture::new();
    let session = f.create("one");
    let lines: [&[u8]; 8] = [
        br#"{"kind":"user_message","data":{"kind":"prompt","text":"hi"}}"#,
        b"not json",
        br#"{"kind":"sealed","data":{}}"#,
        br#"{"kind":"no_such_kind","data":{}}"#,
        br#"{"kind":"tool_call","data":{"id":"c1"}}"#,
        b"\xff\xfe",
        br#"{"kind":"x_mine","data": { "a" : [ 1.50 ] } ,"turn":3}"#,
        br#"{"kind":"x_mine","data":1,"extra":2}"#,
    ];
    let answers: Vec<Result<u64, &str>> = record(&session, &lines)
        .into_iter()
        .map(|answer| match answer {
            Answer::Acknowledged(seq) => Ok(seq),
            Answer::Rejected(error) => Err(error.kind()),
        })
        .collect();
    let bad = Err("InvalidEvent");
    assert_eq!(answers, [Ok(1), bad, bad, bad, bad, bad, Ok(2), bad]);
    let id = session.id().clone();
    drop(session);
    let events = f.events(&id);
    assert_eq!(events.len(), 3);
    assert_eq!(events[2].turn, Some(3));
    assert_eq!(events[2].payload.to_data().unwrap(), r#"{"a":[1.50]}"#);
}

#[test]
fn many_threads_share_a_writer() {
    let f = Fixture::new();
    let session = f.create("one");
    std::thread::scope(|scope| {
        for n in 0..8 {
            let session = &session;
            scope.spawn(move || {
                for m in 0..20 {
                    session.append(&[prompt(&format!("{n}/{m}")), answer(&format!("{n}/{m}"))]).unwrap();
                }
            });
        }
    });
    let id = session.id().clone();
    session.close().unwrap();
    assert!(f.store.verify(&id).unwrap().problems.is_empty());
    let entries = f.store.replay(&id).unwrap().state.transcript.entries();
    assert_eq!(entries.len(), 320);
    // What was appended together stands together.
    assert!(entries.chunks(2).all(|pair| pair[0].text == pair[1].text));
}

/// A creation that was cut short was never acknowledged: there is no session, and its id is free.
#[test]
fn a_creation_that_never_finished_is_no_session() {
    let f = Fixture::new();
    f.conversation("other", "hi");
    let dir = f.home().join("sessions/torn");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("events.jsonl"), "{\"seq\":0,\"d\":-1,").unwrap();
    let id = "torn".parse().unwrap();
    assert!(matches!(f.store.read(&id), Err(Error::SessionNotFound { .. })));
    assert!(matches!(f.store.replay(&id), Err(Error::SessionNotFound { .. })));
    assert!(matches!(f.store.open_writer(&id), Err(Error::SessionNotFound { .. })));
    let listing = f.store.list().unwrap();
    assert_eq!((listing.total, listing.sessions.len()), (2, 1));
    assert_eq!((listing.hidden[0].reason.as_str(), listing.hidden[0].count), ("unfinished", 1));
    f.create("torn").close().unwrap();
    assert_eq!(f.kinds(&id).first().map(String::as_str), Some("session_started"));
}
