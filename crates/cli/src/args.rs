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
A SESSION is an id, a unique beginning or end of one (4 characters or more), `#` and a number, a snapshot's name, or `latest`.";

/// Options that every command takes.
#[derive(Debug, Clone, ClapArgs)]
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
    /// Find what was said, or done, in all sessions or in one
    ///
    /// Words and "quoted phrases" of any case; `word*` finds what begins so. Across sessions the best messages come first; in one session
    /// (-s) those with most of the words, in their order. With --tools, --exact or --regex everything in the logs is looked at, newest first.
    Search(SearchArgs),
    /// Write a session to a file: to read it, or to hand it on
    ///
    /// Secrets are masked in md and html, as far as they look like secrets. `events` is the whole session byte for byte, nothing masked;
    /// `annals import FILE` takes it in elsewhere.
    Export(ExportArgs),
    /// Make a session that begins as another one did
    ///
    /// Everything up to the cut is taken over; from there on the two go their own ways.
    Fork(ForkArgs),
    /// Save a session under a name: a frozen copy
    Save(SaveArgs),
    /// Give a session another title
    Rename(RenameArgs),
    /// Add and remove tags, or show them
    Tag(TagArgs),
    /// Move a session to another directory: it is listed and continued there
    Mv(MvArgs),
    /// Put sessions into the trash
    Rm(RmArgs),
    /// Show, restore or empty the trash
    Trash(TrashArgs),
    /// Show what was done to sessions, newest first
    Log(LogArgs),
    /// Take back what was done last, or an operation by its number
    Undo(UndoArgs),
    /// Show what was spent: sessions, messages, tokens and cost
    Stats(StatsArgs),
    /// Show what sessions take on disk
    Du(DuArgs),
    /// Explain why a session, a file or a directory is listed or not
    Why(WhyArgs),
    /// Tell where sessions went whose directory was moved
    Relink(RelinkArgs),
    /// Make the index anew from the sessions
    Reindex(ReindexArgs),
    /// Look for what is wrong, and say what to do
    Doctor(DoctorArgs),
    /// Show the configuration, each value with its source
    Config(ConfigArgs),
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
    /// A session file, a directory that holds some, or a bundle of `annals export` [default: the agent's usual place]
    pub(crate) path: Option<PathBuf>,
    /// The agent
    #[arg(long, value_name = "AGENT", default_value = "claude-code")]
    pub(crate) from: Agent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Agent {
    ClaudeCode,
}

#[derive(Debug, Default, ClapArgs)]
pub(crate) struct ListArgs {
    /// Show at most this many; 0 shows all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    pub(crate) limit: u64,
    /// Pass over this many of the newest: the next page
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) skip: u64,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Only those with this text in the title
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Only snapshots
    #[arg(long, conflicts_with = "no_snapshots")]
    pub(crate) snapshots: bool,
    /// No snapshots
    #[arg(long)]
    pub(crate) no_snapshots: bool,
}

/// Which sessions are meant.
#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct FilterArgs {
    /// Only those of the current directory and its project
    #[arg(long, conflicts_with_all = ["workspace", "project"])]
    pub(crate) here: bool,
    /// Only those of this directory, or below it
    #[arg(long, short = 'w', value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Only those of this project
    #[arg(long, value_name = "PROJECT")]
    pub(crate) project: Option<String>,
    /// Only those of this agent, or imported from it
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Only those with this model, or one whose name begins so
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Only those started by this: worker, background, record, …
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) origin: Option<String>,
    /// Only those with this tag; may be given again
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Only what came at or after: 2026-11-30, 2026-11-30T21:00:00Z, today, yesterday, 90min, 3d, 2w
    #[arg(long, value_name = "TIME", value_parser = crate::when::parse)]
    pub(crate) since: Option<annals::model::Timestamp>,
    /// Only what came before
    #[arg(long, value_name = "TIME", value_parser = crate::when::parse)]
    pub(crate) until: Option<annals::model::Timestamp>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SearchArgs {
    /// What to find
    #[arg(required = true, num_args = 1..)]
    pub(crate) query: Vec<String>,
    /// Only in this session
    #[arg(long, short, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Thinking, tool calls, their results and summaries too
    #[arg(long)]
    pub(crate) tools: bool,
    /// Exactly this text
    #[arg(long, short = 'x', conflicts_with = "regex")]
    pub(crate) exact: bool,
    /// A regular expression
    #[arg(long, short = 'e')]
    pub(crate) regex: bool,
    /// Only what these said or did; may be given again
    #[arg(long = "role", value_name = "ROLE")]
    pub(crate) roles: Vec<RoleName>,
    /// Show at most this many; 0 shows all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 12)]
    pub(crate) limit: u64,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum RoleName {
    User,
    Agent,
    Thinking,
    ToolCall,
    ToolResult,
    Summary,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExportArgs {
    /// The session
    pub(crate) session: String,
    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "md")]
    pub(crate) format: ExportFormat,
    /// Where to; `-` is stdout [default: the title as a name, in the session's directory]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    pub(crate) force: bool,
    /// Leave secrets in
    #[arg(long)]
    pub(crate) no_mask: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    Md,
    Html,
    Events,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ForkArgs {
    /// The session
    pub(crate) session: String,
    /// The last event to take over; `annals show SESSION --events` numbers them
    #[arg(long, value_name = "SEQ", conflicts_with = "turn")]
    pub(crate) at: Option<u64>,
    /// How many turns to take over; 0 takes all
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) turn: Option<i64>,
    /// Its title [default: the session's]
    #[arg(long, value_name = "TITLE")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SaveArgs {
    /// The session
    pub(crate) session: String,
    /// The name
    pub(crate) name: String,
    /// Replace a snapshot that has the name; it goes to the trash
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RenameArgs {
    /// The session
    pub(crate) session: String,
    /// The title
    #[arg(required = true, num_args = 1..)]
    pub(crate) title: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TagArgs {
    /// The session
    pub(crate) session: String,
    /// Tags to add
    pub(crate) add: Vec<String>,
    /// A tag to remove; may be given again
    #[arg(long, short, value_name = "TAG")]
    pub(crate) remove: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct MvArgs {
    /// The session
    pub(crate) session: String,
    /// The directory
    pub(crate) dir: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RmArgs {
    /// The sessions
    #[arg(required = true)]
    pub(crate) sessions: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TrashArgs {
    #[command(subcommand)]
    pub(crate) command: Option<TrashCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TrashCommand {
    /// Show what is in it, newest first
    List,
    /// Bring sessions back
    Restore {
        /// Their ids, or unique beginnings or ends of them
        #[arg(required = true)]
        sessions: Vec<String>,
    },
    /// Delete what is in it for good
    ///
    /// Without --yes only what would be deleted is told.
    Empty {
        /// Only what was put there before: 30d, 2w, a date
        #[arg(long, value_name = "TIME", value_parser = crate::when::parse)]
        older_than: Option<annals::model::Timestamp>,
        /// Do it, instead of telling what would be done
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LogArgs {
    /// Show at most this many; 0 shows all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct UndoArgs {
    /// The operation's number; `annals log` shows them [default: the last one that can be taken back]
    pub(crate) operation: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StatsArgs {
    /// What to add up together
    #[arg(long, value_name = "WHAT", default_value = "day")]
    pub(crate) by: StatsBy,
    /// Show at most this many lines; 0 shows all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 30)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatsBy {
    Day,
    Model,
    Workspace,
    Agent,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DuArgs {
    /// The session [default: all, the largest first]
    pub(crate) session: Option<String>,
    /// Show at most this many; 0 shows all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct WhyArgs {
    /// A session, a file of another agent, or a directory
    pub(crate) what: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RelinkArgs {
    /// Where the directory was
    pub(crate) old: PathBuf,
    /// Where it is
    pub(crate) new: PathBuf,
    /// Only tell what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReindexArgs {
    /// Leave what searches ask to the first search
    #[arg(long)]
    pub(crate) no_text: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DoctorArgs {}

#[derive(Debug, ClapArgs)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ConfigCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show each value with its source
    Show,
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
    /// [default: the configuration's, else strict]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) durability: Option<annals::log::Durability>,
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
