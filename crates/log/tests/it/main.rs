//! The log on the real file system: threads, followers, holders, futures; and how much work its operations cost.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod follow;
mod fork;
mod golden;
mod model;
mod threads;
mod work;

use std::path::Path;
use std::sync::Arc;

use annals_log::disk::OsDisk;
use annals_log::{Durability, Item, Log, Options, Reader};
use annals_model::{Draft, Timestamp};
use annals_testkit::clock::FixedClock;

fn options(durability: Durability) -> Options {
    Options::new(Arc::new(FixedClock::default())).durability(durability)
}

fn draft(data: &str) -> Draft<'_> {
    Draft { ts: Timestamp::from_millis(0), turn: None, kind: "user_message", data }
}

fn create(dir: &Path, durability: Durability) -> Log {
    let first = Draft { kind: "session_started", ..draft(r#"{"format":1}"#) };
    Log::create(&OsDisk, dir, options(durability), 0, &first).unwrap()
}

/// Every line's position and data; a gap is a failure.
fn lines(dir: &Path) -> Vec<(u64, String)> {
    let mut reader = Reader::open(&OsDisk, dir).unwrap();
    let mut lines = Vec::new();
    while let Some(item) = reader.next_item().unwrap() {
        match item {
            Item::Line { line, .. } => lines.push((line.seq, String::from_utf8(line.data.to_vec()).unwrap())),
            Item::Gap(damage) => panic!("{damage:?}"),
        }
    }
    lines
}
