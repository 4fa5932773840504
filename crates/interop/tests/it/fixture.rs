//! Session files, written record by record.

use std::path::{Path, PathBuf};

use annals_interop::claude_code::{Importer, discover};
use annals_interop::{Environment, ImportedEvent, Record, SourceFile};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The session's id over there, and its file's name.
pub(crate) const SESSION: &str = "5b0c8a52-7a3e-4c55-9a0e-0d7f6f1e2a01";

/// A session file under construction: each record's parent is the one before unless it says otherwise.
#[derive(Default)]
pub(crate) struct Fixture {
    pub(crate) bytes: Vec<u8>,
    last: Option<String>,
}

impl Fixture {
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(crate) fn line(&mut self, record: &Value) -> &mut Self {
        self.raw(record.to_string().as_bytes()).raw(b"\n")
    }

    /// A record of the chain: `extra` overrides the envelope.
    pub(crate) fn chain(&mut self, kind: &str, uuid: &str, extra: Value) -> &mut Self {
        let mut record = json!({
            "parentUuid": self.last, "isSidechain": false, "userType": "external", "cwd": "/srv/garden",
            "sessionId": SESSION, "version": "2.1.0", "gitBranch": "main", "type": kind, "uuid": uuid,
            "timestamp": "2026-03-01T10:00:00.000Z",
        });
        let fields = record.as_object_mut().unwrap();
        fields.extend(extra.as_object().unwrap().clone());
        self.last = Some(uuid.to_owned());
        self.line(&record)
    }

    pub(crate) fn user(&mut self, uuid: &str, content: impl Into<Value>, extra: Value) -> &mut Self {
        let mut record = json!({"message": {"role": "user", "content": content.into()}});
        record.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        self.chain("user", uuid, record)
    }

    /// A piece of the response `msg_<response>` with so many output tokens.
    pub(crate) fn answer(
        &mut self,
        uuid: &str,
        response: &str,
        block: Value,
        output: u64,
        extra: Value,
    ) -> &mut Self {
        let input = extra["input"].as_u64().unwrap_or(10);
        let mut record = json!({
            "requestId": format!("req_{response}"),
            "message": {
                "id": format!("msg_{response}"), "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
                "content": [block], "stop_reason": null, "stop_sequence": null,
                "usage": {"input_tokens": input, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 3000,
                          "output_tokens": output},
            },
        });
        record.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        self.chain("assistant", uuid, record)
    }

    pub(crate) fn save(&self) -> Saved {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("{SESSION}.jsonl"));
        std::fs::write(&path, &self.bytes).unwrap();
        let source = source(&path);
        Saved { _folder: folder, path, source }
    }

    /// All that the file says.
    pub(crate) fn read(&self) -> Read {
        read(&self.save().source)
    }
}

pub(crate) struct Saved {
    _folder: TempDir,
    pub(crate) path: PathBuf,
    pub(crate) source: SourceFile,
}

/// One import, from start to end.
pub(crate) struct Read {
    pub(crate) records: Vec<Record>,
    pub(crate) importer: Importer,
}

impl Read {
    pub(crate) fn events(&self) -> impl Iterator<Item = &ImportedEvent> {
        self.records.iter().flat_map(|record| &record.events)
    }

    /// Each event as `kind` and what matters of it, for comparison by eye.
    pub(crate) fn told(&self) -> Vec<String> {
        self.events().map(|event| tell(&event.payload)).collect()
    }

    pub(crate) fn loss(&self, kind: &str) -> u64 {
        self.importer.losses().get(kind).copied().unwrap_or(0)
    }
}

/// A payload without its source and its usage, as compact JSON behind its kind.
pub(crate) fn tell(payload: &annals_model::Payload) -> String {
    let mut data: Value = serde_json::from_str(&payload.to_data().unwrap()).unwrap();
    let fields = data.as_object_mut().unwrap();
    for field in ["src", "usage", "model", "format", "response"] {
        fields.remove(field);
    }
    if payload.kind() == "foreign" {
        format!("foreign {}", data["kind"].as_str().unwrap())
    } else {
        format!("{} {data}", payload.kind())
    }
}

pub(crate) fn source(path: &Path) -> SourceFile {
    discover(Some(path), &Environment::default()).unwrap().files.remove(0)
}

pub(crate) fn read(source: &SourceFile) -> Read {
    let mut importer = Importer::start(source).unwrap();
    let mut records = Vec::new();
    while let Some(record) = importer.next_record().unwrap() {
        records.push(record);
    }
    Read { records, importer }
}

pub(crate) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub(crate) fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": format!("echo {id}")}})
}

pub(crate) fn result(id: &str, output: &str) -> Value {
    json!([{"type": "tool_result", "tool_use_id": id, "content": output}])
}
