//! `annals record`: any program's session through a pipe.
//!
//! Lines that wait on stdin together are committed together, with one sync. Answers are flushed at once and in order.

use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use annals::model::SessionId;
use annals::model::line::MAX_LINE_BYTES;
use annals::model::payload::SessionStarted;
use annals::record::{Answer, record};
use annals::{Error, NewSession, SessionWriter, Store};
use memchr::memchr;
use serde_json::json;

use crate::args::RecordArgs;
use crate::context::Context;
use crate::error::{FAILED, Failure, Result, object};

pub(crate) fn run(context: &Context, args: &RecordArgs) -> Result<ExitCode> {
    let store = context.store_with("record", args.durability)?;
    let (session, is_new) = open(context, &store, args)?;
    let mut out = std::io::stdout().lock();
    if args.new || args.session.is_none() {
        writeln!(out, "{}", json!({"session": session.id()}))?;
        out.flush()?;
    } else if is_new {
        context.note(&format!("New session {}.", session.id()));
    }
    let outcome = pump(&session, &mut out);
    // Whatever ended it: what was acknowledged is sealed and closed.
    let closed = session.close();
    match outcome {
        Ok(code) => {
            closed?;
            Ok(code)
        }
        Err(error) => Err(error),
    }
}

/// Opens the session, or begins it. True when it is new.
fn open(context: &Context, store: &Store, args: &RecordArgs) -> Result<(SessionWriter, bool)> {
    let id = match &args.session {
        None => None,
        Some(query) => match store.resolve(query) {
            Ok(id) => {
                let (session, opening) = store.open_writer(&id)?;
                if let Some(repair) = opening.repair {
                    context.note(&format!(
                        "note: a crash had left {} behind the last whole event; they are kept in {}",
                        crate::output::count(repair.dropped_bytes, "byte"),
                        repair.kept_in.display()
                    ));
                }
                return Ok((session, false));
            }
            Err(Error::SessionNotFound { .. }) => Some(SessionId::parse(query).map_err(Error::from)?),
            Err(error) => return Err(error.into()),
        },
    };
    let workspace = match &args.workspace {
        Some(dir) => {
            std::fs::canonicalize(dir).map_err(|e| Failure::io("find", dir, e))?.display().to_string().into()
        }
        None => std::env::current_dir().and_then(std::fs::canonicalize).ok().map(|d| d.display().to_string()),
    };
    let started = SessionStarted {
        workspace,
        origin: Some("record".to_owned()),
        title: args.title.clone(),
        ..SessionStarted::default()
    };
    Ok((store.create(NewSession { id, ts: None, started })?, true))
}

/// What comes from stdin.
enum Input {
    Bytes(Vec<u8>),
    Failed(std::io::Error),
}

/// Reads stdin on a thread of its own, so that signals are noticed while it waits.
fn read_stdin() -> Receiver<Input> {
    let (sender, receiver) = sync_channel(4);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut buf = vec![0; 256 * 1024];
        loop {
            let input = match stdin.read(&mut buf) {
                Ok(0) => return,
                Ok(n) => Input::Bytes(buf.get(..n).unwrap_or_default().to_vec()),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => Input::Failed(e),
            };
            let failed = matches!(input, Input::Failed(_));
            if sender.send(input).is_err() || failed {
                return;
            }
        }
    });
    receiver
}

fn pump(session: &SessionWriter, out: &mut dyn Write) -> Result<ExitCode> {
    let stop = interrupted();
    let input = read_stdin();
    let mut lines = Lines::default();
    loop {
        match input.recv_timeout(Duration::from_millis(100)) {
            Ok(Input::Bytes(bytes)) => {
                lines.add(&bytes);
                // What has come meanwhile shares the sync.
                while lines.len() < 4 * 1024 * 1024
                    && let Ok(Input::Bytes(more)) = input.try_recv()
                {
                    lines.add(&more);
                }
            }
            Ok(Input::Failed(e)) => return Err(Failure::io("read", std::path::Path::new("stdin"), e)),
            Err(RecvTimeoutError::Timeout) if stop() => break,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => {
                lines.finish();
                answer(session, out, &mut lines)?;
                break;
            }
        }
        if !answer(session, out, &mut lines)? {
            return Ok(ExitCode::from(FAILED));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Records the lines at hand and answers each. False when the session can't be written any more.
fn answer(session: &SessionWriter, out: &mut dyn Write, lines: &mut Lines) -> Result<bool> {
    let mut usable = true;
    for line in lines.take() {
        match line {
            Line::Whole(batch) => {
                let batch: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
                for answer in record(session, &batch) {
                    match answer {
                        Answer::Acknowledged(seq) => writeln!(out, "{{\"seq\":{seq}}}")?,
                        Answer::Rejected(error) => {
                            usable &= error.kind() != "Poisoned";
                            writeln!(out, "{}", object(&Failure::Store(error)))?;
                        }
                    }
                }
            }
            Line::TooLong(len_bytes) => {
                let reason = format!("a line of {len_bytes} bytes is over the limit of {MAX_LINE_BYTES}");
                writeln!(out, "{}", object(&Failure::Store(Error::InvalidEvent { reason })))?;
            }
        }
    }
    out.flush()?;
    Ok(usable)
}

/// Lines in the order that they came.
enum Line {
    Whole(Vec<Vec<u8>>),
    TooLong(u64),
}

/// Cuts what comes into lines, in bounded memory.
#[derive(Default)]
struct Lines {
    ready: Vec<Line>,
    ready_bytes: usize,
    partial: Vec<u8>,
    /// Length so far of a line that is too long to keep.
    overlong: Option<u64>,
}

impl Lines {
    fn len(&self) -> usize {
        self.ready_bytes
    }

    fn add(&mut self, mut bytes: &[u8]) {
        while let Some(at) = memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(at);
            self.extend(line);
            self.end_line();
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.extend(bytes);
    }

    fn extend(&mut self, bytes: &[u8]) {
        if let Some(len) = &mut self.overlong {
            *len += bytes.len() as u64;
        } else if self.partial.len() + bytes.len() > MAX_LINE_BYTES {
            self.overlong = Some((self.partial.len() + bytes.len()) as u64);
            self.partial = Vec::new();
        } else {
            self.partial.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self) {
        if let Some(len) = self.overlong.take() {
            self.ready.push(Line::TooLong(len));
            return;
        }
        let line = std::mem::take(&mut self.partial);
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        self.ready_bytes += line.len();
        match self.ready.last_mut() {
            Some(Line::Whole(batch)) => batch.push(line),
            _ => self.ready.push(Line::Whole(vec![line])),
        }
    }

    /// The end of the input: a last line without its newline counts.
    fn finish(&mut self) {
        if !self.partial.is_empty() || self.overlong.is_some() {
            self.end_line();
        }
    }

    fn take(&mut self) -> Vec<Line> {
        self.ready_bytes = 0;
        std::mem::take(&mut self.ready)
    }
}

/// Whether the process was asked to stop.
#[cfg(unix)]
fn interrupted() -> impl Fn() -> bool {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        // Without the handler the signal ends the process, which loses nothing acknowledged either.
        let _ = signal_hook::flag::register(signal, Arc::clone(&flag));
    }
    move || flag.load(Ordering::Relaxed)
}

#[cfg(not(unix))]
fn interrupted() -> impl Fn() -> bool {
    || false
}
