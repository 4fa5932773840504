//! What an export is given besides the events, and what it reports.

use annals_model::{SessionId, Timestamp};

use crate::mask::Masker;

/// What stands at the head of an export. Everything but the id is optional; what is absent is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The session.
    pub id: SessionId,
    /// Its number in the index.
    pub conversation_id: Option<u64>,
    /// Its title; the id stands in for it.
    pub title: Option<String>,
    /// The directory that it belongs to.
    pub workspace: Option<String>,
    /// When it began.
    pub started: Option<Timestamp>,
    /// Where it comes from: the agent that it was imported from, the session that it was forked from.
    pub source: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The agent; names the answers that don't name one themselves.
    pub agent: Option<String>,
}

impl Header {
    /// A header with nothing but the id.
    #[must_use]
    pub fn new(id: SessionId) -> Self {
        Self {
            id,
            conversation_id: None,
            title: None,
            workspace: None,
            started: None,
            source: None,
            model: None,
            agent: None,
        }
    }

    /// The title, or the id in its place.
    pub(crate) fn name(&self) -> &str {
        self.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or(self.id.as_str())
    }

    /// What is known besides the title: labels and values.
    pub(crate) fn facts(&self, options: &Options<'_>) -> Vec<(&'static str, String)> {
        let number = self.conversation_id.map(|number| format!("#{number}"));
        let started = self.started.map(|time| (options.time)(time));
        let facts = [
            ("Session", Some(self.id.to_string())),
            ("Conversation", number),
            ("Workspace", self.workspace.clone()),
            ("Started", started),
            ("Source", self.source.clone()),
            ("Agent", self.agent.clone()),
            ("Model", self.model.clone()),
        ];
        facts.into_iter().filter_map(|(label, value)| value.map(|value| (label, value))).collect()
    }
}

/// How to export.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// What masks secrets; none leaves them in.
    pub mask: Option<&'a Masker>,
    /// How a time is written for people: zone and form are the caller's.
    pub time: &'a dyn Fn(Timestamp) -> String,
}

/// What an export did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Events read.
    pub events: u64,
    /// Events left out because a rewind dropped them.
    pub dropped: u64,
    /// Secrets masked.
    pub masked: u64,
    /// Results of which only the beginning is shown.
    pub shortened: u64,
    /// Events that damage made unreadable: missing positions and `lost` events.
    pub missing: u64,
    /// Events of kinds that this version does not know; they are not shown.
    pub unknown: u64,
}
