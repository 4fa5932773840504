//! `annals doctor` and `annals reindex`.

use std::io::Write;
use std::process::ExitCode;

use annals::import::Progress;
use annals::{Outcome, Store};
use serde_json::json;

use crate::args::ReindexArgs;
use crate::commands::import::Bar;
use crate::context::Context;
use crate::error::{CORRUPT, FAILED, Result};
use crate::output::{self, plain};

/// Something that is not as it should be, and what to do.
struct Finding {
    what: String,
    todo: &'static str,
}

pub(crate) fn run(context: &Context) -> Result<ExitCode> {
    let store = context.store("doctor")?;
    let mut bar = Bar(output::bytes_bar(context, "{msg}"));
    let mut findings = Vec::new();
    let damaged = sessions(&store, &mut findings)?;
    index(&store, &mut bar, &mut findings)?;
    operations(&store, &mut findings)?;
    bar.0.finish_and_clear();
    let mut out = anstream::stdout().lock();
    if context.json {
        let found: Vec<_> = findings.iter().map(|f| json!({"what": f.what, "todo": f.todo})).collect();
        let answer = json!({"schema_version": 1, "findings": found, "sessions": store.ids()?.len()});
        writeln!(out, "{}", output::json_line(&answer)?)?;
    } else if findings.is_empty() {
        let sessions = output::count(store.ids()?.len() as u64, "session");
        writeln!(
            out,
            "All is well: {sessions}, the index agrees with their logs, no operation is left open."
        )?;
    } else {
        for finding in &findings {
            writeln!(out, "{}\n  → {}", plain(&finding.what), finding.todo)?;
        }
    }
    Ok(match (findings.is_empty(), damaged) {
        (true, _) => ExitCode::SUCCESS,
        (_, true) => ExitCode::from(CORRUPT),
        _ => ExitCode::from(FAILED),
    })
}

/// Sessions that are damaged or hidden. Whether any is damaged.
fn sessions(store: &Store, findings: &mut Vec<Finding>) -> Result<bool> {
    let mut damaged = false;
    for id in store.ids()? {
        match store.verify(&id) {
            Ok(verification) => {
                if let Some(first) = verification.problems.first() {
                    damaged = true;
                    let more = verification.problems.len() - 1;
                    let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
                    findings.push(Finding {
                        what: format!("session {id}: {}{more}", first.detail),
                        todo: "`annals verify` tells all of it, `annals repair` what can be saved",
                    });
                }
            }
            Err(annals::Error::SessionNotFound { .. }) => findings.push(Finding {
                what: format!("session {id} was never begun: its creation was cut short"),
                todo: "nothing is in it; `annals rm` puts it away",
            }),
            Err(error) => findings.push(Finding {
                what: format!("session {id} can't be read: {error}"),
                todo: "check its files' owner and permissions, and the disk",
            }),
        }
    }
    Ok(damaged)
}

fn index(store: &Store, progress: &mut dyn Progress, findings: &mut Vec<Finding>) -> Result<()> {
    let wrong = store.check_index(progress)?;
    let notices = store.notices();
    findings.extend(
        wrong
            .into_iter()
            .chain(notices)
            .map(|what| Finding { what, todo: "`annals reindex` makes the index anew" }),
    );
    Ok(())
}

fn operations(store: &Store, findings: &mut Vec<Finding>) -> Result<()> {
    let open = store.operations()?.into_iter().filter(|operation| operation.outcome == Outcome::Open);
    findings.extend(open.map(|operation| Finding {
        what: format!(
            "operation {} ({}) was cut short or is under way",
            operation.number,
            operation.action.name()
        ),
        todo: "the next fork, save, rename, rm or undo finishes it",
    }));
    Ok(())
}

pub(crate) fn reindex(context: &Context, args: &ReindexArgs) -> Result<ExitCode> {
    let store = context.store("reindex")?;
    let mut bar = Bar(output::bytes_bar(context, "{msg}"));
    store.reindex(!args.no_text, &mut bar)?;
    bar.0.finish_and_clear();
    let listing = store.list_of(&annals::ListQuery { limit: 1, ..annals::ListQuery::default() })?;
    let mut out = anstream::stdout().lock();
    if context.json {
        writeln!(out, "{}", output::json_line(&json!({"schema_version": 1, "sessions": listing.total}))?)?;
    } else {
        writeln!(out, "The index was made anew: {}.", output::count(listing.total, "session"))?;
    }
    Ok(ExitCode::SUCCESS)
}
