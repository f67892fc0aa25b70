//! R5 through the real tools: whatever a file's encoding, line endings and mode are, an edit leaves
//! every byte alone that it did not name. `YARD_SOAK=1` runs ten times as many cases.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test prepares a disk and fails loudly"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use yard_testkit::{FakeWorld, TestWorkspace};

const PLAIN: u64 = 256;
const SOAK: u64 = 2_560;

fn cases() -> u64 {
    if std::env::var_os("YARD_SOAK").is_some() { SOAK } else { PLAIN }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf8Bom,
    Utf16Le,
    Utf16Be,
    Latin1,
}

const ENCODINGS: [Encoding; 5] =
    [Encoding::Utf8, Encoding::Utf8Bom, Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Latin1];

impl Encoding {
    fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 | Self::Latin1 => b"",
            Self::Utf8Bom => b"\xef\xbb\xbf",
            Self::Utf16Le => b"\xff\xfe",
            Self::Utf16Be => b"\xfe\xff",
        }
    }

    /// By hand, so that the tools are not asked about themselves.
    fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf8 | Self::Utf8Bom => text.as_bytes().to_vec(),
            Self::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Self::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            Self::Latin1 => text.chars().map(|one| u8::try_from(one).unwrap()).collect(),
        }
    }

    fn file(self, text: &str) -> Vec<u8> {
        [self.mark().to_vec(), self.encode(text)].concat()
    }
}

/// Words of which lines are made. In UTF-16 some of these hold the bytes of a newline.
const WORDS: [&str; 12] = [
    "plain",
    "naïve",
    "\u{a0a}\u{10a}\u{d0a}",
    "漢字",
    "😀👩‍👩‍👧",
    "e\u{301}",
    "tab\there",
    "cr\rhere",
    "\u{2028}",
    "“quoted”",
    "z\u{feff}w",
    "  spaces  ",
];
/// Texts that nobody takes for another encoding.
const SENTENCES: [&str; 6] = [
    "Die Größe der Straße überrascht",
    "café crème à la française",
    "où est l'élève, là-bas",
    "für Mädchen und Jungen",
    "plain words between them",
    "señor, mañana por la mañana",
];
/// Endings: all lines alike, or each as it falls.
const ENDINGS: [Option<&str>; 3] = [Some("\n"), Some("\r\n"), None];
const MODES: [u32; 4] = [0o644, 0o755, 0o600, 0o444];

struct Case {
    dice: FakeWorld,
    encoding: Encoding,
    ending: Option<&'static str>,
    mode: u32,
    lines: Vec<String>,
    tokens: usize,
}

impl Case {
    fn new(seed: u64) -> Self {
        let dice = FakeWorld::new(seed);
        let encoding = ENCODINGS[dice.below(ENCODINGS.len())];
        let ending = ENDINGS[dice.below(ENDINGS.len())];
        let mode = MODES[dice.below(MODES.len())];
        let mut case = Self { dice, encoding, ending, mode, lines: Vec::new(), tokens: 0 };
        for _ in 0..1 + case.dice.below(12) {
            let line = case.words();
            let ending = ending.unwrap_or(["\n", "\r\n"][case.dice.below(2)]);
            case.lines.push(format!("{line}{ending}"));
        }
        if case.dice.below(3) == 0 {
            let last = case.lines.pop().unwrap();
            case.lines.push(last.trim_end_matches(['\r', '\n']).to_owned());
        }
        case
    }

    /// A line's text, unlike any other.
    fn words(&mut self) -> String {
        self.tokens += 1;
        let of = |all: &[&'static str]| all[self.dice.below(all.len())];
        let words = match self.encoding {
            // ASCII alone would be UTF-8.
            Encoding::Latin1 if self.tokens == 1 => SENTENCES[0].to_owned(),
            Encoding::Latin1 => of(&SENTENCES).to_owned(),
            _ => (0..1 + self.dice.below(3)).map(|_| of(&WORDS)).collect::<Vec<_>>().join(" "),
        };
        format!("{words} <{}> end", self.tokens)
    }

    fn body(&self) -> String {
        self.lines.concat()
    }

    /// Text to be found, with what stands before and after it.
    fn place(&self) -> (String, String, String) {
        let (first, last) = (self.dice.below(self.lines.len()), self.dice.below(3));
        let last = (first + last).min(self.lines.len() - 1);
        let before: String = self.lines[..first].concat();
        let mut named: String = self.lines[first..=last].concat();
        let mut after: String = self.lines[last + 1..].concat();
        // Sometimes whole lines, sometimes from the middle of one to the middle of another.
        let mut before = before;
        if self.dice.below(3) > 0 {
            let at = named.find('<').unwrap();
            before.push_str(&named[..at]);
            let end = named.rfind('>').unwrap() + 1;
            after.insert_str(0, &named[end..]);
            named = named[at..end].to_owned();
        }
        (before, named, after)
    }
}

fn mode_of(workspace: &TestWorkspace, at: &str) -> u32 {
    let real = workspace.root().join(at.trim_start_matches('/'));
    fs::metadata(real).unwrap().permissions().mode() & 0o7777
}

fn make(workspace: &TestWorkspace, at: &str, case: &Case, bytes: &[u8]) {
    workspace.put(at, bytes);
    let real = workspace.root().join(at.trim_start_matches('/'));
    fs::set_permissions(real, fs::Permissions::from_mode(case.mode)).unwrap();
}

fn reads(workspace: &TestWorkspace, at: &str, text: &str) {
    let answer = workspace.call("read", json!({"path": at, "limit": 0}));
    assert!(answer.ok, "{}", answer.body);
    assert_eq!(answer.body["result"]["content"], Value::from(text));
}

/// The bytes around `middle` are as they were, and `middle` is what was sent, in the file's own words.
fn judge(case: &Case, found: &[u8], before: &str, middle: &str, after: &str) {
    let head = case.encoding.file(before);
    let tail = case.encoding.encode(after);
    assert!(found.starts_with(&head), "bytes before the edit changed: {found:?}");
    assert!(found.ends_with(&tail), "bytes after the edit changed: {found:?}");
    let found = &found[head.len()..found.len() - tail.len()];
    let spellings = match case.ending {
        Some(ending) if case.body().contains('\n') => vec![middle.replace('\n', ending)],
        // Mixed: each line may end as either.
        _ => vec![middle.to_owned()],
    };
    let fold = |bytes: &[u8]| {
        let cr = case.encoding.encode("\r\n");
        let lf = case.encoding.encode("\n");
        let mut folded = bytes.to_vec();
        if case.ending.is_none() {
            let step = lf.len();
            let mut at = 0;
            while at + cr.len() <= folded.len() {
                if folded[at..].starts_with(&cr) {
                    folded.drain(at..at + step);
                }
                at += step;
            }
        }
        folded
    };
    let wanted: Vec<Vec<u8>> = spellings.iter().map(|text| case.encoding.encode(text)).collect();
    assert!(wanted.contains(&fold(found)), "wanted {spellings:?}, found {found:?}");
}

fn run(workspace: &TestWorkspace, seed: u64) {
    let mut case = Case::new(seed);
    let at = format!("/f{seed}");
    let body = case.body();
    let bytes = case.encoding.file(&body);
    make(workspace, &at, &case, &bytes);
    reads(workspace, &at, &body);
    let mut new = format!("new {}", case.words());
    if case.dice.below(2) == 0 {
        new = format!("{new}\nand {}", case.words());
    }
    if case.dice.below(3) > 0 {
        let (before, named, after) = case.place();
        let folded = case.dice.below(2) == 0;
        let old = if folded { named.replace("\r\n", "\n") } else { named.clone() };
        let new = if case.dice.below(5) == 0 { String::new() } else { new.clone() };
        let answer = workspace
            .call("edit", json!({"path": at, "old_string": old, "new_string": new.clone()}));
        assert!(answer.ok, "{old:?}: {}", answer.body);
        // A text that spelled out its line endings and lost them all has none to give.
        judge(&case, &workspace.bytes(&at), &before, &new, &after);
    } else {
        let line = case.dice.below(case.lines.len() + 1);
        let (before, after) = (case.lines[..line].concat(), case.lines[line..].concat());
        if case.dice.below(2) == 0 {
            new.push('\n');
        }
        let answer = workspace
            .call("edit", json!({"path": at, "insert_line": line, "insert_content": new.clone()}));
        assert!(answer.ok, "{}", answer.body);
        let unfinished = !before.is_empty() && !before.ends_with('\n');
        let joint = if unfinished { "\n" } else { "" };
        let middle = format!("{joint}{}\n", new.trim_end_matches('\n'));
        judge(&case, &workspace.bytes(&at), &before, &middle, &after);
    }
    assert_eq!(mode_of(workspace, &at), case.mode, "the mode stays");
    // `write` stores what it is given, in UTF-8, and keeps the mode.
    let answer = workspace.call("write", json!({"path": at, "content": new, "overwrite": true}));
    assert!(answer.ok, "{}", answer.body);
    assert_eq!(workspace.bytes(&at), new.as_bytes());
    assert_eq!(mode_of(workspace, &at), case.mode, "the mode stays");
    reads(workspace, &at, &new);
}

#[test]
fn r5_bytes_that_an_edit_did_not_name_are_identical() {
    let workspace = TestWorkspace::new();
    if let Some(seed) = std::env::var_os("YARD_SEED") {
        return run(&workspace, seed.to_str().unwrap().parse().unwrap());
    }
    for seed in 0..cases() {
        let output =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&workspace, seed)));
        if let Err(panic) = output {
            let case = Case::new(seed);
            eprintln!("seed {seed}: {:?} {:?} {:?}", case.encoding, case.ending, case.body());
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn r5_a_character_outside_the_encoding_is_refused_and_nothing_changes() {
    let workspace = TestWorkspace::new();
    let mut refused = 0;
    for seed in 0..cases() {
        let case = Case::new(seed);
        let (_, old, _) = case.place();
        let at = format!("/f{seed}");
        let bytes = case.encoding.file(&case.body());
        if case.encoding != Encoding::Latin1 {
            continue;
        }
        refused += 1;
        make(&workspace, &at, &case, &bytes);
        let last = case.lines.len();
        for args in [
            json!({"path": at, "old_string": old, "new_string": "漢字"}),
            json!({"path": at, "insert_line": last, "insert_content": "😀"}),
        ] {
            let answer = workspace.call("edit", args);
            assert_eq!((answer.ok, answer.status), (false, 400), "{}", answer.body);
            assert_eq!(answer.body["code"], "VALIDATION_ERROR");
            let error = answer.failure_message();
            assert!(error.contains("U+") && error.contains("Nothing was changed"), "{error}");
            assert_eq!(
                (workspace.bytes(&at), mode_of(&workspace, &at)),
                (bytes.clone(), case.mode)
            );
        }
    }
    assert!(refused > 10, "the dice must make such files");
}

/// R4 on disk: any slice that `read` gives is the exact text of its lines, and the slices of a file
/// are the file.
#[test]
fn r4_slices_join_to_the_decoded_text() {
    let workspace = TestWorkspace::new();
    for seed in 0..cases() / 2 {
        let case = Case::new(seed);
        let at = format!("/f{seed}");
        make(&workspace, &at, &case, &case.encoding.file(&case.body()));
        let (mut joined, mut line, step) = (String::new(), 0, 1 + case.dice.below(3));
        while line < case.lines.len() {
            let answer = workspace.call("read", json!({"path": at, "offset": line, "limit": step}));
            assert!(answer.ok, "seed {seed}: {}", answer.body);
            let result = &answer.body["result"];
            let end = (line + step).min(case.lines.len());
            assert_eq!(result["content"], case.lines[line..end].concat(), "seed {seed}");
            assert_eq!(result["total_lines"], case.lines.len(), "seed {seed}");
            assert_eq!(result["truncated"], end < case.lines.len(), "seed {seed}");
            joined.push_str(result["content"].as_str().unwrap());
            line = end;
        }
        assert_eq!(joined, case.body(), "seed {seed}");
    }
}

/// R4: only the mark at the start of a file is a mark; the same character at the start of a later
/// line belongs to that line, also when a slice begins there.
#[test]
fn r4_a_mark_at_the_start_of_a_later_line_is_a_character() {
    let workspace = TestWorkspace::new();
    for encoding in [Encoding::Utf8, Encoding::Utf8Bom, Encoding::Utf16Le, Encoding::Utf16Be] {
        workspace.put("/a", encoding.file("one\n\u{feff}two\nthree\n"));
        let whole = workspace.call("read", json!({"path": "/a"}));
        assert_eq!(whole.body["result"]["content"], "one\n\u{feff}two\nthree\n", "{encoding:?}");
        let slice = workspace.call("read", json!({"path": "/a", "offset": 1, "limit": 1}));
        assert_eq!(slice.body["result"]["content"], "\u{feff}two\n", "{encoding:?}");
        let edit = json!({"path": "/a", "old_string": "two", "new_string": "2"});
        assert!(workspace.call("edit", edit).ok);
        assert_eq!(workspace.bytes("/a"), encoding.file("one\n\u{feff}2\nthree\n"), "{encoding:?}");
    }
}

/// R4: a line over the answer's bound is cut, says where, and is read on by bytes, whatever the
/// encoding; the pieces are the text.
#[test]
fn r4_a_line_that_was_cut_is_read_on_by_bytes() {
    let workspace = TestWorkspace::new();
    for encoding in ENCODINGS {
        for times in [9_000, 60_000] {
            let body = format!("{}\nsecond\n", "grün und schön ".repeat(times));
            workspace.put("/a", encoding.file(&body));
            let (mut joined, mut at, mut calls) = (String::new(), None, 0);
            loop {
                let mut args = json!({"path": "/a"});
                if let Some(at) = at {
                    args["byte_offset"] = at;
                }
                let answer = workspace.call("read", args);
                let wide = matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be);
                if !answer.ok && wide && answer.failure_message().contains("UTF-16") {
                    // Large UTF-16 says that it cannot be sliced.
                    break;
                }
                assert!(answer.ok, "{encoding:?}: {}", answer.body);
                let result = &answer.body["result"];
                joined.push_str(result["content"].as_str().unwrap());
                let next = result["cut_at_byte"].clone();
                calls += 1;
                assert!(calls < 100, "{encoding:?}: it never ends");
                match next {
                    Value::Null => break,
                    next => at = Some(next),
                }
            }
            if calls > 0 {
                let same = joined.chars().zip(body.chars()).take_while(|(a, b)| a == b).count();
                assert!(
                    body.starts_with(&joined) && joined.len() >= body.len() - "second\n".len(),
                    "{encoding:?} x {times}: differs at character {same}, after {calls} calls"
                );
            }
        }
    }
}

/// A JSON value with numbers and keys as people spell them.
fn value(dice: &FakeWorld, depth: usize) -> Value {
    let numbers = ["0", "-7", "2.50", "1e3", "1E+400", "123456789012345678901234567890", "-1.0"];
    let words = ["", "plain", "\u{feff}mark", "line\r\nline", "\0", "{\"a\": 1}", "12", "😀\u{7f}"];
    let word = || words[dice.below(words.len())].to_owned();
    match dice.below(if depth == 0 { 4 } else { 6 }) {
        0 => Value::Null,
        1 => Value::Bool(dice.below(2) == 0),
        2 => serde_json::from_str(numbers[dice.below(numbers.len())]).unwrap(),
        3 => Value::String(word()),
        4 => (0..dice.below(4)).map(|_| value(dice, depth - 1)).collect(),
        _ => {
            let keys = (0..dice.below(4)).map(|at| format!("{}{}", word(), 9 - at));
            Value::Object(keys.map(|key| (key, value(dice, depth - 1))).collect())
        }
    }
}

/// W3: a value reads back as that value, its keys in order and its numbers as they were spelled; a
/// text reads back as text, whatever it looks like.
#[test]
fn w3_values_and_texts_read_back_as_what_they_were() {
    let workspace = TestWorkspace::new();
    for seed in 0..cases() {
        let sent = value(&FakeWorld::new(seed), 3);
        let args = json!({"path": "/a", "content": sent, "overwrite": true});
        let wrote = workspace.call("write", args);
        assert!(wrote.ok, "seed {seed}: {}", wrote.body);
        let read = workspace.call("read", json!({"path": "/a"}));
        if sent.as_str().is_some_and(|text| text.contains('\0')) {
            assert_eq!(read.status, 400, "seed {seed}: a NUL makes it binary: {}", read.body);
            assert_eq!(workspace.bytes("/a"), sent.as_str().unwrap().as_bytes(), "seed {seed}");
            continue;
        }
        // A mark at the start of a text is the file's, not the text's.
        let found = &read.body["result"]["content"];
        let wanted = match &sent {
            Value::String(text) => Value::from(text.trim_start_matches('\u{feff}')),
            other => other.clone(),
        };
        assert_eq!(found.to_string(), wanted.to_string(), "seed {seed}");
        let text = sent.to_string();
        let args = json!({"path": "/a", "content": text, "overwrite": true});
        assert!(workspace.call("write", args).ok);
        let read = workspace.call("read", json!({"path": "/a"}));
        assert_eq!(read.body["result"]["content"], Value::from(text.clone()), "seed {seed}");
        assert_eq!(workspace.bytes("/a"), text.as_bytes(), "seed {seed}");
    }
}

/// W3: also a spelling that counting would lose.
#[test]
fn w3_minus_zero_keeps_its_sign() {
    let workspace = TestWorkspace::new();
    let sent: Value = serde_json::from_str("[-0, -0.0]").unwrap();
    assert_eq!(sent.to_string(), "[-0,-0.0]");
    assert!(workspace.call("write", json!({"path": "/a", "content": sent})).ok);
    assert_eq!(workspace.bytes("/a"), b"[\n  -0,\n  -0.0\n]");
    let read = workspace.call("read", json!({"path": "/a"}));
    assert_eq!(read.body["result"]["content"].to_string(), "[-0,-0.0]");
}
