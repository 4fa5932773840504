//! The data directory.

use std::fs;

use annals::{Error, NewSession, Store};

use crate::support::{Fixture, Watched, options, prompt};

/// Fault 9: a read-only listing created directories, and a misspelt id was reported as an empty session.
#[test]
fn readers_create_nothing() {
    let f = Fixture::new();
    assert_eq!(f.store.list().unwrap().total, 0);
    let id = "no-such-session".parse().unwrap();
    assert!(matches!(f.store.read(&id), Err(Error::SessionNotFound { .. })));
    assert!(matches!(f.store.replay(&id), Err(Error::SessionNotFound { .. })));
    assert!(matches!(f.store.verify(&id), Err(Error::SessionNotFound { .. })));
    assert!(matches!(f.store.open_writer(&id), Err(Error::SessionNotFound { .. })));
    assert!(f.store.resolve("latest").is_err());
    assert!(!f.home().exists());
}

#[test]
fn what_is_no_store_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "x").unwrap();
    assert!(matches!(Store::open(options(&file)), Err(Error::NotAStore { .. })));
    assert!(matches!(Store::open(options(dir.path())), Err(Error::NotAStore { .. })));
    // Many directories have a file of this name.
    let project = dir.path().join("project");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("README.txt"), "My project").unwrap();
    assert!(matches!(Store::open(options(&project)), Err(Error::NotAStore { .. })));
}

#[test]
fn an_emptied_store_is_one_still() {
    let f = Fixture::new();
    f.conversation("one", "hi");
    fs::remove_dir_all(f.home().join("sessions")).unwrap();
    assert_eq!(Store::open(options(&f.home())).unwrap().list().unwrap().total, 0);
}

/// The first session of a new home survives a power cut only with every name on the way to it.
#[test]
fn the_names_above_a_new_home_are_made_durable() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Watched::default();
    let home = dir.path().join("share/annals");
    let mut options = options(&home);
    options.disk = std::sync::Arc::new(disk.clone());
    options.indexing = annals::Indexing::InMemory;
    let store = Store::open(options).unwrap();
    store.create(NewSession::default()).unwrap();
    let synced = disk.seen.dir_syncs.lock().unwrap().clone();
    for name in [dir.path().to_owned(), dir.path().join("share"), home.clone(), home.join("sessions")] {
        assert!(synced.contains(&name), "{} in {synced:?}", name.display());
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_and_looser_rights_are_tightened() {
    use std::os::unix::fs::PermissionsExt;
    let f = Fixture::new();
    let id = f.conversation("one", "hi");
    let session = f.home().join("sessions/one");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let loosen =
        |path: &std::path::Path, to| fs::set_permissions(path, fs::Permissions::from_mode(to)).unwrap();
    let all = [f.home(), f.home().join("sessions"), session.clone()];
    for dir in &all {
        assert_eq!(mode(dir), 0o700, "{}", dir.display());
        loosen(dir, 0o755);
    }
    assert_eq!(mode(&f.log_of(&id)), 0o600);
    loosen(&f.log_of(&id), 0o644);
    // Reading changes nothing.
    f.store.list().unwrap();
    assert_eq!(mode(&session), 0o755);
    let (writer, _) = f.store.open_writer(&id).unwrap();
    writer.append(&[prompt("more")]).unwrap();
    writer.close().unwrap();
    for dir in &all {
        assert_eq!(mode(dir), 0o700, "{}", dir.display());
    }
    assert_eq!(mode(&f.log_of(&id)), 0o600);
}
