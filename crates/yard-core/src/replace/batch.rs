//! Does many edits of one text at once: one pass finds all texts, and as many edits as do not depend on each other are
//! done in one copy. The remaining edits, and every edit that fails, are done one by one, with the same result as if all
//! were.

use std::collections::{BTreeMap, HashMap};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::{memchr, memchr_iter, memmem};

use super::EditAction;
use crate::bounds::Steps;
use crate::text::LineEnding;
use crate::{Bounds, Result};

/// Fewer edits are done one by one.
const MIN_EDITS: usize = 16;
/// A longer text to be found is looked for by itself.
const MAX_OLD_BYTES: usize = 1 << 10;
/// Bytes of texts to be found that are looked for in one pass. The automaton that finds them takes up to 60
/// times as many, and it cannot be stopped while it is built.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// Places are looked at up to so many times the size of the text: texts that are parts of each other may
/// all stand in the same place.
const MAX_MATCHES: usize = 4;
/// Bytes that are searched between two looks at the deadline.
const CHUNK_BYTES: usize = 1 << 20;

/// Decides when a batch is tried again after one that did little.
#[derive(Default)]
pub struct Batches {
    /// Edits that are done one by one before the next try.
    pause: usize,
    last_pause: usize,
}

/// A text after some edits.
pub struct Done {
    /// The text.
    pub body: String,
    /// How many edits were done.
    pub edits: usize,
}

impl Batches {
    /// Does as many of the first edits as possible at once; none where none can be done so.
    pub(super) fn next(
        &mut self,
        body: &str,
        actions: &[EditAction],
        usual: Option<LineEnding>,
        bounds: Bounds<'_>,
    ) -> Result<Option<Done>> {
        if actions.len() < MIN_EDITS {
            return Ok(None);
        }
        if self.pause > 0 {
            self.pause -= 1;
            return Ok(None);
        }
        let done = at_once(body, actions, usual, bounds)?;
        let is_little = done.as_ref().is_none_or(|done| done.edits < MIN_EDITS);
        self.last_pause = if is_little { (2 * self.last_pause).max(MIN_EDITS) } else { 0 };
        self.pause = self.last_pause;
        Ok(done)
    }
}

fn at_once(
    body: &str,
    actions: &[EditAction],
    usual: Option<LineEnding>,
    bounds: Bounds<'_>,
) -> Result<Option<Done>> {
    let Some(endings) = Endings::of(body, usual) else { return Ok(None) };
    let pairs = endings.pairs(actions);
    if pairs.len() < MIN_EDITS {
        return Ok(None);
    }
    let folded = endings.fold(body);
    bounds.check()?;
    let Some(mut batch) = Batch::new(&folded, &pairs, bounds)? else { return Ok(None) };
    let mut size = body.len();
    let mut edits = 0;
    for (pair, pattern) in pairs.iter().zip(batch.patterns.clone()) {
        size = (size + endings.size(pair.new)).saturating_sub(endings.size(pair.old));
        // What fails here fails in the words of a single edit.
        if pair.old == pair.new || bounds.check_size(size).is_err() || !batch.edit(pair, pattern)? {
            break;
        }
        edits += 1;
    }
    bounds.check()?;
    let after = batch.written();
    bounds.check()?;
    Ok(Some(Done { body: endings.unfold(after), edits }))
}

/// The line endings of a text that has only one kind of them. `\r` is nowhere else in it.
#[derive(Clone, Copy)]
enum Endings {
    Lf,
    CrLf,
}

/// A text to be found and what shall stand there, with `\n` for every line break.
struct Pair<'a> {
    old: &'a str,
    new: &'a str,
}

impl Endings {
    /// None for a text with endings of both kinds, or that had others before the first edit.
    fn of(body: &str, usual: Option<LineEnding>) -> Option<Self> {
        let bytes = body.as_bytes();
        if memchr(b'\r', bytes).is_none() {
            return (usual != Some(LineEnding::CrLf)).then_some(Self::Lf);
        }
        let pairs = memmem::find_iter(bytes, b"\r\n").count();
        let is_only = |byte: u8| memchr_iter(byte, bytes).count() == pairs;
        let is_plain = usual == Some(LineEnding::CrLf) && is_only(b'\r') && is_only(b'\n');
        is_plain.then_some(Self::CrLf)
    }

    fn fold(self, body: &str) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Lf => body.into(),
            Self::CrLf => body.replace("\r\n", "\n").into(),
        }
    }

    fn unfold(self, body: String) -> String {
        match self {
            Self::Lf => body,
            Self::CrLf => body.replace('\n', "\r\n"),
        }
    }

    /// How many bytes a text with `\n` has in the file.
    fn size(self, text: &str) -> usize {
        match self {
            Self::Lf => text.len(),
            Self::CrLf => text.len() + memchr_iter(b'\n', text.as_bytes()).count(),
        }
    }

    /// The first edits that can be done at once: short ones whose line breaks are the file's.
    fn pairs<'a>(self, actions: &'a [EditAction]) -> Vec<Pair<'a>> {
        let mut left = MAX_PATTERN_BYTES;
        let pair = |action: &'a EditAction| match action {
            EditAction::Replace { old, new, all: false } => {
                let plain =
                    memchr(b'\r', old.as_bytes()).or(memchr(b'\r', new.as_bytes())).is_none();
                let fits = (1..=MAX_OLD_BYTES.min(left)).contains(&old.len());
                left = left.saturating_sub(old.len());
                (plain && fits).then_some(Pair { old, new })
            }
            _ => None,
        };
        actions.iter().map_while(pair).collect()
    }
}

/// What is known of a text that is to be found.
#[derive(Clone, Copy)]
enum Known {
    /// It is nowhere in the text.
    Nowhere,
    /// It is here, and nowhere else.
    At(usize),
    /// It is in several places, or an edit of this batch made it again.
    Unclear,
}

struct Batch<'a> {
    body: &'a str,
    automaton: AhoCorasick,
    /// Which of the texts to be found each edit has.
    patterns: Vec<usize>,
    /// What is known of each of them.
    known: Vec<Known>,
    longest: usize,
    /// What is replaced by now: where it begins in `body`, where it ends, and the new text.
    replaced: BTreeMap<usize, (usize, &'a str)>,
    steps: Steps<'a>,
}

impl<'a> Batch<'a> {
    /// None if one pass cannot find all.
    fn new(body: &'a str, pairs: &[Pair<'a>], bounds: Bounds<'a>) -> Result<Option<Self>> {
        let mut numbers: HashMap<&str, usize> = HashMap::with_capacity(pairs.len());
        let mut olds = Vec::new();
        let mut patterns = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let number = *numbers.entry(pair.old).or_insert(olds.len());
            if number == olds.len() {
                olds.push(pair.old);
            }
            patterns.push(number);
        }
        bounds.check()?;
        let mut builder = AhoCorasick::builder();
        let Ok(automaton) = builder.kind(Some(AhoCorasickKind::NoncontiguousNFA)).build(&olds)
        else {
            return Ok(None);
        };
        bounds.check()?;
        let mut known = vec![Known::Nowhere; olds.len()];
        let mut steps = bounds.steps();
        let mut left = MAX_MATCHES * body.len();
        // In parts, so that a part without any place is no long time without a look at the deadline.
        let longest = olds.iter().map(|old| old.len()).max().unwrap_or(1);
        for start in (0..body.len()).step_by(CHUNK_BYTES) {
            bounds.check()?;
            let from = start.saturating_sub(longest - 1);
            let part = &body.as_bytes()[from..body.len().min(start + CHUNK_BYTES)];
            for found in automaton.find_overlapping_iter(part) {
                steps.step()?;
                // What ends before the part was found with the part before it.
                if from + found.end() <= start {
                    continue;
                }
                let Some(rest) = left.checked_sub(1) else { return Ok(None) };
                left = rest;
                let one = &mut known[found.pattern().as_usize()];
                *one = match one {
                    Known::Nowhere => Known::At(from + found.start()),
                    _ => Known::Unclear,
                };
            }
        }
        let replaced = BTreeMap::new();
        Ok(Some(Self { body, automaton, patterns, known, longest, replaced, steps }))
    }

    /// Does an edit, if it is certain what it does; false otherwise.
    fn edit(&mut self, pair: &Pair<'a>, pattern: usize) -> Result<bool> {
        let Known::At(start) = self.known[pattern] else { return Ok(false) };
        let end = start + pair.old.len();
        let before = self.replaced.range(..end).next_back();
        if before.is_some_and(|(_, (replaced, _))| *replaced > start) {
            return Ok(false);
        }
        self.replaced.insert(start, (end, pair.new));
        self.known[pattern] = Known::Nowhere;
        self.note_what_came(start)?;
        Ok(true)
    }

    /// Notes the texts that a new one makes, alone or with what is around it.
    fn note_what_came(&mut self, start: usize) -> Result<()> {
        let Some((end, new)) = self.replaced.get(&start).copied() else { return Ok(()) };
        let mut window = self.before(start);
        let left = window.len();
        window.extend_from_slice(new.as_bytes());
        let right = window.len();
        self.push_after(end, &mut window);
        let most = MAX_MATCHES * window.len();
        for (count, found) in self.automaton.find_overlapping_iter(&window).enumerate() {
            self.steps.step()?;
            if count > most {
                self.known.fill(Known::Unclear);
                return Ok(());
            }
            // What stands beside the new text was there before.
            if found.start() < right && found.end() > left {
                self.known[found.pattern().as_usize()] = Known::Unclear;
            }
        }
        Ok(())
    }

    /// As much of the text before a place as a text that reaches into the place can have.
    fn before(&self, place: usize) -> Vec<u8> {
        let (mut pieces, mut left, mut at) = (Vec::new(), self.longest - 1, place);
        let mut keep = |piece: &'a [u8]| {
            let kept = &piece[piece.len().saturating_sub(left)..];
            pieces.push(kept);
            left -= kept.len();
            left > 0
        };
        for (start, (end, new)) in self.replaced.range(..place).rev() {
            if !keep(&self.body.as_bytes()[*end..at]) || !keep(new.as_bytes()) {
                at = 0;
                break;
            }
            at = *start;
        }
        keep(&self.body.as_bytes()[..at]);
        pieces.reverse();
        pieces.concat()
    }

    /// The same of the text after a place.
    fn push_after(&self, place: usize, window: &mut Vec<u8>) {
        let full = window.len() + self.longest - 1;
        let keep = |piece: &[u8], window: &mut Vec<u8>| {
            let left = full - window.len();
            window.extend_from_slice(&piece[..piece.len().min(left)]);
            window.len() < full
        };
        let mut at = place;
        for (start, (end, new)) in self.replaced.range(place..) {
            if !keep(&self.body.as_bytes()[at..*start], window) || !keep(new.as_bytes(), window) {
                return;
            }
            at = *end;
        }
        keep(&self.body.as_bytes()[at..], window);
    }

    /// The text after all edits of the batch.
    fn written(&self) -> String {
        let mut text = String::with_capacity(self.body.len());
        let mut at = 0;
        for (start, (end, new)) in &self.replaced {
            text.push_str(&self.body[at..*start]);
            text.push_str(new);
            at = *end;
        }
        text.push_str(&self.body[at..]);
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::replace::edit;
    use crate::replace::tests::one_by_one;

    /// Edits of short texts of few letters: most of them meet.
    fn edits() -> impl Strategy<Value = Vec<(String, String)>> {
        let text = || proptest::string::string_regex("[ab\n]{1,4}|[a-d]{2,6}").unwrap();
        let pair = (text(), prop_oneof![text(), Just(String::new())]);
        proptest::collection::vec(pair, MIN_EDITS..40)
    }

    fn actions(edits: &[(String, String)]) -> Vec<EditAction> {
        let action = |(old, new): &(String, String)| EditAction::Replace {
            old: old.clone(),
            new: new.clone(),
            all: false,
        };
        edits.iter().map(action).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn r10_many_edits_at_once_do_what_they_do_one_by_one(
            words in proptest::collection::vec("[ab]{1,3}\n?|[a-d]{1,5}", 0..60),
            edits in edits(),
            crlf: bool,
        ) {
            let text = words.concat();
            let text = if crlf { text.replace('\n', "\r\n") } else { text };
            // Edits that fail end all others: the longest start that succeeds is compared, too.
            let all = actions(&edits);
            for count in [all.len(), MIN_EDITS] {
                let some = &all[..count];
                prop_assert_eq!(edit(text.as_bytes(), some), one_by_one(text.as_bytes(), some));
            }
        }

        #[test]
        fn r10_edits_of_marked_places_are_done_at_once_as_one_by_one(
            order in Just((0..40usize).collect::<Vec<_>>()).prop_shuffle(),
            news in proptest::collection::vec("<[0-9]{1,2}>|[a-c]{0,3}|\n", 40),
            gap in "[a-c\n]{0,3}",
            crlf: bool,
        ) {
            let text: String = (0..40).map(|mark| format!("<{mark}>{gap}")).collect();
            let text = if crlf { text.replace('\n', "\r\n") } else { text };
            let edits: Vec<(String, String)> =
                order.iter().zip(news).map(|(mark, new)| (format!("<{mark}>"), new)).collect();
            let all = actions(&edits);
            let mut last = Ok(None);
            for count in MIN_EDITS..=all.len() {
                let some = &all[..count];
                let done = edit(text.as_bytes(), some);
                prop_assert_eq!(&done, &one_by_one(text.as_bytes(), some));
                last = done.map(Some);
                if last.is_err() {
                    break;
                }
            }
            let _ = last;
        }
    }

    #[test]
    fn edits_that_do_not_meet_are_done_in_one_batch() {
        let text: String = (0..100).map(|mark| format!("<{mark}>\n")).collect();
        let edits: Vec<_> = (0..100).rev().map(|mark| (format!("<{mark}>"), "x".into())).collect();
        let all = actions(&edits);
        let done = Batches::default().next(&text, &all, Some(LineEnding::Lf), Bounds::NONE);
        let done = done.unwrap().unwrap();
        assert_eq!((done.edits, done.body.as_str()), (100, "x\n".repeat(100).as_str()));
        let crlf = text.replace('\n', "\r\n");
        let done = Batches::default().next(&crlf, &all, Some(LineEnding::CrLf), Bounds::NONE);
        assert_eq!(done.unwrap().unwrap().body, "x\r\n".repeat(100));
    }

    #[test]
    fn a_text_that_an_edit_makes_ends_the_batch_before_the_edit_that_needs_it() {
        let text: String = (0..40).map(|mark| format!("<{mark}>\n")).collect();
        let mut edits: Vec<_> = (0..40).map(|mark| (format!("<{mark}>"), "x".into())).collect();
        edits[20].1 = "<30>".to_owned();
        let done = Batches::default().next(&text, &actions(&edits), None, Bounds::NONE);
        assert_eq!(done.unwrap().unwrap().edits, 30);
    }
}
