//! The index made anew from a gigabyte of logs: facts, signatures, words; how fast and how large.

use std::path::Path;

use annals::import::Quiet;

use super::{cpu_seconds, gigabyte, open, timed};

pub fn run(dir: &Path) {
    let home = gigabyte(dir);
    let store = open(&home);
    let bytes: u64 = walk(&home.join("sessions"));
    println!("\n## The index of {:.2} GB", bytes as f64 / 1e9);
    let mb = bytes as f64 / 1e6;
    for _ in 0..3 {
        let cpu = cpu_seconds();
        let (ms, ()) = timed(|| store.reindex(false, &mut Quiet).expect("an index"));
        println!("facts: {ms:.0} ms, {:.0} MB/s, {:.2} CPU-seconds", mb / ms * 1e3, cpu_seconds() - cpu);
    }
    let cpu = cpu_seconds();
    let (ms, ()) = timed(|| store.update_index(true, &mut Quiet).expect("an index"));
    println!("text: {ms:.0} ms, {:.0} MB/s, {:.2} CPU-seconds", mb / ms * 1e3, cpu_seconds() - cpu);
    println!("{}", super::sizes(&store));
    println!("peak {:.0} MiB", crate::peak_mib());
}

fn walk(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|e| if e.path().is_dir() { walk(&e.path()) } else { e.metadata().map_or(0, |m| m.len()) })
        .sum()
}
