//! `annals show` and `annals resume --print`.

use serde_json::{Value, json};

use crate::support::{Home, answer, call, prompt, result};

fn conversation(home: &Home) {
    home.record(
        "chat",
        &[
            prompt("Fix the parser"),
            answer("I'll look."),
            call("c1", "read"),
            result("c1", "fn parse() {}"),
            answer("Done."),
            prompt("And the other one?"),
            answer("I'll run it."),
            json!({"kind": "tool_call", "data": {"id": "c2", "name": "shell", "input": {}, "deferred": true}}),
            json!({"kind": "tool_call", "data": {"id": "c3", "name": "build", "input": {}, "deferred": true}}),
            json!({"kind": "tool_started", "data": {"id": "c3"}}),
        ],
    );
}

#[test]
fn the_events_are_the_stored_lines_byte_for_byte() {
    let home = Home::new();
    conversation(&home);
    let shown = home.run(&["show", "chat", "--events", "--json"]).ok();
    assert_eq!(shown.out.as_bytes(), home.log("chat"));
}

#[test]
fn the_transcript_reads_well() {
    let home = Home::new();
    conversation(&home);
    let shown = home.run(&["show", "chat"]).ok().out;
    let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text:?} is not in\n{shown}"));
    let order = [
        "Fix the parser",
        "chat · ",
        "I'll look.",
        "→ read",
        "← 13 B fn parse() {}",
        "Done.",
        "And the other",
    ];
    assert!(order.map(at).is_sorted(), "{shown}");
    at("! The shell call c2 has no result: it did not start, and is safe to run.");
    at("! The build call c3 has no result: it may have run: check");
    assert!(!shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn the_document_is_for_programs() {
    let home = Home::new();
    conversation(&home);
    let shown = home.run(&["show", "chat", "--json"]).ok().json();
    assert_eq!((&shown["schema_version"], &shown["gaps"]), (&json!(1), &json!([])));
    assert_eq!(shown["session"], home.list()["sessions"][0]);
    let texts: Vec<&Value> = shown["transcript"].as_array().unwrap().iter().map(|e| &e["text"]).collect();
    assert_eq!(texts, ["Fix the parser", "I'll look.\n\nDone.", "And the other one?", "I'll run it."]);
    let calls = shown["open_calls"].as_array().unwrap();
    let fates: Vec<(&Value, &Value)> = calls.iter().map(|c| (&c["id"], &c["fate"])).collect();
    assert_eq!(fates, [(&json!("c2"), &json!("not_started")), (&json!("c3"), &json!("outcome_unknown"))]);
}

/// Content can't move the cursor, change colours or set the title, whichever way it is shown.
#[test]
fn nothing_that_is_shown_commands_the_terminal() {
    let home = Home::new();
    let evil = "a\u{1b}]0;title\u{7}b\u{9b}31mc\u{202e}d\u{8}\r\ne";
    home.record("chat", &[prompt(evil), answer(evil), call("c1", evil), result("c1", evil)]);
    let commands: [&[&str]; 8] = [
        &["list"],
        &["list", "--json"],
        &["show", "chat"],
        &["show", "chat", "--json"],
        &["show", "chat", "--events"],
        &["resume", "chat", "--print"],
        &["resume", "chat", "--print", "--json"],
        &[],
    ];
    for args in commands {
        let shown = home.run(args).ok().out;
        assert!(shown.contains('a'), "{args:?}");
        let harmful = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!shown.contains(harmful), "{args:?}: {shown:?}");
    }
    assert_eq!(
        home.run(&["show", "chat", "--json"]).json()["transcript"][0]["text"],
        evil,
        "nothing is lost"
    );
}

#[test]
fn a_kind_of_a_later_version_is_shown_as_unknown() {
    let home = Home::new();
    home.record("chat", &[prompt("hi"), json!({"kind": "x_mood", "data": {"mood": "good"}})]);
    let shown = home.run(&["show", "chat", "--events"]).ok().out;
    assert!(shown.contains("x_mood (unknown kind)  {\"mood\":\"good\"}"), "{shown}");
}

/// VIEW-3.
#[test]
fn resume_prints_what_a_model_would_be_sent() {
    let home = Home::new();
    conversation(&home);
    let printed = home.run(&["resume", "chat", "--print"]).ok();
    assert!(
        printed.err.contains("c2 did not start") && printed.err.contains("c3 may have run"),
        "{printed:?}"
    );
    let anthropic = printed.json();
    let messages = anthropic["messages"].as_array().unwrap();
    assert_eq!(messages[0]["role"], "user");
    let results: Vec<&Value> = messages
        .iter()
        .flat_map(|m| m["content"].as_array().into_iter().flatten())
        .filter(|part| part["type"] == "tool_result")
        .map(|part| &part["tool_use_id"])
        .collect();
    assert_eq!(results, ["c1", "c2", "c3"], "every call has its result: {anthropic}");
    let openai = home.run(&["resume", "chat", "--print", "--provider", "openai", "--json"]).ok();
    assert_eq!(openai.err, "", "--json is quiet");
    let roles: Vec<Value> =
        openai.json()["messages"].as_array().unwrap().iter().map(|m| m["role"].clone()).collect();
    assert!(roles.contains(&json!("tool")), "{roles:?}");

    let without = home.run(&["resume", "chat"]);
    assert_eq!(without.code, 2);
    assert!(without.err.contains("hint: `annals resume chat --print`"), "{without:?}");
}
