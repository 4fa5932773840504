//! The commands, one room each.

pub(crate) mod change;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod du;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod operations;
pub(crate) mod record;
pub(crate) mod repair;
pub(crate) mod resume;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod status;
pub(crate) mod trash;
pub(crate) mod verify;
pub(crate) mod why;
