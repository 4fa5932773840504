//! Tables that fit the terminal.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::text::{cut, one_line};

/// A table: columns as wide as their widest cell, one of which gives way when the terminal is narrow.
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// The column that is cut, and the one that is cut next.
    elastic: usize,
}

impl Table {
    pub(crate) fn new(head: &[&'static str], elastic: usize) -> Self {
        Self { head: head.to_vec(), rows: Vec::new(), elastic }
    }

    pub(crate) fn row(&mut self, cells: &[String]) {
        self.rows.push(cells.iter().map(|cell| one_line(cell)).collect());
    }

    /// Writes the table; cut to `width` columns when people look at it.
    pub(crate) fn write(&self, out: &mut dyn Write, width: Option<usize>) -> io::Result<()> {
        let mut widths: Vec<usize> = self.head.iter().map(|h| h.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        if let Some(limit) = width {
            let total: usize = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
            if let Some(elastic) = widths.get_mut(self.elastic) {
                *elastic = elastic.saturating_sub(total.saturating_sub(limit)).max(8);
            }
        }
        let bold = anstyle::Style::new().bold();
        let head: Vec<String> = self.head.iter().map(|h| (*h).to_owned()).collect();
        writeln!(out, "{bold}{}{bold:#}", line(&head, &widths, width))?;
        for row in &self.rows {
            writeln!(out, "{}", line(row, &widths, width))?;
        }
        Ok(())
    }
}

fn line(cells: &[String], widths: &[usize], limit: Option<usize>) -> String {
    let mut text = String::new();
    for (n, (cell, width)) in cells.iter().zip(widths).enumerate() {
        if n > 0 {
            text.push_str("  ");
        }
        let cell = cut(cell, *width);
        text.push_str(&cell);
        text.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width())));
    }
    // A terminal narrower than the columns that don't give way: better cut than wrapped.
    let text = text.trim_end();
    limit.map_or_else(|| text.to_owned(), |limit| cut(text, limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fault 46: wide characters broke columns or were cut in the middle.
    #[test]
    fn tables_keep_their_columns_with_wide_characters() {
        let mut table = Table::new(&["ID", "TITLE", "N"], 1);
        table.row(&["a".into(), "日本語のとても長い題名です".into(), "1".into()]);
        table.row(&["b".into(), "short\nline".into(), "22".into()]);
        let mut out = Vec::new();
        table.write(&mut out, Some(20)).unwrap();
        let text = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.iter().all(|l| l.width() <= 20), "{lines:?}");
        let column = |l: &str, c: char| l.split(c).next().unwrap().width();
        assert_eq!(column(lines[1], '1'), column(lines[2], '2'));
    }
}
