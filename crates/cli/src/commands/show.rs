//! `annals show`.

use std::fmt::Write as _;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use annals::log::{Damage, Tail};
use annals::model::event::Event;
use annals::model::fold::Fate;
use annals::model::payload::{MessageKind, Part};
use annals::model::{Clock, Payload, SessionId};
use annals::{Found, Replay, Store};
use serde_json::json;

use crate::args::ShowArgs;
use crate::context::{Context, SystemClock};
use crate::error::{CORRUPT, Failure, Result};
use crate::output::{self, plain};

/// How long a follower waits before it looks again.
const POLL: Duration = Duration::from_millis(50);

pub(crate) fn run(context: &Context, args: &ShowArgs) -> Result<ExitCode> {
    let store = context.store("show")?;
    let id = store.resolve(&args.session)?;
    match (args.events, args.follow, context.json) {
        (true, follow, true) => raw(&store, &id, follow),
        (false, false, true) => document(&store, &id),
        (events, true, json) => follow(&store, &id, events, json),
        (true, false, false) => events(context, &store, &id, !args.no_pager),
        (false, false, false) => transcript(context, &store, &id, !args.no_pager),
    }
}

/// The stored lines, byte for byte. Damage is told on stderr and in the exit code.
fn raw(store: &Store, id: &SessionId, follow: bool) -> Result<ExitCode> {
    let mut reader = store.read(id)?;
    let mut out = std::io::stdout().lock();
    let mut damaged = false;
    loop {
        let mut written = Ok(());
        let more = reader.next_raw(
            |line| written = out.write_all(line).and_then(|()| out.write_all(b"\n")),
            |gap| {
                damaged = true;
                tell_gap(&gap);
            },
        )?;
        written?;
        if !more {
            out.flush()?;
            if !follow {
                break;
            }
            wait()?;
        }
    }
    Ok(if damaged { ExitCode::from(CORRUPT) } else { ExitCode::SUCCESS })
}

#[allow(clippy::print_stderr)]
fn tell_gap(gap: &Damage) {
    anstream::eprintln!("{}", gap_line(gap));
}

fn gap_line(gap: &Damage) -> String {
    let what = match gap.missing {
        0 => format!("{} that belong to no event", output::count(gap.len_bytes, "byte")),
        1 => format!("event {} can't be read", gap.expected_seq),
        n => format!("events {}–{} can't be read", gap.expected_seq, gap.expected_seq + n - 1),
    };
    format!("── damage at line {}, byte {}: {what} ({}) ──", gap.line, gap.offset, gap.kind)
}

/// One document for programs.
fn document(store: &Store, id: &SessionId) -> Result<ExitCode> {
    let replay = store.replay(id)?;
    let gaps: Vec<_> = replay
        .gaps
        .iter()
        .map(|g| json!({"line": g.line, "offset": g.offset, "len_bytes": g.len_bytes, "expected_seq": g.expected_seq, "missing": g.missing, "kind": g.kind.name()}))
        .collect();
    let meta = &replay.state.meta;
    let answer = json!({
        "schema_version": 1,
        "session": store.summary(id)?,
        "agent": meta.agent, "provider": meta.provider, "model": meta.model, "tags": meta.tags, "parent": meta.parent,
        "usage": meta.usage,
        "transcript": replay.state.transcript.entries(),
        "open_calls": replay.state.open_calls(),
        "gaps": gaps,
    });
    writeln!(std::io::stdout().lock(), "{}", output::json_line(&answer)?)?;
    Ok(if replay.gaps.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CORRUPT) })
}

fn events(context: &Context, store: &Store, id: &SessionId, pager: bool) -> Result<ExitCode> {
    let mut reader = store.read(id)?;
    let mut damaged = false;
    // A pager wants the whole; a pipe gets each line as it is read.
    if context.is_terminal() && pager {
        let mut text = String::new();
        while let Some(found) = reader.next_found()? {
            damaged |= matches!(found, Found::Gap(_));
            text.push_str(&event_line(&found));
        }
        output::page(context, &text, true)?;
    } else {
        let mut out = anstream::stdout().lock();
        while let Some(found) = reader.next_found()? {
            damaged |= matches!(found, Found::Gap(_));
            out.write_all(event_line(&found).as_bytes())?;
        }
        out.flush()?;
    }
    if let Tail::Unfinished { len_bytes, .. } = reader.tail() {
        context
            .note(&format!("{} behind the last event are no whole event.", output::count(len_bytes, "byte")));
    }
    Ok(if damaged { ExitCode::from(CORRUPT) } else { ExitCode::SUCCESS })
}

/// One event in one line.
fn event_line(found: &Found) -> String {
    match found {
        Found::Gap(gap) => format!("{}\n", gap_line(gap)),
        Found::Unfit { seq, kind, error } => {
            format!("{seq:>6}  {kind}  (does not fit: {})\n", plain(&error.source.to_string()))
        }
        Found::Event(event) => {
            let kind = event.payload.kind();
            let unknown =
                if matches!(event.payload, Payload::Unknown { .. }) { " (unknown kind)" } else { "" };
            let data = event.payload.to_data().unwrap_or_default();
            format!(
                "{:>6}  {}  {kind}{unknown}  {}\n",
                event.seq,
                output::local(event.ts),
                output::cut(&plain(&data), 160)
            )
        }
        _ => String::new(),
    }
}

fn follow(store: &Store, id: &SessionId, events: bool, json: bool) -> Result<ExitCode> {
    if json {
        return raw(store, id, true);
    }
    let mut reader = store.read(id)?;
    let mut out = anstream::stdout().lock();
    loop {
        match reader.next_found()? {
            Some(found) => {
                let text = if events { event_line(&found) } else { passage(&found) };
                out.write_all(text.as_bytes())?;
            }
            None => {
                out.flush()?;
                wait()?;
            }
        }
    }
}

/// Waits a little for more, unless nobody reads any more.
fn wait() -> Result<()> {
    if output::is_closed() {
        return Err(Failure::Closed);
    }
    std::thread::sleep(POLL);
    Ok(())
}

fn transcript(context: &Context, store: &Store, id: &SessionId, pager: bool) -> Result<ExitCode> {
    let replay = store.replay(id)?;
    let mut text = head(store, id, &replay);
    let mut reader = store.read(id)?;
    while let Some(found) = reader.next_found()? {
        text.push_str(&passage(&found));
    }
    for call in replay.state.open_calls() {
        let fate = match call.fate {
            Fate::NotStarted => "it did not start, and is safe to run",
            Fate::OutcomeUnknown => "it may have run: check what it did before running it again",
        };
        let _ =
            writeln!(text, "\n! The {} call {} has no result: {fate}.", plain(&call.name), plain(&call.id));
    }
    if replay.unfinished_bytes > 0 {
        let _ = writeln!(
            text,
            "\n({} behind the last event are no whole event.)",
            output::count(replay.unfinished_bytes, "byte")
        );
    }
    output::page(context, &text, pager)?;
    Ok(if replay.gaps.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CORRUPT) })
}

fn head(store: &Store, id: &SessionId, replay: &Replay) -> String {
    let meta = &replay.state.meta;
    let bold = anstyle::Style::new().bold();
    let mut text = String::new();
    let _ = writeln!(text, "{bold}{}{bold:#}", plain(meta.title.as_deref().unwrap_or("(untitled)")));
    let status = store.summary(id).map(|s| s.status).unwrap_or("damaged");
    let _ = writeln!(text, "{id} · {status} · {}", output::count(meta.events, "event"));
    let mut facts = Vec::new();
    if let Some(created) = meta.created {
        let (local, ago) = (output::local(created), output::ago(created, SystemClock.now()));
        facts.push(if local.starts_with(&ago) { local } else { format!("{local} ({ago})") });
    }
    facts.extend(meta.workspace.clone());
    facts.extend(meta.model.clone());
    let _ = writeln!(text, "{}", plain(&facts.join(" · ")));
    let usage = &meta.usage;
    if usage.calls > 0 {
        let read = usage.input + usage.cached + usage.cache_write;
        let _ = writeln!(
            text,
            "{}: {read} tokens read ({} from the cache), {} written",
            output::count(usage.calls, "model request"),
            usage.cached,
            usage.output
        );
    }
    if let Some(parent) = &meta.parent {
        let _ = writeln!(text, "works for session {}", parent.session);
    }
    text
}

/// An event as a reader of the conversation sees it; empty for what is no part of it.
fn passage(found: &Found) -> String {
    let event = match found {
        Found::Event(event) => event,
        Found::Gap(gap) => return format!("\n{}\n", gap_line(gap)),
        _ => return String::new(),
    };
    match &event.payload {
        Payload::UserMessage(m) if m.kind != MessageKind::Context => {
            let who = match m.kind {
                MessageKind::Prompt => "You",
                MessageKind::Steer => "You, meanwhile",
                MessageKind::Hook => "Hook",
                MessageKind::Plan => "Plan",
                _ => "Task",
            };
            let files: String =
                m.attachments.iter().map(|a| format!("\n[{}]", plain(&a.media_type))).collect();
            said(who, event, &format!("{}{files}", m.text))
        }
        Payload::AssistantMessage(m) => {
            let texts = m.parts.iter().filter_map(|part| match part {
                Part::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
                _ => None,
            });
            let text = texts.collect::<Vec<_>>().join("\n\n");
            if text.is_empty() {
                String::new()
            } else {
                said(m.agent.as_deref().unwrap_or("Agent"), event, &text)
            }
        }
        Payload::ToolCall(c) => {
            let dim = anstyle::Style::new().dimmed();
            let input = output::cut(&plain(c.input.as_str()).replace('\n', " "), 120);
            format!("\n{dim}→ {} {input}{dim:#}\n", plain(&c.name))
        }
        Payload::ToolResult(r) => {
            let dim = anstyle::Style::new().dimmed();
            let failed = if r.is_error { "failed, " } else { "" };
            let text = r.output.as_string().unwrap_or_else(|| r.output.as_str().to_owned());
            let first = output::cut(plain(&text).trim().lines().next().unwrap_or_default(), 80);
            format!("{dim}← {failed}{} {first}{dim:#}\n", output::size(text.len() as u64))
        }
        Payload::Compaction(c) => {
            format!("\n── the agent went on with a summary of events {}–{} ──\n", c.from, c.to)
        }
        Payload::Condensation(c) => format!("\n── events {}–{} were condensed ──\n", c.from, c.to),
        Payload::Rewound(r) => {
            format!("\n── rewound to before event {}: what follows is another branch ──\n", r.to_seq)
        }
        Payload::RewindUndone(_) => "\n── the last rewind was taken back ──\n".to_owned(),
        Payload::Repaired(r) => format!(
            "\n── a crash had left {} behind; kept aside ──\n",
            output::count(r.dropped_bytes, "byte")
        ),
        Payload::Lost(_) => format!("\n── event {} was lost to damage ──\n", event.seq),
        _ => String::new(),
    }
}

fn said(who: &str, event: &Event, text: &str) -> String {
    let bold = anstyle::Style::new().bold().fg_color(Some(anstyle::AnsiColor::Cyan.into()));
    format!("\n{bold}{}{bold:#} · {}\n{}\n", plain(who), output::local(event.ts), plain(text.trim_end()))
}
