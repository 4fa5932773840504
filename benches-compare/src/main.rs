//! Annals beside `zeph-session`: the same events appended durably, one a call, and read back typed.
//!
//! `cargo run --release --manifest-path benches-compare/Cargo.toml -- DIR`, with `chrt -r 20` in front on a shared machine.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use annals_log::disk::OsDisk;
use annals_log::{Durability, Item, Log, Options, Reader};
use annals_model::event::Event;
use annals_model::{Clock, Draft, Timestamp};
use zeph_session::{SessionEvent, SessionEventLog};

struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(since.as_millis() as i64)
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let dir = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let home = tempfile::Builder::new().prefix("annals-compare-").tempdir_in(dir).expect("a directory");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let output = "the quick brown fox jumps over the lazy dog; ".repeat(6);

    let first = Draft { ts: SystemClock.now(), turn: None, kind: "session_started", data: r#"{"format":1}"# };
    let options = || Options::new(Arc::new(SystemClock)).durability(Durability::Strict);
    let ours = Log::create(&OsDisk, &home.path().join("ours"), options(), 0, &first).expect("a log");
    let theirs_dir = home.path().join("theirs");
    let theirs = runtime.block_on(SessionEventLog::open_exclusive(&theirs_dir)).expect("a log");
    let mut n = 0_u64;
    let mut append_ours = || {
        n += 1;
        let data = format!("{{\"id\":\"c{n}\",\"output\":\"{output}\",\"is_error\":false,\"duration_ms\":3}}");
        let draft = Draft { ts: SystemClock.now(), turn: Some(1), kind: "tool_result", data: &data };
        ours.commit(&[draft]).expect("an append");
    };
    let mut m = 0_u64;
    let mut append_theirs = || {
        m += 1;
        let kind = SessionEvent::ToolResult {
            id: format!("c{m}"),
            name: "shell".to_owned(),
            output: output.clone(),
            is_error: false,
            duration_ms: 3,
        };
        runtime.block_on(theirs.append(Some(1), None, kind)).expect("an append");
    };
    let slice = |step: &mut dyn FnMut()| {
        let (start, mut times) = (Instant::now(), Vec::new());
        while start.elapsed() < Duration::from_millis(150) {
            let call = Instant::now();
            step();
            times.push(call.elapsed().as_secs_f64() * 1e6);
        }
        median(&mut times)
    };
    let (mut a, mut b, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..41 {
        let (x, y) = (slice(&mut append_ours), slice(&mut append_theirs));
        a.push(x);
        b.push(y);
        ratios.push(y / x);
    }
    println!(
        "durable append: annals p50 {:.0} µs, zeph-session p50 {:.0} µs: {:.2} times as fast (median of 41 paired slices)",
        median(&mut a),
        median(&mut b),
        median(&mut ratios)
    );
    drop(ours);

    let ours_dir = home.path().join("ours-10k");
    let ours = Log::create(&OsDisk, &ours_dir, options().durability(Durability::Os), 0, &first).expect("a log");
    let theirs_dir = home.path().join("theirs-10k");
    let theirs = runtime.block_on(SessionEventLog::open_exclusive(&theirs_dir)).expect("a log");
    for k in 0..10_000 {
        let data = format!("{{\"id\":\"c{k}\",\"output\":\"{output}\",\"is_error\":false,\"duration_ms\":3}}");
        let draft = Draft { ts: SystemClock.now(), turn: Some(1), kind: "tool_result", data: &data };
        ours.commit(&[draft]).expect("an append");
        let kind = SessionEvent::ToolResult {
            id: format!("c{k}"),
            name: "shell".to_owned(),
            output: output.clone(),
            is_error: false,
            duration_ms: 3,
        };
        runtime.block_on(theirs.append(Some(1), None, kind)).expect("an append");
    }
    ours.close().expect("a close");
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for _ in 0..21 {
        let start = Instant::now();
        let mut reader = Reader::open(&OsDisk, &ours_dir).expect("the log");
        let mut events = 0;
        while let Some(item) = reader.next_item().expect("a read") {
            if let Item::Line { line, .. } = item {
                events += u64::from(Event::from_line(&line).is_ok());
            }
        }
        a.push(start.elapsed().as_secs_f64() * 1e3);
        assert!(events > 10_000);
        let start = Instant::now();
        let read = runtime.block_on(theirs.read_all()).expect("a read");
        b.push(start.elapsed().as_secs_f64() * 1e3);
        assert_eq!(read.len(), 10_000);
    }
    println!(
        "10,000 events read typed: annals {:.1} ms, zeph-session {:.1} ms (medians of 21)",
        median(&mut a),
        median(&mut b)
    );
}
