//! The system calls of a real run, replayed to random points. Of what was not flushed by then, changes of
//! names are taken over up to some moment (a journalling file system keeps their order), and each write is
//! kept, lost or torn by itself. What is left of the data folder must open, hold every acknowledged step and
//! verify.
//!
//! Only the data folder is judged. The files of a root get other inodes in a replay, and recovery leaves
//! alone what it does not know: the tests in `power` cut real file systems for them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use yard_core::{ContentHash, StepId};
use yard_disk::Resolution;
use yard_kernel::{Opening, adopt};
use yard_store::{SqliteStore, Store};
use yard_testkit::{ChildWorkspace, soak};
use yard_testkit::{FakeWorld, Folders, OpenOptions};

use crate::judge::writer;
use crate::machine::Booted;

/// The calls that change what is on disk, and those that flush it.
const CALLS: &str = "trace=openat,write,pwrite64,ftruncate,fsync,fdatasync,syncfs,rename,renameat,\
                     renameat2,unlink,unlinkat,mkdir,mkdirat,link,linkat";
/// A device writes that many bytes, or none of them.
const SECTOR: usize = 512;

#[test]
fn replayed_to_any_point_the_data_folder_opens_with_every_acknowledged_step() {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("SKIPPED: strace is missing; NOTHING WAS CHECKED");
        return;
    }
    let points = if soak() { 5_000 } else { 50 };
    let events = record(if soak() { 400 } else { 60 });
    let dice = FakeWorld::new(11);
    let mut at: Vec<usize> = (0..points).map(|_| dice.below(events.len())).collect();
    at.sort_unstable();
    let (mut disk, mut answer) = (Disk::default(), Vec::new());
    let (mut next, mut checked) = (at.into_iter().peekable(), 0);
    for (number, event) in events.iter().enumerate() {
        while next.next_if_eq(&number).is_some() {
            let left = disk.cut(&dice);
            checked += check(&left, &disk.folders, &answer, &format!("before call {number}"));
        }
        match event {
            Event::WriterReport(words) => answer.push(words.clone()),
            event => disk.apply(event),
        }
    }
    eprintln!("{points} points of {} calls, {checked} acknowledged steps looked up", events.len());
    assert!(checked > points, "hardly anything was acknowledged");
}

/// What one system call did.
#[derive(Clone, Debug)]
enum Event {
    Open { path: String, truncates: bool },
    MakeFolder(String),
    Name(Name),
    Write { path: String, at: Option<usize>, bytes: Vec<u8> },
    Cut { path: String, length: usize },
    Flush { path: String, everything: bool },
    WriterReport(String),
}

/// A change of names.
#[derive(Clone, Debug)]
enum Name {
    Make(String, usize),
    Rename(String, String),
    Link(String, String),
    Remove(String),
}

impl Name {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Self::Make(path, file) => drop(names.insert(path.clone(), *file)),
            Self::Rename(from, to) => {
                let file = names.remove(from);
                names.extend(file.map(|file| (to.clone(), file)));
            }
            Self::Link(from, to) => {
                let file = names.get(from).copied();
                names.extend(file.map(|file| (to.clone(), file)));
            }
            Self::Remove(path) => drop(names.remove(path)),
        }
    }
}

/// A change of bytes.
#[derive(Clone, Debug)]
enum Bytes {
    Write { at: usize, bytes: Vec<u8> },
    Cut(usize),
}

impl Bytes {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::Write { at, bytes } if !bytes.is_empty() => {
                let end = at + bytes.len();
                file.resize(file.len().max(end), 0);
                file[*at..end].copy_from_slice(bytes);
            }
            Self::Write { .. } => {}
            Self::Cut(length) => file.resize(*length, 0),
        }
    }
}

#[derive(Debug, Default)]
struct Simulated {
    durable: Vec<u8>,
    pending: Vec<Bytes>,
    /// Where the next write goes that does not say where.
    position: usize,
}

/// A disk, as far as the calls tell. A file keeps its number, whatever its names are.
#[derive(Debug, Default)]
struct Disk {
    files: Vec<Simulated>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    /// Changes of names that no flush has covered yet.
    pending: Vec<Name>,
    folders: BTreeSet<String>,
}

impl Disk {
    /// The file of that name, made if it is not there.
    fn file(&mut self, path: &str) -> &mut Simulated {
        let number = match self.names.get(path) {
            Some(number) => *number,
            None => {
                self.files.push(Simulated::default());
                let number = self.files.len() - 1;
                self.rename(Name::Make(path.to_owned(), number));
                number
            }
        };
        &mut self.files[number]
    }

    fn rename(&mut self, change: Name) {
        change.apply(&mut self.names);
        self.pending.push(change);
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::Open { path, truncates } => {
                let file = self.file(path);
                file.position = 0;
                if *truncates {
                    file.pending.push(Bytes::Cut(0));
                }
            }
            Event::MakeFolder(path) => drop(self.folders.insert(path.clone())),
            Event::Name(change) => self.rename(change.clone()),
            Event::Write { path, at, bytes } => {
                let file = self.file(path);
                let at = at.unwrap_or(file.position);
                file.position = at + bytes.len();
                file.pending.push(Bytes::Write { at, bytes: bytes.clone() });
            }
            Event::Cut { path, length } => self.file(path).pending.push(Bytes::Cut(*length)),
            Event::Flush { path, everything } => self.flush(path, *everything),
            Event::WriterReport(_) => {}
        }
    }

    fn flush(&mut self, path: &str, everything: bool) {
        let number = self.names.get(path).copied();
        for (at, file) in self.files.iter_mut().enumerate() {
            if everything || Some(at) == number {
                let pending = std::mem::take(&mut file.pending);
                pending.iter().for_each(|change| change.apply(&mut file.durable));
            }
        }
        // One log holds all changes of names, in their order.
        self.pending.clear();
        self.durable_names = self.names.clone();
    }

    /// What a power cut leaves at this moment.
    fn cut(&self, dice: &FakeWorld) -> BTreeMap<String, Vec<u8>> {
        let mut names = self.durable_names.clone();
        let until = dice.below(self.pending.len() + 1);
        self.pending[..until].iter().for_each(|change| change.apply(&mut names));
        names.into_iter().map(|(path, number)| (path, self.files[number].cut(dice))).collect()
    }
}

impl Simulated {
    fn cut(&self, dice: &FakeWorld) -> Vec<u8> {
        let mut left = self.durable.clone();
        for change in &self.pending {
            match (dice.below(3), change) {
                (0, _) => {}
                (1, Bytes::Write { at, bytes }) => {
                    let kept = SECTOR * dice.below(bytes.len() / SECTOR + 1);
                    let bytes = bytes[..kept].to_vec();
                    Bytes::Write { at: *at, bytes }.apply(&mut left);
                }
                (_, change) => change.apply(&mut left),
            }
        }
        left
    }
}

/// Opens what is left, and looks for everything that was acknowledged; how many steps that are.
fn check(
    left: &BTreeMap<String, Vec<u8>>,
    folders: &BTreeSet<String>,
    answer: &[String],
    context: &str,
) -> usize {
    let place = Folders::in_memory();
    let state = place.state();
    for folder in folders {
        std::fs::create_dir_all(state.join(folder)).unwrap();
    }
    for (path, bytes) in left {
        let path = state.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let store = SqliteStore::open(state);
    let store = Arc::new(store.unwrap_or_else(|error| panic!("{context}: {error}")));
    let head = store.head().unwrap();
    let mut steps = 0;
    for words in answer {
        match words.split(' ').collect::<Vec<_>>()[..] {
            ["step", seq, id] => {
                steps += 1;
                let id: StepId = id.parse().unwrap();
                let found = store.step(id).unwrap();
                assert!(found.is_some(), "{context}: step {seq} is missing, the head is {head}");
            }
            ["ack", "write" | "edit", path, hash] => {
                let hash: ContentHash = hash.parse().unwrap();
                let kept = store.content(&hash).unwrap();
                let is_it = kept.is_some_and(|bytes| ContentHash::of(&bytes) == hash);
                assert!(is_it, "{context}: {path} has other bytes than {hash}");
            }
            _ => {}
        }
    }
    let marks = left.keys().filter_map(|name| name.strip_prefix("applied.")?.split_once('.'));
    let applied = marks.map(|(step, _)| step.parse::<u64>().unwrap()).max();
    assert!(applied <= Some(head), "{context}: {applied:?} was applied, the head is {head}");
    check_whole_history(&place, store, context);
    steps
}

/// The chain and all contents verify, once the history is let go on with an empty folder.
fn check_whole_history(place: &Folders, store: Arc<SqliteStore>, context: &str) {
    let plan = OpenOptions { world: Arc::new(Booted(2)), ..OpenOptions::default() };
    let adopted = adopt(&Opening {
        root: place.root().to_owned(),
        state_dir: place.state().to_owned(),
        store,
        limits: plan.limits.clone(),
        world: Arc::clone(&plan.world),
        probe: None,
        resolution: Resolution::Auto,
        virtual_files: None,
        boxed: None,
    });
    adopted.unwrap_or_else(|fault| panic!("{context}: {fault}"));
    let child = ChildWorkspace::open(place.root(), place.state(), plan);
    let child = child.unwrap_or_else(|fault| panic!("{context}: {fault}"));
    child.verified();
}

/// Lets a writer do so many things, and takes down what it did to its data folder.
fn record(changes: u64) -> Vec<Event> {
    let place = Folders::new();
    let out = place.root().parent().unwrap().join("trace");
    let acknowledged = place.root().parent().unwrap().join("acknowledged");
    let mut program = Command::new("strace");
    program.args(["-f", "-y", "-xx", "-s", "4000000", "-e", CALLS, "-o"]).arg(&out);
    program.arg(std::env::current_exe().unwrap());
    writer(&mut program, &place, 5, changes);
    program.env("YARD_CRASH_BOOT", "1").env("YARD_CRASH_ACKNOWLEDGED", acknowledged);
    let output = program.stdout(Stdio::piped()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let trace = std::fs::read_to_string(out).unwrap();
    let mut reader =
        Reader { state: place.state(), unfinished: HashMap::new(), events: Vec::new() };
    trace.lines().for_each(|line| reader.line(line));
    reader.events
}

/// Reads what strace wrote.
struct Reader<'a> {
    state: &'a Path,
    /// Calls of a process or thread during which another one was scheduled.
    unfinished: HashMap<String, String>,
    events: Vec<Event>,
}

impl Reader<'_> {
    fn line(&mut self, line: &str) {
        let Some((process, call)) = line.split_once(' ') else { return };
        let call = call.trim_start();
        if let Some(begun) = call.strip_suffix("<unfinished ...>") {
            self.unfinished.insert(process.to_owned(), begun.trim_end().to_owned());
            return;
        }
        let whole = match call.strip_prefix("<... ").and_then(|call| call.split_once("resumed>")) {
            Some((_, rest)) => self.unfinished.remove(process).unwrap_or_default() + rest,
            None => call.to_owned(),
        };
        let Some((call, result)) = whole.rsplit_once(" = ") else { return };
        if result.starts_with('-') {
            return;
        }
        let Some((name, arguments)) = call.split_once('(') else { return };
        let event = self.event(name, arguments.trim_end().trim_end_matches(')'));
        self.events.extend(event);
    }

    fn event(&self, name: &str, arguments: &str) -> Option<Event> {
        let arguments: Vec<&str> = arguments.split(", ").collect();
        let own = |at: usize| self.own(arguments.get(at)?, None);
        let named = |at: usize| self.own(arguments.get(at + 1)?, arguments.get(at));
        let number = |at: usize| arguments.get(at)?.parse::<usize>().ok();
        let between = |from: Option<String>, to: Option<String>| match (from, to) {
            (Some(from), Some(to)) => Some(Name::Rename(from, to)),
            (Some(from), None) => Some(Name::Remove(from)),
            // A file of the root never becomes one of the data folder's, except in the stage.
            (None, to) => to.map(Name::Remove),
        };
        Some(match name {
            "openat" => {
                let flags = arguments.get(2)?;
                let truncates = flags.contains("O_TRUNC");
                let path = named(0).filter(|_| truncates || flags.contains("O_CREAT"))?;
                Event::Open { path, truncates }
            }
            "write" if handle(arguments.first()?)?.starts_with("pipe:") => {
                let words = String::from_utf8(string(arguments.get(1)?)?).ok()?;
                Event::WriterReport(words.trim().strip_prefix('@')?.to_owned())
            }
            "write" => Event::Write { path: own(0)?, at: None, bytes: string(arguments.get(1)?)? },
            "pwrite64" => {
                Event::Write { path: own(0)?, at: Some(number(3)?), bytes: string(arguments[1])? }
            }
            "ftruncate" => Event::Cut { path: own(0)?, length: number(1)? },
            "fsync" | "fdatasync" => Event::Flush { path: own(0)?, everything: false },
            "syncfs" => Event::Flush { path: String::new(), everything: true },
            "rename" => Event::Name(between(own(0), own(1))?),
            "renameat" | "renameat2" => Event::Name(between(named(0), named(2))?),
            "unlink" => Event::Name(Name::Remove(own(0)?)),
            "unlinkat" => Event::Name(Name::Remove(named(0)?)),
            "link" => Event::Name(Name::Link(own(0)?, own(1)?)),
            "linkat" => Event::Name(Name::Link(named(0)?, named(2)?)),
            "mkdir" => Event::MakeFolder(own(0)?),
            "mkdirat" => Event::MakeFolder(named(0)?),
            _ => return None,
        })
    }

    /// A path below the data folder, from a handle or a name. What is staged is not the data folder's, and
    /// the index of the database's log is memory.
    fn own(&self, word: &str, folder: Option<&&str>) -> Option<String> {
        let path = match string(word) {
            Some(bytes) => String::from_utf8(bytes).ok()?,
            None => handle(word)?,
        };
        let path = match folder {
            Some(folder) if !path.starts_with('/') => format!("{}/{path}", handle(folder)?),
            _ => path,
        };
        let path = Path::new(&path).strip_prefix(self.state).ok()?.to_str()?.to_owned();
        let is_ours = !path.starts_with("stage/") && !path.ends_with("-shm");
        is_ours.then_some(path)
    }
}

/// The path of a handle, as `5</path>`.
fn handle(word: &str) -> Option<String> {
    let (_, path) = word.split_once('<')?;
    let path = path.split_once('>').map_or(path, |(path, _)| path);
    String::from_utf8(unescape(path)).ok()
}

/// The bytes of a quoted string.
fn string(word: &str) -> Option<Vec<u8>> {
    let inner = word.strip_prefix('"')?.strip_suffix('"')?;
    Some(unescape(inner))
}

fn unescape(word: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(word.len() / 4);
    let mut rest = word.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.strip_prefix(b"x").and_then(|after| after.get(..2));
        let byte = digits
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match byte.filter(|_| *first == b'\\') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}
