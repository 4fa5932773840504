//! How the program stops: signals, readers that leave, outputs that fail. What was acknowledged stays.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Home, Said, Talk, prompt};

#[test]
fn a_signal_closes_a_recorder_cleanly() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let home = Home::new();
        let mut recorder = home.recorder(&["chat"]);
        recorder.append(&prompt("one"));
        recorder.signal(signal);
        assert!(recorder.wait().success(), "{signal:?}");
        assert_eq!(home.events("chat").last().unwrap()["kind"], "closed", "{signal:?}");
    }
}

/// A pipe that is never empty must not keep a signal waiting.
#[test]
fn a_signal_stops_a_recorder_that_is_busy_reading() {
    let home = Home::new();
    let mut recorder = home.recorder(&["chat", "--durability", "os"]);
    recorder.append(&prompt("one"));
    let mut stdin = recorder.stdin();
    let line = format!("{}\n", prompt("more")).repeat(100);
    let writer = std::thread::spawn(move || while stdin.write_all(line.as_bytes()).is_ok() {});
    recorder.line();
    recorder.signal(Signal::INT);
    assert!(recorder.wait().success());
    writer.join().unwrap();
    assert_eq!(home.events("chat").last().unwrap()["kind"], "closed");
}

#[test]
fn a_recorder_whose_answers_nobody_reads_closes_and_says_so() {
    let home = Home::new();
    let mut command = home.command(&["record", "chat", "--json"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    writeln!(stdin, "{}", prompt("acknowledged")).unwrap();
    let mut answer = String::new();
    stdout.read_line(&mut answer).unwrap();
    assert_eq!(answer, "{\"seq\":1}\n");
    drop(stdout);
    // stdin stays open: the recorder notices by itself.
    let said = Said::at_the_end_of(child);
    drop(stdin);
    assert_eq!(said.code, 1, "{said:?}");
    let events = home.events("chat");
    assert_eq!(events[1]["data"]["text"], "acknowledged");
    assert_eq!(events.last().unwrap()["kind"], "closed");
}

#[test]
fn output_that_nobody_reads_is_no_error() {
    let home = Home::new();
    let events: Vec<Value> = (0..50).map(|n| prompt(&format!("{n} {}", "x".repeat(4000)))).collect();
    home.record("chat", &events);
    let commands: [&[&str]; 9] = [
        &[],
        &["list"],
        &["list", "--json"],
        &["show", "chat"],
        &["show", "chat", "--events"],
        &["show", "chat", "--events", "--json"],
        &["show", "chat", "--json"],
        &["verify"],
        &["resume", "chat", "--print"],
    ];
    for args in commands {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let said = Said::of(home.command(args).stdout(writer).output().unwrap());
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{args:?}");
    }
}

/// It would otherwise wait for an event that never comes.
#[test]
fn a_follower_ends_with_its_reader() {
    let home = Home::new();
    home.record("chat", &[prompt("one")]);
    for args in [&["show", "chat", "--follow"][..], &["show", "chat", "--follow", "--events", "--json"]] {
        let mut child = home.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut first).unwrap();
        drop(stdout);
        Said::at_the_end_of(child).ok();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_fails_is_an_error() {
    let home = Home::new();
    home.record("chat", &[prompt("one")]);
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    for args in
        [&["list", "--json"][..], &["show", "chat", "--json"], &["show", "chat", "--events", "--json"]]
    {
        let said = Said::of(home.command(args).stdout(full()).output().unwrap());
        let (code, error) = said.error();
        assert_eq!((code, error["kind"].as_str()), (1, Some("Io")), "{args:?}: {error}");
    }
    let mut recorder = home.command(&["record", "chat", "--json"]);
    let mut child = recorder.stdin(Stdio::piped()).stdout(full()).stderr(Stdio::piped()).spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{}", prompt("unheard")).unwrap();
    assert_eq!(Said::at_the_end_of(child).error().0, 1);
    home.run(&["verify"]).ok();
}

/// Eight want one session: each event is acknowledged once, the losers are told.
#[test]
fn of_several_writers_one_wins() {
    let home = Home::new();
    home.record("race", &[prompt("begin")]);
    let mut all: Vec<Talk> = (0..8).map(|_| home.recorder(&["race"])).collect();
    let mut seqs = Vec::new();
    for (n, racer) in all.drain(..).enumerate() {
        let mut racer = racer;
        let mut stdin = racer.stdin();
        let written = writeln!(stdin, "{}", prompt(&format!("racer {n}")));
        drop(stdin);
        let said = written.is_ok().then(|| racer.try_line()).flatten();
        match (racer.wait().code(), said) {
            (Some(0), Some(said)) => seqs.push(serde_json::from_str::<Value>(&said).unwrap()["seq"].clone()),
            (Some(4), None) => {}
            other => panic!("racer {n}: {other:?}"),
        }
    }
    assert!(!seqs.is_empty());
    let events = home.events("race");
    for seq in seqs {
        let seq = usize::try_from(seq.as_u64().unwrap()).unwrap();
        assert!(events[seq]["data"]["text"].as_str().unwrap().starts_with("racer"), "{}", events[seq]);
    }
}
