//! `annals why`: why something is listed, or is not.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use annals::Why;
use annals::model::Clock;
use serde_json::json;

use crate::args::WhyArgs;
use crate::context::{Context, SystemClock};
use crate::error::{FAILED, Failure, Result};
use crate::output::{self, plain};

pub(crate) fn run(context: &Context, args: &WhyArgs) -> Result<ExitCode> {
    let store = context.store("why")?;
    let path = Path::new(&args.what);
    let path = path.canonicalize().or_else(|_| std::path::absolute(path));
    let path = path.map_err(|e| Failure::io("find", Path::new(&args.what), e))?;
    let why = store.why(&args.what, &path)?;
    let code = if why == Why::Unknown { ExitCode::from(FAILED) } else { ExitCode::SUCCESS };
    let text = if context.json {
        output::json_line(&json!({"schema_version": 1, "query": args.what, "why": why}))?
    } else {
        plain(&tell(&args.what, &path, why))
    };
    writeln!(anstream::stdout().lock(), "{text}")?;
    Ok(code)
}

fn tell(query: &str, path: &Path, why: Why) -> String {
    let now = SystemClock.now();
    match why {
        Why::Listed { session } => {
            let title = session.title.as_deref().unwrap_or("(untitled)");
            let workspace = session.workspace.as_deref().unwrap_or("no directory");
            let source = session.source.as_ref().map(|s| format!(", imported from {s}")).unwrap_or_default();
            let snapshot = session
                .snapshot
                .as_ref()
                .map(|name| format!(" It is the snapshot {name}."))
                .unwrap_or_default();
            format!(
                "{} is listed: {title} ({}, {workspace}{source}).{snapshot}\n`annals list --workspace DIR` shows it only for {workspace}.",
                session.id, session.status
            )
        }
        Why::Hidden { id, reason } => match reason.as_str() {
            "unfinished" => format!(
                "{id} is not listed: its creation was cut short, and nothing was ever recorded in it."
            ),
            "damaged" => format!(
                "{id} is not listed: not even its first event is legible. `annals verify {id}` tells more."
            ),
            _ => format!("{id} is not listed: its log can't be read. `annals verify {id}` tells why."),
        },
        Why::Trashed { id, deleted } => format!(
            "{id} is in the trash since {}. `annals trash restore {id}` brings it back.",
            output::local(deleted)
        ),
        Why::Gone { id, operation } => format!(
            "{id} is gone. The last operation that named it: {} {}, {}.",
            operation.number,
            operation.action.name(),
            output::ago(operation.time, now)
        ),
        Why::Source { sessions, size, changed, .. } => {
            let state = if changed {
                "It has changed since; `annals import` reads on."
            } else {
                "Nothing is new in it."
            };
            format!(
                "{} was imported, {} of it, as {}. {state}",
                path.display(),
                output::size(size),
                output::ids(&sessions)
            )
        }
        Why::Workspace { sessions } => format!(
            "{} has {}: `annals list --workspace {}`.",
            path.display(),
            output::count(sessions, "session"),
            path.display()
        ),
        Why::Unknown if path.exists() => format!(
            "{} was never imported, and no session belongs to it. `annals import {}` looks at it now and says what it skips.",
            path.display(),
            path.display()
        ),
        _ => format!(
            "Nothing is known of {query}: no session, no imported file, no directory of a session, nothing in the trash."
        ),
    }
}
