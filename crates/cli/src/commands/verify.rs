//! `annals verify`.

use std::io::Write;
use std::process::ExitCode;

use annals::Problem;
use serde_json::json;

use crate::args::VerifyArgs;
use crate::context::Context;
use crate::error::{CORRUPT, Failure, Result, report};
use crate::output;

pub(crate) fn run(context: &Context, args: &VerifyArgs) -> Result<ExitCode> {
    let store = context.store("verify")?;
    let ids = match &args.session {
        Some(session) => vec![store.resolve(session)?],
        None => store.ids()?,
    };
    let bar = output::count_bar(context, "verifying", ids.len() as u64);
    let mut failed = Vec::new();
    let mut problems: Vec<Problem> = Vec::new();
    let (mut checked, mut sound, mut events, mut seals, mut blobs, mut torn) = (0_u64, 0_u64, 0, 0, 0, 0_u64);
    for id in &ids {
        bar.inc(1);
        match store.verify(id) {
            Ok(found) => {
                checked += 1;
                sound += u64::from(found.problems.is_empty());
                events += found.report.events;
                seals += found.report.seals;
                blobs += found.blobs;
                torn += u64::from(found.report.torn_bytes > 0);
                problems.extend(found.problems);
            }
            // All sessions are asked about: one that vanished, or never began, is no damage.
            Err(error) if error.kind() == "SessionNotFound" && args.session.is_none() => {}
            // One session that can't be checked costs one session.
            Err(error) if args.session.is_none() => failed.push(Failure::Store(error)),
            Err(error) => {
                bar.finish_and_clear();
                return Err(error.into());
            }
        }
    }
    bar.finish_and_clear();
    let mut out = anstream::stdout().lock();
    if context.json {
        let answer = json!({"schema_version": 1, "checked": checked, "ok": sound, "problems": problems});
        writeln!(out, "{}", output::json_line(&answer)?)?;
    } else {
        for problem in &problems {
            let place = format!("{}:{} (byte {})", problem.file, problem.line, problem.offset);
            writeln!(out, "{}: {}: {}", output::plain(&place), problem.kind, output::plain(&problem.detail))?;
        }
        writeln!(
            out,
            "{} checked, {sound} sound: {}, {}, {}.",
            output::count(checked, "session"),
            output::count(events, "event"),
            output::count(seals, "seal"),
            output::count(blobs, "blob")
        )?;
        if torn > 0 {
            let has = if torn == 1 { "has" } else { "have" };
            context.note(&format!("{} {has} an unfinished end, as a crash or an append under way leaves it; nothing acknowledged is in it.", output::count(torn, "session")));
        }
        if let Some(problem) = problems.first() {
            context.note(&format!("hint: `annals repair {}` tells what can be saved", problem.session));
        }
    }
    out.flush()?;
    let mut code = ExitCode::SUCCESS;
    for error in &failed {
        code = report(context, error);
    }
    Ok(if problems.is_empty() { code } else { ExitCode::from(CORRUPT) })
}
