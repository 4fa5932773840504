//! Damaged sessions: `verify`, `repair`, and reading around what can't be read.

use serde_json::{Value, json};

use crate::support::{Home, prompt, tree};

/// A session of ten prompts, its recorder killed, whose fifth event then got a flipped bit.
fn damaged(home: &Home) -> Vec<u8> {
    let mut recorder = home.recorder(&["chat"]);
    (1..=10).for_each(|n| _ = recorder.append(&prompt(&format!("prompt number {n}"))));
    recorder.kill();
    let mut log = home.log("chat");
    let at = find(&log, b"prompt number 5");
    log[at] ^= 1;
    home.write_log("chat", &log);
    log
}

fn find(bytes: &[u8], part: &[u8]) -> usize {
    bytes.windows(part.len()).position(|w| w == part).unwrap()
}

#[test]
fn sound_sessions_verify() {
    let home = Home::new();
    home.record("one", &[prompt("a")]);
    home.record("two", &[prompt("b")]);
    let verified = home.run(&["verify", "--json"]).ok().json();
    assert_eq!(verified, json!({"schema_version": 1, "checked": 2, "ok": 2, "problems": []}));
    let told = home.run(&["verify", "one"]).ok();
    assert!(told.out.starts_with("1 session checked, 1 sound"), "{told:?}");
}

#[test]
fn damage_is_located_and_costs_one_session() {
    let home = Home::new();
    let log = damaged(&home);
    home.record("sound", &[prompt("b")]);
    let said = home.run(&["verify", "--json"]);
    assert_eq!(said.code, 5);
    let verified = said.json();
    assert_eq!((&verified["checked"], &verified["ok"]), (&json!(2), &json!(1)));
    let [problem, ..] = verified["problems"].as_array().unwrap().as_slice() else { panic!("{verified}") };
    let keys: Vec<&String> = problem.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["detail", "file", "kind", "line", "offset", "session"]);
    assert_eq!((&problem["session"], &problem["line"]), (&json!("chat"), &json!(6)));
    let line: usize = log.split_inclusive(|b| *b == b'\n').take(5).map(<[u8]>::len).sum();
    assert_eq!(problem["offset"], line);
    assert_eq!(problem["file"], json!(home.session("chat").join("events.jsonl")));
    let told = home.run(&["verify"]);
    assert_eq!(told.code, 5);
    assert!(told.err.contains("annals repair chat"), "{told:?}");
    assert_eq!(home.run(&["verify", "sound"]).code, 0);
}

/// Fault 19 is a list's; here it is a check's: others are told of all the same.
#[test]
fn a_session_that_can_not_be_checked_costs_one_session() {
    let home = Home::new();
    home.record("sound", &[prompt("a")]);
    home.record("strange", &[prompt("b")]);
    let log = home.session("strange").join("events.jsonl");
    std::fs::remove_file(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    let said = home.run(&["verify", "--json"]);
    assert_eq!((&said.json()["checked"], &said.json()["ok"]), (&json!(1), &json!(1)));
    assert_eq!(said.error().0, 1);
}

/// LOG-6: what a crash leaves is no damage.
#[test]
fn a_torn_tail_is_no_problem() {
    let torn = b"{\"seq\":2,\"d\":1,\"prev\":\"12";
    let home = Home::new();
    let mut recorder = home.recorder(&["chat"]);
    recorder.append(&prompt("acknowledged"));
    recorder.kill();
    let mut log = home.log("chat");
    let end = log.iter().rposition(|b| *b == b'}').unwrap() + 2;
    log.truncate(end);
    log.extend(torn);
    home.write_log("chat", &log);
    let told = home.run(&["verify"]).ok();
    assert!(told.err.contains("unfinished end"), "{told:?}");
    assert_eq!(home.log("chat"), log, "readers change nothing");
    let shown = home.run(&["show", "chat"]).ok();
    assert!(shown.out.contains("acknowledged") && shown.out.contains("no whole event"), "{shown:?}");
    let repaired = home.feed(&["record", "chat"], format!("{}\n", prompt("on"))).ok();
    assert!(repaired.err.contains(&format!("a crash had left {} bytes", torn.len())), "{repaired:?}");
    let aside =
        tree(&home.session("chat")).into_iter().find(|p| p.to_string_lossy().contains("torn-")).unwrap();
    assert_eq!(std::fs::read(aside).unwrap(), torn);
}

#[test]
fn everything_outside_the_damage_is_shown() {
    let home = Home::new();
    damaged(&home);
    for args in [&["show", "chat"][..], &["show", "chat", "--events"]] {
        let shown = home.run(args);
        assert_eq!(shown.code, 5, "{args:?}");
        let at =
            |text: &str| shown.out.find(text).unwrap_or_else(|| panic!("{text:?} is not in\n{}", shown.out));
        assert!(at("prompt number 4") < at("── damage at line 6"), "{args:?}");
        assert!(at("event 5 can't be read") < at("prompt number 6"), "{args:?}");
        at("prompt number 10");
    }
    let raw = home.run(&["show", "chat", "--events", "--json"]);
    assert_eq!((raw.code, raw.lines().len()), (5, 10));
    assert!(raw.err.contains("event 5 can't be read"), "{raw:?}");
    let document = home.run(&["show", "chat", "--json"]);
    assert_eq!(document.code, 5);
    let gap = document.json()["gaps"][0].clone();
    assert_eq!((&gap["expected_seq"], &gap["missing"], &gap["line"]), (&json!(5), &json!(1), &json!(6)));
    assert_eq!(home.list()["sessions"][0]["status"], "damaged");
}

#[test]
fn a_damaged_session_is_not_written() {
    let home = Home::new();
    let log = damaged(&home);
    let (code, error) = home.feed(&["record", "chat", "--json"], format!("{}\n", prompt("no"))).error();
    assert_eq!((code, &error["kind"], &error["retryable"]), (5, &json!("Corrupt"), &json!(false)));
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("line 6") && error["hint"].as_str().unwrap().contains("annals repair chat"),
        "{error}"
    );
    assert_eq!(home.log("chat"), log);
}

#[test]
fn repair_tells_first_and_keeps_the_original() {
    let home = Home::new();
    let log = damaged(&home);
    let before = tree(&home.path());
    let told = home.run(&["repair", "chat"]).ok();
    assert!(told.out.contains("would be lost: 5") && told.out.contains("--yes"), "{told:?}");
    let plan = home.run(&["repair", "chat", "--json"]).ok().json();
    assert_eq!(
        (&plan["done"], &plan["lost"], &plan["original"]),
        (&json!(false), &json!([[5, 5]]), &Value::Null)
    );
    assert_eq!((tree(&home.path()), home.log("chat")), (before, log.clone()), "a dry run changes nothing");

    let done = home.run(&["repair", "chat", "--yes", "--json"]).ok().json();
    assert_eq!((&done["done"], &done["kept"]), (&json!(true), &plan["kept"]));
    assert_eq!(std::fs::read(done["original"].as_str().unwrap()).unwrap(), log);
    home.run(&["verify", "--json"]).ok();
    home.record("chat", &[prompt("on")]);
    let texts: Vec<Value> =
        home.events("chat").iter().filter_map(|e| e["data"].get("text").cloned()).collect();
    assert_eq!(texts.len(), 10, "nine of ten, and the new one: {texts:?}");
    let again = home.run(&["repair", "chat", "--json"]).ok().json();
    assert_eq!((&again["needed"], &again["done"]), (&json!(false), &json!(false)));
}
