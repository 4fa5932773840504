//! A session as one page of HTML that needs nothing else: no network, no script, readable on a phone, dark and light as the reader's system is.
//!
//! INVARIANT: nothing that a session says is markup. Text is escaped; Markdown is rendered from a parser's events, in which raw HTML is made text
//! and links lead only to the web and to mail. A policy in the page forbids scripts and the network even so.

mod rich;

use std::io::{self, Write};

use annals_model::Event;
use annals_model::fold::Live;

use crate::block::{Block, Call, Output, Page, Speaker};
use crate::document::{Header, Options, Report};
use crate::walk::{Texts, Walk};
use rich::{escape, markdown};

const STYLE: &str = include_str!("style.css");

/// Nothing may be loaded or run but the page's own style.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Writes a session as a page of HTML: prompts, answers, calls folded with their arguments and results (100 lines, 10 000 bytes), and what
/// happened to the session. Thinking and what `live` says was dropped are left out. Every message has an anchor: `#e` and its position.
///
/// `events` yields the session's events in order and is asked once for each, so that the session is never held; a jump in their positions is
/// shown as damage. What goes wrong while reading is the caller's to keep: it yields none and says so itself.
///
/// # Errors
/// Only those of `out`.
pub fn html(
    header: &Header,
    live: &Live,
    events: &mut dyn FnMut() -> Option<Event>,
    options: &Options<'_>,
    out: &mut dyn Write,
) -> io::Result<Report> {
    let mut texts = Texts::new(options);
    head(header, options, &mut texts, out)?;
    let mut page = Html { out, is_open: false };
    let mut walk = Walk::new(&mut page, header, live, texts);
    while let Some(event) = events() {
        walk.take(&event)?;
    }
    let report = walk.finish()?;
    page.end()?;
    Ok(report)
}

fn head(
    header: &Header,
    options: &Options<'_>,
    texts: &mut Texts<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let title = escape(&texts.line(header.name(), 200));
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n<dl>"
    )?;
    for (label, value) in header.facts(options) {
        writeln!(out, "<dt>{label}</dt><dd>{}</dd>", escape(&texts.line(&value, 300)))?;
    }
    writeln!(out, "</dl>\n</header>\n<main>")
}

struct Html<'o> {
    out: &'o mut dyn Write,
    /// Whether somebody's part of the page is open.
    is_open: bool,
}

impl Html<'_> {
    fn close(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_open) { writeln!(self.out, "</section>") } else { Ok(()) }
    }

    fn end(&mut self) -> io::Result<()> {
        self.close()?;
        writeln!(self.out, "</main>\n</body>\n</html>")
    }

    fn call(&mut self, seq: u64, call: &Call, result: Option<&Output>) -> io::Result<()> {
        let remarks = result.map_or_else(|| vec!["no result"], Output::remarks);
        let failed = if result.is_some_and(|result| result.failed) { " class=\"failed\"" } else { "" };
        writeln!(
            self.out,
            "<details id=\"e{seq}\"{failed}>\n<summary>{}{}</summary>",
            named(call),
            joined(&remarks)
        )?;
        for (name, value) in &call.fields {
            if !name.is_empty() {
                writeln!(self.out, "<h4>{}</h4>", escape(name))?;
            }
            writeln!(self.out, "<pre>{}</pre>", escape(value))?;
        }
        if let Some(result) = result {
            self.output(result)?;
        }
        writeln!(self.out, "</details>")
    }

    fn output(&mut self, output: &Output) -> io::Result<()> {
        if !output.text.is_empty() {
            writeln!(self.out, "<h4>result</h4>\n<pre>{}</pre>", escape(&output.text))?;
        }
        if let Some(rest) = &output.rest {
            writeln!(self.out, "<p class=\"note\">{}</p>", escape(rest))?;
        }
        for attachment in &output.attachments {
            writeln!(self.out, "<p class=\"file\">{}</p>", escape(attachment))?;
        }
        Ok(())
    }
}

impl Page for Html<'_> {
    const FIELDS: bool = true;

    fn write(&mut self, block: Block) -> io::Result<()> {
        match block {
            Block::Heading { speaker, time, ts } => {
                self.close()?;
                self.is_open = true;
                let class = if matches!(speaker, Speaker::Agent(_)) { "agent" } else { "you" };
                writeln!(
                    self.out,
                    "<section class=\"{class}\">\n<h2>{} <time datetime=\"{ts}\">{}</time></h2>",
                    escape(speaker.name()),
                    escape(&time)
                )
            }
            Block::Message { seq, text } => {
                writeln!(self.out, "<div class=\"text\" id=\"e{seq}\">\n{}</div>", markdown(&text))
            }
            Block::Attachment(line) => writeln!(self.out, "<p class=\"file\">{}</p>", escape(&line)),
            Block::Note { seq, text } => {
                writeln!(self.out, "<p class=\"note\" id=\"e{seq}\">{}</p>", escape(&text))
            }
            Block::Call { seq, call, result } => self.call(seq, &call, result.as_ref()),
            Block::Result { seq, of, result } => {
                let of = of.as_ref().map_or_else(|| "a call that is not here".to_owned(), named);
                writeln!(
                    self.out,
                    "<details id=\"e{seq}\">\n<summary>result of {of}{}</summary>",
                    joined(&result.remarks())
                )?;
                self.output(&result)?;
                writeln!(self.out, "</details>")
            }
        }
    }
}

fn named(call: &Call) -> String {
    format!("<b>{}</b> <code>{}</code>", escape(&call.tool), escape(&call.arguments))
}

fn joined(remarks: &[&str]) -> String {
    remarks.iter().map(|remark| format!(" <i>{}</i>", escape(remark))).collect()
}
