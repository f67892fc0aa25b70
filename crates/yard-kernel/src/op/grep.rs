//! grep: lines that match, in the order of path bytes and lines, always the first ones.
//!
//! One thread walks in order and numbers the files; the others search them on ripgrep's own libraries.
//! Results are put together in that order, and everybody stops once the answer is full.

mod collect;
mod filter;
mod search;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use yard_core::op::{Grep, GrepAnswer};
use yard_core::{Call, Effect, EffectKind, Fault, FaultCode, FileKind, Result, Subject, WsPath};
use yard_disk::EntryKind;
use yard_search::{Flow, Rules, Walk, is_passing, regex};

use crate::op::list::{Place, place_at};
use crate::proposal::{Execute, Planned};
use crate::virtual_files::Shown;
use crate::workspace::Workspace;

use collect::Collected;
use filter::Filter;
use search::{FileMatches, Searcher};

/// Files that are handed to a searching thread at once; fewer at first, so that a search with a small
/// limit can stop early.
const CHUNK: usize = 32;
const FIRST_CHUNKS: usize = 8;
/// Chunks that wait for a searching thread.
const AHEAD: usize = 16;

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

/// Files in the order of the walk.
struct Chunk {
    first: usize,
    paths: Vec<WsPath>,
}

/// What the threads share.
struct Shared {
    collected: Mutex<Collected>,
    enough: AtomicBool,
    fault: Mutex<Option<Fault>>,
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
        let matches = self.searcher().file(path)?;
        collected.add(0, matches);
        Ok(collected)
    }

    fn tree(&self, folder: &WsPath) -> Result<(Collected, LeftOut)> {
        let shared = Shared {
            collected: Mutex::new(self.collected()),
            enough: AtomicBool::new(false),
            fault: Mutex::new(None),
        };
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let (sender, receiver) = sync_channel(AHEAD);
        let receiver = Mutex::new(receiver);
        let walked = thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| self.search_chunks(&receiver, &shared));
            }
            self.walk(folder, sender, &shared.enough)
        });
        if let Some(fault) = unlocked(shared.fault) {
            return Err(fault);
        }
        Ok((unlocked(shared.collected), walked?))
    }

    /// Walks in order and hands out files; what is left out.
    fn walk(
        &self,
        folder: &WsPath,
        sender: SyncSender<Chunk>,
        enough: &AtomicBool,
    ) -> Result<LeftOut> {
        let rules = Rules { recursive: true, include_ignored: self.grep.include_ignored };
        let disk = self.workspace.disk_of(folder);
        let listing = self.shown.listing();
        let mut walk = Walk::new(disk, self.call, rules).showing(&listing);
        let mut chunk = Chunk { first: 0, paths: Vec::new() };
        let (mut seen, mut withheld) = (0, 0);
        walk.run(folder, &mut |visit| {
            if visit.kind != EntryKind::Known(FileKind::File) || !self.wanted(&visit.path) {
                return Ok(Flow::Continue(()));
            }
            let is_shown = self.workspace.may_see_output(&visit.path, self.call);
            if !is_shown || !self.call.may_read(&visit.path) {
                withheld += 1;
                return Ok(Flow::Continue(()));
            }
            chunk.paths.push(visit.path);
            seen += 1;
            let size = if seen <= FIRST_CHUNKS * FIRST_CHUNKS { FIRST_CHUNKS } else { CHUNK };
            if chunk.paths.len() >= size {
                let full = std::mem::replace(&mut chunk, Chunk { first: seen, paths: Vec::new() });
                if sender.send(full).is_err() {
                    return Ok(Flow::Break(()));
                }
            }
            Ok(if enough.load(Ordering::Relaxed) { Flow::Break(()) } else { Flow::Continue(()) })
        })?;
        // The searching threads are gone only if they have enough.
        let _ = sender.send(chunk);
        Ok(LeftOut { ignored: walk.ignored(), withheld })
    }

    fn wanted(&self, path: &WsPath) -> bool {
        let passed = self.grep.cursor.as_ref().is_some_and(|cursor| *path < cursor.path);
        !passed && self.filter.holds(path)
    }

    fn search_chunks(&self, receiver: &Mutex<Receiver<Chunk>>, shared: &Shared) {
        let mut searcher = self.searcher();
        loop {
            let received = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(chunk) = received else { return };
            for (offset, path) in chunk.paths.iter().enumerate() {
                if shared.enough.load(Ordering::Relaxed) {
                    break;
                }
                match searcher.file(path) {
                    Ok(matches) => shared.add(chunk.first + offset, matches),
                    Err(fault) if is_passing(fault.code()) => {
                        shared.add(chunk.first + offset, FileMatches::default());
                    }
                    Err(fault) => shared.fail(fault),
                }
            }
        }
    }
}

impl Shared {
    fn add(&self, number: usize, matches: FileMatches) {
        let mut collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        if collected.add(number, matches) {
            self.enough.store(true, Ordering::Relaxed);
        }
    }

    fn fail(&self, fault: Fault) {
        self.enough.store(true, Ordering::Relaxed);
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
    }
}

fn unlocked<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The fault for a pattern that cannot be used.
pub(crate) fn bad_path_pattern(message: String) -> Fault {
    Fault::new(FaultCode::BadPattern, message).about(Subject::PathPattern)
}
