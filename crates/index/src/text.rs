//! What the index is fed of a log's text: what was said, word by word, and signatures of all lines.
//!
//! Fed apart from the facts (see [`crate::Feed`]) and with a cursor of its own: words are the slow part, and only a search needs them.

use annals_model::event::Event;
use annals_model::{Line, Seq, SessionId, Timestamp};
use annals_search::signature::Signature;
use annals_search::text::{Role, transcript_text};
use annals_search::words::normalise;

use crate::error::Result;
use crate::feed::Cursor;
use crate::index::Index;

/// A piece of a log that is at least this long is a block of its own.
pub(crate) const BLOCK_BYTES: u64 = 32 * 1024;

/// Something said, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) seq: Seq,
    /// Offset of its line.
    pub(crate) at: u64,
    /// Length of its line, without the newline.
    pub(crate) len: u64,
    pub(crate) role: Role,
    pub(crate) ts: Timestamp,
    /// Its words, as [`normalise`] gives them.
    pub(crate) words: String,
}

/// A run of whole lines and what is known of the text in them.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    /// Offset of the first line.
    pub(crate) at: u64,
    /// Length, newlines included.
    pub(crate) len: u64,
    /// The time of its newest event, in milliseconds.
    pub(crate) newest: i64,
    pub(crate) signature: Signature,
}

/// The text of a log's new lines.
#[derive(Debug)]
pub struct TextFeed {
    pub(crate) from: Cursor,
    pub(crate) to: Cursor,
    pub(crate) messages: Vec<Message>,
    pub(crate) pieces: Vec<Piece>,
    /// The piece being made.
    open: Option<Piece>,
    taken: u64,
}

impl TextFeed {
    pub(crate) fn new(from: Cursor) -> Self {
        Self { from, to: from, messages: Vec::new(), pieces: Vec::new(), open: None, taken: 0 }
    }

    /// Where the next line is expected.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        self.to
    }

    /// How many bytes of log it stands for.
    #[must_use]
    pub fn len_bytes(&self) -> u64 {
        self.taken
    }

    /// A feed that goes on where this one ends.
    #[must_use]
    pub fn next(&self) -> Self {
        Self::new(self.to)
    }

    /// Takes in a checked line that starts at `at`, `bytes` without its newline.
    pub fn take(&mut self, line: &Line<'_>, bytes: &[u8], at: u64) {
        let len = bytes.len() as u64;
        self.to = Cursor { read_to: at + len + 1, next_seq: line.seq + 1, anchor: line.anchor() };
        self.taken += len + 1;
        let ts = Timestamp::parse(line.ts).unwrap_or_default();
        self.sign(bytes, at, ts);
        if matches!(line.kind, "user_message" | "assistant_message")
            && let Ok(event) = Event::from_line(line)
        {
            self.say(&event, at, len);
        }
    }

    fn say(&mut self, event: &Event, at: u64, len: u64) {
        let Some((role, text)) = transcript_text(event) else { return };
        let mut words = String::with_capacity(text.len());
        normalise(&text, &mut words);
        if !words.is_empty() {
            self.messages.push(Message { seq: event.seq, at, len, role, ts: event.ts, words });
        }
    }

    fn sign(&mut self, bytes: &[u8], at: u64, ts: Timestamp) {
        // Lines that don't follow each other (damage lies between) are no run.
        if self.open.as_ref().is_some_and(|open| open.at + open.len != at) {
            self.pieces.extend(self.open.take());
        }
        let new = || Piece { at, len: 0, newest: i64::MIN, signature: Signature::new() };
        let open = self.open.get_or_insert_with(new);
        open.signature.add(bytes);
        open.len += bytes.len() as u64 + 1;
        open.newest = open.newest.max(ts.as_millis());
        if open.len >= BLOCK_BYTES {
            self.pieces.extend(self.open.take());
        }
    }

    /// No more lines: the piece being made is done.
    pub(crate) fn finish(&mut self) {
        self.pieces.extend(self.open.take());
    }
}

impl Index {
    /// A feed that goes on where a session's text was read up to.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn text_feed(&self, id: &SessionId) -> Result<TextFeed> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT text_to, text_seq, text_anchor FROM session WHERE id = ?1")?;
        let cursor = |row: &rusqlite::Row<'_>| {
            Ok(Cursor { read_to: row.get(0)?, next_seq: row.get(1)?, anchor: row.get(2)? })
        };
        let cursor = rusqlite::OptionalExtension::optional(statement.query_row([id.as_str()], cursor))?;
        Ok(TextFeed::new(cursor.unwrap_or_default()))
    }

    /// Sessions whose text was not read as far as their facts, oldest first, with the number of bytes to read.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn unread_text(&self) -> Result<Vec<(SessionId, u64)>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT id, read_to - text_to FROM session WHERE text_to < read_to ORDER BY sort, number",
        )?;
        let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
        let rows: std::result::Result<Vec<(String, u64)>, _> = rows.collect();
        Ok(rows?.into_iter().filter_map(|(id, n)| Some((SessionId::parse(&id).ok()?, n))).collect())
    }
}
