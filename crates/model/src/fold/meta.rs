//! Metadata: what a list shows of a session.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::event::{Event, Payload, Seq};
use crate::payload::{ForkedFrom, ImportedFrom, MessageKind, ParentCall};
use crate::time::Timestamp;
use crate::title::title_of;
use crate::usage::Usage;

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The agent is at rest.
    #[default]
    Idle,
    /// A prompt or a result waits for the model's answer, or a turn is open.
    Running,
    /// A tool call has no result.
    Interrupted,
    /// The session is over.
    Ended,
}

/// Tokens and money, added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
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
        self.calls += 1;
        self.input += usage.input;
        self.cached += usage.cached;
        self.cache_write += usage.cache_write;
        self.output += usage.output;
        match usage.cost_micros {
            Some(cost) => self.cost_micros += cost,
            None => self.unpriced += 1,
        }
    }

    fn take_back(&mut self, usage: &Usage) {
        self.calls = self.calls.saturating_sub(1);
        self.input = self.input.saturating_sub(usage.input);
        self.cached = self.cached.saturating_sub(usage.cached);
        self.cache_write = self.cache_write.saturating_sub(usage.cache_write);
        self.output = self.output.saturating_sub(usage.output);
        match usage.cost_micros {
            Some(cost) => self.cost_micros = self.cost_micros.saturating_sub(cost),
            None => self.unpriced = self.unpriced.saturating_sub(1),
        }
    }
}

/// Where a title comes from; a later rank wins over an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
enum TitleRank {
    #[default]
    None,
    Prompt,
    Generated,
    Started,
    Chosen,
}

/// Metadata of a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Meta {
    /// The title: a person's, else the one given at the start, else a generated one, else the first prompt's first line.
    pub title: Option<String>,
    title_rank: TitleRank,
    /// The first event's time.
    pub created: Option<Timestamp>,
    /// The last message's time.
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
    /// Whether the session is over.
    ended: bool,
    /// Whether something waits for the model.
    waiting: bool,
    /// Calls without a result, with their positions.
    open_calls: BTreeMap<String, Seq>,
    /// Usage of the current turn's responses, to count each once.
    responses: BTreeMap<String, Usage>,
}

impl Meta {
    /// What the session is doing, as far as its log tells.
    #[must_use]
    pub fn status(&self) -> Status {
        if self.ended {
            Status::Ended
        } else if !self.open_calls.is_empty() {
            Status::Interrupted
        } else if self.waiting {
            Status::Running
        } else {
            Status::Idle
        }
    }

    /// Takes in the next event.
    pub fn apply(&mut self, event: &Event) {
        self.events = event.seq + 1;
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
                self.imported_from.clone_from(&started.imported_from);
                self.parent.clone_from(&started.parent);
                if let Some(title) = &started.title {
                    self.take_title(title, TitleRank::Started);
                }
            }
            Payload::UserMessage(message) => {
                self.waiting = true;
                if message.kind == MessageKind::Prompt {
                    self.responses.clear();
                    if self.title_rank == TitleRank::None {
                        self.take_title(&message.text, TitleRank::Prompt);
                    }
                }
                if message.kind != MessageKind::Context {
                    self.said(event);
                }
            }
            Payload::AssistantMessage(message) => {
                self.waiting = false;
                if let Some(model) = &message.model {
                    self.model = Some(model.clone());
                }
                if let Some(usage) = &message.usage {
                    self.spend_on_response(message.response.as_deref(), usage);
                }
                if !super::transcript::text_of(&message.parts).is_empty() {
                    self.said(event);
                }
            }
            Payload::ToolCall(call) => {
                self.open_calls.insert(call.id.clone(), event.seq);
            }
            Payload::ToolResult(result) => {
                self.open_calls.remove(&result.id);
                self.waiting = true;
            }
            Payload::Titled(titled) => {
                let rank = if titled.generated { TitleRank::Generated } else { TitleRank::Chosen };
                self.take_title(&titled.title, rank);
            }
            Payload::Tagged(tagged) => self.tags.clone_from(&tagged.tags),
            Payload::Moved(moved) => self.workspace = Some(moved.to.clone()),
            Payload::ModelChanged(changed) => {
                self.model = Some(changed.model.clone());
                if changed.provider.is_some() {
                    self.provider.clone_from(&changed.provider);
                }
            }
            Payload::AgentChanged(changed) => self.agent = Some(changed.agent.clone()),
            Payload::UsageRecorded(recorded) => self.usage.add(&recorded.usage),
            Payload::Condensation(c) => c.usage.iter().for_each(|usage| self.usage.add(usage)),
            Payload::GoalJudged(judged) => judged.usage.iter().for_each(|usage| self.usage.add(usage)),
            Payload::TurnStarted(turn) => {
                self.waiting = true;
                self.last_turn = self.last_turn.max(Some(turn.index));
                self.last_traceparent.clone_from(&turn.traceparent);
            }
            Payload::TurnEnded(_) => self.waiting = false,
            Payload::Rewound(rewound) => {
                self.open_calls.retain(|_, seq| *seq < rewound.to_seq);
                self.waiting = false;
            }
            Payload::ConversationAssigned(assigned) => self.conversation_id = Some(assigned.id),
            Payload::SessionEnded(_) => self.ended = true,
            _ => {}
        }
        if matches!(event.payload, Payload::UserMessage(_) | Payload::TurnStarted(_)) {
            self.ended = false;
        }
    }

    fn said(&mut self, event: &Event) {
        self.messages += 1;
        self.updated = Some(event.ts);
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
    fn spend_on_response(&mut self, response: Option<&str>, usage: &Usage) {
        self.usage.context = usage.context();
        if let Some(response) = response
            && let Some(earlier) = self.responses.insert(response.to_owned(), *usage)
        {
            self.usage.take_back(&earlier);
        }
        self.usage.add(usage);
    }
}
