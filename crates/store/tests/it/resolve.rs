//! Which session is meant.

use annals::Error;

use crate::support::Fixture;

#[test]
fn ids_beginnings_ends_and_latest() {
    let f = Fixture::new();
    f.conversation("session-20261130-000001-aaaa1111", "one");
    f.conversation("session-20261130-000002-bbbb2222", "two");
    let resolve = |query: &str| f.store.resolve(query).map(|id| id.to_string());
    assert_eq!(resolve("session-20261130-000001-aaaa1111").unwrap(), "session-20261130-000001-aaaa1111");
    assert_eq!(resolve("session-20261130-000002").unwrap(), "session-20261130-000002-bbbb2222");
    assert_eq!(resolve("1111").unwrap(), "session-20261130-000001-aaaa1111");
    assert_eq!(resolve("-bbbb2222").unwrap(), "session-20261130-000002-bbbb2222");
    assert_eq!(resolve("latest").unwrap(), "session-20261130-000002-bbbb2222");
    match resolve("session-2026") {
        Err(Error::Ambiguous { candidates, .. }) => assert_eq!(candidates.len(), 2),
        other => panic!("{other:?}"),
    }
    // Too short to mean anything.
    assert!(matches!(resolve("111"), Err(Error::SessionNotFound { .. })));
    match resolve("session-20261130-000001-aaaa1112") {
        Err(Error::SessionNotFound { similar, .. }) => {
            assert_eq!(
                similar.first().map(annals::model::SessionId::as_str),
                Some("session-20261130-000001-aaaa1111")
            );
        }
        other => panic!("{other:?}"),
    }
}

/// A whole id wins over those that it is the beginning of.
#[test]
fn a_whole_id_is_never_ambiguous() {
    let f = Fixture::new();
    f.conversation("work", "one");
    f.conversation("work-2", "two");
    assert_eq!(f.store.resolve("work").unwrap().as_str(), "work");
}

/// Fault 10: an id with `../` wrote outside the store.
#[test]
fn what_could_leave_the_directory_is_no_id() {
    let f = Fixture::new();
    f.conversation("one", "hi");
    let long = "a".repeat(129);
    for bad in ["../../etc", "a/b", ".hidden", "..", "", "a\0bcd", "a b c d", &long] {
        let refused = f.store.resolve(bad);
        assert!(matches!(refused, Err(Error::InvalidId(_))), "{bad:?}: {refused:?}");
    }
    assert_eq!(std::fs::read_dir(f.home().join("sessions")).unwrap().count(), 1);
}
