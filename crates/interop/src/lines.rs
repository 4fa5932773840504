//! Lines of a file that may be damaged, huge or still growing, in bounded memory.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use memchr::memchr;

use crate::error::{Error, Result};

/// The longest line that is read as a record, in bytes. A longer one is reported; its bytes stay reachable like any other's.
pub(crate) const MAX_RECORD_BYTES: usize = 32 * 1024 * 1024;

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) at: u64,
    /// Length without the newline.
    pub(crate) len: u64,
    /// Whether a newline ends it.
    pub(crate) whole: bool,
}

impl Span {
    pub(crate) fn end(&self) -> u64 {
        self.at + self.len + u64::from(self.whole)
    }
}

/// The lines of a file from an offset on.
#[derive(Debug)]
pub(crate) struct Lines {
    reader: BufReader<File>,
    at: u64,
    line: Vec<u8>,
}

impl Lines {
    pub(crate) fn open(path: &Path, from: u64) -> Result<Self> {
        let mut file = File::open(path).map_err(|e| Error::io(path, e))?;
        file.seek(SeekFrom::Start(from)).map_err(|e| Error::io(path, e))?;
        Ok(Self { reader: BufReader::with_capacity(256 * 1024, file), at: from, line: Vec::new() })
    }

    /// The bytes of the line that was just returned; empty when it was too long.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.line
    }

    pub(crate) fn next(&mut self) -> std::io::Result<Option<Span>> {
        self.line.clear();
        let at = self.at;
        let mut len = 0_u64;
        loop {
            let chunk = match self.reader.fill_buf() {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if chunk.is_empty() {
                return Ok((len > 0).then_some(Span { at, len, whole: false }));
            }
            let found = memchr(b'\n', chunk);
            let part = chunk.get(..found.unwrap_or(chunk.len())).unwrap_or_default();
            len += part.len() as u64;
            if len <= MAX_RECORD_BYTES as u64 {
                self.line.extend_from_slice(part);
            } else {
                self.line = Vec::new();
            }
            let used = part.len() + usize::from(found.is_some());
            self.at += used as u64;
            self.reader.consume(used);
            if found.is_some() {
                return Ok(Some(Span { at, len, whole: true }));
            }
        }
    }
}

/// The first bytes of a file.
pub(crate) fn beginning(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).map_err(|e| Error::io(path, e))?;
    Ok(bytes)
}
