//! Brings the index up to date with the disk: walks the tree, compares signatures, and reads changed files.
//!
//! Every file is added to the index as soon as it is read, so that a search that runs out of time leaves less to do for the
//! next one.

use yard_core::{Call, Fault, FaultCode, FileKind, Result, WsPath};
use yard_disk::{Disk, EntryKind, EntryStat, Stats};
use yard_search::parallel::{self, Pipeline};
use yard_search::{Flow, FolderView, Walk, WalkOptions, is_unreadable};

use crate::code_index::CodeIndex;
use crate::index::{FileState, Index, MAX_FILES};
use crate::read::{FileToRead, ReadOutcome, Reader};

/// Paths that a comparing thread gets at a time.
const COMPARED: usize = 256;
/// Fewer files than this are read without starting threads, which would take longer.
const FEW: usize = 8;

/// A refresh of the index for one folder.
pub struct Refresh<'a> {
    /// The index.
    pub index: &'a CodeIndex,
    /// Where the files are.
    pub disk: &'a Disk,
    /// The folder, its links resolved.
    pub folder: &'a WsPath,
    /// Which entries the walk sees. All of them have to be on the disk.
    pub view: &'a FolderView<'a>,
    /// The call of the search.
    pub call: &'a Call,
}

/// What differs between the index and the disk.
#[derive(Default)]
struct Difference {
    changed: Vec<FileToRead>,
    gone: Vec<WsPath>,
}

impl Refresh<'_> {
    /// Refreshes the index. Afterwards it has the state of the folder at some moment after the start of this function.
    pub fn run(&self) -> Result<()> {
        let code = self.index;
        let Some(mut guard) = code.begin_refresh(self.folder, self.call)? else { return Ok(()) };
        self.update(code)?;
        if self.is_crowded_out(code) {
            *code.write() = Index::default();
            self.update(code)?;
        }
        guard.refreshed = Some(self.folder.clone());
        Ok(())
    }

    fn update(&self, code: &CodeIndex) -> Result<()> {
        let difference = self.compare(code)?;
        if !difference.gone.is_empty() {
            let mut index = code.write();
            difference.gone.iter().for_each(|path| index.remove(path));
        }
        let changed = difference.changed;
        if changed.len() < FEW {
            self.read_here(code, &changed)
        } else {
            self.read_parallel(code, &changed)
        }
    }

    /// Whether files of this folder do not fit into the index because it has files of other folders.
    fn is_crowded_out(&self, code: &CodeIndex) -> bool {
        let index = code.read();
        let (mut has_unindexed, mut has_others) = (false, false);
        for (_, file) in index.files() {
            let within = file.path.is_within(self.folder);
            has_unindexed |= within && file.state == FileState::Unindexed;
            has_others |= !within;
        }
        has_unindexed && has_others
    }

    /// Compares the disk with the index.
    fn compare(&self, code: &CodeIndex) -> Result<Difference> {
        let index = &*code.read();
        let mut changed = Vec::new();
        // Which of the files in the index are on disk, by number.
        let mut seen = vec![false; index.end()];
        Pipeline { threads: parallel::cores(), batch: COMPARED }.run(
            |compare| self.walk(compare),
            || {
                let mut stats = self.disk.stats();
                move |path| compare(index, &mut stats, path)
            },
            |compared| {
                match compared? {
                    Compared::New(path) => {
                        // One file more than fits is read, so that the index notices that it is full.
                        if index.len() + changed.len() <= MAX_FILES {
                            changed.push(FileToRead { path, unsettled: None });
                        }
                    }
                    Compared::Indexed(number, to_read) => {
                        seen[number as usize] = true;
                        changed.extend(to_read);
                    }
                    Compared::Gone => {}
                }
                Ok(Flow::Continue(()))
            },
        )?;
        let unseen = index.files().filter(|(number, _)| !seen[*number as usize]);
        let gone = unseen.filter(|(_, file)| file.path.is_within(self.folder));
        Ok(Difference { changed, gone: gone.map(|(_, file)| file.path.clone()).collect() })
    }

    fn walk(&self, compare: &mut dyn FnMut(WsPath) -> Flow) -> Result<()> {
        let options = WalkOptions { recursive: true, include_ignored: false };
        let mut walk = Walk::new(self.disk, self.call, options).viewing(self.view);
        walk.run(self.folder, &mut |visit| {
            let is_file = visit.kind == EntryKind::Known(FileKind::File);
            Ok(match is_file {
                true => compare(visit.path),
                false => Flow::Continue(()),
            })
        })
    }

    fn read_here(&self, code: &CodeIndex, files: &[FileToRead]) -> Result<()> {
        let mut reader = Reader::new(self.disk, self.call);
        files.iter().try_for_each(|file| {
            reader.read_for_index(file).map(|outcome| apply(&mut code.write(), outcome))
        })
    }

    fn read_parallel(&self, code: &CodeIndex, files: &[FileToRead]) -> Result<()> {
        let (mut done, total) = (0, files.len());
        let read = Pipeline { threads: parallel::cores(), batch: 1 }.run(
            |send| {
                let _ = files.iter().try_for_each(send);
                Ok(())
            },
            || {
                let mut reader = Reader::new(self.disk, self.call);
                move |file| reader.read_for_index(file)
            },
            |outcome| {
                apply(&mut code.write(), outcome?);
                done += 1;
                self.call.progress(done as u64, Some(total as u64));
                Ok(Flow::Continue(()))
            },
        );
        read.map_err(|fault| unfinished(fault, done, total))
    }
}

/// A file on disk compared with the index.
enum Compared {
    /// The index does not have it.
    New(WsPath),
    /// The index has it under this number. It has to be read again if it may have changed.
    Indexed(u32, Option<FileToRead>),
    /// It vanished, or may not be looked at.
    Gone,
}

fn compare(index: &Index, stats: &mut Stats<'_>, path: WsPath) -> Result<Compared> {
    let Some(number) = index.number(&path) else { return Ok(Compared::New(path)) };
    match stats.stat(&path) {
        Ok(Some(stat)) => Ok(Compared::Indexed(number, changed(index, number, path, &stat))),
        Ok(None) => Ok(Compared::Gone),
        Err(fault) if is_unreadable(fault.code()) => Ok(Compared::Gone),
        Err(fault) => Err(fault),
    }
}

/// An indexed file, if it has to be read again.
fn changed(index: &Index, number: u32, path: WsPath, stat: &EntryStat) -> Option<FileToRead> {
    let file = index.file(number)?;
    if file.signature != stat.signature {
        return Some(FileToRead { path, unsettled: None });
    }
    if file.state == FileState::Unindexed {
        return index.has_room().then_some(FileToRead { path, unsettled: None });
    }
    let hash = file.unsettled?;
    Some(FileToRead { path, unsettled: Some((file.signature, hash)) })
}

fn apply(index: &mut Index, outcome: ReadOutcome) {
    match outcome {
        ReadOutcome::Changed(file) => index.put(*file),
        ReadOutcome::Same(path, unsettled) => index.set_unsettled(&path, unsettled),
        ReadOutcome::Gone(path) => index.remove(&path),
    }
}

/// The fault of a search that ran out of time, which says how to go on: files that were read stay in the index.
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
