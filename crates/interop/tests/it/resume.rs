//! An import can stop after any record: what follows is the same as if it had not.

use std::io::Write;

use annals_interop::claude_code::{Importer, sample};
use annals_interop::{Error, ImportedEvent};
use annals_model::Json;
use proptest::prelude::*;
use serde_json::json;

use crate::corpus::wild;
use crate::fixture::*;

fn rest(importer: &mut Importer) -> Vec<ImportedEvent> {
    let mut events = Vec::new();
    while let Some(record) = importer.next_record().unwrap() {
        events.extend(record.events);
    }
    events
}

/// Stops after every record and goes on with the state as it comes out of JSON.
fn holds_at_every_record(file: &Fixture) {
    let saved = file.save();
    let whole = read(&saved.source);
    let all: Vec<_> = whole.events().cloned().collect();
    let mut importer = Importer::start(&saved.source).unwrap();
    let mut before = Vec::new();
    while let Some(record) = importer.next_record().unwrap() {
        before.extend(record.events);
        let state = Json::parse(importer.state().as_str()).unwrap();
        let mut later = Importer::resume(&saved.source, importer.cursor(), &state).unwrap();
        let after = rest(&mut later);
        assert_eq!([before.clone(), after].concat(), all, "cut at {}", importer.cursor());
        assert_eq!(later.state(), whole.importer.state());
    }
    assert_eq!(before, all);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cut_anywhere_nothing_changes(seed in any::<u64>(), count in 1_usize..60) {
        holds_at_every_record(&wild(seed, count));
    }
}

#[test]
fn a_sample_session_can_be_cut_anywhere() {
    let mut file = Fixture::default();
    for record in sample::records(7, SESSION, 120) {
        file.line(&record);
    }
    holds_at_every_record(&file);
}

/// More records than the reader keeps in mind one by one.
#[test]
fn a_long_session_can_be_cut() {
    let file = wild(3, 900);
    let saved = file.save();
    let all: Vec<_> = read(&saved.source).events().cloned().collect();
    for cut in [1, 250, 600, 850] {
        let mut importer = Importer::start(&saved.source).unwrap();
        let mut events = Vec::new();
        for _ in 0..cut {
            events.extend(importer.next_record().unwrap().unwrap().events);
        }
        let mut later = Importer::resume(&saved.source, importer.cursor(), &importer.state()).unwrap();
        events.extend(rest(&mut later));
        assert!(events == all, "cut at {cut}");
    }
}

/// The same file read twice gives nothing new; a file that grew gives what is new, a line that was cut off included.
#[test]
fn a_growing_file_is_read_on() {
    let mut file = Fixture::default();
    file.user("u1", "hello", json!({})).user("u2", "more", json!({}));
    let saved = file.save();
    let whole: Vec<_> = read(&saved.source).events().cloned().collect();
    let cut = file.bytes.len() - 40;
    std::fs::write(&saved.path, &file.bytes[..cut]).unwrap();

    let mut first = Importer::start(&saved.source).unwrap();
    let mut events = rest(&mut first);
    assert_eq!(events.len(), 1);
    let unfinished = first.unfinished().unwrap();
    assert_eq!(
        (unfinished.kind, unfinished.line_number, unfinished.offset),
        ("unterminated", 2, first.cursor())
    );
    assert!(first.next_record().unwrap().is_none());

    let mut again = Importer::resume(&saved.source, first.cursor(), &first.state()).unwrap();
    assert!(again.next_record().unwrap().is_none());
    assert_eq!((again.cursor(), again.state()), (first.cursor(), first.state()));

    let mut grown = std::fs::OpenOptions::new().append(true).open(&saved.path).unwrap();
    grown.write_all(&file.bytes[cut..]).unwrap();
    let mut later = Importer::resume(&saved.source, again.cursor(), &again.state()).unwrap();
    events.extend(rest(&mut later));
    assert_eq!(events, whole);
}

/// A last line without its newline that can be read is read; the newline that comes later is no line of its own.
#[test]
fn the_newline_may_come_later() {
    let mut file = Fixture::default();
    file.user("u1", "hello", json!({})).user("u2", "more", json!({}));
    let all = file.bytes.clone();
    file.bytes.pop();
    let saved = file.save();
    let mut first = Importer::start(&saved.source).unwrap();
    assert_eq!(rest(&mut first).len(), 2);
    assert!(first.unfinished().is_none());
    std::fs::write(&saved.path, [&all[..], b"broken\n"].concat()).unwrap();
    let mut later = Importer::resume(&saved.source, first.cursor(), &first.state()).unwrap();
    assert_eq!(later.next_record().unwrap().unwrap().problem.unwrap().line_number, 3);
}

#[test]
fn a_state_from_elsewhere_is_refused() {
    let mut file = Fixture::default();
    file.user("u1", "hello", json!({}));
    let saved = file.save();
    for state in [json!(null), json!({"v": 2}), json!({"v": "x"}), json!([]), json!({})] {
        let refused = Importer::resume(&saved.source, 10, &Json::from(state));
        assert!(matches!(refused, Err(Error::StaleState { .. })));
    }
}
