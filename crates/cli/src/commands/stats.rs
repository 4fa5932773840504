//! `annals stats`: what was spent, as a table with a small chart.

use std::io::Write;
use std::process::ExitCode;

use annals::{By, UsageRow};
use serde_json::json;

use crate::args::{StatsArgs, StatsBy};
use crate::context::Context;
use crate::error::Result;
use crate::output::{self, Table};
use crate::scope;

/// How long the longest bar is, in columns.
const BAR: u64 = 16;

pub(crate) fn run(context: &Context, args: &StatsArgs) -> Result<ExitCode> {
    let store = context.store("stats")?;
    // Times are asked of what was spent, not of when a session was last used.
    let filter = annals::Filter { since: None, until: None, ..scope::filter(&args.filter)? };
    let (since, until) = (args.filter.since, args.filter.until);
    let by = match args.by {
        StatsBy::Day => By::Day { zone_hours: zone_hours() },
        StatsBy::Model => By::Model,
        StatsBy::Workspace => By::Workspace,
        StatsBy::Agent => By::Agent,
    };
    let mut rows = store.usage(by, &filter, since, until)?;
    let total = store.usage(By::All, &filter, since, until)?.pop().unwrap_or_default();
    for row in &mut rows {
        row.of = name(args.by, &row.of);
    }
    let all = rows.len();
    if args.limit > 0 && all > args.limit {
        // Of days the last ones, of all else the largest.
        match args.by {
            StatsBy::Day => drop(rows.drain(..all - args.limit)),
            _ => rows.truncate(args.limit),
        }
    }
    if context.json {
        let answer = json!({
            "schema_version": 1,
            "by": format!("{:?}", args.by).to_lowercase(),
            "rows": rows.iter().map(object).collect::<Vec<_>>(),
            "returned": rows.len(),
            "of": all,
            "total": object(&total),
        });
        writeln!(std::io::stdout().lock(), "{}", output::json_line(&answer)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        context.note("Nothing was spent in that time.");
        return Ok(ExitCode::SUCCESS);
    }
    write(context, args.by, &rows, total)?;
    if all > rows.len() {
        context.note(&format!("{} more; -n 0 shows all.", all - rows.len()));
    }
    Ok(ExitCode::SUCCESS)
}

fn write(context: &Context, by: StatsBy, rows: &[UsageRow], total: UsageRow) -> Result<()> {
    let head = match by {
        StatsBy::Day => "DAY",
        StatsBy::Model => "MODEL",
        StatsBy::Workspace => "WORKSPACE",
        StatsBy::Agent => "AGENT",
    };
    let mut table = Table::new(
        &[head, "SESSIONS", "MESSAGES", "CALLS", "INPUT", "CACHED", "WRITTEN", "OUTPUT", "COST", ""],
        if by == StatsBy::Day { 9 } else { 0 },
    );
    let most = rows.iter().map(|row| row.output).max().unwrap_or(0);
    for row in rows {
        table.row(&cells(row, bar(row.output, most)));
    }
    table.row(&cells(&UsageRow { of: "total".to_owned(), ..total }, String::new()));
    let mut text = Vec::new();
    table.write(&mut text, output::width(context))?;
    output::page(context, &String::from_utf8_lossy(&text), true)
}

fn cells(row: &UsageRow, bar: String) -> [String; 10] {
    [
        row.of.clone(),
        row.sessions.to_string(),
        row.messages.to_string(),
        row.calls.to_string(),
        tokens(row.input),
        tokens(row.cached),
        tokens(row.cache_write),
        tokens(row.output),
        cost(row),
        bar,
    ]
}

fn object(row: &UsageRow) -> serde_json::Value {
    json!({
        "of": row.of, "sessions": row.sessions, "messages": row.messages, "calls": row.calls, "input": row.input,
        "cached": row.cached, "cache_write": row.cache_write, "output": row.output, "cost_micros": row.cost_micros,
        "unpriced": row.unpriced,
    })
}

/// What is not priced is not free.
fn cost(row: &UsageRow) -> String {
    let money = format!("${:.2}", row.cost_micros as f64 / 1e6);
    match (row.unpriced, row.cost_micros) {
        (0, 0) => "-".to_owned(),
        (0, _) => money,
        (_, 0) => "not priced".to_owned(),
        (n, _) => format!("{money} + {n} not priced"),
    }
}

fn tokens(count: i64) -> String {
    match count {
        ..10_000 => count.to_string(),
        10_000..10_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// A bar in eighths of a column.
fn bar(value: i64, most: i64) -> String {
    let (value, most) = (u64::try_from(value).unwrap_or(0), u64::try_from(most).unwrap_or(0));
    let eighths = (value.saturating_mul(BAR * 8)).checked_div(most).unwrap_or(0);
    let full = "█".repeat(usize::try_from(eighths / 8).unwrap_or(0));
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    format!("{full}{}", rest.get(usize::try_from(eighths % 8).unwrap_or(0)).unwrap_or(&""))
}

fn name(by: StatsBy, of: &str) -> String {
    match by {
        StatsBy::Day => {
            let days = of.parse::<i64>().unwrap_or(0);
            let date = jiff::Timestamp::from_second(days.saturating_mul(86_400));
            date.map_or_else(|_| of.to_owned(), |date| date.strftime("%Y-%m-%d").to_string())
        }
        _ if of.is_empty() => "(unknown)".to_owned(),
        _ => of.to_owned(),
    }
}

/// The local zone, to the hour.
fn zone_hours() -> i64 {
    i64::from(jiff::ZonedDateTime::now().offset().seconds()).div_euclid(3600)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_priced_is_not_free() {
        let row = |cost_micros, unpriced| UsageRow { cost_micros, unpriced, ..UsageRow::default() };
        let told = [(0, 0), (1_234_000, 0), (0, 3), (10_000, 1)].map(|(c, u)| cost(&row(c, u)));
        assert_eq!(told, ["-", "$1.23", "not priced", "$0.01 + 1 not priced"]);
    }

    #[test]
    fn bars_are_in_proportion() {
        assert_eq!(bar(16, 16), "█".repeat(16));
        assert_eq!(bar(1, 32), "▌");
        assert_eq!((bar(0, 0), bar(-4, 3)), (String::new(), String::new()));
    }
}
