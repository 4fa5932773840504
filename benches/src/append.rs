//! Appends by one writer: durable against bare loops, and at level `os`.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use annals_log::{Durability, Runway};

use crate::{paired, sample};

fn growing(path: &Path) -> File {
    OpenOptions::new().create(true).append(true).open(path).expect("a file")
}

pub fn run(dir: &Path) {
    let data = sample::data_400();
    let grow_log = sample::create(&dir.join("grow"), sample::options(Durability::Strict).runway(Runway::Off));
    let runway_log = sample::create(&dir.join("runway"), sample::options(Durability::Strict));
    grow_log.commit(&[sample::draft(&data)]).expect("an append");
    let line = std::fs::read(grow_log.path()).expect("the log");
    let line_len = line.len() - line[..line.len() - 1].iter().rposition(|b| *b == b'\n').unwrap_or(0) - 1;
    let raw = vec![b'x'; line_len];
    println!("\n## Durable append, one writer, lines of {line_len} B, 41 slices of 0.15 s");

    let (mut a1, mut a2) = (growing(&dir.join("raw1")), growing(&dir.join("raw2")));
    // Written through once, so that overwriting changes no extent; the loop goes round in it.
    let over = File::create(dir.join("over")).expect("a file");
    let over_len = 64 * 1024 * 1024_u64;
    over.write_all_at(&vec![b'\n'; over_len as usize], 0)
        .and_then(|()| over.sync_all())
        .expect("a filled file");
    let mut at = 0;
    let mut steps: Vec<paired::Step<'_>> = vec![
        (
            "bare write + fdatasync, growing",
            Box::new(|| a1.write_all(&raw).and_then(|()| a1.sync_data()).expect("a write")),
        ),
        (
            "the same again (A/A)",
            Box::new(|| a2.write_all(&raw).and_then(|()| a2.sync_data()).expect("a write")),
        ),
        (
            "bare overwrite + fdatasync",
            Box::new(|| {
                over.write_all_at(&raw, at).and_then(|()| over.sync_data()).expect("a write");
                at = (at + raw.len() as u64) % (over_len - 4096);
            }),
        ),
        (
            "log, growing",
            Box::new(|| {
                grow_log.commit(&[sample::draft(&data)]).expect("an append");
            }),
        ),
        (
            "log with runway",
            Box::new(|| {
                runway_log.commit(&[sample::draft(&data)]).expect("an append");
            }),
        ),
    ];
    let rows = paired::run(&mut steps, 41, Duration::from_millis(150));
    println!(
        "| what | p50 µs | p99 µs | p99/p50 | speed, growing loop = 1 | overwrite loop = 1 |\n|---|---|---|---|---|---|"
    );
    for row in &rows {
        println!(
            "| {} | {:.0} | {:.0} | {:.1} | {:.2} | {:.2} |",
            row.name,
            row.latency(0.5),
            row.latency(0.99),
            row.tail_ratio(),
            row.speed_against(&rows[0]),
            row.speed_against(&rows[2])
        );
    }
    drop(steps);

    println!("\n## Append at level `os`, lines of {line_len} B");
    let log = sample::create(&dir.join("os"), sample::options(Durability::Os));
    let mut bare = growing(&dir.join("bare"));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..15 {
        let n = 50_000;
        let start = Instant::now();
        for _ in 0..n {
            log.commit(&[sample::draft(&data)]).expect("an append");
        }
        ours.push(f64::from(n) / start.elapsed().as_secs_f64());
        let start = Instant::now();
        for _ in 0..n {
            bare.write_all(&raw).expect("a write");
        }
        theirs.push(f64::from(n) / start.elapsed().as_secs_f64());
    }
    let (ours, theirs) = (paired::quantile(&mut ours, 0.5), paired::quantile(&mut theirs, 0.5));
    println!(
        "log {:.0} k events/s, bare write {:.0} k/s: {:.2} (medians of 15 runs)",
        ours / 1e3,
        theirs / 1e3,
        ours / theirs
    );
}
