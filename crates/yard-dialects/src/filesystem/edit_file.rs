//! `edit_file`: replaces texts of a file, all or none, and answers the diff.

use schemars::JsonSchema;
use serde::Deserialize;
use yard_core::op::{self, EditAction, LineStart, ReadAnswer, Slice, Want};
use yard_core::replace::{self, Batches, Done};
use yard_core::{Bounds, Fault, FaultCode, Subject, WsPath, diff};

use super::{Reply, fault, flexible, host_paths};
use crate::tool::{Context, Stop, Tool};

/// Unchanged lines that the diff shows around a change.
const CONTEXT: usize = 4;
/// The work of an edit with other white space, in exact edits.
const FLEXIBLE_WORK: usize = 8;

/// Make edits to a text file. Each edit replaces one place with new content: oldText must stand there exactly,
/// or with other white space around its lines, and nowhere else. Either all edits are made or none; line
/// endings and encoding stay those of the file. Returns a git-style diff showing the changes made. Only works
/// within allowed directories.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EditFile {
    /// The file: an absolute path within an allowed directory, or one relative to it.
    path: String,
    /// The edits, each made to what those before it left.
    edits: Vec<EditOperation>,
    /// Preview changes using git-style diff format.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EditOperation {
    /// Text to search for - must match exactly.
    old_text: String,
    /// Text to replace with.
    new_text: String,
}

impl Tool for EditFile {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "edit_file";

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = host_paths::parse(context, &args.path, Subject::Path)?;
        // The diff has to be of the edited text: if another process changed the file first, both are made again.
        for _ in 0..context.limits().replans {
            let read = text(context, &path)?;
            let edited = context.call().bounding(context.limits().load_bytes, |bounds| {
                edited(&read.text, &args.edits, bounds)
            })?;
            let diff = fenced_diff(context, &read, &edited.text)?;
            if args.dry_run || read.text == edited.text {
                return Ok(diff.into());
            }
            let (path, actions, expected) = (path.clone(), edited.actions, read.hash);
            match context.perform(op::Edit { path: path.clone(), actions, expected }) {
                Ok(_) => return Ok(diff.into()),
                Err(Stop::Fault(fault)) if fault.code() == FaultCode::Stale => {}
                Err(stop) => return Err(fault::of_system_call(context, "open", &path)(stop)),
            }
        }
        let message = format!("{} keeps changing; try again", context.host_display(&path));
        Err(Stop::Fault(Fault::new(FaultCode::Stale, message).about(Subject::Path)))
    }
}

fn text(context: &Context<'_>, path: &WsPath) -> Result<ReadAnswer, Stop> {
    let max_bytes = context.limits().load_bytes;
    let operation = op::Read {
        path: path.clone(),
        slice: Slice::Lines { start: LineStart::FromStart(0), limit: None },
        want: Want { hash: true, ..Want::default() },
        max_bytes,
    };
    let answer =
        context.perform(operation).map_err(fault::of_system_call(context, "open", path))?;
    if answer.truncated {
        let shown = context.host_display(path);
        let message = format!(
            "{shown} has {} bytes; at most {max_bytes} can be edited. Ask the person to raise that limit",
            answer.size
        );
        return Err(Stop::Fault(Fault::new(FaultCode::TooLarge, message).about(Subject::Path)));
    }
    Ok(answer)
}

/// A text after all edits, and the exact edits that lead to it.
#[derive(Debug)]
struct Edited {
    text: String,
    actions: Vec<EditAction>,
    /// The bytes that edits went over one by one.
    work: usize,
}

fn edited(text: &str, edits: &[EditOperation], bounds: Bounds<'_>) -> Result<Edited, Fault> {
    let mut edited = Edited { text: text.to_owned(), actions: Vec::new(), work: 0 };
    let exact = |edit: &EditOperation| EditAction::Replace {
        old: edit.old_text.clone(),
        new: edit.new_text.clone(),
        all: false,
    };
    let exact: Vec<EditAction> = edits.iter().map(exact).collect();
    let (mut batches, mut at) = (Batches::default(), 0);
    while let Some((edit, action)) = edits.get(at).zip(exact.get(at)) {
        bounds.check()?;
        let done = replace::first_edits(&mut batches, &edited.text, &exact[at..], bounds)?;
        if let Some(Done { body, edits }) = done.filter(|done| done.edits > 0) {
            edited.text = body;
            edited.actions.extend_from_slice(&exact[at..at + edits]);
            at += edits;
            continue;
        }
        edited.work += edited.text.len();
        replace::check_work(edited.work, edited.text.len(), edits.len())?;
        let done = edited.apply_exactly(action, bounds).or_else(|fault| match fault.code() {
            FaultCode::NoChange => Ok(()),
            FaultCode::TextNotFound => edited.apply_flexibly(edit, bounds),
            FaultCode::BadArgument => Err(fault.reworded(EMPTY.to_owned())),
            _ => Err(fault),
        });
        done.map_err(|fault| with_number(&fault, at, edits.len()))?;
        at += 1;
    }
    Ok(edited)
}

const EMPTY: &str = "oldText is empty; send text that stands in the file once. To add lines, send the line \
    before or after them as oldText, and the same with them as newText.";

impl Edited {
    /// As [`Edited::apply`]. The message about a text that was not found takes long to make: it is left to later.
    fn apply_exactly(&mut self, action: &EditAction, bounds: Bounds<'_>) -> Result<(), Fault> {
        if let EditAction::Replace { old, .. } = action
            && !old.is_empty()
            && !replace::occurs(&self.text, old, bounds)?
        {
            return Err(Fault::new(FaultCode::TextNotFound, "oldText was not found"));
        }
        self.apply(action.clone(), bounds)
    }

    fn apply(&mut self, action: EditAction, bounds: Bounds<'_>) -> Result<(), Fault> {
        let actions = std::slice::from_ref(&action);
        let outcome = replace::edit_within(self.text.as_bytes(), actions, bounds)?;
        self.text = String::from_utf8(outcome.bytes).map_err(|_| {
            Fault::new(FaultCode::Io, "the edit would leave bytes that are no UTF-8")
        })?;
        self.actions.push(action);
        Ok(())
    }

    fn apply_flexibly(&mut self, edit: &EditOperation, bounds: Bounds<'_>) -> Result<(), Fault> {
        // All lines are compared, each without its white space.
        self.work += FLEXIBLE_WORK * self.text.len();
        let unfolded = |text: &str| text.replace("\r\n", "\n");
        let ways =
            flexible::edits(&self.text, &unfolded(&edit.old_text), &unfolded(&edit.new_text))?;
        let mut refused = None;
        for way in ways {
            match self.apply(way, bounds) {
                Ok(()) => return Ok(()),
                Err(fault) if fault.code() == FaultCode::NoChange => return Ok(()),
                Err(fault) => refused = Some(fault),
            }
        }
        let Some(refused) = refused else { return self.not_found(edit, bounds) };
        Err(refused)
    }

    /// The fault for a text that is nowhere, with the closest place.
    fn not_found(&mut self, edit: &EditOperation, bounds: Bounds<'_>) -> Result<(), Fault> {
        let (old, new) = (edit.old_text.clone(), edit.new_text.clone());
        self.apply(EditAction::Replace { old, new, all: false }, bounds).map_err(|fault| {
            let message = format!(
                "Could not find exact match for edit:\n{}\n\n{}",
                edit.old_text,
                fault.message()
            );
            fault.reworded(message)
        })
    }
}

/// Adds the number of the edit to its fault, if there are several.
fn with_number(fault: &Fault, at: usize, edits: usize) -> Fault {
    let message = match edits {
        1 => format!("{} Nothing was changed.", fault.message()),
        _ => {
            let which = format!("This was edit {} of {edits}; nothing was changed.", at + 1);
            format!("{} {which}", fault.message())
        }
    };
    fault.reworded(message)
}

/// The diff as the reference server writes it: without `\r`, in a code fence longer than any in the diff.
fn fenced_diff(context: &Context<'_>, read: &ReadAnswer, after: &str) -> Result<String, Fault> {
    let unfolded = |text: &str| text.replace("\r\n", "\n");
    let path = context.host_display(&read.path);
    let limit = context.limits().load_bytes;
    let room = usize::try_from(limit).unwrap_or(usize::MAX);
    let (old, new) = (unfolded(&read.text), unfolded(after));
    let (hunks, is_cut) = context
        .call()
        .bounding(limit, |bounds| diff::counted_hunks_within(&old, &new, CONTEXT, room, bounds))?;
    let rule = "=".repeat(67);
    let cut = if is_cut { "\\ The diff is longer than an answer and was cut here\n" } else { "" };
    let diff =
        format!("Index: {path}\n{rule}\n--- {path}\toriginal\n+++ {path}\tmodified\n{hunks}{cut}");
    let fence = fence(&diff);
    Ok(format!("{fence}diff\n{diff}{fence}\n\n"))
}

fn fence(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(3.max(longest + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str, edits: &[(&str, &str)]) -> Result<String, Fault> {
        let edits: Vec<EditOperation> = edits
            .iter()
            .map(|(old, new)| EditOperation {
                old_text: (*old).to_owned(),
                new_text: (*new).to_owned(),
            })
            .collect();
        let done = edited(text, &edits, Bounds::NONE)?;
        // The kernel makes the same text from the same actions.
        if done.text != text {
            let outcome = replace::edit(text.as_bytes(), &done.actions).unwrap();
            assert_eq!(String::from_utf8(outcome.bytes).unwrap(), done.text);
        }
        Ok(done.text)
    }

    #[test]
    fn edits_are_exact_first_and_flexible_where_one_place_is_meant() {
        for (text, edits, expected) in [
            ("a\nb\n", &[("a", "x"), ("b", "y")][..], "x\ny\n"),
            ("a\r\nb\r\n", &[("a\nb", "x\ny")], "x\r\ny\r\n"),
            ("  foo\nfoobar\n", &[("foo ", "baz")], "  baz\nfoobar\n"),
            ("x\nfoo\nxfoo\n", &[("\tfoo", "baz")], "x\nbaz\nxfoo\n"),
            ("a\n", &[("a", "a")], "a\n"),
            ("a\n", &[("a", "b"), ("b", "a")], "a\n"),
            ("a\n", &[], "a\n"),
        ] {
            assert_eq!(after(text, edits).as_deref(), Ok(expected), "{text:?} {edits:?}");
        }
    }

    #[test]
    fn r10_failed_edits_teach() {
        let message = |text, edits: &[_]| after(text, edits).unwrap_err().message().to_owned();
        let not_found = message("one\ntwo\n", &[("one", "1"), ("tow", "2")]);
        let start = "Could not find exact match for edit:\ntow\n\n";
        assert!(not_found.starts_with(start), "{not_found}");
        let end = "This was edit 2 of 2; nothing was changed.";
        assert!(not_found.ends_with(end), "{not_found}");
        let not_unique = message("a\nb\na\n", &[("a", "x")]);
        assert!(not_unique.contains("lines 1, 3"), "{not_unique}");
        assert!(message("a\n", &[("", "x")]).starts_with("oldText is empty"));
    }

    #[test]
    fn a_fence_is_longer_than_what_is_in_it() {
        assert_eq!((fence("a"), fence("a ``` b")), ("```".to_owned(), "````".to_owned()));
        assert_eq!(fence("`````"), "``````");
    }
}
