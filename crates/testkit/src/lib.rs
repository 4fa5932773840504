//! Helpers for the tests of Annals.
//!
//! - [`sim`]: a disk in memory that loses, tears and reorders what was not synced, fills up, and fails at any call.
//! - [`rng`], [`clock`]: numbers and times that are the same in every run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod clock;
pub mod rng;
pub mod sim;
