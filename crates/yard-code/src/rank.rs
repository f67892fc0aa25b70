//! Which definitions and files fit a query best.
//!
//! A definition whose name is what was asked for comes first, then names that share its parts, then files by
//! BM25 over their words. Scores are made so that these overlap: half a name loses to a file that has it all.

use std::cmp::Ordering;
use std::collections::HashSet;

use yard_core::op::{CodeLanguage, CodeScope, DefinitionKind};
use yard_core::{Call, Fault, FaultCode, Result, Subject, WsPath};
use yard_store::Signature;

use crate::code_index::CodeIndex;
use crate::definitions::Definition;
use crate::grammar::is_of;
use crate::index::{File, Holding, Index, Place, Standing};
use crate::words;

/// BM25: how soon more of a word counts no more, and how much the length of a file counts.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;
/// Most words of a query.
const MOST_TERMS: usize = 32;
/// Most definitions that are looked at closely.
const MOST_WEIGHED: usize = 2_000;

/// What a name is worth that is the query, and what it is worth by its parts.
const EXACT: f64 = 60.0;
const SAME_BUT_CASE: f64 = 50.0;
const AMONG_OTHERS: f64 = 25.0;
const BEGINNING: f64 = 15.0;
const PARTS: f64 = 40.0;
/// What it is worth that the container or the file is named too.
const CONTAINER: f64 = 15.0;
const NAMED_FILE: f64 = 6.0;
/// What the words of a file are worth: for itself, and for a definition in it.
const TEXT: f64 = 30.0;
const AROUND: f64 = 4.0;

/// A question, taken apart.
pub struct Query {
    /// Its words as they stand.
    words: Vec<String>,
    /// What its text is found by, each once.
    pub(super) terms: Vec<String>,
    /// What names are found by.
    parts: Vec<String>,
    /// All of it as one name.
    joined: String,
    /// Whether it is one name, with or without what it is in: its last word is then the name.
    is_name: bool,
}

impl Query {
    /// Takes a question apart; a fault if there is no word in it.
    pub fn parse(text: &str) -> Result<Self> {
        let words: Vec<String> = words::words(text).take(MOST_TERMS).map(str::to_owned).collect();
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

    /// The name, and what it is said to be in.
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
    list.truncate(MOST_TERMS);
}

/// What a search looks into.
pub struct SearchScope<'a> {
    /// Below this folder.
    pub folder: &'a WsPath,
    /// In files of this language.
    pub language: Option<CodeLanguage>,
    /// Definitions, text or both.
    pub scope: CodeScope,
    /// Says what the caller may read.
    pub call: &'a Call,
}

/// One result, before its lines are read.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The file.
    pub path: WsPath,
    /// Of the file that was indexed: another has other lines.
    pub signature: Signature,
    /// How well it fits.
    pub score: f64,
    /// What fits.
    pub what: What,
}

/// What a result is.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A definition.
    Definition(Definition),
    /// A line of text, but none of these: they are results of their own.
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
    /// What each term of the query is worth.
    pub worth: Vec<(String, f64)>,
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
        let mut found = ranking.found();
        let end = skip.saturating_add(limit);
        if end < found.len() {
            found.select_nth_unstable_by(end, |a, b| ranking.in_order(a, b));
            found.truncate(end + 1);
        }
        found.sort_unstable_by(|a, b| ranking.in_order(a, b));
        let more = found.len() > end;
        let page = found.into_iter().skip(skip).take(limit);
        let hits = page.filter_map(|found| ranking.hit(found)).collect();
        Ranked { hits, more, ..ranking.ranked }
    }
}

/// A definition or (without one) a file, and its score.
#[derive(Clone, Copy)]
struct Found {
    file: u32,
    at: Option<u32>,
    score: f64,
}

/// What the name of a definition has of the query: from 0 to 1, and in how many parts.
#[derive(Clone, Copy)]
struct Share {
    place: Place,
    share: f64,
    parts: u32,
}

struct Ranking<'a> {
    index: &'a Index,
    query: &'a Query,
    scope: CodeScope,
    /// Which files are looked into, by number. No other counts for any score: a search tells nothing of
    /// what lies outside its folder.
    within: Vec<bool>,
    /// Words in such a file, on average.
    average: f64,
    /// What the words of each file are worth, from 0 to 1, by number.
    texts: Vec<f64>,
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
            match file.standing {
                Standing::Known => ranked.files += 1,
                Standing::Partly => {
                    ranked.files += 1;
                    ranked.partly += 1;
                }
                Standing::TooLarge => ranked.too_large += 1,
                Standing::Beyond => ranked.beyond += 1,
                Standing::Binary => {}
            }
            if matches!(file.standing, Standing::Known | Standing::Partly) {
                within[number as usize] = true;
                words += u64::from(file.length);
            }
        }
        let average = (words as f64 / ranked.files.max(1) as f64).max(1.0);
        let texts = vec![0.0; index.end()];
        Self { index, query, scope: scope.scope, within, average, texts, ranked }
    }

    fn is_within(&self, file: u32) -> bool {
        self.within.get(file as usize).copied().unwrap_or(false)
    }

    fn found(&mut self) -> Vec<Found> {
        self.weigh_texts();
        let mut found = Vec::new();
        if self.scope != CodeScope::Text {
            self.definitions(&mut found);
        }
        if self.scope != CodeScope::Definitions {
            let texts = self.texts.iter().enumerate().filter(|(_, score)| **score > 0.0);
            found.extend(texts.map(|(file, score)| Found {
                file: file as u32,
                at: None,
                score: TEXT * score,
            }));
        }
        found
    }

    /// How much a word tells: one that few files hold tells more.
    fn worth(&self, holders: usize) -> f64 {
        let (all, holders) = (self.ranked.files as f64, holders as f64);
        (1.0 + (all - holders + 0.5).max(0.0) / (holders + 0.5)).ln()
    }

    /// BM25 over the words of files, as a part of what a file could get at most.
    fn weigh_texts(&mut self) {
        let mut most = f64::MIN_POSITIVE;
        for term in &self.query.terms {
            let holders = self.index.holders(term).iter();
            let holders: Vec<&Holding> = holders.filter(|of| self.is_within(of.file())).collect();
            let worth = self.worth(holders.len());
            most += worth * (SATURATION + 1.0);
            self.ranked.worth.push((term.clone(), worth));
            for holding in holders {
                let Some(file) = self.index.file(holding.file()) else { continue };
                let times = f64::from(holding.times());
                let long = 1.0 - LENGTH + LENGTH * f64::from(file.length) / self.average;
                let score = worth * times * (SATURATION + 1.0) / (times + SATURATION * long);
                self.texts[holding.file() as usize] += score;
            }
        }
        self.texts.iter_mut().for_each(|score| *score /= most);
    }

    /// The definitions that share something with the query by their names: all whose name it is, and of the
    /// others those that share most.
    fn definitions(&self, found: &mut Vec<Found>) {
        let shares = self.shares();
        let mut likely: Vec<Found> =
            shares.iter().filter_map(|share| self.found_by(share, Self::by_parts)).collect();
        if likely.len() > MOST_WEIGHED {
            likely.select_nth_unstable_by(MOST_WEIGHED, |a, b| self.in_order(a, b));
            likely.truncate(MOST_WEIGHED);
        }
        let likely =
            likely.iter().filter_map(|found| Some(Place { file: found.file, at: found.at? }));
        let (name, _) = self.query.name();
        let name = words::folded(name);
        let same = self.index.beginning(&name).take_while(|(known, _)| *known == name);
        let longer = self.index.beginning(&self.query.joined);
        let named = same.chain(longer).flat_map(|(_, places)| places.iter().copied());
        let mut places: Vec<Place> = named.take(MOST_WEIGHED).chain(likely).collect();
        places.sort_unstable();
        places.dedup();
        found.extend(places.into_iter().filter(|place| self.is_within(place.file)).filter_map(
            |place| {
                let known = shares.binary_search_by_key(&place, |share| share.place);
                let share = known.map_or(Share { place, share: 0.0, parts: 0 }, |at| shares[at]);
                self.found_by(&share, Self::by_everything)
            },
        ));
    }

    /// What every definition has of the query that has a part of it, ordered by place.
    fn shares(&self) -> Vec<Share> {
        let (mut all, mut worths) = (f64::MIN_POSITIVE, Vec::new());
        for part in &self.query.parts {
            let places = self.index.with_part(part).iter();
            let places: Vec<&Place> = places.filter(|place| self.is_within(place.file)).collect();
            let worth = self.worth(places.len());
            all += worth;
            worths.extend(places.into_iter().map(|place| (*place, worth)));
        }
        // Each part's are in order: a stable sort merges them.
        worths.sort_by_key(|(place, _)| *place);
        let of_one = worths.chunk_by(|a, b| a.0 == b.0);
        let share = |of: &[(Place, f64)]| Share {
            place: of[0].0,
            share: of.iter().map(|(_, worth)| worth).sum::<f64>() / all,
            parts: of.len() as u32,
        };
        of_one.map(share).collect()
    }

    fn found_by(
        &self,
        share: &Share,
        score: impl Fn(&Self, &File, &Definition, &Share) -> f64,
    ) -> Option<Found> {
        let file = self.index.file(share.place.file)?;
        let definition = file.definitions.get(share.place.at as usize)?;
        let text = AROUND * self.texts.get(share.place.file as usize).copied().unwrap_or(0.0);
        let score = score(self, file, definition, share) * standing(file, definition) + text;
        Some(Found { file: share.place.file, at: Some(share.place.at), score })
    }

    /// What a name is worth by the parts that it shares with the query.
    fn by_parts(&self, _: &File, definition: &Definition, share: &Share) -> f64 {
        let filled = f64::from(share.parts) / f64::from(definition.parts.max(1));
        PARTS * share.share * share.share * (0.5 + 0.5 * filled.min(1.0))
    }

    fn by_everything(&self, file: &File, definition: &Definition, share: &Share) -> f64 {
        self.by_parts(file, definition, share)
            + self.by_name(&definition.name)
            + self.by_surroundings(file, definition)
    }

    /// What a name is worth as a whole.
    fn by_name(&self, name: &str) -> f64 {
        let (query, folded) = (self.query, words::folded(name));
        let (asked, _) = query.name();
        if asked == name {
            return EXACT;
        }
        if folded == query.joined || (!asked.is_empty() && folded == words::folded(asked)) {
            return SAME_BUT_CASE;
        }
        // A name in a sentence: worth the more, the more it looks like one.
        if !query.is_name && query.words.iter().any(|word| word == name) {
            let looks = words::parts(name).len() > 1 || name.contains(char::is_uppercase);
            return if looks { AMONG_OTHERS } else { AMONG_OTHERS / 4.0 };
        }
        if folded.starts_with(&query.joined) {
            return BEGINNING * query.joined.len() as f64 / folded.len() as f64;
        }
        0.0
    }

    /// What it is worth that the query names where a definition is.
    fn by_surroundings(&self, file: &File, definition: &Definition) -> f64 {
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

    /// The better first; of equals the one whose path comes first, and in it the line.
    fn in_order(&self, a: &Found, b: &Found) -> Ordering {
        let path = |found: &Found| self.index.file(found.file).map(|file| &file.path);
        let by_path = || path(a).cmp(&path(b)).then(a.at.cmp(&b.at));
        b.score.total_cmp(&a.score).then_with(by_path)
    }

    fn hit(&self, found: Found) -> Option<Hit> {
        let file = self.index.file(found.file)?;
        let what = match found.at {
            Some(at) => What::Definition(file.definitions.get(at as usize)?.clone()),
            None => What::Text(self.defined_lines(file)),
        };
        let (path, signature) = (file.path.clone(), file.signature);
        Some(Hit { path, signature, score: found.score, what })
    }

    /// The lines of a file whose definitions are results themselves.
    fn defined_lines(&self, file: &File) -> Vec<u32> {
        if self.scope == CodeScope::Text {
            return Vec::new();
        }
        let fits = |definition: &&Definition| {
            let parts = words::parts(&definition.name);
            let shares = |part: &str| self.query.parts.contains(&part.to_lowercase());
            parts.into_iter().any(shares)
                || words::folded(&definition.name).starts_with(&self.query.joined)
        };
        file.definitions.iter().filter(fits).map(|definition| definition.line).collect()
    }
}

/// What somebody is more likely to mean: what has a body, what is no test, what is no mere case or module.
fn standing(file: &File, definition: &Definition) -> f64 {
    let kind = match definition.kind {
        DefinitionKind::Variant | DefinitionKind::Module => 0.92,
        DefinitionKind::Constant => 0.96,
        _ => 1.0,
    };
    let body = if definition.has_body { 1.0 } else { 0.97 };
    let is_test = file.is_test || definition.container.as_deref() == Some("tests");
    kind * body * if is_test { 0.98 } else { 1.0 }
}

/// The line of a text, from 1, whose words tell most of what was asked: the first of equals, and none of
/// those in `except`.
pub fn best_line(text: &str, worth: &[(String, f64)], except: &[u32]) -> Option<u32> {
    let (mut best, mut most) = (None, 0.0);
    for (number, line) in (1..).zip(text.lines()) {
        let terms: HashSet<String> = words::words(line).flat_map(words::terms).collect();
        let of_line = worth.iter().filter(|(term, _)| terms.contains(term));
        let sum: f64 = of_line.map(|(_, worth)| worth).sum();
        if sum > most && !except.contains(&number) {
            (best, most) = (Some(number), sum);
        }
    }
    best
}
