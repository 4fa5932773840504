//! What scripts rely on.

use serde_json::json;

use crate::home::{Home, code, err, json, out, prompt};

fn keys(value: &serde_json::Value) -> Vec<String> {
    let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
    keys.sort();
    keys
}

#[test]
fn a_list_has_the_documented_fields() {
    let home = Home::new();
    home.record("first", &["hello there"]);
    let list = json(&home.run(&["list", "--json"]));
    assert_eq!(keys(&list), ["hidden", "returned", "schema_version", "sessions", "total"]);
    assert_eq!(
        (&list["schema_version"], &list["total"], &list["returned"]),
        (&json!(1), &json!(1), &json!(1))
    );
    let session = &list["sessions"][0];
    assert_eq!(
        keys(session),
        [
            "agent",
            "conversation_id",
            "created",
            "events",
            "from",
            "from_snapshot",
            "id",
            "last_turn",
            "messages",
            "model",
            "moved_at",
            "moved_from",
            "origin",
            "parent",
            "project",
            "snapshot",
            "source",
            "status",
            "tags",
            "title",
            "traceparent",
            "updated",
            "usage",
            "workspace"
        ]
    );
    assert_eq!(
        (&session["id"], &session["title"], &session["messages"]),
        (&json!("first"), &json!("hello there"), &json!(1))
    );
    assert_eq!(session["conversation_id"], json!(1));
    assert!(session["updated"].as_str().unwrap().ends_with('Z'));
    let table = out(&home.run(&["ls"]));
    assert!(table.contains("first") && table.contains("hello there"));
}

#[test]
fn record_answers_each_line_and_new_tells_its_id_first() {
    let home = Home::new();
    let input = format!(
        "{}not json\n{}{}",
        prompt("one"),
        r#"{"kind":"assistant_message","data":{"parts":[{"type":"text","text":"hello"}]},"turn":1}"#
            .to_owned()
            + "\n",
        // No newline at the end: still a line.
        r#"{"kind":"tool_call","data":{"id":"c1","name":"ls","input":{"path":"."}}}"#
    );
    let output = home.pipe(&["record", "--new", "--json"], input.as_bytes());
    assert_eq!(code(&output), 0, "{}", err(&output));
    let lines: Vec<serde_json::Value> =
        out(&output).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let id = lines[0]["session"].as_str().unwrap();
    assert!(id.starts_with("session-20"));
    assert_eq!(lines[1], json!({"seq": 1}));
    assert_eq!(keys(&lines[2]["error"]), ["hint", "kind", "message", "retryable"]);
    assert_eq!(lines[2]["error"]["kind"], "InvalidEvent");
    assert_eq!((&lines[3], &lines[4]), (&json!({"seq": 2}), &json!({"seq": 3})));
    // Nothing was written for the rejected line.
    let events = out(&home.run(&["show", id, "--events", "--json"]));
    let kinds: Vec<String> = events
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap()["kind"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        kinds,
        [
            "session_started",
            "user_message",
            "assistant_message",
            "tool_call",
            "conversation_assigned",
            "sealed",
            "closed"
        ]
    );
}

#[test]
fn events_are_shown_byte_for_byte() {
    let home = Home::new();
    home.record("bytes", &["é \u{1F600} \"quoted\" \\ \n tab\t"]);
    let shown = home.run(&["show", "bytes", "--events", "--json"]);
    let stored = std::fs::read(home.data().join("sessions/bytes/events.jsonl")).unwrap();
    assert_eq!(shown.stdout, stored);
}

#[test]
fn what_the_store_writes_can_not_be_recorded() {
    let home = Home::new();
    for kind in ["session_started", "sealed", "closed", "repaired", "conversation_assigned", "no_such_kind"] {
        let line = json!({"kind": kind, "data": {}}).to_string();
        let output = home.pipe(&["record", "own", "--json"], line.as_bytes());
        assert!(out(&output).contains("InvalidEvent"), "{kind}");
    }
    let output = home.pipe(&["record", "own", "--json"], br#"{"kind":"x_mine","data":[1,2]}"#);
    assert!(out(&output).contains("\"seq\""));
}

#[test]
fn verify_counts_and_exits_with_5_when_something_is_wrong() {
    let home = Home::new();
    home.record("good", &["a"]);
    home.record("bad", &["one", "two", "three"]);
    let sound = home.run(&["verify", "--json"]);
    assert_eq!(
        (code(&sound), json(&sound)),
        (0, json!({"schema_version": 1, "checked": 2, "ok": 2, "problems": []}))
    );
    let path = home.data().join("sessions/bad/events.jsonl");
    let text = std::fs::read_to_string(&path).unwrap().replace("two", "tva");
    std::fs::write(&path, text).unwrap();
    let damaged = home.run(&["verify", "--json"]);
    assert_eq!(code(&damaged), 5);
    let report = json(&damaged);
    assert_eq!((&report["checked"], &report["ok"]), (&json!(2), &json!(1)));
    let problem = &report["problems"][0];
    assert_eq!(keys(problem), ["detail", "file", "kind", "line", "offset", "session"]);
    assert_eq!(
        (&problem["session"], &problem["line"], &problem["kind"]),
        (&json!("bad"), &json!(3), &json!("checksum"))
    );

    // Writing is refused; reading goes around it; repair tells, then does, and keeps the original.
    let refused = home.pipe(&["record", "bad", "--json"], prompt("x").as_bytes());
    assert_eq!(code(&refused), 5);
    let shown = home.run(&["show", "bad"]);
    assert_eq!(code(&shown), 5);
    assert!(out(&shown).contains("one") && out(&shown).contains("three") && out(&shown).contains("damage"));
    let plan = json(&home.run(&["repair", "bad", "--json"]));
    assert_eq!((&plan["done"], &plan["lost"]), (&json!(false), &json!([[2, 2]])));
    assert_eq!(code(&home.run(&["verify", "bad"])), 5);
    let done = json(&home.run(&["repair", "bad", "--yes", "--json"]));
    assert!(std::path::Path::new(done["original"].as_str().unwrap()).exists());
    assert_eq!(code(&home.run(&["verify", "bad"])), 0);
    home.record("bad", &["goes on"]);
}

#[test]
fn import_reports_and_is_idempotent() {
    let home = Home::new();
    let project = home.path().join("claude/projects/-w");
    std::fs::create_dir_all(&project).unwrap();
    let file = project.join("0f3b9c3e-8f0b-4a58-9f5f-2b1d6f0c9d11.jsonl");
    let mut bytes = Vec::new();
    annals_interop::claude_code::sample::write(&mut bytes, 3, "s", 120).unwrap();
    bytes.extend_from_slice(b"this is no record\n");
    std::fs::write(&file, &bytes).unwrap();
    let first = json(&home.run(&["import", "--json"]));
    assert_eq!((&first["found"], &first["imported"], &first["unchanged"]), (&json!(1), &json!(1), &json!(0)));
    let session = &first["sessions"][0];
    assert_eq!(keys(session), ["events", "id", "malformed", "records", "source"]);
    assert_eq!((&session["records"], &session["malformed"]), (&json!(121), &json!(1)));
    assert!(
        first["losses"].as_array().unwrap().iter().any(|l| l == &json!({"kind": "malformed", "count": 1}))
    );
    assert_eq!(first["problems"][0]["line"], json!(121));
    let again = json(&home.run(&["import", "--json"]));
    assert_eq!((&again["imported"], &again["unchanged"]), (&json!(0), &json!(1)));
    let events = json(&home.run(&["list", "--json"]))["sessions"][0]["events"].clone();
    assert_eq!(code(&home.run(&["verify"])), 0);
    // The source is as it was.
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
    // It grows: only what is new comes in.
    annals_interop::claude_code::sample::write(&mut bytes, 4, "t", 3).unwrap();
    std::fs::write(&file, &bytes).unwrap();
    let grown = json(&home.run(&["import", "--json"]));
    assert_eq!(grown["sessions"][0]["records"], json!(3));
    assert!(json(&home.run(&["list", "--json"]))["sessions"][0]["events"].as_u64() > events.as_u64());
}

#[test]
fn resume_prints_what_a_model_would_be_sent() {
    let home = Home::new();
    let lines = prompt("list the files")
        + r#"{"kind":"tool_call","data":{"id":"c1","name":"ls","input":{"path":"."},"deferred":true}}"#
        + "\n";
    home.pipe(&["record", "open", "--json"], lines.as_bytes());
    let view = json(&home.run(&["resume", "open", "--print", "--json"]));
    assert_eq!(view["messages"][2]["content"][0]["tool_use_id"], "c1");
    let text = view["messages"][2]["content"][0]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Not started"), "{text}");
    let view = json(&home.run(&["resume", "open", "--print", "--json", "--provider", "openai"]));
    assert_eq!(view["messages"][2]["role"], "tool");
    assert_eq!(code(&home.run(&["resume", "open"])), 2);
}

#[test]
fn the_demo_runs_and_leaves_a_sound_session() {
    let home = Home::new();
    for _ in 0..2 {
        let output = home.run(&["demo"]);
        assert_eq!(code(&output), 0, "{}", err(&output));
        assert!(out(&output).contains("nothing is lost"));
    }
    assert_eq!(json(&home.run(&["list", "--json"]))["total"], json!(2));
    assert_eq!(code(&home.run(&["verify"])), 0);
}

#[test]
fn the_flag_beats_the_environment() {
    let home = Home::new();
    let elsewhere = home.path().join("elsewhere");
    let output = home
        .pipe(&["record", "x", "--json", "--data-dir", elsewhere.to_str().unwrap()], prompt("hi").as_bytes());
    assert_eq!(code(&output), 0);
    assert!(elsewhere.join("sessions/x").exists() && !home.data().exists());
}

#[test]
fn completions_and_manual_come_from_the_same_definition() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(out(&home.run(&["completions", shell])).contains("record"), "{shell}");
    }
    assert!(out(&home.run(&["man"])).contains("annals"));
    assert_eq!(code(&home.run(&["man", "pages"])), 0);
    assert!(home.path().join("pages/annals-record.1").exists());
    assert_eq!(code(&home.run(&["--version"])), 0);
    assert_eq!(code(&home.run(&["--help"])), 0);
}
