//! What a page consists of, in the order in which it is written: the events as a reader sees them, free of secrets and of what
//! steers a terminal, and not yet in any format.

use std::io;

use annals_model::{Seq, Timestamp};

/// Who has the word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Speaker {
    You,
    Steer,
    Hook,
    Plan,
    Task,
    /// An agent, by name.
    Agent(Option<String>),
}

impl Speaker {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::You => "You",
            Self::Steer => "You (steer)",
            Self::Hook => "Hook",
            Self::Plan => "Plan",
            Self::Task => "Task",
            Self::Agent(name) => name.as_deref().unwrap_or("Agent"),
        }
    }
}

/// A piece of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Block {
    /// Somebody else has the word.
    Heading { speaker: Speaker, ts: Timestamp, time: String },
    /// A message in Markdown.
    Message { seq: Seq, text: String },
    /// An image or file that goes with what stands before.
    Attachment(String),
    /// A call, with its result when that is known.
    Call { seq: Seq, call: Call, result: Option<Output> },
    /// A result that came when other things had been said since its call.
    Result { seq: Seq, of: Option<Call>, result: Output },
    /// Something that happened to the session.
    Note { seq: Seq, text: String },
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) tool: String,
    /// The arguments on one line, at most 200 characters.
    pub(crate) arguments: String,
    /// The arguments by name, for formats that have room for them.
    pub(crate) fields: Vec<(String, String)>,
}

/// What a tool gave back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) text: String,
    /// How much more there is, in words.
    pub(crate) rest: Option<String>,
    pub(crate) failed: bool,
    /// How long it took, in words.
    pub(crate) duration: Option<String>,
    pub(crate) attachments: Vec<String>,
}

impl Output {
    /// What is said of the result in a few words.
    pub(crate) fn remarks(&self) -> Vec<&str> {
        let failed = self.failed.then_some("failed");
        let empty = (self.text.is_empty() && self.attachments.is_empty()).then_some("no output");
        [failed, empty, self.duration.as_deref()].into_iter().flatten().collect()
    }
}

/// A format.
pub(crate) trait Page {
    /// Whether calls come with their arguments by name.
    const FIELDS: bool;

    /// Writes the next block.
    fn write(&mut self, block: Block) -> io::Result<()>;
}
