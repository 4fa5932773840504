//! Sessions that processes have open for writing. Their logs are read on before anything is told of them; a process that died left its
//! mark behind, and so its last events are found.

use annals_model::SessionId;

use crate::error::Result;
use crate::index::Index;

impl Index {
    /// Marks a session as open for writing. Before its log is touched.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn mark_live(&self, id: &SessionId, pid: u32) -> Result<()> {
        self.connection
            .prepare_cached(
                "INSERT INTO live VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET pid = excluded.pid",
            )?
            .execute((id.as_str(), pid))?;
        Ok(())
    }

    /// The session was closed, and its log is read to its end.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn unmark_live(&self, id: &SessionId) -> Result<()> {
        self.connection.prepare_cached("DELETE FROM live WHERE id = ?1")?.execute([id.as_str()])?;
        Ok(())
    }

    /// The sessions that are, or were when their process died, open for writing.
    ///
    /// # Errors
    /// [`crate::Error::Sqlite`].
    pub fn live(&self) -> Result<Vec<SessionId>> {
        let mut statement = self.connection.prepare_cached("SELECT id FROM live ORDER BY id")?;
        let rows = statement.query_map([], |row| row.get::<_, String>(0))?;
        let ids: std::result::Result<Vec<String>, _> = rows.collect();
        Ok(ids?.iter().filter_map(|id| SessionId::parse(id).ok()).collect())
    }
}
