//! An edit as a function from bytes to bytes (R5, R10, W9). Bytes that the edit does not name are
//! the same after it; where that is impossible nothing is changed. A fault's words are the
//! caller's next lesson: they alone must be enough for a call that succeeds.

pub(crate) mod diagnosis;

use std::ops::Range;

use memchr::{memchr_iter, memmem};

use crate::lines;
use crate::op::EditAction;
use crate::text::{LineEnding, NotText, Text, dominant_ending};
use crate::{Fault, FaultCode, Result, Subject};

/// That many line numbers are named when a text occurs several times.
const MAX_PLACES: usize = 20;

/// A content after an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How many places each action changed.
    pub places: Vec<u64>,
}

/// The content of a file after all of `actions`, each done to what those before it left; or nothing of
/// them, and which one failed.
pub fn edit(bytes: &[u8], actions: &[EditAction]) -> Result<Outcome> {
    let mut text = Text::parse(bytes).map_err(not_text)?;
    let mut places = Vec::with_capacity(actions.len());
    // What an edit leaves may have no line break to learn from: the file had.
    let usual = file_ending(&text.body);
    for (at, action) in actions.iter().enumerate() {
        let done = act(&text.body, action, usual);
        let (body, count) = done.map_err(|fault| nth(fault, at, actions))?;
        text.body = body;
        places.push(count);
    }
    let subject = match actions.last() {
        Some(EditAction::Insert { .. }) => Subject::Content,
        _ => Subject::Replacement,
    };
    let after = text.to_bytes().map_err(|missing| {
        let message = format!(
            "{missing}, which is the encoding of the file. Nothing was changed. Write the text \
             without this character."
        );
        Fault::new(FaultCode::BadArgument, message).about(subject)
    })?;
    if after == bytes {
        return Err(no_change());
    }
    Ok(Outcome { bytes: after, places })
}

fn act(body: &str, action: &EditAction, usual: Option<LineEnding>) -> Result<(String, u64)> {
    match action {
        EditAction::Replace { old, new, all } => replace(body, old, new, *all, usual),
        EditAction::Insert { line, text } => Ok((insert(body, *line, text, usual)?, 1)),
    }
}

/// Of several edits, which one it was; and that those before it were not done either.
fn nth(fault: Fault, at: usize, actions: &[EditAction]) -> Fault {
    if actions.len() == 1 {
        return fault;
    }
    let before = match at {
        0 => "",
        _ => " (in the text as the edits before it would leave it)",
    };
    let message = format!(
        "edit {} of {}{before}: {} Nothing was changed.",
        at + 1,
        actions.len(),
        fault.message()
    );
    Fault::new(fault.code(), message).about(fault.subject().unwrap_or(Subject::Find))
}

fn not_text(reason: NotText) -> Fault {
    Fault::new(FaultCode::Binary, format!("the file is {reason}; it cannot be edited as text"))
}

fn replace(
    body: &str,
    old: &str,
    new: &str,
    all: bool,
    usual: Option<LineEnding>,
) -> Result<(String, u64)> {
    if old.is_empty() {
        let message = "the text to be replaced is empty; send text that stands in the file once, \
                       or insert by line number";
        return Err(Fault::new(FaultCode::BadArgument, message).about(Subject::Find));
    }
    let places = occurrences(body, old);
    match places.as_slice() {
        [] => {
            let message = diagnosis::explain(body, old);
            return Err(Fault::new(FaultCode::TextNotFound, message).about(Subject::Find));
        }
        [_, _, ..] if !all => return Err(not_unique(body, &places)),
        _ => {}
    }
    let mut text = String::with_capacity(body.len() + new.len());
    let mut at = 0;
    for place in &places {
        text.push_str(&body[at..place.start]);
        let ending = ending_at(body, place).or(usual);
        text.push_str(&adapt(new, ending, old.contains("\r\n")));
        at = place.end;
    }
    text.push_str(&body[at..]);
    if text == body {
        return Err(no_change());
    }
    Ok((text, places.len() as u64))
}

fn no_change() -> Fault {
    let message = "the edit changes nothing: the new text is what already stands there (line \
                   endings are always those of the file)";
    Fault::new(FaultCode::NoChange, message).about(Subject::Replacement)
}

fn not_unique(body: &str, places: &[Range<usize>]) -> Fault {
    let numbers = line_numbers(body, places.iter().take(MAX_PLACES).map(|place| place.start));
    let mut named = numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    if places.len() > MAX_PLACES {
        named.push_str(&format!(" and {} more", places.len() - MAX_PLACES));
    }
    let message = format!(
        "the text to be replaced occurs {} times, beginning on lines {named}; it must occur once. \
         Include more of the lines around the place you mean, so that only that place matches.",
        places.len()
    );
    Fault::new(FaultCode::TextNotUnique, message).about(Subject::Find)
}

/// The lines, from 1, of ascending offsets.
fn line_numbers(body: &str, offsets: impl Iterator<Item = usize>) -> Vec<u64> {
    let (mut line, mut at) = (1, 0);
    let mut numbers = Vec::new();
    for offset in offsets {
        line += memchr_iter(b'\n', &body.as_bytes()[at..offset]).count() as u64;
        at = offset;
        numbers.push(line);
    }
    numbers
}

/// Where `old` stands, without overlaps. Its `\n` also matches `\r\n`; its `\r\n` only itself.
fn occurrences(body: &str, old: &str) -> Vec<Range<usize>> {
    if old.contains('\n') && memmem::find(body.as_bytes(), b"\r\n").is_some() {
        let places = Folded::new(body).occurrences(old);
        // A text that ends in the `\r` of a `\r\n` is found only as it is.
        if !places.is_empty() || !old.ends_with('\r') {
            return places;
        }
    }
    plain_occurrences(body, old)
}

fn plain_occurrences(body: &str, old: &str) -> Vec<Range<usize>> {
    let starts = memmem::find_iter(body.as_bytes(), old.as_bytes());
    starts.map(|start| start..start + old.len()).collect()
}

/// A text with every `\r\n` as `\n`, in which one linear search finds either, and the way back.
struct Folded {
    text: String,
    /// The offsets in `text` of the `\n` that were `\r\n`.
    folds: Vec<usize>,
}

impl Folded {
    fn new(body: &str) -> Self {
        let mut text = String::with_capacity(body.len());
        let mut folds = Vec::new();
        let mut at = 0;
        for fold in memmem::find_iter(body.as_bytes(), b"\r\n") {
            text.push_str(&body[at..fold]);
            folds.push(text.len());
            at = fold + 1;
        }
        text.push_str(&body[at..]);
        Self { text, folds }
    }

    /// An offset of the folded text in the text that was folded.
    fn unfold(&self, offset: usize) -> usize {
        offset + self.folds.partition_point(|fold| *fold < offset)
    }

    fn occurrences(&self, old: &str) -> Vec<Range<usize>> {
        let needle = Folded::new(old);
        let finder = memmem::Finder::new(&needle.text);
        let mut places = Vec::new();
        let mut at = 0;
        while let Some(found) = self.text.as_bytes().get(at..).and_then(|rest| finder.find(rest)) {
            let start = at + found;
            let end = start + needle.text.len();
            if self.has_folds(start, &needle.folds) {
                places.push(self.unfold(start)..self.unfold(end));
                at = end;
            } else {
                at = start + 1;
            }
        }
        places
    }

    /// Whether the line endings that a needle spells `\r\n` are `\r\n` where it was found.
    fn has_folds(&self, start: usize, folds: &[usize]) -> bool {
        folds.iter().all(|fold| self.folds.binary_search(&(start + fold)).is_ok())
    }
}

/// The ending that replacement text takes: that of most lines of the place, else of the text. A
/// text without line breaks has none to give.
fn ending_at(body: &str, place: &Range<usize>) -> Option<LineEnding> {
    majority(&body[place.clone()]).or_else(|| file_ending(body))
}

fn majority(text: &str) -> Option<LineEnding> {
    let all = memchr_iter(b'\n', text.as_bytes()).count();
    let crlf = memmem::find_iter(text.as_bytes(), b"\r\n").count();
    match crlf.cmp(&(all - crlf)) {
        std::cmp::Ordering::Less => Some(LineEnding::Lf),
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some(LineEnding::CrLf),
    }
}

fn file_ending(body: &str) -> Option<LineEnding> {
    body.contains('\n').then(|| dominant_ending(body))
}

/// `new` with the given line ending; as it is when there is none. A caller that spelled out `\r\n`
/// in the text to be found means it in the new one.
fn adapt(new: &str, ending: Option<LineEnding>, spelled_out: bool) -> String {
    let Some(ending) = ending else { return new.to_owned() };
    let mut adapted = String::with_capacity(new.len());
    for line in new.split_inclusive('\n') {
        let Some(content) = line.strip_suffix('\n') else {
            adapted.push_str(line);
            continue;
        };
        match content.strip_suffix('\r') {
            Some(_) if spelled_out => adapted.push_str(line),
            bare => {
                adapted.push_str(bare.unwrap_or(content));
                adapted.push_str(ending.as_str());
            }
        }
    }
    adapted
}

fn insert(body: &str, line: u64, new: &str, usual: Option<LineEnding>) -> Result<String> {
    let total = lines::count(body.as_bytes());
    if line > total {
        let message = format!(
            "there is no line {line} to insert before: the file has {total} lines. Send a number \
             from 0 (the start) to {total} (the end)."
        );
        return Err(Fault::new(FaultCode::BadArgument, message).about(Subject::InsertLine));
    }
    if new.is_empty() {
        let message = "the text to be inserted is empty; send \"\\n\" for an empty line";
        return Err(Fault::new(FaultCode::BadArgument, message).about(Subject::Content));
    }
    let ending = file_ending(body).or(usual);
    let mut lines = adapt(new, ending, false);
    let ending = ending.unwrap_or_else(|| dominant_ending(new)).as_str();
    if !lines.ends_with('\n') {
        lines.push_str(ending);
    }
    let at = lines::offset_of(body.as_bytes(), line);
    let (before, after) = body.split_at(at);
    // What is appended to an unfinished line would become part of it.
    let unfinished = !before.is_empty() && !before.ends_with('\n');
    Ok([before, if unfinished { ending } else { "" }, &lines, after].concat())
}

#[cfg(test)]
mod tests {
    use encoding_rs::WINDOWS_1252;
    use proptest::prelude::*;

    use super::*;
    use crate::text::Encoding;

    fn done(body: &str, actions: &[EditAction]) -> Result<String> {
        edit(body.as_bytes(), actions).map(|outcome| String::from_utf8(outcome.bytes).unwrap())
    }

    fn replaced(body: &str, old: &str, new: &str) -> Result<String> {
        let (old, new) = (old.to_owned(), new.to_owned());
        done(body, &[EditAction::Replace { old, new, all: false }])
    }

    fn inserted(body: &str, line: u64, text: &str) -> Result<String> {
        done(body, &[EditAction::Insert { line, text: text.to_owned() }])
    }

    fn fault<T: std::fmt::Debug>(result: Result<T>) -> (FaultCode, Option<Subject>) {
        let fault = result.unwrap_err();
        (fault.code(), fault.subject())
    }

    #[test]
    fn r5_replacements_take_the_line_ending() {
        for (body, old, new, result) in [
            ("a\nb\n", "a\nb", "x\ny\r\nz", "x\ny\nz\n"),
            ("a\r\nb\r\n", "a\nb", "x\ny", "x\r\ny\r\n"),
            ("a\r\nb\r\n", "a\r\nb", "x\r\ny\nz", "x\r\ny\r\nz\r\n"),
            ("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"),
            ("a\nb\nc\r\nd\r\ne\n", "c\nd", "C\nD", "a\nb\nC\r\nD\r\ne\n"),
            ("a\r\nb\r\n", "\nb", "\nB", "a\r\nB\r\n"),
            ("a\r\nb\r\nc\n", "a\n", "", "b\r\nc\n"),
            ("one", "one", "x\r\ny", "x\r\ny"),
            ("a\r\nb\nc\nd", "a\r\nb\nc\n", "A\r\nB\n", "A\r\nB\nd"),
        ] {
            assert_eq!(replaced(body, old, new).as_deref(), Ok(result), "{body:?} {old:?}");
        }
    }

    #[test]
    fn r5_spelled_out_endings_match_only_themselves() {
        let code = |body, old| replaced(body, old, "x").unwrap_err().code();
        assert_eq!(code("a\nb\n", "a\r\nb"), FaultCode::TextNotFound);
        assert_eq!(code("a\r\r\nb", "a\nb"), FaultCode::TextNotFound);
        let mixed = replaced("a\nb\na\r\nb\r\n", "a\r\nb", "x");
        assert_eq!(mixed.as_deref(), Ok("a\nb\nx\r\n"));
        assert_eq!(replaced("a\nb\r\n", "a\nb\r", "a\nb").as_deref(), Ok("a\nb\n"));
        assert_eq!(code("a\nb\na\r\nb\r\n", "a\nb"), FaultCode::TextNotUnique);
    }

    #[test]
    fn r10_several_places_are_named() {
        let many = replaced("x\ny\nx x\n", "x", "z").unwrap_err();
        assert_eq!((many.code(), many.subject()), (FaultCode::TextNotUnique, Some(Subject::Find)));
        assert!(many.message().contains("occurs 3 times, beginning on lines 1, 3, 3;"), "{many:?}");
        let more = replaced(&"x\n".repeat(25), "x", "z").unwrap_err();
        assert!(more.message().contains("19, 20 and 5 more"), "{more:?}");
        assert_eq!(replaced("aaaa", "aaa", "b").as_deref(), Ok("ba"));
    }

    #[test]
    fn c2_every_place_is_changed_only_when_all_are_meant() {
        let all = |body: &str, old: &str, new: &str| {
            let (old, new) = (old.to_owned(), new.to_owned());
            edit(body.as_bytes(), &[EditAction::Replace { old, new, all: true }])
                .map(|outcome| (String::from_utf8(outcome.bytes).unwrap(), outcome.places))
        };
        assert_eq!(all("x y x\r\nx", "x", "zz"), Ok(("zz y zz\r\nzz".to_owned(), vec![3])));
        assert_eq!(all("a\r\nb\na\nb\n", "a\nb", "A\nB").unwrap().0, "A\r\nB\nA\nB\n");
        assert_eq!(all("aaa", "aa", "b"), Ok(("ba".to_owned(), vec![1])));
        assert_eq!(all("b", "a", "c").unwrap_err().code(), FaultCode::TextNotFound);
        assert_eq!(all("a a", "a", "a").unwrap_err().code(), FaultCode::NoChange);
    }

    #[test]
    fn f3_edits_are_done_one_after_the_other_or_not_at_all() {
        let replace = |old: &str, new: &str| EditAction::Replace {
            old: old.to_owned(),
            new: new.to_owned(),
            all: false,
        };
        assert_eq!(done("a b", &[replace("a", "c"), replace("c b", "d")]).as_deref(), Ok("d"));
        let failed = done("a b", &[replace("a", "c"), replace("a", "d")]).unwrap_err();
        assert_eq!(failed.code(), FaultCode::TextNotFound);
        assert!(failed.message().starts_with("edit 2 of 2 (in the text as"), "{failed}");
        assert!(failed.message().ends_with("Nothing was changed."), "{failed}");
        let twice = done("a a", &[replace("a a", "b b"), replace("b", "c")]).unwrap_err();
        assert_eq!(twice.code(), FaultCode::TextNotUnique);
        let joined = [replace("a\nb", "c"), replace("c", "d\ne")];
        assert_eq!(done("a\r\nb", &joined).as_deref(), Ok("d\r\ne"), "the file's own ending");
        let in_a_circle = done("a", &[replace("a", "b"), replace("b", "a")]).unwrap_err();
        assert_eq!(in_a_circle.code(), FaultCode::NoChange);
    }

    #[test]
    fn what_changes_nothing_is_refused() {
        let refused = (FaultCode::NoChange, Some(Subject::Replacement));
        assert_eq!(fault(replaced("a\nb", "a", "a")), refused);
        assert_eq!(fault(replaced("a\r\nb", "a\nb", "a\nb")), refused);
        assert_eq!(fault(replaced("a", "", "b")), (FaultCode::BadArgument, Some(Subject::Find)));
    }

    #[test]
    fn w9_insertions_are_whole_lines() {
        for (body, line, text, result) in [
            ("", 0, "a", "a\n"),
            ("", 0, "a\r\nb", "a\r\nb\r\n"),
            ("a\nb\n", 0, "x", "x\na\nb\n"),
            ("a\nb\n", 1, "x\n", "a\nx\nb\n"),
            ("a\nb\n", 2, "x", "a\nb\nx\n"),
            ("a\nb", 2, "x", "a\nb\nx\n"),
            ("a\nb", 1, "x", "a\nx\nb"),
            ("a\r\nb", 2, "x\ny", "a\r\nb\r\nx\r\ny\r\n"),
            ("a", 1, "x", "a\nx\n"),
            ("a\n", 1, "\n", "a\n\n"),
        ] {
            assert_eq!(inserted(body, line, text).as_deref(), Ok(result), "{body:?} {line}");
        }
    }

    #[test]
    fn w9_insertions_that_cannot_be() {
        let past = inserted("a\nb\n", 3, "x").unwrap_err();
        assert_eq!(past.subject(), Some(Subject::InsertLine));
        assert!(past.message().contains("the file has 2 lines"), "{past:?}");
        let empty = (FaultCode::BadArgument, Some(Subject::Content));
        assert_eq!(fault(inserted("a\n", 0, "")), empty);
    }

    #[test]
    fn r5_missing_characters_and_binaries_are_refused() {
        let new = |new: &str| {
            [EditAction::Replace { old: "caf".to_owned(), new: new.to_owned(), all: false }]
        };
        let refused = edit(b"caf\xe9 cr\xe8me\n", &new("☃")).unwrap_err();
        assert_eq!(refused.subject(), Some(Subject::Replacement));
        assert!(refused.message().contains("'☃' (U+2603) does not exist in windows-1252"));
        assert_eq!(edit(b"caf\xe9 cr\xe8me\n", &new("th")).unwrap().bytes, b"th\xe9 cr\xe8me\n");
        let binary = edit(b"\x89PNG\r\n\x1a\n\0", &new("x")).unwrap_err();
        assert_eq!(binary.code(), FaultCode::Binary);
        assert!(binary.message().contains("a PNG image (image/png)"));
    }

    /// The slow, obvious twin: every start, one character after the other.
    fn twin(body: &str, old: &str) -> Vec<Range<usize>> {
        let (mut places, mut at) = (Vec::new(), 0);
        while at < body.len() {
            match body.is_char_boundary(at).then(|| matched(&body[at..], old)).flatten() {
                Some(length) => {
                    places.push(at..at + length);
                    at += length;
                }
                None => at += 1,
            }
        }
        places
    }

    /// How much of the start of `body` matches `old`. A bare `\n` is never half of a `\r\n`.
    fn matched(body: &str, old: &str) -> Option<usize> {
        let mut rest = body;
        let mut last = None;
        for character in old.chars() {
            let bare = character == '\n' && last != Some('\r');
            let crlf = if bare { rest.strip_prefix("\r\n") } else { None };
            rest = crlf.or_else(|| rest.strip_prefix(character))?;
            last = Some(character);
        }
        Some(body.len() - rest.len())
    }

    fn encodings() -> impl Strategy<Value = Encoding> {
        prop_oneof![
            Just(Encoding::Utf8),
            Just(Encoding::Utf8Bom),
            Just(Encoding::Utf16Le),
            Just(Encoding::Utf16Be),
            Just(Encoding::Legacy(WINDOWS_1252)),
        ]
    }

    proptest! {
        #[test]
        fn r5_occurrences_are_their_twins(body in "[ab\r\n]{0,24}", old in "[ab\r\n]{0,3}[ab\n]") {
            prop_assert_eq!(occurrences(&body, &old), twin(&body, &old));
        }

        #[test]
        fn r5_bytes_outside_the_match_are_kept(
            encoding in encodings(),
            before in "(caf\u{e9} [a-z\u{e0}\u{e8}]{0,5}(\r\n|\n)){0,4}",
            after in "((\r\n|\n)[a-z\u{e0}\u{e8}]{0,5}){0,4}",
            middle in "Q[a-z]{0,3}((\r\n|\n)[a-z]{0,3}){0,2}",
            new in "R[a-z\u{e9}]{0,3}(\n[a-z]{0,3}){0,2}",
        ) {
            let bytes = |body: &str| Text { encoding, body: body.to_owned() }.to_bytes().unwrap();
            let whole = bytes(&format!("caf\u{e9} cr\u{e8}me {before}{middle}{after}"));
            // In a legacy encoding a short text may be told as another one.
            prop_assume!(Text::parse(&whole).is_ok_and(|text| text.encoding == encoding));
            let old = middle.replace("\r\n", "\n");
            let edited = edit(&whole, &[EditAction::Replace { old, new, all: false }]);
            prop_assert!(edited.is_ok(), "{:?}", edited);
            let edited = edited.unwrap().bytes;
            let head = bytes(&format!("caf\u{e9} cr\u{e8}me {before}"));
            let mark = bytes("").len();
            let tail = bytes(&after).split_off(mark);
            prop_assert!(edited.starts_with(&head));
            prop_assert!(edited.ends_with(&tail));
        }

        #[test]
        fn r10_the_next_call_can_succeed(
            lines in proptest::collection::vec("(\t| ){0,4}[a-z]{3,6} [a-z]{3,6}[;,]?", 1..9),
            ending in prop_oneof![Just("\n"), Just("\r\n")],
        ) {
            let body = format!("{0}{1}{0}", ending, lines.join(ending));
            let sent: Vec<String> = lines.iter().map(|line| format!("   {}", line.trim())).collect();
            let Err(fault) = replaced(&body, &sent.join("\n"), "x") else { return Ok(()) };
            prop_assert_eq!(fault.code(), FaultCode::TextNotFound);
            let shown = fault.message().split_once("The file has there:\n").unwrap().1;
            let copied = shown.split_once("\nSend the text").unwrap().0;
            prop_assert_eq!(replaced(&body, copied, "x"), Ok(format!("{ending}x{ending}")));
        }

        #[test]
        fn w9_insertion_keeps_every_line(
            body in "([ab]{0,2}(\r\n|\n)){0,5}[ab]?",
            line in 0u64..6,
            new in "[xy\n]{1,5}",
        ) {
            let total = lines::count(body.as_bytes());
            let result = inserted(&body, line, &new);
            prop_assert_eq!(result.is_ok(), line <= total);
            if let Ok(result) = result {
                let at = lines::offset_of(body.as_bytes(), line);
                prop_assert!(result.starts_with(&body[..at]));
                prop_assert!(result.ends_with(&body[at..]));
                let added = lines::count(new.as_bytes());
                prop_assert_eq!(lines::count(result.as_bytes()), total + added);
            }
        }
    }
}
