//! Sample events: 400-byte lines, and logs of realistic sizes.

use std::path::Path;
use std::sync::Arc;

use annals_log::disk::OsDisk;
use annals_log::{Durability, Log, Options, Witness};
use annals_model::{Draft, Timestamp};

/// A tool result whose line has about 400 bytes.
pub fn data_400() -> String {
    let text = "the quick brown fox jumps over the lazy dog; ".repeat(6);
    format!("{{\"id\":\"call_{:06}\",\"output\":\"{}\",\"is_error\":false}}", 42, &text[..215])
}

pub fn draft(data: &str) -> Draft<'_> {
    Draft { ts: Timestamp::from_millis(1_796_000_000_000), turn: Some(3), kind: "tool_result", data }
}

pub fn options(durability: Durability) -> Options {
    Options::new(Arc::new(crate::SystemClock)).durability(durability)
}

pub fn create(dir: &Path, options: Options) -> Log {
    let first = Draft {
        ts: Timestamp::from_millis(1_796_000_000_000),
        turn: None,
        kind: "session_started",
        data: r#"{"format":1,"workspace":"/work"}"#,
    };
    Log::create(&OsDisk, dir, options, 0, &first).expect("a new log")
}

/// Writes a log of about `bytes`, mixed event sizes (mean about 1.5 kB), and closes it.
pub fn log_of(dir: &Path, bytes: u64) -> Witness {
    let log = create(dir, options(Durability::Os));
    let prose =
        "It was the best of times, it was the worst of times, it was the age of wisdom…\\n".repeat(400);
    let mut written = 0;
    let mut n: u64 = 0;
    while written < bytes {
        n += 1;
        let len = match n % 20 {
            0 => 12_000,
            1..=5 => 2_000,
            _ => 350,
        };
        // Cut at an ASCII boundary well inside the escaped text.
        let mut cut = len;
        while !prose.is_char_boundary(cut) || prose.as_bytes()[cut - 1] == b'\\' {
            cut -= 1;
        }
        let text = &prose[..cut];
        let (kind, data) = match n % 4 {
            0 => ("user_message", format!("{{\"kind\":\"prompt\",\"text\":\"{text}\"}}")),
            1 => (
                "assistant_message",
                format!("{{\"parts\":[{{\"type\":\"text\",\"text\":\"{text}\"}}],\"model\":\"m-1\"}}"),
            ),
            2 => (
                "tool_call",
                format!("{{\"id\":\"c{n}\",\"name\":\"shell\",\"input\":{{\"command\":\"{text}\"}}}}"),
            ),
            _ => {
                ("tool_result", format!("{{\"id\":\"c{}\",\"output\":\"{text}\",\"is_error\":false}}", n - 1))
            }
        };
        written += data.len() as u64 + 150;
        let draft =
            Draft { ts: Timestamp::from_millis(1_796_000_000_000), turn: Some(n / 4), kind, data: &data };
        log.commit(&[draft]).expect("an append");
    }
    log.close().expect("a clean close")
}
