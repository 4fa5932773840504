//! Recording through a pipe: one event a line in, one answer a line out.
//!
//! ```text
//! → {"kind":"user_message","data":{"kind":"prompt","text":"hi"}}
//! ← {"seq":1}
//! ```
//!
//! INVARIANT(I2): an answer is given only once its event is as durable as asked; a rejected line leaves nothing behind.

use annals_model::Seq;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::session::{RawEvent, SessionWriter};

/// The answer to one line.
#[derive(Debug)]
pub enum Answer {
    /// The event is in the log, at this position, as durable as asked.
    Acknowledged(Seq),
    /// Nothing was written for the line.
    Rejected(Error),
}

/// A line of the pipe.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    kind: String,
    #[serde(borrow)]
    data: &'a RawValue,
    #[serde(default)]
    turn: Option<u64>,
}

/// Reads one line of the pipe.
///
/// # Errors
/// [`Error::InvalidEvent`].
pub fn parse(line: &[u8]) -> Result<RawEvent> {
    let invalid = |reason: String| Error::InvalidEvent { reason };
    let text =
        std::str::from_utf8(line).map_err(|e| invalid(format!("not UTF-8 at byte {}", e.valid_up_to())))?;
    let line: Line<'_> = serde_json::from_str(text)
        .map_err(|e| invalid(format!("not an event: {e}; expected {{\"kind\":…,\"data\":…}}")))?;
    RawEvent::parse(&line.kind, line.data.get(), line.turn)
}

/// Records lines that are at hand together: they share one sync. An answer each, in order.
pub fn record(session: &SessionWriter, lines: &[&[u8]]) -> Vec<Answer> {
    let parsed: Vec<Result<RawEvent>> = lines.iter().map(|line| parse(line)).collect();
    let good: Vec<&RawEvent> = parsed.iter().filter_map(|event| event.as_ref().ok()).collect();
    let mut acks = session.append_all(&good).into_iter();
    let answer = |event: Result<RawEvent>| match event {
        Err(error) => Answer::Rejected(error),
        Ok(_) => match acks.next() {
            Some(Ok(ack)) => Answer::Acknowledged(ack.seq),
            Some(Err(error)) => Answer::Rejected(error),
            None => Answer::Rejected(Error::InvalidEvent { reason: "not appended".to_owned() }),
        },
    };
    parsed.into_iter().map(answer).collect()
}
