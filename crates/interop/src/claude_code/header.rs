//! What line 0 of the log says of an imported session: taken from the first records of the file.

use std::fs::File;
use std::io::Read;

use annals_model::payload::{ImportedFrom, SessionStarted};
use annals_model::{FORMAT as LOG_FORMAT, Timestamp};

use super::FORMAT;
use super::sniff::HEAD_BYTES;
use crate::error::{Error, Result};
use crate::found::SourceFile;
use crate::lines::LineReader;
use crate::object::Object;

/// How far the search for the workspace goes when the head does not name it, in bytes.
const WORKSPACE_BYTES: u64 = 16 << 20;

/// What the first records say.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) workspace: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) time: Option<Timestamp>,
}

impl Facts {
    fn take(&mut self, line: &[u8]) {
        let text = crate::lossy::text(line);
        let text = text.trim_matches(|c: char| c == '\u{feff}' || c == '\0' || c.is_whitespace());
        let (text, _) = crate::surrogate::replace(text);
        let Ok(record) = Object::parse(&text) else { return };
        if self.workspace.is_none() {
            self.workspace = record.string("cwd").filter(|cwd| !cwd.is_empty());
        }
        if self.time.is_none() {
            self.time = super::map::timestamp(&record);
        }
        if self.session.is_none() {
            self.session = record.string("sessionId").or_else(|| record.string("session_id"));
        }
        if self.model.is_none() && record.str("type").as_deref() == Some("assistant") {
            let model = record.object("message").and_then(|message| message.string("model"));
            self.model = model.filter(|model| model != "<synthetic>");
        }
    }
}

/// The first bytes of a file.
pub(crate) fn head(source: &SourceFile) -> Result<Vec<u8>> {
    let file = File::open(&source.path).map_err(|e| Error::io(&source.path, e))?;
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head).map_err(|e| Error::io(&source.path, e))?;
    Ok(head)
}

/// What the head of a file says; the model only from there, the workspace from as far as it takes.
pub(crate) fn facts(source: &SourceFile, head: &[u8]) -> Result<Facts> {
    let mut facts = Facts::default();
    head.split(|byte| *byte == b'\n').for_each(|line| facts.take(line));
    if facts.workspace.is_some() || (head.len() as u64) < HEAD_BYTES {
        return Ok(facts);
    }
    let model = facts.model.take();
    let failed = |e| Error::io(&source.path, e);
    let file = File::open(&source.path).map_err(failed)?;
    let limit = usize::try_from(WORKSPACE_BYTES).unwrap_or(usize::MAX);
    let mut lines = LineReader::start(file, 0, limit).map_err(failed)?;
    while facts.workspace.is_none() && lines.position() < WORKSPACE_BYTES {
        let Some(line) = lines.next_line().map_err(failed)? else { break };
        facts.take(lines.bytes(&line));
    }
    facts.model = model;
    Ok(facts)
}

/// The first time that the head of a file names.
pub(crate) fn began(source: &SourceFile) -> Result<Option<Timestamp>> {
    Ok(facts(source, &head(source)?)?.time)
}

/// Line 0 of the log.
pub(crate) fn session_started(source: &SourceFile) -> Result<SessionStarted> {
    let facts = facts(source, &head(source)?)?;
    let stem = source.path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let session = if source.suggested.as_str().starts_with(FORMAT) { facts.session.or(stem) } else { stem };
    Ok(SessionStarted {
        format: LOG_FORMAT,
        workspace: facts.workspace,
        agent: Some(FORMAT.to_owned()),
        provider: Some("anthropic".to_owned()),
        model: facts.model,
        imported_from: Some(ImportedFrom {
            format: FORMAT.to_owned(),
            path: source.path.to_string_lossy().into_owned(),
            session,
        }),
        parent: source.parent.clone(),
        ..SessionStarted::default()
    })
}
