//! Ranks definitions and files for a query.
//!
//! A definition whose name is the query comes first, then names that share its parts, then files by BM25 over their words.
//! The scores overlap: a name with half of the query's parts scores less than a file with all of its words.

use std::cmp::Ordering;
use std::collections::HashSet;

use yard_core::op::{CodeLanguage, CodeScope, DefinitionKind};
use yard_core::{Call, Fault, FaultCode, Result, Signature, Subject, WsPath};

use crate::code_index::CodeIndex;
use crate::definitions::Definition;
use crate::grammar::is_of;
use crate::index::{DefinitionRef, File, FileState, Index, Posting};
use crate::words;

/// BM25: how fast the effect of more occurrences of a word saturates, and how much the length of a file counts.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;
/// Most words of a query.
const MAX_TERMS: usize = 32;
/// Most definitions that are scored in full.
const MAX_SCORED: usize = 2_000;

/// Scores of a name: as a whole, and by its parts.
const EXACT: f64 = 60.0;
const SAME_BUT_CASE: f64 = 50.0;
const AMONG_OTHERS: f64 = 25.0;
const BEGINNING: f64 = 15.0;
const PARTS: f64 = 40.0;
/// Scores if the query also names the container or the file.
const CONTAINER: f64 = 15.0;
const NAMED_FILE: f64 = 6.0;
/// Scores of the words of a file: for the file itself, and for a definition in it.
const TEXT: f64 = 30.0;
const AROUND: f64 = 4.0;

/// A parsed query.
pub struct Query {
    /// Its words, unchanged.
    words: Vec<String>,
    /// The terms by which text is found, each once.
    pub(crate) terms: Vec<String>,
    /// The parts by which names are found, each once.
    parts: Vec<String>,
    /// The whole query as one folded name.
    joined: String,
    /// Whether it is one name, with or without its container. Then its last word is the name.
    is_name: bool,
}

impl Query {
    /// Parses a query. A fault if there is no word in it.
    pub fn parse(text: &str) -> Result<Self> {
        let words: Vec<String> = words::words(text).take(MAX_TERMS).map(str::to_owned).collect();
        let mut parts: Vec<String> = Vec::new();
        let mut terms: Vec<String> = Vec::new();
        for word in &words {
            parts.extend(words::parts(word).into_iter().map(str::to_lowercase));
            terms.extend(words::terms(word));
        }
        dedup(&mut parts);
        dedup(&mut terms);
        if parts.is_empty() {
            let message = "the query holds no word to look for. Send a name (`read_all`, `Tree.walk`) or words (`retry with backoff`); for other characters search by regular expression";
            return Err(Fault::new(FaultCode::BadArgument, message).about(Subject::Pattern));
        }
        let is_name = !text.trim().contains(char::is_whitespace);
        let joined = words.iter().map(|word| words::folded(word)).collect();
        Ok(Self { words, terms, parts, joined, is_name })
    }

    /// The name, and the words before it; empty if the query is not one name.
    fn name(&self) -> (&str, &[String]) {
        match self.words.split_last() {
            Some((name, around)) if self.is_name => (name, around),
            _ => ("", &[]),
        }
    }
}

fn dedup(list: &mut Vec<String>) {
    let mut seen = HashSet::new();
    list.retain(|item| seen.insert(item.clone()));
    list.truncate(MAX_TERMS);
}

/// The files and results that a search may have.
pub struct SearchScope<'a> {
    /// Only files below this folder.
    pub folder: &'a WsPath,
    /// Only files of this language.
    pub language: Option<CodeLanguage>,
    /// Definitions, text or both.
    pub scope: CodeScope,
    /// The call, which knows what the caller may read.
    pub call: &'a Call,
}

/// One result, before its lines are read.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The file.
    pub path: WsPath,
    /// The signature of the indexed file: if it changed since, the lines may be wrong.
    pub signature: Signature,
    /// Its score.
    pub score: f64,
    /// What matches.
    pub kind: HitKind,
}

/// What matches in a result.
#[derive(Clone, Debug, PartialEq)]
pub enum HitKind {
    /// A definition.
    Definition(Definition),
    /// The best line of the file, except these lines, which are results of their own.
    Text(Vec<u32>),
}

/// A page of results, the best first.
#[derive(Debug, Default)]
pub struct Ranked {
    /// The results, the best first.
    pub hits: Vec<Hit>,
    /// Whether there are more.
    pub more: bool,
    /// Files that were searched.
    pub files: u64,
    /// Files that are too large to be indexed.
    pub too_large: u64,
    /// Files for which the index had no room.
    pub beyond: u64,
    /// Files of which only a part is indexed.
    pub partly: u64,
    /// Files that the caller may not read.
    pub withheld: u64,
    /// The weight of each term of the query.
    pub weights: Vec<(String, f64)>,
}

impl CodeIndex {
    /// The results from `skip` on, at most `limit`.
    pub fn rank(
        &self,
        query: &Query,
        scope: &SearchScope<'_>,
        skip: usize,
        limit: usize,
    ) -> Ranked {
        let index = self.read();
        let mut ranking = Ranking::new(&index, query, scope);
        let mut candidates = ranking.candidates();
        let end = skip.saturating_add(limit);
        if end < candidates.len() {
            candidates.select_nth_unstable_by(end, |a, b| ranking.compare(a, b));
            candidates.truncate(end + 1);
        }
        candidates.sort_unstable_by(|a, b| ranking.compare(a, b));
        let more = candidates.len() > end;
        let page = candidates.into_iter().skip(skip).take(limit);
        let hits = page.filter_map(|candidate| ranking.hit(candidate)).collect();
        Ranked { hits, more, ..ranking.ranked }
    }
}

/// A definition, or a file if `at` is not set, with its score.
#[derive(Clone, Copy)]
struct Candidate {
    file: u32,
    at: Option<u32>,
    score: f64,
}

/// How much of the query the name of a definition has.
#[derive(Clone, Copy)]
struct Overlap {
    definition: DefinitionRef,
    /// The weight of the shared parts, from 0 to 1.
    share: f64,
    /// How many parts are shared.
    parts: u32,
}

struct Ranking<'a> {
    index: &'a Index,
    query: &'a Query,
    scope: CodeScope,
    /// Which files are searched, by number. Other files do not affect any score, so that a search reveals nothing about
    /// files outside of its folder.
    within: Vec<bool>,
    /// The average number of words of a searched file.
    average_length: f64,
    /// The score of each file's words, from 0 to 1, by number.
    text_scores: Vec<f64>,
    ranked: Ranked,
}

impl<'a> Ranking<'a> {
    fn new(index: &'a Index, query: &'a Query, scope: &SearchScope<'_>) -> Self {
        let (mut within, mut words) = (vec![false; index.end()], 0);
        let mut ranked = Ranked::default();
        for (number, file) in index.files() {
            let wanted = scope.language.is_none_or(|language| is_of(&file.path, language));
            if !wanted || !file.path.is_within(scope.folder) {
                continue;
            }
            if !scope.call.may_read(&file.path) {
                ranked.withheld += 1;
                continue;
            }
            match file.state {
                FileState::Complete => ranked.files += 1,
                FileState::Partial => {
                    ranked.files += 1;
                    ranked.partly += 1;
                }
                FileState::TooLarge => ranked.too_large += 1,
                FileState::Unindexed => ranked.beyond += 1,
                FileState::Binary => {}
            }
            if matches!(file.state, FileState::Complete | FileState::Partial) {
                within[number as usize] = true;
                words += u64::from(file.length);
            }
        }
        let average_length = (words as f64 / ranked.files.max(1) as f64).max(1.0);
        let text_scores = vec![0.0; index.end()];
        Self { index, query, scope: scope.scope, within, average_length, text_scores, ranked }
    }

    fn is_within(&self, file: u32) -> bool {
        self.within.get(file as usize).copied().unwrap_or(false)
    }

    /// All definitions and files that match, with their scores.
    fn candidates(&mut self) -> Vec<Candidate> {
        self.score_texts();
        let mut candidates = Vec::new();
        if self.scope != CodeScope::Text {
            self.add_definitions(&mut candidates);
        }
        if self.scope != CodeScope::Definitions {
            let texts = self.text_scores.iter().enumerate().filter(|(_, score)| **score > 0.0);
            candidates.extend(texts.map(|(file, score)| Candidate {
                file: file as u32,
                at: None,
                score: TEXT * score,
            }));
        }
        candidates
    }

    /// The inverse document frequency of a word: rare words weigh more.
    fn weight(&self, occurrences: usize) -> f64 {
        let (all, occurrences) = (self.ranked.files as f64, occurrences as f64);
        (1.0 + (all - occurrences + 0.5).max(0.0) / (occurrences + 0.5)).ln()
    }

    /// Scores files by BM25 over their words, relative to the highest possible score.
    fn score_texts(&mut self) {
        let mut most = f64::MIN_POSITIVE;
        for term in &self.query.terms {
            let postings = self.index.postings(term).iter();
            let postings: Vec<&Posting> =
                postings.filter(|posting| self.is_within(posting.file())).collect();
            let weight = self.weight(postings.len());
            most += weight * (SATURATION + 1.0);
            self.ranked.weights.push((term.clone(), weight));
            for posting in postings {
                let Some(file) = self.index.file(posting.file()) else { continue };
                let times = f64::from(posting.times());
                let length = 1.0 - LENGTH + LENGTH * f64::from(file.length) / self.average_length;
                let score = weight * times * (SATURATION + 1.0) / (times + SATURATION * length);
                self.text_scores[posting.file() as usize] += score;
            }
        }
        self.text_scores.iter_mut().for_each(|score| *score /= most);
    }

    /// Adds the definitions whose names match the query: all whose name is the query, and of the others those that share
    /// most.
    fn add_definitions(&self, candidates: &mut Vec<Candidate>) {
        let overlaps = self.overlaps();
        let mut likely: Vec<Candidate> = overlaps
            .iter()
            .filter_map(|overlap| self.candidate(overlap, Self::score_by_parts))
            .collect();
        if likely.len() > MAX_SCORED {
            likely.select_nth_unstable_by(MAX_SCORED, |a, b| self.compare(a, b));
            likely.truncate(MAX_SCORED);
        }
        let likely = likely.iter().filter_map(|candidate| {
            Some(DefinitionRef { file: candidate.file, at: candidate.at? })
        });
        let (name, _) = self.query.name();
        let name = words::folded(name);
        let same = self.index.with_prefix(&name).take_while(|(other, _)| *other == name);
        let longer = self.index.with_prefix(&self.query.joined);
        let named = same.chain(longer).flat_map(|(_, definitions)| definitions.iter().copied());
        let mut definitions: Vec<DefinitionRef> = named.take(MAX_SCORED).chain(likely).collect();
        definitions.sort_unstable();
        definitions.dedup();
        definitions.retain(|definition| self.is_within(definition.file));
        candidates.extend(definitions.into_iter().filter_map(|definition| {
            let at = overlaps.binary_search_by_key(&definition, |overlap| overlap.definition);
            let none = Overlap { definition, share: 0.0, parts: 0 };
            self.candidate(&at.map_or(none, |at| overlaps[at]), Self::full_score)
        }));
    }

    /// The overlaps of all definitions whose names share a part with the query, in order.
    fn overlaps(&self) -> Vec<Overlap> {
        let (mut all, mut weights) = (f64::MIN_POSITIVE, Vec::new());
        for part in &self.query.parts {
            let definitions = self.index.with_part(part).iter();
            let definitions: Vec<&DefinitionRef> =
                definitions.filter(|definition| self.is_within(definition.file)).collect();
            let weight = self.weight(definitions.len());
            all += weight;
            weights.extend(definitions.into_iter().map(|definition| (*definition, weight)));
        }
        // The definitions of each part are in order: a stable sort merges them.
        weights.sort_by_key(|(definition, _)| *definition);
        let overlap = |of: &[(DefinitionRef, f64)]| Overlap {
            definition: of[0].0,
            share: of.iter().map(|(_, weight)| weight).sum::<f64>() / all,
            parts: of.len() as u32,
        };
        weights.chunk_by(|a, b| a.0 == b.0).map(overlap).collect()
    }

    fn candidate(
        &self,
        overlap: &Overlap,
        score: impl Fn(&Self, &File, &Definition, &Overlap) -> f64,
    ) -> Option<Candidate> {
        let DefinitionRef { file: number, at } = overlap.definition;
        let file = self.index.file(number)?;
        let definition = file.definitions.get(at as usize)?;
        let text = AROUND * self.text_scores.get(number as usize).copied().unwrap_or(0.0);
        let score = score(self, file, definition, overlap) * prior(file, definition) + text;
        Some(Candidate { file: number, at: Some(at), score })
    }

    /// The score for the parts that a name shares with the query.
    fn score_by_parts(&self, _: &File, definition: &Definition, overlap: &Overlap) -> f64 {
        let covered = f64::from(overlap.parts) / f64::from(definition.parts.max(1));
        PARTS * overlap.share * overlap.share * (0.5 + 0.5 * covered.min(1.0))
    }

    fn full_score(&self, file: &File, definition: &Definition, overlap: &Overlap) -> f64 {
        self.score_by_parts(file, definition, overlap)
            + self.score_by_name(&definition.name)
            + self.score_by_location(file, definition)
    }

    /// The score of a name as a whole.
    fn score_by_name(&self, name: &str) -> f64 {
        let (query, folded) = (self.query, words::folded(name));
        let (wanted, _) = query.name();
        if wanted == name {
            return EXACT;
        }
        if folded == query.joined || (!wanted.is_empty() && folded == words::folded(wanted)) {
            return SAME_BUT_CASE;
        }
        // A word of a sentence that is also a name: it scores more if it looks like an identifier.
        if !query.is_name && query.words.iter().any(|word| word == name) {
            let is_identifier = words::parts(name).len() > 1 || name.contains(char::is_uppercase);
            return if is_identifier { AMONG_OTHERS } else { AMONG_OTHERS / 4.0 };
        }
        if folded.starts_with(&query.joined) {
            return BEGINNING * query.joined.len() as f64 / folded.len() as f64;
        }
        0.0
    }

    /// The score if the query also names the container or the file of a definition.
    fn score_by_location(&self, file: &File, definition: &Definition) -> f64 {
        let (_, around) = self.query.name();
        let around = if around.is_empty() && self.query.words.len() > 1 {
            &self.query.words
        } else {
            around
        };
        if around.is_empty() {
            return 0.0;
        }
        let named =
            |name: &str| around.iter().any(|word| words::folded(word) == words::folded(name));
        let container = definition.container.as_deref().is_some_and(named);
        let path = file.path.to_string();
        let in_path = words::words(&path).any(named);
        f64::from(u8::from(container)) * CONTAINER + f64::from(u8::from(in_path)) * NAMED_FILE
    }

    /// Orders by score, the highest first, then by path and position.
    fn compare(&self, a: &Candidate, b: &Candidate) -> Ordering {
        let path = |candidate: &Candidate| self.index.file(candidate.file).map(|file| &file.path);
        let by_path = || path(a).cmp(&path(b)).then(a.at.cmp(&b.at));
        b.score.total_cmp(&a.score).then_with(by_path)
    }

    fn hit(&self, candidate: Candidate) -> Option<Hit> {
        let file = self.index.file(candidate.file)?;
        let kind = match candidate.at {
            Some(at) => HitKind::Definition(file.definitions.get(at as usize)?.clone()),
            None => HitKind::Text(self.matching_definition_lines(file)),
        };
        let (path, signature) = (file.path.clone(), file.signature);
        Some(Hit { path, signature, score: candidate.score, kind })
    }

    /// The lines of a file with definitions that are results themselves.
    fn matching_definition_lines(&self, file: &File) -> Vec<u32> {
        if self.scope == CodeScope::Text {
            return Vec::new();
        }
        let matches = |definition: &&Definition| {
            let parts = words::parts(&definition.name);
            let shares = |part: &str| self.query.parts.contains(&part.to_lowercase());
            parts.into_iter().any(shares)
                || words::folded(&definition.name).starts_with(&self.query.joined)
        };
        file.definitions.iter().filter(matches).map(|definition| definition.line).collect()
    }
}

/// How likely a definition is meant: more likely if it has a body, and less if it is in a test, a variant or a module.
fn prior(file: &File, definition: &Definition) -> f64 {
    let kind = match definition.kind {
        DefinitionKind::Variant | DefinitionKind::Module => 0.92,
        DefinitionKind::Constant => 0.96,
        _ => 1.0,
    };
    let body = if definition.has_body { 1.0 } else { 0.97 };
    let is_test = file.is_test || definition.container.as_deref() == Some("tests");
    kind * body * if is_test { 0.98 } else { 1.0 }
}

/// The line of a text, from 1, whose terms have the highest weight: the first of equals, and none of those in `except`.
pub fn best_line(text: &str, weights: &[(String, f64)], except: &[u32]) -> Option<u32> {
    let (mut best, mut most) = (None, 0.0);
    for (number, line) in (1..).zip(text.lines()) {
        let terms: HashSet<String> = words::words(line).flat_map(words::terms).collect();
        let of_line = weights.iter().filter(|(term, _)| terms.contains(term));
        let sum: f64 = of_line.map(|(_, weight)| weight).sum();
        if sum > most && !except.contains(&number) {
            (best, most) = (Some(number), sum);
        }
    }
    best
}
