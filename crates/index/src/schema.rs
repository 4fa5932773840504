//! The tables. There are no migrations: an index of another version is set aside and made anew from the logs.

use rusqlite::Connection;

use crate::error::{Error, Result};

/// The version of the tables. Raise it with every change, of the tables or of what is folded into them.
pub(crate) const VERSION: i64 = 1;

/// `annals` as four bytes, to tell an index from any other database.
const APPLICATION_ID: i64 = 0x616e_6e6c;

const TABLES: &str = "
CREATE TABLE fact (name TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- One row a session: what a list shows and where its log was read up to.
CREATE TABLE session (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  recorded INTEGER NOT NULL DEFAULT 0,
  read_to INTEGER NOT NULL DEFAULT 0,
  next_seq INTEGER NOT NULL DEFAULT 0,
  anchor INTEGER NOT NULL DEFAULT 0,
  text_to INTEGER NOT NULL DEFAULT 0,
  text_seq INTEGER NOT NULL DEFAULT 0,
  text_anchor INTEGER NOT NULL DEFAULT 0,
  len INTEGER NOT NULL DEFAULT 0,
  mtime_ns INTEGER NOT NULL DEFAULT 0,
  identity INTEGER NOT NULL DEFAULT 0,
  hidden TEXT,
  damaged INTEGER NOT NULL DEFAULT 0,
  sort INTEGER NOT NULL DEFAULT 0,
  title TEXT, status TEXT NOT NULL DEFAULT 'idle',
  events INTEGER NOT NULL DEFAULT 0, messages INTEGER NOT NULL DEFAULT 0,
  created INTEGER, updated INTEGER,
  workspace TEXT, project TEXT, agent TEXT, provider TEXT, model TEXT, origin TEXT, source TEXT,
  snapshot TEXT, from_session TEXT, from_seq INTEGER, from_snapshot TEXT, parent TEXT,
  moved_from TEXT, moved_at INTEGER,
  tags TEXT,
  last_turn INTEGER, traceparent TEXT,
  calls INTEGER NOT NULL DEFAULT 0, input INTEGER NOT NULL DEFAULT 0, cached INTEGER NOT NULL DEFAULT 0,
  cache_write INTEGER NOT NULL DEFAULT 0, output INTEGER NOT NULL DEFAULT 0, context INTEGER NOT NULL DEFAULT 0,
  cost_micros INTEGER NOT NULL DEFAULT 0, unpriced INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX session_newest ON session(sort DESC, id DESC) WHERE hidden IS NULL;
CREATE INDEX session_hidden ON session(hidden) WHERE hidden IS NOT NULL;
CREATE INDEX session_workspace ON session(workspace, sort DESC, id DESC) WHERE hidden IS NULL;
CREATE INDEX session_project ON session(project, sort DESC, id DESC) WHERE hidden IS NULL AND project IS NOT NULL;
CREATE INDEX session_text ON session(sort, number) WHERE text_to < read_to;
CREATE INDEX session_snapshot ON session(snapshot) WHERE snapshot IS NOT NULL;

-- How many sessions there are, counted as they come and go, so that no list counts them.
CREATE TABLE tally (what TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO tally VALUES ('shown', 0);
CREATE TRIGGER session_comes AFTER INSERT ON session WHEN new.hidden IS NULL
  BEGIN UPDATE tally SET count = count + 1 WHERE what = 'shown'; END;
CREATE TRIGGER session_goes AFTER DELETE ON session WHEN old.hidden IS NULL
  BEGIN UPDATE tally SET count = count - 1 WHERE what = 'shown'; END;
CREATE TRIGGER session_turns AFTER UPDATE OF hidden ON session WHEN (old.hidden IS NULL) <> (new.hidden IS NULL)
  BEGIN UPDATE tally SET count = count + (new.hidden IS NULL) - (old.hidden IS NULL) WHERE what = 'shown'; END;

-- What the fold must know to go on. Apart from the rows that a list walks over.
CREATE TABLE fold (number INTEGER PRIMARY KEY, state TEXT NOT NULL);

CREATE TABLE tag (tag TEXT NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (tag, number)) WITHOUT ROWID;
CREATE INDEX tag_number ON tag(number);

-- Sessions that a process has open for writing: their logs may be ahead of the index.
CREATE TABLE live (id TEXT PRIMARY KEY, pid INTEGER NOT NULL) WITHOUT ROWID;

-- Files of other agents, as they were when they were last imported.
CREATE TABLE source (
  path TEXT NOT NULL, number INTEGER NOT NULL, size INTEGER NOT NULL, mtime_ms INTEGER NOT NULL, read_to INTEGER NOT NULL,
  PRIMARY KEY (path, number)
) WITHOUT ROWID;
CREATE INDEX source_number ON source(number);

-- Tokens by hour (hours since the epoch) and model.
CREATE TABLE spent (
  number INTEGER NOT NULL, hour INTEGER NOT NULL, model TEXT NOT NULL,
  messages INTEGER NOT NULL, calls INTEGER NOT NULL, input INTEGER NOT NULL, cached INTEGER NOT NULL,
  cache_write INTEGER NOT NULL, output INTEGER NOT NULL, cost_micros INTEGER NOT NULL, unpriced INTEGER NOT NULL,
  PRIMARY KEY (number, hour, model)
) WITHOUT ROWID;
CREATE INDEX spent_hour ON spent(hour);

-- What people and agents said: where it stands in the log, and its words.
CREATE TABLE message (
  id INTEGER PRIMARY KEY, number INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, len INTEGER NOT NULL,
  role INTEGER NOT NULL, ts INTEGER NOT NULL
);
CREATE INDEX message_number ON message(number);
CREATE VIRTUAL TABLE word USING fts5(text, content='', contentless_delete=1, tokenize=\"ascii tokenchars '_'\");

-- Blocks of log lines and their signatures. Bits of a block that is in no segment yet stand in `pending`.
CREATE TABLE block (id INTEGER PRIMARY KEY, len INTEGER NOT NULL, newest INTEGER NOT NULL);
CREATE TABLE extent (block INTEGER NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL, len INTEGER NOT NULL,
  PRIMARY KEY (block, number, at)) WITHOUT ROWID;
CREATE INDEX extent_number ON extent(number, block);
CREATE TABLE pending (block INTEGER PRIMARY KEY, bits BLOB NOT NULL);
CREATE TABLE segment (id INTEGER PRIMARY KEY, blocks BLOB NOT NULL);
CREATE TABLE row (key INTEGER PRIMARY KEY, bits BLOB NOT NULL);
";

/// Makes the tables in an empty database, or finds them there.
pub(crate) fn prepare(connection: &mut Connection) -> Result<()> {
    let application: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    match (application, version) {
        (APPLICATION_ID, VERSION) => Ok(()),
        (0, 0) => create(connection),
        (APPLICATION_ID, other) => {
            Err(Error::Unusable { reason: format!("it is of version {other}, this program's is {VERSION}") })
        }
        _ => Err(Error::Unusable { reason: "it is another program's database".to_owned() }),
    }
}

/// Makes the tables, unless another process just did.
fn create(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version == VERSION {
        return Ok(());
    }
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables > 0 {
        return Err(Error::Unusable { reason: "it is another program's database".to_owned() });
    }
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(())
}
