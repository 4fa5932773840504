//! Verification and repair.

use std::fs;

use annals::model::Payload;
use annals::model::payload::{Attachment, MessageKind, UserMessage};
use annals::{Error, NewEvent};

use crate::support::{Fixture, prompt};

fn with_picture(blob: String) -> NewEvent {
    let attachment =
        Attachment { media_type: "image/png".to_owned(), blob: Some(blob), ..Attachment::default() };
    let kind = MessageKind::Prompt;
    let message =
        UserMessage { kind, text: "look".to_owned(), sent: None, attachments: vec![attachment], src: None };
    Payload::from(message).into()
}

#[test]
fn a_torn_tail_is_no_problem() {
    let f = Fixture::new();
    let id = f.conversation("one", "hi");
    let mut bytes = fs::read(f.log_of(&id)).unwrap();
    bytes.extend_from_slice(b"{\"seq\":5,\"d\":4,\"prev");
    fs::write(f.log_of(&id), bytes).unwrap();
    let verification = f.store.verify(&id).unwrap();
    assert!(verification.problems.is_empty());
    assert_eq!(verification.report.torn_bytes, 20);
    assert_eq!(f.store.replay(&id).unwrap().unfinished_bytes, 20);
    let (session, opening) = f.store.open_writer(&id).unwrap();
    assert_eq!(opening.repair.unwrap().dropped_bytes, 20);
    session.close().unwrap();
    assert!(f.kinds(&id).contains(&"repaired".to_owned()));
}

#[test]
fn blobs_are_verified_too() {
    let f = Fixture::new();
    let session = f.create("one");
    let good = session.put_blob(b"good").unwrap();
    let bad = session.put_blob(b"bad").unwrap();
    let gone = session.put_blob(b"gone").unwrap();
    session
        .append(&[
            with_picture(good),
            with_picture(bad.clone()),
            with_picture(gone.clone()),
            with_picture("../x".to_owned()),
        ])
        .unwrap();
    let id = session.id().clone();
    let dir = session.dir().to_owned();
    session.close().unwrap();
    fs::write(dir.join("blobs").join(&bad), b"bat").unwrap();
    fs::remove_file(dir.join("blobs").join(&gone)).unwrap();
    let verification = f.store.verify(&id).unwrap();
    assert_eq!(verification.blobs, 1);
    let problems: Vec<(&str, u64)> = verification.problems.iter().map(|p| (p.kind, p.line)).collect();
    assert_eq!(problems, [("blob_damaged", 2), ("blob_missing", 3), ("blob_damaged", 4)]);
    assert!(verification.problems[0].file.ends_with(&bad));
}

/// Faults 12 and 14: damage is located, refused for writing, read around, and repaired with the original kept.
#[test]
fn damage_is_located_read_around_and_repaired() {
    let f = Fixture::new();
    let session = f.create("one");
    for n in 0..10 {
        session.append(&[prompt(&format!("prompt {n}"))]).unwrap();
    }
    let id = session.id().clone();
    // Not closed: a log that was is opened by its last lines, without being read.
    drop(session);
    let mut bytes = fs::read(f.log_of(&id)).unwrap();
    let at = memchr::memmem::find(&bytes, b"prompt 4").unwrap();
    bytes[at] ^= 1;
    fs::write(f.log_of(&id), &bytes).unwrap();
    let line_start = bytes[..at].iter().rposition(|b| *b == b'\n').unwrap() as u64 + 1;

    let problems = f.store.verify(&id).unwrap().problems;
    assert_eq!((problems[0].kind, problems[0].line, problems[0].offset), ("checksum", 6, line_start));
    match f.store.open_writer(&id) {
        Err(Error::Corrupt { damage, .. }) => assert_eq!(damage.offset, line_start),
        other => panic!("{other:?}"),
    }
    let replay = f.store.replay(&id).unwrap();
    assert_eq!((replay.gaps.len(), replay.state.transcript.entries().len()), (1, 9));
    let summary = f.store.summary(&id).unwrap();
    assert_eq!((summary.status, summary.title.as_deref()), ("damaged", Some("prompt 0")));

    assert_eq!(f.store.repair_plan(&id).unwrap().lost, [(5, 5)]);
    let salvage = f.store.repair(&id).unwrap();
    assert_eq!(fs::read(salvage.original).unwrap(), bytes);
    assert!(f.store.verify(&id).unwrap().problems.is_empty());
    f.store.open_writer(&id).unwrap().0.close().unwrap();
    assert_eq!(f.store.replay(&id).unwrap().state.transcript.entries().len(), 9);
}

/// An event whose data does not fit its kind is shown where it stands and stops nothing.
#[test]
fn data_that_does_not_fit_is_told_with_its_place() {
    let f = Fixture::new();
    let id = f.conversation("one", "hi");
    // Written by the log itself, which does not look into payloads.
    let disk = annals::log::disk::OsDisk;
    let options = annals::log::Options::new(std::sync::Arc::new(Fixed));
    let dir = f.home().join("sessions/one");
    let (log, _) = annals::log::Log::open(&disk, &dir, options, None).unwrap();
    let draft = annals::model::Draft { ts: Fixed.now(), turn: None, kind: "tool_call", data: r#"{"id":7}"# };
    log.commit(&[draft]).unwrap();
    log.close().unwrap();
    let bytes = fs::read(f.log_of(&id)).unwrap();
    let at = memchr::memmem::find(&bytes, b"{\"id\":7}").unwrap();
    let offset = bytes[..at].iter().rposition(|b| *b == b'\n').unwrap() as u64 + 1;
    let problems = f.store.verify(&id).unwrap().problems;
    assert_eq!(problems.len(), 1);
    assert_eq!((problems[0].kind, problems[0].line, problems[0].offset), ("unfit", 7, offset));
    let replay = f.store.replay(&id).unwrap();
    assert_eq!((replay.unfit, replay.state.transcript.entries().len()), (1, 2));
    assert_eq!(f.store.summary(&id).unwrap().events, 9);
}

struct Fixed;

impl annals::model::Clock for Fixed {
    fn now(&self) -> annals::model::Timestamp {
        annals::model::Timestamp::parse("2026-11-30T21:00:00Z").unwrap()
    }
}

use annals::model::Clock as _;
