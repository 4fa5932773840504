//! Bundles: a session in one file, byte for byte, with what is needed to check it.
//!
//! ```text
//! tar    annals.json       format, session, title, the log's length and BLAKE3, how many blobs
//!        events.jsonl      the log's whole lines, as they are stored
//!        blobs/<blake3>    each blob that an event refers to
//! ```
//!
//! INVARIANT: what is imported is what was exported: every byte is under a digest that was checked before the session has its name. A file
//! that says otherwise leaves nothing behind.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use annals_log::LOG_FILE;
use annals_log::disk::{DiskFile, OpenMode, write_full};
use annals_model::SessionId;
use annals_model::event::Event;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::home::tighten;
use crate::operations::Action;
use crate::store::Store;
use crate::{blobs, inspect};

/// The version of the bundle's form.
const FORMAT: u32 = 1;

const MANIFEST: &str = "annals.json";

/// A manifest is small; a larger one is not ours.
const MAX_MANIFEST_BYTES: u64 = 64 * 1024;

/// What is told of a bundle before its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the bundle's form.
    pub annals_bundle: u32,
    /// The session's id where it was exported.
    pub session: SessionId,
    /// Its title.
    #[serde(default)]
    pub title: Option<String>,
    /// How many events.
    pub events: u64,
    /// The log's length, in bytes.
    pub len_bytes: u64,
    /// BLAKE3 over the log.
    pub blake3: String,
    /// How many blobs.
    pub blobs: u64,
}

/// A bundle that was imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unbundled {
    /// The session.
    pub id: SessionId,
    /// Its id where it was exported; another one when that was taken here.
    pub was: SessionId,
    /// Whether it was here already, byte for byte: nothing was done.
    pub present: bool,
    /// How many events.
    pub events: u64,
    /// How many blobs.
    pub blobs: u64,
}

fn invalid(reason: impl Into<String>) -> Error {
    Error::Bundle { reason: reason.into() }
}

/// Whether a file begins as a bundle does.
#[must_use]
pub fn is_bundle(beginning: &[u8]) -> bool {
    beginning.starts_with(b"annals.json\0")
}

/// The log as it is now: how far its whole lines reach, their digest, and the blobs that they refer to.
struct Content {
    len: u64,
    events: u64,
    digest: String,
    blobs: BTreeSet<String>,
}

impl Store {
    /// Writes a session as a bundle. Of one that is open, what is whole at this moment; what a crash left behind its last event is left out.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`]; [`Error::Corrupt`] and [`Error::Bundle`] for a session that is damaged, [`Error::Output`] when `out` fails.
    pub fn export_bundle(&self, id: &SessionId, out: &mut dyn Write) -> Result<Manifest> {
        let dir = self.session_dir(id);
        let content = self.content(id, &dir)?;
        let manifest = Manifest {
            annals_bundle: FORMAT,
            session: id.clone(),
            title: self.summary(id)?.title,
            events: content.events,
            len_bytes: content.len,
            blake3: content.digest,
            blobs: content.blobs.len() as u64,
        };
        let text = serde_json::to_vec_pretty(&manifest).map_err(|e| invalid(e.to_string()))?;
        let output = |source| Error::Output { source };
        let mut tar = tar::Builder::new(out);
        tar.append(&header(MANIFEST, text.len() as u64)?, text.as_slice()).map_err(output)?;
        let log = Slice::open(self, &dir.join(LOG_FILE), Some(content.len))?;
        tar.append(&header(LOG_FILE, content.len)?, log).map_err(output)?;
        for name in &content.blobs {
            let blob = Slice::open(self, &dir.join("blobs").join(name), None)?;
            tar.append(&header(&format!("blobs/{name}"), blob.left)?, blob).map_err(output)?;
        }
        tar.into_inner().and_then(|out| out.flush()).map_err(output)?;
        Ok(manifest)
    }

    fn content(&self, id: &SessionId, dir: &Path) -> Result<Content> {
        let failed = |e| Error::from_log(id, e);
        let mut reader = annals_log::Reader::open(self.disk(), dir).map_err(failed)?;
        let mut hasher = blake3::Hasher::new();
        let mut content = Content { len: 0, events: 0, digest: String::new(), blobs: BTreeSet::new() };
        while let Some(item) = reader.next_item().map_err(failed)? {
            match item {
                annals_log::Item::Gap(damage) => {
                    return Err(Error::Corrupt { id: id.clone(), path: dir.join(LOG_FILE), damage });
                }
                annals_log::Item::Line { line, bytes, offset } => {
                    if offset != content.len {
                        // Blank lines between events: legal, and none of this program's.
                        return Err(invalid("the log has blank lines in it; `annals repair` takes them out"));
                    }
                    hasher.update(bytes).update(b"\n");
                    content.len += bytes.len() as u64 + 1;
                    content.events += 1;
                    if let Ok(event) = Event::from_line(&line) {
                        let names = inspect::blobs_of(&event.payload).into_iter();
                        content.blobs.extend(names.filter(|name| blobs::is_name(name)).map(str::to_owned));
                    }
                }
            }
        }
        if content.events == 0 {
            return Err(Error::SessionNotFound { query: id.to_string(), similar: Vec::new() });
        }
        content.digest = hasher.finalize().to_hex().to_string();
        for name in &content.blobs {
            if let Some(wrong) =
                blobs::check(self.disk(), dir, name).map_err(|e| Error::io("read blob", name, e))?
            {
                return Err(invalid(format!("blob {name}: {wrong}")));
            }
        }
        Ok(content)
    }

    /// Makes a session of a bundle. It keeps its id when that is free here, and gets a new one when another session has it.
    ///
    /// # Errors
    /// [`Error::Bundle`] for a file that is none, or is not whole; nothing of it is left then. [`Error::Io`], [`Error::Operations`].
    ///
    /// # Durability
    /// The session is durable when this returns. A crash leaves all of it or nothing.
    pub fn import_bundle(&self, input: &mut dyn Read) -> Result<Unbundled> {
        let operating = self.operate()?;
        let tmp = self.shared.home.tmp();
        self.disk().create_dirs(&tmp).map_err(|e| Error::io("create", &tmp, e))?;
        tighten(&tmp)?;
        let built = self.new_id();
        let site = self.building_site(&built);
        let unpacked = self.unpack(input, &site);
        let manifest = match unpacked {
            Ok(manifest) => manifest,
            Err(error) => {
                // What can't be removed now is removed by the next operation.
                let _ = self.remove_tree(&site);
                return Err(error);
            }
        };
        let was = manifest.session.clone();
        let mut unbundled = Unbundled {
            id: was.clone(),
            was,
            present: false,
            events: manifest.events,
            blobs: manifest.blobs,
        };
        if self.contains(&unbundled.was) {
            if self.begins_so(&unbundled.was, &manifest)? {
                self.remove_tree(&site)?;
                unbundled.present = true;
                return Ok(unbundled);
            }
            unbundled.id = built;
        }
        let action =
            Action::Import { new: vec![unbundled.id.clone()], grown: 0, from: "a bundle".to_owned() };
        let number = operating.begin(action)?;
        let outcome = self.move_dir(&site, &self.session_dir(&unbundled.id));
        operating.end(number, outcome)?;
        self.took_in(&unbundled.id);
        Ok(unbundled)
    }

    /// Whether a session is the manifest's: its log begins with the same bytes.
    fn begins_so(&self, id: &SessionId, manifest: &Manifest) -> Result<bool> {
        let mut log = Slice::open(self, &self.session_dir(id).join(LOG_FILE), Some(manifest.len_bytes))?;
        let mut hasher = blake3::Hasher::new();
        let copied = std::io::copy(&mut log, &mut hasher).map_err(|e| Error::io("read", LOG_FILE, e))?;
        Ok(copied == manifest.len_bytes && hasher.finalize().to_hex().as_str() == manifest.blake3)
    }

    /// Unpacks a bundle into a directory and checks all of it. Durable when this returns.
    fn unpack(&self, input: &mut dyn Read, site: &Path) -> Result<Manifest> {
        let broken = |e: std::io::Error| invalid(format!("it can't be read to its end: {e}"));
        let mut archive = tar::Archive::new(input);
        let entries = archive.entries().map_err(broken)?;
        let mut manifest: Option<Manifest> = None;
        let mut log = None;
        let mut found = BTreeSet::new();
        for entry in entries {
            let mut entry = entry.map_err(broken)?;
            let path = entry.path_bytes().into_owned();
            let name =
                std::str::from_utf8(&path).map_err(|_| invalid("a name in it is not UTF-8"))?.to_owned();
            if entry.header().entry_type() != tar::EntryType::Regular {
                return Err(invalid(format!("{name:?} is no ordinary file")));
            }
            let len = entry.size();
            match (&manifest, name.strip_prefix("blobs/")) {
                (None, _) if name == MANIFEST => {
                    if len > MAX_MANIFEST_BYTES {
                        return Err(invalid("its manifest is too long"));
                    }
                    let mut text = Vec::new();
                    entry.read_to_end(&mut text).map_err(broken)?;
                    manifest = Some(parse(&text)?);
                }
                (None, _) => return Err(invalid("it does not begin with a manifest")),
                (Some(manifest), None) if name == LOG_FILE && log.is_none() => {
                    if len != manifest.len_bytes {
                        return Err(invalid("its log is not as long as its manifest says"));
                    }
                    self.disk().create_dirs(site).map_err(|e| Error::io("create", site, e))?;
                    tighten(site)?;
                    let digest = self.write(&mut entry, &site.join(LOG_FILE), len)?;
                    log = Some(digest);
                }
                (Some(manifest), Some(blob)) if log.is_some() && blobs::is_name(blob) => {
                    if found.len() as u64 >= manifest.blobs || !found.insert(blob.to_owned()) {
                        return Err(invalid("it has more blobs than its manifest says"));
                    }
                    let dir = site.join("blobs");
                    self.disk().create_dirs(&dir).map_err(|e| Error::io("create", &dir, e))?;
                    tighten(&dir)?;
                    if self.write(&mut entry, &dir.join(blob), len)? != blob {
                        return Err(invalid(format!("blob {blob} is not what its name says")));
                    }
                }
                _ => return Err(invalid(format!("{name:?} has no place in it"))),
            }
        }
        let (Some(manifest), Some(digest)) = (manifest, log) else {
            return Err(invalid("it is cut off, or no bundle"));
        };
        if digest != manifest.blake3 {
            return Err(invalid("its log is not what its manifest says"));
        }
        let content = self.content(&manifest.session, site).map_err(|e| match e {
            Error::Corrupt { damage, .. } => {
                invalid(format!("its log is damaged at line {}: {}", damage.line, damage.kind))
            }
            Error::SessionNotFound { .. } => invalid("its log has no event"),
            other => other,
        })?;
        if content.blobs != found || content.events != manifest.events || content.len != manifest.len_bytes {
            return Err(invalid("what is in it is not what its log refers to"));
        }
        for dir in [site.join("blobs"), site.to_owned()] {
            if self.disk().metadata(&dir).is_ok() {
                self.disk().sync_dir(&dir).map_err(|e| Error::io("sync", &dir, e))?;
            }
        }
        Ok(manifest)
    }

    /// Writes `len` bytes to a new file, durably, and gives their digest.
    fn write(&self, input: &mut impl Read, path: &Path, len: u64) -> Result<String> {
        let failed = |e| Error::io("write", path, e);
        let file = self.disk().open(path, OpenMode::CreateNew).map_err(failed)?;
        let (mut hasher, mut buf, mut at) = (blake3::Hasher::new(), vec![0; 256 * 1024], 0);
        loop {
            let read =
                input.read(&mut buf).map_err(|e| invalid(format!("it can't be read to its end: {e}")))?;
            if read == 0 {
                break;
            }
            let bytes = buf.get(..read).unwrap_or_default();
            hasher.update(bytes);
            write_full(file.as_ref(), bytes, at).map_err(failed)?;
            at += read as u64;
        }
        if at != len {
            return Err(invalid("it is cut off"));
        }
        file.sync().map_err(failed)?;
        Ok(hasher.finalize().to_hex().to_string())
    }
}

fn parse(text: &[u8]) -> Result<Manifest> {
    let manifest: Manifest =
        serde_json::from_slice(text).map_err(|e| invalid(format!("its manifest can't be read: {e}")))?;
    if manifest.annals_bundle != FORMAT {
        return Err(invalid(format!("it is of version {}; update annals", manifest.annals_bundle)));
    }
    Ok(manifest)
}

/// The same header for the same content: no time, no owner.
fn header(name: &str, len: u64) -> Result<tar::Header> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name).map_err(|source| Error::Output { source })?;
    header.set_size(len);
    header.set_mode(0o600);
    header.set_mtime(0);
    header.set_entry_type(tar::EntryType::Regular);
    header.set_cksum();
    Ok(header)
}

/// A file's beginning, to be read once.
struct Slice {
    file: Box<dyn DiskFile>,
    at: u64,
    left: u64,
}

impl Slice {
    fn open(store: &Store, path: &Path, len: Option<u64>) -> Result<Self> {
        let failed = |e| Error::io("read", PathBuf::from(path), e);
        let file = store.disk().open(path, OpenMode::Read).map_err(failed)?;
        let left = match len {
            Some(len) => len,
            None => file.len().map_err(failed)?,
        };
        Ok(Self { file, at: 0, left })
    }
}

impl Read for Slice {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buf.len());
        let read = self.file.read_at(buf.get_mut(..most).unwrap_or_default(), self.at)?;
        self.at += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}
