//! Writing for people: tables that fit, times that read well, text that can't harm a terminal.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use annals::model::Timestamp;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::context::Context;
use crate::error::Result;

/// Text without control characters, which could move the cursor, change colours or set the title. Newlines and tabs remain.
pub(crate) fn plain(text: &str) -> String {
    let harmful = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().filter(|c| !harmful(*c)).collect()
}

/// Text for one line of a table.
fn one_line(text: &str) -> String {
    plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Cuts text to a display width, with an ellipsis. Wide characters count two.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        out.push(c);
    }
    out.push('…');
    out
}

/// A table: columns as wide as their widest cell, one of which gives way when the terminal is narrow.
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// The column that is cut, and the one that is cut next.
    elastic: usize,
}

impl Table {
    pub(crate) fn new(head: &[&'static str], elastic: usize) -> Self {
        Self { head: head.to_vec(), rows: Vec::new(), elastic }
    }

    pub(crate) fn row(&mut self, cells: &[String]) {
        self.rows.push(cells.iter().map(|cell| one_line(cell)).collect());
    }

    /// Writes the table; cut to `width` columns when people look at it.
    pub(crate) fn write(&self, out: &mut dyn Write, width: Option<usize>) -> io::Result<()> {
        let mut widths: Vec<usize> = self.head.iter().map(|h| h.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        if let Some(limit) = width {
            let total: usize = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
            if let Some(elastic) = widths.get_mut(self.elastic) {
                *elastic = elastic.saturating_sub(total.saturating_sub(limit)).max(8);
            }
        }
        let bold = anstyle::Style::new().bold();
        write!(out, "{bold}")?;
        let head: Vec<String> = self.head.iter().map(|h| (*h).to_owned()).collect();
        line(out, &head, &widths, width)?;
        write!(out, "{bold:#}")?;
        for row in &self.rows {
            line(out, row, &widths, width)?;
        }
        Ok(())
    }
}

fn line(out: &mut dyn Write, cells: &[String], widths: &[usize], limit: Option<usize>) -> io::Result<()> {
    let mut text = String::new();
    for (n, (cell, width)) in cells.iter().zip(widths).enumerate() {
        if n > 0 {
            text.push_str("  ");
        }
        let cell = cut(cell, *width);
        text.push_str(&cell);
        text.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width())));
    }
    // A terminal narrower than the columns that don't give way: better cut than wrapped.
    let text = text.trim_end();
    writeln!(out, "{}", limit.map_or_else(|| text.to_owned(), |limit| cut(text, limit)))
}

/// The width of the terminal, when stdout is one.
pub(crate) fn width(context: &Context) -> Option<usize> {
    if !context.is_terminal() {
        return None;
    }
    Some(terminal_size::terminal_size().map_or(80, |(w, _)| usize::from(w.0)))
}

/// How long ago, in a few words.
pub(crate) fn ago(time: Timestamp, now: Timestamp) -> String {
    let seconds = (now.as_millis() - time.as_millis()) / 1000;
    let count = |n: i64, unit: &str| format!("{n} {unit}{} ago", if n == 1 { "" } else { "s" });
    match seconds {
        ..0 => "in the future".to_owned(),
        0..60 => "just now".to_owned(),
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

/// A size in bytes.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// A count and its noun.
pub(crate) fn count(n: u64, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Writes a text to stdout, through a pager when it is longer than the terminal.
pub(crate) fn page(context: &Context, text: &str, pager: bool) -> Result<()> {
    let rows = terminal_size::terminal_size().map_or(24, |(_, h)| usize::from(h.0));
    if pager && context.is_terminal() && text.lines().count() >= rows {
        let chosen = ["ANNALS_PAGER", "PAGER"]
            .iter()
            .find_map(|name| std::env::var(name).ok())
            .filter(|p| !p.trim().is_empty());
        let chosen = chosen.unwrap_or_else(|| "less -FRX".to_owned());
        let mut words = chosen.split_whitespace();
        let program = words.next().unwrap_or("less");
        if program != "cat"
            && let Ok(mut child) = Command::new(program).args(words).stdin(Stdio::piped()).spawn()
        {
            if let Some(mut stdin) = child.stdin.take() {
                // A pager that is left early is no error.
                let _ = stdin.write_all(text.as_bytes());
            }
            let _ = child.wait();
            return Ok(());
        }
    }
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fault 46: wide characters broke columns or were cut in the middle.
    #[test]
    fn tables_keep_their_columns_with_wide_characters() {
        let mut table = Table::new(&["ID", "TITLE", "N"], 1);
        table.row(&["a".into(), "日本語のとても長い題名です".into(), "1".into()]);
        table.row(&["b".into(), "short\nline".into(), "22".into()]);
        let mut out = Vec::new();
        table.write(&mut out, Some(20)).unwrap();
        let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|l| l.width() <= 20), "{lines:?}");
        let column = |l: &str, c: char| l.split(c).next().unwrap().width();
        assert_eq!(column(lines[1], '1'), column(lines[2], '2'));
    }

    #[test]
    fn nothing_reaches_the_terminal_that_could_command_it() {
        assert_eq!(plain("a\u{1b}[31mb\u{7}\r\nc\td\u{202e}"), "a[31mb\nc\td");
    }

    #[test]
    fn times_read_well() {
        let now = Timestamp::from_millis(1_796_000_000_000);
        let at = |s: i64| ago(Timestamp::from_millis(now.as_millis() - s * 1000), now);
        assert_eq!(
            [at(5), at(130), at(3_700), at(200_000)],
            ["just now", "2 min ago", "1 hour ago", "2 days ago"]
        );
    }
}
