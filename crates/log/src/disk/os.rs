//! The real file system.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::{Disk, DiskFile, OpenMode, Stat};

/// The operating system's file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsDisk;

impl OsDisk {
    fn file(path: &Path, mode: OpenMode) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true);
        match mode {
            OpenMode::Read => {}
            OpenMode::ReadWrite => {
                options.write(true);
            }
            OpenMode::CreateNew => {
                options.write(true).create_new(true);
            }
            OpenMode::CreateOrOpen => {
                options.write(true).create(true).truncate(false);
            }
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            // O_NOFOLLOW: a link inside the store is not followed, whoever put it there.
            let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC;
            options.mode(0o600).custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
        }
        options.open(path)
    }
}

impl Disk for OsDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(OsFile(Self::file(path, mode)?)))
    }

    fn create_dirs(&self, path: &Path) -> io::Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        // Windows can't sync a directory; NTFS journals its names. docs/guarantees.md says what that leaves open.
        if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir(path)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)
    }

    /// The system copies by itself where it can (`copy_file_range` on Linux, which shares the blocks on some file systems).
    fn copy_range(
        &self,
        from: &Path,
        from_offset: u64,
        len: u64,
        to: &Path,
        to_offset: u64,
    ) -> io::Result<u64> {
        let mut source = Self::file(from, OpenMode::Read)?;
        let mut target = Self::file(to, OpenMode::ReadWrite)?;
        source.seek(SeekFrom::Start(from_offset))?;
        target.seek(SeekFrom::Start(to_offset))?;
        io::copy(&mut source.take(len), &mut target)
    }

    fn metadata(&self, path: &Path) -> io::Result<Stat> {
        let found = std::fs::symlink_metadata(path)?;
        let (mtime_ns, identity) = time_and_identity(&found)?;
        Ok(Stat { len: found.len(), mtime_ns, is_dir: found.is_dir(), identity })
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        std::fs::read_dir(path)?.map(|entry| entry.map(|e| e.path())).collect()
    }
}

#[cfg(unix)]
#[allow(clippy::unnecessary_wraps)] // elsewhere the time may be missing
fn time_and_identity(found: &Metadata) -> io::Result<(i64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let mtime_ns = found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec());
    Ok((mtime_ns, found.ino()))
}

#[cfg(not(unix))]
fn time_and_identity(found: &Metadata) -> io::Result<(i64, u64)> {
    let since = found.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Ok((i64::try_from(since.as_nanos()).unwrap_or(i64::MAX), 0))
}

#[derive(Debug)]
struct OsFile(File);

impl DiskFile for OsFile {
    #[cfg(unix)]
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.0, buf, offset)
    }

    #[cfg(unix)]
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::write_at(&self.0, buf, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.0, buf, offset)
    }

    #[cfg(windows)]
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_write(&self.0, buf, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.0.metadata().map(|m| m.len())
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn try_lock(&self) -> io::Result<bool> {
        match self.0.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(e)) => Err(e),
        }
    }
}
