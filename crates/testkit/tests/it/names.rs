//! Names: created, renamed, removed, and lost.

use std::collections::BTreeSet;
use std::io::ErrorKind;

use annals_log::disk::{Disk, OpenMode, write_full};
use annals_testkit::rng::Rng;
use annals_testkit::sim::SimDisk;

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

/// Where a file is after every power cut: `a` in the one directory, `b` in the other.
fn places(disk: &SimDisk) -> Vec<(bool, bool)> {
    let there = |crash: &SimDisk, name: &str| crash.contents(&path(name)).is_some();
    disk.all_crashes(12).unwrap().iter().map(|c| (there(c, "one/a"), there(c, "two/b"))).collect()
}

/// Two durable directories and a file, synced, in the first.
fn two_directories() -> SimDisk {
    let disk = disk();
    disk.create_dirs(&path("one")).unwrap();
    disk.create_dirs(&path("two")).unwrap();
    disk.sync_dir(dir()).unwrap();
    put(&disk, "one/a", b"x").sync().unwrap();
    disk.sync_dir(&path("one")).unwrap();
    disk
}

#[test]
fn a_move_between_directories_is_durable_once_both_were_synced() {
    for (first, second) in [("one", "two"), ("two", "one")] {
        let disk = two_directories();
        disk.rename(&path("one/a"), &path("two/b")).unwrap();
        assert_eq!(places(&disk), [(true, false), (false, true)]);
        disk.sync_dir(&path(first)).unwrap();
        assert_eq!(places(&disk), [(true, false), (false, true)], "{first} alone is not enough");
        disk.sync_dir(&path(second)).unwrap();
        assert_eq!(places(&disk), [(false, true)]);
    }
}

/// Whatever is done around a move and synced in part, its file is in one of the two places.
#[test]
fn a_moved_file_is_never_lost_by_what_follows() {
    let disk = two_directories();
    disk.rename(&path("one/a"), &path("two/b")).unwrap();
    put(&disk, "one/a", b"another").sync().unwrap();
    let found = |crash: &SimDisk| ["one/a", "two/b"].map(|name| crash.contents(&path(name)));
    let (old, new) = (Some(b"x".to_vec()), Some(b"another".to_vec()));
    let all = || disk.all_crashes(12).unwrap().iter().map(found).collect::<Vec<_>>();
    assert_eq!(all(), [[old.clone(), None], [None, old.clone()], [new.clone(), old.clone()]]);
    // Making the new file durable brings the move along that made room for it.
    disk.sync_dir(&path("one")).unwrap();
    assert_eq!(all(), [[new, old]]);
}

#[test]
fn a_file_moved_out_of_a_directory_that_is_then_removed_is_never_lost() {
    let disk = two_directories();
    disk.rename(&path("one/a"), &path("two/b")).unwrap();
    disk.remove_dir(&path("one")).unwrap();
    assert_eq!(places(&disk), [(true, false), (false, true), (false, true)]);
    disk.sync_dir(dir()).unwrap();
    assert_eq!(places(&disk), [(false, true)]);
    assert!(disk.list(&path("one")).is_err());
}

#[test]
fn a_renamed_directory_moves_whole_or_not_at_all() {
    let disk = two_directories();
    disk.create_dirs(&path("one/deep")).unwrap();
    put(&disk, "one/deep/f", b"deep").sync().unwrap();
    disk.sync_dir(&path("one")).unwrap();
    disk.sync_dir(&path("one/deep")).unwrap();
    disk.rename(&path("one"), &path("two")).unwrap();
    assert_eq!(disk.contents(&path("two/deep/f")).unwrap(), b"deep");
    let states: BTreeSet<_> = disk
        .all_crashes(8)
        .unwrap()
        .iter()
        .map(|c| ["one/a", "one/deep/f", "two/a", "two/deep/f"].map(|name| c.contents(&path(name)).is_some()))
        .collect();
    assert_eq!(states, [[true, true, false, false], [false, false, true, true]].into());
    disk.sync_dir(dir()).unwrap();
    assert_eq!(outcomes(&disk, "two/deep/f"), set(&[Some(b"deep")]));
}

/// A name made below a directory before it was moved goes with it, and is as durable as its own directory.
#[test]
fn what_is_not_durable_below_a_moved_directory_stays_so() {
    let disk = two_directories();
    put(&disk, "one/new", b"n").sync().unwrap();
    disk.rename(&path("one"), &path("moved")).unwrap();
    disk.sync_dir(dir()).unwrap();
    assert_eq!(outcomes(&disk, "moved/a"), set(&[Some(b"x")]));
    assert_eq!(outcomes(&disk, "moved/new"), set(&[None, Some(b"n")]));
    disk.sync_dir(&path("moved")).unwrap();
    assert_eq!(outcomes(&disk, "moved/new"), set(&[Some(b"n")]));
}

#[test]
fn a_second_name_may_be_lost_and_is_the_same_file() {
    let disk = disk();
    let file = durable(&disk, "a", b"x");
    disk.hard_link(&path("a"), &path("b")).unwrap();
    assert_eq!(disk.hard_link(&path("a"), &path("b")).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(outcomes(&disk, "a"), set(&[Some(b"x")]));
    assert_eq!(outcomes(&disk, "b"), set(&[None, Some(b"x")]));
    disk.sync_dir(dir()).unwrap();
    write_full(file.as_ref(), b"y", 0).unwrap();
    assert_eq!(disk.contents(&path("b")).unwrap(), b"y");
    assert_eq!(disk.metadata(&path("a")).unwrap(), disk.metadata(&path("b")).unwrap());
    disk.remove(&path("a")).unwrap();
    disk.sync_dir(dir()).unwrap();
    file.sync().unwrap();
    assert_eq!(outcomes(&disk, "b"), set(&[Some(b"y")]));
}

#[test]
fn an_empty_directory_can_be_removed_and_may_come_back() {
    let disk = two_directories();
    assert_eq!(disk.remove_dir(&path("one")).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
    disk.remove_dir(&path("two")).unwrap();
    let left = || disk.all_crashes(8).unwrap().iter().filter(|c| c.list(&path("two")).is_ok()).count();
    assert_eq!(left(), 1);
    disk.sync_dir(dir()).unwrap();
    assert_eq!(left(), 0);
}

/// A sync carries a file's time along with a new length only, so that a power cut may leave new bytes under the old time.
#[test]
fn times_move_with_each_change_and_may_fall_back() {
    let disk = disk();
    let file = durable(&disk, "f", b"abcd");
    let of = |disk: &SimDisk| disk.metadata(&path("f")).unwrap();
    let first = of(&disk);
    assert_eq!((first.len, first.is_dir), (4, false));
    file.write_at(b"x", 0).unwrap();
    file.sync().unwrap();
    let second = of(&disk);
    assert!(second.mtime_ns > first.mtime_ns && second.identity == first.identity);
    let crashed = disk.crash(&mut Rng::new(1));
    assert_eq!((crashed.contents(&path("f")).unwrap(), of(&crashed)), (b"xbcd".to_vec(), first));
    assert_eq!(of(&disk.kill()), second);
    file.set_len(5).unwrap();
    file.sync().unwrap();
    assert_eq!(of(&disk.crash(&mut Rng::new(1))), of(&disk));
    let names = disk.metadata(dir()).unwrap();
    put(&disk, "g", b"");
    let changed = disk.metadata(dir()).unwrap();
    assert!(names.is_dir && changed.mtime_ns > names.mtime_ns && changed.identity == names.identity);
}

#[test]
fn a_range_is_copied_and_lost_like_any_write() {
    let disk = disk();
    durable(&disk, "a", b"0123456789");
    let to = durable(&disk, "b", b"xy");
    assert_eq!(disk.copy_range(&path("a"), 4, 3, &path("b"), 2).unwrap(), 3);
    assert_eq!(disk.copy_range(&path("a"), 8, 100, &path("b"), 5).unwrap(), 2, "as much as there is");
    assert_eq!(disk.contents(&path("b")).unwrap(), b"xy45689");
    assert!(outcomes(&disk, "b").contains(&Some(b"xy".to_vec())));
    to.sync().unwrap();
    assert_eq!(outcomes(&disk, "b"), set(&[Some(b"xy45689")]));
    assert_eq!(disk.copy_range(&path("a"), 0, 1, &path("none"), 0).unwrap_err().kind(), ErrorKind::NotFound);
}
