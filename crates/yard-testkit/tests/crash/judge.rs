//! How a writer is started, heard, and judged by what it left.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use yard_store::{SqliteStore, Store};
use yard_testkit::Folders;
use yard_testkit::{EntrySnapshot, FolderSnapshot, staged, tree};

use crate::model::is_whole;

/// A command for a writer process.
fn order(place: &Folders, seed: u64, count: u64) -> String {
    format!("{}|{}|{seed}|{count}", place.root().display(), place.state().display())
}

/// A writer in a process of its own, started by `program` (this test itself, or who traces it).
pub(crate) fn writer(program: &mut Command, place: &Folders, seed: u64, count: u64) {
    program
        .args(["--exact", "writer::child", "--nocapture"])
        .env("YARD_CRASH_CHILD", order(place, seed, count))
        .stderr(Stdio::null());
}

/// A writer that works until it is killed, and what it tells.
pub(crate) fn spawn(place: &Folders, seed: u64) -> (Child, BufReader<ChildStdout>) {
    let mut program = Command::new(std::env::current_exe().unwrap());
    writer(&mut program, place, seed, u64::MAX);
    let mut child = program.stdout(Stdio::piped()).spawn().unwrap();
    let answer = BufReader::new(child.stdout.take().unwrap());
    (child, answer)
}

/// A writer that does so many things and ends.
pub(crate) fn work(place: &Folders, seed: u64, count: u64) {
    let mut program = Command::new(std::env::current_exe().unwrap());
    writer(&mut program, place, seed, count);
    let status = program.stdout(Stdio::null()).status().unwrap();
    assert!(status.success(), "seed {seed}: {status}");
}

/// What a killed writer told, as far as it got: the last line may be cut.
pub(crate) fn rest(mut answer: BufReader<ChildStdout>) -> Vec<String> {
    let mut rest = String::new();
    answer.read_to_string(&mut rest).unwrap();
    let lines = rest.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    lines.filter_map(|line| line.trim_end().strip_prefix('@')).map(str::to_owned).collect()
}

/// Reads a line that the writer told.
pub(crate) fn read_line(answer: &mut BufReader<ChildStdout>) -> Option<String> {
    loop {
        let mut line = String::new();
        if answer.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        if let Some(words) = line.trim_end().strip_prefix('@') {
            return Some(words.to_owned());
        }
    }
}

/// Reads until the writer has acknowledged so many more changes, or has ended; returns the lines.
pub(crate) fn read_acknowledged(
    answer: &mut BufReader<ChildStdout>,
    mut count: usize,
) -> Vec<String> {
    let mut lines = Vec::new();
    while count > 0
        && let Some(line) = read_line(answer)
    {
        count -= usize::from(line.starts_with("ack "));
        lines.push(line);
    }
    lines
}

pub(crate) fn check_whole(found: &FolderSnapshot, context: &str) {
    for (path, seen) in found {
        if let EntrySnapshot::File(_, bytes) = seen {
            assert!(is_whole(bytes), "{context}: {path} is torn: {seen:?}");
        }
    }
}

pub(crate) fn check_clean(place: &Folders, context: &str) {
    assert_eq!(staged(place.state()), Vec::<String>::new(), "{context}: left in the stage");
    let inside = tree(place.root());
    let ours = inside.keys().find(|path| path.contains("toolyard"));
    assert_eq!(ours, None, "{context}: left in the root");
}

/// Acknowledged contents are versions in the store.
pub(crate) fn check_stored(place: &Folders, answer: &[String], context: &str) {
    let store = SqliteStore::open(place.state()).unwrap();
    for words in answer.iter().filter_map(|words| words.strip_prefix("ack ")) {
        if let ["write" | "edit", path, hash] = words.split(' ').collect::<Vec<_>>()[..] {
            let kept = store.content(&hash.parse().unwrap()).unwrap();
            assert!(kept.is_some(), "{context}: the acknowledged {words} is not in the store");
            assert!(is_whole(&kept.unwrap()), "{context}: {path} is torn in the store");
        }
    }
}
