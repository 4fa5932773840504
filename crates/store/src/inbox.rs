//! Mail for a session's owner: what others want recorded in a log that only its writer may append to.
//!
//! ```text
//! <session>/inbox/<name>.json    {"kind":"fork_point","data":{…}}     durable before it has its name
//! ```
//!
//! The owner takes it in when it opens the session, ends a turn, and closes. INVARIANT: each letter is recorded once. It is taken away after
//! it is durable in the log, and one that is there already is not recorded again.

use std::path::Path;

use annals_log::disk::{Disk, OpenMode, write_full};
use annals_model::{Json, Payload, SessionId};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::home::tighten;
use crate::session::SessionWriter;
use crate::store::Store;

/// A letter is a line of a log; one longer than this is not ours.
const MAX_LETTER_BYTES: u64 = 64 * 1024;

#[derive(Debug, Serialize, Deserialize)]
struct Letter {
    kind: String,
    data: Json,
}

const INBOX: &str = "inbox";

impl Store {
    /// Has an event recorded in a session: at once when it can be opened, else by its owner. A session that is gone is told nothing.
    pub(crate) fn tell_parent(&self, id: &SessionId, payload: &Payload) -> Result<()> {
        if !self.contains(id) {
            return Ok(());
        }
        self.post(id, payload)?;
        match self.open_even_frozen(id) {
            // Opening it takes the letter in.
            Ok((writer, _)) => writer.close().map(drop),
            // Open elsewhere, damaged behind the cut, a full disk: the letter waits.
            Err(_) => Ok(()),
        }
    }

    /// Puts a letter into a session's inbox. Durable when this returns.
    fn post(&self, id: &SessionId, payload: &Payload) -> Result<()> {
        let session = self.session_dir(id);
        let dir = session.join(INBOX);
        let invalid = |e: serde_json::Error| Error::InvalidEvent { reason: e.to_string() };
        let data = payload.to_data().map_err(invalid)?;
        let name = blake3::hash(format!("{}{data}", payload.kind()).as_bytes()).to_hex();
        let letter = format!("{{\"kind\":\"{}\",\"data\":{data}}}\n", payload.kind());
        let path = dir.join(format!("{name}.json"));
        let failed = |e| Error::io("write", &path, e);
        let disk = self.disk();
        if disk.open(&path, OpenMode::Read).is_ok() {
            return Ok(());
        }
        disk.create_dirs(&dir).map_err(failed)?;
        tighten(&dir)?;
        let unfinished = dir.join(format!("{name}.tmp"));
        let _ = disk.remove(&unfinished);
        let file = disk.open(&unfinished, OpenMode::CreateNew).map_err(failed)?;
        write_full(file.as_ref(), letter.as_bytes(), 0)
            .and_then(|()| file.sync())
            .and_then(|()| disk.rename(&unfinished, &path))
            .and_then(|()| disk.sync_dir(&dir))
            .and_then(|()| disk.sync_dir(&session))
            .map_err(failed)
    }
}

impl SessionWriter {
    /// Takes in the mail. One that can't be read is left where it is.
    pub(crate) fn take_in_mail(&self) -> Result<()> {
        let dir = self.dir().join(INBOX);
        let disk = self.disk();
        let Ok(files) = disk.list(&dir) else { return Ok(()) };
        let mut letters: Vec<_> = files
            .into_iter()
            .filter(|path| path.extension().is_some_and(|e| e == "json"))
            .filter_map(|path| read(disk, &path).map(|payload| (path, payload)))
            .collect();
        if letters.is_empty() {
            return Ok(());
        }
        let present = self.told(&letters)?;
        letters.sort_by(|a, b| a.0.cmp(&b.0));
        let fresh: Vec<_> = letters.iter().filter(|(_, payload)| !present.contains(payload)).collect();
        if !fresh.is_empty() {
            self.append_plainly(
                &fresh.iter().map(|(_, payload)| payload.clone().into()).collect::<Vec<_>>(),
            )?;
        }
        self.barrier()?;
        for (path, _) in &letters {
            disk.remove(path).map_err(|e| Error::io("remove", path, e))?;
        }
        disk.sync_dir(&dir).map_err(|e| Error::io("sync", &dir, e))
    }

    /// Which of the letters are in the log already.
    fn told(&self, letters: &[(std::path::PathBuf, Payload)]) -> Result<Vec<Payload>> {
        let failed = |e| Error::from_log(self.id(), e);
        let mut reader = annals_log::Reader::open(self.disk(), self.dir()).map_err(failed)?;
        let mut present = Vec::new();
        while let Some(item) = reader.next_item().map_err(failed)? {
            let annals_log::Item::Line { line, .. } = item else { continue };
            if letters.iter().any(|(_, letter)| letter.kind() == line.kind)
                && let Ok(payload) = Payload::parse(line.kind, line.data)
            {
                present.push(payload);
            }
        }
        Ok(present)
    }
}

fn read(disk: &dyn Disk, path: &Path) -> Option<Payload> {
    let file = disk.open(path, OpenMode::Read).ok()?;
    let len = file.len().ok().filter(|len| *len <= MAX_LETTER_BYTES)?;
    let mut bytes = vec![0; usize::try_from(len).ok()?];
    annals_log::disk::read_full(file.as_ref(), &mut bytes, 0).ok()?;
    let letter: Letter = serde_json::from_slice(&bytes).ok()?;
    let payload = Payload::parse(&letter.kind, letter.data.as_str().as_bytes()).ok()?;
    // Nothing but what others are meant to have recorded: mail is no way to write history.
    matches!(payload, Payload::ForkPoint(_) | Payload::SnapshotTaken(_)).then_some(payload)
}
