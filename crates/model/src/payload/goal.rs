//! Goals: a condition that a judge looks at after each turn.

use serde::{Deserialize, Serialize};

use crate::usage::Usage;

/// A goal was set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GoalSet {
    /// The condition in the user's words.
    pub condition: String,
}

/// What the judge said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// The condition holds.
    Met,
    /// Not yet.
    Unmet,
    /// It can't be reached.
    Impossible,
}

/// A judge looked at the goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoalJudged {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, or the next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the judge cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// The goal is gone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GoalCleared {
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
