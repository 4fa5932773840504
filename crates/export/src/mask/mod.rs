//! Secrets are masked on the way out: what looks like a key, a token or a password is replaced by `[masked: RULE]`, which tells
//! what it was and not how long.
//!
//! ```text
//! text ──keywords──→ places ──expression──→ candidates ──entropy, allow lists──→ secrets ──→ masked text
//!        one pass             from the place on, bounded                                      looked at again
//! ```
//!
//! What has none of the keywords costs one pass of an automaton. The rules are data: `rules.toml`.
//!
//! INVARIANT: masking what is masked changes nothing: the masked text is looked at again until nothing is found, and a mark that
//! stands in a text is never taken apart.

mod check;
mod rule;
mod scan;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use rule::Rules;
use scan::{Hit, Values, merge, scan};

/// The rule that a value given by the caller is masked under.
pub const CONFIGURED: &str = "configured-value";

/// How a mark begins.
const MARK: &str = "[masked: ";

/// Shorter values given by the caller are not masked: they would be found in every other word.
pub const MIN_VALUE_BYTES: usize = 4;

/// Finds secrets and masks them.
///
/// ```
/// use annals_export::Masker;
///
/// let key = ["sk-ant-api03-", "k3Vq9ZrT1mWxY7bLpD2sHfGcNjQe"].concat();
/// let text = format!("export ANTHROPIC_API_KEY={key}");
/// let masked = Masker::standard().mask(&text);
/// assert_eq!(masked.text, "export ANTHROPIC_API_KEY=[masked: anthropic-key]");
/// assert_eq!(masked.found[0].rule, "anthropic-key");
/// ```
#[derive(Debug, Clone)]
pub struct Masker {
    /// None masks everything: rules that can't be read must not let anything through.
    rules: Option<Arc<Rules>>,
    values: Option<Values>,
}

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked<'a> {
    /// The text; the original when nothing was found.
    pub text: Cow<'a, str>,
    /// What was masked, in order.
    pub found: Vec<Secret<'a>>,
}

/// A secret that was masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret<'a> {
    /// The rule's name in `rules.toml`, or [`CONFIGURED`].
    pub rule: &'a str,
    /// Where it stood in the original text, in bytes.
    pub at: Range<usize>,
}

static STANDARD: LazyLock<Masker> = LazyLock::new(|| Masker {
    // The table is a constant and a test compiles it; should it ever not compile, everything is masked.
    rules: Rules::standard().ok().map(Arc::new),
    values: None,
});

impl Masker {
    /// With the rules of this library.
    #[must_use]
    pub fn standard() -> &'static Self {
        &STANDARD
    }

    /// Also masks these values wherever they stand, as they are and as JSON escapes them. White space around them does not count;
    /// shorter ones than [`MIN_VALUE_BYTES`] are left out.
    #[must_use]
    pub fn with_values(values: &[String]) -> Self {
        match Values::new(values) {
            Ok(values) => Self { rules: Self::standard().rules.clone(), values },
            Err(_) => Self { rules: None, values: None },
        }
    }

    /// Masks the secrets in a text.
    #[must_use]
    pub fn mask<'a>(&'a self, text: &'a str) -> Masked<'a> {
        let Some(rules) = &self.rules else { return all(text) };
        let values = self.values.as_ref();
        let mut hits = scan(rules, values, text);
        if hits.is_empty() {
            return Masked { text: Cow::Borrowed(text), found: Vec::new() };
        }
        // Every round covers more of the text, so this ends; more than one that finds something is a curiosity.
        loop {
            let rendered = Rendered::new(rules, text, &hits);
            let again = scan(rules, values, &rendered.text);
            let before = hits.clone();
            hits.extend(again.into_iter().map(|hit| Hit { at: rendered.original(hit.at), ..hit }));
            hits = merge(hits);
            if hits == before {
                let found =
                    hits.into_iter().map(|hit| Secret { rule: rules.name(hit.rank), at: hit.at }).collect();
                return Masked { text: Cow::Owned(rendered.text), found };
            }
        }
    }
}

fn all(text: &str) -> Masked<'_> {
    let whole = Secret { rule: CONFIGURED, at: 0..text.len() };
    Masked { text: Cow::Owned(mark(CONFIGURED)), found: vec![whole] }
}

fn mark(rule: &str) -> String {
    format!("{MARK}{rule}]")
}

/// A masked text that knows where its parts come from.
struct Rendered {
    text: String,
    /// For each part, in order: where it ends in the text, and the original's range. Marks and what is between them alternate.
    parts: Vec<(usize, Range<usize>, bool)>,
}

impl Rendered {
    fn new(rules: &Rules, text: &str, hits: &[Hit]) -> Self {
        let mut rendered = Self { text: String::with_capacity(text.len()), parts: Vec::new() };
        let mut at = 0;
        for hit in hits {
            rendered.push(text.get(at..hit.at.start).unwrap_or_default(), at..hit.at.start, false);
            rendered.push(&mark(rules.name(hit.rank)), hit.at.clone(), true);
            at = hit.at.end;
        }
        rendered.push(text.get(at..).unwrap_or_default(), at..text.len(), false);
        rendered
    }

    fn push(&mut self, text: &str, original: Range<usize>, mark: bool) {
        self.text.push_str(text);
        self.parts.push((self.text.len(), original, mark));
    }

    /// The range of the original that a range of the masked text stands for.
    fn original(&self, range: Range<usize>) -> Range<usize> {
        let mut whole: Option<Range<usize>> = None;
        let mut start = 0;
        for (end, original, mark) in &self.parts {
            let (from, to) = (range.start.max(start), range.end.min(*end));
            if from < to {
                let part = match mark {
                    true => original.clone(),
                    false => original.start + (from - start)..original.start + (to - start),
                };
                whole = Some(match whole {
                    Some(whole) => whole.start..part.end,
                    None => part,
                });
            }
            start = *end;
        }
        whole.unwrap_or(0..0)
    }
}
