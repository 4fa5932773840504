//! How much work operations cost, counted.

use std::path::Path;
use std::sync::Arc;

use annals_log::{Durability, Item, Log, Options, Reader};
use annals_model::{Draft, Timestamp};
use annals_testkit::clock::FixedClock;
use annals_testkit::sim::{Call, SimDisk};

fn dir() -> &'static Path {
    Path::new("/home/sessions/s")
}

fn draft(data: &str) -> Draft<'_> {
    Draft { ts: Timestamp::from_millis(0), turn: None, kind: "user_message", data }
}

fn options() -> Options {
    Options::new(Arc::new(FixedClock::default())).durability(Durability::Strict)
}

fn create(disk: &SimDisk) -> Log {
    Log::create(disk, dir(), options(), 0, &Draft { kind: "session_started", ..draft("{\"format\":1}") })
        .unwrap()
}

#[test]
fn a_commit_costs_one_write_and_one_sync() {
    let disk = SimDisk::new();
    let log = create(&disk);
    log.commit(&[draft("{}")]).unwrap();
    disk.reset_counts();
    for _ in 0..100 {
        log.commit(&[draft("{\"text\":\"some words\"}")]).unwrap();
    }
    assert_eq!((disk.count(Call::Write), disk.count(Call::Sync)), (100, 100));
}

#[test]
fn appends_that_wait_together_share_a_sync() {
    let disk = SimDisk::new();
    let log = create(&disk);
    disk.reset_counts();
    let tickets: Vec<_> = (0..8).map(|_| log.append(&[draft("{}")]).unwrap()).collect();
    let seqs: Vec<u64> = tickets.into_iter().map(|t| t.wait().unwrap().seq).collect();
    assert_eq!(seqs, (1..9).collect::<Vec<_>>());
    assert_eq!(disk.count(Call::Sync), 1);
}

#[test]
fn a_large_log_that_was_closed_is_opened_by_its_last_lines() {
    let disk = SimDisk::new();
    let log = create(&disk);
    let data = format!("{{\"pad\":\"{}\"}}", "x".repeat(10_000));
    for _ in 0..1_000 {
        log.append(&[draft(&data)]).unwrap().wait().unwrap();
    }
    log.close().unwrap();
    let disk = disk.kill();
    let (log, opening) = Log::open(&disk, dir(), options(), None).unwrap();
    assert!(opening.was_closed);
    assert!(disk.bytes_read() < 64 * 1024, "{} bytes read", disk.bytes_read());
    // Closing again what nothing was appended to writes nothing.
    let before = disk.contents(log.path()).unwrap();
    log.close().unwrap();
    assert_eq!(disk.contents(&dir().join(annals_log::LOG_FILE)).unwrap(), before);
}

/// Faults 15 and 16: a huge line made the session unloadable, a huge log took its size in memory. Here the line alone is passed over.
#[test]
fn a_line_that_is_too_long_costs_itself() {
    let disk = SimDisk::new();
    let log = create(&disk);
    for _ in 0..3 {
        log.commit(&[draft("{}")]).unwrap();
    }
    log.close().unwrap();
    let path = dir().join(annals_log::LOG_FILE);
    let good = disk.contents(&path).unwrap();
    let first = good.iter().position(|b| *b == b'\n').unwrap() + 1;
    let mut bad = good[..first].to_vec();
    bad.extend(std::iter::repeat_n(b'x', annals_model::line::MAX_LINE_BYTES + 1_000_000));
    bad.push(b'\n');
    bad.extend_from_slice(&good[first..]);
    disk.damage(&path, &bad);
    let mut reader = Reader::open(&disk, dir()).unwrap();
    let (mut lines, mut gaps) = (0, 0);
    while let Some(item) = reader.next_item().unwrap() {
        match item {
            Item::Line { .. } => lines += 1,
            Item::Gap(damage) => {
                gaps += 1;
                assert_eq!(damage.missing, 0);
            }
        }
    }
    assert_eq!((lines, gaps), (6, 1));
}

#[test]
fn readers_take_no_lock_and_create_nothing() {
    let disk = SimDisk::new();
    let log = create(&disk);
    log.commit(&[draft("{}")]).unwrap();
    disk.reset_counts();
    let mut reader = Reader::open(&disk, dir()).unwrap();
    while reader.next_item().unwrap().is_some() {}
    annals_log::verify(&disk, dir(), None, &[]).unwrap();
    annals_log::salvage_plan(&disk, dir()).unwrap();
    assert_eq!(disk.changes(), 0);
}
