//! `annals demo`: a sample conversation through the real paths, killed in the middle of a tool call.
//!
//! The recorder is this very program in a process of its own, and the kill is a real one: nothing is told beforehand, nothing is cleaned up.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};

use annals::model::SessionId;
use annals::model::fold::Fate;
use annals::record::{Answer, record};
use annals::{Found, Store};
use serde_json::Value;

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::output;

/// The conversation up to the kill: the last call is under way.
const BEFORE: &str = include_str!("../../demo/before.jsonl");
/// What the agent does once it is back.
const AFTER: &str = include_str!("../../demo/after.jsonl");

fn failed(message: impl Into<String>) -> Failure {
    Failure::Other {
        kind: "Demo",
        message: message.into(),
        hint: "run it again with another --data-dir".to_owned(),
    }
}

pub(crate) fn run(context: &Context) -> Result<ExitCode> {
    let mut out = anstream::stdout().lock();
    let home = context.home()?;
    let store = context.store("demo")?;

    step(&mut out, "An agent records its session through `annals record`, and waits for each answer:")?;
    let (mut child, id, acknowledged) = record_until_the_call(&home)?;
    writeln!(
        out,
        "  session {id}: {} acknowledged, the last one says that the tool began.",
        output::count(acknowledged + 1, "event")
    )?;

    step(&mut out, "It is killed in the middle of that tool call (SIGKILL, no goodbye):")?;
    child
        .kill()
        .and_then(|()| child.wait())
        .map_err(|e| failed(format!("the recorder can't be killed: {e}")))?;
    let found = count_events(&store, &id)?;
    writeln!(out, "  {} acknowledged, {} in the log: nothing is lost.", acknowledged + 1, found)?;
    if found < acknowledged + 1 {
        return Err(failed(format!("{} events were acknowledged, {found} are there", acknowledged + 1)));
    }

    step(&mut out, "Reopened, the session knows what was going on:")?;
    let replay = store.replay(&id)?;
    for call in replay.state.open_calls() {
        let fate = match call.fate {
            Fate::NotStarted => "had not started: it is safe to run",
            Fate::OutcomeUnknown => "had begun, its outcome is unknown: look before running it again",
        };
        writeln!(out, "  the {} call {} {fate}.", call.name, call.id)?;
    }

    step(&mut out, "The agent comes back, looks, and finishes:")?;
    let (session, opening) = store.open_writer(&id)?;
    if let Some(repair) = opening.repair {
        writeln!(
            out,
            "  ({} of an unfinished event were cut off and kept aside.)",
            output::count(repair.dropped_bytes, "byte")
        )?;
    }
    let lines: Vec<&[u8]> = AFTER.lines().map(str::as_bytes).collect();
    for answer in record(&session, &lines) {
        if let Answer::Rejected(error) = answer {
            return Err(error.into());
        }
    }
    session.close()?;

    let verification = store.verify(&id)?;
    if !verification.problems.is_empty() {
        return Err(failed("the session does not verify"));
    }
    let report = &verification.report;
    writeln!(
        out,
        "  closed and verified: {}, {}, no damage.\n",
        output::count(report.events, "event"),
        output::count(report.seals, "seal")
    )?;
    drop(out);

    super::list::run(context, &crate::args::ListArgs { limit: 5 })?;
    let mut out = anstream::stdout().lock();
    writeln!(out, "\nIts last words:")?;
    let entries = replay_entries(&store, &id)?;
    for entry in entries.iter().rev().take(2).rev() {
        for line in output::plain(entry).lines() {
            writeln!(out, "  {line}")?;
        }
        writeln!(out)?;
    }
    writeln!(out, "It is yours to play with:")?;
    writeln!(out, "  annals show {id}")?;
    writeln!(out, "  annals show {id} --events")?;
    writeln!(out, "  annals resume {id} --print")?;
    writeln!(
        out,
        "  echo '{{\"kind\":\"user_message\",\"data\":{{\"kind\":\"prompt\",\"text\":\"hello\"}}}}' | annals record {id}"
    )?;
    Ok(ExitCode::SUCCESS)
}

fn step(out: &mut dyn Write, text: &str) -> Result<()> {
    let bold = anstyle::Style::new().bold();
    writeln!(out, "{bold}{text}{bold:#}")?;
    Ok(())
}

/// Starts the recorder and feeds it until the tool has begun. Returns the last acknowledged position.
fn record_until_the_call(home: &std::path::Path) -> Result<(Child, SessionId, u64)> {
    let trouble = |e: std::io::Error| failed(format!("the recorder can't be run: {e}"));
    let program = std::env::current_exe().map_err(trouble)?;
    let mut child = Command::new(program)
        .args(["record", "--new", "--json", "--data-dir"])
        .arg(home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(trouble)?;
    let (Some(mut input), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(failed("the recorder has no pipes"));
    };
    let mut answers = BufReader::new(answers).lines();
    let mut next = || -> Result<Value> {
        let line = answers.next().ok_or_else(|| failed("the recorder stopped"))?.map_err(trouble)?;
        Ok(serde_json::from_str(&line)?)
    };
    let id = next()?;
    let id =
        id.get("session").and_then(Value::as_str).ok_or_else(|| failed(format!("the recorder says {id}")))?;
    let id = SessionId::parse(id).map_err(annals::Error::from)?;
    let mut last = 0;
    for line in BEFORE.lines() {
        writeln!(input, "{line}").and_then(|()| input.flush()).map_err(trouble)?;
        let answer = next()?;
        last = answer
            .get("seq")
            .and_then(Value::as_u64)
            .ok_or_else(|| failed(format!("the recorder says {answer}")))?;
    }
    // The pipe stays open until the kill: its end would be a goodbye.
    std::mem::forget(input);
    Ok((child, id, last))
}

fn count_events(store: &Store, id: &SessionId) -> Result<u64> {
    let mut reader = store.read(id)?;
    let mut events = 0;
    while let Some(found) = reader.next_found()? {
        events += u64::from(matches!(found, Found::Event(_)));
    }
    Ok(events)
}

fn replay_entries(store: &Store, id: &SessionId) -> Result<Vec<String>> {
    let entries = store.replay(id)?.state.transcript.entries();
    Ok(entries.into_iter().map(|e| e.text).collect())
}
