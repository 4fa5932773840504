//! Blobs: bytes beside the log, named by their BLAKE3, written once.
//!
//! INVARIANT: a blob that exists is never opened for writing. It is written under another name, synced, and only then given its own. One
//! thread at a time: the session's writer holds a lock around [`put`], since the name to write under follows from the bytes.

use std::io;
use std::path::{Path, PathBuf};

use annals_log::disk::{Disk, OpenMode, read_full, write_full};

use crate::error::{Error, Result};
use crate::home::tighten;

/// Whether a text can be a blob's name: 64 lower-case hex digits.
pub(crate) fn is_name(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn path_of(session: &Path, name: &str) -> PathBuf {
    session.join("blobs").join(name)
}

/// Keeps bytes and returns their name. Durable when this returns.
pub(crate) fn put(disk: &dyn Disk, session: &Path, bytes: &[u8]) -> Result<String> {
    let name = blake3::hash(bytes).to_hex().to_string();
    let path = path_of(session, &name);
    let dir = session.join("blobs");
    let failed = |e| Error::io("write", &path, e);
    let present = disk.open(&path, OpenMode::Read).and_then(|file| file.len());
    // One of another length was damaged: a whole one takes its place.
    if present.is_ok_and(|len| len == bytes.len() as u64) {
        // Whoever gave it its name may have been killed before that was durable.
        disk.sync_dir(&dir).and_then(|()| disk.sync_dir(session)).map_err(failed)?;
        return Ok(name);
    }
    disk.create_dirs(&dir).map_err(failed)?;
    tighten(&dir)?;
    let temporary = dir.join(format!("{name}.tmp"));
    let file = match disk.open(&temporary, OpenMode::CreateNew) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            // A crash left it; its writer, the only one, is gone.
            disk.remove(&temporary)
                .and_then(|()| disk.open(&temporary, OpenMode::CreateNew))
                .map_err(failed)?
        }
        other => other.map_err(failed)?,
    };
    let written = write_full(file.as_ref(), bytes, 0)
        .and_then(|()| file.sync())
        .and_then(|()| disk.rename(&temporary, &path))
        .and_then(|()| disk.sync_dir(&dir))
        .and_then(|()| disk.sync_dir(session));
    if let Err(error) = written {
        // On a full disk the half-written bytes would stand in the way of everything else.
        let _ = disk.remove(&temporary);
        return Err(failed(error));
    }
    Ok(name)
}

/// Gives a session all the blobs of another one: the same bytes on disk where the file system can, else copies. Durable when this returns.
pub(crate) fn link_all(disk: &dyn Disk, from: &Path, to: &Path) -> Result<()> {
    let (from, to_dir) = (from.join("blobs"), to.join("blobs"));
    let mut names = match disk.list(&from) {
        Ok(paths) => paths,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(Error::io("read", from, e)),
    };
    names.retain(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_name));
    if names.is_empty() {
        return Ok(());
    }
    let failed = |e| Error::io("write", &to_dir, e);
    disk.create_dirs(&to_dir).map_err(failed)?;
    tighten(&to_dir)?;
    for path in names {
        let Some(name) = path.file_name() else { continue };
        let target = to_dir.join(name);
        if disk.hard_link(&path, &target).is_err() {
            copy(disk, &path, &target).map_err(failed)?;
        }
    }
    disk.sync_dir(&to_dir).and_then(|()| disk.sync_dir(to)).map_err(failed)
}

fn copy(disk: &dyn Disk, from: &Path, to: &Path) -> io::Result<()> {
    let source = disk.open(from, OpenMode::Read)?;
    let target = disk.open(to, OpenMode::CreateNew)?;
    let mut buf = vec![0; 256 * 1024];
    let mut at = 0;
    loop {
        let read = read_full(source.as_ref(), &mut buf, at)?;
        if read == 0 {
            return target.sync();
        }
        write_full(target.as_ref(), buf.get(..read).unwrap_or_default(), at)?;
        at += read as u64;
    }
}

/// Reads a blob, at most `limit_bytes` of it from `offset` on.
pub(crate) fn read(
    disk: &dyn Disk,
    session: &Path,
    name: &str,
    offset: u64,
    limit_bytes: usize,
) -> io::Result<Vec<u8>> {
    if !is_name(name) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let file = disk.open(&path_of(session, name), OpenMode::Read)?;
    let len = usize::try_from(file.len()?.saturating_sub(offset)).unwrap_or(usize::MAX).min(limit_bytes);
    let mut bytes = vec![0; len];
    let read = read_full(file.as_ref(), &mut bytes, offset)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Whether a blob is there and whole: None when it is, else what is wrong.
pub(crate) fn check(disk: &dyn Disk, session: &Path, name: &str) -> io::Result<Option<&'static str>> {
    if !is_name(name) {
        return Ok(Some("its name is no digest"));
    }
    let file = match disk.open(&path_of(session, name), OpenMode::Read) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Some("it is missing")),
        Err(e) => return Err(e),
    };
    let mut hasher = blake3::Hasher::new();
    let mut buf = vec![0; 256 * 1024];
    let mut at = 0;
    loop {
        let read = read_full(file.as_ref(), &mut buf, at)?;
        if read == 0 {
            break;
        }
        hasher.update(buf.get(..read).unwrap_or_default());
        at += read as u64;
    }
    let whole = hasher.finalize().to_hex().as_str() == name;
    Ok((!whole).then_some("its bytes are not the ones that it is named after"))
}
