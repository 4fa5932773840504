//! A home of its own, the program run in it, and a recorder that is talked to line by line.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long anything is waited for that should come at once.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// What the program said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let said = Self {
            // -1: a signal ended it.
            code: output.status.code().unwrap_or(-1),
            out: text(output.stdout),
            err: text(output.stderr),
        };
        assert!(!said.err.contains("panicked"), "{said:?}");
        said
    }

    /// What a program said, whose end must come.
    pub(crate) fn at_the_end_of(child: Child) -> Self {
        let pid = child.id();
        let (sender, ended) = channel();
        std::thread::spawn(move || sender.send(child.wait_with_output()));
        let Ok(output) = ended.recv_timeout(DEADLINE) else {
            signal(pid, rustix::process::Signal::KILL);
            panic!("it does not end");
        };
        Self::of(output.unwrap())
    }

    /// All went well, and nobody complained.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    /// The one JSON document on stdout.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The JSON values on stdout, one a line.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect()
    }

    /// The one error object on stderr, checked for its form; with the exit code that came with it.
    pub(crate) fn error(&self) -> (i32, Value) {
        let object: Value = serde_json::from_str(&self.err).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        (self.code, check_error(&object))
    }
}

fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Checks the form of an error object and gives what is in it.
pub(crate) fn check_error(object: &Value) -> Value {
    let error = &object["error"];
    let keys: Vec<&String> = error.as_object().expect("an error object").keys().collect();
    assert_eq!(keys, ["hint", "kind", "message", "retryable"], "{object}");
    assert_eq!(object.as_object().unwrap().len(), 1, "{object}");
    assert!(error["retryable"].is_boolean(), "{object}");
    for key in ["kind", "message", "hint"] {
        assert!(error[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {object}");
    }
    error.clone()
}

pub(crate) struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// A directory beside the home, for other files.
    pub(crate) fn beside(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(crate) fn session(&self, id: &str) -> PathBuf {
        self.path().join("sessions").join(id)
    }

    pub(crate) fn log(&self, id: &str) -> Vec<u8> {
        std::fs::read(self.session(id).join("events.jsonl")).unwrap()
    }

    pub(crate) fn write_log(&self, id: &str, bytes: &[u8]) {
        std::fs::create_dir_all(self.session(id)).unwrap();
        std::fs::write(self.session(id).join("events.jsonl"), bytes).unwrap();
    }

    /// The program with an environment of its own: nothing of the user's is read or touched.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_annals"));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.dir.path()).env("ANNALS_HOME", self.path()).env("TZ", "UTC");
        command.current_dir(self.dir.path()).args(args).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Said {
        let mut command = self.command(args);
        Said::at_the_end_of(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Runs with this on stdin.
    pub(crate) fn feed(&self, args: &[&str], input: impl AsRef<[u8]>) -> Said {
        let mut command = self.command(args);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.as_ref().to_vec();
        let writer = std::thread::spawn(move || {
            // The program may stop before it has read all.
            let _ = stdin.write_all(&input);
        });
        let said = Said::at_the_end_of(child);
        writer.join().unwrap();
        said
    }

    /// Records events under an id; each must be acknowledged.
    pub(crate) fn record(&self, id: &str, events: &[Value]) {
        let input: String = events.iter().map(|e| format!("{e}\n")).collect();
        let said = self.feed(&["record", id, "--json"], input).ok();
        assert_eq!(said.lines().len(), events.len(), "{said:?}");
        assert!(said.lines().iter().all(|answer| answer["seq"].is_u64()), "{said:?}");
    }

    /// The stored events.
    pub(crate) fn events(&self, id: &str) -> Vec<Value> {
        self.run(&["show", id, "--events", "--json"]).ok().lines()
    }

    pub(crate) fn list(&self) -> Value {
        self.run(&["list", "--json"]).ok().json()
    }

    /// A recorder that is talked to.
    pub(crate) fn recorder(&self, args: &[&str]) -> Talk {
        Talk::start(self.command(&[&["record"], args, &["--json"]].concat()))
    }
}

/// A running program: lines in, lines out.
pub(crate) struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl Talk {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, answers) = channel();
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|l| sender.send(l)));
        let stdin = child.stdin.take();
        Self { child, stdin, answers }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn send(&mut self, event: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{event}").and_then(|()| stdin.flush()).unwrap();
    }

    pub(crate) fn stdin(&mut self) -> ChildStdin {
        self.stdin.take().unwrap()
    }

    /// The next line, which must come.
    pub(crate) fn line(&self) -> String {
        self.try_line().expect("a line before the end")
    }

    /// The next line, or None at the end.
    pub(crate) fn try_line(&self) -> Option<String> {
        self.answers.recv_timeout(DEADLINE).map_err(|e| assert_ne!(e, TIMEOUT, "it does not end")).ok()
    }

    pub(crate) fn answer(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// Sends an event and waits until it is acknowledged.
    pub(crate) fn append(&mut self, event: &Value) -> u64 {
        self.send(event);
        let answer = self.answer();
        answer["seq"].as_u64().unwrap_or_else(|| panic!("{answer}"))
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        self::signal(self.child.id(), signal);
    }

    /// SIGKILL: nothing is told beforehand, nothing is cleaned up.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes stdin and waits for the end.
    pub(crate) fn finish(mut self) -> ExitStatus {
        drop(self.stdin.take());
        self.wait()
    }

    /// Waits for the end, which must come.
    pub(crate) fn wait(mut self) -> ExitStatus {
        // The reader of its stdout hangs up when it ends.
        let deadline = Instant::now() + DEADLINE;
        while self.try_line().is_some() {
            assert!(Instant::now() < deadline, "it does not end");
        }
        self.child.wait().unwrap()
    }
}

const TIMEOUT: std::sync::mpsc::RecvTimeoutError = std::sync::mpsc::RecvTimeoutError::Timeout;

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn prompt(text: &str) -> Value {
    json!({"kind": "user_message", "data": {"kind": "prompt", "text": text}})
}

pub(crate) fn answer(text: &str) -> Value {
    json!({"kind": "assistant_message", "data": {"parts": [{"type": "text", "text": text}]}})
}

pub(crate) fn call(id: &str, name: &str) -> Value {
    json!({"kind": "tool_call", "data": {"id": id, "name": name, "input": {"path": "a.txt"}}})
}

pub(crate) fn result(id: &str, output: &str) -> Value {
    json!({"kind": "tool_result", "data": {"id": id, "output": output, "is_error": false}})
}

/// Every path below a directory.
pub(crate) fn tree(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        found.push(entry.path());
        if entry.file_type().unwrap().is_dir() {
            found.extend(tree(&entry.path()));
        }
    }
    found.sort();
    found
}
