//! Byte ranges of a text, as hits are reported.

use std::ops::Range;

/// Puts ranges in order and joins those that overlap; those that only touch stay apart.
pub(crate) fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|r| (r.start, r.end));
    let mut all: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match all.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => all.push(range),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_is_joined() {
        assert_eq!(merged(vec![5..7, 0..2, 1..4, 7..8, 5..6]), [0..4, 5..7, 7..8]);
        assert!(merged(vec![]).is_empty());
    }
}
