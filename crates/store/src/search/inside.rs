//! Words in one session, to the letter of FIND-1: literal, most distinct terms first, then the most recent, shown oldest first.

use annals_model::SessionId;
use annals_model::fold::Role as Speaker;
use annals_search::excerpt::Excerpt;
use annals_search::literal;
use annals_search::text::{Role, is_search_command};

use super::{Answer, Hit, Search};
use crate::error::Result;
use crate::store::Store;

pub(super) fn search(store: &Store, search: &Search, id: &SessionId) -> Result<Answer> {
    let query = search.query()?;
    let state = store.replay(id)?.state;
    let limit = match search.limit {
        0 => usize::MAX,
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    let mut entries = state.transcript.entries();
    entries.retain(|entry| {
        let role = role(entry.role);
        let (since, until) = (search.filter.since, search.filter.until);
        search.wants(role)
            && !(role == Role::User && is_search_command(&entry.text))
            && since.is_none_or(|since| entry.ts >= since)
            && until.is_none_or(|until| entry.ts < until)
    });
    let found = literal::find(entries.iter().map(|entry| (entry, &entry.text)), &query, limit);
    let hit = |entry: &annals_model::fold::Entry, excerpt: Excerpt| {
        let hit = Hit {
            session: id.clone(),
            title: state.meta.title.clone(),
            seq: entry.seq,
            role: role(entry.role).as_str(),
            time: entry.ts,
            excerpt: String::new(),
            ranges: Vec::new(),
        };
        hit.cut(excerpt)
    };
    let hits = found.hits.into_iter().map(|found| hit(found.key, found.excerpt)).collect();
    Ok(Answer { total: found.total as u64, relaxed: false, hits })
}

fn role(speaker: Speaker) -> Role {
    match speaker {
        Speaker::User(_) => Role::User,
        Speaker::Agent => Role::Agent,
    }
}
