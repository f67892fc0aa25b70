//! Reverses a unified patch. An envelope cannot be reversed, because it does not say what it deletes.

use super::{
    Action, FilePatch, Hunk, HunkLine, Patch, PatchError, PatchForm, Sign, Stated, Transfer,
};

/// The patch that undoes `patch`. A copy is undone by deleting it.
pub fn reverse(patch: &Patch) -> Result<Patch, PatchError> {
    // Updates of one file are done one after the other, so they are undone from the last one on.
    let files = patch.files.iter().rev().map(reversed_file);
    Ok(Patch { files: files.collect::<Result<_, _>>()? })
}

fn reversed_file(file: &FilePatch) -> Result<FilePatch, PatchError> {
    if file.form == PatchForm::Freeform {
        let message = "an envelope does not say what it deletes, so it cannot be turned around; \
                       undo the step instead, or send a unified diff";
        return Err(PatchError::new(file.line, message));
    }
    let is_copy = file.transfer == Some(Transfer::Copy);
    let action = match file.action {
        Action::Delete if is_copy => {
            let message = "the undone copy no longer says of which file it was one";
            return Err(PatchError::new(file.line, message));
        }
        Action::Update if is_copy => Action::Delete,
        Action::Update => Action::Update,
        Action::Add => Action::Delete,
        Action::Delete => Action::Add,
    };
    Ok(FilePatch {
        action,
        old_path: file.new_path.clone(),
        new_path: file.old_path.clone().filter(|_| !is_copy),
        old_mode: file.new_mode,
        new_mode: file.old_mode,
        hunks: file.hunks.iter().map(reversed_hunk).collect(),
        ..*file
    })
}

fn reversed_hunk(hunk: &Hunk) -> Hunk {
    Hunk {
        stated: hunk.stated.map(|stated| Stated { old: stated.new, new: stated.old }),
        lines: hunk.lines.iter().map(reversed_line).collect(),
        old_open: hunk.new_open,
        new_open: hunk.old_open,
        anchors: Vec::new(),
        ..*hunk
    }
}

fn reversed_line(line: &HunkLine) -> HunkLine {
    let sign = match line.sign {
        Sign::Context => Sign::Context,
        Sign::Remove => Sign::Add,
        Sign::Add => Sign::Remove,
    };
    HunkLine { sign, text: line.text.clone() }
}
