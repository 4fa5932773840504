//! The crash suite: the real open and append code on a disk that loses, tears and reorders what was not synced, fills up, and fails.
//!
//! `ANNALS_CRASH_STATES` says how many crash states the random part looks at (default 60,000; CI a million; before a release more).
//! The counts are printed. Every check returns what it found wrong, so that the seeded bugs can be shown to be caught.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr
)]

mod damage;
mod faults;
mod fork;
mod random;
mod salvage;
mod seeded;
mod small;
mod world;

/// How many crash states the random part looks at.
fn states_wanted() -> u64 {
    std::env::var("ANNALS_CRASH_STATES").ok().and_then(|n| n.parse().ok()).unwrap_or(60_000)
}
