//! Statistics: what was spent, by day, model or workspace.

use annals_model::Timestamp;
use rusqlite::params_from_iter;
use rusqlite::types::Value;

use crate::error::Result;
use crate::index::Index;
use crate::list::Filter;

/// What is added up together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The day, in a zone that is this many whole hours east of UTC.
    Day {
        /// Hours east of UTC.
        zone_hours: i64,
    },
    /// The model.
    Model,
    /// The workspace.
    Workspace,
    /// The agent, or the format that the session was imported from.
    Agent,
    /// Everything.
    All,
}

/// A line of a statistic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageRow {
    /// What it is of: days since the epoch, a model, a workspace, an agent. Empty where that is not known.
    pub of: String,
    /// Sessions that had a part in it.
    pub sessions: u64,
    /// Messages.
    pub messages: i64,
    /// Model requests.
    pub calls: i64,
    /// Tokens read at full price.
    pub input: i64,
    /// Tokens read from the cache.
    pub cached: i64,
    /// Tokens written to the cache.
    pub cache_write: i64,
    /// Tokens written by the model.
    pub output: i64,
    /// Cost in millionths of a US dollar, of what is priced.
    pub cost_micros: i64,
    /// Requests that are not priced.
    pub unpriced: i64,
}

impl Index {
    /// What was spent between two times (to the hour), by the sessions that a filter leaves. Days come oldest first, all else by output
    /// tokens, most first.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn usage(
        &self,
        by: By,
        filter: &Filter,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<Vec<UsageRow>> {
        let (mut conditions, mut values) = filter.conditions();
        conditions.insert(0, "s.hidden IS NULL".to_owned());
        let hour = |t: Timestamp| t.as_millis().div_euclid(3_600_000);
        if let Some(since) = since {
            conditions.push("u.hour >= ?".to_owned());
            values.push(Value::from(hour(since)));
        }
        if let Some(until) = until {
            conditions.push("u.hour < ?".to_owned());
            values.push(Value::from(hour(until)));
        }
        let of = match by {
            By::Day { zone_hours } => format!("(u.hour + {zone_hours}) / 24"),
            By::Model => "u.model".to_owned(),
            By::Workspace => "coalesce(s.workspace, '')".to_owned(),
            By::Agent => "coalesce(s.agent, s.source, '')".to_owned(),
            By::All => "''".to_owned(),
        };
        let order =
            if matches!(by, By::Day { .. }) { "1" } else { "sum(u.output) DESC, sum(u.messages) DESC, 1" };
        let sql = format!(
            "SELECT {of}, count(DISTINCT u.number), sum(u.messages), sum(u.calls), sum(u.input), sum(u.cached), sum(u.cache_write),
               sum(u.output), sum(u.cost_micros), sum(u.unpriced)
             FROM spent u JOIN session s ON s.number = u.number WHERE {} GROUP BY 1 ORDER BY {order}",
            conditions.join(" AND ")
        );
        let mut statement = self.connection.prepare(&sql)?;
        let rows = statement.query_map(params_from_iter(&values), |row| {
            let of = match row.get::<_, Value>(0)? {
                Value::Integer(n) => n.to_string(),
                Value::Text(text) => text,
                _ => String::new(),
            };
            Ok(UsageRow {
                of,
                sessions: row.get(1)?,
                messages: row.get(2)?,
                calls: row.get(3)?,
                input: row.get(4)?,
                cached: row.get(5)?,
                cache_write: row.get(6)?,
                output: row.get(7)?,
                cost_micros: row.get(8)?,
                unpriced: row.get(9)?,
            })
        })?;
        Ok(rows.collect::<std::result::Result<_, _>>()?)
    }
}
