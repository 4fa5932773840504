//! `annals export`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use annals::model::SessionId;
use annals::{Document, Report, Store};
use serde_json::{Value, json};

use crate::args::{ExportArgs, ExportFormat};
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::output::{self, plain};

/// The longest name made of a title, in characters.
const MAX_NAME_CHARS: usize = 80;

pub(crate) fn run(context: &Context, args: &ExportArgs) -> Result<ExitCode> {
    let store = context.store("export")?;
    let id = store.resolve(&args.session)?;
    if args.output.as_deref() == Some(Path::new("-")) {
        let mut out = std::io::stdout().lock();
        let told = write(&store, &id, args, &mut out)?;
        out.flush()?;
        tell(context, &told);
        return Ok(ExitCode::SUCCESS);
    }
    let path = match &args.output {
        Some(path) => path.clone(),
        None => default_path(&store, &id, args.format)?,
    };
    let told = to_file(&store, &id, args, &path)?;
    let mut out = anstream::stdout().lock();
    if context.json {
        let mut answer = json!({"schema_version": 1, "session": id, "file": path.display().to_string()});
        if let (Some(answer), Value::Object(more)) = (answer.as_object_mut(), told) {
            answer.extend(more);
        }
        writeln!(out, "{}", output::json_line(&answer)?)?;
    } else {
        writeln!(out, "{}", plain(&path.display().to_string()))?;
        tell(context, &told);
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes beside the file and gives it its name when it is whole: an export that fails leaves what was there.
fn to_file(store: &Store, id: &SessionId, args: &ExportArgs, path: &Path) -> Result<Value> {
    if !args.force && path.exists() {
        return Err(Failure::Other {
            kind: "FileExists",
            message: format!("{} is there already", path.display()),
            hint: "replace it with --force, or name another file with -o".to_owned(),
        });
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let unfinished = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let failed = |e| Failure::io("write", path, e);
    let written = (|| {
        let mut file = BufWriter::new(File::create_new(&unfinished).map_err(failed)?);
        let told = write(store, id, args, &mut file)?;
        let file = file.into_inner().map_err(|e| failed(e.into_error()))?;
        file.sync_all().map_err(failed)?;
        // Only a link fails when somebody made the file meanwhile.
        if args.force {
            std::fs::rename(&unfinished, path).map_err(failed)?;
        } else if std::fs::hard_link(&unfinished, path).is_err() {
            if path.exists() {
                return Err(failed(std::io::ErrorKind::AlreadyExists.into()));
            }
            std::fs::rename(&unfinished, path).map_err(failed)?;
        }
        Ok(told)
    })();
    let _ = std::fs::remove_file(&unfinished);
    written
}

/// Writes the export and says what became of it.
fn write(store: &Store, id: &SessionId, args: &ExportArgs, out: &mut dyn Write) -> Result<Value> {
    let document = match args.format {
        ExportFormat::Md => Document::Markdown,
        ExportFormat::Html => Document::Html,
        ExportFormat::Events => {
            let manifest = store.export_bundle(id, out)?;
            return Ok(json!({"format": "events", "events": manifest.events, "blobs": manifest.blobs}));
        }
    };
    let Report { events, dropped, masked, shortened, missing, unknown } =
        store.export(id, document, !args.no_mask, &output::local, out)?;
    let format = if document == Document::Html { "html" } else { "md" };
    Ok(json!({
        "format": format, "events": events, "masked": masked, "dropped": dropped, "shortened": shortened, "missing": missing,
        "unknown": unknown,
    }))
}

fn tell(context: &Context, told: &Value) {
    let count = |key: &str| told.get(key).and_then(Value::as_u64).unwrap_or(0);
    for (key, text) in [
        ("masked", "masked; look it over before you share it, a machine does not know every secret"),
        ("missing", "could not be read"),
        ("shortened", "shown in part"),
    ] {
        if count(key) > 0 {
            let noun = match key {
                "masked" => "secret",
                "missing" => "event",
                _ => "long result",
            };
            context.note(&format!("{} {text}.", output::count(count(key), noun)));
        }
    }
    if told.get("format").and_then(Value::as_str) == Some("events") {
        context.note("Nothing is masked in a bundle.");
    }
}

/// The title as a file's name, in the session's directory when it is there, else here.
fn default_path(store: &Store, id: &SessionId, format: ExportFormat) -> Result<PathBuf> {
    let summary = store.summary(id)?;
    let extension = match format {
        ExportFormat::Md => "md",
        ExportFormat::Html => "html",
        ExportFormat::Events => "annals",
    };
    let name = file_name(summary.title.as_deref().unwrap_or_default());
    let name = if name.is_empty() { id.to_string() } else { name };
    let dir = summary.workspace.map(PathBuf::from).filter(|dir| dir.is_dir());
    let dir = match dir {
        Some(dir) => dir,
        None => std::env::current_dir().map_err(|e| Failure::io("find", Path::new("."), e))?,
    };
    Ok(dir.join(format!("{name}.{extension}")))
}

/// A title as a name that every file system takes.
fn file_name(title: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ') { c } else { ' ' };
    let words: String = title.chars().map(safe).collect();
    let words: Vec<&str> = words.split_whitespace().collect();
    let name: String = words.join("-").chars().take(MAX_NAME_CHARS).collect();
    name.trim_matches(['.', '-']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_become_names_that_every_file_system_takes() {
        for (title, name) in [
            ("Fix the parser", "Fix-the-parser"),
            ("../../etc/passwd", "etc-passwd"),
            ("a: b? <c>|d*", "a-b-c-d"),
            ("日本語", "日本語"),
            ("...", ""),
        ] {
            assert_eq!(file_name(title), name, "{title}");
        }
    }
}
