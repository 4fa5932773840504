//! Text and Markdown of a session as HTML.

use pulldown_cmark::{CowStr, Event, LinkType, Parser, Tag, TagEnd, html::push_html};

use crate::markdown::options;

/// Escapes what HTML would take for markup, in text and in quoted attributes.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Markdown as HTML: raw HTML is text, images are links to them, headings go down two levels, and links lead to the web or to mail only.
pub(super) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    push_html(&mut out, Parser::new_ext(text, options()).map(tame));
    out
}

fn tame(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
        Event::Start(Tag::Heading { level, .. }) => Event::Start(Tag::Heading {
            level: lower(level),
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        }),
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(lower(level))),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = safe(link_type, dest_url);
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        // A page that loads nothing shows no pictures of others.
        Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
            let dest_url = safe(link_type, dest_url);
            Event::Start(Tag::Link { link_type: LinkType::Inline, dest_url, title, id })
        }
        Event::End(TagEnd::Image) => Event::End(TagEnd::Link),
        other => other,
    }
}

fn lower(level: pulldown_cmark::HeadingLevel) -> pulldown_cmark::HeadingLevel {
    pulldown_cmark::HeadingLevel::try_from((level as usize + 2).min(6)).unwrap_or(level)
}

fn safe(link_type: LinkType, url: CowStr<'_>) -> CowStr<'_> {
    let lower = url.trim().to_ascii_lowercase();
    let is_safe = ["http://", "https://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme))
        || link_type == LinkType::Email;
    if is_safe { url } else { CowStr::Borrowed("#") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markdown_is_rendered_and_html_is_text() {
        assert_eq!(markdown("**a** <b>x</b>"), "<p><strong>a</strong> &lt;b&gt;x&lt;/b&gt;</p>\n");
        assert_eq!(markdown("<script>alert(1)</script>"), "&lt;script&gt;alert(1)&lt;/script&gt;");
        assert!(markdown("# Title").starts_with("<h3>Title"));
        assert!(markdown("[x](https://a.b)").contains("href=\"https://a.b\""));
        for bad in [
            "[x](javascript:alert(1))",
            "[x](JaVaScript:x)",
            "[x](data:text/html,x)",
            "[x](file:///etc)",
            "<javascript:x>",
        ] {
            assert!(!markdown(bad).to_lowercase().contains("href=\"java"), "{bad}");
            assert!(!markdown(bad).contains("data:text") || !markdown(bad).contains("href=\"data"), "{bad}");
        }
        assert!(!markdown("![x](https://a.b/c.png)").contains("<img"));
    }

    proptest! {
        #[test]
        fn no_tag_is_the_sessions(parts in prop::collection::vec(prop::sample::select(vec![
            "<script>", "</p>", "<img src=x onerror=y>", "\n\n", "`", "```\n", "[a](", "javascript:x", ")", "\"", "'", ">", "# ", "<!--", "-->",
            "&lt;", "- ", "| a |\n|--|\n", "<svg/onload=x>", "![", "](x \"", "a",
        ]), 0..14)) {
            let page = markdown(&parts.concat()).to_lowercase();
            for bad in ["<script", "<img", "<svg", "<!--", "href=\"javascript", "<iframe"] {
                prop_assert!(!page.contains(bad), "{page}");
            }
        }
    }
}
