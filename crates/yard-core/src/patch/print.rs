//! Prints a patch in its own form, so that [`super::parse`] reads the same patch again. Only the reversal of a copy has
//! no such form: it is printed as a deletion without lines.

use std::fmt;

use super::{Action, FilePatch, Hunk, Patch, PatchForm, Sign, Transfer, names};

/// The mode of a file of which the patch says none.
const PLAIN_MODE: u32 = 0o100_644;

impl fmt::Display for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let freeform = self.files.iter().any(|file| file.form == PatchForm::Freeform);
        if !freeform {
            return self.files.iter().try_for_each(|file| unified_section(file, f));
        }
        f.write_str("*** Begin Patch\n")?;
        self.files.iter().try_for_each(|file| freeform_section(file, f))?;
        f.write_str("*** End Patch\n")
    }
}

fn unified_section(file: &FilePatch, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let side = |prefix: &str, path: &Option<String>| match path {
        Some(path) => names::quote(&format!("{prefix}/{path}")),
        None => names::NO_FILE.to_owned(),
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

fn git_headers(file: &FilePatch, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (old, new) = (file.old_path.as_deref(), file.new_path.as_deref());
    let (Some(old), Some(new)) = (old.or(new), new.or(old)) else { return Ok(()) };
    let quoted = |prefix: &str, path: &str| names::quote(&format!("{prefix}/{path}"));
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
    writeln!(f, "{word} from {}\n{word} to {}", names::quote(old), names::quote(new))
}

fn unified_hunk(hunk: &Hunk, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let counts = (hunk.old_lines().count(), hunk.new_lines().count());
    match hunk.stated {
        Some(stated) => {
            writeln!(f, "@@ -{},{} +{},{} @@", stated.old, counts.0, stated.new, counts.1)?;
        }
        None => unnumbered_head(hunk, f)?,
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

fn freeform_section(file: &FilePatch, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
            chunk_head(hunk, f)?;
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

/// The `@@` line of a hunk without numbers. The second `@@` closes it, so that a named line that itself ends
/// with `@@` is read back whole.
fn unnumbered_head(hunk: &Hunk, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if hunk.anchors.is_empty() {
        f.write_str("@@\n")?;
    }
    hunk.anchors.iter().try_for_each(|anchor| writeln!(f, "@@ {anchor} @@"))
}

fn chunk_head(hunk: &Hunk, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if hunk.anchors.is_empty() {
        f.write_str("@@\n")?;
    }
    hunk.anchors.iter().try_for_each(|anchor| writeln!(f, "@@ {anchor}"))
}
