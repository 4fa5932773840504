//! Tells Claude Code's files from other JSON lines by their first bytes.

use crate::object::Object;

/// How many bytes of a file's head are looked at.
pub(crate) const HEAD_BYTES: u64 = 64 << 10;

/// Record types that only make sense with the fields of this format.
const TYPES: &[&str] = &[
    "user",
    "assistant",
    "system",
    "attachment",
    "progress",
    "summary",
    "ai-title",
    "custom-title",
    "agent-name",
    "agent-setting",
    "agent-color",
    "tag",
    "last-prompt",
    "mode",
    "permission-mode",
    "queue-operation",
    "file-history-snapshot",
    "file-history-delta",
    "pr-link",
    "relocated",
    "worktree-state",
    "content-replacement",
];

/// Whether the first bytes of a file (64 KiB are plenty) are those of a Claude Code session. Lines that can't be read are
/// passed over, and so are unknown records; one that fits is enough.
#[must_use]
pub fn looks_like_claude_code(head: &[u8]) -> bool {
    let text = crate::lossy::text(head);
    text.split('\n').any(|line| {
        let line = line.trim_matches(|c: char| c == '\u{feff}' || c == '\0' || c.is_whitespace());
        if !line.starts_with('{') {
            return false;
        }
        match Object::parse(&crate::surrogate::replace(line).0) {
            Ok(record) => fits(&record),
            // The head may end within its first line.
            Err(e) => e.is_eof() && cut_line_fits(line),
        }
    })
}

fn fits(record: &Object<'_>) -> bool {
    let Some(kind) = record.str("type") else { return false };
    if !TYPES.contains(&kind.as_ref()) {
        return false;
    }
    let in_session = record.get("sessionId").is_some() || record.get("session_id").is_some();
    match kind.as_ref() {
        "user" | "assistant" => {
            record.object("message").is_some() && (in_session || record.get("uuid").is_some())
        }
        "system" | "attachment" | "progress" => record.get("uuid").is_some() || in_session,
        "summary" => record.get("summary").is_some() && record.get("leafUuid").is_some(),
        "file-history-snapshot" => record.get("messageId").is_some() || record.get("snapshot").is_some(),
        _ => in_session || record.get("leafUuid").is_some(),
    }
}

fn cut_line_fits(line: &str) -> bool {
    let has = |needle: &str| memchr::memmem::find(line.as_bytes(), needle.as_bytes()).is_some();
    has("\"sessionId\":\"") && (has("\"message\":{") || has("\"parentUuid\":"))
}

#[cfg(test)]
mod tests {
    use super::looks_like_claude_code as fits;

    #[test]
    fn ours_and_others() {
        assert!(fits(br#"{"type":"user","uuid":"u","message":{"role":"user","content":"x"}}"#));
        assert!(fits(b"\xef\xbb\xbf{\"type\":\"summary\",\"summary\":\"s\",\"leafUuid\":\"l\"}\r\n"));
        assert!(fits(b"garbage\n\n{\"type\":\"tag\",\"tag\":\"x\",\"sessionId\":\"s\"}"));
        assert!(fits(br#"{"parentUuid":null,"sessionId":"s","type":"user","message":{"content":"cut he"#));
        for other in [
            &b""[..],
            b"hello",
            b"{}",
            b"[1,2]",
            br#"{"timestamp":"t","type":"session_meta","payload":{"id":"x"}}"#,
            br#"{"type":"session","version":3,"id":"x","cwd":"/"}"#,
            br#"{"id":"a","timestamp":"t","type":"user","content":"x"}"#,
            br#"{"seq":0,"ts":"2026","kind":"session_started","data":{}}"#,
        ] {
            assert!(!fits(other), "{}", crate::lossy::text(other));
        }
    }
}
