//! Whatever happens to the index, nothing is lost and nothing stops; and it does no work twice.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use annals::import::Quiet;
use annals::{Search, Store};

use crate::support::{Fixture, Watched, options, prompt};

const FILES: [&str; 3] = ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"];

fn sessions(store: &Store) -> Vec<(String, Option<u64>, Option<String>)> {
    let list = store.list().unwrap().sessions;
    list.into_iter().map(|s| (s.id.to_string(), s.conversation_id, s.title)).collect()
}

/// Does something to the index, and looks whether a new process finds everything.
fn spoil(what: &str, is_told: bool, spoil: impl Fn(&Path)) {
    let f = Fixture::new();
    for n in 0..4 {
        f.conversation(&format!("s{n}"), &format!("title {n}"));
    }
    f.store.update_index(true, &mut Quiet).unwrap();
    let before = sessions(&f.store);
    let home = f.home();
    let Fixture { dir, store } = f;
    drop(store);
    spoil(&home);
    let store = Store::open(options(&home)).unwrap();
    assert_eq!(sessions(&store), before, "{what}");
    let search = Search { text: "title".into(), limit: 12, ..Search::default() };
    assert_eq!(store.search(&search, &mut Quiet).unwrap().total, 4, "{what}");
    store.open_writer(&"s0".parse().unwrap()).unwrap().0.append(&[prompt("more")]).unwrap();
    assert_eq!(
        store.search(&Search { text: "more".into(), ..search }, &mut Quiet).unwrap().total,
        1,
        "{what}"
    );
    let notices = store.notices();
    assert_eq!(!notices.is_empty(), is_told, "{what}: {notices:?}");
    assert_eq!(store.check_index(&mut Quiet).unwrap(), Vec::<String>::new(), "{what}");
    drop(dir);
}

#[test]
fn an_index_that_is_gone_or_spoiled_is_made_anew() {
    spoil("deleted", false, |home| FILES.iter().for_each(|file| drop(fs::remove_file(home.join(file)))));
    spoil("garbage", true, |home| {
        FILES.iter().for_each(|file| drop(fs::remove_file(home.join(file))));
        fs::write(home.join(FILES[0]), "this is no database, and never was one. ".repeat(400)).unwrap();
    });
    spoil("truncated", true, |home| {
        FILES[1..].iter().for_each(|file| drop(fs::remove_file(home.join(file))));
        let file = fs::File::options().write(true).open(home.join(FILES[0])).unwrap();
        file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    });
    spoil("from the future", true, |home| {
        let index = rusqlite::Connection::open(home.join(FILES[0])).unwrap();
        index.pragma_update(None, "user_version", 99).unwrap();
    });
    spoil("another program's", true, |home| {
        FILES.iter().for_each(|file| drop(fs::remove_file(home.join(file))));
        let other = rusqlite::Connection::open(home.join(FILES[0])).unwrap();
        other.execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1);").unwrap();
    });
}

/// What was put aside is whole: it may be another program's, or a newer version's.
#[test]
fn what_was_in_its_place_is_kept() {
    let f = Fixture::new();
    f.conversation("one", "hi");
    let home = f.home();
    let Fixture { dir, store } = f;
    drop(store);
    FILES.iter().for_each(|file| drop(fs::remove_file(home.join(file))));
    fs::write(home.join(FILES[0]), "somebody's").unwrap();
    sessions(&Store::open(options(&home)).unwrap());
    let kept = fs::read_dir(&home)
        .unwrap()
        .flatten()
        .any(|entry| fs::read(entry.path()).is_ok_and(|bytes| bytes == b"somebody's"));
    assert!(kept);
    drop(dir);
}

/// A directory where nothing can be written: lists and searches work, and leave nothing.
#[test]
fn a_place_that_can_only_be_read_is_read() {
    use std::os::unix::fs::PermissionsExt;
    let f = Fixture::new();
    f.conversation("one", "hello there");
    f.store.update_index(true, &mut Quiet).unwrap();
    let before = sessions(&f.store);
    let home = f.home();
    let Fixture { dir, store } = f;
    drop(store);
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for with_index in [true, false] {
        if !with_index {
            FILES.iter().for_each(|file| drop(fs::remove_file(home.join(file))));
        }
        mode(&home, 0o500);
        // Root may write anyway; then this is an ordinary run.
        let store = Store::open(options(&home)).unwrap();
        assert_eq!(sessions(&store), before, "with index: {with_index}");
        let search = Search { text: "hello".into(), ..Search::default() };
        assert_eq!(store.search(&search, &mut Quiet).unwrap().total, 1);
        mode(&home, 0o700);
    }
    drop(dir);
}

/// IDX-1: what is known is not read again, and a line more costs a line's work.
#[test]
fn no_byte_of_a_log_is_read_twice() {
    let watched = Watched::default();
    let f = Fixture::with(|options| {
        options.disk = std::sync::Arc::new(watched.clone());
        // Without the runway of blank lines, which would be read too.
        options.durability = annals::log::Durability::Os;
    });
    for n in 0..20 {
        f.conversation(&format!("s{n}"), &format!("{n} {}", "long ".repeat(2000)));
    }
    f.store.update_index(true, &mut Quiet).unwrap();
    let read = |work: &dyn Fn()| {
        watched.seen.bytes_read.store(0, Ordering::Relaxed);
        work();
        watched.seen.bytes_read.load(Ordering::Relaxed)
    };
    assert_eq!(read(&|| f.store.update_index(true, &mut Quiet).unwrap()), 0);
    assert_eq!(read(&|| drop(f.store.list().unwrap())), 0);
    let (session, _) = f.store.open_writer(&"s7".parse().unwrap()).unwrap();
    session.append(&[prompt("one more line")]).unwrap();
    let bytes = read(&|| drop(f.store.list().unwrap()));
    assert!((1..4096).contains(&bytes), "{bytes}");
}
