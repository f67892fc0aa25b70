//! Generated trees of files, and the same trees after somebody worked on them.

use std::collections::BTreeMap;

use crate::Dice;

/// One file of a generated tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its content.
    pub text: String,
    /// Whether git gives it mode 100755.
    pub executable: bool,
}

/// Files by their paths, without folders that hold none.
pub type Tree = BTreeMap<String, File>;

const NAMES: [&str; 14] = [
    "plain.txt",
    "src/main.rs",
    "src/lib.rs",
    "with space.txt",
    "trailing space ",
    "deep/er/and/deeper.md",
    "quote\"d.txt",
    "back\\slash",
    "tab\there",
    "new\nline",
    "ünïcödé/日本語.txt",
    "a/b/c",
    "b/a",
    "-dash",
];

const WORDS: [&str; 12] = [
    "fn main() {",
    "}",
    "",
    "    return x;",
    "\treturn x;",
    "--- a/fake",
    "+++ b/fake",
    "@@ -1,2 +1,2 @@",
    "ünïcödé “quotes”",
    "*** Begin Patch",
    "  trailing  ",
    "\\ No newline at end of file",
];

fn line(dice: &mut Dice) -> String {
    match dice.roll(3) {
        0 => (*dice.pick(&WORDS)).to_owned(),
        _ => format!("line {}", dice.roll(500)),
    }
}

fn text(dice: &mut Dice) -> String {
    let count = [0, 1, 2, 5, 12, 40][dice.roll(6)];
    let crlf = dice.roll(4);
    let mut text = String::from(if count > 0 && dice.one_in(12) { "\u{feff}" } else { "" });
    for _ in 0..count {
        text.push_str(&line(dice));
        let with_cr = crlf == 0 || crlf == 1 && dice.one_in(3);
        text.push_str(if with_cr { "\r\n" } else { "\n" });
    }
    if dice.one_in(4) {
        text.truncate(text.trim_end_matches('\n').len());
    }
    text
}

/// A text after some edits. A byte order mark stays where it is, or goes.
fn edited(dice: &mut Dice, text: &str) -> String {
    match text.strip_prefix('\u{feff}') {
        Some(body) if dice.one_in(4) => edited_lines(dice, body),
        Some(body) => format!("\u{feff}{}", edited_lines(dice, body)),
        None => edited_lines(dice, text),
    }
}

fn edited_lines(dice: &mut Dice, text: &str) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let ending = if text.contains("\r\n") && !dice.one_in(4) { "\r\n" } else { "\n" };
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(lines.len() + 1);
        match dice.roll(4) {
            0 if at < lines.len() => drop(lines.remove(at)),
            1 if at < lines.len() => lines[at] = format!("{}{ending}", line(dice)),
            2 if at < lines.len() => lines[at] = lines[at].replace("\r\n", "\n"),
            _ => lines.insert(at, format!("{}{ending}", line(dice))),
        }
    }
    // An unfinished line in the middle would be one line with the next.
    let last = lines.len().saturating_sub(1);
    for line in lines.iter_mut().take(last).filter(|line| !line.ends_with('\n')) {
        line.push_str(ending);
    }
    let mut text = lines.concat();
    match dice.roll(6) {
        0 => text.truncate(text.trim_end_matches('\n').len()),
        1 if !text.is_empty() && !text.ends_with('\n') => text.push_str(ending),
        _ => {}
    }
    text
}

/// Whether some lines end in CRLF and others do not.
pub fn has_mixed_endings(file: &File) -> bool {
    file.text.contains("\r\n") && file.text.replace("\r\n", "").contains('\n')
}

/// Some files.
pub fn tree(dice: &mut Dice) -> Tree {
    let mut tree = Tree::new();
    for _ in 0..1 + dice.roll(6) {
        let name = *dice.pick(&NAMES);
        put(&mut tree, name, File { text: text(dice), executable: dice.one_in(4) });
    }
    tree
}

/// Puts a file where no other is in its way.
fn put(tree: &mut Tree, name: &str, file: File) {
    let clashes = |other: &String| {
        other.starts_with(&format!("{name}/")) || name.starts_with(&format!("{other}/"))
    };
    if !tree.keys().any(clashes) {
        tree.insert(name.to_owned(), file);
    }
}

/// The same files after somebody worked on them.
pub fn changed(dice: &mut Dice, tree: &Tree) -> Tree {
    let mut changed = tree.clone();
    for (name, file) in tree {
        match dice.roll(8) {
            0 => drop(changed.remove(name)),
            1 => {
                let file = changed.remove(name).unwrap();
                let text = if dice.one_in(2) { edited(dice, &file.text) } else { file.text };
                let name = format!("moved {}", dice.roll(100));
                put(&mut changed, &name, File { text, executable: file.executable });
            }
            2 => changed.get_mut(name).unwrap().executable = !file.executable,
            3 => {
                let name = format!("copy/{}", dice.roll(100));
                put(&mut changed, &name, file.clone());
            }
            4 => {}
            _ => changed.get_mut(name).unwrap().text = edited(dice, &file.text),
        }
    }
    for _ in 0..dice.roll(3) {
        let name = *dice.pick(&NAMES);
        if !changed.contains_key(name) {
            put(&mut changed, name, File { text: text(dice), executable: dice.one_in(4) });
        }
    }
    changed
}
