//! Calls that fail, a disk that fills up, and the counts.

use std::io::ErrorKind;

use annals_log::disk::{Disk, OpenMode, write_full};
use annals_testkit::sim::{Call, Fault, FaultAt, Operation};

use crate::{dir, disk, durable, path, put};

#[test]
fn the_nth_call_of_a_kind_fails_and_no_other() {
    let disk = disk();
    let file = put(&disk, "f", b"");
    disk.fail(FaultAt { call: Some(Call::Write), n: 1, fault: Fault::Error });
    file.write_at(b"a", 0).unwrap();
    file.sync().unwrap();
    file.write_at(b"b", 1).unwrap_err();
    file.write_at(b"c", 1).unwrap();
    assert_eq!(disk.contents(&path("f")).unwrap(), b"ac");
}

#[test]
fn each_kind_of_call_can_fail() {
    for call in [
        Call::Open,
        Call::Read,
        Call::Write,
        Call::Sync,
        Call::SetLen,
        Call::Rename,
        Call::Remove,
        Call::SyncDir,
        Call::CreateDirs,
        Call::RemoveDir,
        Call::HardLink,
    ] {
        let disk = disk();
        let file = durable(&disk, "f", b"x");
        durable(&disk, "h", b"");
        disk.create_dirs(&path("spare")).unwrap();
        disk.fail(FaultAt { call: Some(call), n: 0, fault: Fault::NoSpace });
        let all = [
            disk.open(&path("f"), OpenMode::Read).map(drop),
            file.read_at(&mut [0], 0).map(drop),
            file.write_at(b"y", 0).map(drop),
            file.sync(),
            file.set_len(1),
            disk.rename(&path("f"), &path("g")),
            disk.remove(&path(if call == Call::Rename { "f" } else { "g" })),
            disk.sync_dir(dir()),
            disk.create_dirs(&path("e")),
            disk.remove_dir(&path(if call == Call::CreateDirs { "spare" } else { "e" })),
            disk.hard_link(&path("h"), &path("i")),
        ];
        let failed: Vec<usize> = (0..all.len()).filter(|n| all[*n].is_err()).collect();
        assert_eq!(failed, [call as usize], "{call:?}: {all:?}");
        assert_eq!(all[call as usize].as_ref().unwrap_err().kind(), ErrorKind::StorageFull);
    }
}

#[test]
fn a_short_write_says_so_and_a_partial_one_does_not() {
    let disk = disk();
    let file = put(&disk, "f", b"");
    disk.fail(FaultAt { call: Some(Call::Write), n: 0, fault: Fault::Short(2) });
    assert_eq!(file.write_at(b"abcd", 0).unwrap(), 2);
    assert_eq!(disk.contents(&path("f")).unwrap(), b"ab");
    disk.fail(FaultAt { call: Some(Call::Write), n: 0, fault: Fault::Partial(3) });
    file.write_at(b"wxyz", 0).unwrap_err();
    assert_eq!(disk.contents(&path("f")).unwrap(), b"wxy");
    disk.fail(FaultAt { call: Some(Call::Write), n: 0, fault: Fault::Interrupted });
    write_full(file.as_ref(), b"1234", 0).unwrap();
    assert_eq!(disk.contents(&path("f")).unwrap(), b"1234");
}

#[test]
fn after_a_stop_everything_fails_and_nothing_more_is_done() {
    let disk = disk();
    let file = durable(&disk, "f", b"old");
    file.write_at(b"new", 0).unwrap();
    disk.fail(FaultAt { call: None, n: 1, fault: Fault::Stop });
    disk.create_dirs(&path("e")).unwrap();
    file.sync().unwrap_err();
    file.write_at(b"more", 0).unwrap_err();
    file.read_at(&mut [0], 0).unwrap_err();
    file.len().unwrap_err();
    file.try_lock().unwrap_err();
    disk.list(dir()).unwrap_err();
    disk.open(&path("f"), OpenMode::Read).unwrap_err();
    assert_eq!(disk.kill().contents(&path("f")).unwrap(), b"new", "what was written before is there");
    assert!(disk.kill().open(&path("f"), OpenMode::Read).is_ok(), "the next process is well");
    assert_eq!(
        disk.all_crashes(8).unwrap().len(),
        4,
        "e or not, the write or not: the sync was never asked for"
    );
}

#[test]
fn a_full_disk_takes_what_fits_and_has_room_again_after_a_cut_or_a_removal() {
    let disk = disk();
    disk.set_capacity(Some(10));
    let file = put(&disk, "f", b"12345678");
    assert_eq!(file.write_at(b"abcd", 8).unwrap(), 2, "what still fits");
    assert_eq!(file.write_at(b"e", 10).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(write_full(file.as_ref(), b"0123456789X", 0).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(file.write_at(b"zz", 0).unwrap(), 2, "bytes within the file cost nothing");
    file.set_len(7).unwrap();
    let other = put(&disk, "g", b"abc");
    assert!(other.write_at(b"d", 3).is_err());
    disk.remove(&path("f")).unwrap();
    assert!(other.write_at(b"d", 3).is_err(), "an open file keeps its space");
    drop(file);
    assert_eq!(other.write_at(b"defghij", 3).unwrap(), 7);
}

#[test]
fn the_work_is_counted_and_recorded_in_order() {
    let disk = disk();
    disk.reset_counts();
    disk.record();
    let file = put(&disk, "f.tmp", b"12345");
    file.sync().unwrap();
    disk.rename(&path("f.tmp"), &path("f")).unwrap();
    disk.sync_dir(dir()).unwrap();
    file.read_at(&mut [0; 3], 0).unwrap();
    let expected = [
        (Call::Open, path("f.tmp")),
        (Call::Write, path("f.tmp")),
        (Call::Sync, path("f.tmp")),
        (Call::Rename, path("f")),
        (Call::SyncDir, dir().to_owned()),
        (Call::Read, path("f.tmp")),
    ]
    .map(|(call, path)| Operation { call, path });
    assert_eq!(disk.operations(), expected);
    assert_eq!((disk.count(Call::Sync), disk.changes()), (1, 5));
    assert_eq!((disk.bytes_written(), disk.bytes_read()), (5, 3));
}
