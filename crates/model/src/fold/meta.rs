//! Metadata: what a list shows of a session.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::activity::{Activity, Status};
use crate::event::{Event, Payload, Seq};
use crate::payload::{ForkedFrom, ImportedFrom, MessageKind, ParentCall};
use crate::time::Timestamp;
use crate::title::title_of;
use crate::usage::Usage;

/// Tokens and money, added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UsageTotals {
    /// Model requests.
    pub calls: u64,
    /// Tokens read at full price.
    pub input: u64,
    /// Tokens read from the cache.
    pub cached: u64,
    /// Tokens written to the cache.
    pub cache_write: u64,
    /// Tokens written by the model.
    pub output: u64,
    /// Size of the last prompt, in tokens.
    pub context: u64,
    /// Cost in millionths of a US dollar, of the calls that are priced.
    pub cost_micros: u64,
    /// How many calls are not priced.
    pub unpriced: u64,
}

impl UsageTotals {
    fn add(&mut self, usage: &Usage) {
        self.change(usage, u64::saturating_add);
    }

    fn take_back(&mut self, usage: &Usage) {
        self.change(usage, u64::saturating_sub);
    }

    /// Saturating: the numbers come from whoever writes to the pipe.
    fn change(&mut self, usage: &Usage, by: fn(u64, u64) -> u64) {
        self.calls = by(self.calls, 1);
        self.input = by(self.input, usage.input);
        self.cached = by(self.cached, usage.cached);
        self.cache_write = by(self.cache_write, usage.cache_write);
        self.output = by(self.output, usage.output);
        self.cost_micros = by(self.cost_micros, usage.cost_micros.unwrap_or(0));
        self.unpriced = by(self.unpriced, u64::from(usage.cost_micros.is_none()));
    }
}

/// Where a title comes from; a later rank wins over an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
enum TitleRank {
    #[default]
    None,
    Prompt,
    Generated,
    Started,
    Chosen,
}

/// Metadata of a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Meta {
    /// The title: a person's, else the one given at the start, else a generated one, else the first prompt's first line.
    pub title: Option<String>,
    title_rank: TitleRank,
    /// The first event's time.
    pub created: Option<Timestamp>,
    /// The last message's time; of a fork, the last one after the cut.
    pub updated: Option<Timestamp>,
    /// How many events.
    pub events: u64,
    /// How many messages in the transcript's sense, dropped branches included.
    pub messages: u64,
    /// The workspace.
    pub workspace: Option<String>,
    /// The project.
    pub project: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The provider.
    pub provider: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// What started it.
    pub origin: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Where it was forked.
    pub forked_from: Option<ForkedFrom>,
    /// The snapshot that it was branched from.
    pub from_snapshot: Option<String>,
    /// The name that it was saved under: a frozen copy.
    pub snapshot: Option<String>,
    /// The workspace that it was moved from last, and the position of the move.
    pub moved_from: Option<(String, Seq)>,
    /// Where it was imported from.
    pub imported_from: Option<ImportedFrom>,
    /// The session and call that it works for.
    pub parent: Option<ParentCall>,
    /// Its number in the index.
    pub conversation_id: Option<u64>,
    /// What it cost.
    pub usage: UsageTotals,
    /// The last turn's number.
    pub last_turn: Option<u64>,
    /// The last turn's trace context.
    pub last_traceparent: Option<String>,
    /// Whether the last event is a clean close.
    pub closed: bool,
    activity: Activity,
    /// Whether the transcript's last entry is an answer, so that more text goes on with it.
    answering: bool,
    /// Usage of the current turn's responses, to count each once.
    responses: BTreeMap<String, Usage>,
}

impl Meta {
    /// What the session is doing, as far as its log tells.
    #[must_use]
    pub fn status(&self) -> Status {
        self.activity.status()
    }

    /// Takes in the next event.
    pub fn apply(&mut self, event: &Event) {
        self.events = event.seq.saturating_add(1);
        self.created.get_or_insert(event.ts);
        self.last_turn = self.last_turn.max(event.turn);
        self.closed = matches!(event.payload, Payload::Closed(_));
        match &event.payload {
            Payload::SessionStarted(started) => {
                self.workspace.clone_from(&started.workspace);
                self.project.clone_from(&started.project);
                self.agent.clone_from(&started.agent);
                self.provider.clone_from(&started.provider);
                self.model.clone_from(&started.model);
                self.origin.clone_from(&started.origin);
                self.forked_from.clone_from(&started.forked_from);
                self.from_snapshot.clone_from(&started.from_snapshot);
                self.snapshot.clone_from(&started.snapshot);
                self.imported_from.clone_from(&started.imported_from);
                self.parent.clone_from(&started.parent);
                if let Some(title) = &started.title {
                    self.take_title(title, TitleRank::Started);
                }
            }
            Payload::UserMessage(message) => {
                if message.kind == MessageKind::Prompt {
                    self.responses.clear();
                    if self.title_rank == TitleRank::None {
                        self.take_title(&message.text, TitleRank::Prompt);
                    }
                }
                if message.kind != MessageKind::Context {
                    self.answering = false;
                    self.said(event, true);
                }
            }
            Payload::AssistantMessage(message) => {
                if let Some(model) = &message.model {
                    self.model = Some(model.clone());
                }
                if let Some(usage) = &message.usage {
                    self.spend_on_response(event.seq, message.response.as_deref(), usage);
                }
                if !super::transcript::text_of(&message.parts).is_empty() {
                    let begins = !std::mem::replace(&mut self.answering, true);
                    self.said(event, begins);
                }
            }
            Payload::Titled(titled) => {
                let rank = if titled.generated { TitleRank::Generated } else { TitleRank::Chosen };
                self.take_title(&titled.title, rank);
            }
            Payload::Tagged(tagged) => self.tags.clone_from(&tagged.tags),
            Payload::Moved(moved) => {
                let from = moved.from.clone().or(self.workspace.take());
                self.moved_from = from.map(|from| (from, event.seq));
                self.workspace = Some(moved.to.clone());
                if moved.project.is_some() {
                    self.project.clone_from(&moved.project);
                }
            }
            Payload::ModelChanged(changed) => {
                self.model = Some(changed.model.clone());
                if changed.provider.is_some() {
                    self.provider.clone_from(&changed.provider);
                }
            }
            Payload::AgentChanged(changed) => self.agent = Some(changed.agent.clone()),
            Payload::UsageRecorded(recorded) => self.spend(event.seq, Some(&recorded.usage)),
            Payload::Condensation(c) => self.spend(event.seq, c.usage.as_ref()),
            Payload::GoalJudged(judged) => self.spend(event.seq, judged.usage.as_ref()),
            Payload::TurnStarted(turn) => {
                self.last_turn = self.last_turn.max(Some(turn.index));
                self.last_traceparent.clone_from(&turn.traceparent);
            }
            Payload::ConversationAssigned(assigned) if !self.is_copied(event.seq) => {
                self.conversation_id = Some(assigned.id);
            }
            // The live history may end anywhere: what is answered next is an answer of its own.
            Payload::Rewound(_) | Payload::RewindUndone(_) => self.answering = false,
            _ => {}
        }
        self.activity.apply(event);
    }

    /// Something of the transcript; `begins` an entry, or goes on with the last one.
    fn said(&mut self, event: &Event, begins: bool) {
        self.messages += u64::from(begins);
        if !self.is_copied(event.seq) {
            self.updated = Some(event.ts);
        }
    }

    /// Whether the event was copied from the session that this one was forked from. What it cost and when it came is the
    /// parent's; a fork takes over the size of the context only.
    fn is_copied(&self, seq: Seq) -> bool {
        self.forked_from.as_ref().is_some_and(|from| seq <= from.seq)
    }

    fn spend(&mut self, seq: Seq, usage: Option<&Usage>) {
        if let Some(usage) = usage
            && !self.is_copied(seq)
        {
            self.usage.add(usage);
        }
    }

    fn take_title(&mut self, text: &str, rank: TitleRank) {
        if rank >= self.title_rank
            && let Some(title) = title_of(text)
        {
            self.title = Some(title);
            self.title_rank = rank;
        }
    }

    /// A response's usage counts once, however many messages it came in: the last one given.
    fn spend_on_response(&mut self, seq: Seq, response: Option<&str>, usage: &Usage) {
        self.usage.context = usage.context();
        if self.is_copied(seq) {
            return;
        }
        if let Some(response) = response
            && let Some(earlier) = self.responses.insert(response.to_owned(), *usage)
        {
            self.usage.take_back(&earlier);
        }
        self.usage.add(usage);
    }
}
