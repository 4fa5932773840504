//! What is known of logs: where each was read up to, and what its file looked like then.

use std::collections::HashMap;

use annals_model::SessionId;
use rusqlite::OptionalExtension;

use crate::error::Result;
use crate::feed::{Cursor, Feed, Fold, Stamp};
use crate::index::Index;
use crate::number::Number;

/// What is known of one session's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The session's number.
    pub number: Number,
    /// Where its log was read up to.
    pub cursor: Cursor,
    /// The log's file at that time.
    pub stamp: Stamp,
    /// Whether damage was met in it.
    pub damaged: bool,
}

const COLUMNS: &str = "number, read_to, next_seq, anchor, len, mtime_ns, identity, damaged";

fn known(row: &rusqlite::Row<'_>) -> rusqlite::Result<Known> {
    Ok(Known {
        number: row.get(0)?,
        cursor: Cursor { read_to: row.get(1)?, next_seq: row.get(2)?, anchor: row.get(3)? },
        // Inodes use all 64 bits on some file systems; SQLite's integers have a sign.
        stamp: Stamp {
            len: row.get(4)?,
            mtime_ns: row.get(5)?,
            identity: row.get::<_, i64>(6)?.cast_unsigned(),
        },
        damaged: row.get(7)?,
    })
}

impl Index {
    /// What is known of a session's log.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn known(&self, id: &SessionId) -> Result<Option<Known>> {
        let sql = format!("SELECT {COLUMNS} FROM session WHERE id = ?1");
        Ok(self.connection.prepare_cached(&sql)?.query_row([id.as_str()], known).optional()?)
    }

    /// What is known of every session's log.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn all_known(&self) -> Result<HashMap<String, Known>> {
        let sql = format!("SELECT {COLUMNS}, id FROM session");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(8)?, known(row)?)))?;
        Ok(rows.collect::<std::result::Result<_, _>>()?)
    }

    /// A feed that goes on where a session's log was read up to; from the start when nothing is known of it.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`]. A folded record that can't be read is no error: the log is folded anew.
    pub fn feed(&self, id: &SessionId) -> Result<Feed> {
        let Some(known) = self.known(id)? else { return Ok(Feed::from_the_start()) };
        let mut statement = self.connection.prepare_cached("SELECT state FROM fold WHERE number = ?1")?;
        let state: Option<String> = statement.query_row([known.number], |row| row.get(0)).optional()?;
        let fold: Option<Fold> = state.and_then(|state| serde_json::from_str(&state).ok());
        Ok(fold.map_or_else(Feed::from_the_start, |fold| Feed::new(known.cursor, fold)))
    }

    /// The sessions that a file was imported into, with its size and time (milliseconds since the epoch) at the last import.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn sessions_of_source(&self, path: &str) -> Result<Vec<(SessionId, u64, i64)>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT s.id, f.size, f.mtime_ms FROM source f JOIN session s ON s.number = f.number WHERE f.path = ?1 ORDER BY s.id",
        )?;
        let rows = statement.query_map([path], |row| {
            Ok(SessionId::parse(&row.get::<_, String>(0)?).ok().zip(Some((row.get(1)?, row.get(2)?))))
        })?;
        let mut found = Vec::new();
        for row in rows {
            found.extend(row?.map(|(id, (size, mtime))| (id, size, mtime)));
        }
        Ok(found)
    }

    /// The sizes and times at which the files of other agents were last imported, by path.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn sources(&self) -> Result<HashMap<String, (u64, i64)>> {
        let mut statement = self.connection.prepare_cached("SELECT path, size, mtime_ms FROM source")?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
        Ok(rows.collect::<std::result::Result<_, _>>()?)
    }
}
