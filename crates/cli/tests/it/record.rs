//! `annals record`: the contract of the pipe.

use serde_json::{Value, json};

use crate::support::{Home, answer, call, check_error, prompt, result};

#[test]
fn new_says_the_session_first_and_answers_each_line() {
    let home = Home::new();
    let mut recorder = home.recorder(&["--new"]);
    let first = recorder.answer();
    let id = first["session"].as_str().unwrap().to_owned();
    assert_eq!(first, json!({"session": id}));
    let events = [prompt("hi"), answer("hello"), call("c1", "read"), result("c1", "text")];
    let seqs: Vec<u64> = events.iter().map(|event| recorder.append(event)).collect();
    assert_eq!(seqs, [1, 2, 3, 4]);
    assert!(recorder.finish().success());

    let stored = home.events(&id);
    let kinds: Vec<&str> = stored.iter().map(|e| e["kind"].as_str().unwrap()).collect();
    assert_eq!(
        kinds[..5],
        ["session_started", "user_message", "assistant_message", "tool_call", "tool_result"]
    );
    assert_eq!(kinds.last(), Some(&"closed"), "the end of the input is a clean close");
    for (event, stored) in events.iter().zip(&stored[1..]) {
        let fits = |key: &str| stored["data"].get(key) == event["data"].get(key);
        assert!(event["data"].as_object().unwrap().keys().all(|key| fits(key)), "{event} became {stored}");
    }
}

#[test]
fn without_a_session_it_is_a_new_one() {
    let home = Home::new();
    let said = home.feed(&["record"], format!("{}\n", prompt("hi"))).ok();
    assert!(said.lines()[0]["session"].as_str().unwrap().starts_with("session-"), "{said:?}");
    assert_eq!(said.lines()[1], json!({"seq": 1}));
    assert_eq!(home.list()["sessions"][0]["origin"], "record");
}

/// SES-1, and what a second run finds.
#[test]
fn an_unknown_id_begins_a_session_and_a_known_one_goes_on() {
    let home = Home::new();
    home.record("chat", &[prompt("one")]);
    home.record("chat", &[prompt("two")]);
    let texts: Vec<Value> =
        home.events("chat").iter().filter_map(|e| e["data"].get("text").cloned()).collect();
    assert_eq!(texts, ["one", "two"]);
    assert_eq!(home.list()["total"], 1);
    let said = home.feed(&["record", "latest"], format!("{}\n", prompt("three"))).ok();
    assert!(said.lines()[0]["seq"].as_u64().unwrap() > 3, "{said:?}");
}

/// A program's own ids may begin with each other; events never land in the other session.
#[test]
fn a_part_of_an_id_is_another_session_here() {
    let home = Home::new();
    home.record("chat-10", &[prompt("ten")]);
    let said = home.feed(&["record", "chat-1"], format!("{}\n", prompt("one"))).ok();
    assert_eq!(said.lines(), [json!({"seq": 1})]);
    assert!(said.err.contains("chat-10"), "whoever meant the other is told: {said:?}");
    assert_eq!(home.list()["total"], 2);
    assert!(!home.events("chat-10").iter().any(|e| e["data"]["text"] == "one"));
}

/// What stood there is kept all the same: nothing that might be history is thrown away unseen.
#[test]
fn a_creation_that_was_cut_short_is_begun_anew() {
    for left in [&b""[..], b"{\"seq\":0,\"d\":-1,\"prev\":\"0000", b"\0\0\0"] {
        let home = Home::new();
        home.write_log("chat", left);
        home.record("chat", &[prompt("one")]);
        assert_eq!(home.events("chat")[1]["data"]["text"], "one");
        let kept = std::fs::read(home.session("chat").join("torn-0.bin")).unwrap_or_default();
        assert_eq!(kept, left.iter().copied().filter(|b| *b != 0).collect::<Vec<u8>>());
    }
}

/// Only its owner reads a session, and what is found looser is tightened.
#[test]
fn sessions_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    home.record("chat", &[prompt("one")]);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for path in crate::support::tree(home.beside()) {
        assert_eq!(mode(&path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
    let log = home.session("chat").join("events.jsonl");
    std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o644)).unwrap();
    home.record("chat", &[prompt("two")]);
    assert_eq!(mode(&log), 0o600);
}

#[test]
fn a_rejected_line_is_answered_in_its_place_and_leaves_nothing() {
    let home = Home::new();
    let lines: Vec<Vec<u8>> = vec![
        prompt("before").to_string().into(),
        b"no json".to_vec(),
        b"[1,2]".to_vec(),
        br#"{"kind":"user_message"}"#.to_vec(),
        br#"{"kind":"no_such_kind","data":{}}"#.to_vec(),
        br#"{"kind":"session_started","data":{}}"#.to_vec(),
        br#"{"kind":"sealed","data":{}}"#.to_vec(),
        br#"{"kind":"closed","data":{}}"#.to_vec(),
        br#"{"kind":"repaired","data":{}}"#.to_vec(),
        br#"{"kind":"conversation_assigned","data":{"id":1}}"#.to_vec(),
        br#"{"kind":"user_message","data":{"kind":"prompt"}}"#.to_vec(),
        br#"{"kind":"user_message","data":{"kind":"prompt","text":"a"},"turn":-1}"#.to_vec(),
        br#"{"kind":"user_message","data":{"kind":"prompt","text":"a"},"sequence":3}"#.to_vec(),
        b"{\"kind\":\"user_message\",\"data\":{\"kind\":\"prompt\",\"text\":\"\xff\xfe\"}}".to_vec(),
        b"{\"kind\":\"user_message\",\"data\":{\"kind\":\"prompt\",\"text\":\"\0\"}}".to_vec(),
        b"\0\0\0".to_vec(),
        vec![b'['; 100_000],
        prompt("after").to_string().into(),
    ];
    let said = home.feed(&["record", "chat", "--json"], lines.join(&b'\n')).ok();
    let answers = said.lines();
    assert_eq!(answers.len(), lines.len(), "{said:?}");
    assert_eq!((&answers[0], answers.last().unwrap()), (&json!({"seq": 1}), &json!({"seq": 2})));
    for (line, answer) in lines.iter().zip(&answers).skip(1).take(lines.len() - 2) {
        let error = check_error(answer);
        assert_eq!(error["kind"], "InvalidEvent", "{}", String::from_utf8_lossy(line));
    }
    let kinds: Vec<Value> = home.events("chat").iter().map(|e| e["kind"].clone()).collect();
    assert_eq!(
        kinds,
        ["session_started", "user_message", "user_message", "conversation_assigned", "sealed", "closed"]
    );
}

#[test]
fn blank_lines_pass_and_a_last_line_needs_no_newline() {
    let home = Home::new();
    let input = format!("\n{}\r\n  \n{}", prompt("one"), prompt("two"));
    let said = home.feed(&["record", "chat"], input).ok();
    assert_eq!(said.lines(), [json!({"seq": 1}), json!({"seq": 2})]);
    let said = home.feed(&["record", "chat"], "{\"kind\":\"user_mess").ok();
    check_error(&said.lines()[0]);
}

/// Lines that wait together share one sync: all of them know the same last durable event.
#[test]
fn lines_that_wait_together_are_one_commit() {
    let home = Home::new();
    home.record("chat", &[prompt("begin")]);
    let file = home.beside().join("input");
    let input: String = (0..500).map(|n| format!("{}\n", prompt(&n.to_string()))).collect();
    std::fs::write(&file, &input).unwrap();
    let mut command = home.command(&["record", "chat", "--json"]);
    let output = command.stdin(std::fs::File::open(&file).unwrap()).output().unwrap();
    let answers: Vec<Value> = crate::support::Said::of(output).ok().lines();
    let first = answers[0]["seq"].as_u64().unwrap();
    let expected: Vec<Value> = (first..first + 500).map(|seq| json!({"seq": seq})).collect();
    assert_eq!(answers, expected, "in order, gapless");

    let events = home.events("chat");
    let batch = events.iter().filter(|e| e["seq"].as_u64() >= Some(first) && e["kind"] == "user_message");
    let durable: std::collections::BTreeSet<i64> = batch.map(|e| e["d"].as_i64().unwrap()).collect();
    assert_eq!(durable.len(), 1, "one commit: {durable:?}");
}

#[test]
fn every_durability_level_keeps_what_it_acknowledged_from_a_kill() {
    for level in ["strict", "barrier", "os"] {
        let home = Home::new();
        let mut recorder = home.recorder(&["chat", "--durability", level]);
        for n in 0..20 {
            assert_eq!(recorder.append(&prompt(&format!("event {n}"))), n + 1);
        }
        recorder.kill();
        let events = home.events("chat");
        let texts: Vec<&str> = events.iter().filter_map(|e| e["data"]["text"].as_str()).collect();
        let expected: Vec<String> = (0..20).map(|n| format!("event {n}")).collect();
        assert_eq!(texts, expected, "{level}");
        home.run(&["verify", "chat", "--json"]).ok();
        // The dead one's lock is gone with it.
        home.record("chat", &[prompt("on")]);
    }
}

#[test]
fn a_session_of_many_violent_deaths_has_everything() {
    let home = Home::new();
    let mut acknowledged = Vec::new();
    for life in 0..5 {
        let mut recorder = home.recorder(&["chat"]);
        for n in 0..10 {
            let text = format!("life {life} event {n}");
            acknowledged.push((recorder.append(&prompt(&text)), text));
        }
        // This one may or may not be there: it was never answered.
        recorder.send(&prompt("under way"));
        recorder.kill();
    }
    let events = home.events("chat");
    for (seq, text) in acknowledged {
        assert_eq!(events[usize::try_from(seq).unwrap()]["data"]["text"], json!(text));
    }
    home.run(&["verify", "chat"]).ok();
}

/// A line over the limit is passed over as it streams by; its neighbours are recorded.
#[test]
fn a_line_over_the_limit_is_refused_alone() {
    let home = Home::new();
    let limit = annals::model::line::MAX_LINE_BYTES;
    let mut input = format!("{}\n", prompt("before")).into_bytes();
    input.resize(input.len() + limit + 1, b'x');
    input.extend(format!("\n{}\n", prompt("after")).bytes());
    let said = home.feed(&["record", "chat"], input).ok();
    let answers = said.lines();
    assert_eq!(answers.len(), 3);
    assert_eq!((&answers[0], &answers[2]), (&json!({"seq": 1}), &json!({"seq": 2})));
    assert_eq!(check_error(&answers[1])["kind"], "TooLong");
    assert!(said.err.contains("1 line refused"), "{}", said.err);
}

/// LOG-9: the second is told who holds it.
#[test]
fn a_busy_session_names_its_holder() {
    let home = Home::new();
    let mut recorder = home.recorder(&["chat"]);
    recorder.append(&prompt("mine"));
    let (code, error) = home.feed(&["record", "chat", "--json"], "").error();
    assert_eq!((code, &error["kind"], &error["retryable"]), (4, &json!("SessionBusy"), &json!(true)));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(&recorder.pid().to_string()), "{message}");
    let told = home.feed(&["record", "chat"], "");
    assert_eq!(told.code, 4);
    assert!(told.err.contains("hint: ") && told.err.contains("--follow"), "{told:?}");
    // Reading is possible all the while.
    assert_eq!(home.list()["sessions"][0]["status"], "open");
    assert!(home.run(&["show", "chat"]).ok().out.contains("mine"));
    home.run(&["verify", "chat"]).ok();
    recorder.append(&prompt("still mine"));
    assert!(recorder.finish().success());
    home.record("chat", &[prompt("free again")]);
}
