//! `annals demo`: the main job through the real paths.

use crate::support::Home;

#[test]
fn the_demo_loses_nothing_and_leaves_its_session() {
    let home = Home::new();
    let told = home.run(&["demo"]).ok();
    assert_eq!(told.err, "");
    let at = |text: &str| told.out.find(text).unwrap_or_else(|| panic!("{text:?} is not in\n{}", told.out));
    let story = [
        "21 events acknowledged",
        "21 acknowledged, 21 in the log",
        "outcome is unknown",
        "closed and verified",
        "Its last words",
    ];
    assert!(story.map(at).is_sorted(), "{}", told.out);

    // The commands that it prints work.
    let id = home.list()["sessions"][0]["id"].as_str().unwrap().to_owned();
    for line in told.out.lines().filter_map(|l| l.strip_prefix("  annals ")) {
        assert!(line.contains(&id), "{line}");
        let said = home.run(&line.split(' ').collect::<Vec<_>>()).ok();
        assert!(!said.out.is_empty(), "{line}");
    }
    home.run(&["verify", "--json"]).ok();
    assert_eq!(home.events(&id).last().unwrap()["kind"], "closed");
}

#[test]
fn the_demo_can_be_run_again_and_by_programs() {
    let home = Home::new();
    home.run(&["demo"]).ok();
    let again = home.run(&["demo", "--json"]).ok().json();
    assert_eq!(
        (&again["acknowledged"], &again["found"], &again["schema_version"]),
        (&21.into(), &21.into(), &1.into())
    );
    assert_eq!(again["open_calls"][0]["fate"], "outcome_unknown");
    assert_eq!(home.list()["total"], 2);
}
