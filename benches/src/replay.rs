//! Typed replay: every line checked and parsed, against bare serde_json on the same bytes.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Instant;

use annals_log::disk::OsDisk;
use annals_log::{Durability, Item, LOG_FILE, Reader};
use annals_model::event::Event;
use annals_model::payload::{AssistantMessage, ToolCall, ToolResult, UserMessage};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{open, paired, sample};

fn replay(dir: &Path) -> u64 {
    let mut reader = Reader::open(&OsDisk, dir).expect("the log");
    let mut events = 0;
    while let Some(item) = reader.next_item().expect("a read") {
        if let Item::Line { line, .. } = item {
            let event = Event::from_line(&line).expect("an event");
            events += u64::from(std::hint::black_box(&event).seq < u64::MAX);
        }
    }
    events
}

/// What a bare program does: a line at a time, an envelope, then the payload by its kind; nothing checked.
fn bare(path: &Path) -> u64 {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        seq: u64,
        kind: &'a str,
        ts: &'a str,
        #[serde(borrow)]
        data: &'a RawValue,
    }
    let mut reader = BufReader::with_capacity(1024 * 1024, File::open(path).expect("the log"));
    let (mut line, mut events) = (Vec::new(), 0);
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).expect("a read") == 0 {
            return events;
        }
        let envelope: Envelope<'_> = serde_json::from_slice(&line).expect("an event");
        let data = envelope.data.get();
        std::hint::black_box(envelope.ts);
        match envelope.kind {
            "user_message" => {
                drop(std::hint::black_box(serde_json::from_str::<UserMessage>(data).expect("data")))
            }
            "assistant_message" => {
                drop(std::hint::black_box(serde_json::from_str::<AssistantMessage>(data).expect("data")))
            }
            "tool_call" => drop(std::hint::black_box(serde_json::from_str::<ToolCall>(data).expect("data"))),
            "tool_result" => {
                drop(std::hint::black_box(serde_json::from_str::<ToolResult>(data).expect("data")))
            }
            _ => {}
        }
        events += u64::from(envelope.seq < u64::MAX);
    }
}

pub fn peak(dir: &Path) -> String {
    let events = replay(dir);
    format!("{events} events, peak {:.1} MiB", crate::peak_mib())
}

pub fn run(dir: &Path) {
    let large = dir.join("log-1gb");
    let path = large.join(LOG_FILE);
    if !path.exists() {
        sample::log_of(&large, 1_000_000_000);
    }
    let bytes = std::fs::metadata(&path).map_or(0, |m| m.len());
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..5 {
        let start = Instant::now();
        let events = replay(&large);
        let our = start.elapsed().as_secs_f64();
        let start = Instant::now();
        assert_eq!(events, bare(&path));
        let their = start.elapsed().as_secs_f64();
        ours.push(our);
        theirs.push(their);
        ratios.push(their / our);
    }
    println!("\n## Typed replay, {} MB", bytes / 1_000_000);
    println!(
        "replay {:.2} s ({:.2} GB/s), bare serde_json typed {:.2} s: speed {:.2} (medians of 5 pairs); own process: {}",
        paired::quantile(&mut ours.clone(), 0.5),
        bytes as f64 / 1e9 / paired::quantile(&mut ours, 0.5),
        paired::quantile(&mut theirs, 0.5),
        paired::quantile(&mut ratios, 0.5),
        open::child("peak-replay", &large)
    );

    let small = dir.join("log-10k");
    let log = sample::create(&small, sample::options(Durability::Os));
    let data = sample::data_400();
    for _ in 0..10_000 {
        log.commit(&[sample::draft(&data)]).expect("an append");
    }
    log.close().expect("a close");
    let mut times: Vec<f64> = (0..41)
        .map(|_| {
            let start = Instant::now();
            let _ = replay(&small);
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    println!("10,000 events of 400 B: {:.1} ms (median of 41)", paired::quantile(&mut times, 0.5));
}
