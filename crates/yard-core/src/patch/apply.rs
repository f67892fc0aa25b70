//! Applies one section of a patch to the bytes of one file (R5, X3). Every byte that no hunk names stays the same:
//! lines keep their own endings, context keeps its own spelling, and a missing newline at the end of the file stays
//! missing unless the patch says otherwise. If a hunk has no unique place, nothing is changed, and the fault says
//! enough for a next patch that succeeds (R10).
//!
//! It differs from `git apply`: a missing newline at the end of the file or of the patch is no reason to refuse; nor
//! are drifted lines, white space and fuzz, as long as the place is unique. A hunk that git would put at the nearest
//! of several places is refused; a hunk without context at an end need not be at that end of the file. Lines that are
//! added without any context take the ending of most lines of the file, whatever the patch has.

use std::cell::OnceCell;

use crate::lines;
use crate::replace::diagnosis::{self, Wording};
use crate::text::{Encoding, LineEnding, NotText, Text, byte_order_mark, ending_of};
use crate::{Bounds, Fault, FaultCode, Result, Subject};

use super::file_lines::FileLines;
use super::indent::Shift;
use super::place::{HunkPlace, Pass, PlaceError, Progress, find_place, stated_start};
use super::{Action, FilePatch, Hunk, PatchForm, Sign, Transfer};

/// Most line numbers that a message names when a hunk occurs in several places.
const MAX_PLACES: usize = 100;

/// The result of applying a section to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The new content; empty for a deleted file.
    pub content: Vec<u8>,
    /// Where each hunk was applied, in order.
    pub hunks: Vec<AppliedHunk>,
}

/// Where a hunk was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppliedHunk {
    /// The line of the old file, from 1, at which its lines begin; for lines that are only added, the line before them.
    pub line: u64,
    /// What had to be ignored to find the place.
    pub pass: Pass,
}

/// Does a section's changes to a file's bytes. Renaming, copying and modes are the caller's.
///
/// `bytes` are the content at the old path; of a file that comes to be they do not matter. A
/// section without hunks takes any bytes, text or not.
pub fn apply(bytes: &[u8], file: &FilePatch) -> Result<Applied> {
    apply_within(bytes, file, Bounds::NONE)
}

/// As [`apply`], within bounds.
pub fn apply_within(bytes: &[u8], file: &FilePatch, bounds: Bounds<'_>) -> Result<Applied> {
    bounds.check()?;
    match file.action {
        Action::Add => Ok(added(file)),
        Action::Delete => deleted(bytes, file, bounds),
        Action::Update => updated(bytes, file, bounds),
    }
}

fn added(file: &FilePatch) -> Applied {
    let mut content = String::new();
    for hunk in &file.hunks {
        for line in hunk.new_lines() {
            content.push_str(line);
            content.push('\n');
        }
        if hunk.new_open {
            content.pop();
        }
    }
    let landed = AppliedHunk { line: 1, pass: Pass::Stated };
    Applied { content: content.into_bytes(), hunks: vec![landed; file.hunks.len()] }
}

/// A unified diff names all that it deletes, so that nothing else is lost.
fn deleted(bytes: &[u8], file: &FilePatch, bounds: Bounds<'_>) -> Result<Applied> {
    if file.form == PatchForm::Freeform {
        return Ok(Applied { content: Vec::new(), hunks: Vec::new() });
    }
    let applied = updated(bytes, file, bounds)?;
    // When all lines of a file with a byte order mark are gone, the mark is left.
    let is_gone = byte_order_mark(&applied.content).len() == applied.content.len();
    if !is_gone && file.transfer != Some(Transfer::Copy) {
        let message = format!(
            "{}: the patch (line {}) deletes the file, but the file has lines that the patch does \
             not name ({} of them). Nothing was changed. Read the file again, and name all of its \
             lines.",
            file.name(),
            file.line,
            lines::count(&applied.content)
        );
        return Err(Fault::new(FaultCode::TextNotFound, message).about(Subject::Find));
    }
    Ok(Applied { content: Vec::new(), ..applied })
}

fn updated(bytes: &[u8], file: &FilePatch, bounds: Bounds<'_>) -> Result<Applied> {
    if file.hunks.is_empty() {
        return Ok(Applied { content: bytes.to_vec(), hunks: Vec::new() });
    }
    let mut text = match Text::parse(bytes) {
        // Tools that do not know byte order marks make them part of the first line, and so of a diff.
        Ok(text) if text.encoding == Encoding::Utf8Bom && names_mark(file) => {
            return patched(bytes, file, bounds);
        }
        Ok(text) => text,
        // A patch changes whole lines, so invalid bytes in other lines can stay as they are.
        Err(NotText::Lossy(Encoding::Utf8)) => return patched(bytes, file, bounds),
        Err(NotText::Lossy(Encoding::Utf8Bom)) => return patched_after_bom(bytes, file, bounds),
        Err(reason) => {
            let message = format!(
                "{}: the file is {reason}; it cannot be patched as text. Leave it out of the patch",
                file.name()
            );
            return Err(Fault::new(FaultCode::Binary, message));
        }
    };
    let applied = patched(text.body.as_bytes(), file, bounds)?;
    text.body = String::from_utf8(applied.content)
        .map_err(|_| Fault::new(FaultCode::Binary, "the patched file is no text"))?;
    let content = text.to_bytes().map_err(|missing| {
        let message = format!(
            "{}: {missing}, which is the encoding of the file. Nothing was changed. Write the \
             patch without this character.",
            file.name()
        );
        Fault::new(FaultCode::BadArgument, message).about(Subject::Replacement)
    })?;
    Ok(Applied { content, hunks: applied.hunks })
}

/// Whether the section names the byte order mark as the start of a line that must be there.
fn names_mark(file: &FilePatch) -> bool {
    file.hunks.iter().any(|hunk| hunk.old_lines().any(|line| line.starts_with('\u{feff}')))
}

fn patched_after_bom(bytes: &[u8], file: &FilePatch, bounds: Bounds<'_>) -> Result<Applied> {
    let (mark, body) = bytes.split_at(byte_order_mark(bytes).len());
    let applied = patched(body, file, bounds)?;
    Ok(Applied { content: [mark, &applied.content].concat(), hunks: applied.hunks })
}

/// Applies the hunks to a body whose `\n` is one byte.
fn patched(body: &[u8], file: &FilePatch, bounds: Bounds<'_>) -> Result<Applied> {
    let file_lines = FileLines::new(body, bounds).map_err(stopped)?;
    let mut output = Output {
        file_lines: &file_lines,
        bytes: Vec::with_capacity(body.len()),
        ending: OnceCell::new(),
    };
    let mut progress = Progress::default();
    let mut hunks = Vec::with_capacity(file.hunks.len());
    for (number, hunk) in file.hunks.iter().enumerate() {
        bounds.check()?;
        bounds.check_size(output.bytes.len())?;
        let place =
            find_place(&file_lines, file.form, hunk, progress).map_err(
                |missing| match missing {
                    PlaceError::Stopped(fault) => fault,
                    missing => Unplaced { file_lines: &file_lines, file, number, missing }.fault(),
                },
            )?;
        output.copy(progress.cursor..place.start);
        progress.cursor = output.write(hunk, &place);
        progress.drift = drift(hunk, &place);
        hunks.push(landed(hunk, &place));
    }
    output.copy(progress.cursor..file_lines.len());
    Ok(Applied { content: output.bytes, hunks })
}

/// The fault with which work on the lines of a file was stopped.
fn stopped(missing: PlaceError) -> Fault {
    match missing {
        PlaceError::Stopped(fault) => fault,
        _ => Fault::new(FaultCode::Io, "the lines of the file could not be told"),
    }
}

/// By how many lines the hunk is off its stated line.
fn drift(hunk: &Hunk, place: &HunkPlace) -> isize {
    let first = place.start.saturating_sub(place.kept.start);
    let signed = |line: usize| isize::try_from(line).unwrap_or(isize::MAX);
    stated_start(hunk).map_or(0, |stated| signed(first) - signed(stated))
}

fn landed(hunk: &Hunk, place: &HunkPlace) -> AppliedHunk {
    let only_adds = hunk.old_lines().next().is_none();
    let line = if only_adds { place.start } else { place.start + 1 };
    AppliedHunk { line: line as u64, pass: place.pass }
}

/// The new body, as far as it is written.
struct Output<'a, 'b> {
    file_lines: &'a FileLines<'b>,
    bytes: Vec<u8>,
    /// The ending of most lines of the file, once it was asked for.
    ending: OnceCell<Option<LineEnding>>,
}

impl Output<'_, '_> {
    fn copy(&mut self, lines: std::ops::Range<usize>) {
        let range = self.file_lines.offset(lines.start)..self.file_lines.offset(lines.end);
        self.bytes.extend_from_slice(self.file_lines.body().get(range).unwrap_or_default());
    }

    /// Writes a hunk at its place; returns the line of the file after its last one.
    fn write(&mut self, hunk: &Hunk, place: &HunkPlace) -> usize {
        let lines = hunk.lines.get(place.kept.clone()).unwrap_or_default();
        let style = Style::new(self, hunk, place);
        let mut at = place.start;
        let begun = self.bytes.len();
        let mut last = None;
        let last_added = lines.iter().rposition(|line| line.sign == Sign::Add);
        for (number, line) in lines.iter().enumerate() {
            if line.sign == Sign::Add {
                self.finish_line(style.ending);
                // The `\r` of a line that has no ending is a character like others.
                let is_open = hunk.new_open && last_added == Some(number);
                let text = if is_open { line.text.as_str() } else { style.content(&line.text) };
                style.write(text, &mut self.bytes);
            } else {
                if line.sign == Sign::Context {
                    self.finish_line(style.ending);
                    self.bytes.extend_from_slice(self.file_lines.raw(at));
                }
                at += 1;
            }
            last = Some(line.sign).filter(|sign| *sign != Sign::Remove).or(last);
        }
        if at == self.file_lines.len() && last.is_some() && self.bytes.len() > begun {
            self.end(hunk, last == Some(Sign::Add), &style);
        }
        at
    }

    /// Adds the missing ending of the last line, so that the next bytes do not become part of it.
    fn finish_line(&mut self, ending: LineEnding) {
        if self.bytes.last().is_some_and(|last| *last != b'\n') {
            self.bytes.extend_from_slice(ending.as_str().as_bytes());
        }
    }

    /// Adds or removes the newline at the end of the file: as it was before, unless the patch changes that.
    fn end(&mut self, hunk: &Hunk, ends_in_added: bool, style: &Style<'_>) {
        let was_open = self.file_lines.body().last().is_some_and(|last| *last != b'\n');
        let open = match hunk.old_open == hunk.new_open {
            true if !ends_in_added => return,
            // An empty file has no end that could stay as it was.
            true if self.file_lines.len() == 0 => hunk.new_open,
            true => was_open,
            false => hunk.new_open,
        };
        if !open {
            return self.finish_line(style.ending);
        }
        let popped = self.bytes.pop_if(|last| *last == b'\n').is_some();
        if popped && style.ending == LineEnding::CrLf && !style.spelled_out {
            self.bytes.pop_if(|last| *last == b'\r');
        }
    }

    fn file_ending(&self) -> Option<LineEnding> {
        *self.ending.get_or_init(|| ending_of(self.file_lines.body()))
    }
}

/// How added lines are written at one place.
struct Style<'a> {
    ending: LineEnding,
    /// The lines of the patch have the endings of the file, so those of its added lines are used, too; or the file has
    /// no line ending.
    spelled_out: bool,
    shift: Option<Shift<'a>>,
}

impl<'a> Style<'a> {
    fn new(output: &Output<'_, 'a>, hunk: &'a Hunk, place: &HunkPlace) -> Self {
        let file_lines = output.file_lines;
        let kept = hunk.lines.get(place.kept.clone()).unwrap_or_default();
        let old = || kept.iter().filter(|line| line.sign != Sign::Add);
        let pairs = || old().zip(place.start..).map(|(line, at)| (line.text.as_str(), at));
        let spelled = |(text, at): (&str, usize)| {
            let raw = file_lines.raw(at);
            raw.strip_suffix(b"\n").unwrap_or(raw) == text.as_bytes()
        };
        let count = old().count();
        let here = ending_of(file_lines.raw_lines(place.start..place.start + count));
        let ending = here.or_else(|| output.file_ending());
        // A last line without an ending spells out none.
        let spelled_out = ending.is_none() || here.is_some() && pairs().all(spelled);
        let ending = ending.unwrap_or(LineEnding::Lf);
        let indented = |(text, at)| Some((text, std::str::from_utf8(file_lines.content(at)).ok()?));
        let shift = Shift::new(pairs().filter_map(indented));
        Self { ending, spelled_out, shift: Some(shift).filter(|shift| !shift.is_none()) }
    }

    /// A line of the patch as it is written: without its `\r`, if the file's own ending is used.
    fn content<'t>(&self, text: &'t str) -> &'t str {
        if self.spelled_out { text } else { text.strip_suffix('\r').unwrap_or(text) }
    }

    fn write(&self, text: &str, bytes: &mut Vec<u8>) {
        let shifted = self.shift.as_ref().map(|shift| shift.apply(text));
        bytes.extend_from_slice(shifted.as_deref().unwrap_or(text).as_bytes());
        let ending = if self.spelled_out { LineEnding::Lf } else { self.ending };
        bytes.extend_from_slice(ending.as_str().as_bytes());
    }
}

/// A hunk without a unique place.
struct Unplaced<'a, 'b> {
    file_lines: &'a FileLines<'b>,
    file: &'a FilePatch,
    /// From 0.
    number: usize,
    missing: PlaceError,
}

impl Unplaced<'_, '_> {
    fn fault(&self) -> Fault {
        let code = match self.missing {
            PlaceError::Several(..) | PlaceError::Anchors(..) => FaultCode::TextNotUnique,
            _ => FaultCode::TextNotFound,
        };
        let message = format!("{}: {} Nothing was changed.", self.file.name(), self.explanation());
        Fault::new(code, message).about(Subject::Find)
    }

    fn hunk(&self) -> &Hunk {
        // It is the number of a hunk of this file.
        &self.file.hunks[self.number]
    }

    fn subject(&self) -> String {
        let noun = match self.file.form {
            PatchForm::Unified => "hunk",
            PatchForm::Freeform => "chunk",
        };
        format!("{noun} {} (line {} of the patch)", self.number + 1, self.hunk().line)
    }

    fn explanation(&self) -> String {
        let subject = self.subject();
        match &self.missing {
            PlaceError::Nowhere => {
                let advice =
                    "Write the context and the `-` lines exactly as they stand in the file.";
                self.nearest(&subject, &old_text(self.hunk()), advice)
            }
            PlaceError::Anchor(anchor) => {
                let advice = "Write after `@@` a whole line of the file, or nothing.";
                self.nearest(&format!("the `@@` line of {subject}"), anchor, advice)
            }
            PlaceError::Before(line) => format!(
                "{subject} stands at line {}, which is before the end of the one above it. Write \
                 them in the order of the file.",
                line + 1
            ),
            PlaceError::Done(line) => format!(
                "{subject} was not found, but what it changes its lines to stands at line {}: it \
                 seems to be done already. Leave it out.",
                line + 1
            ),
            PlaceError::NotBelow(line) => format!(
                "{subject} stands at line {}, which is not below the line that its `@@` names. \
                 Name a line above it, or none.",
                line + 1
            ),
            PlaceError::NotAtEnd(line) => format!(
                "{subject} stands at line {}, but the file goes on after it, and the patch says \
                 that it ends there. Leave that out, or add the lines that follow.",
                line + 1
            ),
            PlaceError::Several(lines, pass) => self.several(&subject, lines, *pass),
            PlaceError::Anchors(anchor, lines) => format!(
                "the line `{anchor}` of {subject} stands {}; it must name one. Put an `@@` line of \
                 the class or function around it above it, or add context.",
                places(lines)
            ),
            PlaceError::Unanchored => format!(
                "{subject} names no line of the file, and its line number is not to be trusted: it \
                 is past the end, or the hunks above it are not where they say. Add some of the \
                 lines around it."
            ),
            PlaceError::Unnumbered => format!(
                "{subject} only adds lines, and its `@@` line has no numbers that say where. Add some \
                 of the lines around it."
            ),
            PlaceError::Stopped(fault) => fault.message().to_owned(),
        }
    }

    fn several(&self, subject: &str, lines: &[usize], pass: Pass) -> String {
        let how = if pass == Pass::Exact { String::new() } else { format!(" ({pass})") };
        let advice = match self.file.form {
            PatchForm::Unified => "or make the line number of its `@@` line right",
            PatchForm::Freeform => "or an `@@` line of the class or function around it",
        };
        format!(
            "{subject} stands {}{how}; it must stand in one place only. Add more of the lines \
             around the place you mean, {advice}.",
            places(lines)
        )
    }

    fn nearest(&self, subject: &str, old: &str, advice: &str) -> String {
        let body = String::from_utf8_lossy(self.file_lines.body());
        let empty = "Add the file instead, or send `+` lines only.";
        let wording = Wording { what: subject, advice, empty };
        diagnosis::explain_as(&body, old, &wording)
    }
}

fn old_text(hunk: &Hunk) -> String {
    let lines = hunk.old_lines().map(|line| line.strip_suffix('\r').unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// `in 3 places, at lines 1, 5 and 9`.
fn places(lines: &[usize]) -> String {
    let mut named: Vec<String> =
        lines.iter().take(MAX_PLACES).map(|line| (line + 1).to_string()).collect();
    let left = lines.len().saturating_sub(MAX_PLACES);
    let last = if left > 0 { Some(format!("{left} more")) } else { named.pop() };
    let last = last.unwrap_or_default();
    format!("in {} places, at lines {} and {last}", lines.len(), named.join(", "))
}
