//! Blobs beside the log.

use std::fs;

use crate::support::Fixture;

#[test]
fn a_blob_is_named_after_its_bytes_and_written_once() {
    let f = Fixture::new();
    let session = f.create("one");
    let name = session.put_blob(b"picture").unwrap();
    assert_eq!(name, blake3::hash(b"picture").to_hex().as_str());
    assert_eq!(session.put_blob(b"picture").unwrap(), name);
    assert_eq!(f.store.blob(session.id(), &name, 3, 100).unwrap(), b"ture");
    assert!(f.store.blob(session.id(), "../events.jsonl", 0, 100).is_err());
}

/// Fault 38: a retry wrote through a hard link and emptied the other session's blob.
#[test]
fn an_existing_blob_is_never_opened_for_writing() {
    let f = Fixture::new();
    let session = f.create("one");
    let name = session.put_blob(b"picture").unwrap();
    let path = session.dir().join("blobs").join(&name);
    let linked = f.dir.path().join("linked");
    fs::hard_link(&path, &linked).unwrap();
    session.put_blob(b"picture").unwrap();
    assert_eq!(fs::read(&linked).unwrap(), b"picture");
    // One that was cut short is replaced, not written to.
    fs::write(&path, b"pic").unwrap();
    session.put_blob(b"picture").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"picture");
    assert_eq!(fs::read(&linked).unwrap(), b"pic");
}

#[test]
fn what_a_crash_left_of_a_blob_stands_in_nobodys_way() {
    let f = Fixture::new();
    let session = f.create("one");
    let name = blake3::hash(b"picture").to_hex().to_string();
    fs::create_dir_all(session.dir().join("blobs")).unwrap();
    fs::write(session.dir().join("blobs").join(format!("{name}.tmp")), b"pi").unwrap();
    session.put_blob(b"picture").unwrap();
    assert_eq!(f.store.blob(session.id(), &name, 0, 100).unwrap(), b"picture");
}

/// Threads that keep the same bytes at the same time don't tear each other's file.
#[test]
fn threads_may_keep_the_same_bytes() {
    let f = Fixture::new();
    let session = f.create("one");
    for round in 0..20_u8 {
        let bytes = vec![round; 200_000];
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| session.put_blob(&bytes).unwrap());
            }
        });
        let name = blake3::hash(&bytes).to_hex().to_string();
        assert!(f.store.blob(session.id(), &name, 0, 300_000).unwrap() == bytes, "round {round}");
    }
}
