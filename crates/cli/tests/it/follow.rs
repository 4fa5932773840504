//! `annals show --follow`: a live session, read without its lock.

use crate::support::{Home, Talk, answer, prompt};

#[test]
fn a_follower_sees_what_a_live_recorder_appends() {
    let home = Home::new();
    let mut recorder = home.recorder(&["chat"]);
    recorder.append(&prompt("first"));
    let follower = Talk::start(home.command(&["show", "chat", "--follow", "--events", "--json"]));
    let seq = |line: String| serde_json::from_str::<serde_json::Value>(&line).unwrap()["seq"].clone();
    assert_eq!([seq(follower.line()), seq(follower.line())], [0, 1]);
    for n in 2..6 {
        assert_eq!(recorder.append(&answer("more")), n);
        assert_eq!(seq(follower.line()), n);
    }
    recorder.kill();
    // The next writer goes on in the same file.
    home.record("chat", &[prompt("after the kill")]);
    assert!(follower.line().contains("after the kill"));
    let log = String::from_utf8(home.log("chat")).unwrap();
    assert_eq!(follower.line(), log.lines().nth(7).unwrap(), "byte for byte");
}

#[test]
fn people_follow_the_conversation() {
    let home = Home::new();
    let mut recorder = home.recorder(&["chat"]);
    recorder.append(&prompt("What is 1 + 1?"));
    let follower = Talk::start(home.command(&["show", "chat", "--follow"]));
    while follower.line() != "What is 1 + 1?" {}
    recorder.append(&answer("Two."));
    while follower.line() != "Two." {}
}
