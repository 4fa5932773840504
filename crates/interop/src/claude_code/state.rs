//! What the importer must remember from record to record, and from one import to the next.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

/// How many records' ids are remembered across imports: duplicates and parents are near.
const REMEMBERED: usize = 256;

/// The importer's memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct State {
    /// Lines read.
    pub(super) lines: u64,
    /// Prompts seen.
    pub(super) turn: u64,
    /// The position that the next event takes in the log.
    pub(super) next_seq: u64,
    /// First event that the next compaction replaces.
    pub(super) compact_from: u64,
    /// What the last boundary said of the summary that follows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) boundary: Option<Boundary>,
    /// The response that was last seen, and the output tokens that were told of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) response: Option<(String, u64)>,
    /// The last titles by kind of record.
    pub(super) titles: BTreeMap<String, String>,
    /// The last event that is part of the conversation.
    pub(super) last_said: u64,
    /// Recent records: id and the positions of their events, `from..to`.
    pub(super) recent: VecDeque<(String, u64, u64)>,
}

/// A compaction's metadata.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Boundary {
    pub(super) trigger: Option<String>,
    pub(super) tokens_before: Option<u64>,
    pub(super) tokens_after: Option<u64>,
    /// First event that was kept as it is.
    pub(super) kept_from: Option<u64>,
    /// The last event before the boundary.
    pub(super) to: u64,
}

impl State {
    pub(super) fn remember(&mut self, id: &str, from: u64, to: u64) {
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back((id.to_owned(), from, to));
    }

    /// The next event stands at `seq`. Where that is further on than was counted, the last record's events end there: an import that was
    /// cut short between them goes on behind what the log wrote in between.
    pub(super) fn go_to(&mut self, seq: u64) {
        if let Some((_, _, to)) = self.recent.back_mut()
            && *to == self.next_seq
        {
            *to = seq.max(*to);
        }
        self.next_seq = seq;
    }

    /// The positions of a recent record's events.
    pub(super) fn events_of(&self, id: &str) -> Option<(u64, u64)> {
        self.recent.iter().rev().find(|(known, ..)| known == id).map(|(_, from, to)| (*from, *to))
    }
}
