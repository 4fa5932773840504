//! Changes of one session by an event of its own: its title, its tags, its workspace.

use annals_index::Filter;
use annals_model::payload::{Moved, Tagged, Titled};
use annals_model::title::title_of;
use annals_model::{Payload, SessionId};

use crate::error::{Error, Result};
use crate::list::{ListQuery, Summary};
use crate::operations::Action;
use crate::store::Store;

/// The longest tag, in characters.
const MAX_TAG_CHARS: usize = 64;

/// A workspace under its new name: the part that begins it is another one.
pub(crate) fn relinked(workspace: &str, before: &str, after: &str) -> String {
    workspace.strip_prefix(before).map_or_else(|| after.to_owned(), |rest| format!("{after}{rest}"))
}

impl Store {
    /// Gives a session another title: the text's first line that is not blank, white space collapsed, at most 60 characters.
    ///
    /// # Errors
    /// [`Error::EmptyTitle`] (the old one stays), [`Error::SessionNotFound`], [`Error::SessionBusy`], [`Error::Log`].
    ///
    /// # Durability
    /// Durable when this returns.
    pub fn rename(&self, id: &SessionId, title: &str) -> Result<String> {
        let after = title_of(title).ok_or(Error::EmptyTitle)?;
        let before = self.summary(id)?.title;
        let action = Action::Rename { session: id.clone(), before, after: after.clone() };
        self.change(action, || self.append_title(id, &after).map(drop))?;
        Ok(after)
    }

    pub(crate) fn append_title(&self, id: &SessionId, title: &str) -> Result<String> {
        let titled = Titled { title: title.to_owned(), ..Titled::default() };
        self.append_alone(id, Payload::Titled(titled))?;
        Ok(title.to_owned())
    }

    /// Adds and removes tags of a session, and returns all that it has then.
    ///
    /// # Errors
    /// [`Error::InvalidTag`], [`Error::SessionNotFound`], [`Error::SessionBusy`], [`Error::Log`].
    ///
    /// # Durability
    /// Durable when this returns.
    pub fn tag(&self, id: &SessionId, add: &[String], remove: &[String]) -> Result<Vec<String>> {
        for tag in add {
            let fits = !tag.is_empty()
                && tag.chars().count() <= MAX_TAG_CHARS
                && tag.chars().all(|c| !c.is_whitespace() && !c.is_control() && c != ',');
            if !fits {
                return Err(Error::InvalidTag { tag: tag.clone() });
            }
        }
        let before = self.summary(id)?.tags;
        let mut after: Vec<String> = before.iter().filter(|tag| !remove.contains(tag)).cloned().collect();
        after.extend(add.iter().cloned());
        after.sort();
        after.dedup();
        if after != before {
            let action = Action::Tag { session: id.clone(), before, after: after.clone() };
            self.change(action, || self.append_tags(id, &after))?;
        }
        Ok(after)
    }

    pub(crate) fn append_tags(&self, id: &SessionId, tags: &[String]) -> Result<()> {
        self.append_alone(id, Payload::Tagged(Tagged { tags: tags.to_vec(), src: None }))
    }

    /// Moves a session to another workspace: it is listed and continued there. `workspace` is a canonical absolute path.
    ///
    /// # Errors
    /// [`Error::SessionNotFound`], [`Error::SessionBusy`], [`Error::Log`].
    ///
    /// # Durability
    /// Durable when this returns.
    pub fn move_to(&self, id: &SessionId, workspace: &str) -> Result<()> {
        let before = self.summary(id)?.workspace;
        if before.as_deref() == Some(workspace) {
            return Ok(());
        }
        let action = Action::Move { session: id.clone(), before, after: workspace.to_owned() };
        self.change(action, || self.append_move(id, workspace))
    }

    pub(crate) fn append_move(&self, id: &SessionId, workspace: &str) -> Result<()> {
        let from = self.summary(id)?.workspace;
        let project = self.shared.options.projects.of(workspace);
        self.append_alone(id, Payload::Moved(Moved { from, to: workspace.to_owned(), project, src: None }))
    }

    /// Sessions whose workspace is `before`, or lies below it.
    ///
    /// # Errors
    /// [`Error::Index`].
    pub fn in_workspace(&self, before: &str) -> Result<Vec<Summary>> {
        let filter = Filter { workspace: Some(before.to_owned()), ..Filter::default() };
        Ok(self.list_of(&ListQuery { filter, ..ListQuery::default() })?.sessions)
    }

    /// Moves all sessions of a workspace, and of those below it, to another place. Sessions that are open are left, and returned second.
    ///
    /// # Errors
    /// [`Error::Index`], [`Error::Log`]. What was moved by then stays moved; the rest is moved by the next operation.
    pub fn relink(&self, before: &str, after: &str) -> Result<(Vec<SessionId>, Vec<SessionId>)> {
        let mut moved: Vec<(SessionId, String)> = Vec::new();
        let mut open = Vec::new();
        for session in self.in_workspace(before)? {
            match session.workspace {
                Some(_) if session.status == "open" => open.push(session.id),
                // A frozen copy keeps the place that it was taken in.
                Some(workspace) if session.snapshot.is_none() => moved.push((session.id, workspace)),
                _ => {}
            }
        }
        if moved.is_empty() {
            return Ok((Vec::new(), open));
        }
        let action =
            Action::Relink { sessions: moved.clone(), before: before.to_owned(), after: after.to_owned() };
        self.change(action, || {
            moved
                .iter()
                .try_for_each(|(id, workspace)| self.append_move(id, &relinked(workspace, before, after)))
        })?;
        Ok((moved.into_iter().map(|(id, _)| id).collect(), open))
    }

    fn change(&self, action: Action, change: impl FnOnce() -> Result<()>) -> Result<()> {
        let operating = self.operate()?;
        let number = operating.begin(action)?;
        let outcome = change();
        operating.end(number, outcome)
    }

    /// Opens a session for one event.
    pub(crate) fn append_alone(&self, id: &SessionId, payload: Payload) -> Result<()> {
        let (writer, _) = self.open_even_frozen(id)?;
        writer.append(&[payload.into()])?;
        writer.close().map(drop)
    }
}
