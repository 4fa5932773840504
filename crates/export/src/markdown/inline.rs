//! Text of a session in a line of ours: escaped, or as code.

/// Escapes what Markdown or HTML would take for markup. The text has to be on one line.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let markup = match c {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '#' | '!' => true,
            // Inside a word it is no markup, and names of files are full of it.
            '_' => !(before.is_alphanumeric() && chars.peek().is_some_and(|next| next.is_alphanumeric())),
            _ => false,
        };
        if markup {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}

fn longest_run(text: &str, of: char) -> usize {
    text.split(|c| c != of).map(str::len).max().unwrap_or(0)
}

/// The text as code in a line. It has to be on one line.
pub(super) fn code(text: &str) -> String {
    let ticks = "`".repeat(longest_run(text, '`') + 1);
    let blank = |c: char| c == '`' || c == ' ';
    let pad = if text.is_empty() || text.starts_with(blank) || text.ends_with(blank) { " " } else { "" };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// A fence that no line of the text can close.
pub(super) fn fence(text: &str) -> String {
    "`".repeat((longest_run(text, '`') + 1).max(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped_and_names_stay_readable() {
        assert_eq!(escape("fix_the_bug in <b> *now* _x_"), r"fix_the_bug in \<b\> \*now\* \_x\_");
        assert_eq!(escape("[a](javascript:x) &lt; #"), r"\[a\](javascript:x) \&lt; \#");
    }

    #[test]
    fn code_holds_any_line() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`a"), "`` `a ``");
        assert_eq!(fence("a\n````\nb"), "`````");
    }
}
