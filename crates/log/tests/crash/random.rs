//! Random scripts, random crashes, and going on after them.

use annals_log::Log;
use annals_testkit::rng::Rng;
use annals_testkit::sim::{Fault, FaultAt};

use crate::states_wanted;
use crate::world::{Verdict, World, recover};

/// How much was looked at.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) schedules: u64,
    pub(crate) states: u64,
    pub(crate) cycles: u64,
    pub(crate) kills: u64,
}

/// One step of a script. An error is the disk's: the process is dead then.
fn step(world: &mut World, log: Log, rng: &mut Rng) -> Option<Log> {
    let len = if rng.one_in(6) { 700 + rng.below(2300) } else { 10 + rng.below(280) };
    let len = usize::try_from(len).unwrap();
    match rng.below(12) {
        0 => log.barrier().ok().map(|_| world.all_durable(&log))?,
        1 => {
            world.forget_unwritten(log.next_seq());
            log.seal().ok()?;
            world.forget_unwritten(log.next_seq());
        }
        2 => {
            world.forget_unwritten(log.next_seq());
            // A seal and a closing line may or may not come to stand there.
            world.forget_unwritten(log.next_seq() + 2);
            let witness = log.close().ok()?;
            world.durable = witness.seq + 1;
            world.written = world.durable;
            return recover(world, world.durable).ok().flatten();
        }
        _ => {
            let (count, together) = (1 + rng.below(5), rng.one_in(2));
            world.append(&log, count, len, together).ok()?;
        }
    }
    Some(log)
}

/// One life: a script that is cut off at a random call; then crash images of that moment, each opened and checked.
fn life(
    world: &mut World,
    mut log: Option<Log>,
    rng: &mut Rng,
    images: u64,
    counts: &mut Counts,
) -> Verdict<Option<Log>> {
    world.disk.fail(FaultAt { call: None, n: rng.below(30), fault: Fault::Stop });
    if log.is_none() {
        log = world.create().ok();
    }
    for _ in 0..rng.below(14) {
        log = match log {
            Some(log) => step(world, log, rng),
            None => break,
        };
    }
    drop(log);
    world.disk.heal();
    let (settled, submitted) = (world.settled.clone(), world.submitted.clone());
    let (durable, written, began) = (world.durable, world.written, world.began);
    let disk = world.disk.clone();
    let mut last = None;
    for n in 0..images {
        // Each image is one possible past; the last one is gone on with.
        let killed = rng.one_in(8);
        world.disk = if killed { disk.kill() } else { disk.crash(rng) };
        world.settled.clone_from(&settled);
        world.submitted.clone_from(&submitted);
        (world.durable, world.written, world.began) = (durable, written, began);
        let survived = if killed { written } else { durable };
        counts.states += 1;
        counts.kills += u64::from(killed);
        let opened = recover(world, survived)?;
        if n + 1 == images {
            last = opened;
        }
    }
    counts.cycles += 1;
    Ok(last)
}

/// Runs lives until enough states were looked at.
pub(crate) fn run(seed: u64, states: u64, images: u64) -> Verdict<Counts> {
    let mut rng = Rng::new(seed);
    let mut counts = Counts::default();
    while counts.states < states {
        counts.schedules += 1;
        let mut world = World::new(&mut rng);
        let mut log = None;
        for _ in 0..6 {
            let before = rng.clone();
            log = life(&mut world, log, &mut rng, images, &mut counts)
                .map_err(|e| format!("{e} (seed {seed}, {counts:?}, {before:?}, {:?})", world.options))?;
        }
    }
    Ok(counts)
}

#[test]
fn no_acknowledged_event_is_lost_none_comes_back_and_no_crash_is_called_damage() {
    let wanted = states_wanted();
    let mut all = Counts::default();
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..2).map(|n| scope.spawn(move || run(11 + n, wanted / 2, 4))).collect();
        for counts in runs {
            let counts = counts.join().unwrap().unwrap();
            all.schedules += counts.schedules;
            all.states += counts.states;
            all.cycles += counts.cycles;
            all.kills += counts.kills;
        }
    });
    eprintln!(
        "crash suite, random: {} schedules, {} crash states ({} of them kills), {} crash-and-go-on cycles: \
         0 acknowledged lost, 0 resurrected, 0 false corruption",
        all.schedules, all.states, all.kills, all.cycles
    );
    assert!(all.states >= wanted && all.cycles * 5 >= wanted);
}
