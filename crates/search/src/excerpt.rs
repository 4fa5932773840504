//! The text around hits: about 300 characters, cut at character boundaries.

use std::ops::Range;

use crate::ranges::merged;

/// How long an excerpt is, in characters, without the `…` at its cut ends.
pub const WIDTH: usize = 300;

/// A part of a text that fits on a few lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Excerpt {
    /// The part, every run of white space one blank, with `…` where it was cut.
    pub text: String,
    /// The hits in it, as byte ranges of `text`, in order. A hit that the cut goes through is not told, unless nothing but
    /// it fits.
    pub ranges: Vec<Range<usize>>,
}

/// Cuts `text` around the place where the most of `ranges` stand close together; around its beginning if there are none.
///
/// `ranges` are byte ranges on character boundaries; `width` is in characters.
#[must_use]
pub fn excerpt(text: &str, ranges: &[Range<usize>], width: usize) -> Excerpt {
    let ranges = merged(ranges.to_vec());
    let core = densest(text, &ranges, width);
    let (_, used) = forward(text.get(..core.end).unwrap_or_default(), core.start, width);
    let (_, before) = backward(text, core.start, (width - used) / 2);
    let (end, after) = forward(text, core.end, width - used - before);
    let (start, _) = backward(text, core.start, width - used - after);
    // White space at the ends shows nothing.
    let start = core.start - text.get(start..core.start).unwrap_or_default().trim_start().len();
    let end = core.end + text.get(core.end..end).unwrap_or_default().trim_end().len();
    render(text, start..end, &ranges)
}

/// From the first to the last of the most ranges that fit into `width` characters; of a longer one its beginning.
fn densest(text: &str, ranges: &[Range<usize>], width: usize) -> Range<usize> {
    let spans = char_spans(text, ranges);
    let (mut best, mut last) = (0..0, 0);
    for (first, span) in spans.iter().enumerate() {
        let fits = |last: usize| spans.get(last).is_some_and(|s| s.end - span.start <= width);
        last = last.max(first);
        while fits(last) {
            last += 1;
        }
        if last - first > best.len() {
            best = first..last;
        }
    }
    match (ranges.get(best.start), best.end.checked_sub(1).and_then(|i| ranges.get(i))) {
        (Some(first), Some(last)) => first.start..last.end,
        // No range at all, or the first alone is too long.
        (Some(first), None) => {
            let long = text.get(first.clone()).unwrap_or_default();
            let cut = long.char_indices().nth(width).map_or(long.len(), |(at, _)| at);
            first.start..first.start + cut
        }
        (None, _) => 0..0,
    }
}

/// The ranges counted in characters.
fn char_spans(text: &str, ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let (mut at, mut chars) = (0, 0);
    let mut count = |to: usize| {
        chars += text.get(at..to).map_or(0, |t| t.chars().count());
        at = to;
        chars
    };
    ranges.iter().map(|range| count(range.start)..count(range.end)).collect()
}

/// Where `budget` visible characters before `from` begin, and how many there are.
fn backward(text: &str, from: usize, budget: usize) -> (usize, usize) {
    let before = text.get(..from).unwrap_or_default();
    let (mut at, mut used, mut was_blank) = (from, 0, false);
    for (i, c) in before.char_indices().rev() {
        let counts = !(c.is_whitespace() && was_blank);
        if counts && used == budget {
            break;
        }
        used += usize::from(counts);
        was_blank = c.is_whitespace();
        at = i;
    }
    (at, used)
}

/// Where `budget` visible characters from `from` on end, and how many there are.
fn forward(text: &str, from: usize, budget: usize) -> (usize, usize) {
    let (mut at, mut used, mut was_blank) = (from, 0, false);
    for c in text.get(from..).unwrap_or_default().chars() {
        let counts = !(c.is_whitespace() && was_blank);
        if counts && used == budget {
            break;
        }
        used += usize::from(counts);
        was_blank = c.is_whitespace();
        at += c.len_utf8();
    }
    (at, used)
}

fn render(text: &str, window: Range<usize>, ranges: &[Range<usize>]) -> Excerpt {
    let is_blank = |part: Option<&str>| part.is_none_or(|p| p.trim_start().is_empty());
    let inside = |r: &&Range<usize>| r.start >= window.start && r.end <= window.end;
    let mut todo: Vec<_> = ranges.iter().filter(inside).cloned().collect();
    let first_cut = ranges.iter().find(|r| r.start >= window.start && r.start < window.end);
    if let (true, Some(cut)) = (todo.is_empty(), first_cut) {
        todo.push(cut.start..window.end);
    }
    let mut out = Excerpt::default();
    if !is_blank(text.get(..window.start)) {
        out.text.push('…');
    }
    let mut collapse = Collapse { text, at: window.start, was_blank: false };
    for range in todo {
        collapse.copy(&mut out.text, range.start);
        let start = out.text.len();
        collapse.copy(&mut out.text, range.end);
        if out.text.len() > start {
            out.ranges.push(start..out.text.len());
        }
    }
    collapse.copy(&mut out.text, window.end);
    if !is_blank(text.get(window.end..)) {
        out.text.push('…');
    }
    out
}

/// Copies a text with every run of white space made one blank.
struct Collapse<'a> {
    text: &'a str,
    at: usize,
    was_blank: bool,
}

impl Collapse<'_> {
    fn copy(&mut self, out: &mut String, to: usize) {
        for c in self.text.get(self.at..to).unwrap_or_default().chars() {
            if !c.is_whitespace() {
                out.push(c);
            } else if !self.was_blank {
                out.push(' ');
            }
            self.was_blank = c.is_whitespace();
        }
        self.at = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::literal::Terms;
    use crate::query::Query;

    fn of(text: &str, query: &str, width: usize) -> Excerpt {
        excerpt(text, &Terms::new(&Query::parse(query).unwrap().terms).hits(text).ranges, width)
    }

    #[test]
    fn a_short_text_stays_whole_with_its_white_space_in_order() {
        let found = of("\n  a\n\n\tfoo  b\n", "foo", 300);
        assert_eq!((found.text.as_str(), found.ranges), ("a foo b", vec![2..5]));
        assert_eq!(of("x", "foo", 300), Excerpt { text: "x".to_owned(), ranges: vec![] });
        assert_eq!(excerpt("", &[], 300), Excerpt::default());
    }

    #[test]
    fn a_long_text_is_cut_around_the_hit() {
        let text = format!("{}needle{}", "ä".repeat(500), "ö".repeat(500));
        let found = of(&text, "needle", 26);
        assert_eq!(found.text, format!("…{}needle{}…", "ä".repeat(10), "ö".repeat(10)));
        assert_eq!(&found.text[found.ranges[0].clone()], "needle");
        let at_end = of(&format!("{}needle", "ä".repeat(500)), "needle", 26);
        assert_eq!(at_end.text, format!("…{}needle", "ä".repeat(20)));
        let at_start = of(&format!("needle{}", "ä".repeat(500)), "needle", 26);
        assert_eq!(at_start.text, format!("needle{}…", "ä".repeat(20)));
    }

    #[test]
    fn the_densest_place_is_shown() {
        let text = format!("foo {} foo bar foo {} bar", "x ".repeat(300), "y ".repeat(300));
        let found = of(&text, "foo bar", 40);
        assert_eq!(found.ranges.len(), 3);
        assert!(found.text.contains("foo bar foo"), "{}", found.text);
    }

    #[test]
    fn a_hit_longer_than_the_excerpt_shows_its_beginning() {
        let long = "ab".repeat(100);
        let found = of(&format!("x {long} y"), &long, 10);
        assert_eq!((found.text.as_str(), found.ranges), ("…ababababab…", vec![3..13]));
    }
}
