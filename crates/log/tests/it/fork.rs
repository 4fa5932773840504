//! Forks: byte for byte the parent's beginning under another first line, at every cut, and logs like any other.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use annals_log::disk::{Disk, OsDisk};
use annals_log::{Durability, Error, Forked, Forking, LOG_FILE, Log, Options, fork, verify};
use annals_model::line::{Place, check, encode};
use annals_model::{Draft, Timestamp};
use annals_testkit::clock::FixedClock;
use annals_testkit::sim::{Call, Fault, FaultAt, SimDisk};
use proptest::prelude::*;

use crate::{create, draft, options};

const EXTRA: [&str; 2] = [r#"{"title":"a fork"}"#, r#"{"tags":["x"]}"#];

fn first() -> Draft<'static> {
    Draft {
        ts: Timestamp::from_millis(7),
        turn: None,
        kind: "session_started",
        data: r#"{"format":1,"title":"the child"}"#,
    }
}

fn parent() -> PathBuf {
    PathBuf::from("/home/sessions/parent")
}

fn lines_of(bytes: &[u8]) -> Vec<&[u8]> {
    let content = bytes.iter().rposition(|b| *b != b'\n').map_or(0, |last| last + 2);
    bytes[..content].split_inclusive(|b| *b == b'\n').collect()
}

/// What a fork of these bytes must hold, made without any of the fork's code.
fn expected(parent: &[u8], upto: usize, extra: &[Draft<'_>]) -> Vec<u8> {
    let lines = lines_of(parent);
    let read = |n: usize| check(lines[n].strip_suffix(b"\n").unwrap()).unwrap();
    let mut out = Vec::new();
    let anchor = if read(0).prev == 0 { read(0).crc } else { read(0).prev };
    encode(&mut out, Place { seq: 0, durable: None, prev: anchor }, &first());
    out.extend(lines[1..=upto].concat());
    let durable = (1..=upto).filter_map(|n| read(n).durable).max();
    let mut prev = if upto == 0 { anchor } else { read(upto).crc };
    for (seq, draft) in (upto as u64 + 1..).zip(extra) {
        prev = encode(&mut out, Place { seq, durable, prev }, draft);
    }
    out
}

fn bytes(disk: &SimDisk, dir: &Path) -> Vec<u8> {
    disk.contents(&dir.join(LOG_FILE)).unwrap()
}

fn simulated(durability: Durability) -> Options {
    Options::new(Arc::new(FixedClock::default())).durability(durability)
}

/// A log made by random operations.
fn random_log(disk: &SimDisk, operations: &[(u8, u16)], durability: Durability) -> Log {
    let start = Draft { kind: "session_started", ..draft(r#"{"format":1}"#) };
    let mut log = Log::create(disk, &parent(), simulated(durability), 0, &start).unwrap();
    for (n, (operation, size)) in operations.iter().enumerate() {
        match operation {
            0 => log.seal().unwrap(),
            1 => {
                log.close().unwrap();
                log = Log::open(disk, &parent(), simulated(durability), None).unwrap().0;
            }
            2 => drop(log.barrier().unwrap()),
            _ => {
                let data = format!("{{\"n\":{n},\"pad\":\"{}\"}}", "é".repeat(usize::from(*size)));
                let drafts = vec![draft(&data); usize::from(size % 3) + 1];
                log.commit(&drafts).unwrap();
            }
        }
    }
    log
}

/// The child is a log like any other: it is sound, can be appended to, closed and opened again, in full or by its last lines.
fn lives(disk: &SimDisk, dir: &Path, made: Forked) {
    let report = verify(disk, dir, None, &[]).unwrap();
    assert!(report.is_sound() && report.torn_bytes == 0, "{report:?}");
    assert_eq!((report.events, report.bytes), (made.next_seq, made.len_bytes));
    let before = bytes(disk, dir);
    for check_up_to_bytes in [Options::CHECK_UP_TO_BYTES, 0] {
        let options = Options { check_up_to_bytes, ..simulated(Durability::Strict) };
        let (log, opening) = Log::open(disk, dir, options, None).unwrap();
        assert!(opening.repair.is_none());
        log.commit(&[draft("{\"by\":\"the child\"}")]).unwrap();
        log.close().unwrap();
    }
    assert!(bytes(disk, dir).starts_with(&before));
    let report = verify(disk, dir, None, &[]).unwrap();
    assert!(report.is_sound() && report.closed && report.seals >= 2, "{report:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_fork_is_the_beginning_of_its_parent_at_every_cut(
        operations in prop::collection::vec((0..8_u8, 0..300_u16), 0..14), level in 0..3_u8, alive in any::<bool>()
    ) {
        let durability = [Durability::Strict, Durability::Barrier, Durability::Os][usize::from(level)];
        let disk = SimDisk::new();
        let log = random_log(&disk, &operations, durability);
        let last = log.next_seq() - 1;
        let writer = alive.then_some(log);
        let extra = EXTRA.map(draft);
        let before = bytes(&disk, &parent());
        for upto in (0..=last).map(Some).chain([None]) {
            let (dir, cut) = (PathBuf::from(format!("/home/sessions/child-{upto:?}")), upto.unwrap_or(last));
            let extra = &extra[..usize::try_from(cut % 3).unwrap()];
            let made = fork(&disk, &parent(), &dir, &Forking { first: first(), upto, extra }).unwrap();
            let child = bytes(&disk, &dir);
            prop_assert_eq!(&child, &expected(&before, usize::try_from(cut).unwrap(), extra));
            prop_assert_eq!(made, Forked {
                last_copied: cut, next_seq: cut + 1 + extra.len() as u64, len_bytes: child.len() as u64
            });
            // A fork of the fork, at the same cut, is the same again.
            let again = dir.join("again");
            fork(&disk, &dir, &again, &Forking { first: first(), upto, extra: &[] }).unwrap();
            let whole = if upto.is_none() { cut + extra.len() as u64 } else { cut };
            prop_assert_eq!(bytes(&disk, &again), expected(&child, usize::try_from(whole).unwrap(), &[]));
            lives(&disk, &again, Forked { last_copied: whole, next_seq: whole + 1, len_bytes: bytes(&disk, &again).len() as u64 });
            lives(&disk, &dir, made);
        }
        prop_assert_eq!(bytes(&disk, &parent()), before, "the parent is as it was");
        drop(writer);
    }
}

#[test]
fn a_seal_of_the_parent_holds_in_the_child() {
    let disk = SimDisk::new();
    let log = random_log(&disk, &[(3, 5), (0, 0), (3, 5), (0, 0), (3, 4)], Durability::Strict);
    log.close().unwrap();
    let child = Path::new("/home/sessions/child");
    fork(&disk, &parent(), child, &Forking { first: first(), upto: None, extra: &[] }).unwrap();
    let of = |dir: &Path| verify(&disk, dir, None, &[]).unwrap();
    assert_eq!((of(child).seals, of(child).closed), (of(&parent()).seals, true));
    assert_eq!(of(child).seals, 3);
}

#[test]
fn a_fork_is_refused_for_a_reason_and_leaves_nothing() {
    let disk = SimDisk::new();
    let log = random_log(&disk, &[(3, 5); 6], Durability::Strict);
    let last = log.next_seq() - 1;
    log.close().unwrap();
    let good = bytes(&disk, &parent());
    let child = Path::new("/home/sessions/child");
    let attempt =
        |upto, extra: &[Draft<'_>]| fork(&disk, &parent(), child, &Forking { first: first(), upto, extra });
    match attempt(Some(last + 9), &[]) {
        Err(Error::NoSuchEvent { asked, last: there, .. }) => {
            assert_eq!((asked, there), (last + 9, last + 2));
        }
        other => panic!("{other:?}"),
    }
    let long = format!("\"{}\"", "x".repeat(annals_model::line::MAX_LINE_BYTES));
    assert!(matches!(attempt(Some(1), &[draft(&long)]), Err(Error::TooLong { .. })));
    // Damage in what is taken over is told with its place; damage behind it is not this fork's business.
    let mut bad = good.clone();
    let at = good.split_inclusive(|b| *b == b'\n').take(4).map(<[u8]>::len).sum::<usize>() + 50;
    bad[at] ^= 1;
    disk.damage(&parent().join(LOG_FILE), &bad);
    for upto in [Some(4), Some(last), None] {
        match attempt(upto, &[]) {
            Err(Error::Corrupt { path, damage }) => {
                assert_eq!((path, damage.line), (parent().join(LOG_FILE), 5));
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(disk.list(child).is_err(), "nothing is left of a fork that failed");
    attempt(Some(3), &[]).unwrap();
    assert!(matches!(attempt(Some(3), &[]), Err(Error::AlreadyExists { .. })));
    // The end that a clean close remembers is missing.
    let cut = good.split_inclusive(|b| *b == b'\n').take(3).map(<[u8]>::len).sum::<usize>();
    disk.damage(&parent().join(LOG_FILE), &good[..cut]);
    let other =
        |upto, to: &str| fork(&disk, &parent(), Path::new(to), &Forking { first: first(), upto, extra: &[] });
    assert!(matches!(other(None, "/home/sessions/c2"), Err(Error::Corrupt { .. })));
    assert!(other(Some(2), "/home/sessions/c2").is_ok());
    disk.damage(&parent().join(LOG_FILE), b"{\"seq\":0,");
    assert!(other(None, "/home/sessions/c3").is_err());
    let nowhere =
        fork(&disk, Path::new("/nowhere"), child, &Forking { first: first(), upto: None, extra: &[] });
    assert!(matches!(nowhere, Err(Error::NotFound { .. })));
}

#[test]
fn a_log_from_the_future_is_not_forked() {
    let disk = SimDisk::new();
    let start = Draft { kind: "session_started", ..draft(r#"{"format":99}"#) };
    drop(Log::create(&disk, &parent(), simulated(Durability::Strict), 0, &start).unwrap());
    let child = Path::new("/home/sessions/child");
    let forked = fork(&disk, &parent(), child, &Forking { first: first(), upto: None, extra: &[] });
    assert!(matches!(forked, Err(Error::Newer { found: 99, .. })));
    assert!(disk.list(child).is_err());
}

/// Of a large log the disk is set to work before all is read. Its error is the fork's error, whichever sync it is.
#[test]
fn no_sync_of_a_large_fork_may_fail_unnoticed() {
    let disk = SimDisk::new();
    let start = Draft { kind: "session_started", ..draft(r#"{"format":1}"#) };
    let log = Log::create(&disk, &parent(), simulated(Durability::Os), 0, &start).unwrap();
    let data = format!("\"{}\"", "x".repeat(3_000_000));
    for _ in 0..13 {
        log.commit(&[draft(&data)]).unwrap();
    }
    log.close().unwrap();
    let child = Path::new("/home/sessions/child");
    let attempt = || fork(&disk, &parent(), child, &Forking { first: first(), upto: None, extra: &[] });
    disk.reset_counts();
    let made = attempt().unwrap();
    let syncs = disk.count(Call::Sync);
    assert!(syncs >= 2, "{syncs} syncs of a log of {} bytes", made.len_bytes);
    assert_eq!(bytes(&disk, child), expected(&bytes(&disk, &parent()), 15, &[]));
    disk.remove(&child.join(LOG_FILE)).unwrap();
    disk.remove_dir(child).unwrap();
    // How many syncs begin early depends on how long each takes; the first and the last are always there.
    for n in 0..2 {
        disk.fail(FaultAt { call: Some(Call::Sync), n, fault: Fault::Error });
        assert!(matches!(attempt(), Err(Error::Io { action: "sync", .. })), "sync {n}");
        disk.heal();
        assert!(disk.list(child).is_err());
    }
}

#[test]
fn forks_beside_a_living_writer_are_sound_and_hold_what_stands_there() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("parent");
    let log = create(&dir, Durability::Os);
    let done = AtomicBool::new(false);
    let made = std::thread::scope(|scope| {
        let forks = scope.spawn(|| {
            let mut made = Vec::new();
            while !done.load(Ordering::SeqCst) || made.is_empty() {
                let child = home.path().join(format!("child-{}", made.len()));
                let forking = Forking { first: first(), upto: None, extra: &[draft(EXTRA[0])] };
                made.push((fork(&OsDisk, &dir, &child, &forking).unwrap(), child));
            }
            made
        });
        for n in 0..4000 {
            let data = format!("{{\"n\":{n},\"pad\":\"{}\"}}", "x".repeat(n % 700));
            log.commit(&[draft(&data), draft("{}")]).unwrap();
            if n % 500 == 499 {
                log.seal().unwrap();
            }
        }
        done.store(true, Ordering::SeqCst);
        forks.join().unwrap()
    });
    drop(log);
    let parent = std::fs::read(dir.join(LOG_FILE)).unwrap();
    for (forked, child) in &made {
        let cut = usize::try_from(forked.last_copied).unwrap();
        assert_eq!(std::fs::read(child.join(LOG_FILE)).unwrap(), expected(&parent, cut, &[draft(EXTRA[0])]));
    }
    let (last, child) = made.last().unwrap();
    assert!(verify(&OsDisk, child, None, &[]).unwrap().is_sound());
    let (log, _) = Log::open(&OsDisk, child, options(Durability::Strict), None).unwrap();
    assert_eq!(log.next_seq(), last.next_seq);
}
