//! The word rule of ranked search: what a word is, for the full-text table, for queries and for excerpts alike.
//!
//! A word is a maximal run of letters, digits and `_` under the case rule; a character of a script that is written without
//! blanks (Han, kana, hangul) is a word by itself. [`normalise`] puts blanks between words, so that a tokenizer which parts at
//! ASCII white space and punctuation other than `_`, and nowhere else, sees exactly these words.

use std::ops::Range;

use crate::fold::fold_char;
use crate::query::{Query, Term};
use crate::ranges::merged;

/// A longer word is cut, in bytes of its folded form: nobody types it, and it would only swell the table.
pub const MAX_WORD_BYTES: usize = 1024;

/// Appends the words of `text` to `out`, folded, each parted from what stands before it by one blank.
pub fn normalise(text: &str, out: &mut String) {
    for range in word_bounds(text) {
        if !out.is_empty() {
            out.push(' ');
        }
        push_word(text.get(range).unwrap_or_default(), out);
    }
}

/// The query in the full-text table's language: every term a quoted phrase of its words, joined by `AND` if `all` are
/// wanted, else by `OR`. `None` if the query has no word in it.
#[must_use]
pub fn fts_expression(query: &Query, all: bool) -> Option<String> {
    let phrases: Vec<_> = query.terms.iter().filter_map(phrase).collect();
    (!phrases.is_empty()).then(|| phrases.join(if all { " AND " } else { " OR " }))
}

fn phrase(term: &Term) -> Option<String> {
    let mut words = String::new();
    normalise(&term.text, &mut words);
    // Words hold no quotes, so nothing is to be escaped.
    (!words.is_empty()).then(|| format!("\"{words}\"{}", if term.prefix { "*" } else { "" }))
}

/// Where the query's terms occur in `text`, found by reading it: byte ranges from a term's first word to its last, in order
/// and without overlaps.
#[must_use]
pub fn word_ranges(text: &str, query: &Query) -> Vec<Range<usize>> {
    let words = Words::of(text);
    merged(query.terms.iter().flat_map(|term| words.places(&Words::of(&term.text), term.prefix)).collect())
}

/// Whether [`fts_expression`] with the same `all` finds `text`: the table's verdict, found by reading.
#[must_use]
pub fn word_match(text: &str, query: &Query, all: bool) -> bool {
    let words = Words::of(text);
    let terms = query.terms.iter().map(|term| (Words::of(&term.text), term.prefix));
    let mut occur = terms
        .filter(|(sought, _)| !sought.ranges.is_empty())
        .map(|(sought, prefix)| !words.places(&sought, prefix).is_empty())
        .peekable();
    occur.peek().is_some() && if all { occur.all(|o| o) } else { occur.any(|o| o) }
}

/// The words of a text, with where they stand.
struct Words {
    folded: String,
    /// Of each word: where it stands in the text, and in `folded`.
    ranges: Vec<(Range<usize>, Range<usize>)>,
}

impl Words {
    fn of(text: &str) -> Self {
        let mut words = Self { folded: String::with_capacity(text.len()), ranges: Vec::new() };
        for range in word_bounds(text) {
            let start = words.folded.len();
            push_word(text.get(range.clone()).unwrap_or_default(), &mut words.folded);
            words.ranges.push((range, start..words.folded.len()));
        }
        words
    }

    fn word(&self, i: usize) -> Option<&str> {
        self.ranges.get(i).and_then(|(_, folded)| self.folded.get(folded.clone()))
    }

    /// Where all of `sought` stand one after the other; with `prefix` the last need only begin so.
    fn places(&self, sought: &Self, prefix: bool) -> Vec<Range<usize>> {
        let Some(last) = sought.ranges.len().checked_sub(1) else { return Vec::new() };
        let fits = |first: usize| {
            (0..=last).all(|i| match (self.word(first + i), sought.word(i)) {
                (Some(here), Some(word)) => here == word || (prefix && i == last && here.starts_with(word)),
                _ => false,
            })
        };
        let spans = self.ranges.iter().zip(self.ranges.iter().skip(last)).enumerate();
        spans.filter(|(first, _)| fits(*first)).map(|(_, (a, b))| a.0.start..b.0.end).collect()
    }
}

/// Where the words of a text stand.
fn word_bounds(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut chars = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (start, first) = chars.find(|(_, c)| is_word_char(*c))?;
        let mut end = start + first.len_utf8();
        if !stands_alone(first) {
            while let Some((at, c)) = chars.next_if(|(_, c)| is_word_char(*c) && !stands_alone(*c)) {
                end = at + c.len_utf8();
            }
        }
        Some(start..end)
    })
}

fn push_word(word: &str, out: &mut String) {
    let limit = out.len() + MAX_WORD_BYTES;
    for c in word.chars().map(fold_char) {
        if out.len() + c.len_utf8() > limit {
            break;
        }
        out.push(c);
    }
}

fn is_word_char(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Whether the character belongs to a script written without blanks: Han, hiragana, katakana, hangul syllables.
fn stands_alone(c: char) -> bool {
    matches!(c,
        '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3038}'..='\u{303c}' // iteration mark, zero, Hangzhou numerals
        | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' // kana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3fffd}' // Han
        | '\u{1b000}'..='\u{1b16f}' // older kana
        | '\u{ac00}'..='\u{d7a3}') // hangul
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        let mut out = String::new();
        normalise(text, &mut out);
        out
    }

    #[test]
    fn a_word_is_a_run_of_letters_digits_and_underscores() {
        assert_eq!(words("  fn Read_To-end(&self) {}"), "fn read_to end self");
        assert_eq!(words("Straße ÄRGER — «x»"), "straße ärger x");
        assert_eq!(words("漢字Kana カナ한글ab"), "漢 字 kana カ ナ 한 글 ab");
        assert_eq!(words("-- … 😀"), "");
        assert_eq!(words(&"ü".repeat(2000)), "ü".repeat(512));
        let mut joined = String::from("a");
        normalise("B", &mut joined);
        assert_eq!(joined, "a b");
    }

    #[test]
    fn every_ascii_character_in_normalised_text_is_a_word_character_or_a_blank() {
        let all: String = ('\0'..=char::MAX).flat_map(|c| [c, ' ']).collect();
        assert!(
            words(&all).chars().all(|c| c == ' ' || c == '_' || c.is_ascii_alphanumeric() || !c.is_ascii())
        );
    }

    #[test]
    fn the_expression_is_made_of_quoted_phrases() {
        let expression = |text: &str, all| fts_expression(&Query::parse(text).unwrap(), all);
        assert_eq!(expression("Foo-bar \"a B\" pre*", true).unwrap(), r#""foo bar" AND "a b" AND "pre"*"#);
        assert_eq!(expression("x -- y", false).unwrap(), r#""x" OR "y""#);
        assert_eq!(expression("-- \"…\"", true), None);
    }

    #[test]
    fn a_scan_finds_whole_words() {
        let at = |text: &str, query: &str| word_ranges(text, &Query::parse(query).unwrap());
        assert_eq!(at("foobar FOO, foo_x", "foo"), [7..10]);
        assert_eq!(at("foobar FOO, foo_x", "foo*"), [0..6, 7..10, 12..17]);
        assert_eq!(at("read to-end; to the end", "\"to end\""), [5..11]);
        assert_eq!(at("漢字文", "字文"), [3..9]);
        assert_eq!(at("a a a", "\"a a\""), [0..5]);
        let matches = |text: &str, query: &str, all| word_match(text, &Query::parse(query).unwrap(), all);
        assert!(
            matches("a b", "a c", false) && !matches("a b", "a c", true) && matches("a b", "b -- a", true)
        );
        assert!(!matches("a b", "--", false));
    }
}
