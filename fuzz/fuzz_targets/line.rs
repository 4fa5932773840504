//! The line codec and canonical JSON: a line that checks is written again as it was; canonical text is its own canonical form.
#![no_main]

use annals_model::canon::canonical;
use annals_model::line::{Draft, Place, check, encode};
use annals_model::{Event, Timestamp};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(line) = check(bytes) {
        let _ = Event::from_line(&line);
        if let (Ok(ts), Ok(data)) = (Timestamp::parse(line.ts), std::str::from_utf8(line.data)) {
            let mut out = Vec::new();
            let place = Place { seq: line.seq, durable: line.durable, prev: line.prev };
            encode(&mut out, place, &Draft { ts, turn: line.turn, kind: line.kind, data });
            if ts.to_string() == line.ts {
                assert_eq!(out.strip_suffix(b"\n"), Some(bytes));
            }
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(once) = canonical(text)
    {
        assert_eq!(canonical(&once).as_ref(), Ok(&once));
    }
});
