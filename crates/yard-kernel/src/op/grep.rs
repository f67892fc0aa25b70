//! grep: lines that match, in the order of path bytes and lines, always the first ones.
//!
//! One thread walks in order, and others search the files with ripgrep's own libraries. Their matches are
//! put together in the order of the walk, and all threads stop once the answer is full.

mod collect;
mod filter;
mod search;

use yard_core::op::{Grep, GrepAnswer};
use yard_core::{Call, Effect, EffectKind, Fault, FaultCode, FileKind, Result, Subject, WsPath};
use yard_disk::EntryKind;
use yard_search::parallel::{self, Pipeline};
use yard_search::{Flow, Rules, Walk, is_passing, regex};

use crate::op::list::{Place, place_at};
use crate::proposal::{Execute, Planned};
use crate::virtual_files::Shown;
use crate::workspace::Workspace;

use collect::Collected;
use filter::Filter;
use search::{FileMatches, Searcher};

/// Files that a searching thread gets at a time.
const FILES: usize = 32;

impl Execute for Grep {
    fn asked(&self) -> Vec<WsPath> {
        vec![self.path.clone()]
    }

    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<GrepAnswer>> {
        let regex = regex::compile(&self.pattern, self.flavor, self.case_sensitive)?;
        let Place { path, is_folder, shown } = place_at(workspace, &self.path)?;
        let filter = Filter::new(&self.filter, &path)?;
        let named = path.is_root() && filter::names_chats(&self.filter);
        let shown = if named { workspace.all_shown()? } else { shown };
        let limit = self.limit.unwrap_or(workspace.limits().answer_entries);
        let run = Run { grep: self, workspace, call, filter, regex: &regex, limit, shown: &shown };
        let effect = Effect::one(EffectKind::Read, path.clone()).with_contents();
        let (collected, left_out) =
            if is_folder { run.tree(&path)? } else { (run.one(&path)?, LeftOut::default()) };
        let (matches, truncated) = collected.into_matches();
        let LeftOut { ignored, withheld } = left_out;
        let answer = GrepAnswer { matches, truncated, ignored, withheld };
        Ok(Planned::Answer { effect, answer })
    }
}

struct Run<'a> {
    grep: &'a Grep,
    workspace: &'a Workspace,
    call: &'a Call,
    filter: Filter,
    regex: &'a regex::LineRegex,
    limit: usize,
    shown: &'a Shown,
}

/// What a search did not look into.
#[derive(Default)]
struct LeftOut {
    /// Entries that ignore files exclude.
    ignored: u64,
    /// Files that the caller may not read.
    withheld: u64,
}

impl Run<'_> {
    fn collected(&self) -> Collected {
        Collected::new(self.limit, self.workspace.limits().answer_bytes)
    }

    fn searcher(&self) -> Searcher<'_> {
        Searcher::new(self.workspace, self.call, self.grep, self.regex, self.limit, self.shown)
    }

    fn one(&self, path: &WsPath) -> Result<Collected> {
        let mut collected = self.collected();
        let _ = collected.add(self.searcher().file(path)?);
        Ok(collected)
    }

    fn tree(&self, folder: &WsPath) -> Result<(Collected, LeftOut)> {
        let mut collected = self.collected();
        let searcher = || {
            let mut searcher = self.searcher();
            move |path: WsPath| match searcher.file(&path) {
                Err(fault) if is_passing(fault.code()) => Ok(FileMatches::default()),
                searched => searched,
            }
        };
        let left_out = Pipeline { threads: parallel::cores(), batch: FILES }.run(
            |search| self.walk(folder, search),
            searcher,
            |matches| Ok(collected.add(matches?)),
        )?;
        Ok((collected, left_out))
    }

    /// Walks in order and hands out files; what is left out.
    fn walk(&self, folder: &WsPath, search: &mut dyn FnMut(WsPath) -> Flow) -> Result<LeftOut> {
        let rules = Rules { recursive: true, include_ignored: self.grep.include_ignored };
        let disk = self.workspace.disk_of(folder);
        let listing = self.shown.listing();
        let mut walk = Walk::new(disk, self.call, rules).showing(&listing);
        let mut withheld = 0;
        walk.run(folder, &mut |visit| {
            if visit.kind != EntryKind::Known(FileKind::File) || !self.wanted(&visit.path) {
                return Ok(Flow::Continue(()));
            }
            let is_shown = self.workspace.may_see_output(&visit.path, self.call);
            if !is_shown || !self.call.may_read(&visit.path) {
                withheld += 1;
                return Ok(Flow::Continue(()));
            }
            Ok(search(visit.path))
        })?;
        Ok(LeftOut { ignored: walk.ignored(), withheld })
    }

    fn wanted(&self, path: &WsPath) -> bool {
        let passed = self.grep.cursor.as_ref().is_some_and(|cursor| *path < cursor.path);
        !passed && self.filter.holds(path)
    }
}

/// The fault for a pattern that cannot be used.
pub(crate) fn bad_path_pattern(message: String) -> Fault {
    Fault::new(FaultCode::BadPattern, message).about(Subject::PathPattern)
}
