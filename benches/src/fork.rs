//! A fork of a log of 100 MB, against a plain copy of the same file made durable.

use std::fs::File;
use std::path::Path;
use std::time::Instant;

use annals_log::disk::OsDisk;
use annals_log::{Forking, LOG_FILE, fork};
use annals_model::{Draft, Timestamp};

use crate::{paired, sample};

/// What a bare program does: the system's own copy, and a sync.
fn bare(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("a directory");
    std::fs::copy(from, to.join(LOG_FILE)).expect("a copy");
    File::open(to.join(LOG_FILE)).and_then(|file| file.sync_all()).expect("a sync");
}

fn ours(from: &Path, to: &Path) {
    let draft = |kind, data| Draft { ts: Timestamp::from_millis(1_796_000_000_000), turn: None, kind, data };
    let first =
        draft("session_started", r#"{"format":1,"workspace":"/work","forked_from":{"session":"s","seq":9}}"#);
    let extra = [draft("titled", r#"{"title":"a fork"}"#)];
    fork(&OsDisk, from, to, &Forking { first, upto: None, extra: &extra }).expect("a fork");
}

fn timed(what: impl FnOnce()) -> f64 {
    let start = Instant::now();
    what();
    start.elapsed().as_secs_f64() * 1e3
}

pub fn run(dir: &Path) {
    let parent = dir.join("fork-parent");
    sample::log_of(&parent, 100_000_000);
    let path = parent.join(LOG_FILE);
    File::open(&path).and_then(|file| file.sync_all()).expect("a sync");
    let (ours_dir, bare_dir, again_dir) =
        (dir.join("fork-ours"), dir.join("fork-bare"), dir.join("fork-again"));
    let (mut forks, mut copies, mut ratios, mut same) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..31 {
        let mut times = [0.0; 3];
        // Each goes first in turn: what the one leaves to the disk the next one may have to wait for.
        for turn in 0..3 {
            let which = (round + turn) % 3;
            times[which] = match which {
                0 => timed(|| ours(&parent, &ours_dir)),
                1 => timed(|| bare(&path, &bare_dir)),
                _ => timed(|| bare(&path, &again_dir)),
            };
        }
        for made in [&ours_dir, &bare_dir, &again_dir] {
            std::fs::remove_dir_all(made).expect("a removal");
        }
        forks.push(times[0]);
        copies.push(times[1]);
        ratios.push(times[0] / times[1]);
        same.push(times[2] / times[1]);
    }
    println!("\n## Fork, {} MB", std::fs::metadata(&path).map_or(0, |m| m.len()) / 1_000_000);
    println!(
        "fork {:.1} ms, std::fs::copy and sync_all {:.1} ms: {:.2} times as long (medians of 31 pairs); the copy against itself {:.2}",
        paired::quantile(&mut forks, 0.5),
        paired::quantile(&mut copies, 0.5),
        paired::quantile(&mut ratios, 0.5),
        paired::quantile(&mut same, 0.5)
    );
}
