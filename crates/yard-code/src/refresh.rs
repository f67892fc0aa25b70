//! Brings the index up to date with what is on disk: walks, compares signatures, reads what changed.
//!
//! Every file that was read is added to the index at once: a search that runs out of time leaves less to
//! do for the next one.

use yard_core::{Call, Fault, FaultCode, FileKind, Result, WsPath};
use yard_disk::{Disk, EntryKind, EntryStat, Stats};
use yard_search::parallel::{self, Pipeline};
use yard_search::{Flow, Listing, Rules, Walk, is_tolerable};

use crate::code_index::{CodeIndex, Turn};
use crate::index::{Index, MOST_FILES, Standing};
use crate::read::{Look, Reader, Wanted};

/// Paths that a comparing thread gets at a time.
const COMPARED: usize = 256;
/// Fewer files than this are read without another thread: to start one takes longer.
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

    /// Whether files of this folder do not fit into the index because files of other folders fill it.
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

    /// Compares what is on disk with the index.
    fn compare(&self, code: &CodeIndex) -> Result<Difference> {
        let index = &*code.read();
        let mut wanted = Vec::new();
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
                    Compared::Unknown(path) => {
                        // One file too many is read, and shows that the index is full.
                        if index.len() + wanted.len() <= MOST_FILES {
                            wanted.push(Wanted { path, young: None });
                        }
                    }
                    Compared::Known(number, changed) => {
                        seen[number as usize] = true;
                        wanted.extend(changed);
                    }
                    Compared::Gone => {}
                }
                Ok(Flow::Continue(()))
            },
        )?;
        let unseen = index.files().filter(|(number, _)| !seen[*number as usize]);
        let gone = unseen.filter(|(_, file)| file.path.is_within(self.folder));
        Ok(Difference { wanted, gone: gone.map(|(_, file)| file.path.clone()).collect() })
    }

    fn walk(&self, compare: &mut dyn FnMut(WsPath) -> Flow) -> Result<()> {
        let rules = Rules { recursive: true, include_ignored: false };
        let mut walk = Walk::new(self.disk, self.call, rules).showing(self.listing);
        walk.run(self.folder, &mut |visit| {
            let is_file = visit.kind == EntryKind::Known(FileKind::File);
            Ok(match is_file {
                true => compare(visit.path),
                false => Flow::Continue(()),
            })
        })
    }

    fn read_here(&self, code: &CodeIndex, wanted: &[Wanted]) -> Result<()> {
        let mut reader = Reader::new(self.disk, self.call);
        wanted
            .iter()
            .try_for_each(|wanted| reader.look(wanted).map(|look| take_in(&mut code.write(), look)))
    }

    fn read_all(&self, code: &CodeIndex, wanted: &[Wanted]) -> Result<()> {
        let (mut done, total) = (0, wanted.len());
        let read = Pipeline { threads: parallel::cores(), batch: 1 }.run(
            |read| {
                let _ = wanted.iter().try_for_each(read);
                Ok(())
            },
            || {
                let mut reader = Reader::new(self.disk, self.call);
                move |wanted| reader.look(wanted)
            },
            |look| {
                take_in(&mut code.write(), look?);
                done += 1;
                self.call.progress(done as u64, Some(total as u64));
                Ok(Flow::Continue(()))
            },
        );
        read.map_err(|fault| unfinished(fault, done, total))
    }
}

/// A file on disk, beside what the index knows of it.
enum Compared {
    /// The index does not have it.
    Unknown(WsPath),
    /// The index has it under this number; what has to be read again of it.
    Known(u32, Option<Wanted>),
    /// It vanished, or may not be looked at.
    Gone,
}

fn compare(index: &Index, stats: &mut Stats<'_>, path: WsPath) -> Result<Compared> {
    let Some(number) = index.number(&path) else { return Ok(Compared::Unknown(path)) };
    match stats.stat(&path) {
        Ok(Some(stat)) => Ok(Compared::Known(number, changed(index, number, path, &stat))),
        Ok(None) => Ok(Compared::Gone),
        Err(fault) if is_tolerable(fault.code()) => Ok(Compared::Gone),
        Err(fault) => Err(fault),
    }
}

/// What has to be read again of a file that is known, if anything.
fn changed(index: &Index, number: u32, path: WsPath, stat: &EntryStat) -> Option<Wanted> {
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

/// What was read stays in the index: the fault of a search that ran out of time says how to go on.
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
