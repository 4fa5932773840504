//! The store through its public door.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod blobs;
mod crash;
mod crash_operations;
mod export;
mod home;
mod import;
mod index;
mod list;
mod operations;
mod resolve;
mod search;
mod session;
mod support;
mod verify;
