//! `list_directory_with_sizes`: lists a directory with sizes.

use std::cmp::{Ordering, Reverse};

use schemars::JsonSchema;
use serde::Deserialize;
use yard_core::op::{Entry, List, Stat, Want};
use yard_core::{FaultCode, FileKind, Subject};

use super::list_directory::{mark, rest};
use super::{Reply, fault, host_paths};
use crate::relative;
use crate::tool::{Context, Stop, Tool, Work};

/// Get a detailed listing of all files and directories in a specified path, including sizes. Results clearly
/// distinguish between files and directories with [FILE] and [DIR] prefixes. Only works within allowed
/// directories.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListDirectoryWithSizes {
    /// The directory: an absolute path within an allowed directory, or one relative to it.
    path: String,
    /// Sort entries by name or size.
    #[serde(default)]
    sort_by: SortBy,
}

#[derive(Clone, Copy, Default, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SortBy {
    #[default]
    Name,
    Size,
}

/// One line, before it is written.
struct Line {
    name: String,
    mark: &'static str,
    /// A directory has none.
    size: Option<u64>,
}

impl Tool for ListDirectoryWithSizes {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "list_directory_with_sizes";
    const WORK: Work = Work::Walk;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = host_paths::parse(context, &args.path, Subject::Path)?;
        let listed = context.perform(List::own(path.clone()));
        let mut listing = listed.map_err(fault::of_system_call(context, "scandir", &path))?;
        listing.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let entries = listing.entries.iter().map(|entry| line(entry, context));
        let mut lines = entries.collect::<Result<Vec<_>, _>>()?;
        match args.sort_by {
            SortBy::Name => lines.sort_by(|a, b| by_letters(&a.name, &b.name)),
            // Directories have no size that is shown: they come last.
            SortBy::Size => lines.sort_by_key(|line| Reverse(line.size)),
        }
        let files: Vec<u64> = lines.iter().filter_map(|line| line.size).collect();
        let mut text: Vec<String> = lines.iter().map(written).collect();
        text.extend(rest(listing.entries.len(), listing.total));
        text.push(String::new());
        text.push(format!(
            "Total: {} files, {} directories",
            files.len(),
            lines.len() - files.len()
        ));
        text.push(format!("Combined size: {}", size(files.iter().sum())));
        Ok(text.join("\n").into())
    }
}

fn line(entry: &Entry, context: &Context<'_>) -> Result<Line, Stop> {
    let size = match entry.kind {
        Some(FileKind::Folder) => None,
        Some(FileKind::Link) => Some(target_size(entry, context)?),
        Some(FileKind::File) | None => Some(entry.size.unwrap_or(0)),
    };
    Ok(Line { name: relative::name(&entry.path), mark: mark(entry.kind), size })
}

/// A link that leads nowhere, or out of the workspace, has no size.
fn target_size(entry: &Entry, context: &Context<'_>) -> Result<u64, Stop> {
    let path = entry.path.clone();
    match context.perform(Stat { path, want: Want::default(), follow: true }) {
        Ok(target) => Ok(target.on_disk.map_or(target.entry.size.unwrap_or(0), |it| it.size)),
        Err(Stop::Fault(fault)) if fault.code() != FaultCode::Timeout => Ok(0),
        Err(stop) => Err(stop),
    }
}

fn written(line: &Line) -> String {
    // Columns are counted as JavaScript counts characters.
    let padding = 30_usize.saturating_sub(line.name.encode_utf16().count());
    let shown = line.size.map(|bytes| format!("{:>10}", size(bytes))).unwrap_or_default();
    format!("{} {}{} {shown}", line.mark, line.name, " ".repeat(padding))
}

/// Bytes, in the largest unit of which there is one.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let unit = (1..UNITS.len()).rev().find(|unit| bytes >> (10 * unit) > 0);
    match unit {
        None => format!("{bytes} B"),
        Some(unit) => {
            // Hundredths, rounded half up.
            let one = 1_u128 << (10 * unit);
            let hundredths = (u128::from(bytes) * 100 + one / 2) / one;
            format!("{}.{:02} {}", hundredths / 100, hundredths % 100, UNITS[unit])
        }
    }
}

/// The order of a dictionary: punctuation, digits, letters, whatever their case; lower case first only
/// where nothing else differs. Letters beyond ASCII come last.
fn by_letters(a: &str, b: &str) -> Ordering {
    const BEFORE: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789";
    let place = |letter: char| {
        let at = BEFORE.find(letter);
        at.map_or((1, letter.to_ascii_lowercase() as usize), |at| (0, at))
    };
    let folded = |text: &str| text.chars().map(place).collect::<Vec<_>>();
    let upper = |text: &str| text.chars().map(char::is_uppercase).collect::<Vec<_>>();
    folded(a).cmp(&folded(b)).then_with(|| upper(a).cmp(&upper(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_shown_in_their_unit() {
        let shown = [0, 1, 1023, 1024, 3200, 1 << 20, 3 << 40].map(size);
        assert_eq!(shown[..6], ["0 B", "1 B", "1023 B", "1.00 KB", "3.13 KB", "1.00 MB"]);
        assert_eq!(shown[6], "3.00 TB");
    }

    #[test]
    fn names_are_in_the_order_of_a_dictionary() {
        let mut names = ["a b", "b", "B", "a", "Z", "_x", "10", "2", "a.b", "ab", "é", ".a"];
        names.sort_by(|a, b| by_letters(a, b));
        assert_eq!(names, ["_x", ".a", "10", "2", "a", "a b", "a.b", "ab", "b", "B", "Z", "é"]);
    }
}
