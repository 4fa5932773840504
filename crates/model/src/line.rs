//! The canonical line: how one event is written, and how a line is checked without a JSON parser.
//!
//! ```text
//! {"seq":12,"d":11,"prev":"9f3c01aa","ts":"2026-11-30T21:00:00.123Z","turn":3,"kind":"tool_call","data":{…},"crc":"51d0c7e2"}\n
//! └─────────────────────────── covered by crc (CRC-32C) ──────────────────────────────────────────┘
//! ```
//!
//! The keys always stand in this order and nothing is padded, so that a prefix can be compared byte for byte and the raw
//! bytes of a log can be searched. `turn` is left out outside a turn; `d` is `-1` while nothing is known durable.
//!
//! INVARIANT(I8): a line that was written is never changed in place; `prev` makes a missing, doubled or moved line visible.

use crate::event::Seq;
use crate::time::{TIMESTAMP_BYTES, Timestamp};

/// What every line begins with. It cannot occur inside a JSON string, where quotes are escaped, so finding it inside a
/// broken line means that another line starts there.
pub const LINE_START: &[u8] = b"{\"seq\":";

/// The longest line that is written, in bytes, newline included. Larger payloads belong in a blob.
pub const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

const CRC_TAIL_BYTES: usize = br#","crc":"00000000"}"#.len();

/// What a writer knows of an event before it has a place in the log.
#[derive(Debug, Clone, Copy)]
pub struct Draft<'a> {
    /// When it happened.
    pub ts: Timestamp,
    /// The turn it belongs to, if any.
    pub turn: Option<u64>,
    /// Its kind, `[a-z][a-z0-9_]*`.
    pub kind: &'a str,
    /// Its payload: one JSON value in canonical form (see [`crate::canon`]), without newlines.
    pub data: &'a str,
}

/// Where a line stands in its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its position, from 0.
    pub seq: Seq,
    /// The highest position known durable when the line is written.
    pub durable: Option<Seq>,
    /// The checksum of the line before it (see [`Line::anchor`] for the first two lines).
    pub prev: u32,
}

/// A line whose form and checksum hold, borrowed from the bytes it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Position in the log.
    pub seq: Seq,
    /// The durable watermark: the highest position known durable when the line was written.
    pub durable: Option<Seq>,
    /// The previous line's checksum.
    pub prev: u32,
    /// When it happened, canonical text.
    pub ts: &'a str,
    /// The turn it belongs to.
    pub turn: Option<u64>,
    /// Its kind.
    pub kind: &'a str,
    /// Its payload, unparsed.
    pub data: &'a [u8],
    /// Its own checksum.
    pub crc: u32,
}

impl Line<'_> {
    /// The value that the *next* line's `prev` must name: this line's checksum, except after line 0 of a fork.
    ///
    /// Line 0 has no line before it, so its `prev` is free: zero in an original, and in a fork the checksum that the
    /// parent's line 0 was followed by. The copied lines thus keep their bytes and their chain.
    #[must_use]
    pub fn anchor(&self) -> u32 {
        if self.seq == 0 && self.prev != 0 { self.prev } else { self.crc }
    }
}

/// Why bytes are no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    /// The bytes don't have the canonical form.
    #[error("not a line of a log")]
    Form,
    /// The form holds, the checksum does not.
    #[error("checksum is {found:08x}, expected {expected:08x}")]
    Checksum {
        /// What the line says.
        expected: u32,
        /// What its bytes yield.
        found: u32,
    },
}

/// Appends the line with its newline to `out` and returns its checksum.
///
/// The caller vouches for `draft.kind` and `draft.data` (canonical JSON without newlines); nothing is checked here.
pub fn encode(out: &mut Vec<u8>, place: Place, draft: &Draft<'_>) -> u32 {
    let start = out.len();
    out.extend_from_slice(LINE_START);
    push_decimal(out, place.seq);
    out.extend_from_slice(b",\"d\":");
    match place.durable {
        Some(seq) => push_decimal(out, seq),
        None => out.extend_from_slice(b"-1"),
    }
    out.extend_from_slice(b",\"prev\":\"");
    push_hex(out, place.prev);
    out.extend_from_slice(b"\",\"ts\":\"");
    out.extend_from_slice(&draft.ts.to_bytes());
    out.push(b'"');
    if let Some(turn) = draft.turn {
        out.extend_from_slice(b",\"turn\":");
        push_decimal(out, turn);
    }
    out.extend_from_slice(b",\"kind\":\"");
    out.extend_from_slice(draft.kind.as_bytes());
    out.extend_from_slice(b"\",\"data\":");
    out.extend_from_slice(draft.data.as_bytes());
    let crc = crc32c::crc32c(out.get(start..).unwrap_or_default());
    out.extend_from_slice(b",\"crc\":\"");
    push_hex(out, crc);
    out.extend_from_slice(b"\"}\n");
    crc
}

/// Checks the form and the checksum of one line, given without its newline.
///
/// # Errors
/// [`LineError`] says which of the two does not hold.
pub fn check(bytes: &[u8]) -> Result<Line<'_>, LineError> {
    let covered_len = bytes.len().checked_sub(CRC_TAIL_BYTES).ok_or(LineError::Form)?;
    let (covered, tail) = bytes.split_at(covered_len);
    let expected = tail
        .strip_prefix(b",\"crc\":\"")
        .and_then(|t| t.strip_suffix(b"\"}"))
        .and_then(hex)
        .ok_or(LineError::Form)?;
    let line = head(covered, expected).ok_or(LineError::Form)?;
    let found = crc32c::crc32c(covered);
    if found == expected { Ok(line) } else { Err(LineError::Checksum { expected, found }) }
}

/// Reads the fields of a line without its checksum tail.
fn head(covered: &[u8], crc: u32) -> Option<Line<'_>> {
    let mut rest = Cursor(covered);
    rest.literal(LINE_START)?;
    let seq = rest.decimal()?;
    rest.literal(b",\"d\":")?;
    let durable = if rest.literal(b"-1").is_some() { None } else { Some(rest.decimal()?) };
    rest.literal(b",\"prev\":\"")?;
    let prev = hex(rest.take(8)?)?;
    rest.literal(b"\",\"ts\":\"")?;
    let ts = std::str::from_utf8(rest.take(TIMESTAMP_BYTES)?).ok()?;
    rest.literal(b"\"")?;
    let turn = match rest.literal(b",\"turn\":") {
        Some(()) => Some(rest.decimal()?),
        None => None,
    };
    rest.literal(b",\"kind\":\"")?;
    let kind = rest.word()?;
    rest.literal(b"\",\"data\":")?;
    Some(Line { seq, durable, prev, ts, turn, kind, data: rest.0, crc })
}

/// A cursor over the fixed part of a line.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn literal(&mut self, text: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    /// A decimal without leading zeros.
    fn decimal(&mut self) -> Option<u64> {
        let digits = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        let text = self.take(digits)?;
        if digits == 0 || digits > 20 || (digits > 1 && text.first() == Some(&b'0')) {
            return None;
        }
        text.iter().try_fold(0_u64, |n, b| n.checked_mul(10)?.checked_add(u64::from(b - b'0')))
    }

    fn word(&mut self) -> Option<&'a str> {
        let len =
            self.0.iter().take_while(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || **b == b'_').count();
        if len == 0 {
            return None;
        }
        std::str::from_utf8(self.take(len)?).ok()
    }
}

fn push_decimal(out: &mut Vec<u8>, mut n: u64) {
    let mut digits = [0_u8; 20];
    let mut used = 0;
    for slot in digits.iter_mut().rev() {
        *slot = b'0' + u8::try_from(n % 10).unwrap_or(0);
        used += 1;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(digits.len() - used..).unwrap_or_default());
}

fn push_hex(out: &mut Vec<u8>, n: u32) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for shift in (0..8).rev() {
        let nibble = usize::try_from((n >> (shift * 4)) & 0xf).unwrap_or(0);
        out.push(DIGITS.get(nibble).copied().unwrap_or(b'0'));
    }
}

/// Eight lower-case hex digits.
fn hex(text: &[u8]) -> Option<u32> {
    if text.len() != 8 {
        return None;
    }
    text.iter().try_fold(0_u32, |n, b| {
        let digit = match b {
            b'0'..=b'9' => b - b'0',
            b'a'..=b'f' => b - b'a' + 10,
            _ => return None,
        };
        Some(n << 4 | u32::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut out = Vec::new();
        let draft = Draft {
            ts: Timestamp::parse("2026-11-30T21:00:00.123Z").unwrap(),
            turn: Some(3),
            kind: "tool_call",
            data: r#"{"id":"c1","name":"shell","input":{"command":"ls"}}"#,
        };
        encode(&mut out, Place { seq: 12, durable: Some(11), prev: 0x9f3c_01aa }, &draft);
        out
    }

    #[test]
    fn a_line_reads_back_as_written() {
        let bytes = sample();
        let text = std::str::from_utf8(&bytes).unwrap();
        assert!(text.starts_with(
            r#"{"seq":12,"d":11,"prev":"9f3c01aa","ts":"2026-11-30T21:00:00.123Z","turn":3,"kind":"tool_call","data":{"#
        ));
        assert!(serde_json::from_str::<serde_json::Value>(text).is_ok());
        let line = check(&bytes[..bytes.len() - 1]).unwrap();
        assert_eq!((line.seq, line.durable, line.prev, line.turn), (12, Some(11), 0x9f3c_01aa, Some(3)));
        assert_eq!(line.kind, "tool_call");
        assert_eq!(line.data, br#"{"id":"c1","name":"shell","input":{"command":"ls"}}"#);
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let good = sample();
        let good = &good[..good.len() - 1];
        for byte in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.to_vec();
                bad[byte] ^= 1 << bit;
                assert!(check(&bad).is_err(), "byte {byte} bit {bit}");
            }
            assert!(check(&good[..byte]).is_err());
        }
    }

    #[test]
    fn numbers_have_one_spelling() {
        for n in [0, 7, 10, 99, u64::MAX] {
            let mut out = Vec::new();
            push_decimal(&mut out, n);
            assert_eq!(String::from_utf8(out.clone()).unwrap(), n.to_string());
            assert_eq!(Cursor(&out).decimal(), Some(n));
        }
        assert_eq!(Cursor(b"01").decimal(), None);
        assert_eq!(Cursor(b"18446744073709551616").decimal(), None);
    }
}
