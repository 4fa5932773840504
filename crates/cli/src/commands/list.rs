//! `annals list`.

use std::io::Write;
use std::process::ExitCode;

use annals::model::Clock;
use annals::{Filter, Hidden, ListQuery, Listing, Summary};
use serde_json::json;

use crate::args::ListArgs;
use crate::context::{Context, SystemClock};
use crate::error::Result;
use crate::output::{self, Table};
use crate::scope;

pub(crate) fn run(context: &Context, args: &ListArgs) -> Result<ExitCode> {
    let snapshots = if args.snapshots { Some(true) } else { args.no_snapshots.then_some(false) };
    let filter = Filter { title: args.title.clone(), snapshots, ..scope::filter(&args.filter)? };
    let is_filtered = !filter.is_empty();
    let store = context.store("list")?;
    let listing = store.list_of(&ListQuery { filter, skip: args.skip, limit: args.limit })?;
    context.notices(&store);
    if context.json {
        let answer = json!({
            "schema_version": 1,
            "sessions": listing.sessions,
            "total": listing.total,
            "returned": listing.sessions.len(),
            "hidden": listing.hidden,
        });
        writeln!(std::io::stdout().lock(), "{}", output::json_line(&answer)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if listing.sessions.is_empty() && (is_filtered || listing.total > 0) {
        context.note("No session is like that.");
    } else if listing.sessions.is_empty() {
        context.note("No sessions. `annals import` brings in those of Claude Code; `annals demo` makes one.");
    } else {
        write(context, &listing)?;
    }
    say_hidden(context, &listing.hidden);
    Ok(ExitCode::SUCCESS)
}

fn write(context: &Context, listing: &Listing) -> Result<()> {
    let now = SystemClock.now();
    let mut table = Table::new(&["ID", "TITLE", "STATUS", "EVENTS", "UPDATED"], 1);
    for session in &listing.sessions {
        table.row(&[
            session.id.to_string(),
            title(session),
            if session.snapshot.is_some() { "snapshot" } else { session.status }.to_owned(),
            session.events.to_string(),
            session.updated.map(|t| output::ago(t, now)).unwrap_or_default(),
        ]);
    }
    let mut text = Vec::new();
    table.write(&mut text, output::width(context))?;
    output::page(context, &String::from_utf8_lossy(&text), true)
}

/// A session's title; a snapshot's name before it.
fn title(session: &Summary) -> String {
    let title = session.title.as_deref().unwrap_or("(untitled)");
    match &session.snapshot {
        Some(name) => format!("[{name}] {title}"),
        None => title.to_owned(),
    }
}

/// Says what a list leaves out: no silent filter.
pub(crate) fn say_hidden(context: &Context, hidden: &[Hidden]) {
    if hidden.is_empty() {
        return;
    }
    let reasons: Vec<String> = hidden
        .iter()
        .map(|h| match h.reason.as_str() {
            "unfinished" => format!("{} never begun (its creation was cut short)", h.count),
            "damaged" => format!("{} damaged from the first event on", h.count),
            "limit" => format!("{} more (-n, --skip)", h.count),
            "filtered" => format!("{} that are not like that", h.count),
            other => format!("{} {other}", h.count),
        })
        .collect();
    context.note(&format!("Not shown: {}.", reasons.join(", ")));
}
