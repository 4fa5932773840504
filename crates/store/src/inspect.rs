//! Verification of sessions: their logs, and the blobs that their events refer to.

use std::collections::BTreeSet;
use std::path::Path;

use annals_log::disk::Disk;
use annals_log::{Item, LOG_FILE, Reader, Report};
use annals_model::event::Event;
use annals_model::{Payload, SessionId};
use serde::Serialize;

use crate::blobs;
use crate::error::{Error, Result};

/// Something wrong with a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The session.
    pub session: SessionId,
    /// The file.
    pub file: String,
    /// Line in the file, from 1; of a blob, the position of the event that refers to it.
    pub line: u64,
    /// Offset in the file.
    pub offset: u64,
    /// `unreadable`, `checksum`, `sequence`, `chain`, `shortened`, `replaced`, `seal`, `seal_key`, `blob_missing`, `blob_damaged`, `unfit`.
    pub kind: &'static str,
    /// What is wrong, for people.
    pub detail: String,
}

/// What verification of a session found.
#[derive(Debug, Clone)]
pub struct Verification {
    /// The log.
    pub report: Report,
    /// Blobs that are whole.
    pub blobs: u64,
    /// What is wrong. A torn tail is nothing wrong: it is what a crash, or an append under way, leaves.
    pub problems: Vec<Problem>,
}

pub(crate) fn verify(disk: &dyn Disk, dir: &Path, id: &SessionId) -> Result<Verification> {
    let path = dir.join(LOG_FILE);
    let report = annals_log::verify(disk, dir, None, &[]).map_err(|e| Error::from_log(id, e))?;
    let problem = |file: &Path, line, offset, kind, detail| Problem {
        session: id.clone(),
        file: file.display().to_string(),
        line,
        offset,
        kind,
        detail,
    };
    let mut problems: Vec<Problem> = report
        .damages
        .iter()
        .map(|d| {
            let lost =
                if d.missing > 0 { format!("; {} events are missing", d.missing) } else { String::new() };
            let detail = format!("event {}: {}{lost}", d.expected_seq, d.kind);
            problem(&path, d.line, d.offset, d.kind.name(), detail)
        })
        .collect();
    let (mut whole, mut seen) = (0, BTreeSet::new());
    let failed = |e| Error::from_log(id, e);
    let mut reader = Reader::open(disk, dir).map_err(failed)?;
    let mut line_number = 0;
    while let Some(item) = reader.next_item().map_err(failed)? {
        let (line, offset) = match item {
            Item::Line { line, offset, .. } => (line, offset),
            Item::Gap(damage) => {
                line_number = damage.line;
                continue;
            }
        };
        line_number += 1;
        let event = match Event::from_line(&line) {
            Ok(event) => event,
            Err(error) => {
                let detail = format!("event {}: {error}: {}", line.seq, error.source);
                problems.push(problem(&path, line_number, offset, "unfit", detail));
                continue;
            }
        };
        for name in blobs_of(&event.payload) {
            if !seen.insert(name.to_owned()) {
                continue;
            }
            let file = dir.join("blobs").join(name);
            match blobs::check(disk, dir, name).map_err(|e| Error::io("read", &file, e))? {
                None => whole += 1,
                Some(wrong) => {
                    let missing = wrong == "it is missing";
                    let kind = if missing { "blob_missing" } else { "blob_damaged" };
                    let detail = format!("event {} refers to this blob: {wrong}", event.seq);
                    problems.push(problem(&file, event.seq, 0, kind, detail));
                }
            }
        }
    }
    Ok(Verification { report, blobs: whole, problems })
}

/// The blobs that an event refers to.
pub(crate) fn blobs_of(payload: &Payload) -> Vec<&str> {
    match payload {
        Payload::UserMessage(m) => m.attachments.iter().filter_map(|a| a.blob.as_deref()).collect(),
        Payload::ToolResult(r) => {
            r.attachments.iter().filter_map(|a| a.blob.as_deref()).chain(r.blob.as_deref()).collect()
        }
        Payload::SourceRecorded(s) => s.chunks.iter().map(|c| c.blob.as_str()).collect(),
        Payload::FilesChanged(f) => {
            f.files.iter().flat_map(|f| [f.before.as_deref(), f.after.as_deref()]).flatten().collect()
        }
        _ => Vec::new(),
    }
}
