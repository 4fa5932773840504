//! `annals list` and the ways to name a session.

use serde_json::{Value, json};

use crate::support::{Home, Said, answer, call, prompt, tree};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn an_empty_home_is_an_empty_list_and_nothing_is_made() {
    let home = Home::new();
    let before = tree(home.beside());
    assert_eq!(
        home.list(),
        json!({"schema_version": 1, "sessions": [], "total": 0, "returned": 0, "hidden": []})
    );
    let told = home.run(&["list"]).ok();
    assert!(told.out.is_empty() && told.err.contains("annals demo"), "{told:?}");
    for args in
        [&["verify"][..], &["show", "latest"], &["show", "abcd", "--events"], &["resume", "abcd", "--print"]]
    {
        home.run(args);
    }
    assert!(home.run(&[]).ok().out.contains("No sessions yet"));
    assert_eq!(tree(home.beside()), before, "readers create nothing");
}

#[test]
fn the_document_has_the_fields_that_scripts_rely_on() {
    let home = Home::new();
    home.record("first", &[prompt("Fix the parser\nplease"), answer("Done.")]);
    home.record("second", &[prompt("Another"), call("c1", "shell")]);
    let list = home.list();
    assert_eq!(keys(&list), ["hidden", "returned", "schema_version", "sessions", "total"]);
    assert_eq!((&list["total"], &list["returned"], &list["hidden"]), (&json!(2), &json!(2), &json!([])));
    let [second, first] = list["sessions"].as_array().unwrap().as_slice() else { panic!("{list}") };
    assert_eq!(
        keys(first),
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
    assert_eq!((&first["id"], &second["id"]), (&json!("first"), &json!("second")), "newest first");
    assert_eq!(first["title"], "Fix the parser");
    assert_eq!((&first["messages"], &first["events"]), (&json!(2), &json!(6)));
    assert_eq!((&first["conversation_id"], &first["source"]), (&json!(1), &Value::Null));
    assert_eq!(first["workspace"], json!(home.beside().canonicalize().unwrap()));
    assert_eq!((&first["status"], &second["status"]), (&json!("idle"), &json!("interrupted")));
    for key in ["created", "updated"] {
        let time = first[key].as_str().unwrap();
        assert!(annals::model::Timestamp::parse(time).is_ok() && time.ends_with('Z'), "{time}");
    }
}

#[test]
fn what_is_left_out_is_counted() {
    let home = Home::new();
    for id in ["one", "two", "three"] {
        home.record(id, &[prompt(id)]);
    }
    home.write_log("begun", b"");
    home.write_log("broken", b"{\"seq\":0,\"d\":-1,\n");
    let list = home.run(&["list", "-n", "1", "--json"]).ok().json();
    assert_eq!(list["sessions"][0]["id"], "three");
    assert_eq!((&list["total"], &list["returned"]), (&json!(5), &json!(1)));
    let hidden = list["hidden"].as_array().unwrap();
    let count = |reason: &str| hidden.iter().find(|h| h["reason"] == reason).map(|h| h["count"].clone());
    assert_eq!(count("limit"), Some(json!(2)), "{hidden:?}");
    let all: u64 = hidden.iter().map(|h| h["count"].as_u64().unwrap()).sum();
    assert_eq!(all, 4, "everything that is not shown is counted: {hidden:?}");
    let told = home.run(&["ls", "--limit", "1"]).ok();
    assert!(told.err.starts_with("Not shown: ") && told.err.contains("2 more"), "{told:?}");
    assert!(home.run(&["ls", "-n1", "--quiet"]).ok().err.is_empty());
}

#[test]
fn without_a_terminal_nothing_is_cut_or_coloured() {
    let home = Home::new();
    let title = "日本語のとても長い題名です、とても長いので表には収まりません";
    home.record("wide", &[prompt(title)]);
    home.record("plain", &[prompt(&"word ".repeat(11))]);
    let told = home.run(&["list"]).ok();
    assert!(told.out.contains(title), "{told:?}");
    assert!(!told.out.contains(['\u{1b}', '\t', '…']), "{told:?}");
    let forced = home.run(&["list", "--color", "always"]).ok();
    assert!(forced.out.contains("\u{1b}[1m"), "{forced:?}");
    let said = Said::of(home.command(&["list"]).env("CLICOLOR_FORCE", "1").output().unwrap()).ok();
    assert!(said.out.contains("\u{1b}[1m"), "{said:?}");
}

/// ID-4.
#[test]
fn a_session_may_be_named_in_part() {
    let home = Home::new();
    home.record("alpha-1111", &[prompt("a")]);
    home.record("alpha-2222", &[prompt("b")]);
    home.record("gamma", &[prompt("c")]);
    let shown = |query: &str| home.run(&["--json", "show", "--", query]).ok().json()["session"]["id"].clone();
    assert_eq!([shown("gamm"), shown("1111"), shown("-2222")], ["gamma", "alpha-1111", "alpha-2222"]);
    assert_eq!(shown("latest"), "gamma");

    let (code, error) = home.run(&["show", "alpha", "--json"]).error();
    assert_eq!((code, &error["kind"]), (2, &json!("Ambiguous")));
    let hint = error["hint"].as_str().unwrap();
    assert!(hint.contains("alpha-1111") && hint.contains("alpha-2222"), "{hint}");

    let (code, error) = home.run(&["show", "alpha-9", "--json"]).error();
    assert_eq!((code, &error["kind"]), (1, &json!("SessionNotFound")));
    assert!(error["hint"].as_str().unwrap().contains("did you mean"), "{error}");
    let told = home.run(&["show", "alpha-9"]);
    assert_eq!(told.code, 1);
    assert!(told.err.starts_with("error: ") && told.err.contains("\nhint: did you mean"), "{told:?}");
}
