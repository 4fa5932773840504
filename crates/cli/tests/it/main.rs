//! The real program: contracts that scripts rely on, and bad input.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod bad_input;
mod contracts;
mod live;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A data directory of its own, and the program in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn data(&self) -> std::path::PathBuf {
        self.path().join("data")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_annals"));
        command
            .args(args)
            .env_remove("NO_COLOR")
            .env("ANNALS_HOME", self.data())
            .env("CLAUDE_CONFIG_DIR", self.path().join("claude"));
        command.current_dir(self.path());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).stdin(Stdio::null()).output().unwrap()
    }

    fn pipe(&self, args: &[&str], input: &[u8]) -> Output {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let writer = std::thread::spawn(move || {
            // A program that stops early closes the pipe.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        output
    }

    /// Records prompts in a session.
    fn record(&self, session: &str, texts: &[&str]) {
        let lines: String = texts.iter().map(|t| prompt(t)).collect();
        let output = self.pipe(&["record", session, "--json"], lines.as_bytes());
        assert_eq!(code(&output), 0, "{}", err(&output));
    }
}

fn prompt(text: &str) -> String {
    format!("{}\n", serde_json::json!({"kind": "user_message", "data": {"kind": "prompt", "text": text}}))
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&out(output)).unwrap_or_else(|e| panic!("{e}: {} {}", out(output), err(output)))
}

/// The error object on stderr.
fn error(output: &Output) -> Value {
    serde_json::from_str::<Value>(err(output).trim()).unwrap_or_else(|e| panic!("{e}: {}", err(output)))["error"].clone()
}
