//! Blocks and signatures: which parts of which logs may hold a text.
//!
//! ```text
//! pieces ──→ blocks of 32 KiB or more ──→ pending: one row of bits a block
//!            (short pieces share one)       │ 1024 of them
//!                                           ▼
//!                                         segment: the same bits, transposed: one row a gram, a bit a block
//! ```
//!
//! A query reads a short row per gram and segment and combines them with AND. A block that survives may hold the text; one that does not
//! survive can't. INVARIANT: every line of every log that the index has read lies in exactly one extent.

use annals_model::{SessionId, Timestamp};
use annals_search::signature::{SIGNATURE_BYTES, Signature, and, transpose};
use rusqlite::{OptionalExtension, params};

use crate::error::{Error, Result};

use crate::index::Index;
use crate::number::Number;
use crate::text::{BLOCK_BYTES, Piece};

/// From this many blocks on a segment is made of them.
const SEGMENT_BLOCKS: usize = 1024;

/// At most this many are held in memory: 16 MiB of bits.
const MOST_BLOCKS: usize = 4096;

/// Rows a segment has.
const ROWS: i64 = 32 * 1024;

/// Part of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// The session.
    pub session: SessionId,
    /// Offset of its first line.
    pub at: u64,
    /// Its length, newlines included.
    pub len: u64,
}

/// A block that may hold what is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Its number.
    pub id: i64,
    /// The time of its newest event.
    pub newest: Timestamp,
}

/// Blocks that a transaction has made and not yet written.
#[derive(Debug, Default)]
pub(crate) struct Signing {
    fresh: Vec<(i64, Signature)>,
    open: Option<OpenBlock>,
}

/// The block that short pieces are put into.
#[derive(Debug)]
struct OpenBlock {
    id: i64,
    len: u64,
    newest: i64,
    bits: Signature,
}

impl Signing {
    pub(crate) fn add(&mut self, index: &Index, number: Number, piece: Piece) -> Result<()> {
        if piece.len >= BLOCK_BYTES {
            let id = new_block(index, piece.len, piece.newest)?;
            put_extent(index, id, number, &piece)?;
            self.fresh.push((id, piece.signature));
        } else {
            self.share(index, number, &piece)?;
        }
        if self.fresh.len() >= MOST_BLOCKS {
            self.flush(index)?;
        }
        Ok(())
    }

    fn share(&mut self, index: &Index, number: Number, piece: &Piece) -> Result<()> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => open_block(index)?,
        };
        open.bits.merge(&piece.signature);
        open.len += piece.len;
        open.newest = open.newest.max(piece.newest);
        put_extent(index, open.id, number, piece)?;
        if open.len >= BLOCK_BYTES {
            close_block(index, &open)?;
            self.fresh.push((open.id, open.bits));
        } else {
            self.open = Some(open);
        }
        Ok(())
    }

    /// Writes what is not written yet.
    pub(crate) fn flush(&mut self, index: &Index) -> Result<()> {
        if let Some(open) = self.open.take() {
            close_block(index, &open)?;
            put_pending(index, open.id, &open.bits)?;
            index.set_fact("open_block", &open.id.to_string())?;
        }
        if self.fresh.is_empty() {
            return Ok(());
        }
        let open: i64 = index.fact("open_block")?.and_then(|id| id.parse().ok()).unwrap_or(-1);
        let pending: usize = index
            .connection
            .prepare_cached("SELECT count(*) FROM pending WHERE block <> ?1")?
            .query_row([open], |row| row.get(0))?;
        if pending + self.fresh.len() < SEGMENT_BLOCKS {
            for (id, bits) in self.fresh.drain(..) {
                put_pending(index, id, &bits)?;
            }
            return Ok(());
        }
        let mut blocks = read_pending(index, open)?;
        blocks.append(&mut self.fresh);
        put_segment(index, &blocks)?;
        index.connection.prepare_cached("DELETE FROM pending WHERE block <> ?1")?.execute([open])?;
        Ok(())
    }
}

fn new_block(index: &Index, len: u64, newest: i64) -> Result<i64> {
    index
        .connection
        .prepare_cached("INSERT INTO block (len, newest) VALUES (?1, ?2)")?
        .execute(params![len, newest])?;
    Ok(index.connection.last_insert_rowid())
}

fn put_extent(index: &Index, block: i64, number: Number, piece: &Piece) -> Result<()> {
    index
        .connection
        .prepare_cached("INSERT INTO extent VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![block, number, piece.at, piece.len])?;
    Ok(())
}

fn put_pending(index: &Index, block: i64, bits: &Signature) -> Result<()> {
    index
        .connection
        .prepare_cached("INSERT OR REPLACE INTO pending VALUES (?1, ?2)")?
        .execute(params![block, bits.as_bytes()])?;
    Ok(())
}

/// The block that is not full yet, or a new one.
fn open_block(index: &Index) -> Result<OpenBlock> {
    let id: Option<i64> = index.fact("open_block")?.and_then(|id| id.parse().ok());
    if let Some(id) = id {
        let found = index
            .connection
            .prepare_cached(
                "SELECT b.len, b.newest, p.bits FROM block b JOIN pending p ON p.block = b.id WHERE b.id = ?1",
            )?
            .query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, Vec<u8>>(2)?)))
            .optional()?;
        if let Some((len, newest, bits)) = found {
            index.set_fact("open_block", "none")?;
            return Ok(OpenBlock { id, len, newest, bits: signature(&bits)? });
        }
    }
    let id = new_block(index, 0, i64::MIN)?;
    Ok(OpenBlock { id, len: 0, newest: i64::MIN, bits: Signature::new() })
}

fn close_block(index: &Index, open: &OpenBlock) -> Result<()> {
    index
        .connection
        .prepare_cached("UPDATE block SET len = ?2, newest = ?3 WHERE id = ?1")?
        .execute(params![open.id, open.len, open.newest])?;
    // Full now: its bits are written with the fresh ones.
    if open.len >= BLOCK_BYTES {
        index.connection.prepare_cached("DELETE FROM pending WHERE block = ?1")?.execute([open.id])?;
    }
    Ok(())
}

fn signature(bytes: &[u8]) -> Result<Signature> {
    Signature::from_bytes(bytes).ok_or_else(|| Error::Unusable {
        reason: format!("a signature of {} bytes instead of {SIGNATURE_BYTES}", bytes.len()),
    })
}

fn read_pending(index: &Index, but: i64) -> Result<Vec<(i64, Signature)>> {
    let mut statement = index
        .connection
        .prepare_cached("SELECT block, bits FROM pending WHERE block <> ?1 ORDER BY block")?;
    let mut rows = statement.query([but])?;
    let mut blocks = Vec::new();
    while let Some(row) = rows.next()? {
        let bits = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        blocks.push((row.get(0)?, signature(bits)?));
    }
    Ok(blocks)
}

fn put_segment(index: &Index, blocks: &[(i64, Signature)]) -> Result<()> {
    let ids: Vec<u8> = blocks.iter().flat_map(|(id, _)| id.to_le_bytes()).collect();
    index.connection.prepare_cached("INSERT INTO segment (blocks) VALUES (?1)")?.execute([ids])?;
    let segment = index.connection.last_insert_rowid();
    let signatures: Vec<&Signature> = blocks.iter().map(|(_, bits)| bits).collect();
    let transposed = transpose(&signatures);
    let mut statement = index.connection.prepare_cached("INSERT INTO row VALUES (?1, ?2)")?;
    for row in 0..ROWS {
        let bits = transposed.row(u16::try_from(row).unwrap_or(0));
        // Grams that no block has need no row.
        if bits.iter().any(|b| *b != 0) {
            statement.execute(params![segment * ROWS + row, bits])?;
        }
    }
    Ok(())
}

impl Index {
    /// The blocks that may hold a line with all these rows, newest first. No rows: all blocks.
    ///
    /// # Errors
    /// [`Error::Sqlite`].
    pub fn blocks(&self, rows: &[u16]) -> Result<Vec<Block>> {
        if rows.is_empty() {
            let mut statement = self
                .connection
                .prepare_cached("SELECT id, newest FROM block WHERE len > 0 ORDER BY newest DESC, id DESC")?;
            let blocks = statement.query_map([], block)?;
            return Ok(blocks.collect::<std::result::Result<_, _>>()?);
        }
        let mut ids = self.in_segments(rows)?;
        self.in_pending(rows, &mut ids)?;
        let mut statement = self.connection.prepare_cached("SELECT id, newest FROM block WHERE id = ?1")?;
        let mut blocks = Vec::with_capacity(ids.len());
        for id in ids {
            blocks.extend(statement.query_row([id], block).optional()?);
        }
        blocks.sort_by(|a: &Block, b: &Block| b.newest.cmp(&a.newest).then(b.id.cmp(&a.id)));
        Ok(blocks)
    }

    fn in_segments(&self, rows: &[u16]) -> Result<Vec<i64>> {
        let mut found = Vec::new();
        let mut segments = self.connection.prepare_cached("SELECT id, blocks FROM segment ORDER BY id")?;
        let mut bits_of = self.connection.prepare_cached("SELECT bits FROM row WHERE key = ?1")?;
        let mut segments = segments.query([])?;
        while let Some(segment) = segments.next()? {
            let id: i64 = segment.get(0)?;
            let mut bits: Vec<Vec<u8>> = Vec::with_capacity(rows.len());
            for row in rows {
                match bits_of.query_row([id * ROWS + i64::from(*row)], |r| r.get(0)).optional()? {
                    Some(row) => bits.push(row),
                    None => break,
                }
            }
            if bits.len() < rows.len() {
                continue;
            }
            let blocks = segment.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            for position in and(bits.iter().map(Vec::as_slice)) {
                let id = blocks.chunks_exact(8).nth(position as usize);
                found.extend(id.and_then(|id| id.try_into().ok()).map(i64::from_le_bytes));
            }
        }
        Ok(found)
    }

    fn in_pending(&self, rows: &[u16], found: &mut Vec<i64>) -> Result<()> {
        let mut statement = self.connection.prepare_cached("SELECT block, bits FROM pending")?;
        let mut pending = statement.query([])?;
        while let Some(row) = pending.next()? {
            let bits = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            let has = |n: &u16| bits.get(usize::from(*n) / 8).is_some_and(|byte| byte >> (n % 8) & 1 == 1);
            if rows.iter().all(has) {
                found.push(row.get(0)?);
            }
        }
        Ok(())
    }

    /// The parts of logs that a block stands for.
    ///
    /// # Errors
    /// [`Error::Sqlite`].
    pub fn extents(&self, block: i64) -> Result<Vec<Extent>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT s.id, e.at, e.len FROM extent e JOIN session s ON s.number = e.number WHERE e.block = ?1 ORDER BY e.number, e.at",
        )?;
        let rows =
            statement.query_map([block], |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?)))?;
        let rows: std::result::Result<Vec<(String, u64, u64)>, _> = rows.collect();
        let extent = |(id, at, len): (String, u64, u64)| {
            SessionId::parse(&id).ok().map(|session| Extent { session, at, len })
        };
        Ok(rows?.into_iter().filter_map(extent).collect())
    }

    /// How many bytes the indexes for searching take: signatures, words.
    ///
    /// # Errors
    /// [`Error::Sqlite`].
    pub fn search_bytes(&self) -> Result<(u64, u64)> {
        let sum = |sql: &str| -> Result<u64> { Ok(self.connection.query_row(sql, [], |row| row.get(0))?) };
        let signatures = sum("SELECT coalesce(sum(length(bits)), 0) FROM row")?
            + sum("SELECT coalesce(sum(length(bits)), 0) FROM pending")?;
        Ok((signatures, sum("SELECT coalesce(sum(length(block)), 0) FROM word_data")?))
    }
}

fn block(row: &rusqlite::Row<'_>) -> rusqlite::Result<Block> {
    Ok(Block { id: row.get(0)?, newest: Timestamp::from_millis(row.get(1)?) })
}
