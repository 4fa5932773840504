//! Names: created, renamed, removed, and lost.

use std::io::ErrorKind;
use std::path::Path;

use annals_log::disk::{Disk, OpenMode};

use crate::{all_outcomes, dir, disk, durable, outcomes, path, put, set};

#[test]
fn a_created_name_may_be_lost_until_its_directory_is_synced() {
    let disk = disk();
    put(&disk, "f", b"x").sync().unwrap();
    assert_eq!(outcomes(&disk, "f"), set(&[None, Some(b"x")]));
    disk.sync_dir(dir()).unwrap();
    assert_eq!(outcomes(&disk, "f"), set(&[Some(b"x")]));
}

#[test]
fn a_synced_name_does_not_make_its_bytes_durable() {
    let disk = disk();
    put(&disk, "f", b"x");
    disk.sync_dir(dir()).unwrap();
    assert_eq!(outcomes(&disk, "f"), set(&[Some(b""), Some(&[0]), Some(b"x")]));
}

#[test]
fn a_removed_name_may_come_back_until_its_directory_is_synced() {
    let disk = disk();
    durable(&disk, "f", b"x");
    disk.remove(&path("f")).unwrap();
    assert_eq!(outcomes(&disk, "f"), set(&[None, Some(b"x")]));
    disk.sync_dir(dir()).unwrap();
    assert_eq!(outcomes(&disk, "f"), set(&[None]));
}

#[test]
fn a_file_made_and_removed_may_still_be_found() {
    let disk = disk();
    put(&disk, "f", b"x").sync().unwrap();
    disk.remove(&path("f")).unwrap();
    assert_eq!(all_outcomes(&disk, "f"), set(&[None, Some(b"x")]));
}

/// A rename leaves the old state or the new one: the bytes are never nowhere, and never under both names.
#[test]
fn a_rename_is_one_change() {
    let disk = disk();
    durable(&disk, "a", b"x");
    disk.rename(&path("a"), &path("b")).unwrap();
    let states: Vec<_> = disk
        .all_crashes(8)
        .unwrap()
        .iter()
        .map(|c| (c.contents(&path("a")).is_some(), c.contents(&path("b")).is_some()))
        .collect();
    assert_eq!(states, [(true, false), (false, true)]);
    disk.sync_dir(dir()).unwrap();
    assert_eq!(outcomes(&disk, "b"), set(&[Some(b"x")]));
}

#[test]
fn a_replaced_file_is_the_old_one_or_the_new_one() {
    let disk = disk();
    durable(&disk, "f", b"old");
    durable(&disk, "f.tmp", b"new");
    disk.rename(&path("f.tmp"), &path("f")).unwrap();
    assert_eq!(outcomes(&disk, "f"), set(&[Some(b"old"), Some(b"new")]));
}

/// The order that every writer of whole files must keep: sync, then rename. Otherwise the name may lead to nothing.
#[test]
fn a_rename_before_the_sync_may_leave_an_empty_file() {
    let disk = disk();
    durable(&disk, "f", b"old");
    let file = put(&disk, "f.tmp", b"new");
    disk.rename(&path("f.tmp"), &path("f")).unwrap();
    disk.sync_dir(dir()).unwrap();
    assert!(outcomes(&disk, "f").contains(&Some(Vec::new())));
    file.sync().unwrap();
    assert_eq!(outcomes(&disk, "f"), set(&[Some(b"new")]));
}

#[test]
fn a_lost_directory_takes_what_is_in_it() {
    let disk = disk();
    let deep = path("e/g");
    disk.create_dirs(&deep).unwrap();
    disk.open(&deep.join("f"), OpenMode::CreateNew).unwrap().sync().unwrap();
    disk.sync_dir(&deep).unwrap();
    let there =
        |name: &str| disk.all_crashes(8).unwrap().iter().filter(|c| c.list(&path(name)).is_ok()).count();
    // Lost at e; lost at g; all there.
    assert_eq!((disk.all_crashes(8).unwrap().len(), there("e"), there("e/g")), (3, 2, 1));
    disk.sync_dir(dir()).unwrap();
    disk.sync_dir(&path("e")).unwrap();
    assert_eq!(all_outcomes(&disk, "e/g/f"), set(&[Some(b"")]));
}

#[test]
fn a_rename_between_directories_is_refused_rather_than_guessed() {
    let disk = disk();
    disk.create_dirs(&path("e")).unwrap();
    durable(&disk, "a", b"x");
    assert_eq!(disk.rename(&path("a"), &path("e/a")).unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(disk.list(Path::new("/nowhere")).is_err());
}
