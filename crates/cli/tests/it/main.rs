//! The program as people and scripts meet it: the real binary, homes of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![cfg(unix)]

mod bad_input;
mod contracts;
mod damage;
mod demo;
mod follow;
mod home;
mod import;
mod life;
mod list;
mod live;
mod record;
mod refusals;
mod show;
mod stopping;
mod support;
mod usage;
