//! The suite tested: each planted bug must be caught, and nothing is caught when none is planted.

use annals_log::seeded::plant;

use crate::{damage, faults, fork, random, salvage, small};

const BUGS: &[&str] = &[
    "skip_sync",
    "retry_sync",
    "keep_stub",
    "skip_write",
    "watermark_ahead",
    "watermark_never",
    "no_rollback",
    "prev_not_chained",
    "stale_number",
    "skip_sync_dir",
    "cut_at_first_bad_line",
    "skip_repair",
    "skip_repair_sync",
    "trust_the_cache",
    "trust_the_names",
    "drop_torn_bytes",
    "blank_looks_clean",
    "valid_line_follows",
    "forget_witness",
    "close_skips_sync",
    "seal_wrong_range",
    "salvage_skips_sync",
    "salvage_stops_at_gap",
    "salvage_keeps_witness",
    "fork_skips_sync",
    "fork_skips_dir_sync",
    "fork_wrong_anchor",
    "fork_watermark_ahead",
    "fork_ends_at_damage",
    "fork_leaves_a_stub",
];

/// Everything the suite checks, in small. The first thing found wrong.
fn suite() -> Result<(), String> {
    faults::poisoning().map_err(|e| format!("poisoning: {e}"))?;
    faults::full_disk().map_err(|e| format!("full disk: {e}"))?;
    damage::bits(97).map_err(|e| format!("bits: {e}"))?;
    damage::accidents().map_err(|e| format!("accidents: {e}"))?;
    salvage::run(3).map_err(|e| format!("salvage: {e}"))?;
    small::run(1).map_err(|e| format!("small scopes: {e}"))?;
    faults::run().map_err(|e| format!("faults: {e}"))?;
    fork::run(4).map_err(|e| format!("forks: {e}"))?;
    random::run(5, 40_000, 4).map_err(|e| format!("random: {e}"))?;
    Ok(())
}

#[test]
fn each_planted_bug_is_caught() {
    let mut missed = Vec::new();
    std::thread::scope(|scope| {
        let halves: Vec<_> = BUGS
            .chunks(BUGS.len().div_ceil(2))
            .map(|bugs| {
                scope.spawn(move || {
                    let mut found = Vec::new();
                    for bug in bugs {
                        plant(Some(bug));
                        // A bug may show as a panic of a check.
                        let outcome = std::panic::catch_unwind(suite);
                        plant(None);
                        let caught = match outcome {
                            Ok(Ok(())) => None,
                            Ok(Err(how)) => Some(how),
                            Err(_) => Some("a panic".to_owned()),
                        };
                        found.push((*bug, caught));
                    }
                    found
                })
            })
            .collect();
        for (bug, caught) in halves.into_iter().flat_map(|half| half.join().unwrap()) {
            match caught {
                Some(how) => eprintln!("planted {bug}: caught ({:.110})", how.replace('\n', " ")),
                None => missed.push(bug),
            }
        }
    });
    assert!(missed.is_empty(), "not caught: {missed:?}");
    eprintln!("crash suite, planted bugs: {} of {} caught", BUGS.len(), BUGS.len());
}

#[test]
fn nothing_is_caught_when_nothing_is_planted() {
    suite().unwrap();
}
