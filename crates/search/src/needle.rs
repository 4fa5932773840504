//! Needles: what is sought in everything, tool output included, and how a raw log line that can't hold it is passed over unparsed.
//!
//! A line that may hold a needle is parsed, and its [pieces](crate::text) decide. INVARIANT: no false negatives: whatever a piece holds
//! stands in the raw line in its JSON-escaped spelling, so a line without that spelling holds it in no piece.

use std::ops::Range;

use annals_model::Json;
use memchr::memmem::{self, Finder};
use regex_automata::meta::Regex;

use crate::fold::{fold_char, variants};
use crate::literal::Terms;
use crate::query::Query;
use crate::ranges::merged;
use crate::signature::{rows_of, rows_of_exact};

/// How much memory a compiled pattern may take: hostile ones would take all there is.
const MAX_PATTERN_BYTES: usize = 8 * 1024 * 1024;

/// What is sought.
#[derive(Debug, Clone)]
pub struct Needle {
    sought: Sought,
    /// What a raw line must contain: folded to lower ASCII case, or as it is.
    spellings: Vec<Finder<'static>>,
    any_case: bool,
    rows: Vec<u16>,
}

#[derive(Debug, Clone)]
enum Sought {
    Terms(Terms),
    Exact(Box<Finder<'static>>),
    Regex(Box<Regex>),
}

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// Nothing to search for.
    #[error("nothing to search for")]
    Empty,
    /// It is no regular expression, or one that takes too much memory.
    #[error("not a regular expression: {reason}")]
    Syntax {
        /// What is wrong, and where.
        reason: String,
    },
}

/// A text as it is spelled in a log's JSON.
fn spelled(text: &str) -> String {
    let quoted = Json::string(text);
    let quoted = quoted.as_str();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

/// The longest stretch of a spelling whose bytes are certain under the case rule, in lower ASCII case.
fn certain(spelling: &str) -> String {
    let is_uncertain = |c: char| !c.is_ascii() && (fold_char(c) != c || variants(c).len() > 1);
    let longest = spelling.split(is_uncertain).max_by_key(|run| run.len()).unwrap_or_default();
    longest.to_ascii_lowercase()
}

impl Needle {
    /// All the terms of a query, as substrings under the case rule; each may stand in another piece of the event.
    #[must_use]
    pub fn literal(query: &Query) -> Self {
        let spellings: Vec<String> = query.terms.iter().map(|term| spelled(&term.text)).collect();
        let mut rows: Vec<u16> = spellings.iter().flat_map(|spelling| rows_of(spelling.as_bytes())).collect();
        rows.sort_unstable();
        rows.dedup();
        let certain = spellings.iter().map(|spelling| certain(spelling)).filter(|run| !run.is_empty());
        Self {
            sought: Sought::Terms(Terms::new(&query.terms)),
            spellings: certain.map(|run| Finder::new(run.as_bytes()).into_owned()).collect(),
            any_case: true,
            rows,
        }
    }

    /// A text, byte by byte.
    ///
    /// # Errors
    /// [`PatternError::Empty`].
    pub fn exact(text: &str) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError::Empty);
        }
        let spelling = spelled(text);
        Ok(Self {
            sought: Sought::Exact(Box::new(Finder::new(text.as_bytes()).into_owned())),
            spellings: vec![Finder::new(spelling.as_bytes()).into_owned()],
            any_case: false,
            rows: rows_of_exact(spelling.as_bytes()),
        })
    }

    /// A regular expression in the syntax of the `regex` crate; `^` and `$` are the ends of a piece, or of a line with `(?m)`.
    ///
    /// # Errors
    /// [`PatternError`].
    pub fn regex(pattern: &str) -> Result<Self, PatternError> {
        if pattern.is_empty() {
            return Err(PatternError::Empty);
        }
        let config = Regex::config().nfa_size_limit(Some(MAX_PATTERN_BYTES));
        let regex = Regex::builder().configure(config).build(pattern);
        let regex = regex.map_err(|error| {
            let reason = error.syntax_error().map_or_else(|| error.to_string(), ToString::to_string);
            PatternError::Syntax { reason }
        })?;
        let required = required(pattern).map(|text| spelled(&text)).filter(|spelling| !spelling.is_empty());
        let rows = required.as_ref().map(|spelling| rows_of_exact(spelling.as_bytes())).unwrap_or_default();
        let spellings = required.map(|spelling| Finder::new(spelling.as_bytes()).into_owned());
        let sought = Sought::Regex(Box::new(regex));
        Ok(Self { sought, spellings: spellings.into_iter().collect(), any_case: false, rows })
    }

    /// The signature rows of blocks that may hold it; none when every block may.
    #[must_use]
    pub fn rows(&self) -> &[u16] {
        &self.rows
    }

    /// Whether bytes of a log may hold it. `scratch` is overwritten.
    #[must_use]
    pub fn may_be_in(&self, bytes: &[u8], scratch: &mut Vec<u8>) -> bool {
        if !self.any_case {
            return self.spellings.iter().all(|spelling| spelling.find(bytes).is_some());
        }
        scratch.clear();
        scratch.extend_from_slice(bytes);
        scratch.make_ascii_lowercase();
        self.spellings.iter().all(|spelling| spelling.find(scratch).is_some())
    }

    /// Whether it is in the pieces of one event.
    #[must_use]
    pub fn is_in<'t>(&self, mut pieces: impl Iterator<Item = &'t str> + Clone) -> bool {
        match &self.sought {
            Sought::Terms(terms) => terms.are_all_in(pieces),
            Sought::Exact(finder) => pieces.any(|piece| finder.find(piece.as_bytes()).is_some()),
            Sought::Regex(regex) => pieces.any(|piece| regex.is_match(piece)),
        }
    }

    /// Where it stands in a text, as byte ranges in order and without overlaps; of terms, where any of them does.
    #[must_use]
    pub fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        let most = crate::literal::MAX_RANGES;
        match &self.sought {
            Sought::Terms(terms) => terms.hits(text).ranges,
            Sought::Exact(finder) => {
                let len = finder.needle().len();
                memmem::find_iter(text.as_bytes(), finder.needle())
                    .map(|at| at..at + len)
                    .take(most)
                    .collect()
            }
            Sought::Regex(regex) => {
                let found =
                    regex.find_iter(text).map(|found| found.range()).filter(|range| !range.is_empty());
                merged(found.take(most).collect())
            }
        }
    }
}

/// A text that whatever matches the pattern contains. None when there is none, or it is not easily told.
fn required(pattern: &str) -> Option<String> {
    use regex_syntax::hir::{Hir, HirKind};
    /// The longest run of literals that stand next to each other on the way that every match takes.
    fn longest(hir: &Hir, best: &mut Vec<u8>) {
        let mut take = |run: &[u8]| {
            if run.len() > best.len() {
                *best = run.to_vec();
            }
        };
        match hir.kind() {
            HirKind::Literal(literal) => take(&literal.0),
            HirKind::Capture(capture) => longest(&capture.sub, best),
            HirKind::Repetition(repetition) if repetition.min > 0 => longest(&repetition.sub, best),
            HirKind::Concat(parts) => parts.iter().for_each(|part| longest(part, best)),
            _ => {}
        }
    }
    let hir = regex_syntax::parse(pattern).ok()?;
    let mut best = Vec::new();
    longest(&hir, &mut best);
    String::from_utf8(best).ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::pieces;
    use annals_model::event::Event;
    use annals_model::line::{Draft, Place, check, encode};
    use annals_model::{Timestamp, canon::canonical};
    use proptest::prelude::*;
    use serde_json::json;

    /// An event's raw line, and the event.
    fn line(kind: &str, data: &serde_json::Value) -> (Vec<u8>, Event) {
        let data = canonical(&data.to_string()).unwrap();
        let mut out = Vec::new();
        encode(
            &mut out,
            Place { seq: 1, durable: None, prev: 0 },
            &Draft { ts: Timestamp::default(), turn: None, kind, data: &data },
        );
        let event = Event::from_line(&check(out.trim_ascii_end()).unwrap()).unwrap();
        (out, event)
    }

    fn decides(needle: &Needle, event: &Event) -> bool {
        let pieces = pieces(event);
        needle.is_in(pieces.iter().map(|piece| piece.text.as_ref()))
    }

    #[test]
    fn a_pattern_that_is_none_is_told_with_its_place() {
        let Err(PatternError::Syntax { reason }) = Needle::regex("a(b") else { panic!() };
        assert!(reason.contains("unclosed group"), "{reason}");
        assert_eq!(Needle::exact("").unwrap_err(), PatternError::Empty);
        assert!(Needle::regex("(a{1000}){1000}").is_err());
    }

    #[test]
    fn what_every_match_contains() {
        for (pattern, expected) in [
            ("foo.*barbaz", Some("barbaz")),
            ("(hello)+ x", Some("hello")),
            ("a|b", None),
            ("(?i)foo", None),
            ("[a-z]+_id", Some("_id")),
            ("(abc)?d", Some("d")),
            (r"\d+", None),
        ] {
            assert_eq!(required(pattern).as_deref(), expected, "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn the_raw_line_tells_no_lie(
            text in "[a-cA-C\"\\\\\n\u{7}äÄẞß漢 é]{0,14}",
            sought in "[a-cA-C\"\\\\\n\u{7}äÄẞß漢 é]{1,3}",
            kind in 0_usize..3,
        ) {
            let (raw, event) = match kind {
                0 => line("user_message", &json!({"kind": "prompt", "text": text})),
                1 => line("tool_result", &json!({"id": "c", "output": {"out": [text]}, "is_error": false})),
                _ => line("assistant_message", &json!({"parts": [{"type": "text", "text": text}]})),
            };
            let mut scratch = Vec::new();
            let mut needles = vec![Needle::exact(&sought).unwrap()];
            needles.extend(Query::parse(&sought).ok().map(|query| Needle::literal(&query)));
            needles.extend(Needle::regex(&format!("{}.?", regex_syntax::escape(&sought))).ok());
            for needle in needles {
                if decides(&needle, &event) {
                    prop_assert!(needle.may_be_in(&raw, &mut scratch), "{needle:?}");
                    let mut signature = crate::signature::Signature::new();
                    signature.add(&raw);
                    prop_assert!(needle.rows().iter().all(|row| signature.has(*row)));
                    let places = pieces(&event).iter().map(|piece| needle.ranges(&piece.text).len()).sum::<usize>();
                    prop_assert!(places > 0);
                }
            }
            let occurs = pieces(&event).iter().any(|piece| piece.text.contains(&sought));
            prop_assert_eq!(decides(&Needle::exact(&sought).unwrap(), &event), occurs);
        }
    }
}
