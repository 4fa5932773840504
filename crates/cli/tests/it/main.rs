//! The program as people and scripts meet it: the real binary, homes of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![cfg(unix)]

mod bad_input;
mod damage;
mod demo;
mod follow;
mod import;
mod list;
mod record;
mod show;
mod stopping;
mod support;
mod usage;
