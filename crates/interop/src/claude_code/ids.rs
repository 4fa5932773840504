//! Ids of imported sessions: the file's own where it has one, else made from its path.

use std::path::Path;

use annals_model::SessionId;

use super::FORMAT;

/// The id that a file's session should get, and the one to take when another file has it already.
pub(crate) fn main_session(path: &Path) -> (SessionId, SessionId) {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    with_alternative(path, SessionId::parse(stem).ok())
}

/// The same for a sub-agent's file: `<parent>.agent-<id>`, which is the parent's id and the file's stem.
pub(crate) fn sub_agent(path: &Path, parent: Option<&SessionId>) -> (SessionId, SessionId) {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let id = match parent {
        Some(parent) => SessionId::parse(&format!("{parent}.{stem}")),
        None => SessionId::parse(stem),
    };
    with_alternative(path, id.ok())
}

fn with_alternative(path: &Path, id: Option<SessionId>) -> (SessionId, SessionId) {
    let hex = blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex();
    let long = hex.get(..16).unwrap_or_default();
    let short = hex.get(..8).unwrap_or_default();
    let from_path = || of_hex(long);
    let id = id.unwrap_or_else(from_path);
    // An id that leaves no room for the suffix gives way to one made from the path.
    let alternative = SessionId::parse(&format!("{id}.{short}")).unwrap_or_else(|_| from_path());
    (id, alternative)
}

/// `claude-code-<hex>`, which always has the form of an id.
fn of_hex(hex: &str) -> SessionId {
    let mut name = format!("{FORMAT}-{hex}");
    loop {
        match SessionId::parse(&name) {
            Ok(id) => return id,
            Err(_) => name = FORMAT.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_from_names_and_else_from_paths() {
        let uuid = "0f3b9c3e-8f0b-4a58-9f5f-2b1d6f0c9d11";
        let (id, other) = main_session(Path::new(&format!("/p/{uuid}.jsonl")));
        assert_eq!(id.as_str(), uuid);
        assert!(other.as_str().starts_with(&format!("{uuid}.")) && other.as_str().len() == uuid.len() + 9);
        let (sub, _) = sub_agent(Path::new("/p/agent-a1.jsonl"), Some(&id));
        assert_eq!(sub.as_str(), format!("{uuid}.agent-a1"));
        let (made, _) = main_session(Path::new("/p/.. strange é.jsonl"));
        assert!(made.as_str().starts_with("claude-code-") && made.as_str().len() == 28, "{made}");
        let long = "a".repeat(125);
        let (kept, alternative) = main_session(Path::new(&format!("/p/{long}.jsonl")));
        assert_eq!(kept.as_str(), long);
        assert!(alternative.as_str().starts_with("claude-code-"));
    }
}
