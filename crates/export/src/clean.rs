//! Text made fit to be shown: what steers a terminal or turns the direction of a line is text of a session, not of the page.
//!
//! Comes before masking, so that a colour in the middle of a key does not hide it.

use std::borrow::Cow;

/// Whether a character must not reach a page as it is.
fn is_special(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t') || is_bidi(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Embeddings, overrides and isolates: they make text look like another text. Marks (U+200E, U+200F) only help and stay.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Takes terminal sequences and control characters out, makes every line end a newline, and writes out characters that turn the
/// direction of text, as in `⟨U+202E⟩`.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_special) else { return Cow::Borrowed(text) };
    let (before, rest) = text.split_at(first);
    let mut out = String::with_capacity(text.len());
    out.push_str(before);
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.as_str().starts_with('\n') => {}
            '\r' | '\u{2028}' | '\u{2029}' => out.push('\n'),
            '\u{1b}' => chars = behind_escape(chars.as_str()).chars(),
            '\u{9b}' => chars = behind_sequence(chars.as_str()).chars(),
            c if is_bidi(c) => out.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))),
            c if is_special(c) => {}
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// What follows a terminal sequence, given what follows its escape character.
fn behind_escape(rest: &str) -> &str {
    let mut chars = rest.chars();
    match chars.next() {
        Some('[') => behind_sequence(chars.as_str()),
        Some(']' | 'P' | '^' | '_' | 'X') => behind_string(chars.as_str()),
        Some('(' | ')' | '#' | '%') => {
            chars.next();
            chars.as_str()
        }
        Some(c) if c.is_ascii_graphic() => chars.as_str(),
        _ => rest,
    }
}

/// Parameters, then one final letter. What does not have that form is text.
fn behind_sequence(rest: &str) -> &str {
    let end = rest.find(|c: char| !matches!(c, ' '..='?')).unwrap_or(rest.len());
    let mut chars = rest.get(end..).unwrap_or_default().chars();
    match chars.next() {
        Some('@'..='~') => chars.as_str(),
        _ => rest,
    }
}

/// A string that a bell or `ESC \` ends. One that does not end on its line is text: it must not swallow what follows.
fn behind_string(rest: &str) -> &str {
    let Some(end) = rest.find(['\u{7}', '\u{1b}', '\u{9c}', '\n']) else { return rest };
    let (_, tail) = rest.split_at(end);
    match tail.strip_prefix(['\u{7}', '\u{9c}']).or_else(|| tail.strip_prefix("\u{1b}\\")) {
        Some(behind) => behind,
        None => rest,
    }
}

/// On one line, white space collapsed.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// At most `chars` characters, the last of them `…` when something is missing.
pub(crate) fn cut(text: &str, chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(text.chars().take(chars.saturating_sub(1)).chain(['…']).collect()),
    }
}

/// The beginning of a text, and what is missing of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shortened {
    pub(crate) text: String,
    /// Lines and bytes that are not shown.
    pub(crate) rest: Option<(usize, usize)>,
}

/// At most `lines` lines and `bytes` bytes, without white space at the end.
pub(crate) fn shorten(text: &str, lines: usize, bytes: usize) -> Shortened {
    let text = text.trim_end().trim_start_matches('\n');
    let after_lines = text.match_indices('\n').nth(lines.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    let mut end = after_lines;
    if end > bytes {
        let fits = text.floor_char_boundary(bytes);
        // A whole line is nicer than half of one, unless that would leave next to nothing.
        let last = text.get(..fits).and_then(|t| t.rfind('\n')).filter(|line| *line > bytes / 2);
        end = last.unwrap_or(fits);
    }
    let (shown, rest) = text.split_at(end);
    let rest = (!rest.is_empty()).then(|| (rest.trim_start_matches('\n').lines().count(), rest.len()));
    Shortened { text: shown.to_owned(), rest }
}

/// A number of bytes for people.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{}.{} KB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// A duration for people.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_steers_a_terminal_is_taken_out() {
        for (text, expected) in [
            ("plain é\n\t", "plain é\n\t"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x\u{1b}]8;;http://a\u{1b}\\link", "xlink"),
            ("\u{1b}]0;never ended\nnext", "0;never ended\nnext"),
            ("\u{9b}2Kx\u{1b}(Bn\u{1b}7y", "xny"),
            ("a\r\nb\rc\u{2028}d\0\u{8}e\u{7f}\u{85}", "a\nb\nc\nde"),
            ("evil\u{202e}txt.exe \u{200f}", "evil⟨U+202E⟩txt.exe \u{200f}"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
            ("\u{1b}[31", "31"),
        ] {
            assert_eq!(clean(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_long_text_is_shortened_and_says_how_much_is_missing() {
        let lines: String = (0..10).map(|i| format!("{i}\n")).collect();
        assert_eq!(shorten(&lines, 3, 100), Shortened { text: "0\n1\n2".into(), rest: Some((7, 14)) });
        assert_eq!(shorten("ééé", 3, 5), Shortened { text: "éé".into(), rest: Some((1, 2)) });
        assert_eq!(shorten("aaaa\nbbbb\ncc", 9, 11).text, "aaaa\nbbbb");
        assert_eq!(shorten("\na\n\n", 9, 9), Shortened { text: "a".into(), rest: None });
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
    }

    proptest! {
        #[test]
        fn nothing_special_is_left_and_twice_is_once(text in "(\\PC|[\u{0}-\u{20}\u{1b}\\[\\];0-9mK\u{80}-\u{9f}\u{202a}-\u{202e}\u{2028}]){0,40}") {
            let once = clean(&text).into_owned();
            prop_assert!(!once.chars().any(is_special));
            prop_assert_eq!(clean(&once), once.as_str());
        }
    }
}
