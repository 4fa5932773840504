//! The list.

use std::fs;

use annals::log::Durability;
use annals::model::Json;
use annals::model::Payload;
use annals::model::payload::{Titled, ToolCall, ToolResult};

use crate::support::{Fixture, answer, prompt};

fn call(id: &str) -> annals::NewEvent {
    Payload::from(ToolCall { id: id.to_owned(), name: "sh".to_owned(), ..ToolCall::default() }).into()
}

fn result(id: &str, len: usize) -> annals::NewEvent {
    let output = Json::string(&"x".repeat(len));
    Payload::from(ToolResult { id: id.to_owned(), output, ..ToolResult::default() }).into()
}

fn titled(title: &str) -> annals::NewEvent {
    Payload::from(Titled { title: title.to_owned(), ..Titled::default() }).into()
}

#[test]
fn newest_message_first() {
    let f = Fixture::new();
    let first = f.conversation("first", "one");
    f.conversation("second", "two");
    let ids = || f.store.list().unwrap().sessions.iter().map(|s| s.id.to_string()).collect::<Vec<_>>();
    assert_eq!(ids(), ["second", "first"]);
    let (session, _) = f.store.open_writer(&first).unwrap();
    session.append(&[prompt("more")]).unwrap();
    session.close().unwrap();
    assert_eq!(ids(), ["first", "second"]);
}

#[test]
fn status_tells_what_was_cut_short() {
    let f = Fixture::new();
    let status = |id: &str| f.store.summary(&id.parse().unwrap()).unwrap().status;
    f.conversation("rest", "hi");
    let session = f.create("open");
    session.append(&[prompt("hi")]).unwrap();
    assert_eq!((status("rest"), status("open")), ("idle", "open"));
    session.close().unwrap();
    assert_eq!(status("open"), "interrupted");
    let session = f.create("calling");
    session.append(&[prompt("hi"), call("c1")]).unwrap();
    session.close().unwrap();
    assert_eq!(status("calling"), "interrupted");
}

/// Fault 17: a session whose first prompt was long was not listed.
#[test]
fn listing_never_depends_on_sizes() {
    let f = Fixture::at(Durability::Os);
    let long = format!("title\n{}", "long ".repeat(400_000));
    f.conversation("long", &long);
    let summary = f.store.summary(&"long".parse().unwrap()).unwrap();
    assert_eq!((summary.title.as_deref(), summary.messages, summary.events), (Some("title"), Some(2), 6));
}

/// A log that is not small yet is counted exactly, and a call that was answered is not open.
#[test]
fn a_log_of_some_megabytes_is_counted_exactly() {
    let f = Fixture::at(Durability::Os);
    let session = f.create("some");
    session.append(&[prompt("first")]).unwrap();
    for n in 0..200 {
        let id = format!("c{n}");
        session.append(&[answer("looking"), call(&id), result(&id, 10_000)]).unwrap();
    }
    session.append(&[titled("In the middle")]).unwrap();
    for n in 200..300 {
        let id = format!("c{n}");
        session.append(&[answer("looking"), call(&id), result(&id, 10_000)]).unwrap();
    }
    session.append(&[answer("done")]).unwrap();
    let id = session.id().clone();
    session.close().unwrap();
    let replay = f.store.replay(&id).unwrap();
    let summary = f.store.summary(&id).unwrap();
    assert_eq!(summary.messages, Some(replay.state.meta.messages));
    assert_eq!(summary.events, replay.state.meta.events);
    assert_eq!(summary.updated, replay.state.meta.updated);
    assert_eq!((summary.title.as_deref(), summary.status), (Some("In the middle"), "idle"));
}

/// A list says of a large log what its fold says, to the letter.
#[test]
fn a_large_log_is_listed_as_it_is() {
    let f = Fixture::at(Durability::Os);
    let session = f.create("large");
    session.append(&[prompt("first"), answer("looking")]).unwrap();
    // The call that ends the part read at the beginning is answered in the part that is not.
    for n in 0..1800 {
        let id = format!("c{n}");
        session.append(&[call(&id), result(&id, 10_000)]).unwrap();
    }
    session.append(&[titled("Late title"), answer("done")]).unwrap();
    let id = session.id().clone();
    session.close().unwrap();
    assert!(fs::metadata(f.log_of(&id)).unwrap().len() > 16 * 1024 * 1024);
    let replay = f.store.replay(&id).unwrap();
    let summary = f.store.summary(&id).unwrap();
    let meta = &replay.state.meta;
    assert_eq!((summary.events, summary.messages), (meta.events, Some(meta.messages)));
    assert_eq!((summary.title.as_deref(), summary.status), (Some("Late title"), "idle"));
    assert_eq!(summary.updated, replay.state.meta.updated);
}

/// The last line may be longer than the part that is read at the end.
#[test]
fn a_large_log_that_ends_in_a_long_line_is_listed() {
    let f = Fixture::at(Durability::Os);
    let session = f.create("large");
    session.append(&[prompt("first")]).unwrap();
    for n in 0..18 {
        session.append(&[call(&format!("c{n}")), result(&format!("c{n}"), 1_000_000)]).unwrap();
    }
    let id = session.id().clone();
    drop(session);
    let summary = f.store.summary(&id).unwrap();
    let prompt = f.events(&id).get(1).cloned().unwrap();
    assert_eq!((summary.events, summary.updated), (38, Some(prompt.ts)));
    assert_eq!(summary.title.as_deref(), Some("first"));
}

/// A log that became shorter than its last close is damaged, whatever its size.
#[test]
fn a_large_log_that_lost_its_end_is_damaged() {
    let f = Fixture::at(Durability::Os);
    let session = f.create("large");
    for n in 0..18 {
        session.append(&[call(&format!("c{n}")), result(&format!("c{n}"), 1_000_000)]).unwrap();
    }
    let id = session.id().clone();
    session.close().unwrap();
    let bytes = fs::read(f.log_of(&id)).unwrap();
    let cut = bytes[..bytes.len() - 2000].iter().rposition(|b| *b == b'\n').unwrap() + 1;
    fs::write(f.log_of(&id), &bytes[..cut]).unwrap();
    assert_eq!(f.store.summary(&id).unwrap().status, "damaged");
}

/// Fault 19: one bad session made the whole list fail.
#[test]
fn one_bad_session_costs_one_session() {
    let f = Fixture::new();
    let good = f.conversation("good", "hi");
    let bad = f.conversation("bad", "hi");
    fs::write(f.log_of(&bad), vec![0; 5000]).unwrap();
    let empty = f.conversation("nothing", "hi");
    fs::remove_file(f.log_of(&empty)).unwrap();
    fs::create_dir(f.log_of(&empty)).unwrap();
    fs::write(f.home().join("sessions/.DS_Store"), "x").unwrap();
    let listing = f.store.list().unwrap();
    assert_eq!(listing.sessions.iter().map(|s| &s.id).collect::<Vec<_>>(), [&good]);
    assert_eq!(listing.total, 3);
    assert_eq!(listing.hidden.iter().map(|h| h.count).sum::<u64>(), 2);
    assert!(listing.hidden.iter().any(|h| h.reason == "damaged"), "{:?}", listing.hidden);
}
