//! `annals import`.

use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use annals::import::{Imported, Phase, Progress};
use annals::interop::claude_code::{Environment, Found, discover};
use annals::is_bundle;
use indicatif::ProgressBar;
use serde_json::json;

use crate::args::{Agent, ImportArgs};
use crate::context::Context;
use crate::error::{FAILED, Failure, Result, object, object_line};
use crate::output;

/// How many records that could not be read are told to people one by one.
const TOLD: usize = 20;

pub(crate) fn run(context: &Context, args: &ImportArgs) -> Result<ExitCode> {
    if let Some(path) = args.path.as_deref()
        && let Some(bundle) = bundle(path)?
    {
        return unbundle(context, path, bundle);
    }
    let Agent::ClaudeCode = args.from;
    let path = args
        .path
        .as_deref()
        .map(|p| std::path::absolute(p).map_err(|e| Failure::io("find", p, e)))
        .transpose()?;
    let environment = Environment {
        claude_config_dir: std::env::var_os("CLAUDE_CONFIG_DIR").filter(|d| !d.is_empty()).map(PathBuf::from),
        home: std::env::home_dir(),
    };
    let found = match discover(path.as_deref(), &environment) {
        Err(annals::interop::Error::SourceNotFound { path: usual }) if path.is_none() => {
            return Err(Failure::Other {
                kind: "SourceNotFound",
                message: format!("no Claude Code sessions at {}", usual.display()),
                hint: "give the path of a session file or directory, or try `annals demo`".to_owned(),
            });
        }
        other => other.map_err(annals::Error::from)?,
    };
    let store = context.store("import")?;
    let mut bar = Bar(output::bytes_bar(context, "{msg}"));
    let imported = store.import(&found, &mut bar);
    bar.0.finish_and_clear();
    let code = if imported.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) };
    if context.json {
        write_json(&imported)?;
        for (_, error) in imported.failed {
            tell(&object_line(&Failure::Store(error)));
        }
    } else {
        write_text(context, &found, imported)?;
    }
    Ok(code)
}

/// The file, when it is a bundle.
fn bundle(path: &Path) -> Result<Option<File>> {
    let failed = |e| Failure::io("read", path, e);
    // What is not there, or a directory, is for whoever looks for sessions of agents.
    let Ok(mut file) = File::open(path) else { return Ok(None) };
    if file.metadata().map_or(true, |found| !found.is_file()) {
        return Ok(None);
    }
    let mut beginning = Vec::new();
    Read::by_ref(&mut file).take(64).read_to_end(&mut beginning).map_err(failed)?;
    file.rewind().map_err(failed)?;
    Ok(is_bundle(&beginning).then_some(file))
}

fn unbundle(context: &Context, path: &Path, file: File) -> Result<ExitCode> {
    let unbundled = context.store("import")?.import_bundle(&mut BufReader::new(file))?;
    let mut out = anstream::stdout().lock();
    if context.json {
        let answer = json!({"schema_version": 1, "file": path.display().to_string(), "bundle": unbundled});
        writeln!(out, "{}", output::json_line(&answer)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "{}", unbundled.id)?;
    drop(out);
    let events = output::count(unbundled.events, "event");
    if unbundled.present {
        context.note("It is here already, byte for byte.");
    } else if unbundled.id != unbundled.was {
        context
            .note(&format!("Imported, {events}; the id {} was taken, so it has a new one.", unbundled.was));
    } else {
        context.note(&format!("Imported, {events}."));
    }
    Ok(ExitCode::SUCCESS)
}

#[allow(clippy::print_stderr)]
fn tell(line: &str) {
    anstream::eprintln!("{line}");
}

fn write_json(imported: &Imported) -> Result<()> {
    let losses: Vec<_> =
        imported.losses.iter().map(|(kind, count)| json!({"kind": kind, "count": count})).collect();
    let problems: Vec<_> = imported
        .problems
        .iter()
        .map(|p| json!({"file": p.path.display().to_string(), "line": p.line_number, "offset": p.offset, "detail": p.detail}))
        .collect();
    let failed: Vec<_> = imported
        .failed
        .iter()
        .map(|(path, error)| json!({"source": path.display().to_string(), "kind": error.kind(), "message": error.to_string()}))
        .collect();
    let answer = json!({
        "schema_version": 1,
        "found": imported.found,
        "imported": imported.imported,
        "unchanged": imported.unchanged,
        "trashed": imported.trashed,
        "sessions": imported.sessions,
        "losses": losses,
        "problems": problems,
        "failed": failed,
    });
    writeln!(std::io::stdout().lock(), "{}", output::json_line(&answer)?)?;
    Ok(())
}

fn write_text(context: &Context, found: &Found, imported: Imported) -> Result<()> {
    let mut out = anstream::stdout().lock();
    let bytes: u64 = found.files.iter().map(|f| f.size).sum();
    writeln!(
        out,
        "Found {} in {} ({}): {} imported, {} unchanged.",
        output::count(imported.found, "session file"),
        output::plain(&found.root.display().to_string()),
        output::size(bytes),
        imported.imported,
        imported.unchanged
    )?;
    let (records, events) = imported.sessions.iter().fold((0, 0), |(r, e), s| (r + s.records, e + s.events));
    if records > 0 {
        writeln!(
            out,
            "{} read, {} written; every record's bytes are kept.",
            output::count(records, "record"),
            output::count(events, "event")
        )?;
    }
    if !imported.losses.is_empty() {
        let losses: Vec<String> =
            imported.losses.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        writeln!(out, "Not carried over as it was: {}.", losses.join(", "))?;
    }
    drop(out);
    for problem in imported.problems.iter().take(TOLD) {
        let place = format!("{}:{} (byte {})", problem.path.display(), problem.line_number, problem.offset);
        tell(&format!("warning: {}: {}", output::plain(&place), output::plain(&problem.detail)));
    }
    let malformed: u64 = imported.sessions.iter().map(|s| s.malformed).sum();
    let untold = malformed.max(imported.problems.len() as u64).saturating_sub(TOLD as u64);
    if untold > 0 {
        tell(&format!(
            "warning: {} more could not be read; --json tells of the first {}.",
            output::count(untold, "record"),
            Imported::MAX_PROBLEMS
        ));
    }
    if imported.trashed > 0 {
        let files = output::count(imported.trashed, "file");
        context.note(&format!("Skipped {files}: their sessions are in the trash (`annals trash`)."));
    }
    for (reason, count) in reasons(found) {
        context.note(&format!("Skipped {}: {}.", output::count(count, "file"), output::plain(&reason)));
    }
    for (path, error) in imported.failed {
        let hint = object(&Failure::Store(error));
        let text = |key: &str| {
            hint.pointer(&format!("/error/{key}")).and_then(|v| v.as_str()).unwrap_or_default().to_owned()
        };
        tell(&format!(
            "error: {}: {}",
            output::plain(&path.display().to_string()),
            output::plain(&text("message"))
        ));
        if !text("hint").is_empty() {
            tell(&format!("hint: {}", output::plain(&text("hint"))));
        }
    }
    if imported.imported > 0 {
        context.note("`annals list` shows them.");
    }
    Ok(())
}

fn reasons(found: &Found) -> std::collections::BTreeMap<String, u64> {
    let mut reasons = std::collections::BTreeMap::new();
    for skipped in &found.skipped {
        *reasons.entry(skipped.reason.to_string()).or_default() += 1;
    }
    reasons
}

pub(crate) struct Bar(pub(crate) ProgressBar);

impl Progress for Bar {
    fn phase(&mut self, phase: Phase) {
        self.0.set_message(match phase {
            Phase::Importing => "importing",
            Phase::Listing => "reading",
            Phase::Indexing => "indexing",
        });
    }

    fn started(&mut self, _files: u64, bytes: u64) {
        self.0.set_position(0);
        self.0.set_length(bytes);
    }

    fn advanced(&mut self, bytes: u64) {
        self.0.inc(bytes);
    }
}
