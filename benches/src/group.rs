//! Group commit: many writers, one session.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use annals_log::{Durability, Log};

use crate::{paired, sample};

fn rate(log: &Log, writers: usize, data: &str) -> f64 {
    let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..writers {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    log.commit(&[sample::draft(data)]).expect("an append");
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
    });
    count.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64()
}

pub fn run(dir: &Path) {
    let data = sample::data_400();
    let log = sample::create(&dir.join("group"), sample::options(Durability::Strict));
    let mut rates = [Vec::new(), Vec::new(), Vec::new()];
    let counts = [1, 8, 64];
    for _ in 0..15 {
        for (writers, rates) in counts.iter().zip(&mut rates) {
            rates.push(rate(&log, *writers, &data));
        }
    }
    println!(
        "\n## Group commit, one session, 15 interleaved slices of 0.3 s\n| writers | events/s (median) | times one writer |\n|---|---|---|"
    );
    for (i, writers) in counts.iter().enumerate() {
        let mut ratios: Vec<f64> = rates[i].iter().zip(&rates[0]).map(|(a, b)| a / b).collect();
        println!(
            "| {writers} | {:.0} | {:.1} |",
            paired::quantile(&mut rates[i].clone(), 0.5),
            paired::quantile(&mut ratios, 0.5)
        );
    }
}
