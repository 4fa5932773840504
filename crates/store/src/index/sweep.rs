//! Bringing the index up to date with all sessions.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use annals_index::{Feed, Index, Stamp, TextFeed};
use annals_log::holder;
use annals_model::SessionId;

use super::catch_up::{self, Read};
use crate::error::{Error, Result};
use crate::import::{Phase, Progress};
use crate::list;
use crate::shared::Shared;

/// How far to look for what is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// At the names of sessions, and at those that are open.
    Names,
    /// At every log's file.
    Files,
}

/// Feeds that are written in one transaction.
const PER_WRITE: usize = 256;

/// Feeds that wait to be written. Of text each may hold 4 MiB of log.
const WAITING: usize = 64;
const WAITING_TEXT: usize = 8;

/// A log to read on.
struct Job {
    id: SessionId,
    feed: Feed,
    stamp: Stamp,
    /// It was read before, and is another one now.
    forget: bool,
}

/// Brings what the index says of sessions up to date.
pub(crate) fn sweep(
    shared: &Shared,
    index: &mut Index,
    reach: Reach,
    progress: &mut dyn Progress,
) -> Result<()> {
    let names = names(shared);
    let boot = boot();
    let everything = reach == Reach::Files || index.fact("boot")?.as_deref() != Some(&boot);
    if everything || index.fact("names")? != Some(names.clone()) {
        look(shared, index, everything, progress)?;
        if !index.is_read_only() && index.fact("boot")?.as_deref() != Some(&boot) {
            mark_the_open(shared, index)?;
        }
        if !index.is_read_only() {
            index.set_fact("names", &names)?;
            index.set_fact("boot", &boot)?;
        }
    }
    for id in index.live()? {
        // Asked before its log is read on: what is written after this belongs to whoever comes next.
        let is_open = holder::holder(shared.disk(), &shared.home.session(&id)).is_some();
        catch_up::facts(shared, index, &id)?;
        if !is_open {
            index.unmark_live(&id)?;
        }
    }
    Ok(())
}

/// Marks the sessions that processes have open. They did so in the index that was here before this one.
fn mark_the_open(shared: &Shared, index: &Index) -> Result<()> {
    for id in list::ids(shared.disk(), &shared.home)? {
        if let Some(holder) = holder::holder(shared.disk(), &shared.home.session(&id)) {
            index.mark_live(&id, holder.pid)?;
        }
    }
    Ok(())
}

/// What tells that sessions came or went: the directory's time.
fn names(shared: &Shared) -> String {
    let found = shared.disk().metadata(&shared.home.sessions());
    found.map_or_else(|_| "none".to_owned(), |found| format!("{}.{}", found.mtime_ns, found.identity))
}

/// Which boot of the machine this is. Where the system does not tell, every process looks at everything once.
fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map_or_else(|_| format!("process {}", std::process::id()), |id| id.trim().to_owned())
}

fn look(shared: &Shared, index: &mut Index, everything: bool, progress: &mut dyn Progress) -> Result<()> {
    let ids = list::ids(shared.disk(), &shared.home)?;
    let known = index.all_known()?;
    let mut jobs = Vec::new();
    let mut without_log = Vec::new();
    let here: HashSet<&str> = ids.iter().map(SessionId::as_str).collect();
    let gone: Vec<&String> = known.keys().filter(|id| !here.contains(id.as_str())).collect();
    for (id, stamp) in stamps(shared, &ids, |id| everything || !known.contains_key(id.as_str())) {
        let known = known.get(id.as_str());
        match stamp {
            None if known.is_none_or(|k| k.stamp != Stamp::default()) => without_log.push(id.clone()),
            None => {}
            Some(stamp) if known.is_some_and(|known| known.stamp == stamp) => {}
            Some(stamp) => {
                let goes_on = known.is_some_and(|known| catch_up::may_go_on(known, &stamp));
                let feed = if goes_on { index.feed(id)? } else { Feed::from_the_start() };
                let forget = known.is_some() && !goes_on;
                jobs.push(Job { id: id.clone(), feed, stamp, forget });
            }
        }
    }
    if gone.is_empty() && without_log.is_empty() && jobs.is_empty() {
        return Ok(());
    }
    let mut write = index.write()?;
    for id in gone {
        if let Ok(id) = SessionId::parse(id) {
            write.remove(&id)?;
        }
    }
    for id in without_log {
        write.hide(&id, "unfinished", Stamp::default())?;
    }
    write.commit()?;
    // Old ones first, so that numbers and blocks come in the order of time.
    jobs.sort_by(|a, b| a.stamp.mtime_ns.cmp(&b.stamp.mtime_ns).then_with(|| a.id.cmp(&b.id)));
    read_all(shared, index, jobs, progress)
}

/// What the logs' files look like, for the ids that are wanted; by several threads when there are many.
fn stamps<'a>(
    shared: &Shared,
    ids: &'a [SessionId],
    wanted: impl Fn(&SessionId) -> bool,
) -> Vec<(&'a SessionId, Option<Stamp>)> {
    let wanted: Vec<&SessionId> = ids.iter().filter(|id| wanted(id)).collect();
    let look = |ids: &[&'a SessionId]| -> Vec<(&'a SessionId, Option<Stamp>)> {
        let stamp = |id: &SessionId| catch_up::stamp(shared.disk(), &shared.home.session(id));
        ids.iter().map(|id| (*id, stamp(id).ok().flatten())).collect()
    };
    let threads = threads();
    if wanted.len() < 1000 || threads == 1 {
        return look(&wanted);
    }
    let look = &look;
    std::thread::scope(|scope| {
        let parts = wanted.chunks(wanted.len().div_ceil(threads));
        let running: Vec<_> = parts.map(|part| scope.spawn(move || look(part))).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(8)
}

/// Reads logs with all processors and writes what they give.
fn read_all(shared: &Shared, index: &mut Index, jobs: Vec<Job>, progress: &mut dyn Progress) -> Result<()> {
    let todo = |job: &Job| job.stamp.len.saturating_sub(job.feed.cursor().read_to);
    progress.phase(Phase::Listing);
    progress.started(jobs.len() as u64, jobs.iter().map(todo).sum());
    let mut again = Vec::new();
    let mut done = |index: &mut Index, batch: &mut Vec<(Job0, Read)>| -> Result<()> {
        let mut write = index.write()?;
        for (job, read) in batch.drain(..) {
            if job.forget {
                write.forget_content(&job.id)?;
            }
            match catch_up::put_in(&mut write, &job.id, read) {
                Ok(true) => {}
                // Another process was here first, or the log is another one than it seemed.
                Ok(false) | Err(Error::Index(annals_index::Error::Stale { .. })) => again.push(job.id),
                Err(error) => return Err(error),
            }
            progress.advanced(job.bytes);
        }
        Ok(write.commit()?)
    };
    let read = |job: Job| {
        let bytes = todo(&job);
        let Job { id, feed, stamp, forget } = job;
        let read = catch_up::read_facts(shared.disk(), &shared.home.session(&id), feed, stamp);
        (Job0 { id, forget, bytes }, read)
    };
    let mut batch = Vec::new();
    in_parallel(
        jobs,
        WAITING,
        |job, to| drop(to.send(read(job))),
        |item| {
            batch.push(item);
            if batch.len() >= PER_WRITE { done(index, &mut batch) } else { Ok(()) }
        },
    )?;
    done(index, &mut batch)?;
    for id in again {
        catch_up::facts(shared, index, &id)?;
    }
    Ok(())
}

/// A job that was read.
struct Job0 {
    id: SessionId,
    forget: bool,
    bytes: u64,
}

/// Works on items with all processors; what they send is taken in here, one after the other.
fn in_parallel<T: Send, R: Send>(
    items: Vec<T>,
    waiting: usize,
    work: impl Fn(T, &SyncSender<R>) + Sync,
    mut take: impl FnMut(R) -> Result<()>,
) -> Result<()> {
    let count = items.len();
    let items: Vec<std::sync::Mutex<Option<T>>> =
        items.into_iter().map(|item| std::sync::Mutex::new(Some(item))).collect();
    let next = AtomicUsize::new(0);
    let (sender, receiver) = sync_channel(waiting);
    std::thread::scope(|scope| {
        for _ in 0..threads().min(count) {
            let (sender, items, next, work) = (sender.clone(), &items, &next, &work);
            scope.spawn(move || {
                while let Some(slot) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let item = slot.lock().ok().and_then(|mut slot| slot.take());
                    item.into_iter().for_each(|item| work(item, &sender));
                }
            });
        }
        drop(sender);
        // An error ends the taking; the receiver goes with it, so that nobody waits to send.
        let receiver = receiver;
        for item in receiver.iter() {
            take(item)?;
        }
        Ok(())
    })
}

/// Brings the search indexes up to date. What the index says of sessions must be so already.
pub(crate) fn read_text(shared: &Shared, index: &mut Index, progress: &mut dyn Progress) -> Result<()> {
    let unread = index.unread_text()?;
    if unread.is_empty() {
        return Ok(());
    }
    progress.phase(Phase::Indexing);
    progress.started(unread.len() as u64, unread.iter().map(|(_, bytes)| bytes).sum());
    let mut jobs = Vec::with_capacity(unread.len());
    for (id, _) in unread {
        let feed = index.text_feed(&id)?;
        jobs.push((id, feed));
    }
    let read = |(id, feed): (SessionId, TextFeed), to: &SyncSender<(SessionId, TextFeed)>| {
        let sent = |feed: TextFeed| Ok(to.send((id.clone(), feed)).is_ok());
        // Sending is all that can fail, and it says so by itself.
        let _ = catch_up::read_text(shared.disk(), &shared.home.session(&id), feed, sent);
    };
    let mut batch: Vec<(SessionId, TextFeed)> = Vec::new();
    let mut held = 0;
    in_parallel(jobs, WAITING_TEXT, read, |(id, feed)| {
        held += feed.len_bytes();
        batch.push((id, feed));
        if batch.len() < PER_WRITE && held < 32 * 1024 * 1024 {
            return Ok(());
        }
        progress.advanced(std::mem::take(&mut held));
        write_text(index, &mut batch)
    })?;
    progress.advanced(held);
    write_text(index, &mut batch)
}

fn write_text(index: &mut Index, batch: &mut Vec<(SessionId, TextFeed)>) -> Result<()> {
    let mut write = index.write()?;
    for (id, feed) in batch.drain(..) {
        match write.apply_text(&id, feed) {
            // Stale: another process does the same; what it did not do is found the next time.
            Ok(()) | Err(annals_index::Error::Stale { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(write.commit()?)
}
