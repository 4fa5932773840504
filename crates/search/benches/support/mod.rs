//! Log lines to measure on: tool output made of source text, as agents read it all day.

use annals_model::line::{Draft, Place, encode};
use annals_model::{Json, Payload, Timestamp, payload};

const SOURCES: &[&str] = &[
    include_str!("../../src/literal.rs"),
    include_str!("../../src/excerpt.rs"),
    include_str!("../../src/signature.rs"),
    include_str!("../../src/words.rs"),
    include_str!("../../src/text.rs"),
    include_str!("../../../model/src/line.rs"),
    include_str!("../../../model/src/canon.rs"),
    include_str!("../../../model/src/event.rs"),
];

/// The needle that stands in one line of a thousand.
pub const RARE: &str = "zqxneedle0407";

/// At least `bytes` bytes of whole log lines, always the same.
pub fn log(bytes: usize) -> Vec<u8> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut log, mut prev) = (Vec::with_capacity(bytes + (64 << 10)), 0);
    let mut seq = 0;
    while log.len() < bytes {
        let source = SOURCES[random.below(SOURCES.len())].as_bytes();
        let longest = if random.below(3) == 0 { 8000 } else { 800 };
        let len = 40 + random.below(longest);
        let start = random.below(source.len().saturating_sub(len).max(1));
        let text = String::from_utf8_lossy(&source[start..(start + len).min(source.len())]);
        let mut text = format!("{:08x}: {text}", random.next() as u32);
        if random.below(1000) == 0 {
            text.push_str(RARE);
        }
        let result = payload::ToolResult {
            id: format!("call_{seq}"),
            output: Json::string(&text),
            ..Default::default()
        };
        let data = Payload::from(result).to_data().unwrap();
        let draft =
            Draft { ts: Timestamp::default(), turn: Some(seq / 20), kind: "tool_result", data: &data };
        prev = encode(&mut log, Place { seq, durable: seq.checked_sub(1), prev }, &draft);
        seq += 1;
    }
    log
}

/// The median of seven timings, in seconds.
pub fn median(mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..7)
        .map(|_| {
            let start = std::time::Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[3]
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}
