//! `annals fork`, `save`, `rename`, `tag`, `mv`, `rm`, `relink`: each prints what it made, and says how to take it back.

use std::io::Write;
use std::process::ExitCode;

use annals::{Cut, Store};
use serde::Serialize;
use serde_json::json;

use crate::args::{ForkArgs, MvArgs, RelinkArgs, RenameArgs, RmArgs, SaveArgs, TagArgs};
use crate::context::Context;
use crate::error::{BUSY, Result};
use crate::output::{self, plain};
use crate::scope;

/// Prints an answer: JSON for programs, else the text.
fn answer(context: &Context, json: &impl Serialize, text: &str) -> Result<ExitCode> {
    let mut out = anstream::stdout().lock();
    if context.json {
        writeln!(out, "{}", output::json_line(json)?)?;
    } else if !text.is_empty() {
        writeln!(out, "{}", plain(text))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn fork(context: &Context, args: &ForkArgs) -> Result<ExitCode> {
    let store = context.store("fork")?;
    let id = store.resolve(&args.session)?;
    let cut = match (args.at, args.turn) {
        (Some(seq), _) => Cut::At(seq),
        (None, Some(turns)) => Cut::Turns(turns),
        (None, None) => Cut::End,
    };
    let fork = store.fork(&id, cut, args.name.as_deref())?;
    context.note(&format!("Forked {} behind event {}.", fork.from, fork.at_seq));
    answer(context, &fork, fork.id.as_str())
}

pub(crate) fn save(context: &Context, args: &SaveArgs) -> Result<ExitCode> {
    let store = context.store("save")?;
    let id = store.resolve(&args.session)?;
    let snapshot = store.save(&id, &args.name, args.force)?;
    if let Some(old) = &snapshot.replaced {
        context.note(&format!("The snapshot that had the name is in the trash: {old}."));
    }
    context.note(&format!("`annals fork {}` goes on from it.", plain(&snapshot.name)));
    answer(context, &snapshot, snapshot.id.as_str())
}

pub(crate) fn rename(context: &Context, args: &RenameArgs) -> Result<ExitCode> {
    let store = context.store("rename")?;
    let id = store.resolve(&args.session)?;
    let title = store.rename(&id, &args.title.join(" "))?;
    answer(context, &json!({"id": id, "title": title}), &title)
}

pub(crate) fn tag(context: &Context, args: &TagArgs) -> Result<ExitCode> {
    let store = context.store("tag")?;
    let id = store.resolve(&args.session)?;
    let tags = store.tag(&id, &args.add, &args.remove)?;
    answer(context, &json!({"id": id, "tags": tags}), &tags.join(" "))
}

pub(crate) fn mv(context: &Context, args: &MvArgs) -> Result<ExitCode> {
    let store = context.store("mv")?;
    let id = store.resolve(&args.session)?;
    let workspace = scope::workspace(&args.dir)?;
    store.move_to(&id, &workspace)?;
    answer(context, &json!({"id": id, "workspace": workspace}), &workspace)
}

pub(crate) fn rm(context: &Context, args: &RmArgs) -> Result<ExitCode> {
    let store = context.store("rm")?;
    // All are looked up before the first goes: a typing error deletes nothing.
    let mut ids =
        args.sessions.iter().map(|query| store.resolve(query)).collect::<annals::Result<Vec<_>>>()?;
    ids.sort();
    ids.dedup();
    for id in &ids {
        store.delete(id)?;
    }
    context.note("`annals undo` brings the last one back; `annals trash` shows all.");
    answer(context, &json!({"deleted": ids}), "")
}

pub(crate) fn relink(context: &Context, args: &RelinkArgs) -> Result<ExitCode> {
    let store = context.store("relink")?;
    let (old, new) = (scope::workspace(&args.old)?, scope::workspace(&args.new)?);
    let (moved, open) = if args.dry_run { preview(&store, &old)? } else { store.relink(&old, &new)? };
    let what = if args.dry_run { "would be moved" } else { "moved" };
    let text = format!("{} {what} from {old} to {new}.", output::count(moved.len() as u64, "session"));
    if !open.is_empty() {
        context.note(&format!("Left alone, since they are open: {}.", output::ids(&open)));
    }
    let json = json!({"moved": moved, "open": open, "from": old, "to": new, "done": !args.dry_run});
    answer(context, &json, &text)?;
    Ok(if open.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(BUSY) })
}

type Ids = Vec<annals::model::SessionId>;

fn preview(store: &Store, old: &str) -> Result<(Ids, Ids)> {
    let sessions = store.in_workspace(old)?.into_iter().filter(|session| session.snapshot.is_none());
    let (open, rest): (Vec<_>, Vec<_>) = sessions.partition(|session| session.status == "open");
    let ids = |all: Vec<annals::Summary>| all.into_iter().map(|session| session.id).collect();
    Ok((ids(rest), ids(open)))
}
