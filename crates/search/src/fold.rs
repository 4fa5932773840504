//! The case rule: what counts as the same letter.
//!
//! ASCII goes to lower case; any other character goes to its lower case when that is one character outside ASCII, and else
//! stays. So no character outside ASCII ever equals an ASCII letter (the Kelvin sign is no `k`, the dotted capital I no `i`),
//! and ASCII text can be compared byte by byte.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

/// Above this no character has a lower case; a test says so of all of them.
const LAST_CASED: u32 = 0x1ffff;

/// One character, folded.
#[must_use]
pub fn fold_char(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) if !one.is_ascii() => one,
        _ => c,
    }
}

/// A text, folded; borrowed when nothing changes.
#[must_use]
pub fn fold(text: &str) -> Cow<'_, str> {
    Folded::new(text).text
}

/// Every character that folds to what `c` folds to, `c` among them.
#[must_use]
pub fn variants(c: char) -> Vec<char> {
    let folded = fold_char(c);
    let mut all = vec![folded];
    if c.is_ascii() {
        if c.is_ascii_alphabetic() {
            all.push(folded.to_ascii_uppercase());
        }
        return all;
    }
    let table = table();
    let from = table.partition_point(|(lower, _)| *lower < folded);
    let same = table.iter().skip(from).take_while(|(lower, _)| *lower == folded);
    all.extend(same.map(|(_, upper)| *upper));
    all
}

/// The characters outside ASCII that folding changes, by what they become.
fn table() -> &'static [(char, char)] {
    static TABLE: OnceLock<Vec<(char, char)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let all = (0x80..=LAST_CASED).filter_map(char::from_u32);
        let mut table: Vec<_> = all.map(|c| (fold_char(c), c)).filter(|(folded, c)| folded != c).collect();
        table.sort_unstable();
        table
    })
}

/// A folded text that knows where its characters come from: a character's folded form may be longer or shorter.
#[derive(Debug, Clone)]
pub struct Folded<'a> {
    text: Cow<'a, str>,
    /// Offsets just behind each character whose length changed: in the folded text, in the original.
    shifts: Vec<(usize, usize)>,
}

impl<'a> Folded<'a> {
    /// Folds `text`.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        let changes = |b: &u8| b.is_ascii_uppercase() || !b.is_ascii();
        if !text.as_bytes().iter().any(changes) {
            return Self { text: Cow::Borrowed(text), shifts: Vec::new() };
        }
        if text.is_ascii() {
            return Self { text: Cow::Owned(text.to_ascii_lowercase()), shifts: Vec::new() };
        }
        let (mut out, mut shifts, mut copied) = (String::with_capacity(text.len() + 8), Vec::new(), 0);
        for (at, c) in text.char_indices().filter(|(_, c)| !c.is_ascii()) {
            let folded = fold_char(c);
            if folded != c {
                out.push_str(text.get(copied..at).unwrap_or_default());
                out.push(folded);
                copied = at + c.len_utf8();
                if folded.len_utf8() != c.len_utf8() {
                    shifts.push((out.len(), copied));
                }
            }
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        out.make_ascii_lowercase();
        Self { text: Cow::Owned(out), shifts }
    }

    /// The folded text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where a range of the folded text, in bytes and on character boundaries, stands in the original.
    #[must_use]
    pub fn original(&self, range: Range<usize>) -> Range<usize> {
        self.offset(range.start)..self.offset(range.end)
    }

    fn offset(&self, folded: usize) -> usize {
        let before = self.shifts.partition_point(|(behind, _)| *behind <= folded);
        match before.checked_sub(1).and_then(|i| self.shifts.get(i)) {
            Some((behind, original)) => original + (folded - behind),
            None => folded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn of_every_character() {
        for c in ('\0'..=char::MAX).filter(|c| *c > '\u{7f}') {
            let folded = fold_char(c);
            assert!(!folded.is_ascii(), "{c:?} would match ASCII");
            assert_eq!(fold_char(folded), folded, "{c:?}");
            assert!(folded == c || u32::from(c) <= LAST_CASED, "{c:?} is missing in the table");
        }
        assert_eq!(['\u{212a}', 'ſ', 'İ'].map(fold_char), ['\u{212a}', 'ſ', 'İ']);
        assert_eq!(fold("STRASSE ÄÖ ẞ Ж"), "strasse äö ß ж");
    }

    #[test]
    fn variants_are_all_that_fold_alike() {
        for c in ['a', 'Z', '1', 'ü', 'Ü', 'ß', 'Å', '\u{212b}', 'Σ', 'ς', '漢', '\u{212a}', 'ǅ'] {
            let mut expected: Vec<char> =
                ('\0'..=char::MAX).filter(|d| fold_char(*d) == fold_char(c)).collect();
            let mut found = variants(c);
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected, "{c:?}");
        }
    }

    proptest! {
        #[test]
        fn folded_offsets_lead_back(text in "[a-cA-C ÄäȺⱥẞßİK漢😀]{0,24}") {
            let folded = Folded::new(&text);
            prop_assert_eq!(folded.text(), text.chars().map(fold_char).collect::<String>());
            let mut at = 0;
            for (original, c) in text.char_indices() {
                let end = at + fold_char(c).len_utf8();
                prop_assert_eq!(folded.original(at..end), original..original + c.len_utf8());
                at = end;
            }
        }
    }
}
