//! `annals list`.

use std::io::Write;
use std::process::ExitCode;

use annals::model::Clock;
use annals::{Hidden, ListQuery, Listing};
use serde_json::json;

use crate::args::ListArgs;
use crate::context::{Context, SystemClock};
use crate::error::Result;
use crate::output::{self, Table};

pub(crate) fn run(context: &Context, args: &ListArgs) -> Result<ExitCode> {
    let query = ListQuery { limit: args.limit as u64, ..ListQuery::default() };
    let listing = context.store("list")?.list_of(&query)?;
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
    if listing.sessions.is_empty() {
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
            session.title.clone().unwrap_or_else(|| "(untitled)".to_owned()),
            session.status.to_owned(),
            session.events.to_string(),
            session.updated.map(|t| output::ago(t, now)).unwrap_or_default(),
        ]);
    }
    let mut text = Vec::new();
    table.write(&mut text, output::width(context))?;
    output::page(context, &String::from_utf8_lossy(&text), true)
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
            "limit" => format!("{} more", h.count),
            other => format!("{} {other}", h.count),
        })
        .collect();
    context.note(&format!("Not shown: {}.", reasons.join(", ")));
}
