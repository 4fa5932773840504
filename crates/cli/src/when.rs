//! Points in time as people type them.

use annals::model::{Clock, Timestamp};
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::context::SystemClock;

/// A date, a time, a day's name, or how long ago.
pub(crate) fn parse(text: &str) -> Result<Timestamp, String> {
    at(text, SystemClock.now(), &TimeZone::system())
}

fn at(text: &str, now: Timestamp, zone: &TimeZone) -> Result<Timestamp, String> {
    let text = text.trim();
    if let Some(millis) = ago(text) {
        return Ok(Timestamp::from_millis(now.as_millis().saturating_sub(millis)));
    }
    let midnight = |date: Date| {
        let midnight = zone.to_timestamp(date.at(0, 0, 0, 0)).map_err(|e| e.to_string())?;
        Ok(Timestamp::from_millis(midnight.as_millisecond()))
    };
    let today =
        jiff::Timestamp::from_millisecond(now.as_millis()).map(|t| t.to_zoned_datetime(zone.clone()).date());
    let today = today.map_err(|e| e.to_string())?;
    match text {
        "now" => return Ok(now),
        "today" => return midnight(today),
        "yesterday" => return midnight(today.yesterday().map_err(|e| e.to_string())?),
        _ => {}
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Ok(Timestamp::from_millis(time.as_millisecond()));
    }
    if text.len() == 10
        && let Ok(date) = text.parse::<Date>()
    {
        return midnight(date);
    }
    if let Ok(time) = text.parse::<jiff::civil::DateTime>() {
        let time = zone.to_timestamp(time).map_err(|e| e.to_string())?;
        return Ok(Timestamp::from_millis(time.as_millisecond()));
    }
    Err("expected a date (2026-11-30), a time (2026-11-30T21:00), today, yesterday, or how long ago (90min, 24h, 3d, 2w)".to_owned())
}

/// Milliseconds of a span like `3d`.
fn ago(text: &str) -> Option<i64> {
    let text = text.strip_prefix('-').unwrap_or(text);
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (count, unit) = text.split_at(digits);
    let count: i64 = count.parse().ok()?;
    let seconds = match unit.trim() {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        "y" => 365 * 86_400,
        _ => return None,
    };
    count.checked_mul(seconds)?.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_meant() {
        let now = Timestamp::parse("2026-12-05T10:00:00Z").unwrap();
        let read = |text: &str| at(text, now, &TimeZone::UTC).map(|t| t.to_string());
        for (text, expected) in [
            ("3d", "2026-12-02T10:00:00.000Z"),
            ("-2h", "2026-12-05T08:00:00.000Z"),
            ("90min", "2026-12-05T08:30:00.000Z"),
            ("today", "2026-12-05T00:00:00.000Z"),
            ("yesterday", "2026-12-04T00:00:00.000Z"),
            ("2026-11-30", "2026-11-30T00:00:00.000Z"),
            ("2026-11-30T21:00", "2026-11-30T21:00:00.000Z"),
            ("2026-11-30T21:00:00+01:00", "2026-11-30T20:00:00.000Z"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
        for bad in ["", "d", "3 fortnights", "2026-13-01", "99999999999999999999d", "tomorrow-ish"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
