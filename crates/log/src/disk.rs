//! The narrow door to the file system: everything that the log does to a disk goes through [`Disk`] and [`DiskFile`].
//!
//! Narrow so that a simulated disk can lose, tear and reorder what was not synced, fill up, and fail at any call, while the
//! real open and append code runs above it. [`OsDisk`] is the real one.
//!
//! What a sync promises is written at the methods that give it; nothing else survives a power cut.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod os;
pub use os::OsDisk;

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// An existing file, for reading; a link is not followed.
    Read,
    /// An existing file, for reading and writing; a link is not followed.
    ReadWrite,
    /// A new file, for reading and writing; it must not exist.
    CreateNew,
    /// A file for reading and writing, made when it does not exist; a link is not followed.
    CreateOrOpen,
}

/// A file system.
pub trait Disk: Send + Sync + Debug {
    /// Opens a file. New files are for their owner only (0600).
    ///
    /// # Errors
    /// As the system gives them: `NotFound`, `AlreadyExists`, `PermissionDenied`, ….
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>>;

    /// Makes a directory and those above it, for their owner only (0700). Existing ones are left as they are.
    /// The new names survive a power cut once each parent was synced with [`Disk::sync_dir`].
    ///
    /// # Errors
    /// As the system gives them.
    fn create_dirs(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable: those created, renamed and removed since the last call.
    ///
    /// # Errors
    /// As the system gives them.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Renames a file, replacing `to` in one step. Durable once the directory was synced.
    ///
    /// # Errors
    /// As the system gives them.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file. Durable once the directory was synced.
    ///
    /// # Errors
    /// As the system gives them.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// The entries of a directory, in no order.
    ///
    /// # Errors
    /// As the system gives them.
    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>>;
}

/// An open file. Methods take `&self`: positions are explicit, and the log's committer is the only writer.
#[allow(clippy::len_without_is_empty)] // nobody asks a log whether it is empty
pub trait DiskFile: Send + Sync + Debug {
    /// Reads at an offset; 0 at the end of the file. May read less than asked.
    ///
    /// # Errors
    /// As the system gives them.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes at an offset; may write less than asked. Nothing survives a power cut before a sync.
    ///
    /// # Errors
    /// As the system gives them.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize>;

    /// Cuts or extends (with zeros) the file.
    ///
    /// # Errors
    /// As the system gives them.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// The file's length.
    ///
    /// # Errors
    /// As the system gives them.
    fn len(&self) -> io::Result<u64>;

    /// Makes the bytes and the length durable (`fdatasync`, `F_FULLFSYNC` on macOS).
    ///
    /// # Errors
    /// As the system gives them. After an error the bytes' fate is unknown and asking again proves nothing.
    fn sync(&self) -> io::Result<()>;

    /// Takes the exclusive lock that the system frees when its holder dies. False when another holds it.
    ///
    /// # Errors
    /// As the system gives them, `Unsupported` where the file system has no locks.
    fn try_lock(&self) -> io::Result<bool>;
}

/// A shared file system.
pub type SharedDisk = Arc<dyn Disk>;

/// Reads up to `buf.len()` bytes at an offset, going on after short reads; less only at the end of the file.
///
/// # Errors
/// As [`DiskFile::read_at`].
pub fn read_full(file: &dyn DiskFile, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

/// Writes all of `buf` at an offset, going on after short writes.
///
/// # Errors
/// As [`DiskFile::write_at`]; `WriteZero` when the system accepts nothing. Part of `buf` may have been written.
pub fn write_full(file: &dyn DiskFile, buf: &[u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while let Some(rest) = buf.get(done..).filter(|rest| !rest.is_empty()) {
        match file.write_at(rest, offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
