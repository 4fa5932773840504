//! What finds text in sessions. Pure: no file system, no SQL, no clock.
//!
//! - [`text`]: what of an event is searchable. [`query`]: words and phrases. [`fold`]: the case rule.
//! - [`needle`], [`signature`]: search in everything that logs hold, and how to read as little of them as can be.
//! - [`literal`], [`excerpt`]: search in a session. [`words`]: the word rule of ranked search across sessions.

// Hits are lists of ranges; a list of one is no mistake.
#![cfg_attr(test, allow(clippy::single_range_in_vec_init))]

pub mod excerpt;
pub mod fold;
mod leaves;
pub mod literal;
pub mod needle;
pub mod query;
mod ranges;
pub mod signature;
pub mod text;
pub mod words;
