//! What sessions take on disk: their own bytes, and those that they share with copies of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use annals_log::LOG_FILE;
use annals_model::SessionId;
use serde::Serialize;

use crate::error::Result;
use crate::index::INDEX_FILE;
use crate::list;
use crate::store::Store;

/// What a session takes on disk, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Space {
    /// Its log.
    pub log: u64,
    /// Blobs that no other session has: images, attachments, the raw bytes of imports.
    pub blobs: u64,
    /// Blobs that copies of it have too. They take their space once, whoever is deleted.
    pub shared: u64,
    /// What crashes and repairs left: torn ends, damaged originals.
    pub leftovers: u64,
}

impl Space {
    /// What deleting the session for good would free.
    #[must_use]
    pub fn own(&self) -> u64 {
        self.log + self.blobs + self.leftovers
    }
}

/// What a data directory takes on disk, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct DiskUse {
    /// Every session, the largest first.
    pub sessions: Vec<(SessionId, Space)>,
    /// All logs.
    pub logs: u64,
    /// All blobs, those that are shared once.
    pub blobs: u64,
    /// Torn ends and damaged originals.
    pub leftovers: u64,
    /// The index, its signatures and words in it.
    pub index: u64,
    /// Of the index: the signatures that substring search asks.
    pub signatures: u64,
    /// Of the index: the words that ranked search asks.
    pub words: u64,
    /// The trash.
    pub trash: u64,
    /// The operations log.
    pub operations: u64,
}

impl DiskUse {
    /// Everything.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.logs + self.blobs + self.leftovers + self.index + self.trash + self.operations
    }
}

/// A file's inode and length.
type File = (PathBuf, u64, u64);

impl Store {
    /// What everything takes on disk. Looks at every file's size and reads none.
    ///
    /// # Errors
    /// [`crate::Error::Io`], [`crate::Error::Index`].
    pub fn disk_use(&self) -> Result<DiskUse> {
        let ids = list::ids(self.disk(), &self.shared.home)?;
        let mut links: HashMap<u64, (u32, u64)> = HashMap::new();
        let mut all: Vec<(SessionId, Vec<File>, Vec<File>)> = Vec::with_capacity(ids.len());
        for id in ids {
            let dir = self.session_dir(&id);
            let (files, blobs) = (self.files(&dir), self.files(&dir.join("blobs")));
            for (_, inode, len) in &blobs {
                links.entry(*inode).or_insert((0, *len)).0 += 1;
            }
            all.push((id, files, blobs));
        }
        let mut found = DiskUse {
            blobs: links.values().map(|(_, len)| len).sum(),
            trash: self.trash()?.iter().map(|entry| entry.len_bytes).sum(),
            operations: self.size_of(&self.shared.home.root().join("operations")),
            ..DiskUse::default()
        };
        for (id, files, blobs) in all {
            let mut space = Space::default();
            for (path, _, len) in files {
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                if name == LOG_FILE {
                    space.log += len;
                } else if name.starts_with("torn-") || name.starts_with("damaged-") {
                    space.leftovers += len;
                }
            }
            for (_, inode, len) in blobs {
                let is_shared = links.get(&inode).is_some_and(|(count, _)| *count > 1);
                *(if is_shared { &mut space.shared } else { &mut space.blobs }) += len;
            }
            found.logs += space.log;
            found.leftovers += space.leftovers;
            found.sessions.push((id, space));
        }
        found.sessions.sort_by(|a, b| b.1.own().cmp(&a.1.own()).then_with(|| a.0.cmp(&b.0)));
        let index = self.shared.home.root().join(INDEX_FILE);
        for suffix in ["", "-wal", "-shm"] {
            let path = PathBuf::from(format!("{}{suffix}", index.display()));
            found.index += self.disk().metadata(&path).map_or(0, |found| found.len);
        }
        (found.signatures, found.words) = self.shared.indexer.ask(|index| Ok(index.search_bytes()?))?;
        Ok(found)
    }

    fn files(&self, dir: &Path) -> Vec<File> {
        let paths = self.disk().list(dir).unwrap_or_default().into_iter();
        let file = |path: PathBuf| {
            let found = self.disk().metadata(&path).ok().filter(|found| !found.is_dir)?;
            Some((path, found.identity, found.len))
        };
        paths.filter_map(file).collect()
    }
}
