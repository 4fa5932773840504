//! Which session is meant: an id, a unique beginning or end of one, or `latest`.

use annals_log::disk::Disk;
use annals_model::SessionId;

use crate::error::{Error, Result};
use crate::home::Home;
use crate::list;

/// The shortest beginning or end of an id that is accepted.
const MIN_PART_CHARS: usize = 4;

pub(crate) fn resolve(disk: &dyn Disk, home: &Home, query: &str) -> Result<SessionId> {
    if query == "latest" {
        let newest = list::list(disk, home)?.sessions.into_iter().next();
        return newest.map(|s| s.id).ok_or_else(|| not_found(query, Vec::new()));
    }
    if query.starts_with('#') {
        return Err(not_found(query, Vec::new()));
    }
    let id = SessionId::parse(query);
    let ids = list::ids(disk, home)?;
    if let Ok(id) = &id
        && ids.binary_search(id).is_ok()
    {
        return Ok(id.clone());
    }
    // An end of an id may begin with a hyphen or a dot, which an id may not.
    let part_ok = query.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    if !part_ok || query.contains("..") {
        return Err(id.map_or_else(Error::from, |_| not_found(query, Vec::new())));
    }
    let long_enough = query.chars().count() >= MIN_PART_CHARS;
    let matches = |id: &&SessionId| id.as_str().starts_with(query) || id.as_str().ends_with(query);
    let mut candidates: Vec<SessionId> =
        if long_enough { ids.iter().filter(matches).cloned().collect() } else { Vec::new() };
    match candidates.len() {
        1 => Ok(candidates.remove(0)),
        0 => {
            id?;
            Err(not_found(query, similar(&ids, query)))
        }
        _ => Err(Error::Ambiguous { query: query.to_owned(), candidates }),
    }
}

fn not_found(query: &str, similar: Vec<SessionId>) -> Error {
    Error::SessionNotFound { query: query.to_owned(), similar }
}

/// Up to three ids that share the longest beginning or end with what was asked for.
fn similar(ids: &[SessionId], query: &str) -> Vec<SessionId> {
    let common = |a: &mut dyn Iterator<Item = u8>, b: &mut dyn Iterator<Item = u8>| {
        a.zip(b).take_while(|(a, b)| a == b).count()
    };
    let score = |id: &SessionId| {
        let begin = common(&mut id.as_str().bytes(), &mut query.bytes());
        begin.max(common(&mut id.as_str().bytes().rev(), &mut query.bytes().rev()))
    };
    let mut scored: Vec<(usize, &SessionId)> =
        ids.iter().map(|id| (score(id), id)).filter(|(s, _)| *s >= 4).collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.cmp(a.1)));
    scored.into_iter().take(3).map(|(_, id)| id.clone()).collect()
}
