//! The data directory: where sessions lie, who may read them, and on what kind of file system.
//!
//! ```text
//! <home>/README.txt                       what these files are and which may be deleted
//! <home>/sessions/<id>/events.jsonl       the log
//!                      writer.lock        the lock; says who holds it
//!                      blobs/<blake3>     images, attachments, raw bytes of imports
//!                      torn-<seq>.bin     what a crash left behind the last whole event
//!                      inbox/             what others want recorded in the log, for its owner to take in
//! <home>/operations/events.jsonl          what was done to sessions
//! <home>/trash/<time>-<id>/               deleted sessions
//! <home>/tmp/                             copies that are being built
//! <home>/index.sqlite                     what lists and searches ask; made from the logs
//! ```

use std::io;
use std::path::{Path, PathBuf};

use annals_log::disk::{Disk, OpenMode, write_full};
use annals_model::SessionId;

use crate::error::{Error, Result};

const NOTE_BEGINNING: &str = "This is a data directory of Annals.";

const README: &str = "\
This is a data directory of Annals. Each directory in sessions/ is one session:

  events.jsonl     the session itself, one event a line. Never edit it; `annals show` and `jq` read it.
  writer.lock      says which process writes the session. May be deleted while none does.
  blobs/           images, attachments and raw bytes that the events refer to.
  torn-*.bin       bytes that a crash left unfinished; no event is in them. May be deleted.
  damaged-*.jsonl  the original of a log that was repaired. May be deleted once you are satisfied.

Beside them:

  index.sqlite*    what lists and searches ask. Made from the sessions; may be deleted at any time.
  operations/      what was done to sessions, for `annals log` and `annals undo`.
  trash/           deleted sessions. `annals trash` shows, restores and empties it.
  tmp/             copies that are being built. May be deleted while no annals runs.

To move everything, move this directory. To delete a session, delete its directory.
";

/// The data directory.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    root: PathBuf,
}

impl Home {
    /// Looks at a data directory. Creates nothing.
    pub(crate) fn open(root: &Path, allow_network_fs: bool) -> Result<Self> {
        let home = Self { root: root.to_owned() };
        match std::fs::metadata(root) {
            Ok(found) if !found.is_dir() => {
                return Err(Error::NotAStore { path: root.to_owned(), reason: "it is a file" });
            }
            Ok(_) => {
                let mut entries = std::fs::read_dir(root).map_err(|e| Error::io("read", root, e))?;
                if entries.next().is_some() && !home.sessions().is_dir() && !home.has_our_note() {
                    let reason = "it holds other files and no sessions directory";
                    return Err(Error::NotAStore { path: root.to_owned(), reason });
                }
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(Error::io("read", root, e)),
        }
        match network_file_system(root) {
            Some(kind) if !allow_network_fs => Err(Error::NetworkFileSystem { path: root.to_owned(), kind }),
            _ => Ok(home),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// Where copies are built before they get their names.
    pub(crate) fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// A session's directory. Safe for any id: a [`SessionId`] can't leave it.
    pub(crate) fn session(&self, id: &SessionId) -> PathBuf {
        self.sessions().join(id.as_str())
    }

    fn note(&self) -> PathBuf {
        self.root.join("README.txt")
    }

    /// Whether the note for people is here. Many directories have a file of its name.
    fn has_our_note(&self) -> bool {
        std::fs::read(self.note()).is_ok_and(|text| text.starts_with(NOTE_BEGINNING.as_bytes()))
    }

    /// Takes from others what rights they have to the directories.
    pub(crate) fn tighten(&self) -> Result<()> {
        tighten(&self.root)?;
        tighten(&self.sessions())
    }

    /// Makes the directories and the note for people. INVARIANT: the note is there only once the names above the home are durable, so that
    /// a process that was killed between making and syncing them leaves the sync to the next one.
    pub(crate) fn prepare(&self, disk: &dyn Disk) -> Result<()> {
        let sessions = self.sessions();
        disk.create_dirs(&sessions).map_err(|e| Error::io("create", &sessions, e))?;
        self.tighten()?;
        let readme = self.note();
        if disk.open(&readme, OpenMode::Read).is_ok() {
            return Ok(());
        }
        sync_above(disk, &self.root)?;
        match disk.open(&readme, OpenMode::CreateNew) {
            Ok(file) => {
                write_full(file.as_ref(), README.as_bytes(), 0).map_err(|e| Error::io("write", readme, e))
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(e) => Err(Error::io("create", readme, e)),
        }
    }
}

/// Makes the names of a new home, and of the directories made with it, durable. The log sees to those below.
fn sync_above(disk: &dyn Disk, root: &Path) -> Result<()> {
    for above in root.ancestors().skip(1) {
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        match disk.sync_dir(above) {
            Ok(()) => {}
            // Directories that are not ours to open were there before us, and some file systems have nothing to sync.
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::PermissionDenied
                        | io::ErrorKind::NotFound
                        | io::ErrorKind::InvalidInput
                        | io::ErrorKind::Unsupported
                ) => {}
            Err(e) => return Err(Error::io("sync", above, e)),
        }
    }
    Ok(())
}

/// Makes a file or directory its owner's alone, if it is not. Entries that are not there are left at that.
#[cfg(unix)]
pub(crate) fn tighten(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let Ok(found) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let mode = found.permissions().mode();
    if mode & 0o077 == 0 || found.is_symlink() {
        return Ok(());
    }
    let tight = std::fs::Permissions::from_mode(mode & 0o700);
    std::fs::set_permissions(path, tight).map_err(|e| Error::io("tighten the permissions of", path, e))
}

/// Windows: files inherit the rights of the user's profile; nothing is changed.
#[cfg(not(unix))]
pub(crate) fn tighten(_path: &Path) -> Result<()> {
    Ok(())
}

/// The name of the network file system that a path, or the nearest directory above it, lies on.
#[cfg(target_os = "linux")]
fn network_file_system(path: &Path) -> Option<&'static str> {
    let found = path.ancestors().find_map(|p| rustix::fs::statfs(p).ok())?;
    // From linux/magic.h and the file systems' own headers.
    match u64::try_from(found.f_type).unwrap_or(0) & 0xffff_ffff {
        0x6969 => Some("NFS"),
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => Some("SMB"),
        0x0102_1997 => Some("9p"),
        0x5346_414f | 0x6b41_4653 => Some("AFS"),
        0x00c3_6400 => Some("Ceph"),
        _ => None,
    }
}

/// macOS names the file system, and says whether it is of this machine.
#[cfg(target_os = "macos")]
fn network_file_system(path: &Path) -> Option<&'static str> {
    let found = path.ancestors().find_map(|p| rustix::fs::statfs(p).ok())?;
    let name: Vec<u8> =
        found.f_fstypename.iter().map(|c| c.to_ne_bytes()[0]).take_while(|b| *b != 0).collect();
    match name.as_slice() {
        b"nfs" => Some("NFS"),
        b"smbfs" => Some("SMB"),
        b"afpfs" => Some("AFP"),
        b"afs" | b"auristorfs" => Some("AFS"),
        b"webdav" => Some("WebDAV"),
        _ => None,
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn network_file_system(_path: &Path) -> Option<&'static str> {
    None
}
