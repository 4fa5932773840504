//! Bare `annals`: one screen that says what there is and what to do next.

use std::io::Write;
use std::process::ExitCode;

use annals::model::Clock;
use serde_json::json;

use crate::context::{Context, SystemClock};
use crate::error::Result;
use crate::output;

pub(crate) fn run(context: &Context) -> Result<ExitCode> {
    let store = context.store("status")?;
    let listing = store.list()?;
    let mut out = anstream::stdout().lock();
    if context.json {
        let status = json!({"schema_version": 1, "data_dir": store.home().display().to_string(), "sessions": listing.total});
        writeln!(out, "{}", output::json_line(&status)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(
        out,
        "Annals keeps the sessions of AI agents in {}.\n",
        output::plain(&store.home().display().to_string())
    )?;
    match listing.sessions.first() {
        None => {
            writeln!(out, "No sessions yet.\n")?;
            writeln!(out, "  annals import        bring in the sessions of Claude Code on this machine")?;
            writeln!(out, "  annals demo          record a sample session, kill it, and see what is left")?;
            writeln!(out, "  annals record --new  record any program's session through a pipe")?;
        }
        Some(newest) => {
            let title = newest.title.as_deref().unwrap_or("(untitled)");
            let when = newest.updated.map(|t| output::ago(t, SystemClock.now())).unwrap_or_default();
            writeln!(
                out,
                "{}, the newest {when}: {}\n",
                output::count(listing.total, "session"),
                output::plain(title)
            )?;
            writeln!(out, "  annals list          all sessions")?;
            writeln!(out, "  annals show latest   the newest one")?;
            writeln!(out, "  annals import        take in what is new from Claude Code")?;
            writeln!(out, "  annals verify        check everything")?;
        }
    }
    writeln!(out, "\nannals --help has the rest.")?;
    Ok(ExitCode::SUCCESS)
}
