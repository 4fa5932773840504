//! The index made anew, and compared with what a new one would say.

use std::collections::BTreeMap;

use annals_index::{By, Filter, Index, Row, UsageRow};
use annals_model::{SessionId, Timestamp};

use crate::error::Result;
use crate::import::{Progress, Quiet};
use crate::index::{Reach, read_text, sweep};
use crate::store::Store;

impl Store {
    /// Brings the index up to date with every log, and the search indexes too when `text` is set. A list and a search do so by themselves;
    /// this is for whoever wants it done now, with progress.
    ///
    /// # Errors
    /// [`crate::Error::Index`], [`crate::Error::Io`].
    pub fn update_index(&self, text: bool, progress: &mut dyn Progress) -> Result<()> {
        let shared = &self.shared;
        shared.indexer.ask(|index| {
            sweep(shared, index, Reach::Files, progress)?;
            if text {
                read_text(shared, index, progress)?;
            }
            if index.is_kept() {
                index.settle()?;
            }
            Ok(())
        })
    }

    /// Deletes the index and makes it anew from the logs.
    ///
    /// # Errors
    /// [`crate::Error::Index`], [`crate::Error::Io`].
    pub fn reindex(&self, text: bool, progress: &mut dyn Progress) -> Result<()> {
        self.shared.indexer.discard()?;
        self.update_index(text, progress)
    }

    /// What is wrong with the index: damage, and sessions of which it says something else than their logs. Reads every log.
    ///
    /// # Errors
    /// [`crate::Error::Index`], [`crate::Error::Io`].
    pub fn check_index(&self, progress: &mut dyn Progress) -> Result<Vec<String>> {
        let shared = &self.shared;
        let mut fresh = Index::in_memory()?;
        sweep(shared, &mut fresh, Reach::Files, progress)?;
        shared.indexer.ask(|index| {
            sweep(shared, index, Reach::Files, &mut Quiet)?;
            let mut wrong = index.check()?;
            wrong.extend(differences(index, &fresh)?);
            Ok(wrong)
        })
    }

    /// What was spent between two times, to the hour, by the sessions that a filter leaves. Days come oldest first, all else by output tokens,
    /// most first.
    ///
    /// # Errors
    /// [`crate::Error::Index`], [`crate::Error::Io`].
    pub fn usage(
        &self,
        by: By,
        filter: &Filter,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<Vec<UsageRow>> {
        let shared = &self.shared;
        shared.indexer.ask(|index| {
            sweep(shared, index, Reach::Files, &mut Quiet)?;
            Ok(index.usage(by, filter, since, until)?)
        })
    }
}

/// What two indexes say differently, but for numbers that no log names.
fn differences(kept: &Index, fresh: &Index) -> Result<Vec<String>> {
    let rows = |index: &Index| -> Result<BTreeMap<SessionId, Row>> {
        let page = index.list(&Filter::default(), 0, 0)?;
        Ok(page.rows.into_iter().map(|row| (row.id.clone(), row)).collect())
    };
    let (mut kept_rows, fresh_rows) = (rows(kept)?, rows(fresh)?);
    let mut wrong = Vec::new();
    for (id, fresh_row) in fresh_rows {
        let recorded = fresh.number_of(&id)?.is_some_and(|(_, recorded)| recorded);
        match kept_rows.remove(&id) {
            None => wrong.push(format!("session {id} is missing in the index")),
            Some(kept_row) => {
                let number = if recorded { fresh_row.number } else { kept_row.number };
                let expected = Row { number, ..fresh_row };
                if kept_row != expected {
                    wrong.push(format!("the index says something else of session {id} than its log"));
                }
            }
        }
    }
    wrong.extend(kept_rows.into_keys().map(|id| format!("the index lists session {id}, which is not there")));
    let usage = |index: &Index| index.usage(By::Model, &Filter::default(), None, None);
    if usage(kept)? != usage(fresh)? {
        wrong.push("the index's statistics are not what the logs say".to_owned());
    }
    Ok(wrong)
}
