//! The life of a session through the program: forks, snapshots, names, tags, moves, the trash, and taking it all back.

use serde_json::{Value, json};

use crate::support::{Home, answer, prompt};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn two_turns(home: &Home, id: &str) {
    home.record(id, &[prompt("first question"), answer("one"), prompt("second question"), answer("two")]);
}

#[test]
fn a_fork_answers_with_the_documented_fields() {
    let home = Home::new();
    two_turns(&home, "parent");
    let fork = home.run(&["fork", "parent", "--turn", "1", "--name", "Another way", "--json"]).ok().json();
    assert_eq!(keys(&fork), ["at_seq", "conversation_id", "from", "id"]);
    assert_eq!((&fork["from"], &fork["at_seq"]), (&json!("parent"), &json!(2)));
    let id = fork["id"].as_str().unwrap();
    let shown = home.run(&["show", id]).ok().out;
    assert!(shown.contains("first question") && !shown.contains("second question"), "{shown}");
    assert_eq!(home.run(&["show", id, "--json"]).ok().json()["session"]["title"], "Another way");
    let number = format!("#{}", fork["conversation_id"]);
    assert_eq!(home.run(&["show", &number, "--json"]).ok().json()["session"]["id"], fork["id"]);
    // In words: the id alone is data.
    let said = home.run(&["fork", "parent"]).ok();
    assert!(said.out.trim().starts_with("session-") && said.err.contains("Forked parent"), "{said:?}");
    for (args, kind) in [
        (vec!["fork", "parent", "--at", "99"], "NoSuchEvent"),
        (vec!["fork", "parent", "--turn", "-1"], "NotRewindPoint"),
        (vec!["fork", "parent", "--name", " "], "EmptyTitle"),
    ] {
        let (code, error) = home.run(&[args.as_slice(), &["--json"]].concat()).error();
        assert_eq!((code, error["kind"].as_str()), (2, Some(kind)));
    }
}

#[test]
fn a_snapshot_has_a_name_and_is_only_branched_from() {
    let home = Home::new();
    two_turns(&home, "work");
    let saved = home.run(&["save", "work", "before", "--json"]).ok().json();
    assert_eq!((&saved["name"], &saved["from"]), (&json!("before"), &json!("work")));
    let (code, error) = home.run(&["save", "work", "before", "--json"]).error();
    assert_eq!((code, &error["kind"]), (1, &json!("SnapshotNameTaken")));
    assert!(home.run(&["save", "work", "before", "--force"]).ok().err.contains("in the trash"));
    let (_, error) = home.feed(&["record", "before", "--json"], prompt("x").to_string()).error();
    assert_eq!(error["kind"], "SnapshotNameTaken");
    let table = home.run(&["list"]).ok().out;
    assert!(table.contains("[before] first question") && table.contains("snapshot"), "{table}");
    let only = home.run(&["list", "--snapshots", "--json"]).ok().json();
    assert_eq!((&only["returned"], &only["sessions"][0]["snapshot"]), (&json!(1), &json!("before")));
    assert_eq!(only["hidden"], json!([{"reason": "filtered", "count": 1}]));
    assert_eq!(home.run(&["show", "latest", "--json"]).ok().json()["session"]["id"], "work");
}

#[test]
fn what_is_done_is_listed_and_undone() {
    let home = Home::new();
    two_turns(&home, "work");
    assert_eq!(home.run(&["rename", "work", "New", "title"]).ok().out, "New title\n");
    assert_eq!(home.run(&["tag", "work", "b", "a"]).ok().out, "a b\n");
    assert_eq!(home.run(&["tag", "work", "--remove", "b", "--json"]).ok().json()["tags"], json!(["a"]));
    assert_eq!(home.run(&["list", "--tag", "a", "--json"]).ok().json()["returned"], 1);
    assert_eq!(home.run(&["list", "--tag", "b", "--json"]).ok().json()["returned"], 0);
    let elsewhere = home.beside().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let elsewhere = elsewhere.canonicalize().unwrap().display().to_string();
    home.run(&["mv", "work", &elsewhere]).ok();
    assert_eq!(home.run(&["list", "-w", &elsewhere, "--json"]).ok().json()["returned"], 1);
    home.run(&["rm", "work"]).ok();
    assert_eq!(home.list()["total"], 0);
    let trash = home.run(&["trash", "--json"]).ok().json();
    assert_eq!(
        (&trash["sessions"][0]["session"], &trash["sessions"][0]["title"]),
        (&json!("work"), &json!("New title"))
    );
    let log = home.run(&["log", "--json"]).ok().json();
    let what: Vec<&str> =
        log["operations"].as_array().unwrap().iter().map(|o| o["what"].as_str().unwrap()).collect();
    assert_eq!(what, ["delete", "move", "tag", "tag", "rename"]);
    assert!(home.run(&["log"]).ok().out.contains("New title"));
    assert!(home.run(&["undo"]).ok().out.contains("rm work"));
    assert!(home.run(&["undo"]).ok().out.contains("mv work"));
    assert_eq!(home.list()["sessions"][0]["workspace"], json!(home.beside().canonicalize().unwrap()));
    let (code, error) = home.run(&["undo", "99", "--json"]).error();
    assert_eq!((code, &error["kind"]), (1, &json!("NoSuchOperation")));
}

#[test]
fn the_trash_is_emptied_only_on_purpose() {
    let home = Home::new();
    two_turns(&home, "one");
    two_turns(&home, "two");
    let (_, error) = home.run(&["rm", "one", "no-such-one", "--json"]).error();
    assert_eq!(error["kind"], "SessionNotFound");
    assert_eq!(home.list()["total"], 2, "a typing error deletes nothing");
    home.run(&["rm", "one", "two"]).ok();
    assert!(home.run(&["trash", "empty"]).ok().err.contains("--yes"));
    assert_eq!(home.run(&["trash", "restore", "one"]).ok().out, "one\n");
    assert_eq!(home.run(&["trash", "empty", "--yes", "--json"]).ok().json()["done"], true);
    assert_eq!(home.run(&["trash", "--json"]).ok().json()["sessions"], json!([]));
    assert_eq!(home.list()["total"], 1);
    let why = home.run(&["why", "two", "--json"]).ok().json();
    assert_eq!(why["why"]["state"], "gone", "{why}");
}

#[test]
fn an_open_session_is_left_alone() {
    let home = Home::new();
    let mut recorder = home.recorder(&["live"]);
    recorder.append(&prompt("hello"));
    let (code, error) = home.run(&["rm", "live", "--json"]).error();
    assert_eq!((code, &error["kind"], &error["retryable"]), (4, &json!("SessionOpen"), &json!(true)));
    // A fork of it needs nobody's leave; its owner records it.
    let fork = home.run(&["fork", "live", "--json"]).ok().json();
    assert_eq!(home.list()["sessions"].as_array().unwrap().len(), 2);
    assert!(recorder.finish().success());
    let told = home.events("live").into_iter().filter(|event| event["kind"] == "fork_point");
    assert_eq!(told.map(|event| event["data"]["session"].clone()).collect::<Vec<_>>(), [fork["id"].clone()]);
}

#[test]
fn everything_is_explained_counted_and_well() {
    let home = Home::new();
    two_turns(&home, "work");
    assert!(home.run(&["why", "work"]).ok().out.contains("is listed"));
    let here = home.beside().canonicalize().unwrap().display().to_string();
    assert!(home.run(&["why", &here]).ok().out.contains("1 session"));
    assert_eq!(home.run(&["why", "nothing-of-this"]).code, 1);
    assert!(home.run(&["doctor"]).ok().out.contains("All is well"));
    let stats = home.run(&["stats", "--json"]).ok().json();
    assert_eq!((&stats["total"]["sessions"], &stats["total"]["messages"]), (&json!(1), &json!(4)));
    assert!(home.run(&["stats", "--by", "model"]).ok().out.contains("total"));
    let du = home.run(&["du", "--json"]).ok().json();
    assert_eq!(du["sessions"][0]["log"], json!(home.log("work").len()));
    assert!(du["total"].as_u64() > du["logs"].as_u64());
    assert!(home.run(&["reindex"]).ok().out.contains("1 session"));
    home.run(&["relink", &here, "/new/place"]).ok();
    assert_eq!(home.list()["sessions"][0]["workspace"], "/new/place");
    assert_eq!(home.run(&["list", "--since", "1h", "--json"]).ok().json()["returned"], 1);
    assert_eq!(home.run(&["list", "--until", "1h", "--json"]).ok().json()["returned"], 0);
    assert_eq!(home.run(&["list", "--since", "soon"]).code, 2);
}

#[test]
fn the_configuration_is_read_and_told() {
    let home = Home::new();
    let file = home.beside().join("config.toml");
    let elsewhere = home.beside().join("elsewhere").display().to_string();
    std::fs::write(&file, format!("[session]\ndata_dir = {elsewhere:?}\ndurabilty = \"os\"\n")).unwrap();
    let show = |with_home: bool| {
        let mut command = home.command(&["config", "show", "--json"]);
        command.env("ANNALS_CONFIG", &file);
        if !with_home {
            command.env_remove("ANNALS_HOME");
        }
        serde_json::from_slice::<Value>(&command.output().unwrap().stdout).unwrap()
    };
    assert_eq!(show(true)["values"][0]["source"], "ANNALS_HOME");
    let told = show(false);
    assert_eq!(
        (&told["values"][0]["value"], &told["values"][0]["source"]),
        (&json!(elsewhere), &json!("file, line 2"))
    );
    assert!(told["warnings"][0].as_str().unwrap().contains("session.durability"));
    std::fs::write(&file, "[session]\nencrypt = true\n").unwrap();
    let said = home.command(&["list"]).env("ANNALS_CONFIG", &file).output().unwrap();
    assert_eq!(said.status.code(), Some(2), "never ignored");
}

#[test]
fn a_search_answers_with_the_documented_fields() {
    let home = Home::new();
    home.record("one", &[prompt("Where does the PARSER\n\nlive?"), answer("In src/parser.rs, as you know.")]);
    home.record("two", &[prompt("nothing of interest")]);
    let found = home.run(&["search", "parser", "--json"]).ok().json();
    assert_eq!(keys(&found), ["hits", "relaxed", "returned", "schema_version", "total"]);
    assert_eq!(
        (&found["total"], &found["returned"], &found["relaxed"]),
        (&json!(2), &json!(2), &json!(false))
    );
    let hit = found["hits"].as_array().unwrap().iter().find(|hit| hit["role"] == "user").unwrap();
    assert_eq!(keys(hit), ["excerpt", "ranges", "role", "seq", "session", "time", "title"]);
    assert_eq!((&hit["session"], &hit["seq"]), (&json!("one"), &json!(1)));
    assert_eq!(
        (&hit["excerpt"], &hit["ranges"]),
        (&json!("Where does the PARSER live?"), &json!([[15, 21]]))
    );
    let inside = home.run(&["search", "-s", "one", "parser live", "--json"]).ok().json();
    let order: Vec<u64> =
        inside["hits"].as_array().unwrap().iter().map(|h| h["seq"].as_u64().unwrap()).collect();
    assert_eq!(order, [1, 2], "oldest first");
    let shown = home.run(&["search", "parser"]).ok();
    assert!(shown.out.contains("Where does the PARSER live?") && shown.out.contains("event 1"), "{shown:?}");
    assert!(home.run(&["search", "absent"]).ok().err.contains("--tools"));
    assert_eq!(home.run(&["search", "-x", "src/parser.rs", "--json"]).ok().json()["total"], 1);
    assert_eq!(home.run(&["search", "-e", r"src/\w+\.rs", "--json"]).ok().json()["total"], 1);
    assert_eq!(home.run(&["search", "parser", "--role", "agent", "--json"]).ok().json()["total"], 1);
    for args in [&["search", "-e", "a(b"][..], &["search", "\"\""], &["search", "x", "--role", "nobody"]] {
        assert_eq!(home.run(args).code, 2, "{args:?}");
    }
}

#[test]
fn an_export_never_replaces_a_file_unasked() {
    let home = Home::new();
    two_turns(&home, "work");
    let said = home.run(&["export", "work"]).ok();
    let file = home.beside().canonicalize().unwrap().join("first-question.md");
    assert_eq!(said.out.trim(), file.display().to_string());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("# first question\n") && text.contains("## You · "), "{text}");
    std::fs::write(&file, "mine").unwrap();
    let (code, error) = home.run(&["export", "work", "--json"]).error();
    assert_eq!((code, &error["kind"]), (1, &json!("FileExists")));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    let told = home.run(&["export", "work", "--force", "--json"]).ok().json();
    assert_eq!((&told["masked"], &told["format"]), (&json!(0), &json!("md")));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    let page = home.run(&["export", "work", "--format", "html", "-o", "-"]).ok().out;
    assert!(page.starts_with("<!doctype html>") && page.contains("default-src 'none'"));
    let left = std::fs::read_dir(home.beside())
        .unwrap()
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().ends_with(".tmp"));
    assert_eq!(left.count(), 0);
    assert_eq!(home.run(&["export", "work", "-o", "no/such/dir/x.md"]).code, 1);
}

#[test]
fn a_bundle_goes_out_and_comes_in() {
    let home = Home::new();
    two_turns(&home, "work");
    home.run(&["export", "work", "--format", "events", "-o", "work.annals"]).ok();
    let file = home.beside().join("work.annals").display().to_string();
    let again = home.run(&["import", &file, "--json"]).ok().json();
    assert_eq!(again["bundle"]["present"], true);
    let log = home.log("work");
    home.run(&["rm", "work"]).ok();
    home.run(&["trash", "empty", "--yes"]).ok();
    assert_eq!(home.run(&["import", &file]).ok().out, "work\n");
    assert_eq!(home.log("work"), log);
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let (code, error) = home.run(&["import", &file, "--json"]).error();
    assert_eq!((code, &error["kind"]), (1, &json!("Bundle")));
}
