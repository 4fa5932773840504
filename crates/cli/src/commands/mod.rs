//! The commands, one room each.

pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod record;
pub(crate) mod repair;
pub(crate) mod resume;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod verify;
