//! Small scopes, exhausted: every short script, cut at every call, with every crash state.

use annals_log::{Durability, Log, Runway};
use annals_testkit::sim::{Fault, FaultAt};

use crate::world::{Verdict, World, recover};

/// The operations of a script.
const OPERATIONS: u64 = 5;

fn perform(world: &mut World, log: Option<Log>, operation: u64) -> Option<Log> {
    let log = match log {
        Some(log) => log,
        None => return world.create().ok(),
    };
    match operation {
        0 => world.append(&log, 1, 20, true).ok()?,
        1 => world.append(&log, 2, 400, false).ok()?,
        2 => log.barrier().ok().map(|_| world.all_durable(&log))?,
        3 => {
            log.seal().ok()?;
            world.forget_unwritten(log.next_seq());
        }
        _ => {
            world.forget_unwritten(log.next_seq() + 2);
            let witness = log.close().ok()?;
            world.durable = witness.seq + 1;
            world.written = world.durable;
            return recover(world, world.durable).ok().flatten();
        }
    }
    Some(log)
}

/// Runs a script cut at call `n`. None once the script is over before that call.
fn cut(script: &[u64], durability: Durability, runway: Runway, n: u64) -> Option<World> {
    let mut world = World::with(durability, runway);
    world.disk.fail(FaultAt { call: None, n, fault: Fault::Stop });
    let mut log = perform(&mut world, None, 0);
    for operation in script {
        if log.is_none() {
            break;
        }
        log = perform(&mut world, log, *operation);
    }
    drop(log);
    let over = world.disk.changes() <= n;
    world.disk.heal();
    (!over).then_some(world)
}

/// Looks at every crash state of every script of up to `depth` operations.
pub(crate) fn run(depth: u32) -> Verdict<(u64, u64, u64)> {
    let (mut scripts, mut states, mut large) = (0, 0, 0);
    for length in 0..=depth {
        for number in 0..OPERATIONS.pow(length) {
            let script: Vec<u64> = (0..length).map(|d| number / OPERATIONS.pow(d) % OPERATIONS).collect();
            for (durability, runway) in [
                (Durability::Strict, Runway::Bytes(700)),
                (Durability::Strict, Runway::Off),
                (Durability::Barrier, Runway::Off),
            ] {
                scripts += 1;
                for n in 0.. {
                    let Some(mut world) = cut(&script, durability, runway, n) else { break };
                    let Some(crashes) = world.disk.all_crashes(8) else {
                        large += 1;
                        continue;
                    };
                    let (settled, submitted) = (world.settled.clone(), world.submitted.clone());
                    let (durable, began) = (world.durable, world.began);
                    for crash in crashes {
                        states += 1;
                        world.disk = crash;
                        world.settled.clone_from(&settled);
                        world.submitted.clone_from(&submitted);
                        (world.durable, world.began) = (durable, began);
                        recover(&mut world, durable)
                            .map_err(|e| format!("{e} ({script:?}, cut at {n}, {durability}, {runway:?})"))?;
                    }
                }
            }
        }
    }
    Ok((scripts, states, large))
}

#[test]
fn every_short_script_survives_every_crash() {
    let (scripts, states, large) = run(3).unwrap();
    eprintln!(
        "crash suite, exhaustive: {scripts} scripts of up to 3 operations, cut at every call: {states} crash states, all sound; \
         {large} moments with more than 8 open choices left to the random part"
    );
    assert!(states > 10_000);
}
