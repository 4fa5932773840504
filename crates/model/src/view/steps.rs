//! From the context to steps that any provider's dialect can be written from: each call with its one result, in the right place.
//!
//! ```text
//! context   answer  call A  call B  result A  steer  result B
//! steps     Said[answer; A → result A, B → result B]  User(steer)
//! ```
//!
//! What belongs to one response stands together, also where it was recorded piece by piece with results in between.

use std::collections::BTreeSet;

use super::media::limit_images;
use super::names::{Ids, safe};
use super::{Provider, Target, output};
use crate::event::Seq;
use crate::fold::{Context, End, Item, Paired};
use crate::payload::{Attachment, MessageKind, Part};

/// One step of a conversation.
#[derive(Debug)]
pub(super) enum Step {
    /// What the user, or a program in their place, says.
    User { text: String, attachments: Vec<Attachment> },
    /// A summary of what came before.
    Summary(String),
    /// What the model said and asked for, with the results.
    Said(Said),
}

/// What the model said and asked for.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) parts: Vec<(Part, Option<String>)>,
    pub(super) calls: Vec<Called>,
    response: Option<String>,
    turn: u64,
    /// A result came after it: what the model says next, it says knowing that.
    answered: bool,
}

/// A call and its result.
#[derive(Debug)]
pub(super) struct Called {
    pub(super) id: String,
    pub(super) name: String,
    /// The arguments, always an object.
    pub(super) input: String,
    pub(super) output: String,
    pub(super) attachments: Vec<Attachment>,
    pub(super) is_error: bool,
}

/// Builds the steps.
pub(super) fn steps(context: &Context, target: &Target) -> Vec<Step> {
    let calls = context.calls();
    let used = calls.iter().filter_map(|paired| match (paired.call, paired.end) {
        (Some(_), Some(End::Result(seq, _))) => Some(seq),
        _ => None,
    });
    let mut builder = Builder {
        target,
        used: used.collect(),
        calls,
        ids: Ids::new(match target.provider {
            Provider::Anthropic => 64,
            Provider::OpenAi => 40,
        }),
        steps: Vec::new(),
        last: None,
        turn: 0,
    };
    for (seq, item) in context.items() {
        builder.take(seq, item);
    }
    limit_images(&mut builder.steps);
    builder.steps
}

struct Builder<'a> {
    target: &'a Target,
    /// In the order of their positions.
    calls: Vec<Paired<'a>>,
    /// Results that answer a call which is shown.
    used: BTreeSet<Seq>,
    ids: Ids,
    steps: Vec<Step>,
    /// Index of the last `Said`.
    last: Option<usize>,
    turn: u64,
}

impl<'a> Builder<'a> {
    fn take(&mut self, seq: Seq, item: &'a Item) {
        match item {
            Item::User(message) => {
                self.turn += u64::from(message.kind == MessageKind::Prompt);
                let text = message.sent.clone().unwrap_or_else(|| message.text.clone());
                // Nothing to send must not part what the model said in one breath.
                if !text.trim().is_empty() || !message.attachments.is_empty() {
                    self.steps.push(Step::User { text, attachments: message.attachments.clone() });
                }
            }
            Item::Summary { text, .. } => self.steps.push(Step::Summary(text.clone())),
            Item::Assistant(message) => {
                let parts = message.parts.iter().map(|part| (part.clone(), message.model.clone()));
                if let Some(said) = self.said(message.response.as_deref(), false) {
                    said.parts.extend(parts);
                }
            }
            Item::Call(call) => {
                let found = self.calls.binary_search_by_key(&seq, |paired| paired.seq);
                let Some(paired) = found.ok().and_then(|at| self.calls.get(at)).copied() else { return };
                let called = self.called(&paired);
                if let Some(said) = self.said(call.response.as_deref(), true) {
                    said.calls.extend(called);
                }
            }
            Item::Result(_) if self.used.contains(&seq) => {
                if let Some(Step::Said(said)) = self.last.and_then(|at| self.steps.get_mut(at)) {
                    said.answered = true;
                }
            }
            _ => {}
        }
    }

    /// What the message or call with this response id belongs to: the last `Said`, or a new one.
    fn said(&mut self, response: Option<&str>, is_call: bool) -> Option<&mut Said> {
        let directly = self.last.is_some_and(|at| at + 1 == self.steps.len());
        let joins = match self.last.and_then(|at| self.steps.get(at)) {
            Some(Step::Said(last)) => match (last.response.as_deref(), response) {
                (Some(before), Some(now)) => before == now && last.turn == self.turn,
                // Without ids, text after calls belongs to the next message.
                _ => directly && !last.answered && (is_call || last.calls.is_empty()),
            },
            _ => false,
        };
        if !joins {
            self.last = Some(self.steps.len());
            self.steps.push(Step::Said(Said { turn: self.turn, ..Said::default() }));
        }
        match self.last.and_then(|at| self.steps.get_mut(at)) {
            Some(Step::Said(said)) => {
                if let Some(response) = response {
                    said.response = Some(response.to_owned());
                }
                Some(said)
            }
            _ => None,
        }
    }

    fn called(&mut self, paired: &Paired<'_>) -> Option<Called> {
        let call = paired.call?;
        let (output, attachments, is_error) = match paired.end {
            Some(End::Result(_, result)) => {
                let text = output::result_text(result, self.target.max_output_bytes);
                (text, result.attachments.clone(), result.is_error)
            }
            Some(End::Summarised) => (output::SUMMARISED.to_owned(), Vec::new(), false),
            None => (output::closing_words(paired.fate()).to_owned(), Vec::new(), true),
        };
        let (id, name) = (self.ids.unique(&call.id), safe(&call.name));
        Some(Called { id, name, input: output::arguments(&call.input), output, attachments, is_error })
    }
}
