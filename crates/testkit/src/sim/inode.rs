//! One file of a simulated disk: what programs see, what is durable, and what lies between.
//!
//! Three parts lead from old to new: `durable`, then `clean` (changes that a failed sync dropped: on the disk or not, and no later
//! sync will say), then `dirty` (changes since the last sync, which the next one makes durable).

/// The unit that reaches the disk whole or not at all.
pub const SECTOR_BYTES: usize = 512;

/// Behind this many sectors of one write, blank lines land together or not at all: a runway is one choice, not hundreds.
const RUNWAY_SECTORS: usize = 8;

/// Something done to a file since its last sync.
#[derive(Debug, Clone)]
enum Change {
    Write(usize, Vec<u8>),
    SetLen(usize),
}

#[derive(Debug, Clone, Default)]
pub(super) struct Inode {
    durable: Vec<u8>,
    volatile: Vec<u8>,
    /// When the bytes last changed, as programs see it and as a power cut leaves it.
    mtime: i64,
    durable_mtime: i64,
    clean: Vec<Change>,
    dirty: Vec<Change>,
}

impl Inode {
    /// A file whose bytes are all durable.
    pub(super) fn settled(bytes: Vec<u8>, mtime: i64) -> Self {
        Self { durable: bytes.clone(), volatile: bytes, mtime, durable_mtime: mtime, ..Self::default() }
    }

    /// When the bytes last changed.
    pub(super) fn mtime(&self) -> i64 {
        self.mtime
    }

    /// The bytes as programs see them.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.volatile
    }

    pub(super) fn write(&mut self, at: usize, bytes: &[u8], now: i64) {
        self.mtime = now;
        put(&mut self.volatile, at, bytes);
        self.dirty.push(Change::Write(at, bytes.to_vec()));
    }

    pub(super) fn set_len(&mut self, len: usize, now: i64) {
        self.mtime = now;
        self.volatile.resize(len, 0);
        self.dirty.push(Change::SetLen(len));
    }

    /// Makes durable what is dirty. What an earlier sync dropped counts as lost from here on.
    pub(super) fn sync(&mut self) {
        self.clean.clear();
        let len_before = self.durable.len();
        for change in self.dirty.drain(..) {
            match change {
                Change::SetLen(len) => self.durable.resize(len, 0),
                Change::Write(at, bytes) => put(&mut self.durable, at, &bytes),
            }
        }
        // As `fdatasync`: the time goes along with a new length, not by itself.
        if self.durable.len() != len_before {
            self.durable_mtime = self.mtime;
        }
    }

    /// A sync that failed: the pages count as clean. A crash may still find them on the disk.
    pub(super) fn drop_dirty(&mut self) {
        self.clean.append(&mut self.dirty);
    }

    /// The bytes that a power cut may leave; `keep` decides each open choice.
    pub(super) fn crash(&self, keep: &mut dyn FnMut() -> bool) -> Self {
        let mut image = self.durable.clone();
        for change in self.clean.iter().chain(&self.dirty) {
            match change {
                Change::SetLen(len) => {
                    if *len != image.len() && keep() {
                        image.resize(*len, 0);
                    }
                }
                Change::Write(at, bytes) => land(&mut image, *at, bytes, keep),
            }
        }
        Self::settled(image, self.durable_mtime)
    }
}

fn put(image: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if image.len() < end && !bytes.is_empty() {
        image.resize(end, 0);
    }
    if !bytes.is_empty() {
        image[at..end].copy_from_slice(bytes);
    }
}

/// Lets any of a write's sectors reach the image. The length and the data get there apart.
fn land(image: &mut Vec<u8>, at: usize, bytes: &[u8], keep: &mut dyn FnMut() -> bool) {
    let end = at + bytes.len();
    if end > image.len() && keep() {
        image.resize(end, 0);
    }
    let mut runway = None;
    let mut from = at;
    while from < end {
        let to = ((from / SECTOR_BYTES + 1) * SECTOR_BYTES).min(end);
        let piece = &bytes[from - at..to - at];
        // What is there already is no choice.
        if image.get(from..to) != Some(piece) {
            let far = from > at + SECTOR_BYTES * RUNWAY_SECTORS && piece.iter().all(|b| *b == b'\n');
            if if far { *runway.get_or_insert_with(&mut *keep) } else { keep() } {
                put(image, from, piece);
            }
        }
        from = to;
    }
}
