//! Texts that the program puts around or in place of what a person typed.

/// Elements that may stand before or after a prompt in the same text; without them it is what was typed.
const AROUND: &[&str] = &["ide_opened_file", "ide_selection", "ide_diagnostics", "system-reminder"];

/// Elements that make a text the program's own.
const OWN: &[&str] = &[
    "command-name",
    "command-message",
    "command-args",
    "command-contents",
    "local-command-stdout",
    "local-command-stderr",
    "local-command-caveat",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
];

/// Elements in which other agents and background tasks speak.
const OTHERS: &[&str] = &["teammate-message", "task-notification"];

/// What was typed: the text without the elements around it. Empty when nothing else is there.
pub(super) fn typed(text: &str) -> &str {
    let mut rest = text;
    while let Some(shorter) = AROUND.iter().find_map(|name| without_first(rest, name)) {
        rest = shorter;
    }
    while let Some(shorter) = AROUND.iter().find_map(|name| without_last(rest, name)) {
        rest = shorter;
    }
    if rest.len() == text.len() { text } else { rest.trim() }
}

/// Whether the program wrote this text.
pub(super) fn is_own(text: &str) -> bool {
    text.trim_start().starts_with("[Request interrupted by user")
        || OWN.iter().any(|name| begins_with(text, name))
}

/// Whether another agent or a background task wrote this text.
pub(super) fn is_others(text: &str) -> bool {
    OTHERS.iter().any(|name| begins_with(text, name))
}

fn begins_with(text: &str, name: &str) -> bool {
    text.trim_start()
        .strip_prefix('<')
        .and_then(|rest| rest.strip_prefix(name))
        .is_some_and(|rest| rest.starts_with(|c: char| c == '>' || c.is_whitespace()))
}

fn without_first<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    if !begins_with(text, name) {
        return None;
    }
    text.split_once(&format!("</{name}>")).map(|(_, rest)| rest)
}

fn without_last<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let before = text.trim_end().strip_suffix(&format!("</{name}>"))?;
    before.rsplit_once(&format!("<{name}>")).map(|(rest, _)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed() {
        assert_eq!(typed(" as it is \n"), " as it is \n");
        assert_eq!(typed("<ide_opened_file>a.rs</ide_opened_file>\nfix it"), "fix it");
        assert_eq!(
            typed(
                "<ide_selection>x</ide_selection><system-reminder>r</system-reminder> go <b> <system-reminder>q</system-reminder>\n"
            ),
            "go <b>"
        );
        assert_eq!(typed("<system-reminder>only</system-reminder>"), "");
        assert_eq!(typed("<ide_selection>never closed"), "<ide_selection>never closed");
        assert_eq!(typed("<ide_selectionist>x</ide_selectionist>"), "<ide_selectionist>x</ide_selectionist>");
    }

    #[test]
    fn whose_text_it_is() {
        assert!(
            is_own("<command-name>/model</command-name>")
                && is_own("\n<local-command-stdout></local-command-stdout>")
        );
        assert!(
            !is_own("run <command-name>")
                && is_others("<teammate-message teammate_id=\"lead\">x</teammate-message>")
        );
    }
}
