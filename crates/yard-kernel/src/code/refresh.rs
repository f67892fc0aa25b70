//! Brings the index up to date with what is on disk: walks, compares signatures, reads what changed.
//!
//! One thread walks and the other compares, as `find` does; what changed is read on all cores. Every file
//! that was read is taken in at once: a search that runs out of time leaves the next one less to do.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use yard_core::{Call, Fault, FaultCode, FileKind, Result, WsPath};

use super::index::{Index, MOST_FILES, Standing};
use super::read::{Look, Reader, Wanted};
use super::{CodeIndex, Turn};
use crate::disk::{EntryKind, Stat};
use crate::op::broke_off;
use crate::virtual_files::Shown;
use crate::walk::{Flow, Rules, Walk, tolerable};
use crate::workspace::Workspace;

/// Paths that go to the comparing thread at once.
const CHUNK: usize = 256;
/// Chunks that wait for it, and readings that wait to be taken in.
const AHEAD: usize = 16;
/// Fewer files are read sooner than a thread starts.
const FEW: usize = 8;

/// One look at a folder.
pub(crate) struct Refresh<'a> {
    pub(crate) workspace: &'a Workspace,
    /// Its links are resolved.
    pub(crate) folder: &'a WsPath,
    pub(crate) shown: &'a Shown,
    pub(crate) call: &'a Call,
}

/// What differs between the index and the disk.
#[derive(Default)]
struct Difference {
    wanted: Vec<Wanted>,
    gone: Vec<WsPath>,
}

impl Refresh<'_> {
    /// Makes the index know the folder as it is at some moment after this call began.
    pub(crate) fn run(&self) -> Result<()> {
        let code = &self.workspace.code;
        let Some(mut turn) = code.turn(self.folder, self.call)? else { return Ok(()) };
        self.look(&turn)?;
        if self.is_crowded_out(code) {
            *code.write() = Index::default();
            self.look(&turn)?;
        }
        turn.looked = Some(self.folder.clone());
        Ok(())
    }

    fn look(&self, turn: &Turn<'_>) -> Result<()> {
        let difference = self.compare(turn.code)?;
        if !difference.gone.is_empty() {
            let mut index = turn.code.write();
            difference.gone.iter().for_each(|path| index.remove(path));
        }
        let wanted = difference.wanted;
        if wanted.len() < FEW {
            self.read_here(turn.code, &wanted)
        } else {
            self.read_all(turn.code, &wanted)
        }
    }

    /// Whether files of this folder found no room, and others hold it.
    fn is_crowded_out(&self, code: &CodeIndex) -> bool {
        let index = code.read();
        let mut beyond = false;
        let mut others = false;
        for (_, file) in index.files() {
            let within = file.path.is_within(self.folder);
            beyond |= within && file.standing == Standing::Beyond;
            others |= !within;
        }
        beyond && others
    }

    fn compare(&self, code: &CodeIndex) -> Result<Difference> {
        let (sender, receiver) = sync_channel(AHEAD);
        thread::scope(|scope| {
            let walking = scope.spawn(|| self.walk(sender));
            let compared = self.compare_all(&code.read(), receiver);
            let walked = walking.join().unwrap_or_else(|_| Err(broke_off("walk")));
            walked.and(compared)
        })
    }

    fn walk(&self, sender: SyncSender<Vec<WsPath>>) -> Result<()> {
        let rules = Rules { recursive: true, include_ignored: false };
        let mut walk = Walk::new(&self.workspace.disk, self.call, rules).showing(self.shown);
        let mut chunk = Vec::with_capacity(CHUNK);
        walk.run(self.folder, &mut |visit| {
            let is_file = visit.kind == EntryKind::Known(FileKind::File);
            if !is_file || self.shown.holds(&visit.path) {
                return Ok(Flow::Continue(()));
            }
            chunk.push(visit.path);
            if chunk.len() < CHUNK {
                return Ok(Flow::Continue(()));
            }
            let sent = sender.send(std::mem::replace(&mut chunk, Vec::with_capacity(CHUNK)));
            Ok(if sent.is_ok() { Flow::Continue(()) } else { Flow::Break(()) })
        })?;
        // Nobody listens any more only after a fault, and that is told.
        let _ = sender.send(chunk);
        Ok(())
    }

    fn compare_all(&self, index: &Index, receiver: Receiver<Vec<WsPath>>) -> Result<Difference> {
        let mut stats = self.workspace.disk.stats();
        let (mut seen, mut difference) = (vec![false; index.end()], Difference::default());
        for path in receiver.into_iter().flatten() {
            let Some(number) = index.number(&path) else {
                // At the bound, one that finds no room shows that others would not either.
                if index.len() + difference.wanted.len() <= MOST_FILES {
                    difference.wanted.push(Wanted { path, young: None });
                }
                continue;
            };
            let stat = match stats.stat(&path) {
                Ok(Some(stat)) => stat,
                Ok(None) => continue,
                Err(fault) if tolerable(fault.code()) => continue,
                Err(fault) => return Err(fault),
            };
            seen[number as usize] = true;
            difference.wanted.extend(changed(index, number, path, &stat));
        }
        let unseen = index.files().filter(|(number, _)| !seen[*number as usize]);
        let gone = unseen.filter(|(_, file)| file.path.is_within(self.folder));
        difference.gone = gone.map(|(_, file)| file.path.clone()).collect();
        Ok(difference)
    }

    fn read_here(&self, code: &CodeIndex, wanted: &[Wanted]) -> Result<()> {
        let mut reader = Reader::new(self.workspace, self.call);
        wanted
            .iter()
            .try_for_each(|wanted| reader.look(wanted).map(|look| take_in(&mut code.write(), look)))
    }

    fn read_all(&self, code: &CodeIndex, wanted: &[Wanted]) -> Result<()> {
        let (next, total) = (AtomicUsize::new(0), wanted.len());
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let (sender, receiver) = sync_channel(AHEAD);
        let mut done = 0;
        let read = thread::scope(|scope| {
            for _ in 0..threads {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || self.read_some(wanted, next, &sender));
            }
            drop(sender);
            for look in receiver {
                take_in(&mut code.write(), look?);
                done += 1;
                self.call.progress(done as u64, Some(total as u64));
            }
            Ok(())
        });
        read.map_err(|fault| unfinished(fault, done, total))
    }

    fn read_some(&self, wanted: &[Wanted], next: &AtomicUsize, sender: &SyncSender<Result<Look>>) {
        let mut reader = Reader::new(self.workspace, self.call);
        while let Some(wanted) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            let look = reader.look(wanted);
            let failed = look.is_err();
            if sender.send(look).is_err() || failed {
                return;
            }
        }
    }
}

/// What has to be read again of a file that is known, if anything.
fn changed(index: &Index, number: u32, path: WsPath, stat: &Stat) -> Option<Wanted> {
    let file = index.file(number)?;
    if file.signature != stat.signature {
        return Some(Wanted { path, young: None });
    }
    if file.standing == Standing::Beyond {
        return index.has_room().then_some(Wanted { path, young: None });
    }
    let hash = file.young?;
    Some(Wanted { path, young: Some((file.signature, hash)) })
}

fn take_in(index: &mut Index, look: Look) {
    match look {
        Look::New(reading) => index.put(*reading),
        Look::Same(path, young) => index.settle(&path, young),
        Look::Gone(path) => index.remove(&path),
    }
}

/// What was read is kept: a search that ran out of time says how it goes on.
fn unfinished(fault: Fault, done: usize, total: usize) -> Fault {
    if fault.code() != FaultCode::Timeout {
        return fault;
    }
    let message = format!(
        "the search ended while it read {total} new or changed files; {done} of them are indexed and stay so. \
         Call again and it goes on from there, or search a deeper path"
    );
    Fault::new(FaultCode::Timeout, message)
}
