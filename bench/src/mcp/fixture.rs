//! The trees that the servers work on: a copy of the same tree for each. Files that are only read are made once and
//! stay beside the build; files that are written are new in every run.

use std::path::{Path, PathBuf};

use crate::source::Dice;
use crate::tree::RARE;
use crate::workspace::data;

/// Changes when the tree does.
const EDITION: &str = "2";
/// Folders of the crowd, of twenty files each.
const FOLDERS: usize = 1_000;
const FILES: usize = 20 * FOLDERS;
/// How many entries `many` has.
pub(super) const MANY: usize = 1_000;

/// The names of what is read and edited, and its size.
pub(super) const SMALL: (&str, usize) = ("small.txt", 10_000);
pub(super) const LARGE: (&str, usize) = ("large.txt", 1_000_000);
pub(super) const EDITED: &str = "edited.txt";
pub(super) const WRITTEN: &str = "written.txt";

/// What a search for names looks for, and one in contents: each is in some dozens of files.
pub(super) const PATTERN: &str = "**/*.toml";
pub(super) const WORD: &str = RARE;

/// The copy of this name.
pub(super) fn copy(name: &str) -> PathBuf {
    let name = format!("mcp-{name}");
    let (root, stamp) = (data().join(&name), data().join(format!("{name}.edition")));
    if !std::fs::read_to_string(&stamp).is_ok_and(|found| found == EDITION) {
        eprintln!("making a tree of {FILES} files...");
        let _ = std::fs::remove_dir_all(&root);
        make(&root);
        std::fs::write(stamp, EDITION).expect("a stamp");
    }
    refresh(&root);
    root.canonicalize().expect("the tree")
}

fn make(root: &Path) {
    for number in 0..FILES {
        let path = root.join(name(number));
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, contents(number)).expect("a file");
    }
    let many = root.join("many");
    std::fs::create_dir(&many).expect("a folder");
    for entry in (0..MANY).map(entry) {
        match entry.split_once("] ") {
            Some(("[DIR", name)) => std::fs::create_dir(many.join(name)).expect("a folder"),
            Some((_, name)) => std::fs::write(many.join(name), "x").expect("a file"),
            None => unreachable!("an entry has a mark"),
        }
    }
}

fn refresh(root: &Path) {
    for (name, size) in [SMALL, LARGE] {
        std::fs::write(root.join(name), source(size)).expect("a file");
    }
    let mut dice = Dice(100);
    // A number of its own, so that each line stands there once.
    let lines = (0..2_000).map(|number| format!("{number:05} {}\n", dice.line().trim()));
    std::fs::write(root.join(EDITED), lines.collect::<String>()).expect("a file");
    let _ = std::fs::remove_file(root.join(WRITTEN));
}

/// What a file of this size holds.
pub(super) fn source(size: usize) -> String {
    String::from_utf8(Dice(size as u64).text(size)).expect("text")
}

fn contents(number: usize) -> Vec<u8> {
    let mut dice = Dice(number as u64);
    let size = 500 + dice.below(4_000);
    let mut text = dice.text(size);
    if holds_word(number) {
        text.extend_from_slice(format!("// the {WORD} of {number}\n").as_bytes());
    }
    text.extend_from_slice(&dice.text(200));
    text
}

/// An entry of `many`, as a listing shows it.
pub(super) fn entry(number: usize) -> String {
    match number % 20 {
        0 => format!("[DIR] folder_{number}"),
        _ => format!("[FILE] file_{number}.rs"),
    }
}

/// Where a search looks.
#[derive(Clone, Copy)]
pub(super) enum Crowd {
    /// The half of it.
    Half,
    /// All of it.
    Whole,
}

impl Crowd {
    /// The folder, from the root.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Self::Half => "crowd/left",
            Self::Whole => "crowd",
        }
    }

    /// How many files that are.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Half => "10,000 files",
            Self::Whole => "20,000 files",
        }
    }

    fn files(self) -> std::ops::Range<usize> {
        match self {
            Self::Half => 0..FILES / 2,
            Self::Whole => 0..FILES,
        }
    }

    /// The paths that the pattern means.
    pub(super) fn named(self) -> Vec<String> {
        self.files().filter(|number| is_named(*number)).map(name).collect()
    }

    /// Where the word stands, as `path:line`.
    pub(super) fn hits(self, root: &Path) -> Vec<String> {
        self.files().filter(|number| holds_word(*number)).map(|number| hit(root, number)).collect()
    }
}

fn name(number: usize) -> String {
    let side = if number < FILES / 2 { "left" } else { "right" };
    let (part, module) = (number % 20, number / 20 % 25);
    let ending =
        if is_named(number) { "toml" } else { ["rs", "py", "md", "json", "c"][number % 5] };
    format!("crowd/{side}/part_{part}/mod_{module}/file_{number}.{ending}")
}

fn is_named(number: usize) -> bool {
    number % 401 == 7
}

fn holds_word(number: usize) -> bool {
    number % 353 == 3
}

fn hit(root: &Path, number: usize) -> String {
    let name = name(number);
    let text = std::fs::read_to_string(root.join(&name)).expect("a file");
    let line = text.lines().position(|line| line.contains(WORD)).expect("the word");
    format!("{name}:{}", line + 1)
}
