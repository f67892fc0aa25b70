//! Finds the part of a line that is most similar to a text without a line break, however long the line is. One pass
//! over the file counts the characters that a part has in common with the text; only the best few parts are compared
//! closely.

use similar::{Algorithm, capture_diff_slices, diff_ratio};

use super::{CANDIDATES, Wording, visible};

/// A longer text is not looked for in parts of lines: as a line it would have been found.
const MAX_OLD_BYTES: usize = 400;
/// A shorter text is similar to too much.
const MIN_OLD_BYTES: usize = 3;
/// A less similar part is not reported.
const MIN_RATIO: f32 = 0.6;

/// A part of a line.
pub(super) struct Part<'a> {
    /// The line, from 0.
    line: usize,
    text: &'a str,
    /// How many characters of the line stand before it.
    before: usize,
}

/// The part that is most similar to `old`, if one is similar enough.
pub(super) fn closest<'a>(file: &[&'a str], old: &str) -> Option<Part<'a>> {
    if old.contains('\n') || !(MIN_OLD_BYTES..=MAX_OLD_BYTES).contains(&old.len()) {
        return None;
    }
    let mut sought = [0u16; 256];
    old.bytes().for_each(|byte| sought[usize::from(byte)] += 1);
    // Of equals the earlier line comes first, so that the answer is always the same.
    let mut best: Vec<(usize, usize, usize)> = Vec::new();
    for (number, line) in file.iter().enumerate() {
        let (common, start) = most_in_common(line.as_bytes(), &sought, old.len());
        if best.len() < CANDIDATES || common > best[best.len() - 1].0 {
            let at = best.partition_point(|(other, ..)| *other >= common);
            best.insert(at, (common, number, start));
            best.truncate(CANDIDATES);
        }
    }
    let wanted: Vec<char> = old.chars().collect();
    let rated = best.into_iter().map(|(_, line, start)| {
        let whole = file[line];
        let start = whole.floor_char_boundary(aligned(whole.as_bytes(), old.as_bytes(), start));
        let end = whole.ceil_char_boundary((start + old.len()).min(whole.len()));
        let text = &whole[start..end];
        let has: Vec<char> = text.chars().collect();
        let ratio = diff_ratio(
            &capture_diff_slices(Algorithm::Myers, &has, &wanted),
            has.len(),
            wanted.len(),
        );
        (ratio, Part { line, text, before: whole[..start].chars().count() })
    });
    let alike = rated.filter(|(ratio, _)| *ratio >= MIN_RATIO);
    let best = alike.reduce(|one, other| if other.0 > one.0 { other } else { one });
    best.map(|(_, part)| part)
}

/// How many bytes the part of so many bytes has in common with the text that has most, and where it begins.
fn most_in_common(line: &[u8], sought: &[u16; 256], length: usize) -> (usize, usize) {
    let mut here = [0u16; 256];
    let (mut common, mut most) = (0usize, (0, 0));
    for (end, byte) in line.iter().enumerate() {
        let byte = usize::from(*byte);
        common += usize::from(here[byte] < sought[byte]);
        here[byte] += 1;
        if let Some(gone) = end.checked_sub(length).map(|at| usize::from(line[at])) {
            here[gone] -= 1;
            common -= usize::from(here[gone] < sought[gone]);
        }
        if common > most.0 {
            most = (common, (end + 1).saturating_sub(length));
        }
    }
    most
}

/// Where, near `start`, most bytes of the line stand at the same place as in the text.
fn aligned(line: &[u8], old: &[u8], start: usize) -> usize {
    let nearby = start.saturating_sub(old.len())..=(start + old.len()).min(line.len());
    let same =
        |start: &usize| line[*start..].iter().zip(old).filter(|(one, other)| one == other).count();
    // Of equals the one where most characters are in common.
    nearby.max_by_key(|at| (same(at), *at == start)).unwrap_or(start)
}

impl Part<'_> {
    pub(super) fn describe(&self, old: &str, wording: &Wording<'_>) -> String {
        let before = match self.before {
            0 => String::new(),
            count => format!(", after {count} characters of it"),
        };
        format!(
            "{} was not found. The closest place is in line {}{before}: the file has `{}`, you sent `{}`. {}",
            wording.what,
            self.line + 1,
            visible(self.text, old),
            visible(old, self.text),
            wording.advice
        )
    }
}
