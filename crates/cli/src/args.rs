//! The arguments: one definition, from which help, completions and man pages are made.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// Durable sessions for AI agents: keep, find and repair the conversations you work in.
#[derive(Debug, Parser)]
#[command(name = "annals", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a limit was reached, 4 busy, 5 corrupt.
A SESSION is an id, a unique beginning or end of one (4 characters or more), or `latest`.";

/// Options that every command takes.
#[derive(Debug, ClapArgs)]
pub(crate) struct Global {
    /// Where sessions are kept [env: ANNALS_HOME] [default: the platform's data directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Print JSON for programs; errors too, one object on stderr
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: When,
    /// No progress and no notes on stderr; errors remain
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Accept a data directory on a network file system, where locks can't be relied on
    #[arg(long, global = true, env = "ANNALS_ALLOW_NETWORK_FS", hide_env_values = true)]
    pub(crate) allow_network_fs: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Import the sessions of other agents
    ///
    /// Nothing over there is changed. Importing again takes only what is new.
    Import(ImportArgs),
    /// List sessions, newest first
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Show a session: what was said, or every event
    #[command(visible_alias = "cat")]
    Show(ShowArgs),
    /// Print what a model would be sent to go on with a session
    Resume(ResumeArgs),
    /// Record events from stdin: one a line in, one answer a line out
    ///
    /// Each line is {"kind":…,"data":…} with an optional "turn"; the answer {"seq":N} comes once the event is as durable as asked. A line that can't
    /// be taken is answered with an error object and leaves nothing behind. Blank lines are passed over.
    Record(RecordArgs),
    /// Check sessions: every line, link, seal and blob
    Verify(VerifyArgs),
    /// Salvage a damaged session; the original is kept
    ///
    /// Without --yes only what would be kept and lost is told.
    Repair(RepairArgs),
    /// Record a sample conversation, get killed in the middle, and see what is left
    Demo,
    /// Print a shell's completion script
    Completions(CompletionsArgs),
    /// Print the manual page, or write all of them to a directory
    Man(ManArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ImportArgs {
    /// A session file or a directory that holds some [default: the agent's usual place]
    pub(crate) path: Option<PathBuf>,
    /// The agent
    #[arg(long, value_name = "AGENT", default_value = "claude-code")]
    pub(crate) from: Agent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Agent {
    ClaudeCode,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ListArgs {
    /// Show at most this many; 0 shows all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 0)]
    pub(crate) limit: usize,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ShowArgs {
    /// The session
    pub(crate) session: String,
    /// Every event, one a line; with --json the stored lines, byte for byte
    #[arg(long)]
    pub(crate) events: bool,
    /// Go on showing what is appended, until interrupted
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Don't use a pager
    #[arg(long)]
    pub(crate) no_pager: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ResumeArgs {
    /// The session
    pub(crate) session: String,
    /// Print the messages
    #[arg(long)]
    pub(crate) print: bool,
    /// Whose rules the messages follow [default: the session's provider]
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<ProviderName>,
    /// The model that would go on; decides who gets signatures [default: the session's model]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProviderName {
    Anthropic,
    Openai,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RecordArgs {
    /// The session to go on with: a whole id or `latest`; an id that is not there yet begins a session of that name [default: a new session]
    #[arg(conflicts_with = "new")]
    pub(crate) session: Option<String>,
    /// Begin a session and print its id first
    #[arg(long)]
    pub(crate) new: bool,
    /// When events are acknowledged: strict (survives a power cut), barrier (at the points that matter) or os (survives the process)
    #[arg(long, value_name = "LEVEL", default_value = "strict")]
    pub(crate) durability: annals::log::Durability,
    /// The directory that the conversation belongs to [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// The session's title
    #[arg(long, value_name = "TITLE")]
    pub(crate) title: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct VerifyArgs {
    /// The session [default: all]
    pub(crate) session: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RepairArgs {
    /// The session
    pub(crate) session: String,
    /// Do it, instead of telling what would be done
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ManArgs {
    /// Write annals.1 and a page for each command here
    pub(crate) dir: Option<PathBuf>,
}
