//! Writing: stdout is data, stderr is talk, and nothing of a session's content can command the terminal.

mod json;
mod pager;
mod progress;
mod table;
mod text;
mod time;

pub(crate) use json::{json_line, json_pretty};
pub(crate) use pager::{is_closed, page, width};
pub(crate) use progress::{bytes_bar, count_bar};
pub(crate) use table::Table;
pub(crate) use text::{count, cut, ids, plain, size};
pub(crate) use time::{ago, local};
