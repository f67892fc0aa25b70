//! Brings the index up to date with what is on disk: walks, compares signatures, reads what changed.
//!
//! One thread walks and another compares; the one that walks compares too when the other is behind. What
//! changed is read on all cores. Every file
//! that was read is taken in at once: a search that runs out of time leaves the next one less to do.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

use yard_core::{Call, Fault, FaultCode, FileKind, Result, WsPath};
use yard_disk::{Disk, EntryKind, Stat, Stats};
use yard_search::{Flow, Listing, Rules, Walk, is_tolerable};

use crate::code_index::{CodeIndex, Turn};
use crate::index::{Index, MOST_FILES, Standing};
use crate::read::{Look, Reader, Wanted};

/// Paths that go to the comparing thread at once.
const CHUNK: usize = 256;
/// Chunks that wait for it, and readings that wait to be taken in.
const AHEAD: usize = 4;
/// Fewer files are read sooner than a thread starts.
const FEW: usize = 8;

/// One look at a folder.
pub struct Refresh<'a> {
    /// The index that is brought up to date.
    pub index: &'a CodeIndex,
    /// Where the files are.
    pub disk: &'a Disk,
    /// The folder, its links resolved.
    pub folder: &'a WsPath,
    /// What each folder shows. All of it has to be on the disk.
    pub listing: &'a Listing<'a>,
    /// Who looks.
    pub call: &'a Call,
}

/// What differs between the index and the disk.
#[derive(Default)]
struct Difference {
    wanted: Vec<Wanted>,
    gone: Vec<WsPath>,
}

impl Refresh<'_> {
    /// Makes the index know the folder as it is at some moment after this call began.
    pub fn run(&self) -> Result<()> {
        let code = self.index;
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
        let index = code.read();
        let (walked, compared) = thread::scope(|scope| {
            let walking = scope.spawn(|| self.walk(&index, &sender));
            let compared = self.compare_all(&index, receiver);
            (walking.join().unwrap_or_else(|_| Err(broke_off())), compared)
        });
        let (mut comparison, other) = (compared?, walked?);
        comparison.add(other);
        Ok(comparison.finish(&index, self.folder))
    }

    /// Walks, and compares what the other thread does not get to: whoever has time does the rest.
    fn walk<'a>(
        &'a self,
        index: &'a Index,
        sender: &SyncSender<Option<Vec<WsPath>>>,
    ) -> Result<Comparison<'a>> {
        let _end = LastWord(sender);
        let rules = Rules { recursive: true, include_ignored: false };
        let mut walk = Walk::new(self.disk, self.call, rules).showing(self.listing);
        let mut comparison = Comparison::new(self.disk, index);
        let mut chunk = Vec::with_capacity(CHUNK);
        walk.run(self.folder, &mut |visit| {
            let is_file = visit.kind == EntryKind::Known(FileKind::File);
            if !is_file {
                return Ok(Flow::Continue(()));
            }
            chunk.push(visit.path);
            if chunk.len() < CHUNK {
                return Ok(Flow::Continue(()));
            }
            let full = std::mem::replace(&mut chunk, Vec::with_capacity(CHUNK));
            match sender.try_send(Some(full)) {
                Ok(()) => Ok(Flow::Continue(())),
                Err(TrySendError::Full(full)) => {
                    comparison.compare(full.into_iter().flatten()).map(|()| Flow::Continue(()))
                }
                // Nobody listens any more only after a fault, and that is told.
                Err(TrySendError::Disconnected(_)) => Ok(Flow::Break(())),
            }
        })?;
        comparison.compare(chunk)?;
        Ok(comparison)
    }

    fn compare_all<'a>(
        &'a self,
        index: &'a Index,
        receiver: Receiver<Option<Vec<WsPath>>>,
    ) -> Result<Comparison<'a>> {
        let mut comparison = Comparison::new(self.disk, index);
        while let Ok(Some(chunk)) = receiver.recv() {
            comparison.compare(chunk)?;
        }
        Ok(comparison)
    }

    fn read_here(&self, code: &CodeIndex, wanted: &[Wanted]) -> Result<()> {
        let mut reader = Reader::new(self.disk, self.call);
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
        let mut reader = Reader::new(self.disk, self.call);
        while let Some(wanted) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            let look = reader.look(wanted);
            let failed = look.is_err();
            if sender.send(look).is_err() || failed {
                return;
            }
        }
    }
}

/// Tells the other thread that no more comes, however the walk ended.
struct LastWord<'a>(&'a SyncSender<Option<Vec<WsPath>>>);

impl Drop for LastWord<'_> {
    fn drop(&mut self) {
        let _ = self.0.send(None);
    }
}

/// Files that one thread looked at, and how they differ from what is known of them.
struct Comparison<'a> {
    index: &'a Index,
    stats: Stats<'a>,
    /// Which known files are there, by number.
    seen: Vec<bool>,
    wanted: Vec<Wanted>,
}

impl<'a> Comparison<'a> {
    fn new(disk: &'a Disk, index: &'a Index) -> Self {
        let stats = disk.stats();
        Self { index, stats, seen: vec![false; index.end()], wanted: Vec::new() }
    }

    fn compare(&mut self, paths: impl IntoIterator<Item = WsPath>) -> Result<()> {
        for path in paths {
            let Some(number) = self.index.number(&path) else {
                // At the bound, one that finds no room shows that others would not either.
                if self.index.len() + self.wanted.len() <= MOST_FILES {
                    self.wanted.push(Wanted { path, young: None });
                }
                continue;
            };
            let stat = match self.stats.stat(&path) {
                Ok(Some(stat)) => stat,
                Ok(None) => continue,
                Err(fault) if is_tolerable(fault.code()) => continue,
                Err(fault) => return Err(fault),
            };
            self.seen[number as usize] = true;
            self.wanted.extend(changed(self.index, number, path, &stat));
        }
        Ok(())
    }

    fn add(&mut self, other: Self) {
        self.wanted.extend(other.wanted);
        self.seen.iter_mut().zip(other.seen).for_each(|(seen, also)| *seen |= also);
    }

    fn finish(self, index: &Index, folder: &WsPath) -> Difference {
        let unseen = index.files().filter(|(number, _)| !self.seen[*number as usize]);
        let gone = unseen.filter(|(_, file)| file.path.is_within(folder));
        let gone = gone.map(|(_, file)| file.path.clone()).collect();
        Difference { wanted: self.wanted, gone }
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

fn broke_off() -> Fault {
    Fault::new(FaultCode::Io, "the walk broke off")
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
