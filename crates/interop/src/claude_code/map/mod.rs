//! What a record means: the one place where a record's type is told apart.
//!
//! INVARIANT: every record yields at least one event, and every event names the record that it was made from.

mod assistant;
mod content;
mod other;
mod user;
mod wrapper;

use annals_model::payload::{Foreign, Rewound, Source};
use annals_model::{Payload, Timestamp};

use super::FORMAT;
use super::branch::{Link, Role, Verdict};
use super::seen::{Seen, Sight};
use super::state::State;
use crate::object::Object;
use crate::record::{Blob, ImportedEvent, Report};

/// The work on one record.
pub(crate) struct Mapping<'m> {
    pub(crate) state: &'m mut State,
    pub(crate) seen: &'m mut Seen,
    pub(crate) report: &'m mut Report,
    pub(crate) src: Source,
    pub(crate) ts: Option<Timestamp>,
    pub(crate) events: Vec<ImportedEvent>,
    pub(crate) blobs: Vec<Blob>,
}

impl Mapping<'_> {
    /// Maps a record that could be parsed.
    pub(crate) fn record(&mut self, record: &Object<'_>) {
        self.src.id = record.string("uuid");
        self.ts = timestamp(record);
        let kind = record.str("type").unwrap_or("untyped".into());
        if !self.is_new() {
            self.report.lose("duplicate");
            self.foreign("duplicate");
            return self.usage_alone(record, &kind);
        }
        if record.is("isSidechain") && !self.state.sub_agent {
            self.report.lose("sidechain_inline");
            self.foreign("sidechain");
            return self.usage_alone(record, &kind);
        }
        match kind.as_ref() {
            "user" => self.user(record),
            "assistant" => self.assistant(record),
            "system" => self.system(record),
            "attachment" => self.attachment(record),
            "progress" => self.aside(record, "progress"),
            kind => self.uuidless(record, kind),
        }
    }

    /// Maps bytes that are no record.
    pub(crate) fn malformed(&mut self, detail: &str) {
        let payload = Foreign {
            format: FORMAT.to_owned(),
            kind: "malformed".to_owned(),
            problem: Some(detail.to_owned()),
            src: self.src.clone(),
        };
        self.push(payload);
    }

    fn is_new(&mut self) -> bool {
        match self.src.id.as_deref().map(|id| self.seen.see(id)) {
            Some(Sight::Duplicate) => false,
            Some(Sight::Unchecked) => {
                self.report.lose("duplicates_unchecked");
                true
            }
            Some(Sight::New) | None => true,
        }
    }

    /// A record of a sidechain or a copy has no place in the conversation; what it cost still counts.
    fn usage_alone(&mut self, record: &Object<'_>, kind: &str) {
        if kind == "assistant" {
            self.assistant_usage(record);
        }
    }

    fn push(&mut self, payload: impl Into<Payload>) {
        let turn = Some(self.state.turn).filter(|turn| *turn > 0);
        self.events.push(ImportedEvent { ts: self.ts, turn, payload: payload.into() });
    }

    fn foreign(&mut self, kind: &str) {
        let src = self.src.clone();
        self.push(Foreign { format: FORMAT.to_owned(), kind: kind.to_owned(), problem: None, src });
    }

    fn src(&self) -> Option<Source> {
        Some(self.src.clone())
    }

    /// The position in the log of the next event.
    fn seq(&self) -> u64 {
        self.state.next_seq + self.events.len() as u64
    }

    /// A record in the chain that is no conversation.
    fn aside(&mut self, record: &Object<'_>, kind: &str) {
        let parent = record.str("parentUuid");
        let link = link(record, parent.as_deref(), None, None);
        self.chained(&link, Role::Aside, |mapping| mapping.foreign(kind));
    }

    /// Maps a record of the chain, a rewind before it when it goes back.
    fn chained(&mut self, link: &Link<'_>, role: Role, map: impl FnOnce(&mut Self)) {
        let uuid = self.src.id.clone();
        let link = Link { uuid: uuid.as_deref(), ..link.clone() };
        let mut from = self.seq();
        match self.state.branches.judge(&link, role, from, |id| self.seen.knows(id)) {
            Verdict::Linear => {}
            Verdict::Rewind(to_seq) => {
                self.push(Rewound { to_seq });
                self.state.branches.rewind(to_seq);
                self.state.boundary = None;
                from = to_seq;
            }
            Verdict::Unclear => self.report.lose("branch_kept_linear"),
            Verdict::Orphan => self.report.lose("parent_unknown"),
        }
        map(self);
        let next = self.seq();
        self.state.branches.add(&link, role, from, next);
    }
}

/// How a record hangs in the chain.
fn link<'a>(
    record: &Object<'_>,
    parent: Option<&'a str>,
    response: Option<&'a str>,
    caller: Option<&'a str>,
) -> Link<'a> {
    let says = record.any("parentUuid").is_some();
    Link { uuid: None, parent: says.then_some(parent), response, caller, session: None }
}

/// A record's time: RFC 3339, or a number of seconds or milliseconds since the epoch.
pub(crate) fn timestamp(record: &Object<'_>) -> Option<Timestamp> {
    if let Some(text) = record.str("timestamp") {
        return Timestamp::parse(&text).ok();
    }
    let number = i64::try_from(record.count("timestamp")?).ok()?;
    Some(Timestamp::from_millis(if number < 100_000_000_000 { number * 1000 } else { number }))
}
