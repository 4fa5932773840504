//! `annals demo`: a sample conversation through the real paths, killed in the middle of a tool call.
//!
//! The recorder is this very program in a process of its own, and the kill is a real one: nothing is told beforehand, nothing is cleaned up.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};

use annals::model::SessionId;
use annals::model::fold::Fate;
use annals::record::{Answer, record};
use annals::{Found, Store};
use serde_json::{Value, json};

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
    let store = context.store("demo")?;
    let mut out = talk(context);

    step(&mut *out, "An agent records its session through `annals record`, and waits for each answer:")?;
    let (mut child, id, acknowledged) = record_until_the_call(context)?;
    writeln!(
        out,
        "  session {id}: {} acknowledged, the last one says that the tool began.",
        output::count(acknowledged, "event")
    )?;

    step(&mut *out, "It is killed in the middle of that tool call (SIGKILL, no goodbye):")?;
    child
        .kill()
        .and_then(|()| child.wait())
        .map_err(|e| failed(format!("the recorder can't be killed: {e}")))?;
    let found = count_events(&store, &id)?;
    if found < acknowledged {
        return Err(failed(format!("{acknowledged} events were acknowledged, {found} are there")));
    }
    writeln!(out, "  {acknowledged} acknowledged, {found} in the log: nothing is lost.")?;

    step(&mut *out, "Reopened, the session knows what was going on:")?;
    let open_calls = store.replay(&id)?.state.open_calls();
    for call in &open_calls {
        let fate = match call.fate {
            Fate::NotStarted => "had not started: it is safe to run",
            Fate::OutcomeUnknown => "had begun, its outcome is unknown: look before running it again",
        };
        writeln!(out, "  the {} call {} {fate}.", call.name, call.id)?;
    }

    step(&mut *out, "The agent comes back, looks, and finishes:")?;
    finish(&store, &id, &mut *out)?;
    let report = store.verify(&id)?;
    if !report.problems.is_empty() {
        return Err(failed("the session does not verify"));
    }
    let report = report.report;
    writeln!(
        out,
        "  closed and verified: {}, {}, no damage.\n",
        output::count(report.events, "event"),
        output::count(report.seals, "seal")
    )?;
    // Dropped before others write to stdout.
    drop(out);
    if context.json {
        let answer = json!({
            "schema_version": 1, "session": id, "acknowledged": acknowledged, "found": found,
            "open_calls": open_calls, "events": report.events,
        });
        writeln!(std::io::stdout().lock(), "{}", output::json_line(&answer)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    super::list::run(context, &crate::args::ListArgs { limit: 5, ..Default::default() })?;
    last_words(&store, &id)?;
    Ok(ExitCode::SUCCESS)
}

/// Where the story is told: to people only.
fn talk(context: &Context) -> Box<dyn Write> {
    if context.json { Box::new(std::io::sink()) } else { Box::new(anstream::stdout().lock()) }
}

/// Goes on with the session as its agent would, and closes it.
fn finish(store: &Store, id: &SessionId, out: &mut dyn Write) -> Result<()> {
    let (session, opening) = store.open_writer(id)?;
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
    Ok(())
}

fn last_words(store: &Store, id: &SessionId) -> Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "\nIts last words:")?;
    let entries = store.replay(id)?.state.transcript.entries();
    for entry in entries.iter().skip(entries.len().saturating_sub(2)) {
        for line in output::plain(&entry.text).lines() {
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
    Ok(())
}

fn step(out: &mut dyn Write, text: &str) -> Result<()> {
    let bold = anstyle::Style::new().bold();
    writeln!(out, "{bold}{text}{bold:#}")?;
    Ok(())
}

/// Starts the recorder and feeds it until the tool has begun. Returns how many events are acknowledged, the session's start among them.
fn record_until_the_call(context: &Context) -> Result<(Child, SessionId, u64)> {
    let trouble = |e: std::io::Error| failed(format!("the recorder can't be run: {e}"));
    let program = std::env::current_exe().map_err(trouble)?;
    let mut command = Command::new(program);
    if context.settings()?.allow_network_fs.value {
        command.arg("--allow-network-fs");
    }
    let mut child = command
        .args(["record", "--new", "--json", "--data-dir"])
        .arg(context.home()?)
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
    Ok((child, id, last + 1))
}

fn count_events(store: &Store, id: &SessionId) -> Result<u64> {
    let mut reader = store.read(id)?;
    let mut events = 0;
    while let Some(found) = reader.next_found()? {
        events += u64::from(matches!(found, Found::Event(_)));
    }
    Ok(events)
}
