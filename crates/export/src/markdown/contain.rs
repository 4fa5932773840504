//! A message inside a page: its Markdown is kept, yet it can neither swallow what follows nor pass for a heading of the page.
//!
//! - Raw HTML becomes text: `<` is escaped, so that an open comment or element ends nowhere but in its message.
//! - Headings go down two levels; those with an underline, which have two levels only, become text.
//! - A fence that is left open is closed.
//!
//! What Markdown means is asked of a parser, not guessed. A message that resists all of this is shown as it is, fenced.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::inline::fence;

/// How often HTML is looked for: escaping one piece may uncover another.
const ROUNDS: usize = 4;

/// What is put behind a message to see whether the message reaches it.
const PROBE: &str = "\n\nprobe\n";

pub(crate) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

pub(super) fn contain(text: &str) -> String {
    // White space at the start could be the indentation of a list or of code: only whole lines are taken away.
    let text = text.trim_end().trim_start_matches(['\n', '\r']);
    let mut kept = text.to_owned();
    let mut plain = false;
    for _ in 0..ROUNDS {
        let escapes = html(&kept);
        if escapes.is_empty() {
            plain = true;
            break;
        }
        kept = inserted(&kept, &escapes);
    }
    kept = inserted(&kept, &headings(&kept));
    if !is_closed(&kept) {
        kept.push_str(&open_fence(&kept));
    }
    // Every change may give what stands beside it another meaning.
    let is_contained = plain && html(&kept).is_empty() && is_closed(&kept) && !has_high_heading(&kept);
    if is_contained { kept } else { fenced(text) }
}

/// Whether a heading could pass for one of the page's.
fn has_high_heading(text: &str) -> bool {
    parsed(text)
        .any(|(event, _)| matches!(event, Event::Start(Tag::Heading { level, .. }) if level as usize <= 2))
}

fn fenced(text: &str) -> String {
    let fence = fence(text);
    format!("{fence}text\n{text}\n{fence}")
}

/// Something put in at an offset.
type Insertion = (usize, String);

fn inserted(text: &str, insertions: &[Insertion]) -> String {
    let mut out = String::with_capacity(text.len() + insertions.len());
    let mut at = 0;
    for (offset, insertion) in insertions {
        out.push_str(text.get(at..*offset).unwrap_or_default());
        out.push_str(insertion);
        at = at.max(*offset);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

fn parsed(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    Parser::new_ext(text, options()).into_offset_iter()
}

/// A backslash before every `<` of raw HTML.
fn html(text: &str) -> Vec<Insertion> {
    let mut escapes = Vec::new();
    for (event, range) in parsed(text) {
        if matches!(event, Event::Html(_) | Event::InlineHtml(_)) {
            let part = text.get(range.clone()).unwrap_or_default();
            escapes.extend(part.match_indices('<').map(|(at, _)| (range.start + at, "\\".to_owned())));
        }
    }
    escapes
}

fn headings(text: &str) -> Vec<Insertion> {
    let mut changes = Vec::new();
    for (event, range) in parsed(text) {
        let Event::Start(Tag::Heading { level, .. }) = event else { continue };
        let part = text.get(range.clone()).unwrap_or_default();
        if is_marked_by_hashes(part.trim_start()) {
            let at = range.start + part.len() - part.trim_start().len();
            changes.push((at, "#".repeat(6 - (level as usize).clamp(4, 6))));
        } else {
            let end = part.trim_end();
            let line = end.trim_end_matches(['=', '-']).len();
            changes.push((range.start + line, "\\".to_owned()));
        }
    }
    changes
}

/// Whether a heading is one for its hashes. The text of one that is underlined may begin with a hash as well.
fn is_marked_by_hashes(heading: &str) -> bool {
    let behind = heading.trim_start_matches('#');
    (1..=6).contains(&(heading.len() - behind.len())) && behind.chars().next().is_none_or(char::is_whitespace)
}

/// What closes a fence that the end of the text leaves open.
fn open_fence(text: &str) -> String {
    let whole = format!("{text}{PROBE}");
    let mut closing = String::new();
    for (event, range) in parsed(&whole) {
        if matches!(event, Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_)))) && range.end > text.len() {
            let opening = whole.get(range).unwrap_or_default();
            let mark = if opening.starts_with('~') { '~' } else { '`' };
            closing = format!("\n{}", opening.chars().take_while(|c| *c == mark).collect::<String>());
        }
    }
    closing
}

/// Whether a paragraph behind the text is one.
fn is_closed(text: &str) -> bool {
    let whole = format!("{text}{PROBE}");
    let from = whole.len() - PROBE.trim_start().len();
    let mut depth = 0_usize;
    let mut found = false;
    for (event, range) in parsed(&whole) {
        match event {
            Event::Start(Tag::Paragraph) if depth == 0 => {
                found = range.start == from;
                depth += 1;
            }
            Event::Start(_) => depth += 1,
            Event::End(TagEnd::Paragraph) if depth == 1 => depth = 0,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_markdown_stays_as_it_is() {
        for text in [
            "Hello *there*, see `x` and <https://example.org>.",
            "- a\n- b\n\n  more\n\n| a | b |\n|---|---|\n| 1 | 2 |",
            "```rust\nfn main() {} // <html>\n```\n\n    indented <code>",
            "> quoted\n\n1. one\n2. two\n\n---\n\na < b && c > d",
        ] {
            assert_eq!(contain(text), text);
        }
    }

    #[test]
    fn headings_go_down_and_html_becomes_text() {
        assert_eq!(contain("# You · now\n\n##### Five"), "### You · now\n\n###### Five");
        assert_eq!(contain("You\n==="), "You\n\\===");
        assert_eq!(contain("a\nb\n---\nc"), "a\nb\n\\---\nc");
        assert_eq!(contain("<!-- open\n\nmore"), "\\<!-- open\n\nmore");
        assert_eq!(contain("see <b>this</b>"), "see \\<b>this\\</b>");
        assert_eq!(contain("<details>\n<script>x</script>"), "\\<details>\n\\<script>x\\</script>");
    }

    #[test]
    fn open_fences_are_closed() {
        assert_eq!(contain("```rust\nlet x"), "```rust\nlet x\n```");
        assert_eq!(contain("~~~~\n```\nx"), "~~~~\n```\nx\n~~~~");
        assert_eq!(contain("- a\n  ```\n  x"), "- a\n  ```\n  x", "the list's end closes it");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]
        #[test]
        fn no_message_reaches_beyond_itself(parts in prop::collection::vec(prop::sample::select(vec![
            "#", "# a", "\n", "\n\n", "```", "~~~~", "<!--", "-->", "<script>", "<div>", "</details>", "<?", "<![CDATA[", "<!X",
            "- ", "> ", "    ", "\t", "a", "===", "---", "| a |\n|--|\n", "[a]: b", "`", "``", "*", "\\", "1. ", "\\<", "&lt;", "é", " ",
        ]), 0..16)) {
            let text = parts.concat();
            let kept = contain(&text);
            prop_assert!(is_closed(&kept), "{kept:?}");
            prop_assert!(html(&kept).is_empty(), "{kept:?}");
            for (event, _) in parsed(&kept) {
                if let Event::Start(Tag::Heading { level, .. }) = event {
                    prop_assert!(level as usize > 2, "{kept:?}");
                }
            }
        }
    }
}
