//! Patches as values: parsed from a unified diff, a git diff or a Begin/End Patch envelope, and applied by pure
//! functions. A path here is the text of the patch: nothing in this folder reads a disk, and nothing is changed if a
//! place is a guess (X3).
//!
//! [`parse`] reads either form, [`apply`] applies the section of one file to its bytes, and [`jobs`] are the parts of a
//! whole patch, to be applied to whatever holds files.

mod anchor;
mod apply;
mod check;
mod file_lines;
mod freeform;
mod indent;
mod names;
mod place;
mod reader;
mod suffix_array;
mod tree;
mod unified;

pub use apply::{Applied, AppliedHunk, apply, apply_within};
pub use check::check;
pub use names::diff_label;
pub use place::Pass;
pub use tree::{FileUpdate, Job, jobs};
pub(crate) use unified::{HunkHeader, hunk_header};

use crate::{Fault, FaultCode};

/// A patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Its sections, in the order in which they are written.
    pub files: Vec<FilePatch>,
}

/// The form in which a section was written. It decides how its hunks are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchForm {
    /// A unified diff, of git or of GNU diff.
    Unified,
    /// The Begin/End Patch envelope.
    Freeform,
}

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is added.
    Add,
    /// It is deleted.
    Delete,
    /// Its lines, its path or its mode change.
    Update,
}

/// How a file gets its new path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// It is renamed.
    Rename,
    /// It is copied. With [`Action::Delete`], which no parser makes: the file is deleted because it was a copy, and its
    /// hunks turn it into its source.
    Copy,
}

/// The section of a patch for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch {
    /// The form in which it was written.
    pub form: PatchForm,
    /// The line of the patch, from 1, with which it begins.
    pub line: usize,
    /// What happens.
    pub action: Action,
    /// The path before; none for an added file. Bytes that are no UTF-8 are `\xNN`.
    pub old_path: Option<String>,
    /// The path after; none for a deleted file.
    pub new_path: Option<String>,
    /// Why the two paths differ, if they do.
    pub transfer: Option<Transfer>,
    /// The mode that git says the file had, as git writes it (`0o100644`).
    pub old_mode: Option<u32>,
    /// The mode that git says it gets.
    pub new_mode: Option<u32>,
    /// Its changed places, in file order.
    pub hunks: Vec<Hunk>,
}

impl FilePatch {
    /// The path by which a message names this file.
    pub fn name(&self) -> &str {
        self.new_path.as_deref().or(self.old_path.as_deref()).unwrap_or_default()
    }
}

/// One changed place: a hunk of a unified diff, a chunk of an envelope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The line of the patch, from 1, with which it begins.
    pub line: usize,
    /// The line numbers of a unified diff.
    pub stated: Option<Stated>,
    /// The lines of the file that an envelope's `@@` lines name, from the outside to the inside.
    pub anchors: Vec<String>,
    /// Its lines.
    pub lines: Vec<HunkLine>,
    /// `*** End of File`: nothing of the file follows its last line.
    pub at_end: bool,
    /// The file ended in its last old line, without a newline.
    pub old_open: bool,
    /// The file shall end in its last new line, without a newline.
    pub new_open: bool,
}

impl Hunk {
    /// The lines that must be in the file.
    pub fn old_lines(&self) -> impl DoubleEndedIterator<Item = &str> {
        let old = self.lines.iter().filter(|line| line.sign != Sign::Add);
        old.map(|line| line.text.as_str())
    }

    /// The lines that replace them.
    pub fn new_lines(&self) -> impl DoubleEndedIterator<Item = &str> {
        let new = self.lines.iter().filter(|line| line.sign != Sign::Remove);
        new.map(|line| line.text.as_str())
    }
}

/// The line numbers of a hunk, as its header writes them: from 1, and for a side without lines the
/// line after which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stated {
    /// In the file as it was.
    pub old: usize,
    /// In the file as it becomes.
    pub new: usize,
}

/// One line of a hunk, without its sign and its `\n`; a `\r` that the patch spells out is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkLine {
    /// What becomes of it.
    pub sign: Sign,
    /// Its text.
    pub text: String,
}

/// The sign of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// The line stays.
    Context,
    /// The line is removed.
    Remove,
    /// The line is added.
    Add,
}

/// Why a text is no patch, or contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the patch: {message}")]
pub struct PatchError {
    /// The line of the patch, from 1.
    pub line: usize,
    /// What is wrong with it, and what was expected.
    pub message: String,
}

impl PatchError {
    fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

impl From<PatchError> for Fault {
    fn from(error: PatchError) -> Self {
        Fault::new(FaultCode::BadArgument, error.to_string())
    }
}

/// The message for a text that has neither form.
const EXPECTED_FORMS: &str = "this is no patch. Send a unified diff (`--- a/path`, `+++ b/path`, then \
    hunks that begin with `@@ -1,3 +1,4 @@`), or an envelope: a line `*** Begin Patch`, sections \
    that begin with `*** Add File: path`, `*** Update File: path` or `*** Delete File: path`, and \
    a line `*** End Patch`";

/// The message for a patch whose line breaks are escaped.
const ESCAPED_LINE_BREAKS: &str = "the whole patch is one line, in which its line breaks are written out as `\\n`: send real \
    line breaks";

/// Parses a patch in either form. The result passes [`check`].
pub fn parse(text: &str) -> Result<Patch, PatchError> {
    // No patch is a single line.
    if text.contains("\\n") && !text.trim().contains(['\n', '\r']) {
        return Err(PatchError::new(1, ESCAPED_LINE_BREAKS));
    }
    let patch = match form_of(text)? {
        PatchForm::Unified => unified::parse(text)?,
        PatchForm::Freeform => freeform::parse(text)?,
    };
    check(&patch)?;
    Ok(patch)
}

/// The form of a patch, by the first line that only one of the forms has.
fn form_of(text: &str) -> Result<PatchForm, PatchError> {
    let mut lines = text.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        let next = lines.peek().map_or("", |(_, next)| next);
        if unified::begins_section(line, next) {
            return Ok(PatchForm::Unified);
        }
        if freeform::is_header(line) {
            return Ok(PatchForm::Freeform);
        }
        if line.starts_with("*** ") && next.starts_with("--- ") {
            let message = "this is a context diff; send a unified one (`diff -u`)";
            return Err(PatchError::new(at + 1, message));
        }
    }
    match text.lines().position(|line| line.starts_with("@@")) {
        Some(at) => Err(PatchError::new(
            at + 1,
            format!(
                "a hunk, but no line above it says of which file. {}",
                sentence(EXPECTED_FORMS)
            ),
        )),
        None => Err(PatchError::new(1, EXPECTED_FORMS)),
    }
}

/// The same words with a capital at the start.
fn sentence(words: &str) -> String {
    let mut characters = words.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}
