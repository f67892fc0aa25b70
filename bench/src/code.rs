//! Searching code in a tree of 20,000 well-formed files: the first search, which builds the index, the next
//! ones, and those after an edit.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use yard_core::op::{CodeAnswer, CodeScope, SearchCode};

use crate::clock::{alone, once, solo};
use crate::source::Dice;
use crate::table::Row;
use crate::workspace::{Bench, Plan, Scratch, at, data};
use crate::write::write;

const FILES: usize = 20_000;
const FOLDER_FILES: usize = 16;
const ROUNDS: usize = 21;
const TARGET: Option<Duration> = Some(Duration::from_millis(50));
/// Changes when the tree does.
const EDITION: &str = "1";
/// What the edits are made to.
const EDITED: &str = "/edited.rs";

/// Every row about searching code.
pub(crate) fn rows() -> Vec<Row> {
    let (scratch, root) = (Scratch::new(), tree());
    // Whatever is younger than two seconds is read again.
    std::thread::sleep(Duration::from_millis(2_500));
    let open = |name| Bench::open(&root, &scratch.folder(name), &Plan::default());
    let bench = open("state");
    let cold = once(|| drop(black_box(bench.perform(search("needle_of_all")))));
    let warm = |query: &str| alone(ROUNDS, || drop(black_box(bench.perform(search(query)))));
    let rows = vec![
        Row::bound(&format!("the first search ({FILES} files are read)"), cold, None),
        Row::bound("a name", warm("needle_of_all"), TARGET),
        Row::bound("the beginning of many names", warm("append_b"), TARGET),
        Row::bound("three common words", warm("merge journal session"), TARGET),
        edited("a new name, written by a tool", &bench, |text| {
            bench.perform(write(EDITED, text));
        }),
        edited("a new name, written behind our back", &bench, |text| {
            std::fs::write(root.join(&EDITED[1..]), text).expect("a file");
        }),
    ];
    let _ = std::fs::remove_file(root.join(&EDITED[1..]));
    rows
}

fn search(query: &str) -> SearchCode {
    SearchCode {
        query: query.to_owned(),
        path: at("/"),
        language: None,
        scope: CodeScope::All,
        limit: 20,
        skip: 0,
    }
}

/// The time of a search right after an edit; that it finds what is new is checked.
fn edited(what: &str, bench: &Bench, mut edit: impl FnMut(Vec<u8>)) -> Row {
    let mut runs = Vec::new();
    for round in 0..=ROUNDS {
        let name = format!("brand_new_{}_{round}", what.len());
        edit(format!("pub fn {name}() {{}}\n").into_bytes());
        let mut answer = CodeAnswer::default();
        let run = once(|| answer = bench.perform(search(&name)));
        let first = answer.results.first().and_then(|found| found.definition.as_ref());
        assert_eq!(first.map(|defined| &defined.name), Some(&name));
        runs.extend((round > 0).then_some(run));
    }
    Row::bound(what, solo(runs), TARGET)
}

/// The root of the tree, made once and kept.
fn tree() -> PathBuf {
    let (root, stamp) = (data().join("code"), data().join("code.edition"));
    if std::fs::read_to_string(&stamp).is_ok_and(|found| found == EDITION) {
        return root;
    }
    eprintln!("making {FILES} files of code...");
    let _ = std::fs::remove_dir_all(&root);
    make(&root);
    std::fs::write(stamp, EDITION).expect("a stamp");
    root
}

fn make(root: &Path) {
    let mut dice = Dice(20_000);
    for number in 0..FILES {
        let module = number / FOLDER_FILES;
        let folder = root.join(format!("part_{}/mod_{module}", module % 40));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (ending, text) = file(&mut dice, number);
        std::fs::write(folder.join(format!("file_{number}.{ending}")), text).expect("a file");
    }
}

/// A file of 4 to 28 functions in one of a few languages, or of prose.
fn file(dice: &mut Dice, number: usize) -> (&'static str, String) {
    let ending = ["rs", "rs", "py", "js", "ts", "go", "c", "md"][dice.below(8)];
    let mut text = String::new();
    if number == FILES / 2 {
        return ("rs", "pub fn needle_of_all() {}\n".to_owned());
    }
    for _ in 0..4 + dice.below(24) {
        let (name, a, b, c) = (dice.name(), dice.name(), dice.name(), dice.below(1_000));
        text.push_str(&match ending {
            "rs" => format!(
                "/// Does {a} before {b}.\npub fn {name}({a}: u64) -> u64 {{\n    let {b} = {a} + {c};\n    if {b} > {c} {{\n        return {b};\n    }}\n    {a}\n}}\n\n"
            ),
            "py" => format!(
                "def {name}({a}):\n    \"\"\"Does {a} before {b}.\"\"\"\n    {b} = {a} + {c}\n    if {b} > {c}:\n        return {b}\n    return {a}\n\n"
            ),
            "go" => format!("func {name}({a} int) int {{\n\t{b} := {a} + {c}\n\treturn {b}\n}}\n\n"),
            "c" => format!("static int {name}(int {a})\n{{\n    int {b} = {a} + {c};\n    return {b};\n}}\n\n"),
            "md" => format!("# {name}\n\nIt does {a} before {b}, {c} times.\n\n"),
            _ => format!(
                "export function {name}({a}) {{\n  const {b} = {a} + {c};\n  return {b} > {c} ? {b} : {a};\n}}\n\n"
            ),
        });
    }
    (ending, text)
}
