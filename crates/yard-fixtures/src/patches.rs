//! What tests do with patches and the product does not: print them in their own form, reverse them, and apply them to
//! files in memory.

use std::borrow::Borrow;
use std::fmt::{self, Write as _};

use yard_core::patch::{
    Action, FilePatch, FileUpdate, Hunk, HunkLine, Patch, PatchError, PatchForm, Sign, Stated,
    Transfer, jobs,
};
use yard_core::{Bounds, Result, path};

/// The mode of a file of which the patch says none.
const PLAIN_MODE: u32 = 0o100_644;
/// What stands for "no file" on one side of a diff.
const NO_FILE: &str = "/dev/null";

/// Applies a patch to the files that `read` returns. The order of sections matters only for several updates of one
/// file.
pub fn apply_all<B: Borrow<Vec<u8>>>(
    patch: &Patch,
    mut read: impl FnMut(&str) -> Result<Option<B>>,
) -> Result<Vec<FileUpdate>> {
    jobs(patch)?.iter().map(|job| job.apply(&mut read, Bounds::NONE)).collect()
}

/// Prints a patch in its own form, so that it is parsed as the same patch again. Only the reversal of a copy has no such
/// form: it is printed as a deletion without lines.
pub fn print(patch: &Patch) -> String {
    let mut text = String::new();
    print_to(patch, &mut text).unwrap();
    text
}

fn print_to(patch: &Patch, f: &mut String) -> fmt::Result {
    let freeform = patch.files.iter().any(|file| file.form == PatchForm::Freeform);
    if !freeform {
        return patch.files.iter().try_for_each(|file| unified_section(file, f));
    }
    f.write_str("*** Begin Patch\n")?;
    patch.files.iter().try_for_each(|file| freeform_section(file, f))?;
    f.write_str("*** End Patch\n")
}

/// The name as git writes it: in quotes where it holds what a line of a diff cannot.
fn quote(name: &str) -> String {
    let bytes = path::unshow(name);
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    // A space at the end, or a name that is "no file", would be read as something else.
    if bytes.iter().all(is_plain) && !name.ends_with(' ') && name != NO_FILE {
        return name.to_owned();
    }
    let escaped = |byte: &u8| match is_plain(byte) {
        true => char::from(*byte).to_string(),
        false => format!("\\{byte:03o}"),
    };
    format!("\"{}\"", bytes.iter().map(escaped).collect::<String>())
}

/// The patch that undoes a unified patch. A copy is undone by deleting it. An envelope cannot be reversed, because it does
/// not say what it deletes.
pub fn reverse(patch: &Patch) -> std::result::Result<Patch, PatchError> {
    // Updates of one file are done one after the other, so they are undone from the last one on.
    let files = patch.files.iter().rev().map(reversed_file);
    Ok(Patch { files: files.collect::<std::result::Result<_, _>>()? })
}

fn reversed_file(file: &FilePatch) -> std::result::Result<FilePatch, PatchError> {
    if file.form == PatchForm::Freeform {
        let message = "an envelope does not say what it deletes, so it cannot be turned around; \
                       undo the step instead, or send a unified diff";
        return Err(PatchError { line: file.line, message: message.to_owned() });
    }
    let is_copy = file.transfer == Some(Transfer::Copy);
    let action = match file.action {
        Action::Delete if is_copy => {
            let message = "the undone copy no longer says of which file it was one";
            return Err(PatchError { line: file.line, message: message.to_owned() });
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

fn unified_section(file: &FilePatch, f: &mut String) -> fmt::Result {
    let side = |prefix: &str, path: &Option<String>| match path {
        Some(path) => quote(&format!("{prefix}/{path}")),
        None => NO_FILE.to_owned(),
    };
    let undone_copy = file.action == Action::Delete && file.transfer.is_some();
    let bare = file.hunks.is_empty() || undone_copy;
    // Only git's own lines say the mode of a file that comes or goes, and they must say one.
    let modeless = file.old_mode.is_none() && file.new_mode.is_none();
    if bare || file.action == Action::Update || !modeless {
        git_headers(file, f)?;
    }
    if bare {
        return Ok(());
    }
    writeln!(f, "--- {}", side("a", &file.old_path))?;
    writeln!(f, "+++ {}", side("b", &file.new_path))?;
    file.hunks.iter().try_for_each(|hunk| unified_hunk(hunk, f))
}

fn git_headers(file: &FilePatch, f: &mut String) -> fmt::Result {
    let (old, new) = (file.old_path.as_deref(), file.new_path.as_deref());
    let (Some(old), Some(new)) = (old.or(new), new.or(old)) else { return Ok(()) };
    let quoted = |prefix: &str, path: &str| quote(&format!("{prefix}/{path}"));
    writeln!(f, "diff --git {} {}", quoted("a", old), quoted("b", new))?;
    match file.action {
        Action::Add => {
            writeln!(f, "new file mode {:06o}", file.new_mode.unwrap_or(PLAIN_MODE))?;
        }
        Action::Delete => {
            writeln!(f, "deleted file mode {:06o}", file.old_mode.unwrap_or(PLAIN_MODE))?;
        }
        Action::Update => {
            if let Some(mode) = file.old_mode {
                writeln!(f, "old mode {mode:06o}")?;
            }
            if let Some(mode) = file.new_mode {
                writeln!(f, "new mode {mode:06o}")?;
            }
        }
    }
    let word = match file.transfer {
        Some(Transfer::Rename) if file.action == Action::Update => "rename",
        Some(Transfer::Copy) if file.action == Action::Update => "copy",
        _ => return Ok(()),
    };
    writeln!(f, "{word} from {}\n{word} to {}", quote(old), quote(new))
}

fn unified_hunk(hunk: &Hunk, f: &mut String) -> fmt::Result {
    let counts = (hunk.old_lines().count(), hunk.new_lines().count());
    match hunk.stated {
        Some(stated) => {
            writeln!(f, "@@ -{},{} +{},{} @@", stated.old, counts.0, stated.new, counts.1)?;
        }
        // The second `@@` closes it, so that a named line that itself ends with `@@` is read back whole.
        None => anchor_lines(hunk, " @@", f)?,
    }
    let last_old = hunk.lines.iter().rposition(|line| line.sign != Sign::Add);
    let last_new = hunk.lines.iter().rposition(|line| line.sign != Sign::Remove);
    for (at, line) in hunk.lines.iter().enumerate() {
        writeln!(f, "{}{}", sign(line.sign), line.text)?;
        let open = hunk.old_open && last_old == Some(at) || hunk.new_open && last_new == Some(at);
        if open {
            f.write_str("\\ No newline at end of file\n")?;
        }
    }
    Ok(())
}

fn sign(sign: Sign) -> char {
    match sign {
        Sign::Context => ' ',
        Sign::Remove => '-',
        Sign::Add => '+',
    }
}

fn freeform_section(file: &FilePatch, f: &mut String) -> fmt::Result {
    let (old, new) = (file.old_path.as_deref(), file.new_path.as_deref());
    match file.action {
        Action::Add => writeln!(f, "*** Add File: {}", new.unwrap_or_default())?,
        Action::Delete => writeln!(f, "*** Delete File: {}", old.unwrap_or_default())?,
        Action::Update => {
            writeln!(f, "*** Update File: {}", old.unwrap_or_default())?;
            if file.transfer.is_some() || file.hunks.is_empty() {
                writeln!(f, "*** Move to: {}", new.unwrap_or_default())?;
            }
        }
    }
    for hunk in &file.hunks {
        if file.action == Action::Update {
            anchor_lines(hunk, "", f)?;
        }
        for line in &hunk.lines {
            writeln!(f, "{}{}", sign(line.sign), line.text)?;
        }
        if hunk.at_end {
            f.write_str("*** End of File\n")?;
        }
    }
    Ok(())
}

/// The `@@` lines of a hunk without numbers, each with `end` behind the line that it names.
fn anchor_lines(hunk: &Hunk, end: &str, f: &mut String) -> fmt::Result {
    if hunk.anchors.is_empty() {
        f.write_str("@@\n")?;
    }
    hunk.anchors.iter().try_for_each(|anchor| writeln!(f, "@@ {anchor}{end}"))
}
