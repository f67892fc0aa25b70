//! What is known of the files of a workspace, in memory: who holds which word, and who defines which name.
//! Files come and go one by one. It never looks at the disk, and counts what it holds: above
//! [`MOST_BYTES`] no more is taken in.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::ops::Bound;

use yard_core::{ContentHash, WsPath};
use yard_store::Signature;

use crate::definitions::Definition;
use crate::words;

/// Most files that are known.
pub(super) const MOST_FILES: usize = 200_000;
/// About how many bytes of memory an index may take.
const MOST_BYTES: usize = 256 << 20;
/// What one file costs beside its words and definitions.
const FILE_BYTES: usize = 256;
/// What one word of a file costs, there and among those who hold it.
const WORD_BYTES: usize = 10;
/// What a word costs that was never seen, beside its text.
const NEW_WORD_BYTES: usize = 128;
/// So many words that no file holds any more are kept for the next one.
const MOST_UNUSED: usize = 50_000;
/// What one definition costs beside its name.
const DEFINITION_BYTES: usize = 240;

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is searched.
    Known,
    /// It is searched, but not all of it.
    Partly,
    /// It is no text.
    Binary,
    /// It is a text that is too large.
    TooLarge,
    /// The index was full.
    Beyond,
}

/// A file as it was read.
pub(super) struct Reading {
    pub(super) path: WsPath,
    pub(super) signature: Signature,
    /// The content, while its signature is too young to be trusted.
    pub(super) young: Option<ContentHash>,
    pub(super) standing: Standing,
    pub(super) length: u32,
    pub(super) terms: Vec<(String, u8)>,
    pub(super) definitions: Vec<Definition>,
}

/// A file as it is known.
pub(super) struct File {
    pub(super) path: WsPath,
    pub(super) signature: Signature,
    pub(super) young: Option<ContentHash>,
    pub(super) standing: Standing,
    /// Words in it.
    pub(super) length: u32,
    /// Whether its path says that it tests others.
    pub(super) is_test: bool,
    terms: Box<[u32]>,
    pub(super) definitions: Box<[Definition]>,
    bytes: usize,
}

/// A definition: which of which file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) file: u32,
    pub(super) at: u32,
}

/// A file that holds a word, and how often: 24 and 8 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Holding(u32);

impl Holding {
    fn new(file: u32, times: u8) -> Self {
        Self(file << 8 | u32::from(times))
    }

    pub(super) fn file(self) -> u32 {
        self.0 >> 8
    }

    pub(super) fn times(self) -> u32 {
        self.0 & 0xff
    }
}

/// The index.
#[derive(Default)]
pub(super) struct Index {
    files: Vec<Option<File>>,
    free: Vec<u32>,
    by_path: HashMap<WsPath, u32>,
    terms: HashMap<Box<str>, u32>,
    holders: Vec<Vec<Holding>>,
    /// Numbers of words that are known no more.
    free_terms: Vec<u32>,
    /// Words that no file holds any more.
    unused: usize,
    by_name: BTreeMap<Box<str>, Vec<Place>>,
    by_part: HashMap<Box<str>, Vec<Place>>,
    bytes: usize,
}

impl Index {
    /// How many files are known.
    pub(super) fn len(&self) -> usize {
        self.by_path.len()
    }

    /// A number above that of every file.
    pub(super) fn end(&self) -> usize {
        self.files.len()
    }

    /// The number of a file.
    pub(super) fn number(&self, path: &WsPath) -> Option<u32> {
        self.by_path.get(path).copied()
    }

    /// A file by its number.
    pub(super) fn file(&self, number: u32) -> Option<&File> {
        self.files.get(number as usize)?.as_ref()
    }

    /// Every file, by number.
    pub(super) fn files(&self) -> impl Iterator<Item = (u32, &File)> {
        let files = self.files.iter().enumerate();
        files.filter_map(|(number, file)| Some((number as u32, file.as_ref()?)))
    }

    /// The files that hold a term, by number.
    pub(super) fn holders(&self, term: &str) -> &[Holding] {
        let number = self.terms.get(term).copied();
        number.and_then(|number| self.holders.get(number as usize)).map_or(&[], Vec::as_slice)
    }

    /// The definitions whose name has a part.
    pub(super) fn with_part(&self, part: &str) -> &[Place] {
        self.by_part.get(part).map_or(&[], Vec::as_slice)
    }

    /// The definitions whose folded name begins with a text, ordered by it.
    pub(super) fn beginning<'a>(
        &'a self,
        start: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a [Place])> {
        let from = self.by_name.range::<str, _>((Bound::Included(start), Bound::Unbounded));
        from.take_while(move |(name, _)| name.starts_with(start))
            .map(|(name, places)| (&**name, places.as_slice()))
    }

    /// Whether no more is taken in.
    pub(super) fn is_full(&self) -> bool {
        self.bytes > MOST_BYTES || self.by_path.len() >= MOST_FILES
    }

    /// Whether there is room again for files that found none.
    pub(super) fn has_room(&self) -> bool {
        self.bytes < MOST_BYTES / 4 * 3 && self.by_path.len() < MOST_FILES / 4 * 3
    }

    /// Takes a file in, in the place of what was known of it.
    pub(super) fn put(&mut self, mut reading: Reading) {
        self.remove(&reading.path);
        if self.is_full() {
            reading.standing = Standing::Beyond;
            reading.terms.clear();
            reading.definitions.clear();
        }
        let number = self.free.pop().unwrap_or(self.files.len() as u32);
        let terms = self.add_terms(number, reading.terms);
        self.add_names(number, &reading.definitions);
        let bytes = FILE_BYTES
            + reading.path.relative().len() * 2
            + terms.len() * WORD_BYTES
            + reading.definitions.iter().map(definition_bytes).sum::<usize>();
        self.bytes += bytes;
        self.by_path.insert(reading.path.clone(), number);
        let file = File {
            is_test: memchr::memmem::find(reading.path.relative(), b"test").is_some(),
            path: reading.path,
            signature: reading.signature,
            young: reading.young,
            standing: reading.standing,
            length: reading.length,
            terms,
            definitions: reading.definitions.into_boxed_slice(),
            bytes,
        };
        match self.files.get_mut(number as usize) {
            Some(free) => *free = Some(file),
            None => self.files.push(Some(file)),
        }
    }

    fn add_terms(&mut self, number: u32, counted: Vec<(String, u8)>) -> Box<[u32]> {
        let mut terms = Vec::with_capacity(counted.len());
        for (term, times) in counted {
            let known = self.terms.get(term.as_str()).copied();
            let known = known.unwrap_or_else(|| self.new_term(term));
            terms.push(known);
            if let Some(holders) = self.holders.get_mut(known as usize) {
                self.unused -= usize::from(holders.is_empty() && self.unused > 0);
                insert(holders, Holding::new(number, times));
            }
        }
        terms.into_boxed_slice()
    }

    /// A term that no file holds yet.
    fn new_term(&mut self, term: String) -> u32 {
        self.bytes += term.len() + NEW_WORD_BYTES;
        let number = self.free_terms.pop().unwrap_or_else(|| {
            self.holders.push(Vec::new());
            self.holders.len() as u32 - 1
        });
        self.terms.insert(term.into_boxed_str(), number);
        // Whoever makes it holds it next.
        self.unused += 1;
        number
    }

    /// Gives back what words took that no file holds any more.
    fn forget_unused(&mut self) {
        let Self { terms, holders, free_terms, bytes, .. } = self;
        terms.retain(|term, number| {
            let is_used = holders.get(*number as usize).is_some_and(|holders| !holders.is_empty());
            if !is_used {
                *bytes = bytes.saturating_sub(term.len() + NEW_WORD_BYTES);
                free_terms.push(*number);
            }
            is_used
        });
        self.unused = 0;
    }

    fn add_names(&mut self, file: u32, definitions: &[Definition]) {
        for (at, definition) in definitions.iter().enumerate() {
            let place = Place { file, at: at as u32 };
            let name = words::folded(&definition.name).into_boxed_str();
            insert(self.by_name.entry(name).or_default(), place);
            for part in name_parts(&definition.name) {
                insert(self.by_part.entry(part).or_default(), place);
            }
        }
    }

    /// Forgets a file.
    pub(super) fn remove(&mut self, path: &WsPath) {
        let Some(number) = self.by_path.remove(path) else { return };
        let Some(file) = self.files.get_mut(number as usize).and_then(Option::take) else { return };
        self.free.push(number);
        self.bytes = self.bytes.saturating_sub(file.bytes);
        let all = Holding::new(number, 0)..=Holding::new(number, u8::MAX);
        for term in &file.terms {
            if let Some(holders) = self.holders.get_mut(*term as usize)
                && cut(holders, all.start(), all.end())
            {
                self.unused += 1;
            }
        }
        if self.unused > MOST_UNUSED {
            self.forget_unused();
        }
        let (first, last) = (Place { file: number, at: 0 }, Place { file: number, at: u32::MAX });
        for definition in &file.definitions {
            let name = words::folded(&definition.name).into_boxed_str();
            if self.by_name.get_mut(&name).is_some_and(|places| cut(places, &first, &last)) {
                self.by_name.remove(&name);
            }
            for part in name_parts(&definition.name) {
                cut_from(&mut self.by_part, &part, &first, &last);
            }
        }
    }

    /// A file is still what was read, and its signature may be trusted now or not yet.
    pub(super) fn settle(&mut self, path: &WsPath, young: Option<ContentHash>) {
        let number = self.by_path.get(path).copied();
        let file = number.and_then(|number| self.files.get_mut(number as usize)?.as_mut());
        if let Some(file) = file {
            file.young = young;
        }
    }
}

/// The parts that the name of a definition is found by, each once.
fn name_parts(name: &str) -> Vec<Box<str>> {
    let parts = words::parts(name).into_iter();
    let mut parts: Vec<Box<str>> = parts.map(|part| part.to_lowercase().into()).collect();
    parts.sort_unstable();
    parts.dedup();
    parts
}

fn definition_bytes(definition: &Definition) -> usize {
    let container = definition.container.as_ref().map_or(0, |name| name.len());
    DEFINITION_BYTES + definition.name.len() * 3 + container
}

/// Adds to an ordered list; files mostly come with numbers above all others.
fn insert<T: Ord + Copy>(list: &mut Vec<T>, item: T) {
    if list.last().is_none_or(|last| *last < item) {
        return list.push(item);
    }
    let at = list.partition_point(|known| *known < item);
    list.insert(at, item);
}

/// Takes what lies between two items out of an ordered list; whether nothing is left.
fn cut<T: Ord>(list: &mut Vec<T>, first: &T, last: &T) -> bool {
    let from = list.partition_point(|known| known < first);
    let to = list.partition_point(|known| known <= last);
    list.drain(from..to);
    list.is_empty()
}

fn cut_from<K: Hash + Eq, T: Ord>(lists: &mut HashMap<K, Vec<T>>, key: &K, first: &T, last: &T) {
    if lists.get_mut(key).is_some_and(|list| cut(list, first, last)) {
        lists.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use yard_core::op::DefinitionKind;

    use super::*;

    fn reading(path: &str, text: &str, names: &[&str]) -> Reading {
        let counted = words::count(text, path);
        let definition = |name: &&str| Definition {
            name: (*name).into(),
            parts: 1,
            kind: DefinitionKind::Function,
            container: None,
            line: 1,
            end_line: 1,
            has_body: true,
        };
        Reading {
            path: WsPath::parse(path).unwrap(),
            signature: Signature { size: 0, mtime: 0, ctime: 0, inode: 0 },
            young: None,
            standing: Standing::Known,
            length: counted.length,
            terms: counted.terms,
            definitions: names.iter().map(definition).collect(),
        }
    }

    #[test]
    fn words_that_nobody_holds_any_more_give_their_room_back() {
        let mut index = Index::default();
        let text = |round: usize| -> String {
            (0..2_000).map(|number| format!("zz{round}q{number} ")).collect()
        };
        index.put(reading("/a", &text(0), &[]));
        let one = index.bytes;
        for round in 1..200 {
            index.put(reading("/a", &text(round), &[]));
        }
        assert!(index.bytes < one * 60, "{} after {one}", index.bytes);
        index.forget_unused();
        assert!(index.bytes < one * 2, "{} after {one}", index.bytes);
        let last = index.terms.len();
        assert!(index.holders.iter().filter(|holders| !holders.is_empty()).count() == last);
    }

    #[test]
    fn files_come_change_and_go_without_a_trace() {
        let mut index = Index::default();
        for _ in 0..3 {
            index.put(reading("/a", "alpha beta beta", &["alpha_beta", "alphaBeta"]));
            index.put(reading("/b", "beta", &["beta"]));
            index.put(reading("/a", "gamma beta", &["gamma"]));
        }
        assert_eq!((index.len(), index.end()), (2, 2));
        assert_eq!(index.holders("beta").len(), 2);
        assert_eq!(index.holders("alpha").len(), 0);
        assert_eq!(index.with_part("beta").len(), 1);
        assert_eq!(index.beginning("g").count(), 1);
        for path in ["/a", "/b", "/c"] {
            index.remove(&WsPath::parse(path).unwrap());
        }
        assert_eq!(index.len(), 0);
        assert!(index.by_name.is_empty() && index.by_part.is_empty());
        assert!(index.holders.iter().all(Vec::is_empty));
        let words: usize = index.terms.keys().map(|term| term.len() + NEW_WORD_BYTES).sum();
        assert_eq!(index.bytes, words);
    }
}
