//! Search in everything that logs hold: signatures say which blocks may hold the needle, those are scanned, by several threads, and what
//! matches is told newest first.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use annals_index::{Extent, Filter, Index};
use annals_log::LOG_FILE;
use annals_log::disk::{OpenMode, read_full};
use annals_model::event::Event;
use annals_model::line::check;
use annals_model::{Seq, SessionId, Timestamp};
use annals_search::excerpt::{WIDTH, excerpt};
use annals_search::needle::Needle;
use annals_search::text::{Piece, pieces};

use super::{Answer, Hit, Mode, Search};
use crate::error::{Error, Result};
use crate::index::threads;
use crate::store::Store;

/// What a search looks for.
pub(super) fn needle(search: &Search) -> Result<Needle> {
    let invalid = |e: annals_search::needle::PatternError| Error::InvalidQuery { reason: e.to_string() };
    match search.mode {
        Mode::Words => Ok(Needle::literal(&search.query()?)),
        Mode::Exact => Needle::exact(&search.text).map_err(invalid),
        Mode::Regex => Needle::regex(&search.text).map_err(invalid),
    }
}

/// An event that matches: where it stands.
#[derive(Debug)]
struct Place {
    session: SessionId,
    seq: Seq,
    ts: Timestamp,
    at: u64,
    len: u64,
}

pub(super) fn search(store: &Store, index: &Index, search: &Search, needle: &Needle) -> Result<Answer> {
    let titles = sessions(index, search)?;
    let mut extents = Vec::new();
    for block in index.blocks(needle.rows())? {
        // A block's events are no newer than this.
        if search.filter.since.is_none_or(|since| block.newest >= since) {
            extents.extend(index.extents(block.id)?.into_iter().filter(|e| titles.contains_key(&e.session)));
        }
    }
    let mut places = scan(store, search, needle, &extents);
    places.sort_by(|a, b| b.ts.cmp(&a.ts).then_with(|| a.session.cmp(&b.session)).then(b.seq.cmp(&a.seq)));
    let total = places.len() as u64;
    if search.limit > 0 {
        places.truncate(usize::try_from(search.limit).unwrap_or(usize::MAX));
    }
    let hits = places.into_iter().filter_map(|place| hit(store, search, needle, &titles, place)).collect();
    Ok(Answer { total, relaxed: false, hits })
}

/// The sessions that are searched, and their titles.
fn sessions(index: &Index, search: &Search) -> Result<HashMap<SessionId, Option<String>>> {
    let filter = Filter { since: None, until: None, ..search.filter.clone() };
    let rows = match &search.session {
        Some(id) => index.row(id)?.into_iter().collect(),
        None => index.list(&filter, 0, 0)?.rows,
    };
    Ok(rows.into_iter().map(|row| (row.id, row.title)).collect())
}

/// Scans parts of logs with all processors.
fn scan(store: &Store, search: &Search, needle: &Needle, extents: &[Extent]) -> Vec<Place> {
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut found, mut bytes, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(extent) = extents.get(next.fetch_add(1, Ordering::Relaxed)) {
            let path = store.session_dir(&extent.session).join(LOG_FILE);
            let Ok(file) = store.disk().open(&path, OpenMode::Read) else { continue };
            bytes.resize(usize::try_from(extent.len).unwrap_or(0), 0);
            let read = read_full(file.as_ref(), &mut bytes, extent.at).unwrap_or(0);
            bytes.truncate(read);
            if needle.may_be_in(&bytes, &mut scratch) {
                in_lines(search, needle, extent, &bytes, &mut scratch, &mut found);
            }
        }
        found
    };
    let work = &work;
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads()).map(|_| scope.spawn(work)).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

fn in_lines(
    search: &Search,
    needle: &Needle,
    extent: &Extent,
    bytes: &[u8],
    scratch: &mut Vec<u8>,
    found: &mut Vec<Place>,
) {
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', bytes) {
        let line = bytes.get(start..end).unwrap_or_default();
        let at = extent.at + start as u64;
        start = end + 1;
        if !needle.may_be_in(line, scratch) {
            continue;
        }
        let Some(event) = check(line).ok().and_then(|line| Event::from_line(&line).ok()) else { continue };
        let pieces = wanted(search, &event);
        if needle.is_in(pieces.iter().map(|piece| piece.text.as_ref())) {
            let session = extent.session.clone();
            found.push(Place { session, seq: event.seq, ts: event.ts, at, len: line.len() as u64 });
        }
    }
}

/// The pieces of an event that are searched.
fn wanted<'e>(search: &Search, event: &'e Event) -> Vec<Piece<'e>> {
    let (since, until) = (search.filter.since, search.filter.until);
    let in_time = since.is_none_or(|t| event.ts >= t) && until.is_none_or(|t| event.ts < t);
    let mut pieces = if in_time { pieces(event) } else { Vec::new() };
    pieces.retain(|piece| search.wants(piece.role));
    pieces
}

/// The hit at a place: the piece with the most of what is sought.
fn hit(
    store: &Store,
    search: &Search,
    needle: &Needle,
    titles: &HashMap<SessionId, Option<String>>,
    place: Place,
) -> Option<Hit> {
    let path = store.session_dir(&place.session).join(LOG_FILE);
    let file = store.disk().open(&path, OpenMode::Read).ok()?;
    let mut bytes = vec![0; usize::try_from(place.len).ok()?];
    read_full(file.as_ref(), &mut bytes, place.at).ok()?;
    let event = Event::from_line(&check(&bytes).ok()?).ok()?;
    let pieces = wanted(search, &event);
    let ranged = pieces.iter().map(|piece| (piece, needle.ranges(&piece.text)));
    let (piece, ranges) = ranged.max_by_key(|(_, ranges)| ranges.len())?;
    let hit = Hit {
        title: titles.get(&place.session).cloned().flatten(),
        session: place.session,
        seq: place.seq,
        role: piece.role.as_str(),
        time: place.ts,
        excerpt: String::new(),
        ranges: Vec::new(),
    };
    Some(hit.cut(excerpt(&piece.text, &ranges, WIDTH)))
}
