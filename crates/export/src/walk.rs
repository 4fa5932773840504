//! From events to blocks: which of them a reader sees, in which order, and in which words.
//!
//! INVARIANT: a result follows its call. Calls are held until their results are there, at most [`MAX_HELD`] blocks; when something else
//! is said first they are written without, and the result names its call when it comes.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::io;

use annals_model::Timestamp;
use annals_model::event::{Event, Payload, Seq};
use annals_model::fold::Live;
use annals_model::payload::{
    AssistantMessage, Attachment, MessageKind, Part, ToolCall, ToolResult, UserMessage,
};

use crate::arguments::fields;
use crate::block::{Block, Call, Output, Page, Speaker};
use crate::clean::{clean, cut, duration, one_line, shorten, size};
use crate::document::{Header, Options, Report};
use crate::note::note;
use crate::output::text_of;

/// The longest list of arguments, in characters.
const MAX_ARGUMENTS_CHARS: usize = 200;

/// How much of a result is shown.
pub(crate) const MAX_RESULT_LINES: usize = 100;
pub(crate) const MAX_RESULT_BYTES: usize = 10_000;

/// How many blocks wait for a result, and how many calls without one are remembered by name.
const MAX_HELD: usize = 64;
const MAX_LATE: usize = 1024;

pub(crate) struct Walk<'a, P> {
    page: &'a mut P,
    live: &'a Live,
    text: Texts<'a>,
    agent: Option<String>,
    speaker: Option<Speaker>,
    held: VecDeque<Held>,
    /// Calls that were written without a result, by id.
    late: BTreeMap<String, Call>,
    /// The position that is expected next.
    next: Seq,
    /// Events that could not be read and were not yet spoken of.
    missing: u64,
    report: Report,
}

enum Held {
    /// A call with its id.
    Call(String, Seq, Call, Option<Output>),
    Other(Block),
}

/// Makes text fit to be shown, and counts what was masked.
pub(crate) struct Texts<'a> {
    options: Options<'a>,
    pub(crate) masked: u64,
}

impl<'a> Texts<'a> {
    pub(crate) fn new(options: &Options<'a>) -> Self {
        Self { options: *options, masked: 0 }
    }

    pub(crate) fn fit(&mut self, text: &str) -> String {
        let clean = clean(text);
        let Some(masker) = self.options.mask else { return clean.into_owned() };
        let masked = masker.mask(&clean);
        self.masked += masked.found.len() as u64;
        match masked.text {
            Cow::Owned(text) => text,
            Cow::Borrowed(_) => clean.into_owned(),
        }
    }

    /// A time for people, in the caller's words.
    fn time(&self, ts: Timestamp) -> String {
        one_line(&clean(&(self.options.time)(ts)))
    }

    /// On one line of at most so many characters. Masked before it is cut: half a secret looks like none.
    pub(crate) fn line(&mut self, text: &str, chars: usize) -> String {
        cut(&one_line(&self.fit(text)), chars).into_owned()
    }
}

impl<'a, P: Page> Walk<'a, P> {
    pub(crate) fn new(page: &'a mut P, header: &Header, live: &'a Live, text: Texts<'a>) -> Self {
        Self {
            page,
            live,
            text,
            agent: header.agent.clone(),
            speaker: None,
            held: VecDeque::new(),
            late: BTreeMap::new(),
            next: 0,
            missing: 0,
            report: Report::default(),
        }
    }

    /// Takes in the next event.
    pub(crate) fn take(&mut self, event: &Event) -> io::Result<()> {
        self.report.events += 1;
        self.count_gap(event.seq);
        if !self.live.contains(event.seq) {
            self.report.dropped += 1;
            return Ok(());
        }
        match &event.payload {
            Payload::UserMessage(message) if message.kind != MessageKind::Context => {
                self.user(event, message)
            }
            Payload::AssistantMessage(message) => self.answer(event, message),
            Payload::ToolCall(call) => self.call(event, call),
            Payload::ToolResult(result) => self.result(event, result),
            Payload::Lost(_) => {
                self.count_missing(1);
                Ok(())
            }
            Payload::Unknown { .. } => {
                self.report.unknown += 1;
                Ok(())
            }
            Payload::AgentChanged(changed) => {
                self.agent = Some(changed.agent.clone());
                Ok(())
            }
            other => match note(other) {
                Some(text) => self.note(event.seq, &text, matches!(other, Payload::Rewound(_))),
                None => Ok(()),
            },
        }
    }

    /// Writes what is still held.
    pub(crate) fn finish(mut self) -> io::Result<Report> {
        self.say_what_is_missing(self.next)?;
        self.release_all()?;
        self.report.masked = self.text.masked;
        Ok(self.report)
    }

    fn user(&mut self, event: &Event, message: &UserMessage) -> io::Result<()> {
        let speaker = match message.kind {
            MessageKind::Steer => Speaker::Steer,
            MessageKind::Hook => Speaker::Hook,
            MessageKind::Plan => Speaker::Plan,
            MessageKind::Task => Speaker::Task,
            _ => Speaker::You,
        };
        self.release_all()?;
        self.speaker = None;
        self.gives_word_to(event, speaker)?;
        let text = self.text.fit(&message.text);
        self.page.write(Block::Message { seq: event.seq, text })?;
        for attachment in &message.attachments {
            let line = self.attachment(attachment);
            self.page.write(Block::Attachment(line))?;
        }
        Ok(())
    }

    fn answer(&mut self, event: &Event, message: &AssistantMessage) -> io::Result<()> {
        let texts = message.parts.iter().filter_map(|part| match part {
            Part::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n\n");
        if text.is_empty() {
            return Ok(());
        }
        self.release_all()?;
        let name = message.agent.clone().or_else(|| self.agent.clone());
        self.gives_word_to(event, Speaker::Agent(name))?;
        let text = self.text.fit(&text);
        self.page.write(Block::Message { seq: event.seq, text })
    }

    fn call(&mut self, event: &Event, call: &ToolCall) -> io::Result<()> {
        if !matches!(self.speaker, Some(Speaker::Agent(_))) || self.missing > 0 {
            self.release_all()?;
            self.gives_word_to(event, Speaker::Agent(self.agent.clone()))?;
        }
        let input = self.text.fit(call.input.as_str());
        let fields = if P::FIELDS { fields(&input, &mut self.text) } else { Vec::new() };
        let arguments = cut(&one_line(&input), MAX_ARGUMENTS_CHARS).into_owned();
        let shown = Call { tool: self.text.line(&call.name, 80), arguments, fields };
        self.late.remove(&call.id);
        self.held.push_back(Held::Call(call.id.clone(), event.seq, shown, None));
        self.bound_held()
    }

    fn result(&mut self, event: &Event, result: &ToolResult) -> io::Result<()> {
        let output = self.output(result);
        let waiting = self.held.iter_mut().rev().find_map(|held| match held {
            Held::Call(id, _, _, slot @ None) if *id == result.id => Some(slot),
            _ => None,
        });
        match waiting {
            Some(slot) => *slot = Some(output),
            None => {
                let of = self.late.remove(&result.id);
                self.put(event.seq, Block::Result { seq: event.seq, of, result: output })?;
            }
        }
        self.release_ready()
    }

    fn output(&mut self, result: &ToolResult) -> Output {
        let whole = self.text.fit(&text_of(&result.output));
        let shortened = shorten(&whole, MAX_RESULT_LINES, MAX_RESULT_BYTES);
        let rest = match (shortened.rest, &result.blob) {
            (Some((lines, bytes)), _) => {
                let lines = if lines == 1 { "1 more line".to_owned() } else { format!("{lines} more lines") };
                Some(format!("… {lines} ({})", size(bytes as u64)))
            }
            (None, Some(_)) => Some("… only the beginning was recorded here".to_owned()),
            (None, None) => None,
        };
        self.report.shortened += u64::from(rest.is_some());
        Output {
            text: shortened.text,
            rest,
            failed: result.is_error,
            duration: result.duration_ms.map(duration),
            attachments: result.attachments.iter().map(|a| self.attachment(a)).collect(),
        }
    }

    fn attachment(&mut self, attachment: &Attachment) -> String {
        let kind = Some(attachment.media_type.as_str()).filter(|kind| !kind.is_empty());
        let size = attachment.len_bytes.map(size);
        let facts: Vec<&str> = kind.into_iter().chain(size.as_deref()).collect();
        // An address may hold the whole image.
        let address =
            attachment.url.as_deref().map(|url| if url.starts_with("data:") { "data" } else { url });
        let name = attachment.name.as_deref().or(address).unwrap_or("unnamed");
        let line = if facts.is_empty() { name.to_owned() } else { format!("{name} ({})", facts.join(", ")) };
        self.text.line(&line, MAX_ARGUMENTS_CHARS)
    }

    /// A note; one that `ends` the conversation as it was makes the next speaker begin anew.
    fn note(&mut self, seq: Seq, text: &str, ends: bool) -> io::Result<()> {
        let text = self.text.line(text, 400);
        self.put(seq, Block::Note { seq, text })?;
        if ends {
            self.release_all()?;
            self.speaker = None;
        }
        Ok(())
    }

    fn gives_word_to(&mut self, event: &Event, speaker: Speaker) -> io::Result<()> {
        self.say_what_is_missing(event.seq)?;
        if self.speaker.as_ref() == Some(&speaker) {
            return Ok(());
        }
        self.speaker = Some(speaker.clone());
        let speaker = match speaker {
            Speaker::Agent(Some(name)) => {
                Speaker::Agent(Some(self.text.line(&name, 60)).filter(|n| !n.is_empty()))
            }
            other => other,
        };
        let time = self.text.time(event.ts);
        self.page.write(Block::Heading { speaker, ts: event.ts, time })
    }

    /// Writes a block, behind the calls that wait for their results.
    fn put(&mut self, seq: Seq, block: Block) -> io::Result<()> {
        self.say_what_is_missing(seq)?;
        if self.held.is_empty() {
            return self.page.write(block);
        }
        self.held.push_back(Held::Other(block));
        self.bound_held()
    }

    fn bound_held(&mut self) -> io::Result<()> {
        if self.held.len() > MAX_HELD { self.release_all() } else { Ok(()) }
    }

    /// Writes what waits for nothing any more.
    fn release_ready(&mut self) -> io::Result<()> {
        while let Some(first) = self.held.pop_front() {
            if matches!(first, Held::Call(_, _, _, None)) {
                self.held.push_front(first);
                return Ok(());
            }
            self.release(first)?;
        }
        Ok(())
    }

    fn release_all(&mut self) -> io::Result<()> {
        while let Some(first) = self.held.pop_front() {
            self.release(first)?;
        }
        Ok(())
    }

    fn release(&mut self, held: Held) -> io::Result<()> {
        match held {
            Held::Other(block) => self.page.write(block),
            Held::Call(id, seq, call, result) => {
                if result.is_none() && self.late.len() < MAX_LATE {
                    self.late.insert(id, Call { fields: Vec::new(), ..call.clone() });
                }
                self.page.write(Block::Call { seq, call, result })
            }
        }
    }

    /// Positions that never came are events that could not be read.
    fn count_gap(&mut self, seq: Seq) {
        if seq > self.next && self.live.contains(self.next) {
            self.count_missing(seq - self.next);
        }
        self.next = self.next.max(seq.saturating_add(1));
    }

    fn count_missing(&mut self, events: u64) {
        self.missing = self.missing.saturating_add(events);
        self.report.missing = self.report.missing.saturating_add(events);
    }

    fn say_what_is_missing(&mut self, seq: Seq) -> io::Result<()> {
        let text = match std::mem::take(&mut self.missing) {
            0 => return Ok(()),
            1 => "Damaged here: 1 event could not be read.".to_owned(),
            events => format!("Damaged here: {events} events could not be read."),
        };
        self.release_all()?;
        self.page.write(Block::Note { seq, text })
    }
}
