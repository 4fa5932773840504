//! Times that read well.

use annals::model::Timestamp;

/// How long ago, in a few words.
pub(crate) fn ago(time: Timestamp, now: Timestamp) -> String {
    let seconds = (now.as_millis() - time.as_millis()) / 1000;
    let count = |n: i64, unit: &str| format!("{n} {unit}{} ago", if n == 1 { "" } else { "s" });
    match seconds {
        // Clocks of machines that share a directory differ by seconds.
        ..-60 => "in the future".to_owned(),
        -60..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => count(seconds / 3_600, "hour"),
        86_400..2_592_000 => count(seconds / 86_400, "day"),
        _ => local(time).split(' ').next().unwrap_or_default().to_owned(),
    }
}

/// A time in the local zone.
pub(crate) fn local(time: Timestamp) -> String {
    let zoned = jiff::Timestamp::from_millisecond(time.as_millis())
        .map(|t| t.to_zoned_datetime(jiff::tz::TimeZone::system()));
    zoned.map_or_else(|_| time.to_string(), |z| z.strftime("%Y-%m-%d %H:%M").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_well() {
        let now = Timestamp::from_millis(1_796_000_000_000);
        let at = |s: i64| ago(Timestamp::from_millis(now.as_millis() - s * 1000), now);
        assert_eq!(
            [at(-3), at(130), at(3_700), at(200_000)],
            ["just now", "2 min ago", "1 hour ago", "2 days ago"]
        );
    }
}
