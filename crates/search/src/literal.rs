//! Search in a session: terms are literal substrings under the case rule, without stemming.
//!
//! INVARIANT: memory is bounded by the limit and one entry's text, however long the session is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use memchr::memmem::Finder;

use crate::excerpt::{self, Excerpt};
use crate::fold::{Folded, fold};
use crate::query::{Query, Term};
use crate::ranges::merged;

/// How many hits a search in a session shows.
pub const LIMIT: usize = 12;

/// The most ranges that are told of one text and term; a text that has more is as well found with these.
pub const MAX_RANGES: usize = 10_000;

/// Terms made ready to be looked for. A text under the case rule is folded once for all of them.
#[derive(Debug, Clone)]
pub struct Terms {
    finders: Vec<Finder<'static>>,
}

/// What of [`Terms`] occurs in a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hits {
    /// How many different terms occur.
    pub distinct: usize,
    /// Where, as byte ranges of the text, in order and without overlaps.
    pub ranges: Vec<Range<usize>>,
}

impl Terms {
    /// Terms that fold alike count as one.
    #[must_use]
    pub fn new(terms: &[Term]) -> Self {
        let mut folded: Vec<_> = terms.iter().map(|term| fold(&term.text)).collect();
        folded.sort_unstable();
        folded.dedup();
        Self { finders: folded.iter().map(|text| Finder::new(text.as_bytes()).into_owned()).collect() }
    }

    /// How many different terms there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.finders.len()
    }

    /// Whether there is no term.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.finders.is_empty()
    }

    /// Whether each term occurs in one of the texts.
    #[must_use]
    pub fn are_all_in<'t>(&self, texts: impl Iterator<Item = &'t str>) -> bool {
        let mut missing: Vec<&Finder<'_>> = self.finders.iter().collect();
        for text in texts {
            if missing.is_empty() {
                break;
            }
            let folded = fold(text);
            missing.retain(|finder| finder.find(folded.as_bytes()).is_none());
        }
        missing.is_empty()
    }

    /// Where the terms occur in `text`; of each term at most [`MAX_RANGES`] places.
    #[must_use]
    pub fn hits(&self, text: &str) -> Hits {
        let folded = Folded::new(text);
        let mut hits = Hits::default();
        for finder in &self.finders {
            let before = hits.ranges.len();
            let places = finder.find_iter(folded.text().as_bytes()).take(MAX_RANGES);
            hits.ranges.extend(places.map(|at| folded.original(at..at + finder.needle().len())));
            hits.distinct += usize::from(hits.ranges.len() > before);
        }
        hits.ranges = merged(hits.ranges);
        hits
    }
}

/// What a search in a session found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<K> {
    /// How many entries match.
    pub total: usize,
    /// The best of them, oldest first.
    pub hits: Vec<Hit<K>>,
}

/// One entry that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit<K> {
    /// The entry's key, as the caller named it.
    pub key: K,
    /// How many different terms occur in it.
    pub distinct: usize,
    /// The text around the hits.
    pub excerpt: Excerpt,
}

/// A hit that competes for a place: more terms are better, then a later entry.
struct Candidate<K> {
    rank: (usize, usize),
    hit: Hit<K>,
}

impl<K> PartialEq for Candidate<K> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl<K> Eq for Candidate<K> {}

impl<K> PartialOrd for Candidate<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> Ord for Candidate<K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank.cmp(&other.rank)
    }
}

/// Looks for the query in entries given oldest first. An entry matches if any term occurs in it; of those that match, at most
/// `limit` are kept: most distinct terms first, then the latest. They come back oldest first.
pub fn find<K, T: AsRef<str>>(
    entries: impl Iterator<Item = (K, T)>,
    query: &Query,
    limit: usize,
) -> Found<K> {
    let terms = Terms::new(&query.terms);
    let (mut total, mut best) = (0, BinaryHeap::new());
    for (index, (key, text)) in entries.enumerate() {
        let text = text.as_ref();
        let Hits { distinct, ranges } = terms.hits(text);
        if distinct == 0 {
            continue;
        }
        total += 1;
        let rank = (distinct, index);
        let is_better = best.peek().is_none_or(|Reverse(worst): &Reverse<Candidate<K>>| rank > worst.rank);
        if best.len() < limit || (limit > 0 && is_better) {
            let excerpt = excerpt::excerpt(text, &ranges, excerpt::WIDTH);
            best.push(Reverse(Candidate { rank, hit: Hit { key, distinct, excerpt } }));
            if best.len() > limit {
                best.pop();
            }
        }
    }
    let mut kept: Vec<_> = best.into_iter().map(|Reverse(candidate)| candidate).collect();
    kept.sort_unstable_by_key(|candidate| candidate.rank.1);
    Found { total, hits: kept.into_iter().map(|candidate| candidate.hit).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(entries: &[&str], query: &str, limit: usize) -> (usize, Vec<usize>) {
        let query = Query::parse(query).unwrap();
        let found = find(entries.iter().enumerate(), &query, limit);
        (found.total, found.hits.into_iter().map(|hit| hit.key).collect())
    }

    #[test]
    fn most_terms_then_the_latest_shown_oldest_first() {
        let entries = ["foo bar", "foo", "nothing", "BAR", "a foo", "Foo Bar"];
        assert_eq!(keys(&entries, "foo bar", 12), (5, vec![0, 1, 3, 4, 5]));
        assert_eq!(keys(&entries, "foo bar", 3), (5, vec![0, 4, 5]));
        assert_eq!(keys(&entries, "foo bar", 1), (5, vec![5]));
        assert_eq!(keys(&entries, "foo bar", 0), (5, vec![]));
        assert_eq!(keys(&entries, "\"o b\"", 12), (2, vec![0, 5]));
        assert_eq!(keys(&entries, "qux", 12), (0, vec![]));
    }

    #[test]
    fn a_term_is_a_substring_and_no_pattern() {
        let query = Query::parse("oo.b ÄR").unwrap();
        let found = find([(7, "xoo.bär oobar")].into_iter(), &query, LIMIT);
        assert_eq!(found.hits[0].key, 7);
        assert_eq!(found.hits[0].distinct, 2);
        assert_eq!(found.hits[0].excerpt.text, "xoo.bär oobar");
        assert_eq!(found.hits[0].excerpt.ranges, [1..5, 5..8]);
    }
}
