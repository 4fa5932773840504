//! Claude Code's sessions taken in and indexed, and taken in again when nothing changed.

use std::path::Path;
use std::process::Command;

use annals::import::Quiet;
use annals::interop::claude_code::{Environment, discover};

use super::{corpus, cpu_seconds, made, open, process, timed};

pub fn run(dir: &Path, program: Option<&Path>) {
    let source = made(dir, "claude-95m", |place| {
        corpus::claude_code(place, &corpus::Pool::read(), 95_000_000, 600_000);
    });
    println!("\n## Import of 95 MB of Claude Code sessions");
    for round in 0..3 {
        let home = dir.join("import-home");
        let _ = std::fs::remove_dir_all(&home);
        if let Some(program) = program {
            let cpu = cpu_seconds();
            let (ms, peak) = timed(|| peak_of(program, &home, &["import", &source.display().to_string()]));
            let imported = cpu_seconds() - cpu;
            let (text, peak_text) = timed(|| peak_of(program, &home, &["search", "--everything", "zzzz"]));
            println!(
                "import {ms:.0} ms, {imported:.2} CPU-seconds, {peak} MiB; with search indexes {:.0} ms, {:.2} CPU-seconds, {peak_text} MiB",
                ms + text, cpu_seconds() - cpu
            );
        } else {
            let store = open(&home);
            let found = discover(Some(&source), &Environment::default()).expect("files");
            let cpu = cpu_seconds();
            let (ms, _) = timed(|| store.import(&found, &mut Quiet));
            let imported = cpu_seconds() - cpu;
            let (text, ()) = timed(|| store.update_index(true, &mut Quiet).expect("an index"));
            println!("import {ms:.0} ms, {imported:.2} CPU-seconds; search indexes {text:.0} ms, {:.2} CPU-seconds", cpu_seconds() - cpu - imported);
        }
        if round == 2 {
            println!("{}", super::sizes(&open(&home)));
        }
    }
}

/// Runs the program; its peak memory in MiB.
fn peak_of(program: &Path, home: &Path, args: &[&str]) -> u64 {
    let done = Command::new("/usr/bin/env")
        .args(["python3", "-c", "import subprocess,resource,sys; r=subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss//1024); sys.exit(r.returncode)"])
        .arg(program)
        .args(args)
        .env("ANNALS_HOME", home)
        .output()
        .expect("python3");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).trim().parse().unwrap_or(0)
}

/// 20,000 files in which nothing is new.
pub fn noop(dir: &Path, program: Option<&Path>) {
    let source = made(dir, "claude-20k", |place| {
        corpus::claude_code(place, &corpus::Pool::read(), 20_000 * 3_000, 1);
    });
    let home = made(dir, "claude-20k-home", |home| {
        let found = discover(Some(&source), &Environment::default()).expect("files");
        open(home).import(&found, &mut Quiet);
    });
    println!("\n## Import in which nothing is new");
    let found = discover(Some(&source), &Environment::default()).expect("files");
    println!("{} files", found.files.len());
    println!("in process: {}", super::times(11, || {
        let found = discover(Some(&source), &Environment::default()).expect("files");
        let done = open(&home).import(&found, &mut Quiet);
        assert_eq!(done.imported, 0);
    }));
    if let Some(figure) = process(program, &home, &["import", &source.display().to_string()]) {
        println!("whole process: {figure}");
    }
}
