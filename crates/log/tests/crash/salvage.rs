//! Salvage: everything outside the damage is kept, the original too, whatever happens in between.

use annals_log::disk::Disk;
use annals_log::{Durability, Item, Log, Reader, Runway, salvage, verify};
use annals_testkit::rng::Rng;
use annals_testkit::sim::{Fault, FaultAt, SimDisk};

use crate::world::{Verdict, World, dir, log_path};

fn damaged(rng: &mut Rng) -> Verdict<(World, Vec<u8>, Vec<String>, u64)> {
    let mut world = World::with(Durability::Strict, Runway::Off);
    let log = world.create().map_err(|e| e.to_string())?;
    for _ in 0..8 {
        world.append(&log, 1 + rng.below(3), 30, true).map_err(|e| e.to_string())?;
        if rng.one_in(4) {
            log.seal().map_err(|e| e.to_string())?;
        }
    }
    log.close().map_err(|e| e.to_string())?;
    let good = world.disk.contents(&log_path()).unwrap();
    let lines: Vec<&[u8]> = good.split_inclusive(|b| *b == b'\n').collect();
    let hit = 1 + rng.below(lines.len() as u64 - 3);
    let mut bad = good.clone();
    let at: usize = lines[..usize::try_from(hit).unwrap()].iter().map(|l| l.len()).sum();
    bad[at + 40] ^= 1;
    world.disk.damage(&log_path(), &bad);
    let kept = world.submitted.iter().filter(|e| e.kind == "user_message").map(|e| e.data.clone()).collect();
    Ok((world, bad, kept, hit))
}

/// Position, kind and data of a line.
type Row = (u64, String, String);

fn data(disk: &SimDisk) -> Verdict<(Vec<Row>, u64)> {
    let mut reader = Reader::open(disk, &dir()).map_err(|e| e.to_string())?;
    let (mut found, mut gaps) = (Vec::new(), 0);
    while let Some(item) = reader.next_item().map_err(|e| e.to_string())? {
        match item {
            Item::Line { line, .. } => {
                found.push((line.seq, line.kind.to_owned(), String::from_utf8_lossy(line.data).into_owned()))
            }
            Item::Gap(_) => gaps += 1,
        }
    }
    Ok((found, gaps))
}

pub(crate) fn run(rounds: u64) -> Verdict<u64> {
    let mut states = 0;
    for seed in 0..rounds {
        let mut rng = Rng::new(seed);
        let (world, bad, kept, hit) = damaged(&mut rng)?;
        let disk = world.disk.kill();
        let done = salvage(&disk, &dir(), &world.options).map_err(|e| e.to_string())?;
        let (found, gaps) = data(&disk)?;
        let report = verify(&disk, &dir(), None, &[]).map_err(|e| e.to_string())?;
        if gaps != 0 || !report.is_sound() {
            return Err(format!("a salvaged log is not sound: {:?}", report.damages));
        }
        let lost = &found[usize::try_from(hit).unwrap()];
        if lost.1 != "lost" || done.plan.lost != [(hit, hit)] {
            return Err(format!("event {hit} was damaged, {lost:?} stands there"));
        }
        let missing = kept.iter().filter(|d| !found.iter().any(|(.., f)| f == *d)).count();
        if missing > 1 {
            return Err(format!("{missing} events are missing after one was damaged"));
        }
        if disk.contents(&done.original).as_deref() != Some(&bad[..]) {
            return Err("the original is not kept".to_owned());
        }
        // It can be written again.
        let (log, _) = Log::open(&disk, &dir(), world.options.clone(), None).map_err(|e| e.to_string())?;
        log.close().map_err(|e| e.to_string())?;

        // Cut at every call, with a power cut behind it: the log is the damaged one or the salvaged one.
        for n in 0.. {
            let disk = world.disk.kill();
            disk.fail(FaultAt { call: None, n, fault: Fault::Stop });
            let over = salvage(&disk, &dir(), &world.options).is_ok();
            disk.heal();
            for _ in 0..6 {
                states += 1;
                let crashed = disk.crash(&mut rng);
                let bytes = crashed.contents(&log_path()).ok_or("the log is gone")?;
                let report = verify(&crashed, &dir(), None, &[]).map_err(|e| e.to_string())?;
                let salvaged = report.is_sound() && report.last_seq == found.last().map(|f| f.0);
                if bytes != bad && !salvaged {
                    return Err(format!(
                        "cut at call {n}: neither the old log nor the new one ({:?})",
                        report.damages
                    ));
                }
                let original = crashed
                    .list(&dir())
                    .unwrap_or_default()
                    .into_iter()
                    .any(|p| crashed.contents(&p).as_deref() == Some(&bad[..]));
                if !original {
                    return Err(format!("cut at call {n}: the original is nowhere"));
                }
            }
            if over {
                break;
            }
        }
    }
    Ok(states)
}

#[test]
fn a_salvage_keeps_everything_outside_the_damage_whatever_happens() {
    let states = run(60).unwrap();
    eprintln!(
        "crash suite, salvage: {states} crash states of 60 salvages: the old log or the new one, the original always"
    );
}
