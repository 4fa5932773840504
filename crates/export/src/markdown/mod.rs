//! A session as Markdown.
//!
//! ```text
//! # title, facts
//! ## You · time          what was typed
//! ## Agent · time        answers, and between them
//! **Tool** `name` `arguments` · remarks
//!     fenced result
//! *note*
//! ```
//!
//! INVARIANT: nothing that a session says ends its own message: see [`contain`].

mod contain;
mod inline;

use std::io::{self, Write};

use annals_model::Event;
use annals_model::fold::Live;

use crate::block::{Block, Call, Output, Page};
use crate::document::{Header, Options, Report};
use crate::walk::{Texts, Walk};
use contain::contain;
pub(crate) use contain::options;
use inline::{code, escape, fence};

/// Writes a session as Markdown: prompts, answers, calls on one line each with their arguments (200 characters) and their results (100
/// lines, 10 000 bytes), and what happened to the session. Thinking and what `live` says was dropped are left out.
///
/// `events` yields the session's events in order and is asked once for each, so that the session is never held; a jump in their
/// positions is shown as damage. What goes wrong while reading is the caller's to keep: it yields none and says so itself.
///
/// # Errors
/// Only those of `out`.
pub fn markdown(
    header: &Header,
    live: &Live,
    events: &mut dyn FnMut() -> Option<Event>,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<Report> {
    let mut texts = Texts::new(options);
    head(header, options, &mut texts, out)?;
    let mut page = Markdown { out };
    let mut walk = Walk::new(&mut page, header, live, texts);
    while let Some(event) = events() {
        walk.take(&event)?;
    }
    walk.finish()
}

fn head(
    header: &Header,
    options: &Options<'_>,
    texts: &mut Texts<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "# {}\n", escape(&texts.line(header.name(), 200)))?;
    for (label, value) in header.facts(options) {
        writeln!(out, "- {label}: {}", code(&texts.line(&value, 300)))?;
    }
    Ok(())
}

struct Markdown<'o> {
    out: &'o mut dyn Write,
}

impl Page for Markdown<'_> {
    const FIELDS: bool = false;

    fn write(&mut self, block: Block) -> io::Result<()> {
        let out = &mut *self.out;
        match block {
            Block::Heading { speaker, time, .. } => {
                writeln!(out, "\n## {} · {}", escape(speaker.name()), escape(&time))
            }
            Block::Message { text, .. } => writeln!(out, "\n{}", contain(&text)),
            Block::Attachment(line) => writeln!(out, "\nAttached: {}", code(&line)),
            Block::Note { text, .. } => writeln!(out, "\n*{}*", escape(&text)),
            Block::Call { call, result, .. } => {
                let remarks = result.as_ref().map_or_else(|| vec!["no result"], Output::remarks);
                writeln!(out, "\n**Tool** {}{}", named(&call), joined(&remarks))?;
                result.map_or(Ok(()), |result| output(out, &result))
            }
            Block::Result { of, result, .. } => {
                let of = of.as_ref().map_or_else(|| "a call that is not here".to_owned(), named);
                writeln!(out, "\n**Result** of {of}{}", joined(&result.remarks()))?;
                output(out, &result)
            }
        }
    }
}

fn named(call: &Call) -> String {
    if call.arguments.is_empty() {
        code(&call.tool)
    } else {
        format!("{} {}", code(&call.tool), code(&call.arguments))
    }
}

fn joined(remarks: &[&str]) -> String {
    remarks
        .iter()
        .map(|remark| if *remark == "failed" { " · **failed**".to_owned() } else { format!(" · {remark}") })
        .collect()
}

fn output(out: &mut dyn Write, output: &Output) -> io::Result<()> {
    if !output.text.is_empty() {
        let fence = fence(&output.text);
        writeln!(out, "\n{fence}text\n{}\n{fence}", output.text)?;
    }
    if let Some(rest) = &output.rest {
        writeln!(out, "\n*{}*", escape(rest))?;
    }
    for attachment in &output.attachments {
        writeln!(out, "\nAttached: {}", code(attachment))?;
    }
    Ok(())
}
