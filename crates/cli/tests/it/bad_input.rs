//! Bad homes, bad ids, bad logs: a clear error, and nothing made or lost.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

use annals::model::line::{Place, encode};
use annals::model::{Draft, Timestamp};
use serde_json::json;

use crate::support::{Home, Said, prompt, tree};

/// Fault 10.
#[test]
fn ids_that_could_leave_the_store_are_refused() {
    let home = Home::new();
    home.record("real", &[prompt("a")]);
    let before = tree(home.beside());
    let long = "x".repeat(129);
    for id in ["../escape", "a/b", "/etc", "..", ".", ".hidden", "-x", "a b", "ü", "", "a\n", &long] {
        for command in ["record", "show", "verify", "repair"] {
            let args = ["--json", command, "--", id];
            let (code, error) = home.feed(&args, format!("{}\n", prompt("a"))).error();
            // A short beginning of nothing is no id either; what readers can't find they may call not found.
            let kind = error["kind"].as_str().unwrap();
            assert!(
                (code, kind) == (2, "InvalidId")
                    || (command != "record" && (code, kind) == (1, "SessionNotFound")),
                "{command} {id:?}: {code} {error}"
            );
        }
    }
    assert_eq!(tree(home.beside()), before, "nothing is made");
    home.record(&"x".repeat(128), &[prompt("the longest id")]);
}

#[test]
fn a_home_that_is_no_store_is_refused() {
    let home = Home::new();
    std::fs::create_dir(home.path()).unwrap();
    std::fs::write(home.path().join("thesis.doc"), "important").unwrap();
    let before = tree(home.beside());
    for args in [&["list"][..], &["record", "--new"], &["verify"], &["demo"], &[]] {
        let (code, error) = home.feed(&[args, &["--json"]].concat(), "").error();
        assert_eq!((code, &error["kind"]), (1, &json!("NotAStore")), "{args:?}");
    }
    assert_eq!(tree(home.beside()), before);

    let file = home.beside().join("file");
    std::fs::write(&file, "text").unwrap();
    let told = home.run(&["list", "--data-dir", file.to_str().unwrap()]);
    assert!(told.code == 1 && told.err.contains("it is a file") && told.err.contains("\nhint: "), "{told:?}");
    assert_eq!(std::fs::read(&file).unwrap(), b"text");
}

/// The program as somebody who may read the home and not write it, even where the tests run as root.
fn as_nobody(home: &Home, args: &[&str]) -> Command {
    let program = home.beside().join("annals");
    if !program.exists() {
        std::fs::copy(env!("CARGO_BIN_EXE_annals"), &program).unwrap();
    }
    let ours = home.command(args);
    let mut command = Command::new(program);
    command.env_clear().envs(ours.get_envs().filter_map(|(k, v)| Some((k, v?)))).args(args).current_dir("/");
    if std::fs::metadata(home.beside()).unwrap().uid() == 0 {
        command.uid(65534).gid(65534);
    }
    command
}

#[test]
fn a_home_that_may_not_be_written_is_told() {
    let home = Home::new();
    home.record("chat", &[prompt("a")]);
    let set = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let paths = tree(&home.path());
    paths.iter().for_each(|p| set(p, if p.is_dir() { 0o555 } else { 0o444 }));
    set(&home.path(), 0o555);
    set(home.beside(), 0o755);

    for args in
        [&["record", "other", "--json"][..], &["record", "chat", "--json"], &["record", "--new", "--json"]]
    {
        let (code, error) = Said::of(as_nobody(&home, args).output().unwrap()).error();
        assert_eq!((code, &error["kind"]), (1, &json!("Denied")), "{args:?}: {error}");
    }
    for args in [&["list"][..], &["show", "chat"], &["verify"]] {
        Said::of(as_nobody(&home, args).output().unwrap()).ok();
    }
    assert_eq!(tree(&home.path()), paths);
    let all = paths.iter().chain([&home.path()]).cloned().collect::<Vec<_>>();
    all.iter().filter(|p| p.is_dir()).for_each(|p| set(p, 0o755));
}

/// A whole log whose first event names a format that is not known yet.
fn from_the_future() -> Vec<u8> {
    let mut log = Vec::new();
    let place = Place { seq: 0, durable: None, prev: 0 };
    let ts = Timestamp::parse("2031-01-01T00:00:00Z").unwrap();
    encode(&mut log, place, &Draft { ts, turn: None, kind: "session_started", data: "{\"format\":99}" });
    log
}

#[test]
fn a_log_from_the_future_is_told_and_left_alone() {
    let home = Home::new();
    home.record("today", &[prompt("a")]);
    home.write_log("future", &from_the_future());
    let (code, error) = home.feed(&["record", "future", "--json"], format!("{}\n", prompt("a"))).error();
    assert_eq!((code, &error["kind"]), (1, &json!("Newer")));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("format 99") && error["hint"].as_str().unwrap().contains("update"), "{error}");
    assert_eq!(home.log("future"), from_the_future());
    let all = home.run(&["list", "--json"]).ok().json();
    assert_eq!(all["total"], 2);
    assert!(all["sessions"].as_array().unwrap().iter().any(|s| s["id"] == "today"), "{all}");
    let verified = home.run(&["verify", "--json"]);
    assert!(verified.json()["checked"].as_u64() >= Some(1), "{verified:?}");
}

#[test]
fn a_log_of_rubbish_harms_nobody() {
    let home = Home::new();
    home.record("sound", &[prompt("a")]);
    let rubbish: [(&str, Vec<u8>); 4] = [
        ("text", b"hello\nworld\n".to_vec()),
        ("nuls", vec![0; 100_000]),
        ("bytes", (0..50_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()),
        ("line", vec![b'{'; 3_000_000]),
    ];
    for (id, bytes) in &rubbish {
        home.write_log(id, bytes);
    }
    let list = home.list();
    assert_eq!((&list["total"], list["sessions"].as_array().unwrap().len()), (&json!(5), 1));
    let hidden: u64 = list["hidden"].as_array().unwrap().iter().map(|h| h["count"].as_u64().unwrap()).sum();
    assert_eq!(hidden, 4);
    for (id, bytes) in &rubbish {
        for args in
            [&["show", id][..], &["show", id, "--events"], &["verify", id], &["resume", id, "--print"]]
        {
            home.run(args);
        }
        assert_eq!(&home.log(id), bytes);
    }
}

#[test]
fn a_session_that_is_a_file_or_a_link_harms_nobody() {
    let home = Home::new();
    home.record("sound", &[prompt("a")]);
    std::fs::write(home.path().join("sessions/file"), "x").unwrap();
    std::os::unix::fs::symlink("/", home.path().join("sessions/link")).unwrap();
    std::fs::create_dir(home.path().join("sessions/empty")).unwrap();
    let list = home.list();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1, "{list}");
    home.run(&["verify", "sound"]).ok();
    for id in ["file", "empty"] {
        let (code, error) = home.run(&["show", id, "--json"]).error();
        assert_eq!(code, 1, "{id}: {error}");
    }
}
