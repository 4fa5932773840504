//! From the context to steps that any provider's dialect can be written from: each call with its one result, in the right place.
//!
//! ```text
//! context   answer  call A  call B  result A  steer  result B
//! steps     Said[answer; A → result A, B → result B]  User(steer)
//! ```

use std::collections::BTreeMap;

use super::Target;
use super::names::{Ids, safe};
use crate::fold::{Context, Fate, Item};
use crate::payload::{Attachment, Part, ToolCall, ToolResult};

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
}

/// A call and its result.
#[derive(Debug)]
pub(super) struct Called {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: String,
    pub(super) output: String,
    pub(super) attachments: Vec<Attachment>,
    pub(super) is_error: bool,
}

/// Builds the steps.
pub(super) fn steps(context: &Context, target: &Target) -> Vec<Step> {
    let items: Vec<&Item> = context.items().into_iter().map(|(_, item)| item).collect();
    let pairs = pair(&items);
    let fates = fates(&items);
    let mut ids = Ids::default();
    let mut steps = Vec::new();
    let mut said = Said::default();
    for (index, item) in items.iter().enumerate() {
        match item {
            Item::User(message) => {
                flush(&mut steps, &mut said);
                let text = message.sent.clone().unwrap_or_else(|| message.text.clone());
                steps.push(Step::User { text, attachments: message.attachments.clone() });
            }
            Item::Summary { text, .. } => {
                flush(&mut steps, &mut said);
                steps.push(Step::Summary(text.clone()));
            }
            Item::Assistant(message) => {
                // Text after calls belongs to the next message: within one, providers want calls last.
                if !said.calls.is_empty() {
                    flush(&mut steps, &mut said);
                }
                said.parts.extend(message.parts.iter().map(|part| (part.clone(), message.model.clone())));
            }
            Item::Call(call) => {
                let result =
                    pairs.result_of.get(&index).and_then(|at| items.get(*at)).and_then(|i| match i {
                        Item::Result(result) => Some(result),
                        _ => None,
                    });
                let fate = fates.get(&index).copied().unwrap_or(Fate::OutcomeUnknown);
                said.calls.push(called(ids.unique(&call.id), call, result, fate, target));
            }
            // A result closes the message of its call: what the model says next, it says knowing the result.
            Item::Result(_) if pairs.used.contains_key(&index) => flush(&mut steps, &mut said),
            _ => {}
        }
    }
    flush(&mut steps, &mut said);
    steps
}

fn flush(steps: &mut Vec<Step>, said: &mut Said) {
    let said = std::mem::take(said);
    if !said.parts.is_empty() || !said.calls.is_empty() {
        steps.push(Step::Said(said));
    }
}

/// Which result answers which call, by index.
#[derive(Default)]
struct Pairs {
    result_of: BTreeMap<usize, usize>,
    used: BTreeMap<usize, usize>,
}

/// Pairs each result with the first call of its id that has none yet; a result without a call, or a second one, stays alone.
fn pair(items: &[&Item]) -> Pairs {
    let mut open: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut pairs = Pairs::default();
    for (index, item) in items.iter().enumerate() {
        match item {
            Item::Call(call) => open.entry(&call.id).or_default().push(index),
            Item::Result(result) => {
                let calls = open.entry(&result.id).or_default();
                if !calls.is_empty() {
                    let call = calls.remove(0);
                    pairs.result_of.insert(call, index);
                    pairs.used.insert(index, call);
                }
            }
            _ => {}
        }
    }
    pairs
}

/// What is known of each call, should it have no result.
fn fates(items: &[&Item]) -> BTreeMap<usize, Fate> {
    let mut fates = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        let Item::Call(call) = item else { continue };
        let started = |i: &&Item| matches!(i, Item::Started(id) if *id == call.id);
        let began = !call.deferred || items.iter().skip(index).any(started);
        fates.insert(index, if began { Fate::OutcomeUnknown } else { Fate::NotStarted });
    }
    fates
}

fn called(id: String, call: &ToolCall, result: Option<&ToolResult>, fate: Fate, target: &Target) -> Called {
    let (output, attachments, is_error) = match result {
        Some(result) => {
            let text = result.output.as_string().unwrap_or_else(|| result.output.as_str().to_owned());
            (bounded(&text, target.max_output_bytes), result.attachments.clone(), result.is_error)
        }
        None => (words(fate).to_owned(), Vec::new(), true),
    };
    let input = call.input.as_str().to_owned();
    Called { id, name: safe(&call.name), input, output, attachments, is_error }
}

/// What the model is told of a call that has no result.
fn words(fate: Fate) -> &'static str {
    match fate {
        Fate::NotStarted => {
            "Not started: the session was interrupted before this tool began. Nothing happened; it is safe to retry."
        }
        Fate::OutcomeUnknown => {
            "Outcome unknown: the session was interrupted while this tool may have been running. \
             Check what it did before retrying."
        }
    }
}

/// Cuts a long output at a character boundary and says so.
fn bounded(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let mut cut = max_bytes;
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    let kept = text.get(..cut).unwrap_or_default();
    format!(
        "{kept}\n[{} of {} bytes left out here; the session keeps the whole output]",
        text.len() - cut,
        text.len()
    )
}

/// Words for an attachment whose bytes are not part of the view.
pub(super) fn note(attachment: &Attachment) -> String {
    let name = attachment.name.as_deref().map(|n| format!(" {n}")).unwrap_or_default();
    let size = attachment.len_bytes.map(|n| format!(", {n} bytes")).unwrap_or_default();
    format!("[attachment{name}: {}{size}]", attachment.media_type)
}
