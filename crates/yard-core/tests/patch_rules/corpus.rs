//! Inputs that are worth keeping, and inputs that chance makes: none may make a parser panic, and
//! what parses prints as something that parses as the same.
//!
//! `fuzz.rs` makes many more of them from the same corpus, and so does `fuzz/` with a fuzzer's help.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use yard_core::patch::{
    Action, FilePatch, Hunk, HunkLine, Patch, PatchForm, Sign, Stated, Transfer, check, parse,
};
use yard_fixtures::patches::print;

use super::support::properties::patch as exercise;
use super::support::without_lines;

fn corpus() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/patch");
    let mut inputs: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    inputs.sort();
    assert!(inputs.len() >= 12, "{}", inputs.len());
    inputs
}

/// A file's name says what becomes of it: `ok-` parses, `no-` is refused.
#[test]
fn the_corpus_is_read_as_its_names_say() {
    for (name, text) in corpus() {
        assert_eq!(exercise(&text), name.starts_with("ok-"), "{name}: {:?}", parse(&text).err());
    }
}

#[test]
fn no_line_of_the_corpus_is_missed_with_a_panic() {
    for (_, text) in corpus() {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for at in 0..lines.len() {
            exercise(&lines[..at].concat());
            exercise(&lines[at..].concat());
            exercise(&[&lines[..at], &lines[at + 1..]].concat().concat());
            exercise(&[&lines[..at], &lines[at..at + 1], &lines[at..]].concat().concat());
        }
    }
}

const PARTS: [&str; 34] = [
    "*** Begin Patch\n",
    "*** End Patch\n",
    "*** Add File: a\n",
    "*** Update File: b\n",
    "*** Move to: c\n",
    "*** Delete File: d\n",
    "*** End of File\n",
    "@@\n",
    "@@ x\n",
    "+a\n",
    "-b\n",
    " c\n",
    "\n",
    "\r\n",
    "diff --git a/x b/x\n",
    "diff --git \"a/\\303\" b/y\n",
    "--- a/x\n",
    "+++ b/x\n",
    "--- /dev/null\n",
    "+++ /dev/null\n",
    "@@ -1 +1 @@\n",
    "@@ -1,2 +1 @@\n",
    "@@ -0,0 +1,2 @@\n",
    "@@ -4294967295,0 +1 @@\n",
    "\\ No newline at end of file\n",
    "new file mode 100644\n",
    "deleted file mode 100644\n",
    "old mode 100644\n",
    "new mode 100755\n",
    "rename from x\n",
    "rename to y\n",
    "copy from x\n",
    "copy to z\n",
    "+é\r\n",
];

fn name() -> impl Strategy<Value = String> {
    "[a-zé \"\\\\\t\n]{0,5}[a-zé\"]"
}

fn lines(signs: &'static [Sign]) -> impl Strategy<Value = Vec<HunkLine>> {
    let line = (prop::sample::select(signs), "[a-c é\r+*@-]{0,4}");
    let line = line.prop_map(|(sign, text)| HunkLine { sign, text });
    proptest::collection::vec(line, 1..6)
}

const ALL: &[Sign] = &[Sign::Context, Sign::Remove, Sign::Add];

fn unified_hunk(signs: &'static [Sign]) -> impl Strategy<Value = Hunk> {
    (lines(signs), 0usize..9, 0usize..9, any::<(bool, bool)>()).prop_map(
        |(lines, old, new, (old_open, new_open))| {
            let last_is_context = lines.last().is_some_and(|line| line.sign == Sign::Context);
            let hunk = Hunk { stated: Some(Stated { old, new }), lines, ..Hunk::default() };
            let old_open = old_open && hunk.old_lines().next().is_some();
            let new_open = new_open && hunk.new_lines().next().is_some();
            // A line of both sides is open on both; one before the last old line is open on none.
            let shared = hunk.lines.iter().rposition(|line| line.sign == Sign::Context);
            let plain = shared.is_some() && !last_is_context;
            let open = last_is_context && old_open;
            match plain {
                true => hunk,
                false if last_is_context => Hunk { old_open: open, new_open: open, ..hunk },
                false => Hunk { old_open, new_open, ..hunk },
            }
        },
    )
}

fn unified_file() -> impl Strategy<Value = FilePatch> {
    let mode = || prop::option::of(prop::sample::select(vec![0o100_644_u32, 0o100_755]));
    let update = (proptest::collection::vec(unified_hunk(ALL), 1..4), mode(), mode(), 0usize..3);
    let update = update.prop_map(|(hunks, old_mode, new_mode, transfer)| FilePatch {
        hunks,
        old_mode,
        new_mode,
        transfer: [None, Some(Transfer::Rename), Some(Transfer::Copy)][transfer],
        ..section(PatchForm::Unified, Action::Update)
    });
    let add = (unified_hunk(&[Sign::Add]), mode()).prop_map(|(hunk, new_mode)| FilePatch {
        hunks: vec![hunk],
        new_mode,
        ..section(PatchForm::Unified, Action::Add)
    });
    let delete = (unified_hunk(&[Sign::Remove]), mode()).prop_map(|(hunk, old_mode)| FilePatch {
        hunks: vec![hunk],
        old_mode,
        ..section(PatchForm::Unified, Action::Delete)
    });
    prop_oneof![update, add, delete]
}

fn freeform_file() -> impl Strategy<Value = FilePatch> {
    let anchors = proptest::collection::vec(" {0,2}[a-c(]{1,4}", 0..3);
    let chunk = (anchors, lines(ALL), any::<bool>());
    let chunk = chunk.prop_map(|(anchors, lines, at_end)| Hunk {
        anchors,
        lines,
        at_end,
        ..Hunk::default()
    });
    let update = (proptest::collection::vec(chunk, 1..4), any::<bool>());
    let update = update.prop_map(|(hunks, moved)| FilePatch {
        hunks,
        transfer: moved.then_some(Transfer::Rename),
        ..section(PatchForm::Freeform, Action::Update)
    });
    let add = lines(&[Sign::Add]).prop_map(|lines| FilePatch {
        hunks: vec![Hunk { lines, ..Hunk::default() }],
        ..section(PatchForm::Freeform, Action::Add)
    });
    let delete = Just(section(PatchForm::Freeform, Action::Delete));
    prop_oneof![update, add, delete]
}

fn section(form: PatchForm, action: Action) -> FilePatch {
    FilePatch {
        form,
        line: 0,
        action,
        old_path: None,
        new_path: None,
        transfer: None,
        old_mode: None,
        new_mode: None,
        hunks: Vec::new(),
    }
}

/// Gives each section names of its own.
fn named((files, names): (Vec<FilePatch>, Vec<String>)) -> Patch {
    let mut names =
        names.into_iter().enumerate().map(|(at, name)| format!("{at}{}", name.trim_end()));
    let files = files.into_iter().map(|mut file| {
        let (old, new) = (names.next(), names.next());
        file.old_path = old.clone().filter(|_| file.action != Action::Add);
        let new = if file.transfer.is_some() { new } else { old };
        file.new_path = new.filter(|_| file.action != Action::Delete);
        if file.form == PatchForm::Freeform {
            let simple = |path: String| path.replace(['\n', '\t'], "_");
            file.old_path = file.old_path.map(simple);
            file.new_path = file.new_path.map(simple);
        }
        file
    });
    Patch { files: files.collect() }
}

fn patches() -> impl Strategy<Value = Patch> {
    let names = || proptest::collection::vec(name(), 8);
    let unified = (proptest::collection::vec(unified_file(), 1..4), names()).prop_map(named);
    let freeform = (proptest::collection::vec(freeform_file(), 1..4), names()).prop_map(named);
    prop_oneof![unified, freeform]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_a_parser_panic(text in "\\PC{0,80}") {
        exercise(&text);
    }

    #[test]
    fn no_mix_of_parts_makes_a_parser_panic(
        parts in proptest::collection::vec(prop::sample::select(&PARTS[..]), 0..24),
    ) {
        exercise(&parts.concat());
        exercise(&format!("*** Begin Patch\n{}*** End Patch", parts.concat()));
        exercise(&format!("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n{}", parts.concat()));
    }

    #[test]
    fn no_damage_to_the_corpus_makes_a_parser_panic(
        which in any::<prop::sample::Index>(),
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), "\\PC|[\n\r \\\\\"@*+-]"), 1..6),
    ) {
        let corpus = corpus();
        let mut text: Vec<char> = which.get(&corpus).1.chars().collect();
        for (at, with) in cuts {
            let at = at.index(text.len());
            text.splice(at..at + usize::from(with.len() > 1), with.chars());
        }
        exercise(&text.into_iter().collect::<String>());
    }

    #[test]
    fn printed_patches_parse_as_the_same(patch in patches()) {
        prop_assert_eq!(check(&patch), Ok(()));
        let printed = print(&patch);
        let parsed = parse(&printed);
        prop_assert!(parsed.is_ok(), "{:?}\n{}", parsed, printed);
        prop_assert_eq!(without_lines(parsed.unwrap()), patch, "{}", printed);
    }
}
