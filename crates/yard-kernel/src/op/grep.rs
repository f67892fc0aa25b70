//! grep: lines that match, in the order of path bytes and lines, beginning with the first.
//!
//! One thread walks in order, and others search the files with ripgrep's libraries. Their matches are collected in the
//! order of the walk, and all threads stop once the answer is full.

mod collect;
mod filter;
mod line_reader;
mod search;

use yard_core::op::{Grep, GrepAnswer};
use yard_core::{Call, Effect, EffectKind, Fault, FaultCode, FileKind, Result, Subject, WsPath};
use yard_disk::EntryKind;
use yard_search::parallel::{self, Pipeline};
use yard_search::{Flow, Walk, WalkOptions, is_unsearchable, regex};

use crate::lookup::read_target::{ReadTarget, read_target};
use crate::op::find::Skipped;
use crate::proposal::{Execute, Planned};
use crate::virtual_files::VirtualEntries;
use crate::workspace::Workspace;

use collect::Collected;
use filter::Filter;
use search::{FileMatches, Searcher};

/// Files that a searching thread gets at a time.
const FILES: usize = 32;

impl Execute for Grep {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<GrepAnswer>> {
        let regex = regex::compile(&self.pattern, self.flavor, self.case_sensitive)?;
        let ReadTarget { path, is_folder, virtuals } = read_target(workspace, &self.path)?;
        let filter = Filter::new(&self.filter, &path)?;
        let names_folder = path.is_root() && filter::names_virtual_folder(&self.filter);
        let virtuals = if names_folder { workspace.all_virtual_entries()? } else { virtuals };
        let limit = self.limit.unwrap_or(workspace.limits().answer_entries);
        let search = Search {
            grep: self,
            workspace,
            call,
            filter,
            regex: &regex,
            limit,
            virtuals: &virtuals,
        };
        let effect = Effect::one(EffectKind::Read, path.clone()).with_contents();
        let (collected, skipped) =
            if is_folder { search.tree(&path)? } else { (search.file(&path)?, Skipped::default()) };
        let (matches, truncated) = collected.into_matches();
        let Skipped { ignored, withheld } = skipped;
        let answer = GrepAnswer { matches, truncated, ignored, withheld };
        Ok(Planned::Answer { effect, answer })
    }
}

struct Search<'a> {
    grep: &'a Grep,
    workspace: &'a Workspace,
    call: &'a Call,
    filter: Filter,
    regex: &'a regex::LineRegex,
    limit: usize,
    virtuals: &'a VirtualEntries,
}

impl Search<'_> {
    fn collected(&self) -> Collected {
        Collected::new(self.limit, self.workspace.limits().answer_bytes)
    }

    fn file(&self, path: &WsPath) -> Result<Collected> {
        let mut collected = self.collected();
        let _ = collected.add(Searcher::new(self).file(path)?);
        Ok(collected)
    }

    fn tree(&self, folder: &WsPath) -> Result<(Collected, Skipped)> {
        let mut collected = self.collected();
        let searcher = || {
            let mut searcher = Searcher::new(self);
            move |(path, skipped): (WsPath, Skipped)| match searcher.file(&path) {
                Err(fault) if is_left_out(fault.code()) => (Ok(FileMatches::default()), skipped),
                searched => (searched, skipped),
            }
        };
        let mut skipped_before_cut = None;
        let skipped = Pipeline { threads: parallel::cores(), batch: FILES }.run(
            |search| self.walk(folder, search),
            searcher,
            |(matches, skipped)| {
                let flow = collected.add(matches?);
                skipped_before_cut = flow.is_break().then_some(skipped);
                Ok(flow)
            },
        )?;
        Ok((collected, skipped_before_cut.unwrap_or(skipped)))
    }

    /// Walks in order and hands out files, each with what was skipped before it. Returns what was skipped in all.
    fn walk(
        &self,
        folder: &WsPath,
        search: &mut dyn FnMut((WsPath, Skipped)) -> Flow,
    ) -> Result<Skipped> {
        let options = WalkOptions { recursive: true, include_ignored: self.grep.include_ignored };
        let disk = self.workspace.disk_of(folder);
        let view = self.virtuals.view();
        let mut walk = Walk::new(disk, self.call, options).viewing(&view);
        let mut withheld = 0;
        walk.run(folder, &mut |visit| {
            if visit.kind != EntryKind::Known(FileKind::File) || !self.is_wanted(&visit.path) {
                return Ok(Flow::Continue(()));
            }
            let is_shown = self.workspace.may_see_output(&visit.path, self.call);
            if !is_shown || !self.call.may_read(&visit.path) {
                withheld += 1;
                return Ok(Flow::Continue(()));
            }
            Ok(search((visit.path, Skipped { ignored: visit.ignored, withheld })))
        })?;
        Ok(Skipped { ignored: walk.ignored(), withheld })
    }

    fn is_wanted(&self, path: &WsPath) -> bool {
        let is_before_cursor = self.grep.cursor.as_ref().is_some_and(|cursor| *path < cursor.path);
        !is_before_cursor && self.filter.matches(path)
    }
}

/// Whether a search of a folder leaves out a file with this fault.
fn is_left_out(code: FaultCode) -> bool {
    is_unsearchable(code) || code == FaultCode::TooLarge
}

/// The fault for a pattern that cannot be used.
pub(crate) fn bad_path_pattern(message: String) -> Fault {
    Fault::new(FaultCode::BadPattern, message).about(Subject::PathPattern)
}
