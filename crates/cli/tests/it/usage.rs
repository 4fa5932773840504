//! Arguments, help, completions, manual pages, and where sessions lie.

use crate::support::{Home, Said, prompt};

#[test]
fn version_and_help_are_data() {
    let home = Home::new();
    let version = home.run(&["--version"]).ok();
    assert_eq!(version.out, format!("annals {}\n", env!("CARGO_PKG_VERSION")));
    let help = home.run(&["--help"]).ok();
    for word in
        ["import", "list", "show", "resume", "record", "verify", "repair", "demo", "completions", "man"]
    {
        assert!(help.out.contains(&format!("\n  {word}")), "{word} is not in\n{}", help.out);
        assert!(home.run(&[word, "--help"]).ok().out.contains("Usage: annals"), "{word}");
    }
    assert!(help.out.contains("Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a limit"), "{}", help.out);
}

#[test]
fn wrong_usage_is_exit_2() {
    let home = Home::new();
    let wrong: [&[&str]; 8] = [
        &["nothing"],
        &["list", "--no-such-flag"],
        &["list", "-n", "many"],
        &["show"],
        &["import", "--from", "no-agent"],
        &["record", "chat", "--new"],
        &["record", "--durability", "perhaps"],
        &["--data-dir", "", "list"],
    ];
    for args in wrong {
        let told = home.run(args);
        assert_eq!((told.code, told.out.as_str()), (2, ""), "{args:?}: {told:?}");
        assert!(told.err.starts_with("error: "), "{args:?}: {told:?}");
        let (code, error) = home.run(&[args, &["--json"]].concat()).error();
        assert_eq!((code, error["kind"].as_str()), (2, Some("Usage")), "{args:?}");
        assert!(!home.path().exists(), "{args:?}");
    }
}

#[test]
fn a_workspace_that_is_not_there_begins_nothing() {
    let home = Home::new();
    let (code, error) = home.run(&["record", "--workspace", "no/such", "--json"]).error();
    assert_eq!((code, error["kind"].as_str()), (1, Some("Io")), "{error}");
    assert!(!home.path().exists());
}

#[test]
fn every_shell_has_completions_and_every_command_a_page() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = home.run(&["completions", shell]).ok().out;
        assert!(script.contains("repair") && script.contains("durability"), "{shell}");
    }
    assert!(home.run(&["man"]).ok().out.contains(".TH annals"));
    let dir = home.beside().join("pages");
    home.run(&["man", dir.to_str().unwrap()]).ok();
    for page in ["annals.1", "annals-record.1", "annals-show.1", "annals-verify.1"] {
        assert!(std::fs::read_to_string(dir.join(page)).unwrap().contains(".TH"), "{page}");
    }
    assert!(!home.path().exists());
}

/// The option beats the variable beats the platform's directory.
#[test]
fn the_data_directory_is_chosen_in_order() {
    let home = Home::new();
    let at = |dir: &str| home.beside().join(dir).join("sessions/chat").exists();
    let record = |command: &mut std::process::Command| {
        let mut child =
            command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), format!("{}\n", prompt("a")).as_bytes())
            .unwrap();
        Said::at_the_end_of(child).ok();
    };
    record(&mut home.command(&["record", "chat", "--data-dir", "option"]));
    assert!(at("option") && !home.path().exists());
    record(&mut home.command(&["record", "chat"]));
    assert!(at("home"));
    if cfg!(target_os = "linux") {
        record(
            home.command(&["record", "chat"])
                .env_remove("ANNALS_HOME")
                .env("XDG_DATA_HOME", home.beside().join("xdg")),
        );
        assert!(at("xdg/annals"));
        record(home.command(&["record", "chat"]).env("ANNALS_HOME", ""));
        assert!(at(".local/share/annals"));
    }
}

#[test]
fn bare_annals_says_what_there_is_and_what_to_do() {
    let home = Home::new();
    let empty = home.run(&[]).ok().out;
    assert!(empty.contains(home.path().to_str().unwrap()) && empty.contains("annals import"), "{empty}");
    home.record("chat", &[prompt("Fix the parser")]);
    let status = home.run(&[]).ok().out;
    assert!(status.contains("1 session, the newest just now: Fix the parser"), "{status}");
    assert_eq!(home.run(&["--json"]).ok().json()["sessions"], 1);
}
