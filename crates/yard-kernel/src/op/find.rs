//! find: entries by name and metadata, in the order of their path bytes.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use yard_core::op::{Find, FindBy, Found};
use yard_core::{
    Call, Effect, EffectKind, Fault, FaultCode, FileKind, FileType, Result, Subject, WsPath,
};

use crate::disk::Stats;
use crate::op::broke_off;
use crate::op::list::{Lookup, folder_at};
use crate::spilled;
use crate::virtual_files::Shown;
use crate::walk::{Flow, Rules, Visit, Walk};
use crate::workspace::Workspace;
use crate::{Execute, Planned};

/// Visits that go to the thread that looks at them at once; few, so that a small limit stops early.
const CHUNK: usize = 64;
/// Chunks that wait for it.
const AHEAD: usize = 8;
/// Bytes of all patterns of one search: making a set of longer ones ready takes seconds.
const LONGEST_PATTERNS: usize = 64 << 10;

impl Execute for Find {
    fn asked(&self) -> Vec<WsPath> {
        vec![self.path.clone()]
    }

    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Found>> {
        let (base, shown) = folder_at(workspace, &self.path)?;
        let names = Names::new(&self.by, &base)?;
        let mut search = Search {
            find: self,
            workspace,
            call,
            limit: self.limit.unwrap_or(workspace.limits().answer_entries),
            lookup: Lookup::new(workspace),
            stats: workspace.disk_of(&base).stats(),
            shown: &shown,
            found: Vec::new(),
            truncated: false,
        };
        let (sender, receiver) = sync_channel::<Vec<Visit>>(AHEAD);
        // One thread walks and looks at names, the other at what the names are.
        let (ignored, withheld) = thread::scope(|scope| {
            let walking = scope.spawn(|| {
                let rules =
                    Rules { recursive: self.recursive, include_ignored: self.include_ignored };
                let way = Walk::new(workspace.disk_of(&base), call, rules).showing(&shown);
                walk(self, call, way, &base, &names, sender)
            });
            let searched = search.all(receiver);
            let walked = walking.join().unwrap_or_else(|_| Err(broke_off("walk")));
            searched.and(walked)
        })?;
        let effect = Effect::one(EffectKind::List, base.clone()).with_contents();
        let Search { found, truncated, .. } = search;
        Ok(Planned::Answer {
            effect,
            answer: Found { path: base, entries: found, truncated, ignored, withheld },
        })
    }
}

/// Walks in order and hands over what has the right name; how many entries were ignored, and how many of the
/// right name the caller may not see.
fn walk(
    find: &Find,
    call: &Call,
    mut way: Walk<'_>,
    base: &WsPath,
    names: &Names,
    sender: SyncSender<Vec<Visit>>,
) -> Result<(u64, u64)> {
    let (mut chunk, mut withheld) = (Vec::new(), 0);
    way.run(base, &mut |visit| {
        if find.after.as_ref().is_some_and(|after| visit.path <= *after) || !names.hold(&visit) {
            return Ok(Flow::Continue(()));
        }
        if !call.may_list(&visit.path) {
            withheld += 1;
            return Ok(Flow::Continue(()));
        }
        chunk.push(visit);
        if chunk.len() < CHUNK {
            return Ok(Flow::Continue(()));
        }
        // Nobody listens any more once the answer is full.
        let sent = sender.send(std::mem::take(&mut chunk));
        Ok(if sent.is_ok() { Flow::Continue(()) } else { Flow::Break(()) })
    })?;
    let _ = sender.send(chunk);
    Ok((way.ignored(), withheld))
}

struct Search<'a> {
    find: &'a Find,
    workspace: &'a Workspace,
    call: &'a Call,
    lookup: Lookup<'a>,
    stats: Stats<'a>,
    shown: &'a Shown,
    limit: usize,
    found: Vec<yard_core::op::Entry>,
    truncated: bool,
}

impl Search<'_> {
    /// Takes what matches until the answer is full, and one more to know whether it was cut.
    fn all(&mut self, receiver: Receiver<Vec<Visit>>) -> Result<()> {
        for visit in receiver.into_iter().flatten() {
            let Some(entry) = self.matching(visit)? else { continue };
            if self.found.len() >= self.limit {
                self.truncated = true;
                return Ok(());
            }
            self.found.push(entry);
        }
        Ok(())
    }

    /// The entry, if its metadata is what is looked for too.
    fn matching(&mut self, visit: Visit) -> Result<Option<yard_core::op::Entry>> {
        let is_folder = visit.kind.known() == Some(FileKind::Folder);
        if self.find.size.is_set() && is_folder {
            return Ok(None);
        }
        if self.find.file_type.is_some_and(|wanted| (wanted == FileType::Folder) != is_folder) {
            return Ok(None);
        }
        let found = self.entry(visit.path, is_folder)?;
        Ok(found.filter(|entry| self.find.file_type.is_none_or(|wanted| wanted == entry.file_type)))
    }

    /// The entry at a path, if it is there and as large as what is looked for.
    fn entry(&mut self, path: WsPath, is_folder: bool) -> Result<Option<yard_core::op::Entry>> {
        let in_size = |size: u64| is_folder || self.find.size.holds(size);
        let stat = if self.shown.holds(&path) { None } else { self.stats.stat(&path)? };
        if let Some(entry) = self.shown.entry(&path, stat.as_ref()) {
            return Ok(Some(entry).filter(|entry| in_size(entry.size.unwrap_or(0))));
        }
        let Some(stat) = stat.filter(|stat| in_size(stat.size())) else { return Ok(None) };
        if path.is_command_output() {
            return Ok(Some(spilled::entry(path, &stat)));
        }
        let node = self.lookup.node(&path)?;
        let known = self.workspace.judge(node, &path, &stat, None, self.call)?;
        Ok(Some(self.workspace.entry(path, &stat, &known)))
    }
}

/// Patterns, told apart by what they are matched against.
pub(crate) struct Names {
    any: bool,
    by_name: GlobSet,
    by_path: GlobSet,
    folders_by_path: GlobSet,
}

impl Names {
    pub(crate) fn new(by: &FindBy, base: &WsPath) -> Result<Self> {
        let (mut by_name, mut by_path, mut folders) =
            (GlobSetBuilder::new(), GlobSetBuilder::new(), GlobSetBuilder::new());
        match by {
            FindBy::Any => {}
            FindBy::Name(pattern) => {
                check_length(std::slice::from_ref(pattern))?;
                // `find -name` knows no alternatives: braces are themselves.
                by_name.add(glob(&pattern.replace('{', "[{]").replace('}', "[}]"), pattern)?);
            }
            FindBy::Globs(patterns) => {
                check_length(patterns)?;
                for pattern in patterns {
                    let trimmed = pattern.trim_end_matches('/');
                    let set = match (trimmed.contains('/'), trimmed.len() < pattern.len()) {
                        (false, false) => {
                            by_name.add(glob(trimmed, pattern)?);
                            continue;
                        }
                        (_, true) => &mut folders,
                        (true, false) => &mut by_path,
                    };
                    set.add(glob(&from_root(trimmed, base), pattern)?);
                }
            }
        }
        let build = |set: GlobSetBuilder| set.build().map_err(|error| bad_glob("", &error));
        Ok(Self {
            any: matches!(by, FindBy::Any),
            by_name: build(by_name)?,
            by_path: build(by_path)?,
            folders_by_path: build(folders)?,
        })
    }

    pub(crate) fn hold(&self, visit: &Visit) -> bool {
        let is_folder = visit.kind.known() == Some(FileKind::Folder);
        self.any || self.hold_path(&visit.path, is_folder)
    }

    pub(crate) fn hold_path(&self, path: &WsPath, is_folder: bool) -> bool {
        let relative = path.relative();
        let start = memchr::memrchr(b'/', relative).map_or(0, |at| at + 1);
        let is = |set: &GlobSet, bytes: &[u8]| !set.is_empty() && set.is_match(as_path(bytes));
        is(&self.by_name, &relative[start..])
            || is(&self.by_path, relative)
            || (is_folder && is(&self.folders_by_path, relative))
    }
}

/// A pattern with a slash, relative to the root: as it is after a leading slash, else below `base`.
fn from_root(pattern: &str, base: &WsPath) -> String {
    if let Some(absolute) = pattern.strip_prefix('/') {
        return absolute.trim_start_matches('/').to_owned();
    }
    let pattern = pattern.trim_start_matches("./");
    if base.is_root() {
        return pattern.to_owned();
    }
    let base = String::from_utf8_lossy(base.relative()).into_owned();
    format!("{}/{pattern}", globset::escape(&base))
}

/// A fault if patterns are so long that making them ready would take longer than a search.
fn check_length(patterns: &[String]) -> Result<()> {
    let length: usize = patterns.iter().map(String::len).sum();
    if length <= LONGEST_PATTERNS {
        return Ok(());
    }
    let message = format!(
        "the patterns have {length} bytes, and at most {LONGEST_PATTERNS} are taken: search with fewer or shorter ones"
    );
    Err(Fault::new(FaultCode::BadPattern, message).about(Subject::Pattern))
}

fn glob(pattern: &str, shown: &str) -> Result<Glob> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|error| bad_glob(shown, &error))
}

fn bad_glob(pattern: &str, error: &globset::Error) -> Fault {
    let message = format!("the pattern {pattern:?} is no glob: {}", error.kind());
    Fault::new(FaultCode::BadPattern, message).about(Subject::Pattern)
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g8_patterns_that_take_long_to_make_ready_are_refused() {
        let names = |by: FindBy| Names::new(&by, &WsPath::root()).map(|_| ());
        assert!(names(FindBy::Globs(vec!["*".repeat(1_000)])).is_ok());
        for by in [
            FindBy::Globs(vec!["[a]".repeat(30_000)]),
            FindBy::Globs(vec!["a*".to_owned(); 40_000]),
            FindBy::Name("?".repeat(100_000)),
        ] {
            assert_eq!(names(by).map_err(|fault| fault.code()), Err(FaultCode::BadPattern));
        }
    }
}
