//! Divides a patch into jobs, one for each file, and applies them in memory. A job reads contents by the paths in the
//! patch and returns the new state of its file; the caller writes it.

use std::borrow::Borrow;
use std::collections::HashMap;

use crate::{Bounds, Fault, FaultCode, Result, Subject};

use super::{Action, AppliedHunk, FilePatch, Patch, Transfer, apply_within, check};

/// Most bytes that all sections of one file together may go over.
const MAX_BYTES_OF_WORK: usize = 2 << 30;

/// The new state of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUpdate {
    /// What happens to the file.
    pub action: Action,
    /// The path before; none for an added file.
    pub old_path: Option<String>,
    /// The path after; none for a deleted file.
    pub new_path: Option<String>,
    /// Why the two paths differ, if they do.
    pub transfer: Option<Transfer>,
    /// The new mode, if the patch changes it.
    pub mode: Option<u32>,
    /// The new content; empty for a deleted file.
    pub content: Vec<u8>,
    /// Where its hunks were applied, in the order of the patch. If a file has several sections, the line of a hunk is
    /// one of the text that the sections before it left.
    pub hunks: Vec<AppliedHunk>,
}

/// All that a patch does to one file. The jobs of a patch are independent.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    first: &'a FilePatch,
    /// More updates of the same file, in the order of the patch.
    more: Vec<&'a FilePatch>,
}

/// The jobs of a patch, file by file. Fails if two of its sections contradict each other.
pub fn jobs(patch: &Patch) -> Result<Vec<Job<'_>>> {
    check::check(patch)?;
    let mut jobs: Vec<Job<'_>> = Vec::with_capacity(patch.files.len());
    let mut updated: HashMap<String, usize> = HashMap::new();
    for file in &patch.files {
        let is_plain = file.action == Action::Update && file.transfer.is_none();
        let key = check::key(file.name());
        let earlier = updated.get(&key).copied().filter(|_| is_plain);
        if let Some(job) = earlier.and_then(|at| jobs.get_mut(at)) {
            job.more.push(file);
            continue;
        }
        if is_plain {
            updated.insert(key, jobs.len());
        }
        jobs.push(Job { first: file, more: Vec::new() });
    }
    Ok(jobs)
}

impl<'a> Job<'a> {
    /// The paths that it reads, as the patch writes them.
    pub fn reads(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        [self.makes_at(), self.first.old_path.as_deref()].into_iter().flatten()
    }

    /// The path at which it makes a file, which must be free.
    fn makes_at(&self) -> Option<&'a str> {
        let makes = self.first.action == Action::Add || self.first.transfer.is_some();
        self.first.new_path.as_deref().filter(|_| makes)
    }

    /// Applies it to the file that `read` returns, within bounds.
    pub fn apply<B: Borrow<Vec<u8>>>(
        &self,
        mut read: impl FnMut(&str) -> Result<Option<B>>,
        bounds: Bounds<'_>,
    ) -> Result<FileUpdate> {
        let mut change = self.begin(&mut read, bounds)?;
        let mut work = 0;
        for file in &self.more {
            bounds.check()?;
            work += change.content.len();
            check_work(work, file)?;
            let applied = apply_within(&change.content, file, bounds)?;
            change.content = applied.content;
            change.hunks.extend(applied.hunks);
            change.mode = file.new_mode.or(change.mode);
        }
        Ok(change)
    }

    fn begin<B: Borrow<Vec<u8>>>(
        &self,
        read: &mut impl FnMut(&str) -> Result<Option<B>>,
        bounds: Bounds<'_>,
    ) -> Result<FileUpdate> {
        let file = self.first;
        if let Some(path) = self.makes_at()
            && read(path)?.is_some()
        {
            return Err(in_the_way(path, file));
        }
        let applied = match file.old_path.as_deref() {
            Some(path) => {
                let bytes = read(path)?.ok_or_else(|| not_there(path, file))?;
                apply_within(bytes.borrow(), file, bounds)?
            }
            None => apply_within(&[], file, bounds)?,
        };
        Ok(FileUpdate {
            action: file.action,
            old_path: file.old_path.clone(),
            new_path: file.new_path.clone(),
            transfer: file.transfer,
            mode: file.new_mode,
            content: applied.content,
            hunks: applied.hunks,
        })
    }
}

/// Refuses very many sections of one large file, because each of them goes over the whole file.
fn check_work(work: usize, file: &FilePatch) -> Result<()> {
    if work <= MAX_BYTES_OF_WORK {
        return Ok(());
    }
    let message = format!(
        "the patch has too many sections for the one large file {}. Nothing was changed. Put its hunks \
         into one section, in the order of the file.",
        file.name()
    );
    Err(Fault::new(FaultCode::TooLarge, message).about(Subject::Patch))
}

fn in_the_way(path: &str, file: &FilePatch) -> Fault {
    let message = format!(
        "{path} exists, and the patch (line {}) would write over it. Nothing was changed. Update \
         the file, or delete it first.",
        file.line
    );
    Fault::new(FaultCode::Exists, message).about(Subject::Destination)
}

fn not_there(path: &str, file: &FilePatch) -> Fault {
    let message = format!(
        "there is no file {path}, which the patch names in line {}. Nothing was changed. Check the \
         path; to make the file, add it.",
        file.line
    );
    Fault::new(FaultCode::NotFound, message).about(Subject::Path)
}
