//! Bad input: a clear error, the documented exit code, nothing created, nothing lost, no panic.

use serde_json::json;

use crate::home::{Home, code, err, error, json, out, prompt};

/// Fault 10: an id with `../` wrote outside the store.
#[test]
fn ids_that_could_leave_the_directory_are_refused() {
    let home = Home::new();
    let long = "a".repeat(129);
    for id in ["../evil", "a/b", ".hidden", "..", "a b", &long] {
        let output = home.pipe(&["record", id, "--json"], prompt("x").as_bytes());
        assert_eq!((code(&output), &error(&output)["kind"]), (2, &json!("InvalidId")), "{id}");
        for command in ["show", "verify", "repair"] {
            assert_eq!(code(&home.run(&[command, id, "--json"])), 2, "{command} {id}");
        }
    }
    assert!(!home.data().exists(), "nothing is created");
}

/// Fault 9: a misspelt id was reported as a healthy empty session, and listing created directories.
#[test]
fn a_session_that_is_not_there_is_not_found_and_reading_creates_nothing() {
    let home = Home::new();
    for args in [&["list", "--json"][..], &["verify", "--json"], &["--json"]] {
        assert_eq!(code(&home.run(args)), 0);
    }
    let output = home.run(&["show", "nobody", "--json"]);
    assert_eq!((code(&output), &error(&output)["kind"]), (1, &json!("SessionNotFound")));
    assert!(!home.data().exists());
    home.record("session-abcd-1", &["a"]);
    home.record("session-abcd-2", &["b"]);
    let output = home.run(&["show", "session-abcd", "--json"]);
    assert_eq!((code(&output), &error(&output)["kind"]), (2, &json!("Ambiguous")));
    assert!(error(&output)["hint"].as_str().unwrap().contains("session-abcd-2"));
    let output = home.run(&["show", "session-abce-1"]);
    assert!(err(&output).contains("did you mean") && err(&output).contains("hint:"), "{}", err(&output));
    assert_eq!(code(&home.run(&["show", "cd-2"])), 0);
}

#[test]
fn wrong_arguments_exit_with_2_and_are_json_when_asked() {
    let home = Home::new();
    assert_eq!(code(&home.run(&["no-such-command"])), 2);
    let output = home.run(&["list", "--json", "--nope"]);
    assert_eq!((code(&output), &error(&output)["kind"]), (2, &json!("Usage")));
}

#[test]
fn a_directory_that_is_no_store_is_left_alone() {
    let home = Home::new();
    std::fs::create_dir_all(home.data()).unwrap();
    std::fs::write(home.data().join("thesis.txt"), "mine").unwrap();
    let output = home.pipe(&["record", "x", "--json"], prompt("x").as_bytes());
    assert_eq!((code(&output), &error(&output)["kind"]), (1, &json!("NotAStore")));
    assert_eq!(std::fs::read_dir(home.data()).unwrap().count(), 1);
    std::fs::remove_dir_all(home.data()).unwrap();
    std::fs::write(home.data(), "a file").unwrap();
    assert_eq!(error(&home.run(&["list", "--json"]))["kind"], "NotAStore");
}

#[test]
fn a_log_from_the_future_is_not_touched() {
    let home = Home::new();
    home.record("old", &["a"]);
    let dir = home.data().join("sessions/new");
    std::fs::create_dir_all(&dir).unwrap();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../log/tests/fixtures/v1-future/events.jsonl");
    std::fs::copy(fixture, dir.join("events.jsonl")).unwrap();
    let output = home.pipe(&["record", "new", "--json"], prompt("x").as_bytes());
    assert_eq!((code(&output), &error(&output)["kind"]), (1, &json!("Newer")), "{}", err(&output));
    assert_eq!(std::fs::read(fixture).unwrap(), std::fs::read(dir.join("events.jsonl")).unwrap());
}

/// Fault 19: one bad session made the whole list fail.
#[test]
fn one_bad_session_costs_one_session_and_is_counted() {
    let home = Home::new();
    home.record("good", &["fine"]);
    for (name, bytes) in [
        ("nuls", vec![0_u8; 5000]),
        ("noise", vec![0xff, 0xfe, b'\n', 1, 2]),
        ("empty", vec![]),
        ("text", b"hello\n".to_vec()),
    ] {
        let dir = home.data().join("sessions").join(name);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("events.jsonl"), bytes).unwrap();
    }
    let list = json(&home.run(&["list", "--json"]));
    assert_eq!((&list["total"], &list["returned"]), (&json!(5), &json!(1)));
    let hidden: u64 = list["hidden"].as_array().unwrap().iter().map(|h| h["count"].as_u64().unwrap()).sum();
    assert_eq!(hidden, 4);
    assert!(err(&home.run(&["list"])).contains("Not shown"));
    for name in ["nuls", "noise", "empty", "text"] {
        assert_ne!(code(&home.run(&["show", name])), 0, "{name}");
        let _ = home.run(&["verify", name]);
    }
    assert_eq!(code(&home.run(&["verify", "good"])), 0);
}

#[test]
fn lines_that_can_not_be_taken_leave_nothing() {
    let home = Home::new();
    let mut input = Vec::new();
    for bad in [
        &b"\xff\xfe"[..],
        b"{",
        b"[]",
        b"{\"kind\":\"user_message\"}",
        b"{\"kind\":\"user_message\",\"data\":{\"kind\":\"prompt\"}}",
        b"{\"kind\":\"user_message\",\"data\":{\"kind\":\"wish\",\"text\":\"x\"}}",
        b"{\"kind\":\"user_message\",\"data\":{\"kind\":\"prompt\",\"text\":\"x\"},\"seq\":7}",
        b"\0\0\0",
    ] {
        input.extend_from_slice(bad);
        input.push(b'\n');
    }
    input.extend_from_slice(prompt("good").as_bytes());
    let output = home.pipe(&["record", "s", "--json"], &input);
    let answers: Vec<serde_json::Value> =
        out(&output).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(answers.len(), 9);
    assert!(answers[..8].iter().all(|a| a["error"]["kind"] == "InvalidEvent"));
    assert_eq!(answers[8], json!({"seq": 1}));
}

/// A 200 MB line: refused alone, in bounded memory.
#[test]
fn a_huge_line_is_refused_alone() {
    let home = Home::new();
    let mut input = prompt("before").into_bytes();
    input.extend(std::iter::repeat_n(b'x', 200_000_000));
    input.push(b'\n');
    input.extend_from_slice(prompt("after").as_bytes());
    let output = home.pipe(&["record", "s", "--json"], &input);
    let answers: Vec<serde_json::Value> =
        out(&output).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!((&answers[0], &answers[2]), (&json!({"seq": 1}), &json!({"seq": 2})));
    assert!(answers[1]["error"]["message"].as_str().unwrap().contains("200000000"));
}

#[test]
fn files_of_other_formats_are_named() {
    let home = Home::new();
    std::fs::write(home.path().join("notes.txt"), "no json at all\n").unwrap();
    let output = home.run(&["import", "notes.txt", "--json"]);
    assert_eq!((code(&output), &error(&output)["kind"]), (1, &json!("NotThisFormat")));
    assert_eq!(code(&home.run(&["import", "nowhere.jsonl", "--json"])), 1);
    let nothing = home.run(&["import"]);
    assert_eq!(code(&nothing), 1);
    assert!(err(&nothing).contains("hint:"));
}

#[test]
fn what_a_model_wrote_can_not_command_the_terminal() {
    let home = Home::new();
    home.record("esc", &["\u{1b}]0;owned\u{7}\u{1b}[31mred"]);
    for args in [&["show", "esc"][..], &["list"], &["show", "esc", "--events"]] {
        assert!(!out(&home.run(args)).contains('\u{1b}'), "{args:?}");
    }
}
