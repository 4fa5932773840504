//! Where sessions are found, and what they are called.

use std::fs;
use std::path::{Path, PathBuf};

use annals_interop::claude_code::{Environment, Found, discover};
use annals_interop::{Error, SkipReason};
use serde_json::json;
use tempfile::TempDir;

use crate::fixture::*;

struct Root {
    folder: TempDir,
}

impl Root {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    fn session(&self, name: &str) -> &Self {
        let mut file = Fixture::default();
        file.user("u1", "hello", json!({"isSidechain": name.contains("agent-")}));
        self.put(name, &file.bytes)
    }

    fn find(&self, name: &str) -> Found {
        discover(Some(&self.path(name)), &Environment::default()).unwrap()
    }
}

fn ids(found: &Found) -> Vec<&str> {
    found.files.iter().map(|file| file.suggested.as_str()).collect()
}

fn agent(id: &str) -> String {
    format!("{SESSION}.agent-{id}")
}

#[test]
fn the_usual_place_with_sub_agents() {
    let root = Root::new();
    let project = "config/projects/-srv-garden";
    root.session(&format!("{project}/{SESSION}.jsonl"))
        .session(&format!("{project}/{SESSION}/subagents/agent-a1.jsonl"))
        .put(&format!("{project}/{SESSION}/subagents/agent-a1.meta.json"), br#"{"toolUseId":"toolu_1"}"#)
        .session(&format!("{project}/{SESSION}/subagents/agent-A0.jsonl"))
        .put(
            &format!("{project}/{SESSION}/subagents/agent-A0.meta.json"),
            br#"{"toolUseId":"toolu_2","parentAgentId":"a1"}"#,
        )
        .session(&format!("{project}/{SESSION}/subagents/workflows/run/agent-w1.jsonl"))
        .put(
            &format!("{project}/{SESSION}/subagents/workflows/run/journal.jsonl"),
            b"{\"type\":\"started\",\"key\":\"k\"}\n",
        )
        .session(&format!("{project}/agent-old.jsonl"))
        .put(&format!("{project}/empty.jsonl"), b"")
        .put("config/history.jsonl", b"{\"display\":\"x\"}\n");
    let environment =
        Environment { claude_config_dir: Some(root.path("config")), home: Some(root.path("nowhere")) };
    let found = discover(None, &environment).unwrap();
    assert_eq!(found.root, root.path("config/projects"));
    assert_eq!(ids(&found), [SESSION, &agent("a1"), &agent("w1"), &agent("old"), &agent("A0")]);
    let parents: Vec<_> =
        found.files.iter().map(|file| file.parent.clone().map(|p| (p.session.to_string(), p.call))).collect();
    let main = SESSION.to_owned();
    assert_eq!(
        parents,
        [
            None,
            Some((main.clone(), Some("toolu_1".to_owned()))),
            Some((main.clone(), None)),
            Some((main, None)),
            Some((agent("a1"), Some("toolu_2".to_owned()))),
        ]
    );
    let reasons: Vec<_> = found.skipped.iter().map(|skipped| skipped.reason).collect();
    assert_eq!(reasons, [SkipReason::NotThisFormat, SkipReason::Empty]);
    assert!(found.files.iter().all(|file| file.size > 0 && file.mtime_ms > 0));
    // Claude Code's folder, its projects, one project: the same files. And twice the same order.
    for name in ["config", "config/projects", project] {
        assert_eq!(root.find(name).files, found.files, "{name}");
    }
}

#[test]
fn home_is_looked_at_when_no_folder_is_named() {
    let root = Root::new();
    root.session(&format!("home/.claude/projects/p/{SESSION}.jsonl"));
    let mut environment =
        Environment { claude_config_dir: Some(PathBuf::new()), home: Some(root.path("home")) };
    assert_eq!(ids(&discover(None, &environment).unwrap()), [SESSION]);
    environment.home = Some(root.path("other"));
    assert!(matches!(discover(None, &environment), Err(Error::SourceNotFound { .. })));
}

#[test]
fn one_file_any_folder_and_what_is_none() {
    let root = Root::new();
    root.session("any/My talk é.jsonl")
        .put("any/other.jsonl", b"{\"type\":\"session\",\"id\":\"x\"}\n")
        .put("any/readme.md", b"x");
    let found = root.find("any");
    assert_eq!((found.files.len(), found.skipped.len()), (1, 1));
    let id = found.files[0].suggested.as_str();
    assert!(id.starts_with("claude-code-") && id.len() == 28, "{id}");
    assert_ne!(found.files[0].suggested, found.files[0].alternative);
    let at = |name: &str| discover(Some(&root.path(name)), &Environment::default());
    assert_eq!(at("any/My talk é.jsonl").unwrap().files, found.files);
    assert!(matches!(at("any/other.jsonl"), Err(Error::NotThisFormat { .. })));
    assert!(matches!(at("any/none.jsonl"), Err(Error::SourceNotFound { .. })));
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let root = Root::new();
    root.session("p/a.jsonl");
    std::os::unix::fs::symlink(root.path("p"), root.path("p/loop")).unwrap();
    std::os::unix::fs::symlink(root.path("p/a.jsonl"), root.path("p/b.jsonl")).unwrap();
    let found = root.find("p");
    assert_eq!(ids(&found), ["a"]);
    assert_eq!(
        found.skipped.iter().map(|s| (s.path.as_path(), s.reason)).collect::<Vec<_>>(),
        [(Path::new(&root.path("p/b.jsonl")), SkipReason::NotAFile)]
    );
}

/// A sub-agent's file is its own conversation: its records are no sidechain there, and its first text is a task.
#[test]
fn a_sub_agents_file_is_read_as_its_own_session() {
    let root = Root::new();
    root.session(&format!("p/{SESSION}/subagents/agent-a1.jsonl"));
    let read = read(&root.find("p").files[0]);
    assert_eq!(read.told(), [r#"user_message {"kind":"task","text":"hello"}"#]);
    assert_eq!(read.records[0].events[0].turn, Some(1));
    let header = read.importer.header().unwrap();
    assert_eq!(header.parent.unwrap().session.as_str(), SESSION);
    assert_eq!(header.imported_from.unwrap().session.as_deref(), Some("agent-a1"));
}
