//! `annals search`.

use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;

use annals::model::Clock;
use annals::{Answer, Hit, Mode, Role, Search};
use serde_json::json;

use crate::args::{RoleName, SearchArgs};
use crate::commands::import::Bar;
use crate::context::{Context, SystemClock};
use crate::error::Result;
use crate::output::{self, plain};
use crate::scope;

pub(crate) fn run(context: &Context, args: &SearchArgs) -> Result<ExitCode> {
    let store = context.store("search")?;
    let search = Search {
        text: args.query.join(" "),
        mode: match (args.exact, args.regex) {
            (true, _) => Mode::Exact,
            (_, true) => Mode::Regex,
            _ => Mode::Words,
        },
        session: args.session.as_deref().map(|query| store.resolve(query)).transpose()?,
        filter: scope::filter(&args.filter)?,
        roles: args.roles.iter().map(|role| role_of(*role)).collect(),
        // Whoever gives a text byte by byte, or a pattern, means it wherever it stands.
        everything: args.tools || args.exact || args.regex,
        limit: args.limit,
    };
    let mut bar = Bar(output::bytes_bar(context, "{msg}"));
    let answer = store.search(&search, &mut bar)?;
    bar.0.finish_and_clear();
    context.notices(&store);
    if context.json {
        let document = json!({
            "schema_version": 1,
            "total": answer.total,
            "returned": answer.hits.len(),
            "relaxed": answer.relaxed,
            "hits": answer.hits,
        });
        writeln!(std::io::stdout().lock(), "{}", output::json_line(&document)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if answer.hits.is_empty() {
        let deeper =
            if search.everything { "" } else { " --tools looks at tool calls and their results too." };
        context.note(&format!("Nothing found.{deeper}"));
        return Ok(ExitCode::SUCCESS);
    }
    output::page(context, &text(context, &answer), true)?;
    if answer.relaxed {
        context.note("Nothing has all the words; these have some of them.");
    }
    let more = answer.total.saturating_sub(answer.hits.len() as u64);
    if more > 0 {
        context.note(&format!("{more} more; -n 0 shows all."));
    }
    Ok(ExitCode::SUCCESS)
}

fn role_of(name: RoleName) -> Role {
    match name {
        RoleName::User => Role::User,
        RoleName::Agent => Role::Agent,
        RoleName::Thinking => Role::Thinking,
        RoleName::ToolCall => Role::ToolCall,
        RoleName::ToolResult => Role::ToolResult,
        RoleName::Summary => Role::Summary,
    }
}

/// The hits: each session once, as long as its hits follow one another.
fn text(context: &Context, answer: &Answer) -> String {
    let now = SystemClock.now();
    let width = output::width(context).unwrap_or(100).max(20);
    let (bold, dim) = (anstyle::Style::new().bold(), anstyle::Style::new().dimmed());
    let mut text = String::new();
    let mut last = None;
    for hit in &answer.hits {
        if last != Some(&hit.session) {
            if last.is_some() {
                text.push('\n');
            }
            let title = hit.title.as_deref().unwrap_or("(untitled)");
            let _ = writeln!(text, "{bold}{}{bold:#}  {dim}{}{dim:#}", plain(title).trim(), hit.session);
            last = Some(&hit.session);
        }
        let _ =
            writeln!(text, "  {dim}{} · {} · event {}{dim:#}", hit.role, output::ago(hit.time, now), hit.seq);
        for line in wrapped(&marked(hit), width - 4) {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}

/// Words of an excerpt, each with whether it is part of a hit: broken into lines they can be styled one by one.
fn marked(hit: &Hit) -> Vec<(String, bool)> {
    let mut parts = Vec::new();
    let mut at = 0;
    for (start, end) in &hit.ranges {
        parts.push((hit.excerpt.get(at..*start).unwrap_or_default(), false));
        parts.push((hit.excerpt.get(*start..*end).unwrap_or_default(), true));
        at = *end;
    }
    parts.push((hit.excerpt.get(at..).unwrap_or_default(), false));
    parts.retain(|(part, _)| !part.is_empty());
    parts
        .into_iter()
        .flat_map(|(part, is_hit)| part.split_inclusive(' ').map(move |word| (plain(word), is_hit)))
        .collect()
}

fn wrapped(words: &[(String, bool)], width: usize) -> Vec<String> {
    use unicode_width::UnicodeWidthStr;
    let style = anstyle::Style::new().bold().fg_color(Some(anstyle::AnsiColor::Yellow.into()));
    let (mut lines, mut line, mut used) = (Vec::new(), String::new(), 0);
    for (word, is_hit) in words {
        if used > 0 && used + word.trim_end().width() > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        used += word.width();
        if *is_hit {
            let _ = write!(line, "{style}{word}{style:#}");
        } else {
            line.push_str(word);
        }
    }
    lines.push(line);
    lines
}
