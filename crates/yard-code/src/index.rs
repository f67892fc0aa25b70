//! The inverted index of a workspace's files, in memory: which files contain a word, and which define a name. Files are
//! added and removed one by one. It never reads the disk, and counts the memory that it takes: above [`MAX_BYTES`] the
//! content of further files is not added.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use yard_core::{ContentHash, Signature, WsPath};

use crate::definitions::Definition;
use crate::words;

/// Most files of an index.
pub(crate) const MAX_FILES: usize = 200_000;
/// About how many bytes of memory an index may take.
const MAX_BYTES: usize = 256 << 20;
/// What one file costs in addition to its words and definitions.
const FILE_BYTES: usize = 256;
/// What one word of a file costs, in the file and in the postings of the word.
const WORD_BYTES: usize = 10;
/// What a new word costs in addition to its text.
const NEW_WORD_BYTES: usize = 128;
/// Most unused words that are retained for files to come.
const MAX_UNUSED: usize = 50_000;
/// What one definition costs in addition to its name.
const DEFINITION_BYTES: usize = 240;

/// How much of a file is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileState {
    /// All of it.
    Complete,
    /// A part of it.
    Partial,
    /// Nothing, because it is no text.
    Binary,
    /// Nothing, because it is too large.
    TooLarge,
    /// Nothing, because the index was full.
    Unindexed,
}

/// A file that was read, before it is in the index.
pub(crate) struct ParsedFile {
    pub(crate) path: WsPath,
    pub(crate) signature: Signature,
    /// The hash of its content, while its signature is too recent to be trusted.
    pub(crate) unsettled: Option<ContentHash>,
    pub(crate) state: FileState,
    /// How many words it has.
    pub(crate) length: u32,
    pub(crate) terms: Vec<(String, u8)>,
    pub(crate) definitions: Vec<Definition>,
}

/// A file in the index.
pub(crate) struct File {
    pub(crate) path: WsPath,
    pub(crate) signature: Signature,
    pub(crate) unsettled: Option<ContentHash>,
    pub(crate) state: FileState,
    /// How many words it has.
    pub(crate) length: u32,
    /// Whether its path contains `test`.
    pub(crate) is_test: bool,
    terms: Box<[u32]>,
    pub(crate) definitions: Box<[Definition]>,
    bytes: usize,
}

/// The number of a file, and the position of a definition in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DefinitionRef {
    pub(crate) file: u32,
    pub(crate) at: u32,
}

/// A file that contains a word, and how often: 24 and 8 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Posting(u32);

impl Posting {
    fn new(file: u32, times: u8) -> Self {
        Self(file << 8 | u32::from(times))
    }

    pub(crate) fn file(self) -> u32 {
        self.0 >> 8
    }

    pub(crate) fn times(self) -> u32 {
        self.0 & 0xff
    }
}

/// The index.
#[derive(Default)]
pub(crate) struct Index {
    files: Vec<Option<File>>,
    free: Vec<u32>,
    by_path: HashMap<WsPath, u32>,
    terms: HashMap<Box<str>, u32>,
    postings: Vec<Vec<Posting>>,
    /// Numbers of terms that were removed.
    free_terms: Vec<u32>,
    /// How many terms are in no file any more.
    unused: usize,
    by_name: BTreeMap<Box<str>, Vec<DefinitionRef>>,
    by_part: HashMap<Box<str>, Vec<DefinitionRef>>,
    bytes: usize,
}

impl Index {
    /// How many files are in the index.
    pub(crate) fn len(&self) -> usize {
        self.by_path.len()
    }

    /// A number above the numbers of all files.
    pub(crate) fn end(&self) -> usize {
        self.files.len()
    }

    /// The number of a file.
    pub(crate) fn number(&self, path: &WsPath) -> Option<u32> {
        self.by_path.get(path).copied()
    }

    /// A file by its number.
    pub(crate) fn file(&self, number: u32) -> Option<&File> {
        self.files.get(number as usize)?.as_ref()
    }

    /// Every file, by number.
    pub(crate) fn files(&self) -> impl Iterator<Item = (u32, &File)> {
        let files = self.files.iter().enumerate();
        files.filter_map(|(number, file)| Some((number as u32, file.as_ref()?)))
    }

    /// The files that contain a term, by number.
    pub(crate) fn postings(&self, term: &str) -> &[Posting] {
        let number = self.terms.get(term).copied();
        number.and_then(|number| self.postings.get(number as usize)).map_or(&[], Vec::as_slice)
    }

    /// The definitions whose name has a part.
    pub(crate) fn with_part(&self, part: &str) -> &[DefinitionRef] {
        self.by_part.get(part).map_or(&[], Vec::as_slice)
    }

    /// The definitions whose folded name begins with `start`, ordered by name.
    pub(crate) fn with_prefix<'a>(
        &'a self,
        start: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a [DefinitionRef])> {
        let from = self.by_name.range::<str, _>((Bound::Included(start), Bound::Unbounded));
        from.take_while(move |(name, _)| name.starts_with(start))
            .map(|(name, definition_refs)| (&**name, definition_refs.as_slice()))
    }

    /// Whether the content of further files is not added.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > MAX_BYTES || self.by_path.len() >= MAX_FILES
    }

    /// Whether there is room again for unindexed files.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes < MAX_BYTES / 4 * 3 && self.by_path.len() < MAX_FILES / 4 * 3
    }

    /// Adds or replaces a file.
    pub(crate) fn put(&mut self, mut parsed: ParsedFile) {
        self.remove(&parsed.path);
        if self.is_full() {
            parsed.state = FileState::Unindexed;
            parsed.terms.clear();
            parsed.definitions.clear();
        }
        let number = self.free.pop().unwrap_or(self.files.len() as u32);
        let terms = self.add_terms(number, parsed.terms);
        self.add_names(number, &parsed.definitions);
        let bytes = FILE_BYTES
            + parsed.path.relative().len() * 2
            + terms.len() * WORD_BYTES
            + parsed.definitions.iter().map(definition_bytes).sum::<usize>();
        self.bytes += bytes;
        self.by_path.insert(parsed.path.clone(), number);
        let file = File {
            is_test: memchr::memmem::find(parsed.path.relative(), b"test").is_some(),
            path: parsed.path,
            signature: parsed.signature,
            unsettled: parsed.unsettled,
            state: parsed.state,
            length: parsed.length,
            terms,
            definitions: parsed.definitions.into_boxed_slice(),
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
            let id = self.terms.get(term.as_str()).copied();
            let id = id.unwrap_or_else(|| self.new_term(term));
            terms.push(id);
            if let Some(postings) = self.postings.get_mut(id as usize) {
                self.unused -= usize::from(postings.is_empty() && self.unused > 0);
                insert(postings, Posting::new(number, times));
            }
        }
        terms.into_boxed_slice()
    }

    /// Adds a term that is in no file yet.
    fn new_term(&mut self, term: String) -> u32 {
        self.bytes += term.len() + NEW_WORD_BYTES;
        let number = self.free_terms.pop().unwrap_or_else(|| {
            self.postings.push(Vec::new());
            self.postings.len() as u32 - 1
        });
        self.terms.insert(term.into_boxed_str(), number);
        // The caller adds a posting next, which makes it a used one.
        self.unused += 1;
        number
    }

    /// Removes terms that are in no file any more.
    fn remove_unused(&mut self) {
        let Self { terms, postings, free_terms, bytes, .. } = self;
        terms.retain(|term, number| {
            let is_used =
                postings.get(*number as usize).is_some_and(|postings| !postings.is_empty());
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
            let definition_ref = DefinitionRef { file, at: at as u32 };
            let name = words::folded(&definition.name).into_boxed_str();
            insert(self.by_name.entry(name).or_default(), definition_ref);
            for part in name_parts(&definition.name) {
                insert(self.by_part.entry(part).or_default(), definition_ref);
            }
        }
    }

    /// Removes a file.
    pub(crate) fn remove(&mut self, path: &WsPath) {
        let Some(number) = self.by_path.remove(path) else { return };
        let Some(file) = self.files.get_mut(number as usize).and_then(Option::take) else { return };
        self.free.push(number);
        self.bytes = self.bytes.saturating_sub(file.bytes);
        let all = Posting::new(number, 0)..=Posting::new(number, u8::MAX);
        for term in &file.terms {
            if let Some(postings) = self.postings.get_mut(*term as usize)
                && remove_range(postings, all.start(), all.end())
            {
                self.unused += 1;
            }
        }
        if self.unused > MAX_UNUSED {
            self.remove_unused();
        }
        let (first, last) =
            (DefinitionRef { file: number, at: 0 }, DefinitionRef { file: number, at: u32::MAX });
        for definition in &file.definitions {
            let name = words::folded(&definition.name).into_boxed_str();
            if self.by_name.get_mut(&name).is_some_and(|refs| remove_range(refs, &first, &last)) {
                self.by_name.remove(&name);
            }
            for part in name_parts(&definition.name) {
                if self.by_part.get_mut(&part).is_some_and(|refs| remove_range(refs, &first, &last))
                {
                    self.by_part.remove(&part);
                }
            }
        }
    }

    /// Notes that a file has not changed. `unsettled` is `None` if its signature can be trusted now.
    pub(crate) fn set_unsettled(&mut self, path: &WsPath, unsettled: Option<ContentHash>) {
        let number = self.by_path.get(path).copied();
        let file = number.and_then(|number| self.files.get_mut(number as usize)?.as_mut());
        if let Some(file) = file {
            file.unsettled = unsettled;
        }
    }
}

/// The parts by which the name of a definition is found, each once.
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

/// Inserts into an ordered list. Fast at its end: new files mostly have numbers above all others.
fn insert<T: Ord + Copy>(list: &mut Vec<T>, item: T) {
    if list.last().is_none_or(|last| *last < item) {
        return list.push(item);
    }
    let at = list.partition_point(|other| *other < item);
    list.insert(at, item);
}

/// Removes the items from `first` to `last` from an ordered list, and returns whether it is empty then.
fn remove_range<T: Ord>(list: &mut Vec<T>, first: &T, last: &T) -> bool {
    let from = list.partition_point(|item| item < first);
    let to = list.partition_point(|item| item <= last);
    list.drain(from..to);
    list.is_empty()
}

#[cfg(test)]
mod tests {
    use yard_core::op::DefinitionKind;

    use super::*;

    fn parsed(path: &str, text: &str, names: &[&str]) -> ParsedFile {
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
        ParsedFile {
            path: WsPath::parse(path).unwrap(),
            signature: Signature { size: 0, mtime: 0, ctime: 0, inode: 0 },
            unsettled: None,
            state: FileState::Complete,
            length: counted.length,
            terms: counted.terms,
            definitions: names.iter().map(definition).collect(),
        }
    }

    #[test]
    fn memory_of_unused_words_is_freed() {
        let mut index = Index::default();
        let text = |round: usize| -> String {
            (0..2_000).map(|number| format!("zz{round}q{number} ")).collect()
        };
        index.put(parsed("/a", &text(0), &[]));
        let one = index.bytes;
        for round in 1..200 {
            index.put(parsed("/a", &text(round), &[]));
        }
        assert!(index.bytes < one * 60, "{} after {one}", index.bytes);
        index.remove_unused();
        assert!(index.bytes < one * 2, "{} after {one}", index.bytes);
        let last = index.terms.len();
        assert_eq!(index.postings.iter().filter(|postings| !postings.is_empty()).count(), last);
    }

    #[test]
    fn removed_files_leave_no_trace() {
        let mut index = Index::default();
        for _ in 0..3 {
            index.put(parsed("/a", "alpha beta beta", &["alpha_beta", "alphaBeta"]));
            index.put(parsed("/b", "beta", &["beta"]));
            index.put(parsed("/a", "gamma beta", &["gamma"]));
        }
        assert_eq!((index.len(), index.end()), (2, 2));
        assert_eq!(index.postings("beta").len(), 2);
        assert_eq!(index.postings("alpha").len(), 0);
        assert_eq!(index.with_part("beta").len(), 1);
        assert_eq!(index.with_prefix("g").count(), 1);
        for path in ["/a", "/b", "/c"] {
            index.remove(&WsPath::parse(path).unwrap());
        }
        assert_eq!(index.len(), 0);
        assert!(index.by_name.is_empty() && index.by_part.is_empty());
        assert!(index.postings.iter().all(Vec::is_empty));
        let words: usize = index.terms.keys().map(|term| term.len() + NEW_WORD_BYTES).sum();
        assert_eq!(index.bytes, words);
    }
}
