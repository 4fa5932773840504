//! Words across sessions: ranked by the table of words; the text around them is read from the logs.

use annals_index::{Index, WordHit};
use annals_log::LOG_FILE;
use annals_log::disk::{OpenMode, read_full};
use annals_model::event::Event;
use annals_model::line::check;
use annals_search::excerpt::{WIDTH, excerpt};
use annals_search::query::Query;
use annals_search::text::{Role, transcript_text};
use annals_search::words::{fts_expression, word_ranges};

use super::{Answer, Hit, Search};
use crate::error::{Error, Result};
use crate::store::Store;

pub(super) fn search(store: &Store, index: &Index, search: &Search, query: &Query) -> Result<Answer> {
    let role = match search.roles.as_slice() {
        [one] => Some(*one),
        _ => None,
    };
    let limit = if search.limit == 0 { u64::MAX } else { search.limit };
    let nothing = || Error::InvalidQuery { reason: "there is no word in it; --exact finds signs".to_owned() };
    // Stop words are no condition, unless there is nothing else.
    let telling = query.without_stop_words();
    let find = |all: bool| -> Result<annals_index::WordHits> {
        let expression =
            fts_expression(&telling, all).or_else(|| fts_expression(query, all)).ok_or_else(nothing)?;
        Ok(index.words(&expression, &search.filter, role, limit)?)
    };
    let mut found = find(true)?;
    let relaxed = found.total == 0 && telling.terms.len() > 1;
    if relaxed {
        found = find(false)?;
    }
    let total = found.total;
    let relaxed = relaxed && total > 0;
    let mut hits = Vec::with_capacity(found.hits.len());
    for word_hit in found.hits {
        hits.extend(hit(store, index, &telling, word_hit)?);
    }
    Ok(Answer { total, relaxed, hits })
}

/// A hit with its text. None when its log is gone or another one since the index was asked.
fn hit(store: &Store, index: &Index, query: &Query, found: WordHit) -> Result<Option<Hit>> {
    let WordHit { session, seq, at, len, role, ts, .. } = found;
    let Some(text) = text(store, &session, at, len, role) else { return Ok(None) };
    let title = index.row(&session)?.and_then(|row| row.title);
    let hit = Hit {
        session,
        title,
        seq,
        role: role.as_str(),
        time: ts,
        excerpt: String::new(),
        ranges: Vec::new(),
    };
    let ranges = word_ranges(&text, query);
    Ok(Some(hit.cut(excerpt(&text, &ranges, WIDTH))))
}

fn text(store: &Store, id: &annals_model::SessionId, at: u64, len: u64, role: Role) -> Option<String> {
    let path = store.session_dir(id).join(LOG_FILE);
    let file = store.disk().open(&path, OpenMode::Read).ok()?;
    let mut bytes = vec![0; usize::try_from(len).ok()?];
    read_full(file.as_ref(), &mut bytes, at).ok()?;
    let event = Event::from_line(&check(&bytes).ok()?).ok()?;
    let (found, text) = transcript_text(&event)?;
    (found == role).then(|| text.into_owned())
}
