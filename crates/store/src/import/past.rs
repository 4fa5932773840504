//! What earlier imports left in a session: where they stopped, and what an import that was cut short wrote behind that.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use annals_interop::SourceFile;
use annals_interop::claude_code::FORMAT;
use annals_model::event::Event;
use annals_model::payload::{Source, SourceRecorded};
use annals_model::{Json, Payload, Seq, SessionId};

use crate::error::{Error, Result};
use crate::reading::Found;
use crate::store::Store;

/// How much of a file's beginning and end is hashed to know it again.
const WITNESS_BYTES: u64 = 4096;

/// How far back in a log the last import's end is looked for before the whole log is read.
const TAIL_BYTES: u64 = 64 * 1024;

/// An event in the log that the same record will give again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Present {
    /// Made from the record at this offset.
    Of {
        /// Its kind.
        kind: String,
        /// The record's offset.
        at: u64,
    },
    /// A rewind: it names no record, but stands right before the prompt that it was made for.
    Rewind {
        /// Where to.
        to_seq: Seq,
    },
}

impl Present {
    /// Whether an event made from the record at `at` is this one.
    pub(super) fn is(&self, payload: &Payload, at: u64) -> bool {
        match self {
            Self::Of { kind, at: its } => {
                source_of(payload).is_some() && kind == payload.kind() && *its == at
            }
            Self::Rewind { to_seq } => matches!(payload, Payload::Rewound(r) if r.to_seq == *to_seq),
        }
    }
}

/// What earlier imports left.
#[derive(Debug, Default)]
pub(super) struct Past {
    pub(super) recorded: Option<SourceRecorded>,
    /// Events of an import that did not come to its end, with their positions.
    pub(super) present: VecDeque<(Seq, Present)>,
    /// A rewind with nothing behind it: the import's, if the import would now write the same, else somebody else's.
    pub(super) trailing: Option<(Seq, Present)>,
}

/// How a source stands to a session.
pub(super) enum Standing {
    /// Nothing is new.
    Current,
    /// The session is not of this source, or of what the source was before it was rewritten.
    Taken,
    /// Imported up to here; what the reader must know to go on.
    From(u64, Json),
}

impl Past {
    /// What earlier imports left in a session. None when it is not one of theirs.
    pub(super) fn read(store: &Store, id: &SessionId) -> Result<Option<Self>> {
        let mut reader = store.reader(id)?;
        match reader.next_found()? {
            Some(Found::Event(Event { payload: Payload::SessionStarted(started), .. })) => {
                if started.imported_from.is_none_or(|from| from.format != FORMAT) {
                    return Ok(None);
                }
            }
            Some(_) => return Ok(None),
            // Its creation never finished; it is begun anew.
            None => return Ok(Some(Self::default())),
        }
        let past = Self::at_the_end(store, id)?;
        if past.recorded.is_some() {
            return Ok(Some(past));
        }
        let mut past = Self::default();
        while let Some(found) = reader.next_found()? {
            if let Found::Event(event) = found {
                past.note(event);
            }
        }
        Ok(Some(past))
    }

    /// As far as the log's last lines tell.
    fn at_the_end(store: &Store, id: &SessionId) -> Result<Self> {
        let tail = annals_log::last_lines(store.disk(), &store.session_dir(id), TAIL_BYTES);
        let mut past = Self::default();
        let mut next = None;
        for owned in tail.map_err(|e| Error::from_log(id, e))? {
            // What stands behind a broken line is part of a torn tail, however whole it looks.
            if next.is_some_and(|next| next != owned.seq) {
                break;
            }
            next = Some(owned.seq + 1);
            if let Ok(event) = Event::from_line(&owned.line()) {
                past.note(event);
            }
        }
        Ok(past)
    }

    fn note(&mut self, event: Event) {
        match event.payload {
            Payload::SourceRecorded(recorded) => {
                *self = Self { recorded: Some(recorded), ..Self::default() };
            }
            Payload::Rewound(rewound) => {
                self.trailing = Some((event.seq, Present::Rewind { to_seq: rewound.to_seq }));
            }
            // The log's own lines may stand between a rewind and its prompt, where a crash parted them.
            Payload::Sealed(_)
            | Payload::Closed(_)
            | Payload::Repaired(_)
            | Payload::ConversationAssigned(_) => {}
            payload => {
                let rewind = self.trailing.take();
                if let Some(source) = source_of(&payload) {
                    self.present.extend(rewind);
                    let of = Present::Of { kind: payload.kind().to_owned(), at: source.at };
                    self.present.push_back((event.seq, of));
                }
            }
        }
    }

    /// How a source stands to a session with this past.
    pub(super) fn stand(past: Option<&Self>, source: &SourceFile) -> Result<Standing> {
        let Some(past) = past else { return Ok(Standing::Taken) };
        let Some(recorded) = &past.recorded else { return Ok(Standing::From(0, Json::default())) };
        let same_look = recorded.size == source.size
            && recorded.mtime_ms == source.mtime_ms
            && recorded.path == source.path.display().to_string();
        if same_look && past.present.is_empty() {
            return Ok(Standing::Current);
        }
        // The file must begin as it did, and be as it was where the last import stopped.
        let same = source.size >= recorded.end
            && hashes(&source.path, recorded.end)? == (recorded.head.clone(), recorded.tail.clone());
        Ok(if same { Standing::From(recorded.end, recorded.state.clone()) } else { Standing::Taken })
    }
}

/// The record that an event was made from.
fn source_of(payload: &Payload) -> Option<&Source> {
    match payload {
        Payload::UserMessage(p) => p.src.as_ref(),
        Payload::AssistantMessage(p) => p.src.as_ref(),
        Payload::ToolCall(p) => p.src.as_ref(),
        Payload::ToolResult(p) => p.src.as_ref(),
        Payload::Titled(p) => p.src.as_ref(),
        Payload::Tagged(p) => p.src.as_ref(),
        Payload::Moved(p) => p.src.as_ref(),
        Payload::TurnEnded(p) => p.src.as_ref(),
        Payload::Compaction(p) => p.src.as_ref(),
        Payload::FilesChanged(p) => p.src.as_ref(),
        Payload::Foreign(p) => Some(&p.src),
        _ => None,
    }
}

/// Hashes of a file's beginning and of what stands before `end`.
pub(super) fn hashes(path: &Path, end: u64) -> Result<(String, String)> {
    let failed = |e| Error::io("read", path, e);
    let mut file = File::open(path).map_err(failed)?;
    let mut hash = |from: u64, to: u64| -> std::io::Result<String> {
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        (&file).take(to - from).read_to_end(&mut bytes)?;
        Ok(blake3::hash(&bytes).to_hex().to_string())
    };
    let head = hash(0, end.min(WITNESS_BYTES)).map_err(failed)?;
    let tail = hash(end.saturating_sub(WITNESS_BYTES), end).map_err(failed)?;
    Ok((head, tail))
}
