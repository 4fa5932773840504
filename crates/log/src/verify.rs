//! Verification: every line, every link, every seal, from the first byte to the last.

use std::path::Path;

use annals_model::Seq;
use annals_model::payload::Sealed;
use blake3::Hasher;

use crate::disk::Disk;
use crate::error::Result;
use crate::holder::Witness;
use crate::options::SealKey;
use crate::reader::{Item, Reader, Tail};
use crate::scan::{Damage, DamageKind};
use crate::seal::hasher;

/// What verification found.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Whole events.
    pub events: u64,
    /// Bytes read.
    pub bytes: u64,
    /// The last event.
    pub last_seq: Option<Seq>,
    /// Seals that hold.
    pub seals: u64,
    /// Damaged places, at most [`Report::MAX_DAMAGES`].
    pub damages: Vec<Damage>,
    /// All damaged places.
    pub damage_count: u64,
    /// Length of a torn tail: no damage, what a crash or an append under way leaves.
    pub torn_bytes: u64,
    /// Whether the log ends with a clean close.
    pub closed: bool,
}

impl Report {
    /// How many damaged places are described one by one.
    pub const MAX_DAMAGES: usize = 1000;

    /// Whether nothing is damaged.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.damage_count == 0
    }

    fn add(&mut self, damage: Damage) {
        self.damage_count += 1;
        if self.damages.len() < Self::MAX_DAMAGES {
            self.damages.push(damage);
        }
    }
}

/// Verifies the log in `dir`. Takes no lock and changes nothing.
///
/// # Errors
/// [`crate::Error::NotFound`], [`crate::Error::Io`]. Damage is no error: it is in the report.
pub fn verify(disk: &dyn Disk, dir: &Path, remembered: Option<Witness>, keys: &[SealKey]) -> Result<Report> {
    let mut reader = Reader::open(disk, dir)?;
    reader.remember(remembered);
    let mut report = Report::default();
    // Hashers over the bytes since the last seal: unkeyed, and one for each key.
    let mut since = Since::new(keys);
    let mut line_number = 0;
    while let Some(item) = reader.next_item()? {
        match item {
            Item::Gap(damage) => {
                since.spoilt = true;
                line_number = damage.line;
                report.add(damage);
            }
            Item::Line { line, bytes, offset } => {
                report.events += 1;
                report.last_seq = Some(line.seq);
                line_number += 1;
                if line.kind == "sealed"
                    && let Ok(seal) = serde_json::from_slice::<Sealed>(line.data)
                {
                    match since.check(&seal) {
                        Ok(true) => report.seals += 1,
                        Ok(false) => {}
                        Err(kind) => report.add(Damage {
                            line: line_number,
                            offset: offset.saturating_sub(seal.len_bytes),
                            len_bytes: seal.len_bytes,
                            expected_seq: line.seq,
                            missing: 0,
                            kind,
                        }),
                    }
                    since = Since::new(keys);
                }
                if line.seq > 0 {
                    since.update(bytes);
                }
            }
        }
    }
    report.bytes = reader.offset();
    report.closed = reader.is_closed();
    if let Tail::Unfinished { len_bytes, .. } = reader.tail() {
        report.torn_bytes = len_bytes;
    }
    Ok(report)
}

/// The bytes since the last seal.
struct Since<'a> {
    plain: Hasher,
    keyed: Vec<(&'a SealKey, Hasher)>,
    len_bytes: u64,
    /// A gap lies in between: the seal can't hold, and the gap was told already.
    spoilt: bool,
}

impl<'a> Since<'a> {
    fn new(keys: &'a [SealKey]) -> Self {
        let keyed = keys.iter().map(|key| (key, hasher(Some(key)))).collect();
        Self { plain: hasher(None), keyed, len_bytes: 0, spoilt: false }
    }

    fn update(&mut self, bytes: &[u8]) {
        for hasher in self.keyed.iter_mut().map(|(_, h)| h).chain([&mut self.plain]) {
            hasher.update(bytes);
            hasher.update(b"\n");
        }
        self.len_bytes += bytes.len() as u64 + 1;
    }

    /// Whether the seal holds; false when that can't be said because of a gap.
    fn check(&self, seal: &Sealed) -> std::result::Result<bool, DamageKind> {
        if self.spoilt {
            return Ok(false);
        }
        let hasher = match &seal.key {
            None => &self.plain,
            Some(id) => match self.keyed.iter().find(|(key, _)| key.id == *id) {
                Some((_, hasher)) => hasher,
                None => return Err(DamageKind::SealKey { key: id.clone() }),
            },
        };
        let holds = seal.len_bytes == self.len_bytes && hasher.finalize().to_hex().as_str() == seal.blake3;
        if holds { Ok(true) } else { Err(DamageKind::Seal) }
    }
}
