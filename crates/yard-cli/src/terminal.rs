//! Whether standard output is a terminal, whether it shows colours, and which characters must never reach it.

#![allow(clippy::disallowed_methods, reason = "the command line is where the environment is read")]

use std::borrow::Cow;
use std::io::IsTerminal as _;

use anstyle::{AnsiColor, Style};
use yard_core::invisible::spell_out;

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// What standard output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terminal {
    /// Standard output is a terminal.
    pub(crate) is_there: bool,
    /// Output may have colours.
    pub(crate) coloured: bool,
}

impl Terminal {
    /// Standard output of this process.
    pub(crate) fn of_this_process(colour: Colour) -> Self {
        let is_there = std::io::stdout().is_terminal();
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let coloured = match colour {
            Colour::Auto => is_there && !dumb && !set("NO_COLOR"),
            Colour::Always => true,
            Colour::Never => false,
        };
        Self { is_there, coloured }
    }

    /// `text` in `style`, if output may have colours.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.coloured { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// A line of `text` in this style.
    pub(crate) fn line(self, style: Style, text: &str) -> String {
        self.paint(style, text) + "\n"
    }

    /// `text` as this output may show it: exact where a program reads, without control characters
    /// where a person does.
    pub(crate) fn show(self, text: &str) -> Cow<'_, str> {
        if self.is_there { visible(text) } else { Cow::Borrowed(text) }
    }
}

/// Headings.
pub(crate) const BOLD: Style = Style::new().bold();
/// Secondary information.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// Something that was added.
pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
/// Something that was removed.
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
/// Where something happened.
pub(crate) const PLACE: Style = AnsiColor::Cyan.on_default();
/// Ids.
pub(crate) const ID: Style = AnsiColor::Yellow.on_default();

/// How a line of a diff looks.
pub(crate) fn diff_style(line: &str) -> Style {
    match line.as_bytes().first() {
        Some(b'+') => ADDED,
        Some(b'-') => REMOVED,
        Some(b'@') => PLACE,
        Some(b'\\') => FAINT,
        _ => Style::new(),
    }
}

/// How the lines of diffs of several files look, read in order. Within a hunk `---` is the text of a removed line, and
/// before it the name of a file.
#[derive(Debug, Default)]
pub(crate) struct DiffStyles {
    /// Lines of the old and of the new side that the hunk still has.
    left: (u64, u64),
}

impl DiffStyles {
    /// The style of the next line.
    pub(crate) fn of(&mut self, line: &str) -> Style {
        let (old, new) = &mut self.left;
        if *old == 0 && *new == 0 {
            if let Some(counts) = hunk_counts(line) {
                self.left = counts;
                return PLACE;
            }
            let is_name = line.starts_with("--- ") || line.starts_with("+++ ");
            return if is_name { BOLD } else { diff_style(line) };
        }
        match line.as_bytes().first() {
            Some(b'-') => *old = old.saturating_sub(1),
            Some(b'+') => *new = new.saturating_sub(1),
            Some(b'\\') => {}
            _ => (*old, *new) = (old.saturating_sub(1), new.saturating_sub(1)),
        }
        diff_style(line)
    }
}

/// The counts of lines in `@@ -1,2 +1,3 @@`.
fn hunk_counts(line: &str) -> Option<(u64, u64)> {
    let mut sides = line.strip_prefix("@@ -")?.split(' ');
    let count = |side: &str| match side.split_once(',') {
        Some((_, count)) => count.parse().ok(),
        None => Some(1),
    };
    let old = count(sides.next()?)?;
    let new = count(sides.next()?.strip_prefix('+')?)?;
    Some((old, new))
}

/// Makes visible what cannot be seen. An escape sequence in a file name or a file must not move the cursor, change the
/// title of the window or hide a line, and a character that reverses the direction of text must not disguise a name.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    spell_out(text, false, escape)
}

/// As [`visible`], for one cell of a table: line breaks and tabs too.
pub(crate) fn visible_cell(text: &str) -> Cow<'_, str> {
    spell_out(text, true, escape)
}

fn escape(character: char) -> String {
    character.escape_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_in_a_diff_look_other_than_removed_and_added_lines() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-- y\n+++ z\n a\n--- a/w\n+++ /dev/null\n@@ -1 +0,0 @@\n-w";
        let mut styles = DiffStyles::default();
        let shown: Vec<Style> = diff.lines().map(|line| styles.of(line)).collect();
        let plain = Style::new();
        let first = [BOLD, BOLD, PLACE, REMOVED, ADDED, plain];
        assert_eq!(shown, [&first[..], &[BOLD, BOLD, PLACE, REMOVED]].concat());
    }

    #[test]
    fn escape_sequences_and_reversed_text_are_made_visible() {
        assert_eq!(visible("a\x1b[2Jb\tc\n"), "a\\u{1b}[2Jb\tc\n");
        assert_eq!(visible("x\u{202e}y\r\n"), "x\\u{202e}y\\r\n");
        assert_eq!(visible_cell("a\nb"), "a\\nb");
        assert_eq!(visible("rm a\u{200b}b\u{2028}\u{e0041}"), "rm a\\u{200b}b\\u{2028}\\u{e0041}");
        assert!(matches!(visible("plain Ä"), Cow::Borrowed(_)));
    }
}
