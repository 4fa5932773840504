//! Titles: the first prompt's first line, made short.

/// The longest title, in characters, the ellipsis included.
pub const MAX_TITLE_CHARS: usize = 60;

/// Makes a title of a text: its first line that is not blank, white space collapsed, at most 60 characters ending in `…`.
/// None when nothing is left.
#[must_use]
pub fn title_of(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let mut title = String::new();
    let mut chars = 0;
    // Control characters would reach the terminal with every list.
    let words = line.split_whitespace().map(|w| w.chars().filter(|c| !c.is_control()).collect::<String>());
    for word in words.filter(|w| !w.is_empty()) {
        if !title.is_empty() {
            title.push(' ');
            chars += 1;
        }
        chars += word.chars().count();
        title.push_str(&word);
        if chars > MAX_TITLE_CHARS {
            let kept: String = title.chars().take(MAX_TITLE_CHARS - 1).collect();
            return Some(format!("{}…", kept.trim_end()));
        }
    }
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_collapsed_and_cut() {
        assert_eq!(title_of("\n\n  fix   the\tbug \nmore").as_deref(), Some("fix the bug"));
        assert_eq!(title_of(" \n\t\n"), None);
        assert_eq!(title_of("\u{1b}[31mred").as_deref(), Some("[31mred"));
        let long = title_of(&"ä".repeat(61)).unwrap();
        assert_eq!(long.chars().count(), 60);
        assert!(long.ends_with('…'));
        assert_eq!(title_of(&"ä".repeat(60)).unwrap().chars().count(), 60);
    }
}
