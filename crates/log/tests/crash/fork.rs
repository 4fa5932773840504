//! Forks: cut at every call, failed at every call, with every crash state behind it.

use std::path::{Path, PathBuf};

use annals_log::disk::Disk;
use annals_log::{Error, Forked, Forking, LOG_FILE, Log, fork, verify};
use annals_model::line::check;
use annals_model::{Draft, Timestamp};
use annals_testkit::rng::Rng;
use annals_testkit::sim::{Fault, FaultAt, SimDisk};

use crate::world::{Verdict, World, dir, log_path};

fn child() -> PathBuf {
    PathBuf::from("/home/sessions/child")
}

fn draft(kind: &'static str, data: &'static str) -> Draft<'static> {
    Draft { ts: Timestamp::from_millis(7), turn: None, kind, data }
}

const EXTRA: [(&str, &str); 2] = [("titled", r#"{"title":"a fork"}"#), ("tagged", r#"{"tags":["x"]}"#)];

fn make(disk: &SimDisk, from: &Path, to: &Path, upto: Option<u64>) -> Result<Forked, Error> {
    let first = draft("session_started", r#"{"format":1,"title":"the child"}"#);
    let extra = EXTRA.map(|(kind, data)| draft(kind, data));
    fork(disk, from, to, &Forking { first, upto, extra: &extra })
}

fn lines(disk: &SimDisk, dir: &Path) -> Verdict<Vec<Vec<u8>>> {
    let bytes = disk.contents(&dir.join(LOG_FILE)).ok_or_else(|| format!("no log in {}", dir.display()))?;
    Ok(bytes.split_inclusive(|b| *b == b'\n').filter(|l| *l != b"\n").map(<[u8]>::to_vec).collect())
}

/// The child holds the parent's lines behind its own first one, then the extra ones, and all of it is sound.
fn complete(disk: &SimDisk, from: &Path, to: &Path, made: Forked) -> Verdict {
    let (parent, found) = (lines(disk, from)?, lines(disk, to)?);
    let report = verify(disk, to, None, &[]).map_err(|e| e.to_string())?;
    if !report.is_sound() || report.torn_bytes > 0 || report.events != made.next_seq {
        return Err(format!("a fork is not sound: {report:?}, {made:?}"));
    }
    let copied = usize::try_from(made.last_copied).unwrap();
    if found.len() != copied + 1 + EXTRA.len() || found[1..=copied] != parent[1..=copied] {
        return Err(format!("a fork upto {copied} does not hold its parent's lines"));
    }
    let watermark = |line: &[u8]| check(line.strip_suffix(b"\n").unwrap()).map(|l| l.durable).ok().flatten();
    let proven = found[1..=copied].iter().filter_map(|l| watermark(l)).max();
    if found[copied + 1..].iter().any(|l| watermark(l) != proven) {
        return Err("a fork's line vouches for more, or less, than its parent's lines did".to_owned());
    }
    Ok(())
}

/// A parent whose bytes are all durable, its last event, and its bytes.
fn parent(rng: &mut Rng) -> Verdict<(World, u64, Vec<u8>)> {
    let mut world = World::new(rng);
    let log = world.create().map_err(|e| e.to_string())?;
    for _ in 0..rng.below(6) {
        let len = usize::try_from(10 + rng.below(900)).unwrap();
        world.append(&log, 1 + rng.below(3), len, rng.one_in(2)).map_err(|e| e.to_string())?;
        if rng.one_in(4) {
            log.seal().map_err(|e| e.to_string())?;
        }
    }
    log.barrier().map_err(|e| e.to_string())?;
    let mut last = log.next_seq() - 1;
    if rng.one_in(2) {
        last = log.close().map_err(|e| e.to_string())?.seq;
    }
    let bytes = world.disk.contents(&log_path()).unwrap();
    Ok((world, last, bytes))
}

/// One state after a fork that was cut off, or not: the parent is as it was, the child complete when the fork said so, and another
/// fork can be made.
fn judge(disk: &SimDisk, bytes: &[u8], upto: Option<u64>, made: Option<Forked>) -> Verdict {
    if disk.contents(&log_path()).as_deref() != Some(bytes) {
        return Err("a fork changed its parent".to_owned());
    }
    if let Some(made) = made {
        complete(disk, &dir(), &child(), made)?;
    }
    let other = PathBuf::from("/home/sessions/other");
    let again = make(disk, &dir(), &other, upto).map_err(|e| format!("no fork after a crash: {e}"))?;
    complete(disk, &dir(), &other, again)
}

/// A fork cut at every call; every crash state where there are few, some where there are many.
fn cuts(world: &World, bytes: &[u8], upto: Option<u64>, rng: &mut Rng) -> Verdict<u64> {
    let mut states = 0;
    for n in 0.. {
        let disk = world.disk.kill();
        disk.fail(FaultAt { call: None, n, fault: Fault::Stop });
        let made = make(&disk, &dir(), &child(), upto).ok();
        disk.heal();
        let crashes = match disk.all_crashes(8) {
            Some(all) => all,
            None => (0..30).map(|_| disk.crash(rng)).collect(),
        };
        for crashed in crashes.iter().chain([&disk.kill()]) {
            states += 1;
            judge(crashed, bytes, upto, made).map_err(|e| format!("{e} (cut at call {n})"))?;
        }
        if let Some(made) = made {
            generations(&disk, made)?;
            break;
        }
    }
    Ok(states)
}

/// A fork of the fork, and both go on.
fn generations(disk: &SimDisk, made: Forked) -> Verdict {
    let grandchild = PathBuf::from("/home/sessions/grandchild");
    let again = make(disk, &child(), &grandchild, Some(made.last_copied)).map_err(|e| e.to_string())?;
    complete(disk, &child(), &grandchild, again)?;
    for dir in [child(), grandchild] {
        let mut options = World::new(&mut Rng::new(1)).options;
        for check_up_to_bytes in [u64::MAX, 0] {
            options.check_up_to_bytes = check_up_to_bytes;
            let opened = Log::open(disk, &dir, options.clone(), None);
            let (log, _) = opened.map_err(|e| format!("a fork can't be opened: {e}"))?;
            log.commit(&[draft("user_message", "{}")]).map_err(|e| e.to_string())?;
            log.close().map_err(|e| e.to_string())?;
        }
        let report = verify(disk, &dir, None, &[]).map_err(|e| e.to_string())?;
        if !report.is_sound() {
            return Err(format!("a fork that went on is not sound: {:?}", report.damages));
        }
    }
    Ok(())
}

/// A fork with one failing call: it says so and leaves nothing, or it is complete and durable.
fn faults(world: &World, bytes: &[u8], upto: Option<u64>, rng: &mut Rng) -> Verdict<u64> {
    let mut states = 0;
    for fault in [Fault::Error, Fault::NoSpace, Fault::Short(7), Fault::Partial(33), Fault::Interrupted] {
        for n in 0.. {
            let disk = world.disk.kill();
            disk.fail(FaultAt { call: None, n, fault });
            let mut made = make(&disk, &dir(), &child(), upto);
            let over = disk.changes() <= n;
            disk.heal();
            if made.is_err() {
                if disk.list(&child()).is_ok() {
                    return Err(format!("a fork that failed left something ({fault:?} at {n})"));
                }
                made = make(&disk, &dir(), &child(), upto);
            }
            let made = made.map_err(|e| format!("a fork can't be tried again: {e} ({fault:?} at {n})"))?;
            for _ in 0..4 {
                states += 1;
                judge(&disk.crash(rng), bytes, upto, Some(made))
                    .map_err(|e| format!("{e} ({fault:?} at {n})"))?;
            }
            if over {
                break;
            }
        }
    }
    Ok(states)
}

/// Damage in what is to be taken over is refused.
fn damage(world: &World, last: u64, bytes: &[u8], rng: &mut Rng) -> Verdict {
    if last < 2 {
        return Ok(());
    }
    let disk = world.disk.kill();
    let lines: Vec<usize> = bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::len).collect();
    let hit = usize::try_from(rng.below(last)).unwrap();
    let mut bad = bytes.to_vec();
    bad[lines[..hit].iter().sum::<usize>() + 40] ^= 1;
    disk.damage(&log_path(), &bad);
    match make(&disk, &dir(), &child(), Some(last)) {
        Err(Error::Corrupt { damage, .. }) if damage.line == hit as u64 + 1 => Ok(()),
        // Without a watermark behind it, damage looks like the torn end of the log.
        Err(Error::NoSuchEvent { last, .. }) if last + 1 == hit as u64 => Ok(()),
        Err(Error::NeverBegan { .. }) if hit == 0 => Ok(()),
        other => Err(format!("line {} of {last} is damaged, and a fork says {other:?}", hit + 1)),
    }
}

pub(crate) fn run(rounds: u64) -> Verdict<u64> {
    let mut states = 0;
    for seed in 0..rounds {
        let mut rng = Rng::new(seed);
        let (world, last, bytes) = parent(&mut rng)?;
        for upto in [Some(0), Some(rng.below(last + 1)), None] {
            let tell = |e| format!("{e} (seed {seed}, upto {upto:?} of {last})");
            states += cuts(&world, &bytes, upto, &mut rng).map_err(tell)?;
            states += faults(&world, &bytes, upto, &mut rng).map_err(tell)?;
        }
        damage(&world, last, &bytes, &mut rng).map_err(|e| format!("{e} (seed {seed})"))?;
    }
    Ok(states)
}

#[test]
fn a_fork_is_complete_or_never_was_and_its_parent_stays_as_it_is() {
    let states = run(60).unwrap();
    eprintln!(
        "crash suite, forks: {states} crash states of 180 forks cut or failed at every call, all sound"
    );
    assert!(states > 10_000, "{states}");
}
