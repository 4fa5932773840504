//! Bytes of a pipe, cut into lines in bounded memory.

use annals::model::line::MAX_LINE_BYTES;
use memchr::memchr;

/// Lines in the order that they came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Lines that stand together.
    Whole(Vec<Vec<u8>>),
    /// A line over the limit, and its length in bytes.
    TooLong(u64),
}

/// What a line costs besides its bytes: its place here, and its answer.
const OVERHEAD_BYTES: usize = 128;

/// Cuts what comes into lines, in bounded memory.
#[derive(Default)]
pub(super) struct Lines {
    ready: Vec<Line>,
    ready_bytes: usize,
    partial: Vec<u8>,
    /// Length so far of a line that is too long to keep.
    overlong: Option<u64>,
}

impl Lines {
    /// What the lines at hand weigh, in bytes.
    pub(super) fn weight_bytes(&self) -> usize {
        self.ready_bytes
    }

    /// Takes the next bytes.
    pub(super) fn add(&mut self, mut bytes: &[u8]) {
        while let Some(at) = memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(at);
            self.extend(line);
            self.end_line();
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.extend(bytes);
    }

    fn extend(&mut self, bytes: &[u8]) {
        if let Some(len) = &mut self.overlong {
            *len += bytes.len() as u64;
        } else if self.partial.len() + bytes.len() > MAX_LINE_BYTES {
            self.overlong = Some((self.partial.len() + bytes.len()) as u64);
            self.partial = Vec::new();
        } else {
            self.partial.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self) {
        if let Some(len) = self.overlong.take() {
            self.ready.push(Line::TooLong(len));
            return;
        }
        let line = std::mem::take(&mut self.partial);
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        // Short lines weigh more than their bytes.
        self.ready_bytes += line.len() + OVERHEAD_BYTES;
        match self.ready.last_mut() {
            Some(Line::Whole(batch)) => batch.push(line),
            _ => self.ready.push(Line::Whole(vec![line])),
        }
    }

    /// The end of the input: a last line without its newline counts.
    pub(super) fn finish(&mut self) {
        if !self.partial.is_empty() || self.overlong.is_some() {
            self.end_line();
        }
    }

    /// The lines at hand.
    pub(super) fn take(&mut self) -> Vec<Line> {
        self.ready_bytes = 0;
        std::mem::take(&mut self.ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pieces: &[&[u8]]) -> Vec<Line> {
        let mut lines = Lines::default();
        pieces.iter().for_each(|piece| lines.add(piece));
        lines.finish();
        lines.take()
    }

    #[test]
    fn lines_are_the_same_wherever_the_pipe_cuts_them() {
        let text = b"one\n\n two \r\n\t\nlast";
        let whole = all(&[text]);
        assert_eq!(whole, [Line::Whole(vec![b"one".to_vec(), b" two \r".to_vec(), b"last".to_vec()])]);
        for at in 0..text.len() {
            assert_eq!(all(&[&text[..at], &text[at..]]), whole, "cut at {at}");
        }
    }

    /// A line of any length costs no more memory than the longest that is taken.
    #[test]
    fn a_line_that_is_too_long_is_counted_and_not_kept() {
        let piece = vec![b'x'; 1 << 20];
        let mut lines = Lines::default();
        lines.add(b"a\n");
        for _ in 0..=MAX_LINE_BYTES >> 20 {
            lines.add(&piece);
        }
        assert_eq!(lines.partial.capacity(), 0);
        lines.add(b"\nb\n");
        let len_bytes = (MAX_LINE_BYTES + (1 << 20)) as u64;
        assert_eq!(
            lines.take(),
            [Line::Whole(vec![b"a".to_vec()]), Line::TooLong(len_bytes), Line::Whole(vec![b"b".to_vec()])]
        );
    }
}
