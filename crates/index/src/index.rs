//! Opening the index: whatever is in its place, there is a usable one afterwards, and nothing of what was there is destroyed.
//!
//! ```text
//! absent                     made
//! of this version            used
//! of another, damaged,       renamed to index-<n>.bad.sqlite (its -wal and -shm with it), made anew
//!   not a database
//! can't be written           read, when it is whole; else one in memory
//! ```

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension};

use crate::error::{Error, Result};
use crate::schema;

/// How long a process waits for another one's transaction.
const BUSY: Duration = Duration::from_secs(10);

/// The write-ahead log is cut back to this size at checkpoints.
const WAL_LIMIT_BYTES: i64 = 16 * 1024 * 1024;

/// Pages of the write-ahead log (4 KiB each) after which they are put into the file.
const CHECKPOINT_PAGES: i64 = 2000;

/// How many set-aside indexes are kept.
const KEPT_BAD: u32 = 3;

/// The index.
#[derive(Debug)]
pub struct Index {
    pub(crate) connection: Connection,
    read_only: bool,
}

/// An index, and what stood in its way.
#[derive(Debug)]
pub struct Opened {
    /// The index.
    pub index: Index,
    /// The unusable one that was found in its place.
    pub set_aside: Option<SetAside>,
}

/// An unusable index that was put aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// Where it is now.
    pub path: PathBuf,
    /// Why it could not be used.
    pub reason: String,
}

impl Index {
    /// Opens the index for reading and writing, and makes one when there is none or none that can be used.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Sqlite`] when the place can't be written; see [`Error::is_read_only`].
    pub fn open(path: &Path) -> Result<Opened> {
        match Self::open_as_is(path) {
            Ok(index) => Ok(Opened { index, set_aside: None }),
            Err(error) if error.is_broken() => {
                let set_aside = Self::set_aside(path, error.to_string())?;
                Ok(Opened { index: Self::open_as_is(path)?, set_aside: Some(set_aside) })
            }
            Err(error) => Err(error),
        }
    }

    fn open_as_is(path: &Path) -> Result<Self> {
        own(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY)?;
        let mode: String = connection.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0))?;
        if mode != "wal" {
            return Err(Error::Unusable { reason: format!("its journal mode stays {mode:?}") });
        }
        connection.pragma_update(None, "journal_size_limit", WAL_LIMIT_BYTES)?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        let mut index = Self::configured(connection, false)?;
        schema::prepare(&mut index.connection)?;
        Ok(index)
    }

    /// Opens an index that is there, without changing anything.
    ///
    /// # Errors
    /// [`Error::Unusable`], [`Error::Sqlite`].
    pub fn open_read_only(path: &Path) -> Result<Self> {
        let open = |text: &Path, uri: bool| -> Result<Self> {
            let mut flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            if uri {
                flags |= OpenFlags::SQLITE_OPEN_URI;
            }
            let connection = Connection::open_with_flags(text, flags)?;
            connection.busy_timeout(BUSY)?;
            let mut index = Self::configured(connection, true)?;
            schema::prepare(&mut index.connection)?;
            Ok(index)
        };
        let wal = with_suffix(path, "-wal");
        match open(path, false) {
            // In a directory that can't be written SQLite can't make the shared memory of a write-ahead log. Without one there is no
            // writer either, and the file alone is the whole truth.
            Err(Error::Sqlite(_)) if std::fs::metadata(&wal).map_or(true, |wal| wal.len() == 0) => {
                open(&PathBuf::from(format!("file:{}?immutable=1", uri_path(path))), true)
            }
            other => other,
        }
    }

    /// An index that lives as long as the process.
    ///
    /// # Errors
    /// [`Error::Sqlite`].
    pub fn in_memory() -> Result<Self> {
        let mut index = Self::configured(Connection::open_in_memory()?, false)?;
        schema::prepare(&mut index.connection)?;
        Ok(index)
    }

    /// Puts an unusable index aside, with what SQLite keeps beside it. At most three are kept.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn set_aside(path: &Path, reason: String) -> Result<SetAside> {
        let failed = |e| Error::Io { action: "set aside", path: path.to_owned(), source: e };
        let name = |n: u32| path.with_extension(format!("bad-{n}.sqlite"));
        let target = (1..KEPT_BAD).map(name).find(|p| !p.exists()).unwrap_or_else(|| name(KEPT_BAD));
        std::fs::rename(path, &target).map_err(failed)?;
        for suffix in ["-wal", "-shm"] {
            match std::fs::rename(with_suffix(path, suffix), with_suffix(&target, suffix)) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(failed(e)),
                _ => {}
            }
        }
        Ok(SetAside { path: target, reason })
    }

    /// Deletes the index, so that it is made anew.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn delete(path: &Path) -> Result<()> {
        for suffix in ["-wal", "-shm", ""] {
            match std::fs::remove_file(with_suffix(path, suffix)) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::Io { action: "delete", path: path.to_owned(), source: e });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn configured(connection: Connection, read_only: bool) -> Result<Self> {
        connection.set_prepared_statement_cache_capacity(64);
        // Losing the last commits in a power cut is harmless: the logs are ahead and are read again.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "cache_size", -16 * 1024)?;
        connection.pragma_update(None, "mmap_size", 256_i64 * 1024 * 1024)?;
        Ok(Self { connection, read_only })
    }

    /// Whether nothing can be written.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Whether what is written here is there for the next process.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        !self.read_only && self.connection.path().is_some_and(|path| !path.is_empty())
    }

    /// The size of the index in bytes.
    ///
    /// # Errors
    /// [`Error::Sqlite`].
    pub fn len_bytes(&self) -> Result<u64> {
        let pages: u64 = self.connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        let page: u64 = self.connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        Ok(pages * page)
    }

    /// What is wrong with the file, as far as SQLite can tell; empty when nothing is.
    ///
    /// # Errors
    /// [`Error::Sqlite`].
    pub fn check(&self) -> Result<Vec<String>> {
        let mut statement = self.connection.prepare("PRAGMA quick_check(20)")?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
        let lines: std::result::Result<Vec<String>, _> = rows.collect();
        Ok(lines?.into_iter().filter(|line| line != "ok").collect())
    }

    /// A remembered fact.
    ///
    /// # Errors
    /// [`Error::Sqlite`].
    pub fn fact(&self, name: &str) -> Result<Option<String>> {
        let mut statement = self.connection.prepare_cached("SELECT value FROM fact WHERE name = ?1")?;
        Ok(statement.query_row([name], |row| row.get(0)).optional()?)
    }

    /// Remembers a fact.
    ///
    /// # Errors
    /// [`Error::Sqlite`].
    pub fn set_fact(&self, name: &str, value: &str) -> Result<()> {
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO fact VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value <> excluded.value",
        )?;
        statement.execute([name, value])?;
        Ok(())
    }

    /// Puts what is in the write-ahead log into the file, and tidies up.
    ///
    /// # Errors
    /// [`Error::Sqlite`].
    pub fn settle(&self) -> Result<()> {
        self.connection.execute_batch("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE);")?;
        Ok(())
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A path as it stands in an SQLite URI.
fn uri_path(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

/// Makes the file its owner's alone before SQLite makes it with whatever rights are usual.
#[cfg(unix)]
fn own(path: &Path) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(Error::Io { action: "create", path: path.to_owned(), source: e })
        }
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn own(_path: &Path) -> Result<()> {
    Ok(())
}
