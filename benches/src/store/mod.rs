//! The store: list, search, its indexes, import. Corpora are made once in the given directory and kept for the next run.

mod build;
mod corpus;
mod import;
mod list;
mod search;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use annals::log::Durability;
use annals::{Random, Store, StoreOptions};

use crate::{SystemClock, paired};

/// Ids that differ.
struct Counting(AtomicU32);

impl Random for Counting {
    fn four(&self) -> [u8; 4] {
        self.0.fetch_add(1, Ordering::Relaxed).to_be_bytes()
    }
}

fn open(home: &Path) -> Store {
    let random = Arc::new(Counting(AtomicU32::new(0)));
    let options = StoreOptions {
        durability: Durability::Os,
        allow_network_fs: true,
        ..StoreOptions::new(home.to_owned(), Arc::new(SystemClock), random)
    };
    Store::open(options).expect("a store")
}

/// Milliseconds that something takes.
fn timed<T>(what: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let out = what();
    (start.elapsed().as_secs_f64() * 1e3, out)
}

/// The median and the worst of `n` times, in milliseconds.
fn times(n: usize, mut what: impl FnMut()) -> String {
    let mut all: Vec<f64> = (0..n).map(|_| timed(&mut what).0).collect();
    format!("p50 {:.2} ms, p99 {:.2} ms", paired::quantile(&mut all, 0.5), paired::quantile(&mut all, 0.99))
}

/// A whole process: the program with these arguments, in milliseconds.
fn process(program: Option<&Path>, home: &Path, args: &[&str]) -> Option<String> {
    let run = || {
        let done = std::process::Command::new(program?)
            .args(args)
            .env("ANNALS_HOME", home)
            .output()
            .expect("the program runs");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Some(())
    };
    run()?;
    Some(times(31, || {
        run();
    }))
}

/// Makes a corpus unless it is there.
fn made(dir: &Path, name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let place = dir.join(name);
    if !place.join("done").exists() {
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).expect("a directory");
        make(&place);
        std::fs::write(place.join("done"), "").expect("a mark");
    }
    place
}

/// About 1 GB in 2,000 sessions.
fn gigabyte(dir: &Path) -> PathBuf {
    made(dir, "corpus-1g", |home| corpus::fill(&open(home), &corpus::Pool::read(), 2000, 520_000))
}

/// What a store takes on disk.
fn sizes(store: &Store) -> String {
    let used = store.disk_use().expect("sizes");
    let mb = |n: u64| format!("{:.1} MB", n as f64 / 1e6);
    let (logs, blobs, index) = (mb(used.logs), mb(used.blobs), mb(used.index));
    let (signatures, words) = (mb(used.signatures), mb(used.words));
    format!("logs {logs}, blobs {blobs}, index {index} (signatures {signatures}, words {words})")
}

/// CPU seconds that this process and its children have used.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(4).map(|n| n.parse().unwrap_or(0.0)).collect();
    fields.iter().sum::<f64>() / 100.0
}

/// Runs one of the benchmarks. `program` is the built `annals`, for figures of whole processes.
pub fn run(what: &str, dir: &Path, program: Option<&Path>) -> bool {
    match what {
        "list" => list::run(dir, program),
        "search" => search::run(dir, program),
        "build" => build::run(dir),
        "import" => import::run(dir, program),
        "noop" => import::noop(dir, program),
        _ => return false,
    }
    true
}
