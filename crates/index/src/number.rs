//! Conversation ids: each session's number, one-to-one with its id.
//!
//! A log names its session's number once somebody wrote it there (`conversation_assigned`); that number wins. A session whose log names none
//! gets the next free one, which its next writer records. Two logs that claim one number are a session and a plain copy of it: whoever has
//! the number keeps it.

use annals_model::SessionId;
use rusqlite::OptionalExtension;

use crate::error::Result;
use crate::index::Index;

/// A conversation id.
pub type Number = u64;

impl Index {
    /// The number of a session, and whether its log names it.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn number_of(&self, id: &SessionId) -> Result<Option<(Number, bool)>> {
        let mut statement =
            self.connection.prepare_cached("SELECT number, recorded FROM session WHERE id = ?1")?;
        Ok(statement.query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
    }

    /// The session with a number.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn session_of(&self, number: Number) -> Result<Option<SessionId>> {
        let mut statement = self.connection.prepare_cached("SELECT id FROM session WHERE number = ?1")?;
        let id: Option<String> = statement.query_row([number], |row| row.get(0)).optional()?;
        Ok(id.and_then(|id| SessionId::parse(&id).ok()))
    }

    /// The number that the next session gets.
    pub(crate) fn next_number(&self) -> Result<Number> {
        let highest: Option<Number> =
            self.connection.prepare_cached("SELECT max(number) FROM session")?.query_row([], |r| r.get(0))?;
        let remembered = self.fact("next_number")?.and_then(|n| n.parse().ok()).unwrap_or(1);
        Ok(highest.map_or(1, |n| n + 1).max(remembered))
    }

    /// A session's row: the one that is there, else a new one. `claimed` is the number that its log names.
    pub(crate) fn row_for(&self, id: &SessionId, claimed: Option<Number>) -> Result<Number> {
        let known = self.number_of(id)?;
        let claimed = claimed.filter(|n| *n > 0 && i64::try_from(*n).is_ok());
        match (known, claimed) {
            (Some((number, recorded)), None) => {
                if recorded {
                    // The log was made anew without it.
                    self.set_recorded(number, false)?;
                }
                Ok(number)
            }
            (Some((number, _)), Some(claim)) if number == claim => {
                self.set_recorded(number, true)?;
                Ok(number)
            }
            (Some((number, _)), Some(claim)) => {
                if !self.is_free(claim)? {
                    self.set_recorded(number, false)?;
                    return Ok(number);
                }
                self.renumber(number, claim)?;
                self.set_recorded(claim, true)?;
                Ok(claim)
            }
            (None, claim) => {
                let free = match claim {
                    Some(claim) if self.is_free(claim)? => Some(claim),
                    _ => None,
                };
                let number = match free {
                    Some(number) => number,
                    None => self.next_number()?,
                };
                self.connection
                    .prepare_cached("INSERT INTO session (number, id, recorded) VALUES (?1, ?2, ?3)")?
                    .execute((number, id.as_str(), free.is_some()))?;
                self.remember_next(number + 1)?;
                Ok(number)
            }
        }
    }

    fn is_free(&self, number: Number) -> Result<bool> {
        let mut statement = self.connection.prepare_cached("SELECT 1 FROM session WHERE number = ?1")?;
        Ok(statement.query_row([number], |_| Ok(())).optional()?.is_none())
    }

    fn set_recorded(&self, number: Number, recorded: bool) -> Result<()> {
        self.connection
            .prepare_cached("UPDATE session SET recorded = ?2 WHERE number = ?1 AND recorded <> ?2")?
            .execute((number, recorded))?;
        Ok(())
    }

    /// Numbers are not given again, also not those of sessions that are gone.
    fn remember_next(&self, next: Number) -> Result<()> {
        let remembered: Number = self.fact("next_number")?.and_then(|n| n.parse().ok()).unwrap_or(1);
        if next > remembered {
            self.set_fact("next_number", &next.to_string())?;
        }
        Ok(())
    }

    fn renumber(&self, from: Number, to: Number) -> Result<()> {
        for table in ["session", "fold", "tag", "source", "spent", "message", "extent"] {
            let sql = format!("UPDATE {table} SET number = ?2 WHERE number = ?1");
            self.connection.prepare_cached(&sql)?.execute((from, to))?;
        }
        self.remember_next(to + 1)
    }
}
