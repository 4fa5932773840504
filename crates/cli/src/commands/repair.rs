//! `annals repair`.

use std::io::Write;
use std::process::ExitCode;

use annals::log::SalvagePlan;
use serde_json::json;

use crate::args::RepairArgs;
use crate::context::Context;
use crate::error::Result;
use crate::output;

pub(crate) fn run(context: &Context, args: &RepairArgs) -> Result<ExitCode> {
    let store = context.store("repair")?;
    let id = store.resolve(&args.session)?;
    let verification = store.verify(&id)?;
    let mut out = anstream::stdout().lock();
    if verification.report.is_sound() {
        if context.json {
            let answer = json!({"schema_version": 1, "session": id, "needed": false, "done": false});
            writeln!(out, "{}", output::json_line(&answer)?)?;
        } else {
            writeln!(out, "Nothing to repair: the log of {id} is sound.")?;
            for problem in &verification.problems {
                writeln!(out, "{}: {}", problem.kind, output::plain(&problem.detail))?;
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    if !args.yes {
        let plan = store.repair_plan(&id)?;
        if context.json {
            writeln!(out, "{}", output::json_line(&answer(&id, &plan, None))?)?;
        } else {
            tell(&mut out, &plan, "would be")?;
            writeln!(
                out,
                "Nothing was changed. `annals repair {id} --yes` does it; the original is kept beside the new log."
            )?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let salvage = store.repair(&id)?;
    if context.json {
        let original = salvage.original.display().to_string();
        writeln!(out, "{}", output::json_line(&answer(&id, &salvage.plan, Some(&original)))?)?;
    } else {
        tell(&mut out, &salvage.plan, "were")?;
        writeln!(out, "The original is kept as {}.", output::plain(&salvage.original.display().to_string()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn answer(id: &annals::model::SessionId, plan: &SalvagePlan, original: Option<&str>) -> serde_json::Value {
    json!({
        "schema_version": 1,
        "session": id,
        "needed": true,
        "done": original.is_some(),
        "kept": plan.kept,
        "lost": plan.lost,
        "doubled": plan.doubled,
        "damaged_bytes": plan.damaged_bytes,
        "original": original,
    })
}

fn tell(out: &mut dyn Write, plan: &SalvagePlan, verb: &str) -> Result<()> {
    writeln!(out, "{} {verb} kept.", output::count(plan.kept, "event"))?;
    if plan.lost.is_empty() {
        writeln!(out, "No event before the last whole one {verb} lost.")?;
    } else {
        let ranges: Vec<String> =
            plan.lost.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a}–{b}") }).collect();
        let lost: u64 = plan.lost.iter().map(|(a, b)| b - a + 1).sum();
        writeln!(out, "{} {verb} lost: {}.", output::count(lost, "event"), ranges.join(", "))?;
    }
    writeln!(out, "{} belong to no whole event.", output::size(plan.damaged_bytes))?;
    Ok(())
}
