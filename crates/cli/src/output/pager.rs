//! stdout as people see it: the terminal's width, a pager for long texts, and whether anybody still reads.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use crate::context::Context;
use crate::error::Result;

/// The width of the terminal, when stdout is one.
pub(crate) fn width(context: &Context) -> Option<usize> {
    if !context.is_terminal() {
        return None;
    }
    Some(terminal_size::terminal_size().map_or(80, |(w, _)| usize::from(w.0)))
}

/// Writes a text to stdout, through a pager when it is longer than the terminal.
pub(crate) fn page(context: &Context, text: &str, pager: bool) -> Result<()> {
    let rows = terminal_size::terminal_size().map_or(24, |(_, h)| usize::from(h.0));
    let is_long = || text.lines().count() >= rows;
    if pager
        && context.is_terminal()
        && is_long()
        && let Some(mut child) = start_pager()
    {
        stay_for_the_pager();
        let text = if anstream::AutoStream::choice(&std::io::stdout()) == anstream::ColorChoice::Never {
            anstream::adapter::strip_str(text).to_string()
        } else {
            text.to_owned()
        };
        if let Some(mut stdin) = child.stdin.take() {
            // A pager that is left early is no error.
            let _ = stdin.write_all(text.as_bytes());
        }
        let _ = child.wait();
        return Ok(());
    }
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// The pager that the user chose; none when that can't be run, or is `cat`.
fn start_pager() -> Option<Child> {
    let chosen = ["ANNALS_PAGER", "PAGER"].iter().find_map(|name| std::env::var(name).ok());
    let chosen = chosen.filter(|p| !p.trim().is_empty()).unwrap_or_else(|| "less -FRX".to_owned());
    let mut words = chosen.split_whitespace();
    let program = words.next().filter(|program| *program != "cat")?;
    Command::new(program).args(words).stdin(Stdio::piped()).spawn().ok()
}

/// Ctrl+C is for the pager: should this program end first, both it and the shell would read the keyboard.
fn stay_for_the_pager() {
    #[cfg(unix)]
    {
        let nobody_looks = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, nobody_looks);
    }
}

/// Whether the pipe that stdout is has lost its reader. Whoever waits for something to write would notice only then.
#[cfg(unix)]
pub(crate) fn is_closed() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = std::io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&at_once)).is_ok()
        && fds.iter().any(|fd| fd.revents().intersects(PollFlags::ERR | PollFlags::HUP))
}

/// Windows: a write will tell.
#[cfg(not(unix))]
pub(crate) fn is_closed() -> bool {
    false
}
