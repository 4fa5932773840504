//! Call ids and tool names as providers accept them: letters, digits, `_` and `-`, bounded, ids unique.

use std::collections::BTreeSet;

/// Of a tool's name.
const MAX_CHARS: usize = 64;

/// A name in the accepted alphabet.
pub(super) fn safe(name: &str) -> String {
    cut(name, MAX_CHARS)
}

fn cut(name: &str, max_chars: usize) -> String {
    let ok = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = name.chars().map(ok).take(max_chars).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// Ids that were given out.
#[derive(Debug)]
pub(super) struct Ids {
    max_chars: usize,
    used: BTreeSet<String>,
}

impl Ids {
    /// Ids of at most this many characters.
    pub(super) fn new(max_chars: usize) -> Self {
        Self { max_chars, used: BTreeSet::new() }
    }

    /// An accepted id that was not given out before, as like `id` as can be.
    pub(super) fn unique(&mut self, id: &str) -> String {
        let base = cut(id, self.max_chars);
        let mut candidate = base.clone();
        let mut number = 2;
        while self.used.contains(&candidate) {
            let suffix = format!("_{number}");
            let kept: String = base.chars().take(self.max_chars.saturating_sub(suffix.len())).collect();
            candidate = kept + &suffix;
            number += 1;
        }
        self.used.insert(candidate.clone());
        candidate
    }
}
