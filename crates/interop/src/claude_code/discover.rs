//! Finds session files: in the usual place, in a folder, or just one file.
//!
//! The search does not follow links, ends at a depth and a number of entries, and gives the same order every time: parents
//! before their sub-agents, then by path.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use annals_model::SessionId;
use annals_model::payload::ParentCall;

use super::{FORMAT, ids, sniff};
use crate::error::{Error, Result};
use crate::found::{Environment, Found, SkipReason, Skipped, SourceFile};
use crate::object::Object;

/// How deep a search goes: `projects/<project>/<session>/subagents/workflows/<run>/` with some room.
const MAX_DEPTH: usize = 10;

/// How many directory entries a search looks at.
const MAX_ENTRIES: usize = 1_000_000;

/// Most files show what they are in their first line.
const FIRST_LOOK: usize = 4 << 10;

/// The longest `.meta.json` that is read, in bytes.
const MAX_META_BYTES: u64 = 64 << 10;

/// Folders in which no session files lie.
const NOT_FOR_SESSIONS: &[&str] = &["tool-results", "file-history", "node_modules", ".git"];

/// Finds session files.
///
/// Without a path it looks in `projects` under `CLAUDE_CONFIG_DIR`, else under `~/.claude`. A path
/// may name a session file, or a folder: Claude Code's own, its `projects`, one project, or any with session files in it.
///
/// # Errors
/// [`Error::SourceNotFound`] when the path, given or usual, does not exist, [`Error::NotThisFormat`] when it is a file of another
/// format, [`Error::Io`] when it can't be read. What can't be read below a folder is listed as skipped.
pub fn discover(path: Option<&Path>, environment: &Environment) -> Result<Found> {
    let Some(path) = path else {
        let root = usual_root(environment).join("projects");
        fs::read_dir(&root).map_err(|e| Error::io(&root, e))?;
        return Ok(Search::default().run(root));
    };
    let metadata = fs::metadata(path).map_err(|e| Error::io(path, e))?;
    if metadata.is_dir() {
        let projects = path.join("projects");
        let root = if projects.is_dir() { projects } else { path.to_owned() };
        fs::read_dir(&root).map_err(|e| Error::io(&root, e))?;
        return Ok(Search::default().run(root));
    }
    let head = look(path, sniff::HEAD_BYTES).map_err(|e| Error::io(path, e))?;
    if !metadata.is_file() || !sniff::looks_like_claude_code(&head) {
        return Err(Error::NotThisFormat { path: path.to_owned(), format: FORMAT });
    }
    let files = vec![source_file(path, &metadata, &head)];
    Ok(Found { root: path.to_owned(), files, skipped: Vec::new() })
}

fn usual_root(environment: &Environment) -> PathBuf {
    let named = environment.claude_config_dir.clone().filter(|dir| !dir.as_os_str().is_empty());
    named.unwrap_or_else(|| environment.home.clone().unwrap_or_default().join(".claude"))
}

#[derive(Default)]
struct Search {
    found: Found,
    entries: usize,
}

impl Search {
    fn run(mut self, root: PathBuf) -> Found {
        self.found.root.clone_from(&root);
        let mut folders = vec![(root, 0)];
        while let Some((folder, depth)) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else {
                self.skip(folder, SkipReason::Unreadable);
                continue;
            };
            for entry in entries.flatten() {
                self.entries += 1;
                if self.entries > MAX_ENTRIES {
                    self.skip(folder, SkipReason::TooMuch);
                    return self.sorted();
                }
                let path = entry.path();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && is_no_place(&path) => {}
                    Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => folders.push((path, depth + 1)),
                    Ok(kind) if kind.is_dir() => self.skip(path, SkipReason::TooMuch),
                    _ if path.extension().is_none_or(|extension| extension != "jsonl") => {}
                    Ok(kind) if kind.is_file() => self.file(&path),
                    Ok(_) => self.skip(path, SkipReason::NotAFile),
                    Err(_) => self.skip(path, SkipReason::Unreadable),
                }
            }
        }
        self.sorted()
    }

    fn skip(&mut self, path: PathBuf, reason: SkipReason) {
        self.found.skipped.push(Skipped { path, reason });
    }

    fn file(&mut self, path: &Path) {
        match checked(path) {
            Ok(file) => self.found.files.push(file),
            Err(reason) => self.skip(path.to_owned(), reason),
        }
    }

    fn sorted(mut self) -> Found {
        let parents: HashMap<SessionId, SessionId> = (self.found.files.iter())
            .filter_map(|file| Some((file.suggested.clone(), file.parent.as_ref()?.session.clone())))
            .collect();
        let generation = |file: &SourceFile| {
            let parent = file.parent.as_ref().map(|parent| &parent.session);
            // A made-up ring of parents ends at the limit.
            std::iter::successors(parent, |id| parents.get(*id)).take(MAX_DEPTH).count()
        };
        self.found.files.sort_by_cached_key(|file| (generation(file), file.path.clone()));
        self.found.skipped.sort_by(|a, b| (&a.path, a.reason).cmp(&(&b.path, b.reason)));
        self.found
    }
}

fn is_no_place(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| NOT_FOR_SESSIONS.iter().any(|other| name == *other))
}

fn checked(path: &Path) -> std::result::Result<SourceFile, SkipReason> {
    let metadata = fs::symlink_metadata(path).map_err(|_| SkipReason::Unreadable)?;
    if metadata.len() == 0 {
        return Err(SkipReason::Empty);
    }
    let mut head = look(path, FIRST_LOOK as u64).map_err(|_| SkipReason::Unreadable)?;
    if head.len() == FIRST_LOOK && !sniff::looks_like_claude_code(&head) {
        head = look(path, sniff::HEAD_BYTES).map_err(|_| SkipReason::Unreadable)?;
    }
    if !sniff::looks_like_claude_code(&head) {
        return Err(SkipReason::NotThisFormat);
    }
    Ok(source_file(path, &metadata, &head))
}

fn look(path: &Path, bytes: u64) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)?.take(bytes).read_to_end(&mut head)?;
    Ok(head)
}

fn source_file(path: &Path, metadata: &Metadata, head: &[u8]) -> SourceFile {
    let agent = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.strip_prefix("agent-"));
    let parent = agent.and_then(|agent| parent_of(path, agent, head));
    let (suggested, alternative) = match agent {
        Some(_) => ids::sub_agent(path, main_of(path, head).as_ref()),
        None => ids::main_session(path),
    };
    let modified = metadata.modified().ok().and_then(|time| {
        let since = time.duration_since(UNIX_EPOCH);
        since
            .map_or_else(
                |before| i64::try_from(before.duration().as_millis()).map(|ms| -ms),
                |since| i64::try_from(since.as_millis()),
            )
            .ok()
    });
    SourceFile {
        path: path.to_owned(),
        size: metadata.len(),
        mtime_ms: modified.unwrap_or_default(),
        suggested,
        alternative,
        parent,
    }
}

/// The session at the root of a sub-agent's file: its folder names it, or (older) its records do.
fn main_of(path: &Path, head: &[u8]) -> Option<SessionId> {
    let subagents = path.ancestors().skip(1).take(MAX_DEPTH).find(|folder| folder.ends_with("subagents"));
    if let Some(folder) = subagents.and_then(Path::parent) {
        let name = folder.file_name()?;
        let mut file = name.to_owned();
        file.push(".jsonl");
        return Some(ids::main_session(&folder.with_file_name(file)).0);
    }
    let text = crate::lossy::text(head);
    let session = text.lines().find_map(|line| {
        let line = crate::surrogate::replace(line.trim_start_matches('\u{feff}').trim()).0;
        Object::parse(&line).ok()?.string("sessionId")
    })?;
    SessionId::parse(&session).ok()
}

/// The call that a sub-agent works for: its `.meta.json` names the call, and the parent when that is a sub-agent itself.
fn parent_of(path: &Path, agent: &str, head: &[u8]) -> Option<ParentCall> {
    let main = main_of(path, head)?;
    let mut text = Vec::new();
    if let Ok(file) = File::open(path.with_extension("meta.json")) {
        let _unreadable_is_absent = file.take(MAX_META_BYTES).read_to_end(&mut text);
    }
    let text = crate::lossy::text(&text);
    let meta = Object::parse(&text).unwrap_or_default();
    let above = meta.string("parentAgentId").map(|id| id.trim_start_matches("agent-").to_owned());
    let session = above
        .filter(|above| above != agent)
        .and_then(|above| SessionId::parse(&format!("{main}.agent-{above}")).ok())
        .unwrap_or(main);
    Some(ParentCall { session, call: meta.string("toolUseId") })
}
