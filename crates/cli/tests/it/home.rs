//! A data directory of its own and the program in it, for whole stories.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A data directory of its own, and the program in it.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn data(&self) -> std::path::PathBuf {
        self.path().join("data")
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_annals"));
        command
            .args(args)
            .env_remove("NO_COLOR")
            .env("ANNALS_HOME", self.data())
            .env("CLAUDE_CONFIG_DIR", self.path().join("claude"));
        command.current_dir(self.path());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).stdin(Stdio::null()).output().unwrap()
    }

    pub(crate) fn pipe(&self, args: &[&str], input: &[u8]) -> Output {
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
    pub(crate) fn record(&self, session: &str, texts: &[&str]) {
        let lines: String = texts.iter().map(|t| prompt(t)).collect();
        let output = self.pipe(&["record", session, "--json"], lines.as_bytes());
        assert_eq!(code(&output), 0, "{}", err(&output));
    }
}

pub(crate) fn prompt(text: &str) -> String {
    format!("{}\n", serde_json::json!({"kind": "user_message", "data": {"kind": "prompt", "text": text}}))
}

pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_str(&out(output)).unwrap_or_else(|e| panic!("{e}: {} {}", out(output), err(output)))
}

/// The error object on stderr.
pub(crate) fn error(output: &Output) -> Value {
    serde_json::from_str::<Value>(err(output).trim()).unwrap_or_else(|e| panic!("{e}: {}", err(output)))["error"].clone()
}
