//! The patch engine against git: generated trees, the diff that real git makes between them, and
//! what `git apply` does with the same diff. `YARD_SOAK=1` runs ten times as many cases.
//!
//! Where the engine differs from `git apply`, by intent:
//! - git takes the nearest of several places for a hunk that drifted; the engine refuses (X3).
//! - git takes no hunk whose white space differs, whose outer context is stale, or that says
//!   something else about the newline at the end of the file; the engine takes it if it stands in
//!   one place only, and says by which pass it was found.
//! - git holds that a hunk without context at one end is at that end of the file; the engine
//!   believes its stated line, and else asks that it stands in one place only.
//! - lines that are added without any context take the ending of most lines of the file (R5).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test that runs git and fails loudly"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::{Dice, cases, without_lines};
use yard_core::FaultCode;
use yard_core::patch::{
    Action, HunkLine, Pass, Patch, Sign, Transfer, apply, apply_all, parse, reverse,
};

#[derive(Clone, Debug, PartialEq, Eq)]
struct File {
    text: String,
    executable: bool,
}

type Tree = BTreeMap<String, File>;

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

fn has_mixed_endings(file: &File) -> bool {
    file.text.contains("\r\n") && file.text.replace("\r\n", "").contains('\n')
}

fn tree(dice: &mut Dice) -> Tree {
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

fn changed(dice: &mut Dice, tree: &Tree) -> Tree {
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

/// A folder of this test, with a git that knows nothing of the machine.
struct Git {
    folder: PathBuf,
}

impl Git {
    fn new(name: &str) -> Self {
        let name = format!("patch-git-{name}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        Self { folder }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &self.folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CEILING_DIRECTORIES", self.folder.parent().unwrap())
            .args(["-c", "core.autocrlf=false", "-c", "core.quotepath=true"])
            .args(args);
        command
    }

    fn run(&self, args: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("git is there");
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(output.stdout) } else { Err(words) }
    }
}

impl Drop for Git {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn quoted(name: &str) -> String {
    let escaped: String = name.bytes().map(|byte| format!("\\{byte:03o}")).collect();
    format!("\"{escaped}\"")
}

fn commit(stream: &mut Vec<u8>, branch: &str, tree: &Tree) {
    let head = format!(
        "commit refs/heads/{branch}\ncommitter t <t@example.org> 0 +0000\ndata 0\ndeleteall\n"
    );
    stream.extend(head.as_bytes());
    for (name, file) in tree {
        let mode = if file.executable { "100755" } else { "100644" };
        let length = file.text.len();
        let head = format!("M {mode} inline {}\ndata {length}\n", quoted(name));
        stream.extend(head.as_bytes());
        stream.extend(file.text.as_bytes());
        stream.push(b'\n');
    }
}

fn done(patch: &Patch, tree: &Tree) -> Tree {
    let read = |path: &str| Ok(tree.get(path).map(|file| file.text.clone().into_bytes()));
    let changes = apply_all(patch, read).unwrap_or_else(|fault| panic!("{fault}\n{patch}"));
    let mut after = tree.clone();
    for change in &changes {
        if change.transfer != Some(Transfer::Copy) || change.action == Action::Delete {
            change.old_path.as_ref().map(|path| after.remove(path));
        }
    }
    for change in changes {
        let Some(path) = change.new_path else { continue };
        let before = change.old_path.and_then(|path| tree.get(&path));
        let mode = change.mode.map(|mode| mode & 0o111 != 0);
        let executable = mode.unwrap_or(before.is_some_and(|file| file.executable));
        let text = String::from_utf8(change.content).unwrap();
        after.insert(path, File { text, executable });
    }
    after
}

#[test]
fn c3_git_diffs_give_the_second_tree_and_reversed_the_first() {
    let git = Git::new("trees");
    git.run(&["init", "-q", "--bare", "."], b"").unwrap();
    let mut stream = Vec::new();
    let pairs: Vec<(Tree, Tree)> = (0..cases())
        .map(|seed| {
            let dice = &mut Dice(seed);
            let before = tree(dice);
            let after = changed(dice, &before);
            commit(&mut stream, &format!("a{seed}"), &before);
            commit(&mut stream, &format!("b{seed}"), &after);
            (before, after)
        })
        .collect();
    git.run(&["fast-import", "--quiet", "--date-format=raw"], &stream).unwrap();
    let mut compared = 0;
    for (seed, (before, after)) in pairs.iter().enumerate() {
        let dice = &mut Dice(seed as u64 ^ 0xd1ff);
        let mixed = before.values().chain(after.values()).any(has_mixed_endings);
        let least = if mixed { "-U1" } else { "-U0" };
        let context = *dice.pick(&[least, "-U1", "-U3", "-U3", "-U8"]);
        let style = *dice.pick(&["-M", "-M30%", "--no-renames", "--no-prefix", "--patience"]);
        let copies = *dice.pick(&["-M", "--find-copies-harder"]);
        let (a, b) = (format!("a{seed}"), format!("b{seed}"));
        let diff = git.run(&["diff", "--full-index", copies, style, context, &a, &b], b"").unwrap();
        let diff = String::from_utf8(diff).unwrap();
        if diff.is_empty() {
            assert_eq!(before, after);
            continue;
        }
        let case = format!("seed {seed} {context} {style} {copies}\n{diff}");
        let patch = parse(&diff).unwrap_or_else(|error| panic!("{error}\n{case}"));
        assert_eq!(&done(&patch, before), after, "{case}");
        let reversed = reverse(&patch).unwrap();
        assert_eq!(&done(&reversed, after), before, "reversed {case}");
        let printed = parse(&patch.to_string()).unwrap_or_else(|e| panic!("{e}\n{patch}\n{case}"));
        assert_eq!(without_lines(printed), without_lines(patch), "{case}");
        compared += 1;
    }
    assert!(compared * 10 > pairs.len() * 8, "{compared}");
}

/// A file with a hunk's worth of edits, and the same file after somebody else changed it.
struct Drifted {
    before: String,
    after: String,
    now: String,
}

fn drifted(dice: &mut Dice) -> Drifted {
    let rows = 20 + dice.roll(60);
    // Few different lines, so that context repeats itself.
    let spread = *dice.pick(&[4, 12, 200]);
    let lines: Vec<String> = (0..rows).map(|_| format!("  row {}\n", dice.roll(spread))).collect();
    let mut after = lines.clone();
    for _ in 0..=dice.roll(2) {
        let at = dice.roll(after.len());
        after[at] = format!("  changed {}\n", dice.roll(1000));
    }
    let mut now = lines.clone();
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(now.len());
        match dice.roll(6) {
            0 => drop(now.remove(at)),
            1 => now[at] = now[at].trim_start().to_owned(),
            2 => now[at] = format!("{}  \n", now[at].trim_end()),
            3 => now[at] = "  stale\n".to_owned(),
            _ => now.insert(at, format!("  row {}\n", dice.roll(spread))),
        }
    }
    Drifted { before: lines.concat(), after: after.concat(), now: now.concat() }
}

#[test]
fn x3_drifted_files_land_where_git_puts_them_or_say_why_not() {
    let git = Git::new("drift");
    let mut tally: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..cases() {
        let dice = &mut Dice(seed ^ 0xdead_0000);
        let Drifted { before, after, now } = drifted(dice);
        let diff = unified(&before, &after);
        if diff.is_empty() {
            continue;
        }
        fs::write(git.folder.join("file"), &now).unwrap();
        let theirs = git
            .run(&["apply", "-"], diff.as_bytes())
            .map(|_| fs::read_to_string(git.folder.join("file")).unwrap());
        let patch = parse(&diff).unwrap_or_else(|error| panic!("{error}\n{diff}"));
        let ours = apply(now.as_bytes(), &patch.files[0]);
        let case = format!("seed {seed}\n{diff}\n{now}");
        let key = match (&theirs, &ours) {
            (Ok(theirs), Ok(ours)) => {
                assert_eq!(String::from_utf8_lossy(&ours.content), *theirs, "{case}");
                "both place it alike".to_owned()
            }
            (Ok(_), Err(fault)) => {
                // The nearest place is a guess where there are several.
                assert_eq!(fault.code(), FaultCode::TextNotUnique, "{fault} {case}");
                "git guesses".to_owned()
            }
            (Err(_), Ok(ours)) => {
                let loosest = ours.hunks.iter().map(|landed| landed.pass).max().unwrap();
                assert!(loosest > Pass::Stated || has_bare_end(&patch), "{case}");
                format!("git refuses, found by: {loosest}")
            }
            (Err(_), Err(_)) => "both refuse".to_owned(),
        };
        *tally.entry(key).or_default() += 1;
    }
    eprintln!("{tally:#?}");
    assert!(tally["both place it alike"] * 5 > cases(), "{tally:?}");
}

/// Whether a hunk has no context at one of its ends.
fn has_bare_end(patch: &Patch) -> bool {
    let is_bare = |line: Option<&HunkLine>| line.is_some_and(|line| line.sign != Sign::Context);
    let mut hunks = patch.files.iter().flat_map(|file| &file.hunks);
    hunks.any(|hunk| is_bare(hunk.lines.first()) || is_bare(hunk.lines.last()))
}

/// The diff of two texts, as git would write it.
fn unified(before: &str, after: &str) -> String {
    let diff = yard_core::diff::unified(
        "a/file",
        "b/file",
        before.as_bytes(),
        after.as_bytes(),
        usize::MAX,
    );
    diff.unwrap().0
}
