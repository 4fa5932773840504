//! Benchmarks of the log and the store, each beside the machine's own limit in the same run.
//!
//! `cargo run --release -- [append|group|open|fork|replay|all] [DIR]` for the log;
//! `cargo run --release -- [list|search|build|import|noop] DIR [PROGRAM]` for the store, which keeps its corpora in DIR; with PROGRAM, a
//! built `annals`, whole processes are timed too. On a shared machine put `chrt -r 20` in front of the durable
//! ones: at plain priority a busy machine adds whole scheduler ticks to every sync.
//!
//! Strategies that are compared run in interleaved slices of 0.15 s; a row's ratio is the median over the slices of the paired p50s, so
//! that a machine whose speed drifts shifts both. The A/A row shows what the method cannot see.

mod append;
mod fork;
mod group;
mod open;
mod paired;
mod replay;
mod sample;
mod store;

use std::path::PathBuf;

fn main() {
    let mut args = std::env::args().skip(1);
    let what = args.next().unwrap_or_else(|| "all".to_owned());
    let dir = args.next().map_or_else(std::env::temp_dir, PathBuf::from);
    if store::run(&what, &dir, args.next().map(PathBuf::from).as_deref()) {
        return;
    }
    let home =
        tempfile::Builder::new().prefix("annals-bench-").tempdir_in(&dir).expect("a directory to write in");
    println!("in {}", dir.display());
    let all = what == "all";
    if all || what == "append" {
        append::run(home.path());
    }
    if all || what == "group" {
        group::run(home.path());
    }
    if all || what == "open" {
        open::run(home.path());
    }
    if all || what == "fork" {
        fork::run(home.path());
    }
    if all || what == "replay" {
        replay::run(home.path());
    }
    if let Some(step) = what.strip_prefix("peak-") {
        // A child process of `replay` and `open`: does one thing and prints its peak memory.
        println!("{}", if step == "replay" { replay::peak(&dir) } else { open::peak(&dir) });
    }
}

/// The clock of the benchmarks.
pub struct SystemClock;

impl annals_model::Clock for SystemClock {
    fn now(&self) -> annals_model::Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        annals_model::Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(0))
    }
}

/// The process's peak resident memory in MiB.
pub fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or("0");
    let kib: f64 = line.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0.0);
    kib / 1024.0
}
