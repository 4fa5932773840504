//! Ranked search: the words of what people and agents said.

use annals_model::{Seq, SessionId, Timestamp};
use annals_search::text::Role;
use rusqlite::params_from_iter;
use rusqlite::types::Value;

use crate::error::Result;
use crate::index::Index;
use crate::list::Filter;

/// How a role stands in the table.
pub(crate) fn role_number(role: Role) -> i64 {
    i64::from(role == Role::Agent)
}

fn role_of(number: i64) -> Role {
    if number == 0 { Role::User } else { Role::Agent }
}

/// A message that matches: where its text is.
#[derive(Debug, Clone, PartialEq)]
pub struct WordHit {
    /// The session.
    pub session: SessionId,
    /// The event.
    pub seq: Seq,
    /// Offset of its line in the log.
    pub at: u64,
    /// Length of its line, without the newline.
    pub len: u64,
    /// Who said it.
    pub role: Role,
    /// When.
    pub ts: Timestamp,
    /// How well it matches; less is better.
    pub rank: f64,
}

/// The best matches.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WordHits {
    /// The hits, best first.
    pub hits: Vec<WordHit>,
    /// How many there are.
    pub total: u64,
}

impl Index {
    /// The `limit` messages that match an FTS5 expression best, the newer of equals first. The filter's times are asked of the messages. See
    /// [`annals_search::words::fts_expression`].
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn words(
        &self,
        expression: &str,
        filter: &Filter,
        role: Option<Role>,
        limit: u64,
    ) -> Result<WordHits> {
        let of_sessions = Filter { since: None, until: None, ..filter.clone() };
        let (mut conditions, mut filter_values) = of_sessions.conditions();
        for (time, condition) in [(filter.since, "m.ts >= ?"), (filter.until, "m.ts < ?")] {
            if let Some(time) = time {
                conditions.push(condition.to_owned());
                filter_values.push(Value::from(time.as_millis()));
            }
        }
        let is_filtered = !conditions.is_empty() || role.is_some();
        conditions.insert(0, "word MATCH ?".to_owned());
        let mut values = vec![Value::from(expression.to_owned())];
        values.extend(filter_values);
        if let Some(role) = role {
            conditions.push("m.role = ?".to_owned());
            values.push(Value::from(role_number(role)));
        }
        let wheres = conditions.join(" AND ");
        let joined = "word JOIN message m ON m.id = word.rowid JOIN session s ON s.number = m.number";
        // Without a filter nothing but the words decides: no other table is asked.
        let from = if is_filtered { joined } else { "word" };
        let count = format!("SELECT count(*) FROM {from} WHERE {wheres}");
        let total: u64 =
            self.connection.prepare_cached(&count)?.query_row(params_from_iter(&values), |row| row.get(0))?;
        values.push(Value::from(i64::try_from(limit).unwrap_or(i64::MAX)));
        let best = format!(
            "SELECT s.id, m.seq, m.at, m.len, m.role, m.ts, b.rank FROM
               (SELECT word.rowid AS id, rank FROM {from} WHERE {wheres} ORDER BY rank LIMIT ?) b
             JOIN message m ON m.id = b.id JOIN session s ON s.number = m.number ORDER BY b.rank, m.ts DESC"
        );
        let mut statement = self.connection.prepare_cached(&best)?;
        let rows = statement.query_map(params_from_iter(&values), |row| {
            let Ok(session) = SessionId::parse(&row.get::<_, String>(0)?) else { return Ok(None) };
            Ok(Some(WordHit {
                session,
                seq: row.get(1)?,
                at: row.get(2)?,
                len: row.get(3)?,
                role: role_of(row.get(4)?),
                ts: Timestamp::from_millis(row.get(5)?),
                rank: row.get(6)?,
            }))
        })?;
        let hits: std::result::Result<Vec<Option<WordHit>>, _> = rows.collect();
        Ok(WordHits { hits: hits?.into_iter().flatten().collect(), total })
    }
}
