//! `annals log` and `annals undo`.

use std::io::Write;
use std::process::ExitCode;

use annals::model::Clock;
use annals::{Action, Operation, Outcome};
use serde_json::json;

use crate::args::{LogArgs, UndoArgs};
use crate::context::{Context, SystemClock};
use crate::error::Result;
use crate::output::{self, Table, plain};

pub(crate) fn log(context: &Context, args: &LogArgs) -> Result<ExitCode> {
    let mut operations = context.store("log")?.operations()?;
    operations.reverse();
    let total = operations.len();
    if args.limit > 0 {
        operations.truncate(args.limit);
    }
    if context.json {
        let answer = json!({
            "schema_version": 1, "total": total, "returned": operations.len(), "operations": operations,
        });
        writeln!(std::io::stdout().lock(), "{}", output::json_line(&answer)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if operations.is_empty() {
        context.note("Nothing was done to sessions yet.");
        return Ok(ExitCode::SUCCESS);
    }
    let now = SystemClock.now();
    let mut table = Table::new(&["OP", "WHEN", "WHAT", "", "OUTCOME"], 3);
    for operation in &operations {
        table.row(&[
            operation.number.to_string(),
            output::ago(operation.time, now),
            operation.action.name().to_owned(),
            describe(&operation.action),
            outcome(operation.outcome).to_owned(),
        ]);
    }
    let mut text = Vec::new();
    table.write(&mut text, output::width(context))?;
    output::page(context, &String::from_utf8_lossy(&text), true)?;
    if total > operations.len() {
        context.note(&format!("{} more; -n 0 shows all.", total - operations.len()));
    }
    Ok(ExitCode::SUCCESS)
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Failed => "not done",
        Outcome::Undone => "undone",
        Outcome::Open => "under way",
    }
}

/// What was done, in one line.
fn describe(action: &Action) -> String {
    let title = |title: &Option<String>| title.clone().unwrap_or_else(|| "(untitled)".to_owned());
    match action {
        Action::Fork { session, from, at_seq } => format!("{session} from {from} behind event {at_seq}"),
        Action::Save { name, from, replaced, .. } => {
            let replaced = if replaced.is_some() { ", replacing an older one" } else { "" };
            format!("{from} as {name}{replaced}")
        }
        Action::Rename { session, before, after } => format!("{session}: {} → {after}", title(before)),
        Action::Tag { session, before, after } => {
            format!("{session}: [{}] → [{}]", before.join(" "), after.join(" "))
        }
        Action::Move { session, before, after } => {
            format!("{session}: {} → {after}", before.as_deref().unwrap_or("nowhere"))
        }
        Action::Delete { trashed } | Action::Restore { trashed } => trashed.session.to_string(),
        Action::Empty { trashed } => format!("{} for good", output::count(trashed.len() as u64, "session")),
        Action::Import { new, grown, from } => {
            format!("{} new, {grown} grown, from {from}", output::count(new.len() as u64, "session"))
        }
        Action::Repair { session, .. } => session.to_string(),
        Action::Relink { sessions, before, after } => {
            format!("{}: {before} → {after}", output::count(sessions.len() as u64, "session"))
        }
        Action::Undo { operation } => format!("operation {operation}"),
        _ => String::new(),
    }
}

pub(crate) fn undo(context: &Context, args: &UndoArgs) -> Result<ExitCode> {
    let undone = context.store("undo")?.undo(args.operation)?;
    let Operation { number, action, .. } = &undone.operation;
    let mut out = anstream::stdout().lock();
    if context.json {
        let answer = json!({"undone": undone.operation, "operation": undone.number});
        writeln!(out, "{}", output::json_line(&answer)?)?;
    } else {
        writeln!(out, "Undone: {number} {} {}", action.name(), plain(&describe(action)))?;
    }
    Ok(ExitCode::SUCCESS)
}
