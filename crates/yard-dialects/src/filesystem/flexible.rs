//! Edits whose text differs from the file in the white space around its lines. The reference server takes the first of
//! several matches; here there must be exactly one.

use yard_core::op::EditAction;
use yard_core::{Fault, FaultCode, Subject};

/// Line numbers that are named when there are several places.
const MAX_PLACES: usize = 20;

/// The exact edits to try for `old` and `new`, if `old` matches lines of the text but for white space; none if it
/// matches none. The first edit may be ambiguous where the second, which is bound to whole lines, is not.
pub(super) fn edits(text: &str, old: &str, new: &str) -> Result<Vec<EditAction>, Fault> {
    let old_lines: Vec<&str> = old.split('\n').collect();
    if old_lines.iter().all(|line| line.trim().is_empty()) {
        return Ok(Vec::new());
    }
    let lines: Vec<&str> = text.split('\n').collect();
    let places = places(&lines, &old_lines);
    let at = match places.as_slice() {
        [] => return Ok(Vec::new()),
        [at] => *at,
        _ => return Err(not_unique(&places)),
    };
    let found = &lines[at..at + old_lines.len()];
    let new = reindented(found[0], &old_lines, new);
    let exact = found.join("\n");
    let (exact, end) = match exact.strip_suffix('\r') {
        Some(exact) => (exact, "\r\n"),
        None => (exact.as_str(), "\n"),
    };
    let mut actions = vec![replace(exact.to_owned(), new.clone())];
    actions.extend(bound(exact, &new, end, at > 0, at + found.len() < lines.len()));
    Ok(actions)
}

fn replace(old: String, new: String) -> EditAction {
    EditAction::Replace { old, new, all: false }
}

/// The same edit of whole lines; none if that would have to name line endings of both kinds.
fn bound(exact: &str, new: &str, end: &str, above: bool, below: bool) -> Option<EditAction> {
    let (before, after) = (if above { "\n" } else { "" }, if below { end } else { "" });
    let is_one_kind = end == "\n" && !exact.contains('\r');
    is_one_kind.then(|| replace([before, exact, after].concat(), [before, new, after].concat()))
}

/// The indexes at which the lines occur, whatever white space is around them. (Knuth, Morris and Pratt's search: its
/// time is proportional to the number of lines, however repetitive they are.)
fn places(lines: &[&str], old: &[&str]) -> Vec<usize> {
    let old: Vec<&str> = old.iter().map(|line| line.trim()).collect();
    let borders = borders(&old);
    let (mut places, mut matched) = (Vec::new(), 0);
    for (at, line) in lines.iter().map(|line| line.trim()).enumerate() {
        while matched > 0 && old.get(matched) != Some(&line) {
            matched = borders[matched - 1];
        }
        if old.get(matched) == Some(&line) {
            matched += 1;
        }
        if matched == old.len() {
            places.push(at + 1 - matched);
            matched = borders[matched - 1];
        }
    }
    places
}

/// For every beginning of the lines, how long the longest shorter run is that both begins and ends it.
fn borders(lines: &[&str]) -> Vec<usize> {
    let mut borders: Vec<usize> = Vec::with_capacity(lines.len());
    let mut matched = 0;
    for (at, line) in lines.iter().enumerate() {
        while matched > 0 && lines.get(matched) != Some(line) {
            matched = borders[matched - 1];
        }
        if at > 0 && lines.get(matched) == Some(line) {
            matched += 1;
        }
        borders.push(matched);
    }
    borders
}

fn not_unique(places: &[usize]) -> Fault {
    let named: Vec<String> =
        places.iter().take(MAX_PLACES).map(|at| (at + 1).to_string()).collect();
    let message = format!(
        "oldText does not stand in the file exactly, and with other white space it is at {} places, \
         beginning on lines {}; include more of the lines around the place you mean, exactly as they are",
        places.len(),
        named.join(", ")
    );
    Fault::new(FaultCode::TextNotUnique, message).about(Subject::Find)
}

/// The new lines, indented as the first line that they replace, and relative to each other as they came.
fn reindented(first: &str, old: &[&str], new: &str) -> String {
    let base = indentation(first);
    let lines = new.split('\n').enumerate().map(|(at, line)| {
        if at == 0 {
            return format!("{base}{}", line.trim_start());
        }
        let before = old.get(at).map_or("", |old| indentation(old)).chars().count();
        let now = indentation(line).chars().count();
        match before > 0 && now > 0 {
            true => {
                let more = " ".repeat(now.saturating_sub(before));
                format!("{base}{more}{}", line.trim_start())
            }
            false => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plainest(text: &str, old: &str, new: &str) -> Option<(String, String)> {
        match edits(text, old, new).unwrap().into_iter().next()? {
            EditAction::Replace { old, new, .. } => Some((old, new)),
            EditAction::Insert { .. } => None,
        }
    }

    #[test]
    fn one_place_is_found_whatever_the_white_space() {
        let meant = |old: &str, new: &str| Some((old.to_owned(), new.to_owned()));
        let text = "fn f() {\n    if x {\n        y();\n    }\n}\n";
        assert_eq!(
            plainest(text, "if x {\n  y();\n}", "if z {\n  y();\n}"),
            meant("    if x {\n        y();\n    }", "    if z {\n    y();\n}")
        );
        assert_eq!(plainest("a\r\n  b\r\nc\r\n", "b ", "B"), meant("  b", "  B"));
        assert_eq!(plainest(text, "nothing", "x"), None);
        assert_eq!(plainest("a\n\nb\n", "  ", "x"), None);
    }

    #[test]
    fn the_places_are_those_of_a_slow_search() {
        for bits in 0..1u32 << 10 {
            let line = |at: u32| if bits >> at & 1 == 1 { " a" } else { "b " };
            let lines: Vec<&str> = (0..7).map(line).collect();
            let old: Vec<&str> = (7..10).map(line).collect();
            let slow = lines.windows(3).enumerate().filter(|(_, window)| *window == old);
            let slow: Vec<usize> = slow.map(|(at, _)| at).collect();
            assert_eq!(places(&lines, &old), slow, "{lines:?} {old:?}");
        }
        assert_eq!(places(&["a"], &["a", "b"]), Vec::<usize>::new());
    }

    #[test]
    fn several_places_are_refused_by_line() {
        let fault = edits("  a\nb\n\ta\n", "a ", "x").unwrap_err();
        assert_eq!(fault.code(), FaultCode::TextNotUnique);
        assert!(fault.message().contains("lines 1, 3"), "{fault}");
    }
}
