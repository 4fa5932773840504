//! Opening: checked, of 100 MB; and by its last lines alone, of 1 GB.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use annals_log::disk::OsDisk;
use annals_log::{Durability, Item, LOG_FILE, Log, Reader};
use annals_model::line;

use crate::{paired, sample};

/// A bare loop of the same checks: lines, heads, checksums, through one reused buffer.
fn bare(path: &Path) -> u64 {
    let mut file = File::open(path).expect("the log");
    let mut buf = vec![0; 1024 * 1024];
    let (mut held, mut lines) = (0, 0);
    loop {
        let read = file.read(&mut buf[held..]).expect("a read");
        if read == 0 {
            return lines;
        }
        let filled = held + read;
        let mut at = 0;
        for end in memchr::memchr_iter(b'\n', &buf[..filled]) {
            lines += u64::from(line::check(&buf[at..end]).is_ok());
            at = end + 1;
        }
        buf.copy_within(at..filled, 0);
        held = filled - at;
    }
}

fn checked(dir: &Path) -> u64 {
    let mut reader = Reader::open(&OsDisk, dir).expect("the log");
    let mut lines = 0;
    while let Some(item) = reader.next_item().expect("a read") {
        lines += u64::from(matches!(item, Item::Line { .. }));
    }
    lines
}

pub fn peak(dir: &Path) -> String {
    let lines = checked(dir);
    format!("{lines} lines, peak {:.1} MiB", crate::peak_mib())
}

pub fn run(dir: &Path) {
    let small = dir.join("log-100mb");
    sample::log_of(&small, 100_000_000);
    let path = small.join(LOG_FILE);
    assert_eq!(bare(&path), checked(&small));
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..21 {
        let start = Instant::now();
        let _ = checked(&small);
        let our = start.elapsed().as_secs_f64() * 1e3;
        let start = Instant::now();
        let _ = bare(&path);
        let their = start.elapsed().as_secs_f64() * 1e3;
        ours.push(our);
        theirs.push(their);
        ratios.push(their / our);
    }
    println!("\n## Checked open, {} MB", std::fs::metadata(&path).map_or(0, |m| m.len()) / 1_000_000);
    println!(
        "reader {:.1} ms, bare loop of the same checks {:.1} ms: speed {:.2} (medians of 21 pairs)",
        paired::quantile(&mut ours, 0.5),
        paired::quantile(&mut theirs, 0.5),
        paired::quantile(&mut ratios, 0.5)
    );
    println!("own process: {}", child("peak-open", &small));

    let large = dir.join("log-1gb");
    let witness = sample::log_of(&large, 1_000_000_000);
    let mut times = Vec::new();
    let mut read = 0;
    for _ in 0..201 {
        let start = Instant::now();
        let (log, opening) =
            Log::open(&OsDisk, &large, sample::options(Durability::Strict), Some(witness)).expect("the log");
        times.push(start.elapsed().as_secs_f64() * 1e3);
        read = opening.read_bytes;
        assert!(opening.was_closed);
        log.close().expect("a close");
    }
    println!(
        "\n## Open to append, {} MB, closed cleanly",
        std::fs::metadata(large.join(LOG_FILE)).map_or(0, |m| m.len()) / 1_000_000
    );
    println!(
        "p50 {:.2} ms, p99 {:.2} ms (201 opens); {read} B read at most",
        paired::quantile(&mut times.clone(), 0.5),
        paired::quantile(&mut times, 0.99)
    );
}

/// Runs this program again for one step, and returns what it prints last.
pub fn child(step: &str, dir: &Path) -> String {
    let program = std::env::current_exe().expect("this program");
    // The step's directory stands where the working directory does otherwise.
    let out = Command::new(program).arg(step).arg(dir).output().expect("a child");
    String::from_utf8_lossy(&out.stdout).lines().last().unwrap_or_default().to_owned()
}
