//! Text as GNU `cat` displays it (W13): ends of lines, tabs, numbers, squeezed blank lines.

use std::fmt::Write as _;

/// Which invisible characters are displayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// `$` before each newline, and a carriage return there as `^M` (`-E`).
    pub(super) ends: bool,
    /// A tab as `^I` (`-T`).
    pub(super) tabs: bool,
    /// One blank line for several in a row (`-s`).
    pub(super) squeeze: bool,
    /// Each line with its number in the file (`-n`; with `squeeze`, `cat` counts what it prints).
    pub(super) numbers: bool,
}

/// A displayed text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Displayed {
    pub(super) text: String,
    /// Displayed lines.
    pub(super) shown: u64,
    /// Lines of the source, squeezed ones included.
    pub(super) taken: u64,
}

/// Displays whole lines of `source`, whose first has the number `first_line` counted from 0, as long as they fit into
/// `max_bytes`; the first line is always displayed.
pub(super) fn display(source: &str, first_line: u64, marks: Marks, max_bytes: usize) -> Displayed {
    let mut displayed = Displayed::default();
    let mut after_blank = false;
    for line in source.split_inclusive('\n') {
        let blank = line == "\n";
        if !(marks.squeeze && blank && after_blank) {
            let end = displayed.text.len();
            push_line(&mut displayed.text, line, first_line + displayed.taken + 1, marks);
            if end > 0 && displayed.text.len() > max_bytes {
                displayed.text.truncate(end);
                break;
            }
            displayed.shown += 1;
        }
        displayed.taken += 1;
        after_blank = blank;
    }
    displayed
}

fn push_line(text: &mut String, line: &str, number: u64, marks: Marks) {
    if marks.numbers {
        // Writing to a string does not fail.
        let _ = write!(text, "{number:>6}\t");
    }
    let (body, end) = match line.strip_suffix('\n') {
        Some(body) => (body, "\n"),
        None => (line, ""),
    };
    let ended = marks.ends && !end.is_empty();
    let (body, carriage) = match body.strip_suffix('\r') {
        Some(body) if ended => (body, "^M"),
        _ => (body, ""),
    };
    if marks.tabs {
        text.push_str(&body.replace('\t', "^I"));
    } else {
        text.push_str(body);
    }
    text.push_str(carriage);
    text.push_str(if ended { "$" } else { "" });
    text.push_str(end);
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use proptest::prelude::*;

    use super::*;

    fn all(source: &str, marks: Marks) -> String {
        display(source, 0, marks, usize::MAX).text
    }

    /// What the real one prints.
    #[allow(clippy::disallowed_methods, reason = "the real `cat` is what is compared with")]
    fn gnu_cat(source: &str, marks: Marks) -> String {
        let mut command = Command::new("cat");
        for (flag, on) in
            [("-E", marks.ends), ("-T", marks.tabs), ("-s", marks.squeeze), ("-n", marks.numbers)]
        {
            if on {
                command.arg(flag);
            }
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    }

    fn marks() -> impl Strategy<Value = Marks> {
        any::<(bool, bool, bool, bool)>().prop_map(|(ends, tabs, squeeze, numbers)| Marks {
            ends,
            tabs,
            squeeze,
            numbers,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn w13_prints_what_gnu_cat_prints(source in "[a\n\t\r é]{0,24}", marks in marks()) {
            // The one departure: numbers are the file's own, also where blank lines were squeezed.
            prop_assume!(!(marks.squeeze && marks.numbers));
            prop_assert_eq!(all(&source, marks), gnu_cat(&source, marks));
        }

        #[test]
        fn w13_squeezed_lines_keep_their_numbers(source in "[a\n\t]{0,24}", ends in any::<bool>()) {
            let marks = Marks { ends, squeeze: true, numbers: true, tabs: false };
            let numbered = gnu_cat(&source, Marks { squeeze: false, ..marks });
            let mut after_blank = false;
            let kept = numbered.split_inclusive('\n').zip(source.split_inclusive('\n')).filter(|(_, line)| {
                let squeezed = *line == "\n" && after_blank;
                after_blank = *line == "\n";
                !squeezed
            });
            prop_assert_eq!(all(&source, marks), kept.map(|(shown, _)| shown).collect::<String>());
        }

        #[test]
        fn r12_what_is_displayed_fits_or_is_one_line(
            source in "[a\n\t]{0,40}", marks in marks(), max_bytes in 0usize..40,
        ) {
            let displayed = display(&source, 3, marks, max_bytes);
            prop_assert!(displayed.text.len() <= max_bytes || displayed.shown == 1);
            prop_assert_eq!(displayed.taken > 0, !source.is_empty());
            // What is left displays as the whole does, apart from squeezing across the cut.
            let rest: String = source.split_inclusive('\n').skip(displayed.taken as usize).collect();
            if !marks.squeeze {
                let rest = display(&rest, 3 + displayed.taken, marks, usize::MAX).text;
                prop_assert_eq!(displayed.text + &rest, display(&source, 3, marks, usize::MAX).text);
            }
        }
    }

    #[test]
    fn w13_numbers_are_the_file_s_own() {
        let marks = Marks { numbers: true, ..Marks::default() };
        assert_eq!(display("a\nb\n", 100, marks, usize::MAX).text, "   101\ta\n   102\tb\n");
        assert_eq!(display("a", 999_999, marks, usize::MAX).text, "1000000\ta");
    }

    #[test]
    fn w13_every_mark() {
        let marks = Marks { ends: true, tabs: true, ..Marks::default() };
        assert_eq!(all("\ta \r\nb\r", marks), "^Ia ^M$\nb\r");
    }
}
