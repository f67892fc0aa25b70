//! One edit, made in every dialect, leaves byte-identical files, whatever the encoding, the line ending
//! and the end of the file are (R5). All other bytes stay, in the edited file and in the others.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

use super::call;

/// How a text is written.
#[derive(Clone, Copy, Debug)]
enum Writing {
    Utf8,
    Utf8Bom,
    Utf16Le,
}

/// A file, and the lines of it that others take the place of.
#[derive(Clone, Debug)]
struct Case {
    lines: Vec<String>,
    /// The first line that goes, and how many go.
    from: usize,
    count: usize,
    new: Vec<String>,
    ending: &'static str,
    is_closed: bool,
    writing: Writing,
    /// Other files of the tree, by name.
    others: BTreeMap<String, Vec<u8>>,
}

impl Case {
    fn old(&self) -> &[String] {
        &self.lines[self.from..self.from + self.count]
    }

    fn after(&self) -> Vec<String> {
        let mut lines = self.lines.clone();
        lines.splice(self.from..self.from + self.count, self.new.clone());
        lines
    }

    fn bytes(&self, lines: &[String]) -> Vec<u8> {
        let mut text = lines.join(self.ending);
        if self.is_closed {
            text.push_str(self.ending);
        }
        match self.writing {
            Writing::Utf8 => text.into_bytes(),
            Writing::Utf8Bom => format!("\u{feff}{text}").into_bytes(),
            Writing::Utf16Le => {
                format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
            }
        }
    }

    /// As a unified diff, with up to three lines of context.
    fn unified(&self, path: &str) -> String {
        let start = self.from.saturating_sub(3);
        let end = (self.from + self.count + 3).min(self.lines.len());
        let around = end - start - self.count;
        let mut diff = format!(
            "--- a/{path}\n+++ b/{path}\n@@ -{},{} +{},{} @@\n",
            start + 1,
            around + self.count,
            start + 1,
            around + self.new.len()
        );
        self.hunk(&mut diff, start, end);
        diff
    }

    /// As an envelope, with one line of context.
    fn envelope(&self, path: &str) -> String {
        let start = self.from.saturating_sub(1);
        let end = (self.from + self.count + 1).min(self.lines.len());
        let mut patch = format!("*** Begin Patch\n*** Update File: {path}\n@@\n");
        self.hunk(&mut patch, start, end);
        patch.push_str("*** End Patch\n");
        patch
    }

    fn hunk(&self, patch: &mut String, start: usize, end: usize) {
        let mut push = |sign: char, lines: &[String]| {
            lines.iter().for_each(|line| writeln!(patch, "{sign}{line}").unwrap());
        };
        push(' ', &self.lines[start..self.from]);
        push('-', self.old());
        push('+', &self.new);
        push(' ', &self.lines[self.from + self.count..end]);
    }

    /// The edit in every dialect: toolset, tool and arguments for the file at `path`.
    fn said(&self, path: &str) -> [(&'static str, &'static str, Value); 9] {
        let (old, new) = (self.old().join("\n"), self.new.join("\n"));
        let edits = json!([
            {"oldString": old, "newString": format!("{new}half way")},
            {"oldString": "half way", "newString": ""}
        ]);
        let content = STANDARD.encode(self.bytes(&self.after()));
        [
            ("workspace", "edit", json!({"path": path, "old_string": old, "new_string": new})),
            (
                "file",
                "file.patch",
                json!({"path": path, "patches": [{"find": old, "replace": new}]}),
            ),
            ("coder", "edit", json!({"filePath": path, "oldString": old, "newString": new})),
            ("coder", "multiedit", json!({"filePath": path, "edits": edits})),
            ("coder", "apply_patch", json!({"patchText": self.unified(path)})),
            ("codex", "apply_patch_json", json!({"patch": self.unified(path)})),
            ("codex", "apply_patch_freeform", json!({"patch": self.envelope(path)})),
            (
                "filesystem",
                "edit_file",
                json!({"path": path, "edits": [{"oldText": old, "newText": new}]}),
            ),
            (
                "assistant",
                "write_file",
                json!({"path": path, "content": content, "encoding": "base64"}),
            ),
        ]
    }
}

fn case() -> impl Strategy<Value = Case> {
    let word = "[a-zäß\u{4e2d}\"'.(){}\t ]{0,12}[a-z]";
    let lines = prop::collection::vec(word, 1..12);
    let new = prop::collection::vec(word, 1..4);
    let writing = prop_oneof![Just(Writing::Utf8), Just(Writing::Utf8Bom), Just(Writing::Utf16Le)];
    let ending = prop_oneof![Just("\n"), Just("\r\n")];
    // Each file has a name of its own.
    let others = prop::collection::btree_map(
        "[a-z]{1,6}(/[a-z ]{1,5}[a-z])?",
        prop::collection::vec(any::<u8>(), 0..20),
        0..3,
    );
    let place = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
    (lines, new, writing, ending, any::<bool>(), others, place).prop_map(
        |(lines, new, writing, ending, is_closed, others, (from, count))| {
            // Numbers keep every line, old or new, from being another one, or a part of it.
            let lines: Vec<String> =
                lines.iter().enumerate().map(|(at, word)| format!("[{at:02}] {word}")).collect();
            let new =
                new.iter().enumerate().map(|(at, word)| format!("<{at:02}> {word}")).collect();
            let from = from.index(lines.len());
            let count = 1 + count.index(lines.len() - from);
            // One open line has no ending that others could take.
            let is_closed = is_closed || lines.len() == 1;
            Case { lines, from, count, new, ending, is_closed, writing, others }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn one_edit_said_in_every_dialect_leaves_the_same_bytes(case in case()) {
        let workspace = TestWorkspace::new();
        let (before, after) = (case.bytes(&case.lines), case.bytes(&case.after()));
        for at in 0..9 {
            let folder = format!("copy {at}");
            workspace.put(&format!("/{folder}/the file.txt"), &before);
            for (name, bytes) in &case.others {
                workspace.put(&format!("/{folder}/others/{name}~"), bytes);
            }
            let (toolset, tool, args) = case.said(&format!("{folder}/the file.txt"))[at].clone();
            let answer = call(&workspace, toolset, tool, args.clone());
            prop_assert!(answer.ok, "{} {} {}: {}", toolset, tool, args, answer.body);
            let left = workspace.bytes(&format!("/{folder}/the file.txt"));
            prop_assert_eq!(&left, &after, "{} {} {}", toolset, tool, args);
            for (name, bytes) in &case.others {
                let other = workspace.bytes(&format!("/{folder}/others/{name}~"));
                prop_assert_eq!(&other, bytes, "{} {}: {}", toolset, tool, name);
            }
        }
    }
}
