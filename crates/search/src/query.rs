//! The query language: words and "quoted phrases".

use crate::fold::fold;

/// The longest query, in bytes. A person types less; a program that sends more has mistaken something.
pub const MAX_QUERY_BYTES: usize = 4096;

/// English words that say nothing about what is sought, in order.
const STOP_WORDS: &[&str] = &[
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did",
    "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its",
    "me", "my", "of", "on", "or", "our", "should", "so", "some", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "to", "was", "we", "were", "what", "when", "where", "which",
    "who", "why", "will", "with", "would", "you", "your",
];

/// What is sought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The terms, as typed and in that order; none occurs twice.
    pub terms: Vec<Term>,
}

/// A word or a phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The text without its quotes or its `*`.
    pub text: String,
    /// Whether it stood in quotes.
    pub is_phrase: bool,
    /// Whether a `*` followed: any word that begins with it is meant.
    pub prefix: bool,
}

/// Why a text is no query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// No word and no phrase in it.
    #[error("nothing to search for")]
    Empty,
    /// Longer than [`MAX_QUERY_BYTES`].
    #[error("a query of {len_bytes} bytes; at most {MAX_QUERY_BYTES} are taken")]
    TooLong {
        /// Its length.
        len_bytes: usize,
    },
}

impl Query {
    /// Reads a query. Words are parted by white space; a quote begins a phrase that ends at the next quote, or with the
    /// text; a word's trailing `*` makes it a prefix.
    ///
    /// # Errors
    /// [`QueryError`] when there is nothing to search for, or too much.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        if text.len() > MAX_QUERY_BYTES {
            return Err(QueryError::TooLong { len_bytes: text.len() });
        }
        let mut terms = Vec::new();
        for (i, part) in text.split('"').enumerate() {
            // Between the quotes, thus every other part, are the phrases.
            if i % 2 == 1 {
                push(&mut terms, Term { text: part.to_owned(), is_phrase: true, prefix: false });
            } else {
                part.split_whitespace().for_each(|word| push(&mut terms, Term::word(word)));
            }
        }
        if terms.is_empty() { Err(QueryError::Empty) } else { Ok(Self { terms }) }
    }

    /// The query without words like "the" and "how", so that a question in plain words finds what it asks about. Phrases and
    /// prefixes stay; if nothing else is left, all stays.
    #[must_use]
    pub fn without_stop_words(&self) -> Self {
        let terms: Vec<_> = self.terms.iter().filter(|term| !term.is_stop_word()).cloned().collect();
        if terms.is_empty() { self.clone() } else { Self { terms } }
    }
}

impl Term {
    fn word(word: &str) -> Self {
        match word.trim_end_matches('*') {
            // Stars alone are what is sought.
            "" => Self { text: word.to_owned(), is_phrase: false, prefix: false },
            stem => Self { text: stem.to_owned(), is_phrase: false, prefix: stem.len() < word.len() },
        }
    }

    fn is_stop_word(&self) -> bool {
        let bare = fold(self.text.trim_matches(|c: char| !c.is_alphanumeric()));
        !self.is_phrase && !self.prefix && STOP_WORDS.binary_search(&bare.as_ref()).is_ok()
    }
}

fn push(terms: &mut Vec<Term>, term: Term) {
    let is_same = |other: &Term| other.prefix == term.prefix && fold(&other.text) == fold(&term.text);
    if !term.text.trim().is_empty() && !terms.iter().any(is_same) {
        terms.push(term);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<(String, bool, bool)> {
        let query = Query::parse(text).unwrap();
        query.terms.into_iter().map(|t| (t.text, t.is_phrase, t.prefix)).collect()
    }

    fn term(text: &str, is_phrase: bool, prefix: bool) -> (String, bool, bool) {
        (text.to_owned(), is_phrase, prefix)
    }

    #[test]
    fn words_phrases_and_prefixes() {
        assert_eq!(
            terms("  Foo \"a  b\" ba* *"),
            [
                term("Foo", false, false),
                term("a  b", true, false),
                term("ba", false, true),
                term("*", false, false)
            ]
        );
        assert_eq!(
            terms("x\"y z\"w"),
            [term("x", false, false), term("y z", true, false), term("w", false, false)]
        );
        assert_eq!(terms("a \"b c"), [term("a", false, false), term("b c", true, false)]);
        assert_eq!(terms("a A \"a\" a*"), [term("a", false, false), term("a", false, true)]);
    }

    #[test]
    fn nothing_and_too_much_are_refused() {
        for nothing in ["", " \n", "\"\"", "\" \" \""] {
            assert_eq!(Query::parse(nothing), Err(QueryError::Empty), "{nothing:?}");
        }
        assert_eq!(Query::parse(&"a".repeat(5000)), Err(QueryError::TooLong { len_bytes: 5000 }));
    }

    #[test]
    fn a_question_keeps_what_it_asks_about() {
        assert!(STOP_WORDS.is_sorted());
        let left = |text: &str| {
            let query = Query::parse(text).unwrap().without_stop_words();
            query.terms.into_iter().map(|t| t.text).collect::<Vec<_>>()
        };
        assert_eq!(left("How did WE fix the parser?"), ["fix", "parser?"]);
        assert_eq!(left("to be or \"not to be\" the*"), ["not to be", "the"]);
        assert_eq!(left("who are you?"), ["who", "are", "you?"]);
    }
}
