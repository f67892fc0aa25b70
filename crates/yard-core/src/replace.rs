//! An edit as a function from bytes to bytes (R5, R10, W9). Bytes that the edit does not name stay the same; where that
//! is impossible nothing is changed. The message of a fault alone must be enough for a next call that succeeds.

mod batch;
pub(crate) mod diagnosis;

use std::ops::Range;

use memchr::{memchr_iter, memmem};

use crate::bounds::Steps;
use crate::lines;
use crate::text::{LineEnding, NotText, Text, dominant_ending, ending_of, ending_of_most};
use crate::{Bounds, Fault, FaultCode, Result, Subject};

pub use batch::{Batches, Done};

/// How an edit changes a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditAction {
    /// Replaces the only occurrence of `old`, or all of them.
    Replace {
        /// The text to be found: once, unless `all` is set.
        old: String,
        /// The new text.
        new: String,
        /// Every occurrence is replaced.
        all: bool,
    },
    /// Inserts whole lines before line `line` (from 0; the number of lines appends).
    Insert {
        /// The line before which it is inserted.
        line: u64,
        /// What is inserted; a missing final newline is added.
        text: String,
    },
}

/// Most line numbers that a message names when a text occurs several times.
const MAX_PLACES: usize = 20;
/// Most bytes that edits which depend on each other may go over together, because each goes over the whole text. A few
/// edits of a large text may exceed it.
const MAX_WORK_BYTES: usize = 2 << 30;
/// How many edits are never refused because of their work.
const FEW_EDITS: usize = 64;
/// The places of a text that overlaps itself are counted up to so many times the size of the body.
const OVERLAPS: usize = 4;

/// A content after an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How many places each action changed.
    pub places: Vec<u64>,
}

/// The content of a file after all of `actions`, each done to the result of those before it; or a fault that names the
/// action that failed.
pub fn edit(bytes: &[u8], actions: &[EditAction]) -> Result<Outcome> {
    edit_within(bytes, actions, Bounds::NONE)
}

/// As [`edit`], within bounds. A single edit takes time in proportion to the text, however often a text
/// occurs, and so do many edits that do not depend on each other.
pub fn edit_within(bytes: &[u8], actions: &[EditAction], bounds: Bounds<'_>) -> Result<Outcome> {
    bounds.check()?;
    let mut text = Text::parse(bytes).map_err(not_text)?;
    bounds.check()?;
    let mut places = Vec::with_capacity(actions.len());
    // The result of an edit may have no line break, so the ending is that of the file.
    let usual = ending_of(text.body.as_bytes());
    let (mut batches, mut work) = (Batches::default(), 0);
    while places.len() < actions.len() {
        bounds.check()?;
        let at = places.len();
        if let Some(done) = batches.next(&text.body, &actions[at..], usual, bounds)? {
            text.body = done.body;
            places.resize(at + done.edits, 1);
            work += text.body.len();
            if done.edits > 0 {
                continue;
            }
        }
        work += text.body.len();
        check_work(work, text.body.len(), actions.len())?;
        let done = act(&text.body, &actions[at], usual, bounds);
        let (body, count) = done.map_err(|fault| nth(fault, at, actions))?;
        text.body = body;
        places.push(count);
    }
    bounds.check()?;
    encoded(text, bytes, actions, places)
}

/// Does as many of the first edits at once as do not depend on each other; `None` if there are none. For callers that
/// check the effect of each of the others.
pub fn first_edits(
    batches: &mut Batches,
    text: &str,
    actions: &[EditAction],
    bounds: Bounds<'_>,
) -> Result<Option<Done>> {
    batches.next(text, actions, ending_of(text.as_bytes()), bounds)
}

/// The edited text in the encoding of the file.
fn encoded(text: Text, bytes: &[u8], actions: &[EditAction], places: Vec<u64>) -> Result<Outcome> {
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

/// Whether a text occurs in another one, as an edit would find it.
pub fn occurs(text: &str, old: &str, bounds: Bounds<'_>) -> Result<bool> {
    Ok(!old.is_empty() && Search::new(text, old).next(0, &mut bounds.steps())?.is_some())
}

/// Refuses too much work for one call: `work` is how many bytes the edits of a file of `bytes` bytes went over.
pub fn check_work(work: usize, bytes: usize, edits: usize) -> Result<()> {
    if work <= MAX_WORK_BYTES.max(bytes.saturating_mul(FEW_EDITS)) {
        return Ok(());
    }
    let message = format!(
        "{edits} edits of a file of {bytes} bytes that depend on each other are too much for one call; \
         send at most {FEW_EDITS} at a time, or write the file anew. Nothing was changed."
    );
    Err(Fault::new(FaultCode::TooLarge, message))
}

fn act(
    body: &str,
    action: &EditAction,
    usual: Option<LineEnding>,
    bounds: Bounds<'_>,
) -> Result<(String, u64)> {
    match action {
        EditAction::Replace { old, new, all } => {
            let replacement = Replacement { old, new, usual };
            match all {
                true => replacement.everywhere(body, bounds),
                false => replacement.once(body, bounds).map(|text| (text, 1)),
            }
        }
        EditAction::Insert { line, text } => Ok((insert(body, *line, text, usual)?, 1)),
    }
}

/// The fault of one of several edits: which one failed, and that those before it were not done either.
fn nth(fault: Fault, at: usize, actions: &[EditAction]) -> Fault {
    if actions.len() == 1 || fault.code() == FaultCode::Timeout {
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
    Fault::new(
        FaultCode::Binary,
        format!("the file is {reason}; it cannot be edited as text. Write it anew, or leave it"),
    )
}

/// The replacement of one text by another one.
struct Replacement<'a> {
    old: &'a str,
    new: &'a str,
    /// The line ending of the file before any edit.
    usual: Option<LineEnding>,
}

impl Replacement<'_> {
    /// The body with the only place changed.
    fn once(&self, body: &str, bounds: Bounds<'_>) -> Result<String> {
        let search = self.search(body)?;
        let steps = &mut bounds.steps();
        let first = search.next(0, steps)?.ok_or_else(|| self.not_found(body))?;
        // Places that overlap are different places: either could be meant.
        if search.next(first.start + 1, steps)?.is_some() {
            return Err(search.not_unique(body, steps)?);
        }
        let place = search.place(&first);
        // A text without a line break does not need the file's line ending.
        let file_ending = self.new.contains('\n').then(|| ending_of(body.as_bytes())).flatten();
        let new = self.adapted(&body[place.clone()], file_ending);
        if new == body[place.clone()] {
            return Err(no_change());
        }
        let text = [&body[..place.start], &new, &body[place.end..]].concat();
        bounds.check_size(text.len())?;
        Ok(text)
    }

    /// The body with every place changed, from the first on and without overlaps; how many there are.
    fn everywhere(&self, body: &str, bounds: Bounds<'_>) -> Result<(String, u64)> {
        let search = self.search(body)?;
        let steps = &mut bounds.steps();
        let file_ending = ending_of(body.as_bytes());
        // A text without a line break is always replaced by the same text.
        let unbroken = (!self.old.contains('\n')).then(|| self.adapted(self.old, file_ending));
        let mut text = String::with_capacity(body.len());
        let (mut copied, mut from, mut count) = (0, 0, 0);
        while let Some(found) = search.next(from, steps)? {
            let place = search.place(&found);
            text.push_str(&body[copied..place.start]);
            match &unbroken {
                Some(new) => text.push_str(new),
                None => text.push_str(&self.adapted(&body[place.clone()], file_ending)),
            }
            bounds.check_size(text.len())?;
            (copied, from) = (place.end, found.end);
            count += 1;
        }
        if count == 0 {
            return Err(self.not_found(body));
        }
        text.push_str(&body[copied..]);
        Ok((self.changed(body, text, bounds)?, count))
    }

    fn search<'b>(&self, body: &'b str) -> Result<Search<'b>> {
        if self.old.is_empty() {
            let message = "the text to be replaced is empty. To add text, send a line that stands in the file \
                           once, and as the new text that line with yours before or after it; to replace \
                           everything, write the file";
            return Err(Fault::new(FaultCode::BadArgument, message).about(Subject::Find));
        }
        Ok(Search::new(body, self.old))
    }

    /// The new text with the line ending of the place: that of most lines there, else of the file. A
    /// text without line breaks has none to give.
    fn adapted(&self, place: &str, file_ending: Option<LineEnding>) -> String {
        let ending = ending_of_most(place.as_bytes()).or(file_ending).or(self.usual);
        adapt(self.new, ending, self.old.contains("\r\n"))
    }

    fn not_found(&self, body: &str) -> Fault {
        let message = diagnosis::explain(body, self.old);
        Fault::new(FaultCode::TextNotFound, message).about(Subject::Find)
    }

    fn changed(&self, body: &str, text: String, bounds: Bounds<'_>) -> Result<String> {
        bounds.check_size(text.len())?;
        if text == body { Err(no_change()) } else { Ok(text) }
    }
}

fn no_change() -> Fault {
    let message = "the edit changes nothing: the new text is what already stands there (line \
                   endings are always those of the file). Send another text, or go on: nothing is left to do";
    Fault::new(FaultCode::NoChange, message).about(Subject::Replacement)
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

/// The search for a text in a body. Its `\n` also matches `\r\n`; its `\r\n` only itself.
struct Search<'a> {
    haystack: Haystack<'a>,
    finder: memmem::Finder<'static>,
    /// How long a place is in what is searched.
    length: usize,
}

/// What is searched.
enum Haystack<'a> {
    /// The body.
    Plain(&'a [u8]),
    /// The body with every `\r\n` as `\n`; and which `\n` of the text that is looked for must be a
    /// `\r\n` in the body.
    Folded { body: Folded, spelled_out: Vec<usize> },
}

impl<'a> Search<'a> {
    fn new(body: &'a str, old: &str) -> Self {
        if has_bare_line_break(old) && memmem::find(body.as_bytes(), b"\r\n").is_some() {
            let needle = Folded::new(old);
            let haystack = Haystack::Folded { body: Folded::new(body), spelled_out: needle.folds };
            let folded = Self::of(haystack, &needle.text);
            // A text that ends in the `\r` of a `\r\n` is found only as it is.
            let is_there = || folded.next(0, &mut Bounds::NONE.steps()).is_ok_and(|p| p.is_some());
            if !old.ends_with('\r') || is_there() {
                return folded;
            }
        }
        Self::of(Haystack::Plain(body.as_bytes()), old)
    }

    fn of(haystack: Haystack<'a>, needle: &str) -> Self {
        let finder = memmem::Finder::new(needle).into_owned();
        Self { haystack, finder, length: needle.len() }
    }

    fn bytes(&self) -> &[u8] {
        match &self.haystack {
            Haystack::Plain(body) => body,
            Haystack::Folded { body, .. } => body.text.as_bytes(),
        }
    }

    /// The first place in what is searched that begins at `from` or later.
    fn next(&self, from: usize, steps: &mut Steps<'_>) -> Result<Option<Range<usize>>> {
        let mut at = from;
        loop {
            steps.step()?;
            let rest = self.bytes().get(at..).unwrap_or_default();
            let Some(found) = self.finder.find(rest) else { return Ok(None) };
            let start = at + found;
            let is_place = match &self.haystack {
                Haystack::Plain(_) => true,
                Haystack::Folded { body, spelled_out } => body.has(start, spelled_out, steps)?,
            };
            if is_place {
                return Ok(Some(start..start + self.length));
            }
            at = start + 1;
        }
    }

    /// A place in the body.
    fn place(&self, found: &Range<usize>) -> Range<usize> {
        match &self.haystack {
            Haystack::Plain(_) => found.clone(),
            Haystack::Folded { body, .. } => body.unfold(found.start)..body.unfold(found.end),
        }
    }

    /// The fault for a text that occurs more than once.
    fn not_unique(&self, body: &str, steps: &mut Steps<'_>) -> Result<Fault> {
        let (mut starts, mut count, mut from) = (Vec::new(), 0, 0);
        while let Some(found) = self.next(from, steps)? {
            count += 1;
            if starts.len() < MAX_PLACES {
                starts.push(self.place(&found).start);
            }
            // Where a long text overlaps itself all the time, not every place is counted.
            let all = count * self.length <= OVERLAPS * self.bytes().len();
            from = if all { found.start + 1 } else { found.end };
        }
        let is_all = count * self.length <= OVERLAPS * self.bytes().len();
        let numbers = line_numbers(body, starts.into_iter());
        let mut named = numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        if count > MAX_PLACES {
            named.push_str(&format!(" and {} more", count - MAX_PLACES));
        }
        let at_least = if is_all { "" } else { "at least " };
        let message = format!(
            "the text to be replaced occurs {at_least}{count} times, beginning on lines {named}; it \
             must occur once. Include more of the lines around the place you mean, so that only \
             that place matches."
        );
        Ok(Fault::new(FaultCode::TextNotUnique, message).about(Subject::Find))
    }
}

/// Whether a text has a `\n` that is not the end of a `\r\n`.
fn has_bare_line_break(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr_iter(b'\n', bytes).any(|at| at == 0 || bytes.get(at - 1) != Some(&b'\r'))
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

    /// Whether the line endings that a needle spells `\r\n` are `\r\n` where it was found.
    fn has(&self, start: usize, spelled_out: &[usize], steps: &mut Steps<'_>) -> Result<bool> {
        for fold in spelled_out {
            steps.step()?;
            if self.folds.binary_search(&(start + fold)).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }
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
    let ending = ending_of(body.as_bytes()).or(usual);
    let mut lines = adapt(new, ending, false);
    let ending = ending.unwrap_or_else(|| dominant_ending(new.as_bytes())).as_str();
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
    use std::sync::atomic::{AtomicUsize, Ordering};

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

    /// The slow and simple way: each edit alone, to what the one before left.
    pub(super) fn one_by_one(bytes: &[u8], actions: &[EditAction]) -> Result<Outcome> {
        let mut text = Text::parse(bytes).map_err(not_text)?;
        let usual = ending_of(text.body.as_bytes());
        let mut places = Vec::new();
        for (at, action) in actions.iter().enumerate() {
            let done = act(&text.body, action, usual, Bounds::NONE);
            let (body, count) = done.map_err(|fault| nth(fault, at, actions))?;
            text.body = body;
            places.push(count);
        }
        encoded(text, bytes, actions, places)
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
    }

    #[test]
    fn r10_places_that_overlap_are_several() {
        let refused = |body: &str, old: &str| replaced(body, old, "z").unwrap_err();
        for (body, old, places) in [
            ("}\n}\n}\n", "}\n}", "occurs 2 times, beginning on lines 1, 2;"),
            ("}\r\n}\r\n}\r\n", "}\n}", "occurs 2 times, beginning on lines 1, 2;"),
            ("}\r\n}\r\n}\r\n", "}\r\n}", "occurs 2 times, beginning on lines 1, 2;"),
            ("aaaa", "aaa", "occurs 2 times, beginning on lines 1, 1;"),
        ] {
            let fault = refused(body, old);
            assert_eq!(fault.code(), FaultCode::TextNotUnique, "{body:?}");
            assert!(fault.message().contains(places), "{fault}");
        }
        let long = refused(&"a".repeat(4_000), &"a".repeat(1_000));
        assert!(long.message().contains("occurs at least "), "{long}");
    }

    /// Counts how often the work looks whether it has to stop.
    fn looks(body: &str, action: EditAction) -> usize {
        let looks = AtomicUsize::new(0);
        let check = || {
            looks.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let done = edit_within(body.as_bytes(), &[action], Bounds::new(usize::MAX, &check));
        assert!(done.is_ok() || done.is_err_and(|fault| fault.code() != FaultCode::Timeout));
        looks.into_inner()
    }

    #[test]
    fn the_work_of_an_edit_grows_with_the_text_and_can_be_stopped() {
        let replace = |old: &str, new: &str, all| EditAction::Replace {
            old: old.to_owned(),
            new: new.to_owned(),
            all,
        };
        let line = "some line with a word in it\r\n";
        let mixed = format!("{}\n", "\r\n".repeat(200));
        let spelled_out = format!("{}\n", "\r\n".repeat(150));
        for (unit, times, old, new, all) in [
            (line, 5_000, "word", "words\nand more", true),
            (line, 5_000, "it\n", "that\n", true),
            ("a", 20_000, "a", "b", true),
            ("a", 20_000, "aaaaaaaaaaaaaaaa", "b", false),
            (&mixed, 10, &spelled_out, "b", true),
        ] {
            let looks = |size: usize| looks(&unit.repeat(size), replace(old, new, all));
            let (few, many) = (looks(times), looks(4 * times));
            assert!(many <= 5 * few + 8, "{unit:?} {old:?}: {few} {many}");
            assert!(many >= 4, "{unit:?} {old:?}: {many}");
        }
    }

    #[test]
    fn an_edit_stops_where_it_is_told_to_and_when_its_result_is_too_large() {
        let action = EditAction::Replace { old: "a".into(), new: "bb".into(), all: true };
        let (body, looks) = ("a".repeat(50_000), AtomicUsize::new(0));
        let check = || match looks.fetch_add(1, Ordering::Relaxed) {
            3 => Err(Fault::new(FaultCode::Timeout, "stopped")),
            _ => Ok(()),
        };
        let stopped = |bounds| edit_within(body.as_bytes(), std::slice::from_ref(&action), bounds);
        let fault = stopped(Bounds::new(usize::MAX, &check)).unwrap_err();
        assert_eq!((fault.code(), fault.message()), (FaultCode::Timeout, "stopped"));
        let bounds = |max_bytes| Bounds::new(max_bytes, &|| Ok(()));
        assert_eq!(stopped(bounds(99_999)).unwrap_err().code(), FaultCode::TooLarge);
        assert_eq!(stopped(bounds(100_000)).unwrap().bytes.len(), 100_000);
    }

    #[test]
    fn f3_too_many_edits_that_depend_on_each_other_are_refused() {
        let (large, few) = (64 << 20, FEW_EDITS);
        assert!(check_work(MAX_WORK_BYTES, 1 << 20, 3_000).is_ok());
        assert!(check_work(few * large, large, few).is_ok());
        let fault = check_work(MAX_WORK_BYTES + 1, 1 << 20, 3_000).unwrap_err();
        assert_eq!(fault.code(), FaultCode::TooLarge);
        assert!(fault.message().contains("send at most 64 at a time"), "{fault}");
        assert!(check_work(few * large + 1, large, few + 1).is_err());
    }

    /// Every place, without overlaps.
    fn occurrences(body: &str, old: &str) -> Vec<Range<usize>> {
        let search = Search::new(body, old);
        let (mut places, mut from) = (Vec::new(), 0);
        while let Some(found) = search.next(from, &mut Bounds::NONE.steps()).unwrap() {
            places.push(search.place(&found));
            from = found.end;
        }
        places
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
