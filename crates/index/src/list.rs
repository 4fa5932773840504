//! The list: rows of metadata, newest first, by pages. No log is read and no row counted that is not shown.

use annals_model::fold::UsageTotals;
use annals_model::{Seq, SessionId, Timestamp};
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Row as SqlRow, params_from_iter};

use crate::error::Result;
use crate::feed::Stamp;
use crate::index::Index;
use crate::number::Number;

/// What a list shows of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its id.
    pub id: SessionId,
    /// Its number.
    pub number: Number,
    /// Its title.
    pub title: Option<String>,
    /// What it was doing when its log was read last: `idle`, `interrupted`, `ended`.
    pub status: String,
    /// Whether its log is damaged.
    pub damaged: bool,
    /// How many events.
    pub events: u64,
    /// How many messages.
    pub messages: u64,
    /// The first event's time.
    pub created: Option<Timestamp>,
    /// The last message's time.
    pub updated: Option<Timestamp>,
    /// The workspace.
    pub workspace: Option<String>,
    /// The project.
    pub project: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The model provider.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// What started it.
    pub origin: Option<String>,
    /// The format that it was imported from.
    pub source: Option<String>,
    /// The name that it was saved under.
    pub snapshot: Option<String>,
    /// Where it was copied from, and the last event taken over.
    pub from: Option<(String, Seq)>,
    /// The snapshot that it was branched from.
    pub from_snapshot: Option<String>,
    /// The session that it works for.
    pub parent: Option<String>,
    /// The workspace that it was moved from, and the position of the move.
    pub moved_from: Option<(String, Seq)>,
    /// Its tags.
    pub tags: Vec<String>,
    /// The last turn's number.
    pub last_turn: Option<u64>,
    /// The last turn's trace context.
    pub traceparent: Option<String>,
    /// What it cost.
    pub usage: UsageTotals,
    /// The log's file when it was read last.
    pub stamp: Stamp,
}

/// Which sessions are meant. Everything that is set must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// In this workspace, or in one below it.
    pub workspace: Option<String>,
    /// Of this project.
    pub project: Option<String>,
    /// In this workspace or of this project.
    pub here: Option<(String, Option<String>)>,
    /// Of this agent; the format of imported ones counts as one.
    pub agent: Option<String>,
    /// Started by this.
    pub origin: Option<String>,
    /// With this model, or one whose name begins so.
    pub model: Option<String>,
    /// With all these tags.
    pub tags: Vec<String>,
    /// Updated at or after.
    pub since: Option<Timestamp>,
    /// Updated before.
    pub until: Option<Timestamp>,
    /// With this text in the title; ASCII letters of either case.
    pub title: Option<String>,
    /// Whether snapshots are meant: None for both.
    pub snapshots: Option<bool>,
    /// Working for this session.
    pub parent: Option<String>,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// The rows.
    pub rows: Vec<Row>,
    /// How many sessions the filter leaves, on all pages.
    pub matching: u64,
    /// How many sessions can be shown at all.
    pub shown: u64,
}

/// How many sessions are not shown, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// The reason.
    pub reason: String,
    /// How many.
    pub count: u64,
}

const COLUMNS: &str = "id, number, title, status, damaged, events, messages, created, updated, workspace, project, agent, provider,
    model, origin, source, snapshot, from_session, from_seq, from_snapshot, parent, moved_from, moved_at, tags, last_turn, traceparent,
    calls, input, cached, cache_write, output, context, cost_micros, unpriced, len, mtime_ns, identity";

fn row(row: &SqlRow<'_>) -> rusqlite::Result<Option<Row>> {
    let Ok(id) = SessionId::parse(&row.get::<_, String>(0)?) else { return Ok(None) };
    let time = |n: usize| -> rusqlite::Result<Option<Timestamp>> {
        Ok(row.get::<_, Option<i64>>(n)?.map(Timestamp::from_millis))
    };
    let both = |text: usize, seq: usize| -> rusqlite::Result<Option<(String, Seq)>> {
        Ok(row.get::<_, Option<String>>(text)?.zip(row.get::<_, Option<Seq>>(seq)?))
    };
    let tags: Option<String> = row.get(23)?;
    Ok(Some(Row {
        id,
        number: row.get(1)?,
        title: row.get(2)?,
        status: row.get(3)?,
        damaged: row.get(4)?,
        events: row.get(5)?,
        messages: row.get(6)?,
        created: time(7)?,
        updated: time(8)?,
        workspace: row.get(9)?,
        project: row.get(10)?,
        agent: row.get(11)?,
        provider: row.get(12)?,
        model: row.get(13)?,
        origin: row.get(14)?,
        source: row.get(15)?,
        snapshot: row.get(16)?,
        from: both(17, 18)?,
        from_snapshot: row.get(19)?,
        parent: row.get(20)?,
        moved_from: both(21, 22)?,
        tags: tags.and_then(|t| serde_json::from_str(&t).ok()).unwrap_or_default(),
        last_turn: row.get(24)?,
        traceparent: row.get(25)?,
        usage: UsageTotals {
            calls: row.get(26)?,
            input: row.get(27)?,
            cached: row.get(28)?,
            cache_write: row.get(29)?,
            output: row.get(30)?,
            context: row.get(31)?,
            cost_micros: row.get(32)?,
            unpriced: row.get(33)?,
        },
        stamp: Stamp {
            len: row.get(34)?,
            mtime_ns: row.get(35)?,
            identity: row.get::<_, i64>(36)?.cast_unsigned(),
        },
    }))
}

impl Filter {
    /// Whether every session is meant.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The conditions on table `session` (named `s`), and their values.
    pub(crate) fn conditions(&self) -> (Vec<String>, Vec<Value>) {
        let mut built = Conditions::default();
        if let Some(workspace) = &self.workspace {
            built.under(workspace, "");
        }
        if let Some(project) = &self.project {
            built.add("s.project = ?", [project.clone()]);
        }
        if let Some((workspace, project)) = &self.here {
            match project {
                Some(project) => built.under(workspace, project),
                None => built.under(workspace, ""),
            }
        }
        if let Some(agent) = &self.agent {
            built.add("(s.agent = ? OR s.source = ?)", [agent.clone(), agent.clone()]);
        }
        if let Some(origin) = &self.origin {
            built.add("s.origin = ?", [origin.clone()]);
        }
        if let Some(model) = &self.model {
            built.add("substr(s.model, 1, length(?)) = ?", [model.clone(), model.clone()]);
        }
        for tag in &self.tags {
            built.add("s.number IN (SELECT number FROM tag WHERE tag = ?)", [tag.clone()]);
        }
        if let Some(since) = self.since {
            built.add("s.sort >= ?", [since.as_millis()]);
        }
        if let Some(until) = self.until {
            built.add("s.sort < ?", [until.as_millis()]);
        }
        if let Some(title) = &self.title {
            built.add("instr(lower(s.title), lower(?)) > 0", [title.clone()]);
        }
        if let Some(wanted) = self.snapshots {
            built.sql.push(format!("s.snapshot IS {}NULL", if wanted { "NOT " } else { "" }));
        }
        if let Some(parent) = &self.parent {
            built.add("s.parent = ?", [parent.clone()]);
        }
        (built.sql, built.values)
    }
}

#[derive(Default)]
struct Conditions {
    sql: Vec<String>,
    values: Vec<Value>,
}

impl Conditions {
    fn add<V: Into<Value>, const N: usize>(&mut self, sql: &str, values: [V; N]) {
        self.sql.push(sql.to_owned());
        self.values.extend(values.map(Into::into));
    }

    /// In a workspace, below it, or of a project when one is named.
    fn under(&mut self, workspace: &str, project: &str) {
        let below = format!("{}/", workspace.trim_end_matches('/'));
        // The character after `/`: everything that begins with `below` lies between.
        let behind = format!("{}0", workspace.trim_end_matches('/'));
        let mut sql = "s.workspace = ? OR (s.workspace >= ? AND s.workspace < ?)".to_owned();
        let mut values = vec![workspace.to_owned(), below, behind];
        if !project.is_empty() {
            sql.push_str(" OR s.project = ?");
            values.push(project.to_owned());
        }
        self.sql.push(format!("({sql})"));
        self.values.extend(values.into_iter().map(Value::from));
    }
}

impl Index {
    /// A page of the list: `limit` sessions (0 for all) behind the first `skip`, newest first.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn list(&self, filter: &Filter, skip: u64, limit: u64) -> Result<Page> {
        let (mut conditions, mut values) = filter.conditions();
        conditions.insert(0, "s.hidden IS NULL".to_owned());
        let wheres = conditions.join(" AND ");
        let shown: u64 = self
            .connection
            .prepare_cached("SELECT count FROM tally WHERE what = 'shown'")?
            .query_row([], |row| row.get(0))?;
        let matching = if filter.is_empty() {
            shown
        } else {
            let sql = format!("SELECT count(*) FROM session s WHERE {wheres}");
            self.connection.prepare_cached(&sql)?.query_row(params_from_iter(&values), |row| row.get(0))?
        };
        let sql = format!(
            "SELECT {COLUMNS} FROM session s WHERE {wheres} ORDER BY s.sort DESC, s.id DESC LIMIT ? OFFSET ?"
        );
        let bound = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        values.push(Value::from(if limit == 0 { -1 } else { bound(limit) }));
        values.push(Value::from(bound(skip)));
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(&values), row)?;
        let rows: std::result::Result<Vec<Option<Row>>, _> = rows.collect();
        Ok(Page { rows: rows?.into_iter().flatten().collect(), matching, shown })
    }

    /// Sessions that are not shown, by reason.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn hidden(&self) -> Result<Vec<Tally>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT hidden, count(*) FROM session WHERE hidden IS NOT NULL GROUP BY hidden ORDER BY hidden",
        )?;
        let rows = statement.query_map([], |row| Ok(Tally { reason: row.get(0)?, count: row.get(1)? }))?;
        Ok(rows.collect::<std::result::Result<_, _>>()?)
    }

    /// Why a session is not shown; None when it is, or is not known.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn hidden_reason(&self, id: &SessionId) -> Result<Option<String>> {
        let mut statement = self.connection.prepare_cached("SELECT hidden FROM session WHERE id = ?1")?;
        Ok(statement.query_row([id.as_str()], |row| row.get(0)).optional()?.flatten())
    }

    /// One session's row.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn row(&self, id: &SessionId) -> Result<Option<Row>> {
        self.one("s.id = ?1 AND s.hidden IS NULL", id.as_str())
    }

    /// The snapshot of this name.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn snapshot(&self, name: &str) -> Result<Option<Row>> {
        // While one replaces another there are two for a moment; the newer counts.
        self.one("s.snapshot = ?1 AND s.hidden IS NULL ORDER BY s.created DESC, s.id DESC LIMIT 1", name)
    }

    fn one(&self, wheres: &str, value: &str) -> Result<Option<Row>> {
        let sql = format!("SELECT {COLUMNS} FROM session s WHERE {wheres}");
        Ok(self.connection.prepare_cached(&sql)?.query_row([value], row).optional()?.flatten())
    }

    /// Sessions copied from this one, oldest first.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn copies_of(&self, id: &SessionId) -> Result<Vec<Row>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM session s WHERE s.hidden IS NULL AND s.from_session = ?1 ORDER BY s.created, s.id"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map([id.as_str()], row)?;
        let rows: std::result::Result<Vec<Option<Row>>, _> = rows.collect();
        Ok(rows?.into_iter().flatten().collect())
    }
}
