//! What went wrong, what to do next, and the exit code: for all commands in this one place.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::context::Context;

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// Exit codes, as documented.
pub(crate) const FAILED: u8 = 1;
pub(crate) const USAGE: u8 = 2;
pub(crate) const LIMIT: u8 = 3;
pub(crate) const BUSY: u8 = 4;
pub(crate) const CORRUPT: u8 = 5;

/// Why a command could not do what it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    Store(annals::Error),
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// stdout is closed: whoever read it has enough.
    Closed,
    Output(io::Error),
    NoHome,
    Usage(String, String),
    Other {
        kind: &'static str,
        message: String,
        hint: String,
    },
}

impl From<annals::Error> for Failure {
    fn from(error: annals::Error) -> Self {
        Self::Store(error)
    }
}

/// Errors of writing to stdout.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Output(error),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::from(io::Error::from(error))
    }
}

impl Failure {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }

    pub(crate) fn config(message: String) -> Self {
        let hint = "`annals config show` tells where each value comes from; ANNALS_CONFIG names another file"
            .to_owned();
        Self::Other { kind: "Config", message, hint }
    }

    fn code(&self) -> u8 {
        match self {
            Self::Usage(..) | Self::Other { kind: "Config", .. } => USAGE,
            Self::Store(error) => match error.kind() {
                "InvalidId" | "Ambiguous" => USAGE,
                "NotRewindPoint" | "NoSuchEvent" | "InvalidName" | "InvalidTag" | "EmptyTitle"
                | "InvalidQuery" => USAGE,
                "SessionBusy" | "SessionOpen" | "OperationsBusy" => BUSY,
                "Corrupt" => CORRUPT,
                "TooLong" => LIMIT,
                _ => FAILED,
            },
            _ => FAILED,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Store(error) => error.kind(),
            Self::Io { .. } | Self::Output(_) | Self::Closed => "Io",
            Self::NoHome => "NoHome",
            Self::Usage(..) => "Usage",
            Self::Other { kind, .. } => kind,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Store(error) => chain(error),
            Self::Io { action, path, source } => format!("can't {action} {}: {source}", path.display()),
            Self::Output(source) => format!("can't write the output: {source}"),
            Self::Closed => "nobody reads the output".to_owned(),
            Self::NoHome => "no home directory is known".to_owned(),
            Self::Usage(message, _) | Self::Other { message, .. } => message.clone(),
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Store(error) => hint(error),
            Self::NoHome => "set ANNALS_HOME, or give --data-dir DIR".to_owned(),
            Self::Usage(_, hint) | Self::Other { hint, .. } => hint.clone(),
            Self::Io { path, source, .. } => io_hint(path, source),
            Self::Output(_) => "check the disk or the program that stdout leads to".to_owned(),
            Self::Closed => "keep reading the answers until the end".to_owned(),
        }
    }
}

fn io_hint(path: &Path, source: &io::Error) -> String {
    let path = path.display();
    match source.kind() {
        io::ErrorKind::NotFound => format!("check that {path} exists"),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            format!("check who owns {path} and its permissions")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space and try again".to_owned()
        }
        _ => format!("check {path} and the disk it is on"),
    }
}

/// An error and what caused it, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

fn hint(error: &annals::Error) -> String {
    use annals::Error as E;
    let names =
        |ids: &[annals::model::SessionId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match error {
        E::InvalidId(_) => "`annals list` shows the ids".to_owned(),
        E::SessionNotFound { query, .. } if query.starts_with('#') => {
            "`annals list --json` shows the numbers".to_owned()
        }
        E::SessionNotFound { similar, .. } if !similar.is_empty() => {
            format!("did you mean {}?", names(similar))
        }
        E::SessionNotFound { .. } => "`annals list` shows what there is".to_owned(),
        E::Ambiguous { candidates, .. } => format!("it may be {}", names(candidates)),
        E::SessionExists { id } => format!("`annals show {id}` shows it"),
        E::SessionBusy { id, .. } => {
            format!("read it with `annals show {id} --follow`, or wait until the other process is done")
        }
        E::SessionOpen { .. } => "close it there first, or wait until the other process is done".to_owned(),
        E::Frozen { name, .. } => format!("`annals fork {name}` makes a session that goes on from it"),
        E::SnapshotNameTaken { .. } => "choose another name, or replace it with --force".to_owned(),
        E::InvalidName { .. } => "try something like before-refactor".to_owned(),
        E::NothingToSave { id } => format!("`annals show {id} --events` shows what is in it"),
        E::NoSuchEvent { id, last, .. } => {
            format!("give a number from 0 to {last}; `annals show {id} --events` shows them")
        }
        E::NotRewindPoint { id, .. } => format!("give 0 or more turns; `annals show {id}` shows them"),
        E::CantRewindConversation { boundary, .. } => format!("give an event from {boundary} on"),
        E::EmptyTitle => "the old title stays; give at least one word".to_owned(),
        E::InvalidTag { .. } => "a tag has up to 64 characters, no blanks and no commas".to_owned(),
        E::Bundle { .. } => "export it again; nothing of it was imported".to_owned(),
        E::InvalidQuery { .. } => "`annals search --help` tells how queries are written".to_owned(),
        E::NotInTrash { .. } => "`annals trash` shows what is there".to_owned(),
        E::NothingToUndo | E::NoSuchOperation { .. } => "`annals log` shows what was done".to_owned(),
        E::CantUndo { .. } => "`annals log` shows what was done, and in which order".to_owned(),
        E::Index(_) => "`annals reindex` makes the index anew; no session is lost with it".to_owned(),
        E::Operations { source: annals::log::Error::Busy { .. } } => {
            "another annals is at work; try again when it is done".to_owned()
        }
        E::Corrupt { id, .. } => format!(
            "`annals show {id}` reads around the damage; `annals repair {id}` tells what can be saved"
        ),
        E::Newer { .. } => "update annals".to_owned(),
        E::InvalidEvent { .. } => "docs/format.md lists the kinds and their fields".to_owned(),
        E::NotAStore { .. } => "give another --data-dir or ANNALS_HOME".to_owned(),
        E::NetworkFileSystem { .. } => {
            "keep sessions on a local disk, or accept the risk with --allow-network-fs".to_owned()
        }
        E::Import(annals::interop::Error::NotThisFormat { .. }) => "--from names the format".to_owned(),
        E::Import(annals::interop::Error::SourceNotFound { .. }) => {
            "give the path of a session file, or of a directory that holds some".to_owned()
        }
        _ => match error.kind() {
            "NoSpace" => "free some space and try again; nothing acknowledged is lost".to_owned(),
            "Denied" => "check who owns the directory and its permissions".to_owned(),
            "Poisoned" => "run the command again; everything acknowledged is in the session".to_owned(),
            "TooLong" => "put large content in a file and refer to it".to_owned(),
            _ => "`annals verify` checks what is there; the system's messages may tell more of the disk"
                .to_owned(),
        },
    }
}

/// An error as programs see it.
pub(crate) fn object(error: &Failure) -> Value {
    let retryable = matches!(error, Failure::Store(e) if e.is_retryable());
    json!({"error": {"kind": error.kind(), "message": error.message(), "hint": error.hint(), "retryable": retryable}})
}

/// [`object`] in one line.
pub(crate) fn object_line(error: &Failure) -> String {
    let object = object(error);
    crate::output::json_line(&object).unwrap_or_else(|_| object.to_string())
}

/// Tells an error on stderr and gives its exit code.
#[allow(clippy::print_stderr)]
pub(crate) fn report(context: &Context, error: &Failure) -> ExitCode {
    if matches!(error, Failure::Closed) {
        return ExitCode::SUCCESS;
    }
    if context.json {
        eprintln!("{}", object_line(error));
    } else {
        let style = anstyle::Style::new().bold().fg_color(Some(anstyle::AnsiColor::Red.into()));
        anstream::eprintln!("{style}error{style:#}: {}", crate::output::plain(&error.message()));
        let hint = error.hint();
        if !hint.is_empty() {
            anstream::eprintln!("hint: {}", crate::output::plain(&hint));
        }
    }
    ExitCode::from(error.code())
}

/// Tells wrong arguments; help and version are no errors.
#[allow(clippy::print_stderr)]
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let wants_json = std::env::args_os().any(|a| a == "--json");
    if error.use_stderr() && wants_json {
        let message = error.render().to_string();
        let message = message.strip_prefix("error: ").unwrap_or(&message);
        let mut parts = message.splitn(2, "\n\n");
        let first = parts.next().unwrap_or_default().trim();
        let failure = Failure::Usage(first.to_owned(), "`annals --help` shows the commands".to_owned());
        eprintln!("{}", object_line(&failure));
    } else if error.print().is_err() {
        return ExitCode::SUCCESS;
    }
    ExitCode::from(if error.use_stderr() { USAGE } else { 0 })
}
