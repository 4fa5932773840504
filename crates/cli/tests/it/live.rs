//! Several processes at once: recorders, followers, kills, closed pipes.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::home::{Home, code, err, error, json, out, prompt};

/// A recorder that lives.
struct Recorder {
    child: Child,
    input: ChildStdin,
    answers: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Recorder {
    fn start(home: &Home, session: &str) -> Self {
        let mut child = home
            .command(&["record", session, "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, answers: BufReader::new(output).lines() }
    }

    fn send(&mut self, text: &str) -> u64 {
        self.input.write_all(prompt(text).as_bytes()).unwrap();
        let answer = self.answers.next().unwrap().unwrap();
        serde_json::from_str::<serde_json::Value>(&answer).unwrap()["seq"].as_u64().unwrap()
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn a_killed_recorder_leaves_everything_acknowledged() {
    let home = Home::new();
    let mut acknowledged = Vec::new();
    for life in 0..5 {
        let mut recorder = Recorder::start(&home, "s");
        for n in 0..10 {
            let text = format!("life {life} event {n}");
            acknowledged.push((recorder.send(&text), text));
        }
        recorder.kill();
    }
    assert_eq!(code(&home.run(&["verify", "s"])), 0);
    let events = out(&home.run(&["show", "s", "--events", "--json"]));
    let lines: Vec<serde_json::Value> = events.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    for (seq, text) in acknowledged {
        assert_eq!(lines[usize::try_from(seq).unwrap()]["data"]["text"], json!(text));
    }
}

#[test]
fn a_second_recorder_is_told_who_has_the_session() {
    let home = Home::new();
    let mut recorder = Recorder::start(&home, "s");
    recorder.send("mine");
    let second = home.pipe(&["record", "s", "--json"], prompt("theirs").as_bytes());
    assert_eq!((code(&second), &error(&second)["kind"]), (4, &json!("SessionBusy")));
    assert!(error(&second)["message"].as_str().unwrap().contains(&recorder.child.id().to_string()));
    assert_eq!(error(&second)["retryable"], json!(true));
    // Reading is possible all the while.
    assert_eq!(json(&home.run(&["list", "--json"]))["sessions"][0]["status"], "open");
    assert!(out(&home.run(&["show", "s"])).contains("mine"));
    assert_eq!(code(&home.run(&["verify", "s"])), 0);
    recorder.kill();
    home.record("s", &["now it works"]);
}

#[test]
fn a_follower_sees_what_is_appended() {
    let home = Home::new();
    let mut recorder = Recorder::start(&home, "s");
    recorder.send("first");
    let mut follower = home
        .command(&["show", "s", "--follow", "--events", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let deadline = Instant::now() + Duration::from_secs(30);
    for wanted in ["session_started", "first", "second"] {
        if wanted == "second" {
            recorder.send("second");
        }
        assert!(lines.next().unwrap().unwrap().contains(wanted));
        assert!(Instant::now() < deadline);
    }
    follower.kill().unwrap();
    follower.wait().unwrap();
    recorder.kill();
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let home = Home::new();
    let texts: Vec<String> = (0..3000).map(|n| format!("event {n} {}", "x".repeat(200))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    home.record("long", &texts);
    for args in
        [&["show", "long", "--events", "--json"][..], &["show", "long"], &["show", "long", "--events"]]
    {
        let mut child = home.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 0, "{args:?}: {}", err(&output));
        assert!(!err(&output).contains("panicked"));
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_recorder_closes_cleanly() {
    let home = Home::new();
    let mut recorder = Recorder::start(&home, "s");
    recorder.send("hello");
    let pid = recorder.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(recorder.child.wait().unwrap().code(), Some(0));
    let events = out(&home.run(&["show", "s", "--events", "--json"]));
    assert!(events.lines().last().unwrap().contains("\"closed\""));
}

#[cfg(unix)]
#[test]
fn files_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    home.record("s", &["x"]);
    let mode = |path: &str| std::fs::metadata(home.data().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("sessions"), mode("sessions/s")), (0o700, 0o700, 0o700));
    assert_eq!((mode("sessions/s/events.jsonl"), mode("sessions/s/writer.lock")), (0o600, 0o600));
    // Looser ones are tightened.
    let log = home.data().join("sessions/s/events.jsonl");
    std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o644)).unwrap();
    home.record("s", &["y"]);
    assert_eq!(mode("sessions/s/events.jsonl"), 0o600);
}
