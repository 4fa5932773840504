//! The importers against files written for them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod branches;
mod bytes;
mod corpus;
mod finding;
mod fixture;
mod mapping;
mod mutation;
mod resume;
mod usage;
