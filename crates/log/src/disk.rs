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

/// What is known of a name without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// The file's length in bytes. Means nothing for a directory.
    pub len: u64,
    /// When the file's bytes, or the directory's names, last changed: nanoseconds since 1970 by the system's clock, negative before.
    /// A power cut may leave new bytes under an older time: a sync promises the bytes and the length, not the time.
    pub mtime_ns: i64,
    /// Whether it is a directory. A link is none, wherever it leads.
    pub is_dir: bool,
    /// The number that the file system knows it by (its inode): the same for all names of one file, different for two files that exist at
    /// one time on one file system. Zero where the system gives none.
    pub identity: u64,
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

    /// Renames a file or a directory with all that is in it, in one step. A file replaces a file at `to`; a directory replaces an empty
    /// directory. Durable once the directory was synced; between two directories, once **both** were. Before that a power cut leaves the
    /// old place or the new one, whole: never neither, never both.
    ///
    /// # Errors
    /// As the system gives them: `NotFound`, `IsADirectory` and `NotADirectory` when only one of the two is a directory,
    /// `DirectoryNotEmpty`, `InvalidInput` for a directory into itself, ….
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file's name. Durable once the directory was synced.
    ///
    /// # Errors
    /// As the system gives them.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty directory. Durable once the directory above it was synced.
    ///
    /// # Errors
    /// As the system gives them: `DirectoryNotEmpty`, `NotADirectory`, `NotFound`, ….
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Gives the file `from` a second name: both are the same file. Durable once the directory of `to` was synced.
    ///
    /// # Errors
    /// As the system gives them: `AlreadyExists` when there is anything at `to`, `NotFound`, `PermissionDenied` for a directory,
    /// `Unsupported` where the file system has no second names, ….
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Copies up to `len` bytes of one file into another, which must exist, and returns how many it copied: less only where `from` ends.
    /// Nothing of it survives a power cut before a sync of `to`.
    ///
    /// # Errors
    /// As the system gives them. Part of the bytes may have been copied.
    fn copy_range(
        &self,
        from: &Path,
        from_offset: u64,
        len: u64,
        to: &Path,
        to_offset: u64,
    ) -> io::Result<u64> {
        let source = self.open(from, OpenMode::Read)?;
        let target = self.open(to, OpenMode::ReadWrite)?;
        let mut buf = vec![0; usize::try_from(len).unwrap_or(usize::MAX).min(COPY_BYTES)];
        let mut done = 0;
        while done < len {
            let want = usize::try_from(len - done).unwrap_or(usize::MAX).min(buf.len());
            let piece = buf.get_mut(..want).unwrap_or_default();
            let read = read_full(source.as_ref(), piece, from_offset + done)?;
            if read == 0 {
                break;
            }
            write_full(target.as_ref(), piece.get(..read).unwrap_or_default(), to_offset + done)?;
            done += read as u64;
        }
        Ok(done)
    }

    /// What is known of a name. A link is not followed: it is described itself.
    ///
    /// # Errors
    /// As the system gives them: `NotFound`, `NotADirectory`, ….
    fn metadata(&self, path: &Path) -> io::Result<Stat>;

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

/// How much is copied at a time where the system does not do the copying.
const COPY_BYTES: usize = 256 * 1024;

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
