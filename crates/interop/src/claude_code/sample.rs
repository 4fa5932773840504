//! Realistic session files from a seed, for tests and benchmarks. The text is made up; the shapes are the format's.

use std::io::{self, Write};

use serde_json::{Value, json};

/// A small generator of numbers (SplitMix64).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// From a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `n` (which is at least 1).
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n.max(1)
    }
}

const WORDS: &[&str] = &[
    "the",
    "parser",
    "returns",
    "an",
    "error",
    "when",
    "buffer",
    "is",
    "empty",
    "so",
    "we",
    "check",
    "length",
    "first",
    "then",
    "retry",
    "with",
    "backoff",
    "until",
    "server",
    "answers",
    "café",
    "naïve",
    "日本語",
    "\"quoted\"",
    "path\\to",
    "fn main()",
    "{}",
];

fn prose(dice: &mut Dice, words: u64) -> String {
    let mut out = String::new();
    for n in 0..words {
        if n > 0 {
            out.push(if n % 13 == 0 { '\n' } else { ' ' });
        }
        let at = usize::try_from(dice.below(WORDS.len() as u64)).unwrap_or(0);
        out.push_str(WORDS.get(at).copied().unwrap_or("word"));
    }
    out
}

/// The records of one session.
#[must_use]
pub fn records(seed: u64, session: &str, count: usize) -> Vec<Value> {
    let mut dice = Dice::new(seed);
    let mut records: Vec<Value> = Vec::new();
    let mut parent = Value::Null;
    let mut turn = 0;
    let envelope = |n: usize, parent: &Value| {
        json!({"parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/home/dev/project",
            "sessionId": session, "version": "2.0.1", "gitBranch": "main", "uuid": format!("{session}-{n:06}"),
            "timestamp": format!("2026-10-01T{:02}:{:02}:{:02}.000Z", n / 3600 % 24, n / 60 % 60, n % 60)})
    };
    let with = |mut base: Value, fields: Value| {
        if let (Value::Object(base), Value::Object(fields)) = (&mut base, fields) {
            base.extend(fields);
        }
        base
    };
    while records.len() < count {
        turn += 1;
        let n = records.len();
        let words = 5 + dice.below(60);
        let record = with(
            envelope(n, &parent),
            json!({"type": "user", "message": {"role": "user", "content": prose(&mut dice, words)}}),
        );
        parent = record.get("uuid").cloned().unwrap_or_default();
        records.push(record);
        for step in 0..=dice.below(4) {
            let id = format!("msg_{session}_{turn}_{step}");
            let request = format!("req_{turn}_{step}");
            let usage = |output: u64| json!({"input_tokens": 4, "cache_creation_input_tokens": 200 + output, "cache_read_input_tokens": 17_000, "output_tokens": output});
            let message = |content: Value, output: u64| {
                json!({"id": id, "type": "message", "role": "assistant", "model": "claude-opus-4-20250514",
                "content": [content], "stop_reason": null, "stop_sequence": null, "usage": usage(output)})
            };
            let words = 10 + dice.below(120);
            let mut contents = vec![json!({"type": "text", "text": prose(&mut dice, words)})];
            if dice.below(3) == 0 {
                contents.insert(
                    0,
                    json!({"type": "thinking", "thinking": "", "signature": format!("sig{turn}{step}==")}),
                );
            }
            let call = format!("toolu_{session}_{turn}_{step}");
            contents.push(json!({"type": "tool_use", "id": call, "name": "Bash", "input": {"command": prose(&mut dice, 6)}}));
            for (part, content) in contents.into_iter().enumerate() {
                let record = with(
                    envelope(records.len(), &parent),
                    json!({"type": "assistant", "requestId": request, "message": message(content, 10 + part as u64 * 40)}),
                );
                parent = record.get("uuid").cloned().unwrap_or_default();
                records.push(record);
            }
            let words = 20 + dice.below(400);
            let output = prose(&mut dice, words);
            let record = with(
                envelope(records.len(), &parent),
                json!({"type": "user", "toolUseResult": {"stdout": output, "stderr": "", "interrupted": false},
                "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": output, "is_error": dice.below(9) == 0}]}}),
            );
            parent = record.get("uuid").cloned().unwrap_or_default();
            records.push(record);
        }
        if dice.below(5) == 0 {
            records.push(json!({"type": "ai-title", "aiTitle": prose(&mut dice, 4), "sessionId": session}));
        }
        if dice.below(6) == 0 {
            records.push(with(
                envelope(records.len(), &parent),
                json!({"type": "system", "subtype": "turn_duration", "durationMs": 1234, "messageCount": 3}),
            ));
        }
    }
    records.truncate(count);
    records
}

/// Writes one session as a file would hold it.
///
/// # Errors
/// As the writer gives them.
pub fn write(out: &mut dyn Write, seed: u64, session: &str, count: usize) -> io::Result<()> {
    for record in records(seed, session, count) {
        serde_json::to_writer(&mut *out, &record)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
