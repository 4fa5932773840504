//! What leaves a session: nothing secret, nothing broken.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod masking;
mod samples;
mod untouched;
