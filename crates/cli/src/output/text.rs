//! Text that can't harm a terminal, and its width there.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Text without control characters, which could move the cursor, change colours or set the title. Newlines and tabs remain.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|c| !is_harmful(*c) || matches!(c, '\n' | '\t')).collect()
}

/// Whether a character commands the terminal or turns the direction of what follows.
pub(crate) fn is_harmful(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text for one line of a table.
pub(crate) fn one_line(text: &str) -> String {
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

/// Ids, with commas.
pub(crate) fn ids(ids: &[annals::model::SessionId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_that_could_command_it() {
        assert_eq!(plain("a\u{1b}[31mb\u{7}\r\nc\td\u{202e}"), "a[31mb\nc\td");
    }
}
