//! Events that are too long for a line of the log: a tool's output goes into a blob, with its beginning in the event; of anything else only the
//! record's bytes are kept, under a `foreign` event that says so. One record never costs its file.

use annals_interop::Blob;
use annals_interop::claude_code::FORMAT;
use annals_model::line::MAX_LINE_BYTES;
use annals_model::payload::{Foreign, Source, ToolResult};
use annals_model::{Json, Payload};

/// Records up to this length can't give an event that is too long, however their text is escaped.
const SHORT_RECORD_BYTES: u64 = 8 * 1024 * 1024;

/// How much of a long output stays in its event.
const KEPT_BYTES: usize = 1024 * 1024;

/// Room for what stands around an event's data.
const FRAME_BYTES: usize = 1024;

/// Makes an event fit. Also gives the bytes that it then refers to.
pub(super) fn fit(payload: Payload, record: &Source) -> (Payload, Option<Blob>) {
    if record.len <= SHORT_RECORD_BYTES {
        return (payload, None);
    }
    let len = payload.to_data().map_or(usize::MAX, |data| data.len());
    if len <= MAX_LINE_BYTES - FRAME_BYTES {
        return (payload, None);
    }
    match payload {
        Payload::ToolResult(result) if result.attachments.len() < 1000 => shorten(result),
        other => {
            let problem = Some(format!("an event of {len} bytes is too long for the log"));
            let kind = other.kind().to_owned();
            (Foreign { format: FORMAT.to_owned(), kind, problem, src: record.clone() }.into(), None)
        }
    }
}

fn shorten(result: ToolResult) -> (Payload, Option<Blob>) {
    let whole = result.output.as_string().unwrap_or_else(|| result.output.as_str().to_owned());
    let mut cut = KEPT_BYTES.min(whole.len());
    while !whole.is_char_boundary(cut) {
        cut -= 1;
    }
    let kept = whole.get(..cut).unwrap_or_default();
    let blob = Blob::of(whole.as_bytes().to_vec());
    let result = ToolResult { output: Json::string(kept), blob: Some(blob.name.clone()), ..result };
    (result.into(), Some(blob))
}
