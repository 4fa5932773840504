//! `annals import`.

use std::path::PathBuf;

use annals_interop::claude_code::sample;
use serde_json::{Value, json};

use crate::support::{Home, Said, tree};

const ID: &str = "0f3b9c3e-8f0b-4a58-9f5f-2b1d6f0c9d11";

/// A session file in the usual place below the home directory.
fn session_file(home: &Home, records: usize) -> PathBuf {
    let dir = home.beside().join(".claude/projects/-work-parser");
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join(format!("{ID}.jsonl"));
    let mut bytes = Vec::new();
    sample::write(&mut bytes, 7, ID, records).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn the_usual_place_is_imported_once() {
    let home = Home::new();
    let path = session_file(&home, 60);
    let source = std::fs::read(&path).unwrap();
    let imported = home.run(&["import", "--json"]).ok().json();
    for key in ["schema_version", "found", "imported", "unchanged", "sessions", "losses"] {
        assert!(imported.get(key).is_some(), "{key}: {imported}");
    }
    assert_eq!([&imported["found"], &imported["imported"], &imported["unchanged"]], [1, 1, 0]);
    let session = &imported["sessions"][0];
    assert_eq!((&session["id"], &session["source"]), (&json!(ID), &json!(path)));
    assert_eq!((&session["records"], &session["malformed"]), (&json!(60), &json!(0)));
    let listed = &home.list()["sessions"][0];
    assert_eq!((&listed["id"], &listed["source"]), (&json!(ID), &json!("claude-code")));
    home.run(&["verify", "--json"]).ok();
    home.run(&["show", "0f3b"]).ok();
    home.run(&["resume", "0f3b", "--print"]).ok();

    let before = tree(&home.path());
    let again = home.run(&["import", "--from", "claude-code", "--json"]).ok().json();
    assert_eq!([&again["found"], &again["imported"], &again["unchanged"]], [1, 0, 1]);
    assert_eq!(tree(&home.path()), before);
    assert_eq!(std::fs::read(&path).unwrap(), source, "nothing over there is changed");
    let told = home.run(&["import"]).ok();
    assert!(told.out.contains("0 imported, 1 unchanged"), "{told:?}");

    // It grows: only what is new comes in.
    let mut more = source;
    sample::write(&mut more, 8, "later", 3).unwrap();
    std::fs::write(&path, more).unwrap();
    let grown = home.run(&["import", "--json"]).ok().json();
    assert_eq!([&grown["imported"], &grown["sessions"][0]["records"]], [1, 3], "{grown}");
    assert_eq!(home.list()["total"], 1);
}

#[test]
fn malformed_lines_are_told_and_stop_nothing() {
    let home = Home::new();
    let path = session_file(&home, 20);
    let mut bytes = std::fs::read(&path).unwrap();
    for bad in [&b"{\"type\":\"user\""[..], b"\0\0\0\0", b"\xff\xfe{}", b"not json"] {
        bytes.extend_from_slice(bad);
        bytes.push(b'\n');
    }
    let mut more = Vec::new();
    sample::write(&mut more, 8, ID, 10).unwrap();
    bytes.extend_from_slice(&more);
    std::fs::write(&path, &bytes).unwrap();
    let imported = home.run(&["import", path.to_str().unwrap(), "--json"]).ok().json();
    assert_eq!(imported["sessions"][0]["malformed"], 3, "{imported}");
    let lines: Vec<&Value> = imported["problems"].as_array().unwrap().iter().map(|p| &p["line"]).collect();
    assert_eq!(lines, [21, 23, 24]);
    let losses = imported["losses"].as_array().unwrap();
    assert!(
        losses.contains(&json!({"kind": "nul_bytes", "count": 4})),
        "NULs are counted as such: {losses:?}"
    );
    let home = Home::new();
    let told = home.run(&["import", path.to_str().unwrap()]).ok();
    assert!(told.err.contains(&format!("warning: {}:21 ", path.display())), "{told:?}");
}

#[test]
fn many_malformed_lines_do_not_flood_people() {
    let home = Home::new();
    let path = session_file(&home, 10);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend(b"no json\n".repeat(300));
    std::fs::write(&path, bytes).unwrap();
    let told = home.run(&["import"]).ok();
    assert!(told.err.lines().count() < 30, "{}", told.err);
    assert!(told.err.contains("280 records more could not be read"), "{}", told.err);
}

#[test]
fn what_is_no_session_is_an_error() {
    let home = Home::new();
    let (code, error) = home.run(&["import", "--json"]).error();
    assert_eq!((code, &error["kind"]), (1, &json!("SourceNotFound")));
    assert!(error["hint"].as_str().unwrap().contains("annals demo"), "{error}");
    let (code, error) = home.run(&["import", "no/such/file", "--json"]).error();
    assert_eq!((code, &error["kind"]), (1, &json!("SourceNotFound")));

    let file = home.beside().join("picture.jsonl");
    std::fs::write(&file, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    let said = home.run(&["import", file.to_str().unwrap(), "--json"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert_eq!(said.error().1["kind"], "NotThisFormat");
    assert_eq!(home.list()["total"], 0);
    let told = home.run(&["import", file.to_str().unwrap()]);
    assert!(told.code == 1 && told.err.contains("hint: "), "{told:?}");
}

#[test]
fn the_agents_own_variable_names_its_place() {
    let home = Home::new();
    let path = session_file(&home, 10);
    let elsewhere = home.beside().join("elsewhere");
    std::fs::rename(home.beside().join(".claude"), &elsewhere).unwrap();
    assert!(!path.exists());
    let mut command = home.command(&["import", "--json"]);
    let imported = Said::of(command.env("CLAUDE_CONFIG_DIR", &elsewhere).output().unwrap()).ok().json();
    assert_eq!(imported["imported"], 1, "{imported}");
}
