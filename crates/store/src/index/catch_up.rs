//! Reading one log on, from where the index stands.

use std::path::Path;

use annals_index::{Cursor, Feed, Index, Known, Stamp, TextFeed};
use annals_log::disk::{Disk, OpenMode, read_full};
use annals_log::{Item, LOG_FILE, Reader};
use annals_model::SessionId;

use crate::error::{Error, Result};
use crate::shared::Shared;

/// How much of a log's text is fed at a time.
const TEXT_BYTES: u64 = 4 * 1024 * 1024;

/// What a log's file looks like now. None when there is no log.
pub(crate) fn stamp(disk: &dyn Disk, dir: &Path) -> std::io::Result<Option<Stamp>> {
    match disk.metadata(&dir.join(LOG_FILE)) {
        Ok(found) if !found.is_dir => {
            Ok(Some(Stamp { len: found.len, mtime_ns: found.mtime_ns, identity: found.identity }))
        }
        Ok(_) => Ok(None),
        Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

/// Whether a log may still begin with what the index has read of it: it is the same file, and long enough.
pub(super) fn may_go_on(known: &Known, stamp: &Stamp) -> bool {
    known.stamp.identity == stamp.identity && stamp.len >= known.cursor.read_to
}

/// A log's new lines, and what its file looked like before they were read.
pub(super) enum Read {
    Feed(Box<Feed>, Stamp),
    /// It has to be read from its beginning.
    Anew,
    /// It says nothing, for this reason.
    Nothing(&'static str, Stamp),
}

/// Reads a log's new lines into a feed.
pub(super) fn read_facts(disk: &dyn Disk, dir: &Path, mut feed: Feed, stamp: Stamp) -> Read {
    let unreadable = Read::Nothing("unreadable", stamp);
    let from = feed.cursor();
    let Ok(mut reader) = Reader::open(disk, dir) else { return unreadable };
    if from.read_to > 0 {
        match still_ends_so(disk, dir, from) {
            Ok(true) => reader.seek(from.read_to, from.next_seq),
            Ok(false) => return Read::Anew,
            Err(_) => return unreadable,
        }
    }
    let mut damaged = false;
    loop {
        match reader.next_item() {
            Ok(Some(Item::Line { line, bytes, offset })) => {
                feed.take(&line, offset + bytes.len() as u64 + 1);
            }
            Ok(Some(Item::Gap(_))) => damaged = true,
            Ok(None) => break,
            Err(_) => return unreadable,
        }
    }
    if damaged {
        feed.damage();
    }
    match feed.cursor().next_seq {
        0 => Read::Nothing(if damaged { "damaged" } else { "unfinished" }, stamp),
        _ => Read::Feed(Box::new(feed), stamp),
    }
}

/// Whether the line before a cursor is the one that was read there.
fn still_ends_so(disk: &dyn Disk, dir: &Path, cursor: Cursor) -> std::io::Result<bool> {
    if cursor.next_seq == 1 {
        // Line 0 of a fork names another checksum than its own; it is short enough to be read again.
        return Ok(false);
    }
    let expected = format!(",\"crc\":\"{:08x}\"}}\n", cursor.anchor);
    let file = disk.open(&dir.join(LOG_FILE), OpenMode::Read)?;
    let Some(at) = cursor.read_to.checked_sub(expected.len() as u64) else { return Ok(false) };
    let mut found = vec![0; expected.len()];
    Ok(read_full(file.as_ref(), &mut found, at)? == expected.len() && found == expected.as_bytes())
}

/// Brings what the index says of one session up to date. Cheap when its log's file is the same.
pub(crate) fn facts(shared: &Shared, index: &mut Index, id: &SessionId) -> Result<()> {
    let dir = shared.home.session(id);
    let disk = shared.disk();
    // As often as another process is here first.
    for _ in 0..16 {
        let Some(now) = stamp(disk, &dir).map_err(|e| Error::io("look at", &dir, e))? else {
            return gone(shared, index, id);
        };
        let known = index.known(id)?;
        if known.is_some_and(|known| known.stamp == now) {
            return Ok(());
        }
        let goes_on = known.is_some_and(|known| may_go_on(&known, &now));
        let feed = if goes_on { index.feed(id)? } else { Feed::from_the_start() };
        let read = read_facts(disk, &dir, feed, now);
        match put(index, id, read, known.is_some() && !goes_on) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(Error::Index(annals_index::Error::Stale { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    // Others write it all the time, so others also read it all the time.
    Ok(())
}

/// Writes what was read. False when the log has to be read from its beginning.
fn put(index: &mut Index, id: &SessionId, read: Read, forget: bool) -> Result<bool> {
    let mut write = index.write()?;
    if forget {
        write.forget_content(id)?;
    }
    let done = put_in(&mut write, id, read)?;
    write.commit()?;
    Ok(done)
}

/// As [`put`], within a transaction. A log that has to be read anew is forgotten.
pub(super) fn put_in(write: &mut annals_index::Write<'_>, id: &SessionId, read: Read) -> Result<bool> {
    match read {
        Read::Feed(feed, stamp) => {
            write.apply(id, &feed, stamp)?;
            Ok(true)
        }
        Read::Nothing(reason, stamp) => {
            write.hide(id, reason, stamp)?;
            Ok(true)
        }
        Read::Anew => {
            write.forget_content(id)?;
            Ok(false)
        }
    }
}

/// A session without a log: forgotten when its directory is gone, else one whose creation never finished.
fn gone(shared: &Shared, index: &mut Index, id: &SessionId) -> Result<()> {
    let is_there = shared.disk().metadata(&shared.home.session(id)).is_ok_and(|found| found.is_dir);
    let mut write = index.write()?;
    if is_there {
        write.hide(id, "unfinished", Stamp::default())?;
    } else {
        write.remove(id)?;
    }
    Ok(write.commit()?)
}

/// Brings the search indexes up to date with what the index says of one session.
pub(crate) fn text(shared: &Shared, index: &mut Index, id: &SessionId) -> Result<()> {
    loop {
        let feed = index.text_feed(id)?;
        let from = feed.cursor();
        let mut fed = feed.cursor();
        read_text(shared.disk(), &shared.home.session(id), feed, |feed| {
            fed = feed.cursor();
            put_text(index, id, feed)
        })?;
        if fed == from {
            return Ok(());
        }
    }
}

fn put_text(index: &mut Index, id: &SessionId, feed: TextFeed) -> Result<bool> {
    let mut write = index.write()?;
    match write.apply_text(id, feed) {
        Ok(()) => write.commit().map(|()| true).map_err(Error::from),
        Err(annals_index::Error::Stale { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Reads a log's text from a feed's cursor on and hands it over, some MiB at a time. `hand_over` says whether to go on.
pub(super) fn read_text(
    disk: &dyn Disk,
    dir: &Path,
    feed: TextFeed,
    mut hand_over: impl FnMut(TextFeed) -> Result<bool>,
) -> Result<()> {
    let Ok(mut reader) = Reader::open(disk, dir) else { return Ok(()) };
    let from = feed.cursor();
    if from.read_to > 0 {
        reader.seek(from.read_to, from.next_seq);
    }
    let mut feed = Some(feed);
    // A log that can't be read any further is the business of whoever lists it.
    while let Ok(Some(item)) = reader.next_item() {
        let (Item::Line { line, bytes, offset }, Some(open)) = (item, feed.as_mut()) else { continue };
        open.take(&line, bytes, offset);
        if open.len_bytes() >= TEXT_BYTES {
            let next = open.next();
            if let Some(full) = feed.replace(next)
                && !hand_over(full)?
            {
                return Ok(());
            }
        }
    }
    match feed {
        Some(rest) if rest.len_bytes() > 0 => hand_over(rest).map(drop),
        _ => Ok(()),
    }
}
