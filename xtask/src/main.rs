//! `cargo xtask ci`: everything that must hold. `cargo xtask check`: only the quick checks of the tree.

mod check;

use std::process::{Command, ExitCode};
use std::time::Instant;

/// One step of CI: its name, program, arguments and environment.
struct Step {
    name: &'static str,
    line: &'static str,
    env: &'static [(&'static str, &'static str)],
}

const STEPS: &[Step] = &[
    Step { name: "format", line: "cargo fmt --all --check", env: &[] },
    Step {
        name: "clippy",
        line: "cargo clippy --workspace --all-targets --all-features --locked -- -D warnings",
        env: &[],
    },
    Step {
        name: "tests",
        line: "cargo nextest run --workspace --all-features --locked -E not(binary(crash))",
        env: &[],
    },
    Step { name: "doc tests", line: "cargo test --workspace --doc --locked", env: &[] },
    Step {
        name: "docs",
        line: "cargo doc --workspace --lib --no-deps --locked",
        env: &[("RUSTDOCFLAGS", "-D warnings")],
    },
    Step { name: "program", line: "cargo build --release --locked -p annals-cli", env: &[] },
    Step { name: "real faults", line: "python3 scripts/faults.py target/release/annals", env: &[] },
    Step {
        name: "crash suite",
        line: "cargo test --profile proof --locked -p annals-log --features seeded-bugs --test crash -- --nocapture --test-threads=2",
        env: &[("ANNALS_CRASH_STATES", "1000000")],
    },
];

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    let done = match task.as_str() {
        "ci" => ci(),
        "check" => check::run(),
        _ => Err("usage: cargo xtask ci | check".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("\nFAILED: {why}");
            ExitCode::FAILURE
        }
    }
}

fn ci() -> Result<(), String> {
    let start = Instant::now();
    check::run()?;
    for step in STEPS {
        eprintln!("\n== {}: {}", step.name, step.line);
        let mut words = step.line.split(' ');
        let program = words.next().unwrap_or_default();
        let mut args: Vec<&str> = words.collect();
        // A machine without nextest runs the same tests the plain way.
        if args.first() == Some(&"nextest") && !has_nextest() {
            args = vec!["test", "--workspace", "--locked", "--lib", "--bins", "--test", "it"];
        }
        let began = Instant::now();
        let status = Command::new(program).args(args).envs(step.env.iter().copied()).status();
        match status {
            Ok(status) if status.success() => {
                eprintln!("== {}: {:.0} s", step.name, began.elapsed().as_secs_f64())
            }
            Ok(status) => return Err(format!("{}: {status}", step.name)),
            Err(e) => return Err(format!("{}: {program} can't be run: {e}", step.name)),
        }
    }
    eprintln!("\nAll of it passed in {:.0} s.", start.elapsed().as_secs_f64());
    Ok(())
}

fn has_nextest() -> bool {
    Command::new("cargo").args(["nextest", "--version"]).output().is_ok_and(|out| out.status.success())
}
