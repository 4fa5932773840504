//! What the index does for an import: it knows the files that are unchanged, gives numbers, and takes in what was imported.

use std::collections::{HashMap, HashSet};

use annals_index::Stamp;
use annals_interop::SourceFile;
use annals_interop::claude_code::Found;
use annals_model::SessionId;

use super::{Imported, Progress, Quiet};
use crate::index::{Reach, read_text, sweep};
use crate::store::Store;

/// From this many sessions on all logs are looked at together, instead of each one alone.
const MANY: u64 = 64;

/// What is to be done.
pub(super) struct Plan<'a> {
    /// The files that may have something new.
    pub(super) todo: Vec<&'a SourceFile>,
    /// The numbers of sessions that are not there yet.
    pub(super) numbers: HashMap<SessionId, u64>,
}

impl Store {
    /// Leaves out what the index knows to be unchanged, and what is in the trash. An index that can't be asked leaves everything to do.
    pub(super) fn plan<'a>(&self, found: &'a Found, report: &mut Imported) -> Plan<'a> {
        let shared = &self.shared;
        let known = shared.indexer.ask(|index| {
            // Logs too: one that was cut or replaced behind the index's back is not what was imported.
            sweep(shared, index, Reach::Files, &mut Quiet)?;
            Ok(index.sources()?)
        });
        let known = known.unwrap_or_default();
        let trashed = self.ids_in_trash();
        let mut todo = Vec::new();
        for source in &found.files {
            let look = known.get(source.path.to_string_lossy().as_ref());
            if look == Some(&(source.size, source.mtime_ms)) {
                report.unchanged += 1;
            } else if trashed.contains(&source.suggested) && !self.contains(&source.suggested) {
                report.trashed += 1;
            } else {
                todo.push(source);
            }
        }
        let new: Vec<&SessionId> =
            todo.iter().map(|source| &source.suggested).filter(|id| !self.contains(id)).collect();
        let numbers = if new.is_empty() { HashMap::new() } else { self.reserve(&new) };
        Plan { todo, numbers }
    }

    fn ids_in_trash(&self) -> HashSet<SessionId> {
        let entries = self.disk().list(&self.shared.home.trash()).unwrap_or_default();
        let names = entries.iter().filter_map(|path| path.file_name()?.to_str()?.split_once('-'));
        names.filter_map(|(_, id)| SessionId::parse(id).ok()).collect()
    }

    /// Gives numbers to sessions that are about to be made, for their logs to record. None when the index does not last.
    fn reserve(&self, ids: &[&SessionId]) -> HashMap<SessionId, u64> {
        let numbers = self.shared.indexer.ask(|index| {
            if !index.is_kept() {
                return Ok(HashMap::new());
            }
            let mut numbers = HashMap::with_capacity(ids.len());
            let mut write = index.write()?;
            for id in ids {
                let number = write.hide(id, "unfinished", Stamp::default())?;
                numbers.insert((*id).clone(), number);
            }
            write.commit()?;
            Ok(numbers)
        });
        numbers.unwrap_or_default()
    }

    /// Takes what was imported into the index, its text too. Trouble is noted: whoever lists or searches finds it all the same.
    pub(super) fn take_in(&self, imported: &Imported, progress: &mut dyn Progress) {
        let shared = &self.shared;
        shared.indexer.tell(|index| {
            if imported.imported >= MANY {
                for session in &imported.sessions {
                    index.unmark_live(&session.id)?;
                }
                sweep(shared, index, Reach::Files, &mut Quiet)?;
            } else {
                sweep(shared, index, Reach::Names, &mut Quiet)?;
            }
            read_text(shared, index, progress)
        });
    }
}
