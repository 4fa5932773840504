//! `annals config show`.

use std::io::Write;
use std::process::ExitCode;

use serde_json::json;

use crate::context::Context;
use crate::error::Result;
use crate::output::{self, Table};

pub(crate) fn run(context: &Context) -> Result<ExitCode> {
    let settings = context.settings()?;
    let home = context.home()?.display().to_string();
    let values = [
        ("session.data_dir", home, &settings.data_dir.source),
        ("session.durability", settings.durability.value.to_string(), &settings.durability.source),
        (
            "session.allow_network_fs",
            settings.allow_network_fs.value.to_string(),
            &settings.allow_network_fs.source,
        ),
    ];
    let file = settings.file.as_ref().map(|path| path.display().to_string());
    let mut out = anstream::stdout().lock();
    if context.json {
        let values: Vec<_> = values
            .iter()
            .map(|(key, value, source)| json!({"key": key, "value": value, "source": source.to_string()}))
            .collect();
        let answer = json!({
            "schema_version": 1, "file": file, "values": values, "warnings": settings.warnings,
        });
        writeln!(out, "{}", output::json_line(&answer)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["KEY", "VALUE", "SOURCE"], 1);
    for (key, value, source) in values {
        table.row(&[key.to_owned(), value, source.to_string()]);
    }
    table.write(&mut out, output::width(context))?;
    drop(out);
    if let Some(file) = file {
        let there = if std::path::Path::new(&file).exists() { "" } else { " (not there)" };
        context.note(&format!("The file: {}{there}.", output::plain(&file)));
    }
    Ok(ExitCode::SUCCESS)
}
