//! Signatures: which blocks of a log may hold a needle, told without reading them.
//!
//! A block is a run of whole log lines (32 KiB or so). Every stretch of four bytes (*gram*) in its lines' data, with ASCII
//! folded to lower case, is hashed to one of 2^15 rows and sets one bit. A line that holds a needle holds all the needle's
//! grams, so a block in which one of their rows is not set can't hold it. What a line holds besides its data (position,
//! time, checksums) is not searchable and left out.
//!
//! INVARIANT: no false negatives. The rows are stored; what a gram hashes to may not change without a new format.

use annals_model::line::LINE_START;
use memchr::memmem;

use crate::fold::{fold_char, variants};

/// How many rows there are.
pub const ROWS: usize = 1 << ROW_BITS;

/// How many bytes a signature has: one bit for every row.
pub const SIGNATURE_BYTES: usize = ROWS / 8;

/// How many bytes of a needle make a row; a shorter needle has none.
pub const GRAM_BYTES: usize = 4;

const ROW_BITS: u32 = 15;

/// How much text is folded at a time: it stays in the fastest cache, and the compiler folds it many bytes at once.
const CHUNK_BYTES: usize = 2048;

/// Within this many bytes a line's data begins, unless its kind has an absurd name: then all of the line is taken.
const HEAD_BYTES: usize = 320;

/// The signature of one block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature(Box<[u8; SIGNATURE_BYTES]>);

impl Default for Signature {
    fn default() -> Self {
        Self::new()
    }
}

impl Signature {
    /// The signature of an empty block.
    #[must_use]
    pub fn new() -> Self {
        Self(Box::new([0; SIGNATURE_BYTES]))
    }

    /// The signature that [`Self::as_bytes`] gave; `None` if there are not [`SIGNATURE_BYTES`] bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(Box::new(*bytes.first_chunk().filter(|_| bytes.len() == SIGNATURE_BYTES)?)))
    }

    /// Its bytes: bit `n % 8` of byte `n / 8` is row `n`.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_slice()
    }

    /// Takes in whole lines of a log, with or without the last newline. How lines are dealt out to calls makes no difference.
    pub fn add(&mut self, lines: &[u8]) {
        let mut chunk = [0; CHUNK_BYTES];
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', lines).chain([lines.len()]) {
            self.add_data(data(lines.get(start..end).unwrap_or_default()), &mut chunk);
            start = end + 1;
        }
    }

    fn add_data(&mut self, mut data: &[u8], chunk: &mut [u8; CHUNK_BYTES]) {
        while data.len() >= GRAM_BYTES {
            let taken = data.len().min(CHUNK_BYTES);
            let (Some(folded), Some(text)) = (chunk.get_mut(..taken), data.get(..taken)) else { return };
            folded.copy_from_slice(text);
            folded.make_ascii_lowercase();
            for gram in folded.windows(GRAM_BYTES) {
                self.set(row_of(gram));
            }
            // The last grams of a chunk reach into the next.
            data = data.get(taken - (GRAM_BYTES - 1)..).unwrap_or_default();
        }
    }

    fn set(&mut self, row: u16) {
        if let Some(byte) = self.0.get_mut(usize::from(row / 8)) {
            *byte |= 1 << (row % 8);
        }
    }

    /// Takes in what another block has.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0.iter()) {
            *mine |= theirs;
        }
    }

    /// Whether the row's bit is set.
    #[must_use]
    pub fn has(&self, row: u16) -> bool {
        self.0.get(usize::from(row / 8)).is_some_and(|byte| byte & (1 << (row % 8)) != 0)
    }
}

/// The signatures of many blocks, a row after a row.
#[derive(Debug, Clone)]
pub struct Transposed {
    bits: Vec<u8>,
    row_bytes: usize,
}

impl Transposed {
    /// One row: bit `n % 8` of byte `n / 8` is block `n`.
    #[must_use]
    pub fn row(&self, row: u16) -> &[u8] {
        let start = usize::from(row) * self.row_bytes;
        self.bits.get(start..start + self.row_bytes).unwrap_or_default()
    }
}

/// Turns signatures, one after the other, into rows: a query reads a short row a gram instead of every signature.
#[must_use]
pub fn transpose(signatures: &[&Signature]) -> Transposed {
    let row_bytes = signatures.len().div_ceil(8);
    let mut bits = vec![0; row_bytes * ROWS];
    // Eight blocks at a time: eight bytes, one of each, are an 8 x 8 square of bits.
    for (column, eight) in signatures.chunks(8).enumerate() {
        for byte in 0..SIGNATURE_BYTES {
            let mut square = [0; 8];
            for (to, signature) in square.iter_mut().zip(eight) {
                *to = signature.0.get(byte).copied().unwrap_or(0);
            }
            let square = u64::from_le_bytes(square);
            if square == 0 {
                continue;
            }
            for (row, turned) in turned(square).to_le_bytes().into_iter().enumerate() {
                if let Some(to) = bits.get_mut((byte * 8 + row) * row_bytes + column) {
                    *to = turned;
                }
            }
        }
    }
    Transposed { bits, row_bytes }
}

/// An 8 x 8 square of bits, turned on its diagonal (Hacker's Delight, 7-3).
fn turned(mut x: u64) -> u64 {
    for (distance, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0_u64)]
    {
        let swapped = (x ^ (x >> distance)) & mask;
        x ^= swapped ^ (swapped << distance);
    }
    x
}

/// The positions that are set in all the rows, in order; none if there is no row.
#[must_use]
pub fn and<'a>(rows: impl IntoIterator<Item = &'a [u8]>) -> Vec<u32> {
    let mut rows = rows.into_iter();
    let Some(first) = rows.next() else { return Vec::new() };
    let mut all = first.to_vec();
    for row in rows {
        all.truncate(row.len());
        all.iter_mut().zip(row).for_each(|(mine, theirs)| *mine &= theirs);
    }
    let mut found = Vec::new();
    for (byte, mut bits) in (0_u32..).zip(all) {
        while bits != 0 {
            found.push(byte * 8 + bits.trailing_zeros());
            bits &= bits - 1;
        }
    }
    found
}

/// The row of a gram that is folded already.
fn row_of(gram: &[u8]) -> u16 {
    let gram = gram.first_chunk().map_or(0, |gram| u32::from_le_bytes(*gram));
    u16::try_from(gram.wrapping_mul(0x9e37_79b1) >> (u32::BITS - ROW_BITS)).unwrap_or(0)
}

/// The data of a line; all of it if it does not look like one.
fn data(line: &[u8]) -> &[u8] {
    const START: &[u8] = b"\",\"data\":";
    const END: &[u8] = b",\"crc\":\"00000000\"}";
    let head = line.get(..HEAD_BYTES.min(line.len())).unwrap_or_default();
    let start = head.starts_with(LINE_START).then(|| memmem::find(head, START)).flatten();
    let Some(data) = start.and_then(|at| line.get(at + START.len()..)) else { return line };
    match data.split_at_checked(data.len().saturating_sub(END.len())) {
        Some((data, end)) if end.starts_with(b",\"crc\":\"") => data,
        _ => data,
    }
}

/// The rows that a block must have in which the bytes `exact` stand, up to ASCII case. In order, none twice; empty if
/// `exact` is too short to tell.
#[must_use]
pub fn rows_of_exact(exact: &[u8]) -> Vec<u16> {
    let folded = exact.to_ascii_lowercase();
    let mut rows: Vec<_> = folded.windows(GRAM_BYTES).map(row_of).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// The rows that a block must have in which `needle` stands under the case rule; `needle` is spelled as in the log (escaped).
/// Grams that touch a character which has another case outside ASCII are left out, for its bytes are not certain.
#[must_use]
pub fn rows_of(needle: &[u8]) -> Vec<u16> {
    let mut rows = Vec::new();
    for chunk in needle.utf8_chunks() {
        let text = chunk.valid();
        let is_uncertain = |c: char| !c.is_ascii() && (fold_char(c) != c || variants(c).len() > 1);
        text.split(is_uncertain).for_each(|run| rows.extend(rows_of_exact(run.as_bytes())));
    }
    rows.sort_unstable();
    rows.dedup();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_model::Timestamp;
    use annals_model::line::{Draft, Place, encode};
    use proptest::prelude::*;

    fn line(data: &str) -> Vec<u8> {
        let mut out = Vec::new();
        let draft = Draft { ts: Timestamp::default(), turn: Some(7), kind: "tool_result", data };
        encode(&mut out, Place { seq: 12, durable: Some(3), prev: 0xdead_beef }, &draft);
        out
    }

    fn has_all(signature: &Signature, needle: &str) -> bool {
        let rows = rows_of(needle.as_bytes());
        assert!(!rows.is_empty());
        rows.iter().all(|row| signature.has(*row))
    }

    #[test]
    fn the_data_is_in_it_and_the_frame_is_not() {
        let mut signature = Signature::new();
        signature.add(&line(r#"{"id":"c1","output":"Raise NotImplementedError","is_error":false}"#));
        assert!(has_all(&signature, "raise notIMPLEMENTEDerror"));
        for frame in ["deadbeef", "tool_result", "1970-01-01"] {
            assert!(!has_all(&signature, frame), "{frame}");
        }
        assert!(!has_all(&signature, "absentee"));
    }

    #[test]
    fn what_is_no_line_is_taken_whole() {
        for odd in ["\"x\",\"data\":1", "{\"seq\":1,\"d\":2", "some,\"crc\":\"00000000\"}"] {
            let mut signature = Signature::new();
            signature.add(odd.as_bytes());
            assert!(has_all(&signature, odd), "{odd}");
        }
    }

    #[test]
    fn a_stored_row_never_changes() {
        assert_eq!(rows_of_exact(b"Tool"), [rows_of(b"tOOL")[0]]);
        assert_eq!(rows_of_exact(b"return"), [9545, 12405, 32630]);
    }

    #[test]
    fn uncertain_characters_are_left_out() {
        assert!(rows_of("grün".as_bytes()).is_empty());
        assert_eq!(rows_of("grüne wiese".as_bytes()), rows_of(b"ne wiese"));
        assert_eq!(rows_of("漢字".as_bytes()).len(), 3);
        assert!(rows_of(b"abc").is_empty());
    }

    proptest! {
        #[test]
        fn rows_say_what_signatures_say(blocks in prop::collection::vec("[a-e]{4,40}", 0..40), asked in "[a-e]{4,6}") {
            let signatures: Vec<_> = blocks.iter().map(|text| {
                let mut signature = Signature::new();
                signature.add(text.as_bytes());
                signature
            }).collect();
            let transposed = transpose(&signatures.iter().collect::<Vec<_>>());
            let rows = rows_of(asked.as_bytes());
            let found = and(rows.iter().map(|row| transposed.row(*row)));
            let expected: Vec<_> = (0..).zip(&signatures)
                .filter(|(_, s)| rows.iter().all(|row| s.has(*row))).map(|(at, _)| at).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn merged_is_both(one in "[a-z]{0,30}", two in "[a-z]{0,30}") {
            let of = |texts: &[&str]| {
                let mut signature = Signature::new();
                texts.iter().for_each(|text| signature.add(text.as_bytes()));
                signature
            };
            let mut merged = of(&[&one]);
            merged.merge(&of(&[&two]));
            prop_assert_eq!(merged, of(&[&one, &two]));
        }

        #[test]
        fn how_lines_are_dealt_out_makes_no_difference(lines in prop::collection::vec("[a-f\"]{0,9}", 0..9), long in 0_usize..9000) {
            let mut lines: Vec<_> = lines.iter().map(|l| line(l)).collect();
            lines.push(line(&(0..long).map(|i| char::from(b'a' + (i * i % 26) as u8)).collect::<String>()));
            let (mut whole, mut single) = (Signature::new(), Signature::new());
            whole.add(&lines.concat());
            lines.iter().for_each(|l| single.add(l.trim_ascii_end()));
            prop_assert_eq!(Signature::from_bytes(whole.as_bytes()), Some(single));
        }
    }
}
