//! Realistic sessions from a seed: what tools give back is cut from source files, what people and agents say from documents.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use annals::model::payload::{AssistantMessage, SessionStarted, ToolCall, ToolResult, UserMessage};
use annals::model::{Payload, Timestamp};
use annals::{NewEvent, NewSession, Store};
use serde_json::{Value, json};

/// When the first session of a corpus begins, in milliseconds.
const START: i64 = 1_760_000_000_000;

/// A small generator of numbers (SplitMix64).
pub struct Dice(pub u64);

impl Dice {
    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

/// Text to cut from.
pub struct Pool {
    code: String,
    prose: String,
}

impl Pool {
    /// The sources that cargo has unpacked on this machine.
    pub fn read() -> Self {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).expect("a home");
        let mut pool = Self { code: String::new(), prose: String::new() };
        let mut files = Vec::new();
        walk(&home.join("registry/src"), &mut files);
        files.sort();
        for path in files {
            let Ok(text) = fs::read_to_string(&path) else { continue };
            match path.extension().and_then(|e| e.to_str()) {
                Some("rs") => pool.code.push_str(&text),
                Some("md") => pool.prose.push_str(&text),
                _ => {}
            }
            // What documentation comments say is prose too.
            for line in text.lines().filter_map(|l| l.trim_start().strip_prefix("///")) {
                pool.prose.push_str(line.trim_start());
                pool.prose.push('\n');
            }
        }
        assert!(pool.code.len() > 1_000_000 && pool.prose.len() > 100_000, "cargo has unpacked no sources");
        pool
    }

    fn cut<'a>(from: &'a str, dice: &mut Dice, bytes: usize) -> &'a str {
        let at = dice.below(from.len() - bytes - 8);
        let at = (at..).find(|at| from.is_char_boundary(*at)).unwrap_or(0);
        let end = (at + bytes..).find(|end| from.is_char_boundary(*end)).unwrap_or(from.len());
        &from[at..end]
    }

    pub fn prose(&self, dice: &mut Dice, bytes: usize) -> &str {
        Self::cut(&self.prose, dice, bytes)
    }

    pub fn code(&self, dice: &mut Dice, bytes: usize) -> &str {
        Self::cut(&self.code, dice, bytes)
    }
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), files),
            Ok(_) => files.push(entry.path()),
            Err(_) => {}
        }
    }
}

/// How large the parts of a turn are.
fn sizes(dice: &mut Dice) -> (usize, usize, usize) {
    let output = match dice.below(20) {
        0 => 24_000,
        1..=6 => 5_000,
        _ => 700,
    };
    (60 + dice.below(400), 200 + dice.below(1_500), output + dice.below(output))
}

fn parse<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a payload")
}

/// Fills a store with `sessions` sessions of about `bytes` each.
pub fn fill(store: &Store, pool: &Pool, sessions: usize, bytes: usize) {
    let mut dice = Dice(7);
    for n in 0..sessions {
        let mut ts = START + n as i64 * 600_000;
        let started = SessionStarted {
            workspace: Some(format!("/home/dev/project-{}", n % 40)),
            agent: Some("claude-code".to_owned()),
            ..SessionStarted::default()
        };
        let new = NewSession { started, ts: Some(Timestamp::from_millis(ts)), ..NewSession::default() };
        let writer = store.create(new).expect("a session");
        let (mut written, mut turn) = (0, 0);
        while written < bytes {
            turn += 1;
            let (ask, say, output) = sizes(&mut dice);
            let mut at = || {
                ts += 1_500;
                Some(Timestamp::from_millis(ts))
            };
            let user: UserMessage = parse(json!({"kind": "prompt", "text": pool.prose(&mut dice, ask)}));
            let agent: AssistantMessage = parse(
                json!({"parts": [{"type": "text", "text": pool.prose(&mut dice, say)}], "model": "claude-opus-4",
                "usage": {"input": 4, "cached": 17_000, "output": 300}}),
            );
            let id = format!("toolu_{n}_{turn}");
            let call: ToolCall = parse(
                json!({"id": id, "name": "Bash", "input": {"command": pool.code(&mut dice, 60)}}),
            );
            let result: ToolResult = parse(
                json!({"id": id, "output": pool.code(&mut dice, output), "is_error": false}),
            );
            let events: Vec<NewEvent> = [
                Payload::UserMessage(user),
                Payload::AssistantMessage(agent),
                Payload::ToolCall(call),
                Payload::ToolResult(result),
            ]
            .into_iter()
            .map(|payload| NewEvent { ts: at(), turn: Some(turn), payload })
            .collect();
            writer.append(&events).expect("an append");
            written += ask + say + output + 900;
        }
        writer.close().expect("a close");
    }
}

/// Writes Claude Code session files, `bytes` together and `each` a file; returns how many bytes they have.
pub fn claude_code(dir: &Path, pool: &Pool, bytes: usize, each: usize) -> u64 {
    let mut dice = Dice(9);
    let mut total = 0;
    let mut n = 0;
    while total < bytes as u64 {
        n += 1;
        let project = dir.join(format!("projects/-home-dev-project-{}", n % 12));
        fs::create_dir_all(&project).expect("a directory");
        let session = format!("{n:08x}-0000-4000-8000-000000000000");
        let mut out = Vec::with_capacity(each + 50_000);
        let mut parent = Value::Null;
        let mut record = 0;
        while out.len() < each {
            let (ask, say, output) = sizes(&mut dice);
            let call = format!("toolu_{n}_{record}");
            let text = pool.code(&mut dice, output);
            let message = |content: Value| {
                json!({"id": format!("msg_{n}_{record}"), "type": "message", "role": "assistant", "model": "claude-opus-4-20250514",
                    "content": [content], "stop_reason": null, "stop_sequence": null,
                    "usage": {"input_tokens": 4, "cache_creation_input_tokens": 240, "cache_read_input_tokens": 17_000, "output_tokens": 200}})
            };
            let parts = [
                json!({"type": "user", "message": {"role": "user", "content": pool.prose(&mut dice, ask)}}),
                json!({"type": "assistant", "requestId": format!("req_{n}_{record}"),
                    "message": message(json!({"type": "text", "text": pool.prose(&mut dice, say)}))}),
                json!({"type": "assistant", "requestId": format!("req_{n}_{record}"),
                    "message": message(json!({"type": "tool_use", "id": call, "name": "Bash", "input": {"command": pool.code(&mut dice, 60)}}))}),
                json!({"type": "user", "toolUseResult": {"stdout": text, "stderr": "", "interrupted": false},
                    "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text, "is_error": false}]}}),
            ];
            for part in parts {
                record += 1;
                let uuid = format!("{n:08x}-{record:04x}-4000-8000-000000000000");
                let mut whole = json!({"parentUuid": parent, "isSidechain": false, "userType": "external",
                    "cwd": format!("/home/dev/project-{}", n % 12), "sessionId": session, "version": "2.0.1", "gitBranch": "main", "uuid": uuid,
                    "timestamp": format!("2026-10-{:02}T{:02}:{:02}:{:02}.000Z", 1 + n % 28, record / 3600 % 24, record / 60 % 60, record % 60)});
                if let (Value::Object(whole), Value::Object(part)) = (&mut whole, part) {
                    whole.extend(part);
                }
                serde_json::to_writer(&mut out, &whole).expect("a record");
                out.push(b'\n');
                parent = Value::String(uuid);
            }
        }
        total += out.len() as u64;
        let mut file = fs::File::create(project.join(format!("{session}.jsonl"))).expect("a file");
        file.write_all(&out).expect("a write");
    }
    total
}
