//! How a log is written: durability, runway, clock, seals.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use annals_model::{Clock, Seq};

/// When an append is acknowledged, and what it then survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Durability {
    /// After the disk has it: survives the process, the machine and a power cut. The default.
    #[default]
    Strict,
    /// After the system has it: survives the process. [`crate::Log::barrier`] makes all before it survive a power cut.
    Barrier,
    /// After the system has it, and nothing more is asked: survives the process, not the machine. Closing still syncs.
    Os,
}

impl FromStr for Durability {
    type Err = UnknownDurability;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        match s {
            "strict" => Ok(Self::Strict),
            "barrier" => Ok(Self::Barrier),
            "os" => Ok(Self::Os),
            _ => Err(UnknownDurability(s.to_owned())),
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Strict => "strict",
            Self::Barrier => "barrier",
            Self::Os => "os",
        })
    }
}

/// A word that names no durability level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no durability level: strict, barrier or os")]
pub struct UnknownDurability(pub String);

/// What an acknowledgement promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Promise {
    /// On disk: survives a power cut.
    Durable,
    /// With the system: survives the process.
    Written,
}

/// An acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// The position of the last event acknowledged.
    pub seq: Seq,
    /// What was promised.
    pub promise: Promise,
}

/// Whether the file is filled ahead with newlines.
///
/// Overwriting bytes that are there already spares each sync a change of the file's length, which makes durable appends about
/// 1.4 times as fast. Blank lines are legal in JSON lines; `tail -f` shows them, which is why it can be turned off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Runway {
    /// Filled ahead by this many bytes at a time.
    Bytes(u32),
    /// The file grows with each append.
    Off,
}

impl Runway {
    /// The measured choice for durable appends; larger chunks gain nothing more.
    pub const STANDARD: Self = Self::Bytes(256 * 1024);
}

/// Options of a writer.
#[derive(Clone)]
pub struct Options {
    /// When appends are acknowledged.
    pub durability: Durability,
    /// None: [`Runway::STANDARD`] for `strict`, off otherwise.
    pub runway: Option<Runway>,
    /// The clock that stamps the log's own lines.
    pub clock: Arc<dyn Clock>,
    /// The program's name, for the message that a second writer gets.
    pub program: String,
    /// The key that seals are made with.
    pub seal_key: Option<SealKey>,
    /// A log up to this size is checked from end to end whenever it is opened. A larger one that was closed cleanly is opened by its last
    /// lines alone, in the same time at any size; damage further up is then found by reading or verifying it.
    pub check_up_to_bytes: u64,
}

/// A key for seals: a log sealed with it can't be altered unnoticed by someone who lacks it.
#[derive(Clone)]
pub struct SealKey {
    /// Its id, written into each seal.
    pub id: String,
    /// Its 32 bytes.
    pub bytes: [u8; 32],
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealKey({})", self.id)
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("durability", &self.durability)
            .field("runway", &self.runway)
            .field("program", &self.program)
            .field("seal_key", &self.seal_key)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// What is checked in about three milliseconds.
    pub const CHECK_UP_TO_BYTES: u64 = 8 * 1024 * 1024;

    /// Strict durability, the standard runway, no seal key.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            durability: Durability::default(),
            runway: None,
            clock,
            program: "annals".to_owned(),
            seal_key: None,
            check_up_to_bytes: Self::CHECK_UP_TO_BYTES,
        }
    }

    /// Takes another durability level.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Takes another runway.
    #[must_use]
    pub fn runway(mut self, runway: Runway) -> Self {
        self.runway = Some(runway);
        self
    }

    pub(crate) fn runway_bytes(&self) -> u64 {
        match (self.runway, self.durability) {
            (Some(Runway::Bytes(n)), _) => u64::from(n),
            (None, Durability::Strict) => 256 * 1024,
            (Some(Runway::Off), _) | (None, _) => 0,
        }
    }
}
