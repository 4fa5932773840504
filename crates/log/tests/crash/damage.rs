//! Damage to bytes that are on the disk: every bit, every sector, and what accidents do to lines.

use annals_log::{Durability, Error, Item, Log, Reader, Runway, verify};
use annals_testkit::sim::SimDisk;

use crate::world::{Verdict, World, dir, log_path};

/// A log of 64 events, cleanly closed or killed, its bytes and disk.
fn sample(close: bool) -> Verdict<(SimDisk, Vec<u8>, u64)> {
    let mut world = World::with(Durability::Strict, Runway::Off);
    let log = world.create().map_err(|e| e.to_string())?;
    for n in 0..20 {
        world.append(&log, 1 + n % 3, 10, true).map_err(|e| e.to_string())?;
        if n % 8 == 7 {
            log.seal().map_err(|e| e.to_string())?;
        }
    }
    while log.next_seq() < if close { 62 } else { 64 } {
        world.append(&log, 1, 10, true).map_err(|e| e.to_string())?;
    }
    let last_batch = world.disk.contents(&log_path()).unwrap();
    let last_start = last_batch[..last_batch.len() - 1].iter().rposition(|b| *b == b'\n').unwrap() as u64 + 1;
    if close {
        log.close().map_err(|e| e.to_string())?;
    }
    let bytes = world.disk.contents(&log_path()).unwrap();
    Ok((world.disk.kill(), bytes, last_start))
}

/// What a reader makes of the bytes.
struct Seen {
    lines: u64,
    gaps: u64,
}

fn look(disk: &SimDisk) -> Verdict<Seen> {
    let mut reader = Reader::open(disk, &dir()).map_err(|e| e.to_string())?;
    let (mut lines, mut gaps) = (0, 0);
    while let Some(item) = reader.next_item().map_err(|e| e.to_string())? {
        match item {
            Item::Line { .. } => lines += 1,
            Item::Gap(_) => gaps += 1,
        }
    }
    Ok(Seen { lines, gaps })
}

/// Damages the log and checks that it is noticed. `silent_from`: from this offset on it may pass for a torn tail.
fn notice(disk: &SimDisk, bad: &[u8], silent_from: Option<u64>, at: u64, what: &str) -> Verdict {
    disk.damage(&log_path(), bad);
    let report = verify(disk, &dir(), None, &[]).map_err(|e| e.to_string())?;
    let may_be_torn = silent_from.is_some_and(|from| at >= from);
    if report.is_sound() && !may_be_torn {
        return Err(format!(
            "{what}: not noticed ({} lines, {} torn bytes)",
            report.events, report.torn_bytes
        ));
    }
    Ok(())
}

/// Every single bit, cleanly closed and not.
pub(crate) fn bits(step: usize) -> Verdict<u64> {
    let mut flips = 0;
    for close in [true, false] {
        let (disk, good, last_start) = sample(close)?;
        let silent_from = if close { None } else { Some(last_start) };
        for at in (0..good.len()).step_by(step) {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                notice(
                    &disk,
                    &bad,
                    silent_from,
                    at as u64,
                    &format!("bit {bit} of byte {at} (closed: {close})"),
                )?;
                flips += 1;
            }
        }
        // Damage is reported where it is, and everything else stays readable.
        let middle = good.len() / 2;
        let mut bad = good.clone();
        bad[middle] ^= 4;
        disk.damage(&log_path(), &bad);
        let seen = look(&disk)?;
        if seen.lines != 63 || seen.gaps != 1 {
            return Err(format!("one damaged line of 64 left {} readable, {} gaps", seen.lines, seen.gaps));
        }
        let mut world = World::with(Durability::Strict, Runway::Off);
        world.options.check_up_to_bytes = u64::MAX;
        match Log::open(&disk, &dir(), world.options.clone(), None) {
            Err(Error::Corrupt { damage, .. }) if damage.missing == 1 => {}
            other => return Err(format!("opening a damaged log: {:?}", other.map(|_| ()))),
        }
    }
    Ok(flips)
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect()
}

/// Sectors, runs of NULs, and lines that were swapped, doubled, dropped, merged or given other line ends.
pub(crate) fn accidents() -> Verdict<u64> {
    let mut count = 0;
    for close in [true, false] {
        let (disk, good, last_start) = sample(close)?;
        let silent_from = if close { None } else { Some(last_start) };
        let mut check = |bad: &[u8], at: usize, what: String| {
            count += 1;
            notice(&disk, bad, silent_from, at as u64, &format!("{what} (closed: {close})"))
        };
        for from in (0..good.len()).step_by(512) {
            let to = (from + 512).min(good.len());
            let mut bad = good.clone();
            bad[from..to].fill(0);
            check(
                &bad,
                if to as u64 > last_start { good.len() } else { from },
                format!("sector at {from} zeroed"),
            )?;
        }
        for from in (0..good.len() - 700).step_by(311) {
            let mut bad = good.clone();
            bad.splice(from..from, std::iter::repeat_n(0, 100));
            check(&bad, from, format!("NULs at {from}"))?;
        }
        let all = lines(&good);
        let last = all.len() - 1;
        for n in 0..last {
            let edit = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
                let mut edited = all.clone();
                change(&mut edited);
                edited.concat()
            };
            // Without a close the last line's fate is open: what is done to it may be a crash's doing.
            let at = if n + 1 >= last { good.len() } else { 0 };
            check(&edit(&|l| l.swap(n, n + 1)), at, format!("lines {n} and {} swapped", n + 1))?;
            check(&edit(&|l| l.insert(n, l[n].clone())), at, format!("line {n} doubled"))?;
            check(&edit(&|l| drop(l.remove(n))), at, format!("line {n} dropped"))?;
            check(
                &edit(&|l| {
                    l[n].pop();
                }),
                at,
                format!("lines {n} and {} merged", n + 1),
            )?;
            check(
                &edit(&|l| {
                    let end = l[n].len() - 1;
                    l[n].insert(end, b'\r');
                }),
                at,
                format!("line {n} ends in CRLF"),
            )?;
        }
        if close {
            for cut in [1, 37, 200, 1000, good.len()] {
                check(&good[..good.len() - cut], 0, format!("{cut} bytes cut off"))?;
            }
        }
    }
    Ok(count)
}

#[test]
fn every_flipped_bit_is_noticed() {
    let flips = bits(1).unwrap();
    eprintln!(
        "crash suite, bits: {flips} flips of two 64-event logs: 0 silent before the last batch, 0 silent at all after a clean close"
    );
    assert!(flips > 100_000);
}

#[test]
fn every_accident_is_noticed() {
    let accidents = accidents().unwrap();
    eprintln!("crash suite, accidents: {accidents} damaged logs, all noticed");
}
