//! `annals trash`.

use std::io::Write;
use std::process::ExitCode;

use annals::model::{Clock, Timestamp};
use annals::{Store, TrashEntry};
use serde_json::json;

use crate::args::{TrashArgs, TrashCommand};
use crate::context::{Context, SystemClock};
use crate::error::Result;
use crate::output::{self, Table};

pub(crate) fn run(context: &Context, args: &TrashArgs) -> Result<ExitCode> {
    let store = context.store("trash")?;
    match &args.command {
        None | Some(TrashCommand::List) => list(context, &store),
        Some(TrashCommand::Restore { sessions }) => restore(context, &store, sessions),
        Some(TrashCommand::Empty { older_than, yes }) => empty(context, &store, *older_than, *yes),
    }
}

fn list(context: &Context, store: &Store) -> Result<ExitCode> {
    let entries = store.trash()?;
    if context.json {
        let answer = json!({"schema_version": 1, "sessions": entries});
        writeln!(std::io::stdout().lock(), "{}", output::json_line(&answer)?)?;
    } else if entries.is_empty() {
        context.note("The trash is empty.");
    } else {
        show(context, &entries)?;
        context.note("`annals trash restore ID` brings one back, `annals trash empty` deletes for good.");
    }
    Ok(ExitCode::SUCCESS)
}

fn show(context: &Context, entries: &[TrashEntry]) -> Result<()> {
    let now = SystemClock.now();
    let mut table = Table::new(&["ID", "TITLE", "EVENTS", "SIZE", "DELETED"], 1);
    for entry in entries {
        table.row(&[
            entry.session.to_string(),
            entry.title.clone().unwrap_or_else(|| "(untitled)".to_owned()),
            entry.events.to_string(),
            output::size(entry.len_bytes),
            output::ago(entry.deleted, now),
        ]);
    }
    let mut text = Vec::new();
    table.write(&mut text, output::width(context))?;
    output::page(context, &String::from_utf8_lossy(&text), true)
}

fn restore(context: &Context, store: &Store, sessions: &[String]) -> Result<ExitCode> {
    let mut restored = Vec::new();
    for wanted in sessions {
        restored.push(store.restore(wanted)?);
    }
    let mut out = anstream::stdout().lock();
    if context.json {
        writeln!(out, "{}", output::json_line(&json!({"restored": restored}))?)?;
    } else {
        for id in &restored {
            writeln!(out, "{id}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn empty(context: &Context, store: &Store, before: Option<Timestamp>, yes: bool) -> Result<ExitCode> {
    let entries = if yes {
        store.empty_trash(before)?
    } else {
        let mut entries = store.trash()?;
        entries.retain(|entry| before.is_none_or(|before| entry.deleted < before));
        entries
    };
    let bytes: u64 = entries.iter().map(|entry| entry.len_bytes).sum();
    if context.json {
        let answer = json!({"schema_version": 1, "sessions": entries, "len_bytes": bytes, "done": yes});
        writeln!(std::io::stdout().lock(), "{}", output::json_line(&answer)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !entries.is_empty() {
        show(context, &entries)?;
    }
    let what = if yes { "deleted for good" } else { "would be deleted for good" };
    let count = output::count(entries.len() as u64, "session");
    writeln!(anstream::stdout().lock(), "{count} {what}, {}.", output::size(bytes))?;
    if !yes && !entries.is_empty() {
        context.note("Nothing was changed. Add --yes to do it; it can't be undone.");
    }
    Ok(ExitCode::SUCCESS)
}
