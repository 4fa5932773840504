//! What the reader must know to go on after any record: it travels through the log as JSON in `source_recorded`.
//!
//! INVARIANT: nothing that an event depends on lives outside of this, but for the ids seen, which are read from the file
//! again (see `seen`). A bound in here is thus a bound in memory as well, or a resumed import would differ.

use std::collections::VecDeque;

use annals_model::Usage;
use serde::{Deserialize, Serialize};

use super::branch::Branches;

/// The version of the state; another one is refused, and the file read from its start.
pub(crate) const VERSION: u32 = 1;

/// How many responses are remembered for their usage. Records of one response lie close together.
const RESPONSES: usize = 64;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) v: u32,
    /// Lines before the cursor.
    pub(crate) lines: u64,
    /// Records before the cursor, malformed ones included.
    pub(crate) records: u64,
    /// The position in the log that the next event gets.
    pub(crate) next_seq: u64,
    pub(crate) turn: u64,
    /// The file is a sub-agent's: sidechain records are its conversation.
    pub(crate) sub_agent: bool,
    pub(crate) workspace: Option<String>,
    pub(crate) title: Option<Title>,
    pub(crate) tag: Option<String>,
    /// The compaction whose summary has yet to come.
    pub(crate) boundary: Option<Boundary>,
    pub(crate) branches: Branches,
    pub(crate) responses: VecDeque<Response>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Title {
    pub(crate) text: String,
    pub(crate) rank: u8,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Boundary {
    /// The position in the log behind what the summary stands for.
    pub(crate) end: u64,
    pub(crate) trigger: Option<String>,
    pub(crate) tokens_before: Option<u64>,
    pub(crate) tokens_after: Option<u64>,
}

/// What was last said of a response's usage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Response {
    pub(crate) hash: u64,
    pub(crate) usage: Usage,
}

impl Default for State {
    fn default() -> Self {
        Self {
            v: VERSION,
            lines: 0,
            records: 0,
            next_seq: 1,
            turn: 0,
            sub_agent: false,
            workspace: None,
            title: None,
            tag: None,
            boundary: None,
            branches: Branches::default(),
            responses: VecDeque::new(),
        }
    }
}

impl State {
    /// The next event lies at `seq`. When that is further on than was counted, the last record's events end there: the log
    /// wrote something of its own in between.
    pub(crate) fn go_to(&mut self, seq: u64) {
        self.branches.stretch(self.next_seq, seq);
        self.next_seq = seq;
    }

    /// Takes note of a response's usage. None when what was said of it before stands: the record with the most output
    /// counts, the last one among equals.
    pub(crate) fn count_usage(&mut self, response: &str, usage: Usage) -> Option<Usage> {
        let hash = hash(response);
        if let Some(known) = self.responses.iter_mut().rev().find(|known| known.hash == hash) {
            let news = usage.output >= known.usage.output;
            if news {
                known.usage = usage;
            }
            return news.then_some(usage);
        }
        if self.responses.len() == RESPONSES {
            self.responses.pop_front();
        }
        self.responses.push_back(Response { hash, usage });
        Some(usage)
    }

    /// What was last said of a response's usage.
    pub(crate) fn known_usage(&self, response: &str) -> Option<Usage> {
        let hash = hash(response);
        self.responses.iter().rev().find(|known| known.hash == hash).map(|known| known.usage)
    }
}

/// The 64-bit name under which an id is remembered. Never 0.
pub(crate) fn hash(id: &str) -> u64 {
    let hash = blake3::hash(id.as_bytes());
    let bytes = hash.as_bytes().first_chunk::<8>().copied().unwrap_or_default();
    u64::from_le_bytes(bytes).max(1)
}
