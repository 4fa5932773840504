//! Call ids and tool names as providers accept them: letters, digits, `_` and `-`, at most 64, ids unique.

use std::collections::BTreeSet;

const MAX_CHARS: usize = 64;

/// A name in the accepted alphabet.
pub(super) fn safe(name: &str) -> String {
    let ok = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = name.chars().map(ok).take(MAX_CHARS).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// Ids that were given out.
#[derive(Debug, Default)]
pub(super) struct Ids {
    used: BTreeSet<String>,
}

impl Ids {
    /// An accepted id that was not given out before, as like `id` as can be.
    pub(super) fn unique(&mut self, id: &str) -> String {
        let base = safe(id);
        let mut candidate = base.clone();
        let mut number = 2;
        while self.used.contains(&candidate) {
            let suffix = format!("_{number}");
            let kept: String = base.chars().take(MAX_CHARS - suffix.len()).collect();
            candidate = kept + &suffix;
            number += 1;
        }
        self.used.insert(candidate.clone());
        candidate
    }
}
