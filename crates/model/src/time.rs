//! Points in time: milliseconds since the Unix epoch, written as RFC 3339 in UTC with three decimals.
//!
//! Time is for display; order is `seq`'s business. The canonical text always has 24 bytes, so that a reader of lines
//! can step over it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Length of the canonical text, in bytes.
pub const TIMESTAMP_BYTES: usize = 24;

/// A point in time, to the millisecond, in the years 0000 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(i64);

/// A text that is no RFC 3339 time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an RFC 3339 time")]
pub struct InvalidTimestamp(pub String);

/// Where the time comes from: passed in, so that libraries never read the clock by themselves.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;
}

const MIN_MS: i64 = -62_167_219_200_000; // 0000-01-01T00:00:00.000Z
const MAX_MS: i64 = 253_402_300_799_999; // 9999-12-31T23:59:59.999Z

impl Timestamp {
    /// From milliseconds since the Unix epoch, brought into the range that the canonical text can hold.
    #[must_use]
    pub fn from_millis(ms: i64) -> Self {
        Self(ms.clamp(MIN_MS, MAX_MS))
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Reads an RFC 3339 time with any offset and any number of decimals; what is finer than a millisecond is dropped.
    ///
    /// # Errors
    /// [`InvalidTimestamp`] when it is none.
    pub fn parse(text: &str) -> Result<Self, InvalidTimestamp> {
        text.parse::<jiff::Timestamp>()
            .map(|t| Self::from_millis(t.as_millisecond()))
            .map_err(|_| InvalidTimestamp(text.to_owned()))
    }

    /// Writes the canonical 24 bytes. Written by hand: it runs once per appended line.
    #[must_use]
    pub fn to_bytes(self) -> [u8; TIMESTAMP_BYTES] {
        let (days, ms) = (self.0.div_euclid(86_400_000), self.0.rem_euclid(86_400_000));
        let (year, month, day) = civil_from_days(days);
        let mut out = *b"0000-00-00T00:00:00.000Z";
        let mut put = |from: usize, width: usize, mut value: i64| {
            for slot in out.iter_mut().skip(from).take(width).rev() {
                *slot = b'0' + u8::try_from(value % 10).unwrap_or(0);
                value /= 10;
            }
        };
        put(0, 4, year);
        put(5, 2, month);
        put(8, 2, day);
        put(11, 2, ms / 3_600_000);
        put(14, 2, ms / 60_000 % 60);
        put(17, 2, ms / 1_000 % 60);
        put(20, 3, ms % 1_000);
        out
    }
}

/// Days since 1970-01-01 to a proleptic Gregorian date (Howard Hinnant's algorithm, eras of 400 years from 1 March).
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(std::str::from_utf8(&self.to_bytes()).unwrap_or_default())
    }
}

impl TryFrom<String> for Timestamp {
    type Error = InvalidTimestamp;
    fn try_from(s: String) -> Result<Self, Self::Error> {
        Self::parse(&s)
    }
}

impl From<Timestamp> for String {
    fn from(t: Timestamp) -> Self {
        t.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_canonical_text_agrees_with_jiff_all_over_the_range() {
        let mut ms = MIN_MS;
        while ms < MAX_MS {
            let ours = Timestamp(ms).to_string();
            let theirs = jiff::Timestamp::from_millisecond(ms).unwrap();
            assert_eq!(ours, format!("{theirs:.3}"));
            assert_eq!(Timestamp::parse(&ours).unwrap().as_millis(), ms);
            ms += 86_399_999 * 97 + 12_345;
        }
        assert_eq!(Timestamp(MAX_MS).to_string(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn offsets_and_fine_decimals_are_read() {
        let t = Timestamp::parse("2026-11-30T22:00:00.1239+01:00").unwrap();
        assert_eq!(t.to_string(), "2026-11-30T21:00:00.123Z");
        assert!(Timestamp::parse("yesterday").is_err());
    }
}
