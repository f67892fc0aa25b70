//! A table with aligned columns.

use unicode_width::UnicodeWidthStr as _;

use crate::terminal::{BOLD, FAINT, ID, Terminal, visible_cell};

/// Rows under a heading; the first column is painted as an id.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these headings.
    pub(crate) fn new(headings: &[&str]) -> Self {
        Self { rows: vec![headings.iter().map(|heading| (*heading).to_owned()).collect()] }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, cells: Vec<String>) {
        self.rows.push(cells.iter().map(|cell| visible_cell(cell).into_owned()).collect());
    }

    /// The lines, with two spaces between columns. The last column is not padded.
    pub(crate) fn render(&self, terminal: Terminal) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let last = column + 1 == row.len();
                let gap = if last { 0 } else { width - cell.width() + 2 };
                line.push_str(&match (number, column) {
                    (0, _) => terminal.paint(BOLD, cell),
                    (_, 0) => terminal.paint(ID, cell),
                    _ => cell.clone(),
                });
                line.push_str(&" ".repeat(gap));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// The lines, and below them a hint if there is one.
    pub(crate) fn render_with_hint(&self, terminal: Terminal, hint: Option<&str>) -> String {
        let mut text = self.render(terminal);
        text.extend(hint.map(|hint| terminal.line(FAINT, hint)));
        text
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.width()).max().unwrap_or(0)
        };
        (0..columns).map(width).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_lines_do_not_end_in_spaces() {
        let mut table = Table::new(&["ID", "PATH", "X"]);
        table.push(vec!["12345".into(), "/ä\n".into(), String::new()]);
        let plain = Terminal { is_there: false, coloured: false };
        assert_eq!(table.render(plain), "ID     PATH  X\n12345  /ä\\n\n");
        table.push(vec!["日本".into(), "wide".into(), "x".into()]);
        assert!(
            table.render(plain).ends_with("\n日本   wide  x\n"),
            "a wide character takes two columns"
        );
    }
}
