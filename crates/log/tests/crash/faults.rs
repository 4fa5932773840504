//! Errors of the disk: at every call, of every kind. The process lives on.

use annals_log::{Durability, Error, ErrorKind, Log, Runway};
use annals_testkit::rng::Rng;
use annals_testkit::sim::{Call, Fault, FaultAt};

use crate::world::{Verdict, World, dir, read, recover};

/// A scripted workload with one fault. Goes on as long as the log lets it.
fn workload(fault: FaultAt, runway: Runway) -> Verdict<(bool, u64)> {
    let mut world = World::with(Durability::Strict, runway);
    world.disk.fail(fault);
    let mut log = world.create().ok();
    let mut failed_sync = false;
    for round in 0..8 {
        if log.is_none() {
            log = if world.began {
                Log::open(&world.disk, &dir(), world.options.clone(), None).ok().map(|(log, _)| log)
            } else {
                world.create().ok()
            };
        }
        let Some(open) = &log else { continue };
        match world.append(open, 1 + round % 3, 150, round % 2 == 0) {
            Ok(()) => {
                if failed_sync {
                    return Err("an append succeeded after a failed sync".to_owned());
                }
            }
            Err(Error::Poisoned { .. }) => failed_sync = true,
            Err(_) => {}
        }
    }
    drop(log);
    let over = world.disk.changes();
    world.disk.heal();
    // A power cut shows whether what was acknowledged is really on the disk, and not just in memory.
    let mut rng = Rng::new(fault.n);
    for _ in 0..4 {
        let (settled, submitted, began) = (world.settled.clone(), world.submitted.clone(), world.began);
        let durable = world.durable;
        let disk = world.disk.clone();
        world.disk = if rng.one_in(2) { disk.crash(&mut rng) } else { disk.kill() };
        let opened = recover(&mut world, durable)?;
        if let Some(log) = &opened {
            world.append(log, 2, 50, true).map_err(|e| format!("no append after reopening: {e}"))?;
            log.barrier().map_err(|e| e.to_string())?;
            let (found, _) = read(&world.disk, &dir())?;
            world.check(&found, log.next_seq())?;
        }
        drop(opened);
        world.disk = disk;
        (world.settled, world.submitted, world.began, world.durable) = (settled, submitted, began, durable);
    }
    Ok((over > fault.n, over))
}

pub(crate) fn run() -> Verdict<u64> {
    let mut runs = 0;
    for fault in [Fault::Error, Fault::NoSpace, Fault::Short(7), Fault::Partial(33), Fault::Interrupted] {
        for runway in [Runway::Off, Runway::Bytes(700)] {
            for n in 0.. {
                let (hit, _) = workload(FaultAt { call: None, n, fault }, runway)
                    .map_err(|e| format!("{e} ({fault:?} at {n}, {runway:?})"))?;
                runs += 1;
                if !hit {
                    break;
                }
            }
        }
    }
    Ok(runs)
}

#[test]
fn every_call_may_fail_in_every_way() {
    let runs = run().unwrap();
    eprintln!("crash suite, faults: {runs} workloads with one failing call each, all sound");
    assert!(runs > 100);
}

/// Fault 4: a failed sync was retried on the same descriptor and then reported as success.
#[test]
fn a_failed_sync_poisons_until_reopened() {
    poisoning().unwrap();
}

pub(crate) fn poisoning() -> Verdict {
    for runway in [Runway::Off, Runway::Bytes(700)] {
        let mut world = World::with(Durability::Strict, runway);
        let log = world.create().map_err(|e| e.to_string())?;
        world.append(&log, 2, 100, true).map_err(|e| e.to_string())?;
        let durable = world.durable;
        world.disk.fail(FaultAt { call: Some(Call::Sync), n: 0, fault: Fault::Error });
        match world.append(&log, 1, 100, true) {
            Err(Error::Poisoned { durable: Some(last), .. }) if last + 1 == durable => {}
            other => return Err(format!("after a failed sync: {other:?}")),
        }
        world.disk.heal();
        let again = world.append(&log, 1, 100, true);
        if again.as_ref().err().map(Error::kind) != Some(ErrorKind::Poisoned) {
            return Err(format!("after the disk is well again: {again:?}"));
        }
        drop(log);
        // Reopened, what the cache shows is written again and synced: a later power cut takes nothing that was shown.
        world.settled.clear();
        world.submitted.clear();
        let (shown, _) = read(&world.disk, &dir())?;
        let (log, _) =
            Log::open(&world.disk, &dir(), world.options.clone(), None).map_err(|e| e.to_string())?;
        let ts = annals_model::Timestamp::default();
        let draft = annals_model::Draft { ts, turn: None, kind: "user_message", data: "{\"after\":1}" };
        log.commit(&[draft]).map_err(|e| e.to_string())?;
        drop(log);
        for seed in 0..20 {
            let (found, _) = read(&world.disk.crash(&mut Rng::new(seed)), &dir())?;
            if found.len() != shown.len() + 1 || found[..shown.len()] != shown[..] {
                return Err(format!(
                    "{} events were shown and one appended, {} are left",
                    shown.len(),
                    found.len()
                ));
            }
        }
    }
    Ok(())
}

/// Faults 1 and 2: a full disk. What was acknowledged is there, no line is glued to another, and later appends work again.
#[test]
fn a_full_disk_costs_only_what_was_not_acknowledged() {
    full_disk().unwrap();
}

pub(crate) fn full_disk() -> Verdict {
    for runway in [Runway::Off, Runway::Bytes(700)] {
        for capacity in (600..6000).step_by(37) {
            let mut world = World::with(Durability::Strict, runway);
            world.disk.set_capacity(Some(capacity));
            let mut full = 0;
            let Ok(log) = world.create() else { continue };
            for _ in 0..12 {
                if let Err(e) = world.append(&log, 2, 180, true) {
                    if e.kind() != ErrorKind::NoSpace {
                        return Err(format!("a full disk is called {e}"));
                    }
                    full += 1;
                    let (found, _) = read(&world.disk, &dir())?;
                    if found.len() as u64 != world.written {
                        return Err(format!(
                            "{} events stand there, {} were acknowledged, the rest refused",
                            found.len(),
                            world.written
                        ));
                    }
                }
            }
            world.disk.set_capacity(None);
            if full > 0 {
                world.append(&log, 1, 50, true).map_err(|e| format!("no append once there is space: {e}"))?;
            }
            let written = world.written;
            drop(log);
            world.disk = world.disk.kill();
            recover(&mut world, written)?;
        }
    }
    Ok(())
}
