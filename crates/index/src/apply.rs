//! Writing to the index: short transactions that take in feeds.

use annals_model::SessionId;
use annals_model::fold::{Meta, Status};
use rusqlite::{TransactionBehavior, params};

use crate::error::{Error, Result};
use crate::feed::{Feed, Spent, Stamp};
use crate::index::Index;
use crate::number::Number;
use crate::signatures::Signing;
use crate::text::TextFeed;

/// A transaction. What it did is kept by [`Write::commit`] and undone when it is dropped before.
#[derive(Debug)]
pub struct Write<'a> {
    pub(crate) index: &'a Index,
    signing: Signing,
    open: bool,
}

/// What became of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// The session's number.
    pub number: Number,
    /// Whether its log names that number.
    pub recorded: bool,
}

impl Index {
    /// Begins a transaction.
    ///
    /// # Errors
    /// [`Error::Sqlite`], also when the index can only be read or another process writes it for too long.
    pub fn write(&mut self) -> Result<Write<'_>> {
        // Immediate: a transaction that begins as a reader can't become a writer once another one has written.
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        std::mem::forget(transaction);
        Ok(Write { index: self, signing: Signing::default(), open: true })
    }
}

impl Drop for Write<'_> {
    fn drop(&mut self) {
        if self.open {
            // A failed rollback leaves the transaction to SQLite, which undoes it when the connection is closed.
            let _ = self.index.connection.execute_batch("ROLLBACK");
        }
    }
}

impl Write<'_> {
    /// Takes in a feed. `stamp` is what the log's file looked like before it was read.
    ///
    /// # Errors
    /// [`Error::Stale`] when the index has moved on since the feed was begun; nothing was taken in then. [`Error::Sqlite`].
    pub fn apply(&mut self, id: &SessionId, feed: &Feed, stamp: Stamp) -> Result<Applied> {
        let known = self.index.known(id)?;
        if known.map_or_else(Default::default, |k| k.cursor) != feed.from {
            return Err(Error::Stale { session: id.to_string() });
        }
        let claimed = feed.fold.meta.conversation_id;
        let number = self.index.row_for(id, claimed)?;
        self.put_row(number, feed, stamp)?;
        self.put_fold(number, feed)?;
        self.put_tags(number, &feed.fold.meta.tags)?;
        self.put_sources(number, feed)?;
        self.put_spent(number, feed)?;
        Ok(Applied { number, recorded: claimed == Some(number) })
    }

    /// Takes in the text of a session that is known.
    ///
    /// # Errors
    /// [`Error::Stale`] when the index has moved on since the feed was begun, or the session is gone; nothing was taken in then.
    /// [`Error::Sqlite`].
    pub fn apply_text(&mut self, id: &SessionId, mut feed: TextFeed) -> Result<()> {
        feed.finish();
        let known = self.index.number_of(id)?;
        let Some((number, _)) = known.filter(|_| self.index.text_feed(id).is_ok_and(|f| f.from == feed.from))
        else {
            return Err(Error::Stale { session: id.to_string() });
        };
        self.put_messages(number, &feed)?;
        for piece in feed.pieces {
            self.signing.add(self.index, number, piece)?;
        }
        self.index
            .connection
            .prepare_cached(
                "UPDATE session SET text_to = ?2, text_seq = ?3, text_anchor = ?4 WHERE number = ?1",
            )?
            .execute(params![number, feed.to.read_to, feed.to.next_seq, feed.to.anchor])?;
        Ok(())
    }

    /// A session whose log says nothing yet, or nothing legible: it is counted, with the reason, and not shown. Returns its number.
    ///
    /// # Errors
    /// [`Error::Sqlite`].
    pub fn hide(&mut self, id: &SessionId, reason: &str, stamp: Stamp) -> Result<Number> {
        self.forget_content(id)?;
        let number = self.index.row_for(id, None)?;
        self.index
            .connection
            .prepare_cached(
                "UPDATE session SET hidden = ?2, len = ?3, mtime_ns = ?4, identity = ?5 WHERE number = ?1",
            )?
            .execute(params![number, reason, stamp.len, stamp.mtime_ns, stamp.identity.cast_signed()])?;
        Ok(number)
    }

    /// Notes that a log's file looks different and has nothing new in it.
    ///
    /// # Errors
    /// [`Error::Sqlite`].
    pub fn restamp(&mut self, id: &SessionId, stamp: Stamp) -> Result<()> {
        self.index
            .connection
            .prepare_cached("UPDATE session SET len = ?2, mtime_ns = ?3, identity = ?4 WHERE id = ?1")?
            .execute(params![id.as_str(), stamp.len, stamp.mtime_ns, stamp.identity.cast_signed()])?;
        Ok(())
    }

    /// Forgets a session: nothing of it is listed or found any more.
    ///
    /// # Errors
    /// [`Error::Sqlite`].
    pub fn remove(&mut self, id: &SessionId) -> Result<()> {
        let Some((number, _)) = self.index.number_of(id)? else { return Ok(()) };
        self.forget_content(id)?;
        self.run("DELETE FROM session WHERE number = ?1", number)
    }

    /// Forgets what a session's log said, not its number: the log is read anew.
    ///
    /// # Errors
    /// [`Error::Sqlite`].
    pub fn forget_content(&mut self, id: &SessionId) -> Result<()> {
        let Some((number, _)) = self.index.number_of(id)? else { return Ok(()) };
        self.signing.flush(self.index)?;
        for sql in [
            "DELETE FROM word WHERE rowid IN (SELECT id FROM message WHERE number = ?1)",
            "DELETE FROM message WHERE number = ?1",
            "DELETE FROM extent WHERE number = ?1",
            "DELETE FROM spent WHERE number = ?1",
            "DELETE FROM source WHERE number = ?1",
            "DELETE FROM tag WHERE number = ?1",
            "DELETE FROM fold WHERE number = ?1",
            "UPDATE session SET read_to = 0, next_seq = 0, anchor = 0, text_to = 0, text_seq = 0, text_anchor = 0, len = 0, mtime_ns = 0, identity = 0 WHERE number = ?1",
        ] {
            self.run(sql, number)?;
        }
        Ok(())
    }

    /// Keeps what was done.
    ///
    /// # Errors
    /// [`Error::Sqlite`]; nothing was kept then.
    ///
    /// # Durability
    /// Survives the process. The last commits may be lost in a power cut; the logs then are read again.
    pub fn commit(mut self) -> Result<()> {
        self.signing.flush(self.index)?;
        self.index.connection.execute_batch("COMMIT")?;
        self.open = false;
        Ok(())
    }

    fn run(&self, sql: &str, number: Number) -> Result<()> {
        self.index.connection.prepare_cached(sql)?.execute([number])?;
        Ok(())
    }

    fn put_row(&self, number: Number, feed: &Feed, stamp: Stamp) -> Result<()> {
        let meta = &feed.fold.meta;
        let millis = |t: annals_model::Timestamp| t.as_millis();
        let updated = meta.updated.or(meta.created).map(millis);
        // Usage may be anything that a pipe said; SQLite's integers end at 2^63.
        let n = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let usage = &meta.usage;
        let from = meta.forked_from.as_ref();
        let moved = meta.moved_from.as_ref();
        self.index
            .connection
            .prepare_cached(
                "UPDATE session SET read_to=?2, next_seq=?3, anchor=?4, len=?5, mtime_ns=?6, identity=?7, hidden=NULL, damaged=?8, sort=?9,
                 title=?10, status=?11, events=?12, messages=?13, created=?14, updated=?15, workspace=?16, project=?17, agent=?18,
                 provider=?19, model=?20, origin=?21, source=?22, snapshot=?23, from_session=?24, from_seq=?25, from_snapshot=?26,
                 parent=?27, moved_from=?28, moved_at=?29, tags=?30, last_turn=?31, traceparent=?32, calls=?33, input=?34, cached=?35,
                 cache_write=?36, output=?37, context=?38, cost_micros=?39, unpriced=?40 WHERE number=?1",
            )?
            .execute(params![
                number,
                feed.to.read_to,
                feed.to.next_seq,
                feed.to.anchor,
                stamp.len,
                stamp.mtime_ns,
                stamp.identity.cast_signed(),
                feed.fold.damaged,
                updated.unwrap_or(0),
                meta.title,
                status_text(meta),
                n(meta.events),
                n(meta.messages),
                meta.created.map(millis),
                updated,
                meta.workspace,
                meta.project,
                meta.agent,
                meta.provider,
                meta.model,
                meta.origin,
                meta.imported_from.as_ref().map(|from| &from.format),
                meta.snapshot,
                from.map(|from| from.session.as_str()),
                from.map(|from| n(from.seq)),
                meta.from_snapshot,
                meta.parent.as_ref().map(|parent| parent.session.as_str()),
                moved.map(|(from, _)| from),
                moved.map(|(_, at)| n(*at)),
                (!meta.tags.is_empty()).then(|| serde_json::to_string(&meta.tags)).transpose()?,
                meta.last_turn.map(n),
                meta.last_traceparent,
                n(usage.calls),
                n(usage.input),
                n(usage.cached),
                n(usage.cache_write),
                n(usage.output),
                n(usage.context),
                n(usage.cost_micros),
                n(usage.unpriced),
            ])?;
        Ok(())
    }

    fn put_fold(&self, number: Number, feed: &Feed) -> Result<()> {
        self.index
            .connection
            .prepare_cached("INSERT OR REPLACE INTO fold VALUES (?1, ?2)")?
            .execute(params![number, serde_json::to_string(&feed.fold)?])?;
        Ok(())
    }

    fn put_tags(&self, number: Number, tags: &[String]) -> Result<()> {
        self.run("DELETE FROM tag WHERE number = ?1", number)?;
        let mut statement =
            self.index.connection.prepare_cached("INSERT OR IGNORE INTO tag VALUES (?1, ?2)")?;
        for tag in tags {
            statement.execute(params![tag, number])?;
        }
        Ok(())
    }

    fn put_sources(&self, number: Number, feed: &Feed) -> Result<()> {
        let mut statement = self
            .index
            .connection
            .prepare_cached("INSERT OR REPLACE INTO source VALUES (?1, ?2, ?3, ?4, ?5)")?;
        for source in &feed.sources {
            let (size, read_to) = (source.size.cast_signed(), source.read_to.cast_signed());
            statement.execute(params![source.path, number, size, source.mtime_ms, read_to])?;
        }
        Ok(())
    }

    fn put_spent(&self, number: Number, feed: &Feed) -> Result<()> {
        let mut statement = self.index.connection.prepare_cached(
            "INSERT INTO spent VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
             ON CONFLICT DO UPDATE SET messages = messages + excluded.messages, calls = calls + excluded.calls,
               input = input + excluded.input, cached = cached + excluded.cached, cache_write = cache_write + excluded.cache_write,
               output = output + excluded.output, cost_micros = cost_micros + excluded.cost_micros,
               unpriced = unpriced + excluded.unpriced",
        )?;
        for ((hour, model), spent) in &feed.spent {
            let Spent { messages, calls, input, cached, cache_write, output, cost_micros, unpriced } = spent;
            statement.execute(params![
                number,
                hour,
                model,
                messages,
                calls,
                input,
                cached,
                cache_write,
                output,
                cost_micros,
                unpriced
            ])?;
        }
        Ok(())
    }

    fn put_messages(&self, number: Number, feed: &TextFeed) -> Result<()> {
        let mut place = self.index.connection.prepare_cached(
            "INSERT INTO message (number, seq, at, len, role, ts) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        let mut words =
            self.index.connection.prepare_cached("INSERT INTO word (rowid, text) VALUES (?1, ?2)")?;
        for message in &feed.messages {
            let role = crate::words::role_number(message.role);
            place.execute(params![
                number,
                message.seq,
                message.at,
                message.len,
                role,
                message.ts.as_millis()
            ])?;
            words.execute(params![self.index.connection.last_insert_rowid(), message.words])?;
        }
        Ok(())
    }
}

/// What the session is doing, as the log tells. Whether a process has it open is asked when it is shown.
fn status_text(meta: &Meta) -> &'static str {
    match meta.status() {
        Status::Idle => "idle",
        Status::Running | Status::Interrupted => "interrupted",
        Status::Ended => "ended",
    }
}
