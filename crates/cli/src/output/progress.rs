//! Progress of long work: a bar on stderr, drawn only on a terminal.

use indicatif::{ProgressBar, ProgressStyle};

use crate::context::Context;

/// A bar that counts bytes.
pub(crate) fn bytes_bar(context: &Context, what: &str) -> ProgressBar {
    styled(context, 0, &format!("{what} {{wide_bar}} {{bytes}}/{{total_bytes}} {{bytes_per_sec}}"))
}

/// A bar that counts things.
pub(crate) fn count_bar(context: &Context, what: &str, total: u64) -> ProgressBar {
    styled(context, total, &format!("{what} {{wide_bar}} {{pos}}/{{len}}"))
}

fn styled(context: &Context, total: u64, template: &str) -> ProgressBar {
    if !context.shows_progress() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(total);
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
