//! What happened to a session, in a line.

use annals_model::event::Payload;
use annals_model::payload::{Outcome, TurnEnded, Verdict};

/// How many changed files are named.
const MAX_FILES: usize = 8;

/// The line for an event that is neither message nor tool; none when a reader need not know of it.
pub(crate) fn note(payload: &Payload) -> Option<String> {
    Some(match payload {
        Payload::Condensation(c) => {
            let gain = gain(c.tokens_before, c.tokens_after);
            format!(
                "Condensed here: a summary stands for events {} to {} in the model's context{gain}.",
                c.from, c.to
            )
        }
        Payload::CondensationRevoked(_) => "A condensation was undone here.".to_owned(),
        Payload::Compaction(c) => {
            format!(
                "Compacted here: the agent shortened its context{}.",
                gain(c.tokens_before, c.tokens_after)
            )
        }
        Payload::Rewound(_) => "Rewound here: what was said since then is left out.".to_owned(),
        Payload::HistoryImported(h) => format!("{} messages before this were not recorded.", h.messages),
        Payload::Repaired(r) => {
            format!("A crash left {} unfinished bytes here; they were cut off.", r.dropped_bytes)
        }
        Payload::TurnEnded(ended) => return turn(ended),
        Payload::ModelChanged(m) => format!("Model: {}", m.model),
        Payload::Moved(m) => format!("Moved to {}", m.to),
        Payload::GoalSet(g) => format!("Goal: {}", g.condition),
        Payload::GoalJudged(g) => {
            let verdict = match g.verdict {
                Verdict::Met => "met",
                Verdict::Impossible => "impossible",
                _ => "not met yet",
            };
            with(&format!("Goal {verdict}"), g.reason.as_deref())
        }
        Payload::GoalCleared(g) => with("Goal removed", g.reason.as_deref()),
        Payload::FilesChanged(changed) if !changed.files.is_empty() => {
            let named: Vec<&str> = changed.files.iter().take(MAX_FILES).map(|f| f.path.as_str()).collect();
            let more = changed.files.len().saturating_sub(MAX_FILES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("Files changed: {}{more}", named.join(", "))
        }
        Payload::SessionEnded(ended) => with("Session ended", Some(ended.reason.as_str())),
        _ => return None,
    })
}

fn turn(ended: &TurnEnded) -> Option<String> {
    let what = match ended.outcome {
        Outcome::Completed => return None,
        Outcome::Cancelled => "Stopped by the user",
        Outcome::Limited => "Stopped by a limit",
        _ => "The turn failed",
    };
    Some(with(what, ended.error.as_deref()))
}

fn with(what: &str, why: Option<&str>) -> String {
    match why.filter(|why| !why.trim().is_empty()) {
        Some(why) => format!("{what}: {why}"),
        None => what.to_owned(),
    }
}

fn gain(before: Option<u64>, after: Option<u64>) -> String {
    match (before, after) {
        (Some(before), Some(after)) => format!(" ({before} tokens became {after})"),
        _ => String::new(),
    }
}
