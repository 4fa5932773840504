//! `annals record`: any program's session through a pipe.
//!
//! Lines that wait on stdin together are committed together, with one sync. Answers are flushed at once and in order.

use std::io::{BufWriter, Read, Write};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::time::Duration;

use annals::Projects;
use annals::model::SessionId;
use annals::model::line::MAX_LINE_BYTES;
use annals::model::payload::SessionStarted;
use annals::record::{Answer, record};
use annals::{Error, NewSession, SessionWriter, Store};
use serde_json::json;

use crate::args::RecordArgs;
use crate::context::Context;
use crate::error::{FAILED, Failure, Result, object_line};
use crate::output;
use crate::project::GitProjects;

mod lines;

use lines::{Line, Lines};

/// Lines of this weight are committed before more are read.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

pub(crate) fn run(context: &Context, args: &RecordArgs) -> Result<ExitCode> {
    let store =
        context.store_with("record", args.durability.unwrap_or(context.settings()?.durability.value))?;
    let (session, is_new) = open(context, &store, args)?;
    // Answers leave at each flush, together: a batch of small writes costs more than its sync.
    let mut out = BufWriter::with_capacity(64 * 1024, std::io::stdout().lock());
    if args.new || args.session.is_none() {
        writeln!(out, "{}", json!({"session": session.id()}))?;
        out.flush()?;
    } else if is_new {
        context.note(&format!("New session {}.", session.id()));
    }
    let mut refused = 0;
    let outcome = pump(&session, &mut out, &mut refused);
    // Whatever ended it: what was acknowledged is sealed and closed.
    let closed = session.close();
    if refused > 0 {
        context.note(&format!("{} refused.", output::count(refused, "line")));
    }
    match outcome {
        // The lines that are left are not recorded, which whoever sent them should know.
        Err(Failure::Closed) => {
            closed?;
            context.note("Nobody reads the answers any more; the session is closed.");
            Ok(ExitCode::from(FAILED))
        }
        Err(error) => Err(error),
        Ok(code) => {
            closed?;
            Ok(code)
        }
    }
}

/// Opens the session, or begins it. True when it is new.
///
/// A part of an id is not enough here: a program that calls its sessions `chat-1` and `chat-10` must never find the events of one in the other.
fn open(context: &Context, store: &Store, args: &RecordArgs) -> Result<(SessionWriter, bool)> {
    let Some(query) = &args.session else {
        return Ok((store.create(new_session(None, args)?)?, true));
    };
    if query == "latest" {
        return Ok((go_on(context, store, &store.resolve(query)?)?, false));
    }
    let id = SessionId::parse(query).map_err(Error::from)?;
    let started = new_session(Some(id.clone()), args)?;
    // Another process may begin it, or its creation may once have been cut short: whatever is there now counts.
    match go_on(context, store, &id) {
        Err(Failure::Store(Error::SessionNotFound { .. })) => {}
        opened => return Ok((opened?, false)),
    }
    match store.create(started) {
        Err(Error::SessionExists { .. }) => Ok((go_on(context, store, &id)?, false)),
        created => {
            let session = created?;
            // Whoever meant a part of another id learns it here.
            let longer = store.ids()?.into_iter().filter(|other| *other != id);
            for other in longer.filter(|other| is_part(query, other)).take(3) {
                context.note(&format!("note: this is not {other}, which takes its whole id"));
            }
            Ok((session, true))
        }
    }
}

fn is_part(query: &str, id: &SessionId) -> bool {
    query.len() >= 4 && (id.as_str().starts_with(query) || id.as_str().ends_with(query))
}

fn go_on(context: &Context, store: &Store, id: &SessionId) -> Result<SessionWriter> {
    let (session, opening) = store.open_writer(id)?;
    if let Some(repair) = opening.repair {
        context.note(&format!(
            "note: a crash had left {} behind the last whole event; they are kept in {}",
            output::count(repair.dropped_bytes, "byte"),
            repair.kept_in.display()
        ));
    }
    Ok(session)
}

fn new_session(id: Option<SessionId>, args: &RecordArgs) -> Result<NewSession> {
    let workspace = match &args.workspace {
        Some(dir) => Some(std::fs::canonicalize(dir).map_err(|e| Failure::io("find", dir, e))?),
        None => std::env::current_dir().and_then(std::fs::canonicalize).ok(),
    };
    let started = SessionStarted {
        project: workspace.as_ref().and_then(|dir| GitProjects.of(&dir.display().to_string())),
        workspace: workspace.map(|dir| dir.display().to_string()),
        origin: Some("record".to_owned()),
        title: args.title.clone(),
        ..SessionStarted::default()
    };
    Ok(NewSession { id, ts: None, started })
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

/// How stdin stands after what was at hand has been read.
enum Standing {
    Open,
    Ended,
    Failed(std::io::Error),
}

/// Waits a moment for lines, then takes all that have come: they share a sync.
fn gather(input: &Receiver<Input>, lines: &mut Lines) -> Standing {
    let mut next = input.recv_timeout(Duration::from_millis(100));
    loop {
        match next {
            Ok(Input::Bytes(bytes)) => lines.add(&bytes),
            Ok(Input::Failed(e)) => return Standing::Failed(e),
            Err(RecvTimeoutError::Timeout) => return Standing::Open,
            Err(RecvTimeoutError::Disconnected) => {
                lines.finish();
                return Standing::Ended;
            }
        }
        if lines.weight_bytes() >= BATCH_BYTES {
            return Standing::Open;
        }
        next = input.try_recv().map_err(|e| match e {
            TryRecvError::Empty => RecvTimeoutError::Timeout,
            TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        });
    }
}

fn pump(session: &SessionWriter, out: &mut dyn Write, refused: &mut u64) -> Result<ExitCode> {
    let stop = interrupted();
    let input = read_stdin();
    let mut lines = Lines::default();
    loop {
        let standing = gather(&input, &mut lines);
        let at_hand = lines.take();
        if at_hand.is_empty() && output::is_closed() {
            return Err(Failure::Closed);
        }
        if !answer(session, out, at_hand, refused)? {
            return Ok(ExitCode::from(FAILED));
        }
        match standing {
            Standing::Failed(e) => return Err(Failure::io("read", std::path::Path::new("stdin"), e)),
            Standing::Ended => return Ok(ExitCode::SUCCESS),
            // Looked at after every batch: a pipe that is never empty must not keep a signal waiting.
            Standing::Open if stop() => return Ok(ExitCode::SUCCESS),
            Standing::Open => {}
        }
    }
}

/// Records the lines at hand and answers each. False when the session can't be written any more.
fn answer(session: &SessionWriter, out: &mut dyn Write, lines: Vec<Line>, refused: &mut u64) -> Result<bool> {
    let mut usable = true;
    let mut refuse = |out: &mut dyn Write, error: Error| -> Result<()> {
        *refused += 1;
        usable &= error.kind() != "Poisoned";
        Ok(writeln!(out, "{}", object_line(&Failure::Store(error)))?)
    };
    for line in lines {
        match line {
            Line::Whole(batch) => {
                let batch: Vec<&[u8]> = batch.iter().map(Vec::as_slice).collect();
                for answer in record(session, &batch) {
                    match answer {
                        Answer::Acknowledged(seq) => writeln!(out, "{{\"seq\":{seq}}}")?,
                        Answer::Rejected(error) => refuse(out, error)?,
                    }
                }
            }
            Line::TooLong(len_bytes) => {
                let source = annals::log::Error::TooLong { len_bytes, limit_bytes: MAX_LINE_BYTES as u64 };
                refuse(out, Error::Log { id: session.id().clone(), source })?;
            }
        }
    }
    out.flush()?;
    Ok(usable)
}

/// Whether the process was asked to stop.
#[cfg(unix)]
fn interrupted() -> impl Fn() -> bool {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        // The second one ends the process at once, should nobody take the answers; nothing acknowledged is lost by that.
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&flag));
        let _ = signal_hook::flag::register(signal, Arc::clone(&flag));
    }
    move || flag.load(Ordering::Relaxed)
}

#[cfg(not(unix))]
fn interrupted() -> impl Fn() -> bool {
    || false
}
