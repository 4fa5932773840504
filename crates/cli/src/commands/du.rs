//! `annals du`: what sessions take on disk.

use std::io::Write;
use std::process::ExitCode;

use annals::DiskUse;
use serde_json::json;

use crate::args::DuArgs;
use crate::context::Context;
use crate::error::Result;
use crate::output::{self, Table};

pub(crate) fn run(context: &Context, args: &DuArgs) -> Result<ExitCode> {
    let store = context.store("du")?;
    let only = args.session.as_deref().map(|query| store.resolve(query)).transpose()?;
    let mut used = store.disk_use()?;
    if let Some(only) = &only {
        used.sessions.retain(|(id, _)| id == only);
    }
    let all = used.sessions.len();
    if args.limit > 0 {
        used.sessions.truncate(args.limit);
    }
    if context.json {
        let sessions: Vec<_> = used
            .sessions
            .iter()
            .map(|(id, s)| json!({"id": id, "own": s.own(), "log": s.log, "blobs": s.blobs, "shared": s.shared, "leftovers": s.leftovers}))
            .collect();
        let answer = json!({
            "schema_version": 1, "sessions": sessions, "returned": sessions.len(), "of": all, "total": used.total(),
            "logs": used.logs, "blobs": used.blobs, "leftovers": used.leftovers, "trash": used.trash, "operations": used.operations,
            "index": used.index, "index_signatures": used.signatures, "index_words": used.words,
        });
        writeln!(std::io::stdout().lock(), "{}", output::json_line(&answer)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["SESSION", "OWN", "LOG", "BLOBS", "SHARED", "LEFTOVERS"], 0);
    for (id, space) in &used.sessions {
        let sizes = [space.own(), space.log, space.blobs, space.shared, space.leftovers].map(output::size);
        let mut cells = vec![id.to_string()];
        cells.extend(sizes);
        table.row(&cells);
    }
    let mut text = Vec::new();
    table.write(&mut text, output::width(context))?;
    if all > used.sessions.len() {
        writeln!(text, "… and {} smaller; -n 0 shows all", all - used.sessions.len())?;
    }
    if only.is_none() {
        write_parts(&mut text, &used)?;
    }
    output::page(context, &String::from_utf8_lossy(&text), true)?;
    Ok(ExitCode::SUCCESS)
}

fn write_parts(text: &mut Vec<u8>, used: &DiskUse) -> Result<()> {
    writeln!(text)?;
    let index =
        format!("index (signatures {}, words {})", output::size(used.signatures), output::size(used.words));
    for (what, bytes) in [
        ("logs", used.logs),
        ("blobs, each once", used.blobs),
        (index.as_str(), used.index),
        ("trash", used.trash),
        ("leftovers of crashes and repairs", used.leftovers),
        ("operations log", used.operations),
        ("total", used.total()),
    ] {
        writeln!(text, "{:>10}  {what}", output::size(bytes))?;
    }
    Ok(())
}
