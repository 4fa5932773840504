//! The reader of lines: a window over a file that grows to the line at hand, up to a limit, and never further.
//!
//! INVARIANT: the offsets of lines and what separates them cover the file without gap or overlap.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use memchr::memchr;

/// The window's size at the start, in bytes.
const WINDOW: usize = 1 << 20;

/// The longest line that is read, in bytes; longer ones are stepped over.
pub const MAX_LINE_BYTES: usize = 256 << 20;

/// A line's place and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawLine {
    /// Offset of its first byte, in bytes.
    pub at: u64,
    /// Its length without its newline, in bytes.
    pub len: u64,
    /// Whether a newline ends it.
    pub terminated: bool,
    /// Whether it was longer than the limit, so that its bytes were stepped over.
    pub too_long: bool,
    within: Range<usize>,
}

/// Reads a file line by line.
#[derive(Debug)]
pub struct LineReader<R = File> {
    source: R,
    window: Vec<u8>,
    /// What of the window is filled, and from where on it is unread.
    filled: usize,
    unread: usize,
    /// Offset in the file of `window[unread]`.
    position: u64,
    max_line: usize,
}

impl<R: Read + Seek> LineReader<R> {
    /// Starts at an offset, which must be the start of a line.
    ///
    /// # Errors
    /// What the source says when it can't go there.
    pub fn start(mut source: R, at: u64, max_line: usize) -> io::Result<Self> {
        source.seek(SeekFrom::Start(at))?;
        Ok(Self { source, window: Vec::new(), filled: 0, unread: 0, position: at, max_line })
    }

    /// Offset of the first byte that was not yet given out.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The bytes of the line last given out, until the next one is read; none when it was too long.
    #[must_use]
    pub fn bytes(&self, line: &RawLine) -> &[u8] {
        self.window.get(line.within.clone()).unwrap_or_default()
    }

    /// The next line, or none at the end of the file.
    ///
    /// # Errors
    /// What the source says when it can't be read.
    pub fn next_line(&mut self) -> io::Result<Option<RawLine>> {
        let mut searched = 0;
        loop {
            let unread = self.window.get(self.unread + searched..self.filled).unwrap_or_default();
            if let Some(end) = memchr(b'\n', unread) {
                return Ok(Some(self.give(searched + end, true)));
            }
            searched = self.filled - self.unread;
            if searched > self.max_line {
                return self.step_over().map(Some);
            }
            if self.fill()? == 0 {
                return Ok((searched > 0).then(|| self.give(searched, false)));
            }
        }
    }

    fn give(&mut self, len: usize, terminated: bool) -> RawLine {
        let within = self.unread..self.unread + len;
        let at = self.position;
        let taken = len + usize::from(terminated);
        self.unread += taken;
        self.position += taken as u64;
        let too_long = len > self.max_line;
        RawLine { at, len: len as u64, terminated, too_long, within: if too_long { 0..0 } else { within } }
    }

    /// Steps over a line that is longer than the limit, keeping none of it.
    fn step_over(&mut self) -> io::Result<RawLine> {
        let (at, mut len) = (self.position, 0_u64);
        let line = |len, terminated| RawLine { at, len, terminated, too_long: true, within: 0..0 };
        loop {
            let unread = self.window.get(self.unread..self.filled).unwrap_or_default();
            if let Some(end) = memchr(b'\n', unread) {
                len += end as u64;
                self.unread += end + 1;
                self.position = at + len + 1;
                return Ok(line(len, true));
            }
            len += unread.len() as u64;
            (self.unread, self.filled) = (0, 0);
            self.position = at + len;
            if self.fill()? == 0 {
                return Ok(line(len, false));
            }
        }
    }

    /// Reads more behind what is unread, making room first.
    fn fill(&mut self) -> io::Result<usize> {
        if self.unread > 0 {
            self.window.copy_within(self.unread..self.filled, 0);
            self.filled -= self.unread;
            self.unread = 0;
        }
        // A window that grew to one long line is given back, not kept for the rest of the file.
        if self.window.len() > 4 * WINDOW && self.filled < WINDOW {
            self.window.truncate(WINDOW);
            self.window.shrink_to_fit();
        }
        if self.filled == self.window.len() {
            let len = (self.window.len() * 2).clamp(WINDOW, self.max_line.saturating_add(WINDOW));
            self.window.resize(len.max(self.filled + 1), 0);
        }
        loop {
            match self.source.read(self.window.get_mut(self.filled..).unwrap_or_default()) {
                Ok(n) => {
                    self.filled += n;
                    return Ok(n);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn lines(bytes: &[u8], max: usize) -> Vec<(u64, u64, bool, bool, Vec<u8>)> {
        let mut reader = LineReader::start(Cursor::new(bytes), 0, max).unwrap();
        let mut out = Vec::new();
        while let Some(line) = reader.next_line().unwrap() {
            let text = reader.bytes(&line).to_vec();
            out.push((line.at, line.len, line.terminated, line.too_long, text));
        }
        assert_eq!(reader.position(), bytes.len() as u64);
        out
    }

    #[test]
    fn lines_and_their_ends() {
        assert!(lines(b"", 9).is_empty());
        assert_eq!(
            lines(b"ab\n\nc", 9),
            [
                (0, 2, true, false, b"ab".to_vec()),
                (3, 0, true, false, vec![]),
                (4, 1, false, false, b"c".to_vec())
            ]
        );
    }

    #[test]
    fn a_line_over_the_limit_is_stepped_over() {
        let mut bytes = vec![b'x'; 3 * WINDOW];
        bytes.extend_from_slice(b"\nshort\n");
        bytes.extend(vec![b'y'; WINDOW + 5]);
        let read = lines(&bytes, WINDOW);
        assert_eq!(read.len(), 3);
        assert_eq!((read[0].1, read[0].2, read[0].3), (3 << 20, true, true));
        assert_eq!(read[1].4, b"short");
        assert_eq!((read[2].1, read[2].2, read[2].3), ((1 << 20) + 5, false, true));
    }
}
