//! Where Claude Code keeps its sessions.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use annals_model::SessionId;
use annals_model::payload::ParentCall;

use super::{FORMAT, parse};
use crate::error::{Error, Result};
use crate::import::SourceFile;
use crate::lines::beginning;

/// What the caller knows of the user's environment; this library reads none.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// `$CLAUDE_CONFIG_DIR`.
    pub claude_config_dir: Option<PathBuf>,
    /// The home directory.
    pub home: Option<PathBuf>,
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Where it was looked.
    pub root: PathBuf,
    /// Session files, parents before their sub-agents.
    pub files: Vec<SourceFile>,
    /// Files that are passed over.
    pub skipped: Vec<Skipped>,
}

/// A file that is passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// How deep directories are followed below the given one.
const MAX_DEPTH: usize = 8;

/// Finds session files: at `path` (a file, or any directory that holds some), else in the usual place.
///
/// # Errors
/// [`Error::SourceNotFound`] when there is nothing at the path, [`Error::NotThisFormat`] for a single file in another format,
/// [`Error::Io`].
pub fn discover(path: Option<&Path>, environment: &Environment) -> Result<Found> {
    let root = match path {
        Some(path) => path.to_owned(),
        None => {
            let config = environment.claude_config_dir.clone();
            let config = config.or_else(|| environment.home.as_ref().map(|h| h.join(".claude")));
            config.unwrap_or_else(|| PathBuf::from(".claude")).join("projects")
        }
    };
    let found = std::fs::metadata(&root).map_err(|e| Error::io(&root, e))?;
    let mut list = Found { root: root.clone(), ..Found::default() };
    if found.is_dir() {
        walk(&root, 0, &mut list);
        list.files.sort_by(|a, b| (a.parent.is_some(), &a.path).cmp(&(b.parent.is_some(), &b.path)));
    } else {
        if !parse::looks_like_ours(&beginning(&root, 256 * 1024)?) {
            return Err(Error::NotThisFormat { path: root, format: FORMAT });
        }
        list.files.push(source_file(&root, &found));
    }
    Ok(list)
}

/// Takes what can be read; a directory that can't is told and passed over. Links are not followed: they may lead anywhere, or round.
fn walk(dir: &Path, depth: usize, list: &mut Found) {
    let mut skip = |path: &Path, reason: String| list.skipped.push(Skipped { path: path.to_owned(), reason });
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) => return skip(dir, e.to_string()),
    };
    let mut directories = Vec::new();
    for path in entries.flatten().map(|e| e.path()) {
        let Ok(found) = std::fs::symlink_metadata(&path) else { continue };
        if found.is_dir() {
            directories.push(path);
            continue;
        }
        if path.extension().is_none_or(|e| e != "jsonl")
            || path.file_name().is_some_and(|n| n == "journal.jsonl")
        {
            continue;
        }
        if !found.is_file() {
            list.skipped.push(Skipped { path, reason: "a link".to_owned() });
        } else if found.len() == 0 {
            list.skipped.push(Skipped { path, reason: "empty".to_owned() });
        } else if !beginning(&path, 256 * 1024).is_ok_and(|bytes| parse::looks_like_ours(&bytes)) {
            list.skipped.push(Skipped { path, reason: format!("no {FORMAT} session") });
        } else {
            list.files.push(source_file(&path, &found));
        }
    }
    for directory in directories {
        if depth < MAX_DEPTH {
            walk(&directory, depth + 1, list);
        } else {
            list.skipped.push(Skipped { path: directory, reason: "nested too deeply".to_owned() });
        }
    }
}

fn source_file(path: &Path, found: &Metadata) -> SourceFile {
    let modified = found.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
    let parent = parent_of(path);
    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let name = match &parent {
        Some(parent) => format!("{}.{stem}", parent.session),
        None => stem,
    };
    let path_hash = blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex();
    let short = |n: usize| path_hash.get(..n).unwrap_or_default();
    // A hash of the path is always a valid end of an id.
    let fallback = format!("{FORMAT}-{}", short(16));
    let suggested = SessionId::parse(&name).or_else(|_| SessionId::parse(&fallback));
    let suggested =
        suggested.unwrap_or_else(|_| SessionId::generate(annals_model::Timestamp::default(), [0; 4]));
    let alternative = format!("{}.{}", suggested.as_str().get(..100).unwrap_or(suggested.as_str()), short(8));
    let alternative = SessionId::parse(&alternative).unwrap_or_else(|_| suggested.clone());
    SourceFile {
        path: path.to_owned(),
        size: found.len(),
        mtime_ms: modified.and_then(|m| i64::try_from(m.as_millis()).ok()).unwrap_or(0),
        suggested,
        alternative,
        parent,
    }
}

/// The session that a sub-agent's file lies under (`<session>/subagents/**/agent-*.jsonl`), and the call that started it.
fn parent_of(path: &Path) -> Option<ParentCall> {
    let subagents = path.ancestors().skip(1).find(|p| p.file_name().is_some_and(|n| n == "subagents"))?;
    let session = SessionId::parse(subagents.parent()?.file_name()?.to_str()?).ok()?;
    let meta = beginning(&path.with_extension("meta.json"), 64 * 1024).ok();
    let meta: Option<serde_json::Value> = meta.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let call = meta.as_ref().and_then(|m| m.get("toolUseId")?.as_str()).map(str::to_owned);
    Some(ParentCall { session, call })
}
