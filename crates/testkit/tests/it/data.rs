//! The bytes and the length of a file.

use annals_log::disk::{Disk, OpenMode};
use annals_testkit::sim::{Call, Fault, FaultAt, SECTOR_BYTES};

use crate::{all_outcomes, disk, durable, outcomes, path, put, set};

#[test]
fn what_was_synced_is_never_lost() {
    let disk = disk();
    durable(&disk, "f", &[7; 3000]);
    assert_eq!(outcomes(&disk, "f"), set(&[Some(&[7; 3000])]));
}

#[test]
fn what_was_not_synced_may_be_lost_and_may_be_kept() {
    let disk = disk();
    let file = durable(&disk, "f", b"old");
    file.write_at(b"new", 0).unwrap();
    assert_eq!(outcomes(&disk, "f"), set(&[Some(b"old"), Some(b"new")]));
    assert_eq!(disk.kill().contents(&path("f")).unwrap(), b"new");
}

#[test]
fn sectors_land_in_any_order() {
    let disk = disk();
    let file = durable(&disk, "f", &[0; 2 * SECTOR_BYTES]);
    file.write_at(&[1; 2 * SECTOR_BYTES], 0).unwrap();
    let heads: Vec<(u8, u8)> = all_outcomes(&disk, "f")
        .into_iter()
        .map(|image| image.map(|i| (i[0], i[SECTOR_BYTES])).unwrap())
        .collect();
    assert_eq!(heads, [(0, 0), (0, 1), (1, 0), (1, 1)]);
}

#[test]
fn a_sector_lands_whole_or_not_at_all() {
    let disk = disk();
    let file = durable(&disk, "f", &[0; SECTOR_BYTES]);
    file.write_at(&[1; SECTOR_BYTES], 0).unwrap();
    assert_eq!(all_outcomes(&disk, "f"), set(&[Some(&[0; SECTOR_BYTES]), Some(&[1; SECTOR_BYTES])]));
}

#[test]
fn a_grown_file_may_hold_zeros_where_data_did_not_land() {
    let disk = disk();
    let file = durable(&disk, "f", b"");
    file.write_at(b"new", 0).unwrap();
    assert_eq!(outcomes(&disk, "f"), set(&[Some(b""), Some(&[0; 3]), Some(b"new")]));
}

#[test]
fn an_unsynced_cut_is_kept_or_lost() {
    let disk = disk();
    let file = durable(&disk, "f", b"whole");
    file.set_len(2).unwrap();
    assert_eq!(outcomes(&disk, "f"), set(&[Some(b"whole"), Some(b"wh")]));
    file.sync().unwrap();
    assert_eq!(outcomes(&disk, "f"), set(&[Some(b"wh")]));
}

/// Fault 4: the page is clean after a failed sync, so that the second sync has nothing to do and succeeds.
#[test]
fn a_sync_that_failed_makes_nothing_durable_when_it_is_asked_again() {
    let disk = disk();
    let file = durable(&disk, "f", b"old");
    file.write_at(b"new", 0).unwrap();
    disk.fail(FaultAt { call: Some(Call::Sync), n: 0, fault: Fault::Error });
    file.sync().unwrap_err();
    disk.heal();
    assert_eq!(
        outcomes(&disk, "f"),
        set(&[Some(b"old"), Some(b"new")]),
        "after the failure its fate is open"
    );
    file.sync().unwrap();
    assert_eq!(disk.contents(&path("f")).unwrap(), b"new");
    assert_eq!(outcomes(&disk, "f"), set(&[Some(b"old")]), "asked again, it is lost");
    file.write_at(b"new", 0).unwrap();
    file.sync().unwrap();
    assert_eq!(outcomes(&disk, "f"), set(&[Some(b"new")]), "written again, it is durable");
}

#[test]
fn a_crashed_disk_is_settled_and_the_one_it_came_from_goes_on() {
    let disk = disk();
    let file = put(&disk, "f", b"bytes");
    disk.sync_dir(crate::dir()).unwrap();
    let crash = disk.all_crashes(8).unwrap().pop().unwrap();
    assert_eq!(outcomes(&crash, "f"), set(&[Some(b"bytes")]));
    file.sync().unwrap();
    assert_eq!(outcomes(&disk, "f"), set(&[Some(b"bytes")]));
}

#[test]
fn one_handle_holds_the_lock_until_it_is_dropped_or_killed() {
    let disk = disk();
    let first = put(&disk, "f", b"");
    let second = disk.open(&path("f"), OpenMode::ReadWrite).unwrap();
    assert!(first.try_lock().unwrap() && first.try_lock().unwrap());
    assert!(!second.try_lock().unwrap());
    let after = disk.kill().open(&path("f"), OpenMode::ReadWrite).unwrap();
    assert!(after.try_lock().unwrap(), "a kill frees it");
    drop(first);
    assert!(second.try_lock().unwrap(), "a drop frees it");
}
