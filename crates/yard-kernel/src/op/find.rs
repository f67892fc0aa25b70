//! find: entries that match by name and metadata, in the order of their path bytes.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use yard_core::op::{Entry, Find, FindBy, Found};
use yard_core::{
    Call, Effect, EffectKind, Fault, FaultCode, FileKind, FileType, Result, Subject, WsPath,
};
use yard_disk::Stats;
use yard_search::parallel::Pipeline;
use yard_search::{Flow, Globs, GlobsBuilder, Visit, Walk, WalkOptions};

use crate::lookup::node_lookup::NodeLookup;
use crate::lookup::read_target::folder_at;
use crate::op::list::as_folder;
use crate::proposal::{Execute, Planned};
use crate::virtual_files::command_output;
use crate::virtual_files::{VirtualEntries, names_virtual_folder};
use crate::workspace::Workspace;

/// Visits that the thread that reads their metadata gets at a time.
const VISITS: usize = 64;
/// Most bytes of all patterns of one search: compiling longer ones takes seconds.
const MAX_PATTERN_BYTES: usize = 64 << 10;

impl Execute for Find {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Found>> {
        let (base, virtuals) = folder_at(workspace, &self.path)?;
        let virtuals = match &self.by {
            FindBy::Globs(globs) if base.is_root() && name_virtual_folder(globs) => {
                workspace.all_virtual_entries()?
            }
            FindBy::Globs(_) => virtuals,
            // Virtual files are found by globs only.
            FindBy::Any | FindBy::Name(_) => virtuals.without_files(&base),
        };
        let names = NamePatterns::new(&self.by, &base)?;
        let search =
            Search { find: self, workspace, call, base: &base, virtuals: &virtuals, names };
        let limit = self.limit.unwrap_or(workspace.limits().answer_entries);
        let (mut entries, mut skipped_before_cut) = (Vec::new(), None);
        // The store is queried in the order of the walk, so that one thread is enough for that.
        let skipped = Pipeline { threads: 1, batch: VISITS }.run(
            |send| search.walk(send),
            || {
                let mut matcher = Matcher::new(&search);
                move |(visit, skipped)| (matcher.entry_of(visit), skipped)
            },
            |(found, skipped)| {
                let Some(entry) = found? else { return Ok(Flow::Continue(())) };
                if entries.len() >= limit {
                    skipped_before_cut = Some(skipped);
                    return Ok(Flow::Break(()));
                }
                entries.push(entry);
                Ok(Flow::Continue(()))
            },
        )?;
        let truncated = skipped_before_cut.is_some();
        let Skipped { ignored, withheld } = skipped_before_cut.unwrap_or(skipped);
        let effect = Effect::one(EffectKind::List, base.clone()).with_contents();
        let answer = Found { path: base, entries, truncated, ignored, withheld };
        Ok(Planned::Answer { effect, answer })
    }
}

/// Whether one of these patterns names the folder of virtual files.
pub(crate) fn name_virtual_folder(globs: &[String]) -> bool {
    globs.iter().any(|glob| names_virtual_folder(glob))
}

/// How many entries a walk skipped so far. If an answer is cut, those before the cut count: how far the walk was ahead of it
/// is a matter of timing.
#[derive(Clone, Copy, Default)]
pub(crate) struct Skipped {
    /// Entries that ignore files exclude.
    pub(crate) ignored: u64,
    /// Matching entries that the caller may not list or read.
    pub(crate) withheld: u64,
}

/// What is searched for, and where.
struct Search<'a> {
    find: &'a Find,
    workspace: &'a Workspace,
    call: &'a Call,
    base: &'a WsPath,
    virtuals: &'a VirtualEntries,
    names: NamePatterns,
}

impl Search<'_> {
    /// Walks in order and hands over the entries whose names match, each with what was skipped before it. Returns what was
    /// skipped in all.
    fn walk(&self, send: &mut dyn FnMut((Visit, Skipped)) -> Flow) -> Result<Skipped> {
        let Find { recursive, include_ignored, after, .. } = self.find;
        let options = WalkOptions { recursive: *recursive, include_ignored: *include_ignored };
        let view = self.virtuals.view();
        let disk = self.workspace.disk_of(self.base);
        let mut walk = Walk::new(disk, self.call, options).viewing(&view);
        let mut withheld = 0;
        walk.run(self.base, &mut |visit| {
            let is_before_cursor = after.as_ref().is_some_and(|after| visit.path <= *after);
            if is_before_cursor || !self.names.matches(&visit) {
                return Ok(Flow::Continue(()));
            }
            if !self.call.may_list(&visit.path) {
                withheld += 1;
                return Ok(Flow::Continue(()));
            }
            let skipped = Skipped { ignored: visit.ignored, withheld };
            Ok(send((visit, skipped)))
        })?;
        Ok(Skipped { ignored: walk.ignored(), withheld })
    }
}

/// Compares the metadata of entries whose names match.
struct Matcher<'a> {
    search: &'a Search<'a>,
    lookup: NodeLookup<'a>,
    stats: Stats<'a>,
}

impl<'a> Matcher<'a> {
    fn new(search: &'a Search<'a>) -> Self {
        let stats = search.workspace.disk_of(search.base).stats();
        Self { search, lookup: NodeLookup::new(search.workspace), stats }
    }

    /// The entry, if its metadata match as well.
    fn entry_of(&mut self, visit: Visit) -> Result<Option<Entry>> {
        let Search { find, workspace, .. } = self.search;
        let is_folder = workspace.is_folder(&visit)?;
        if find.size.is_set() && is_folder {
            return Ok(None);
        }
        if find.file_type.is_some_and(|wanted| (wanted == FileType::Folder) != is_folder) {
            return Ok(None);
        }
        let found = self.entry(visit.path, is_folder)?;
        Ok(found.filter(|entry| find.file_type.is_none_or(|wanted| wanted == entry.file_type)))
    }

    /// The entry at a path, if it is there and has a size that matches.
    fn entry(&mut self, path: WsPath, is_folder: bool) -> Result<Option<Entry>> {
        let Search { find, workspace, call, virtuals, .. } = self.search;
        let in_size = |size: u64| is_folder || find.size.holds(size);
        let stat = if virtuals.contain(&path) { None } else { self.stats.stat(&path)? };
        if let Some(entry) = virtuals.entry(&path, stat.as_ref()) {
            return Ok(Some(entry).filter(|entry| in_size(entry.size.unwrap_or(0))));
        }
        let Some(stat) = stat.filter(|stat| in_size(stat.size())) else { return Ok(None) };
        if path.is_command_output() {
            return Ok(Some(command_output::entry(path, &stat)));
        }
        let node = self.lookup.take(&path)?;
        let state = workspace.sync_state_of(node, &path, &stat, None, call)?;
        let entry = workspace.entry(path, &stat, &state);
        Ok(Some(if is_folder { as_folder(entry) } else { entry }))
    }
}

/// The patterns of a search.
pub(crate) struct NamePatterns {
    matches_all: bool,
    included: Box<Patterns>,
    /// Patterns that begin with `!`: they exclude entries and everything below them.
    excluded: Box<Patterns>,
    /// The length of the path of the searched folder: no pattern excludes that folder or one above it.
    base: usize,
}

#[derive(Default)]
struct Patterns {
    by_name: Globs,
    by_path: Globs,
    folders_by_path: Globs,
}

impl NamePatterns {
    pub(crate) fn new(by: &FindBy, base: &WsPath) -> Result<Self> {
        let (mut included, mut excluded) = (PatternsBuilder::default(), PatternsBuilder::default());
        let mut matches_all = matches!(by, FindBy::Any);
        match by {
            FindBy::Any => {}
            FindBy::Name(pattern) => {
                check_length(std::slice::from_ref(pattern))?;
                let glob = name_glob(pattern)?;
                included.by_name.add(&glob, pattern)?;
                // `find -name` has no groups: a name that looks like one is matched literally, too.
                if pattern.contains('(') {
                    included.by_name.add(&glob.replace('(', "[(]"), pattern)?;
                }
            }
            FindBy::Globs(patterns) => {
                check_length(patterns)?;
                matches_all = !patterns.is_empty();
                for pattern in patterns {
                    match negated(pattern) {
                        Some(rest) => excluded.add(rest.trim_end_matches('/'), pattern, base)?,
                        None => {
                            matches_all = false;
                            included.add(pattern, pattern, base)?;
                        }
                    }
                }
            }
        }
        let (included, excluded) = (Box::new(included.build()?), Box::new(excluded.build()?));
        Ok(Self { matches_all, included, excluded, base: base.relative().len() })
    }

    pub(crate) fn matches(&self, visit: &Visit) -> bool {
        self.matches_path(&visit.path, visit.kind.known() == Some(FileKind::Folder))
    }

    pub(crate) fn matches_path(&self, path: &WsPath, is_folder: bool) -> bool {
        let relative = path.relative();
        (self.matches_all || self.included.matches(relative, is_folder)) && !self.exclude(relative)
    }

    /// Whether a path, or a folder above it within the searched folder, is excluded.
    fn exclude(&self, relative: &[u8]) -> bool {
        if self.excluded.is_empty() {
            return false;
        }
        let ends = memchr::memchr_iter(b'/', relative).filter(|end| *end > self.base);
        ends.chain([relative.len()]).any(|end| self.excluded.matches(&relative[..end], true))
    }
}

/// The rest of a pattern that begins with `!`, as in ripgrep. `!(` begins a group and is no exclusion.
fn negated(pattern: &str) -> Option<&str> {
    pattern.strip_prefix('!').filter(|rest| !rest.is_empty() && !rest.starts_with('('))
}

impl Patterns {
    fn is_empty(&self) -> bool {
        self.by_name.is_empty() && self.by_path.is_empty() && self.folders_by_path.is_empty()
    }

    fn matches(&self, relative: &[u8], is_folder: bool) -> bool {
        let start = memchr::memrchr(b'/', relative).map_or(0, |at| at + 1);
        self.by_name.is_match(as_path(&relative[start..]))
            || self.by_path.is_match(as_path(relative))
            || (is_folder && self.folders_by_path.is_match(as_path(relative)))
    }
}

#[derive(Default)]
struct PatternsBuilder {
    by_name: GlobsBuilder,
    by_path: GlobsBuilder,
    folders_by_path: GlobsBuilder,
}

impl PatternsBuilder {
    fn add(&mut self, pattern: &str, as_written: &str, base: &WsPath) -> Result<()> {
        let trimmed = pattern.trim_end_matches('/');
        let set = match (trimmed.contains('/'), trimmed.len() < pattern.len()) {
            (false, false) => return self.by_name.add(trimmed, as_written),
            (_, true) => &mut self.folders_by_path,
            (true, false) => &mut self.by_path,
        };
        set.add(&from_root(trimmed, base), as_written)
    }

    fn build(self) -> Result<Patterns> {
        Ok(Patterns {
            by_name: self.by_name.build()?,
            by_path: self.by_path.build()?,
            folders_by_path: self.folders_by_path.build()?,
        })
    }
}

/// POSIX's character classes, as `find -name` has them in the C locale. None begins with a character that would negate a
/// set at whose start it stands.
const POSIX_CLASSES: [(&str, &str); 12] = [
    ("alpha", "a-zA-Z"),
    ("digit", "0-9"),
    ("alnum", "a-zA-Z0-9"),
    ("upper", "A-Z"),
    ("lower", "a-z"),
    ("space", " \t-\r"),
    ("blank", " \t"),
    ("punct", ":-@[-`{-~!-/"),
    ("xdigit", "0-9a-fA-F"),
    ("cntrl", "\u{0}-\u{1f}\u{7f}"),
    ("print", " -~"),
    ("graph", "\"-~!"),
];

/// Translates a pattern of `find -name` to a glob: character classes are written out, and braces are escaped, because
/// `find` has no alternatives.
fn name_glob(pattern: &str) -> Result<String> {
    let (mut written, mut rest, mut in_set) = (String::new(), pattern, false);
    while let Some(first) = rest.chars().next() {
        let class = rest.strip_prefix("[:").and_then(|rest| rest.split_once(":]"));
        match (first, class) {
            ('[', Some((name, behind))) if in_set => {
                written.push_str(posix_class(name)?);
                rest = behind;
                continue;
            }
            ('[', _) if !in_set => {
                // A closing bracket at the start of a set is one of its characters.
                let negation = rest[1..].starts_with(['!', '^']);
                let start = 1 + usize::from(negation);
                let length = start + usize::from(rest[start..].starts_with(']'));
                written.push_str(&rest[..length]);
                (rest, in_set) = (&rest[length..], true);
                continue;
            }
            (']', _) => in_set = false,
            ('\\', _) if !in_set => {
                let escaped = rest[1..].chars().next().map_or(0, char::len_utf8);
                written.push_str(&rest[..=escaped]);
                rest = &rest[1 + escaped..];
                continue;
            }
            ('{' | '}', _) if !in_set => {
                written.push_str(&format!("[{first}]"));
                rest = &rest[1..];
                continue;
            }
            _ => {}
        }
        written.push(first);
        rest = &rest[first.len_utf8()..];
    }
    Ok(written)
}

fn posix_class(name: &str) -> Result<&'static str> {
    let class = POSIX_CLASSES.iter().find(|(class, _)| *class == name);
    class.map(|(_, characters)| *characters).ok_or_else(|| {
        let known = POSIX_CLASSES.map(|(name, _)| name).join(", ");
        let message = format!("there is no character class [:{name:.80}:]; known are {known}");
        Fault::new(FaultCode::BadPattern, message).about(Subject::Pattern)
    })
}

/// Makes a pattern with a slash relative to the root. Without a leading slash it is below `base`.
fn from_root(pattern: &str, base: &WsPath) -> String {
    if let Some(absolute) = pattern.strip_prefix('/') {
        return absolute.trim_start_matches('/').to_owned();
    }
    let pattern = pattern.trim_start_matches("./");
    if base.is_root() {
        return pattern.to_owned();
    }
    let base = String::from_utf8_lossy(base.relative()).into_owned();
    format!("{}/{pattern}", globset::escape(&base))
}

/// A fault if patterns are so long that compiling them would take longer than a search.
fn check_length(patterns: &[String]) -> Result<()> {
    let length: usize = patterns.iter().map(String::len).sum();
    if length <= MAX_PATTERN_BYTES {
        return Ok(());
    }
    let message = format!(
        "the patterns have {length} bytes, and at most {MAX_PATTERN_BYTES} are taken: search with fewer or shorter ones"
    );
    Err(Fault::new(FaultCode::BadPattern, message).about(Subject::Pattern))
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_begins_with_an_exclamation_mark_excludes_as_in_ripgrep() {
        let holds = |patterns: &[&str], base: &str, path: &str| {
            let globs = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
            let base = WsPath::parse(base).unwrap();
            let names = NamePatterns::new(&FindBy::Globs(globs), &base).unwrap();
            names.matches_path(&WsPath::parse(path).unwrap(), false)
        };
        for (patterns, base, path, expected) in [
            (&["!*.py"][..], "/", "/a.js", true),
            (&["!*.py"], "/", "/src/a.py", false),
            (&["*.py", "!test_*"], "/", "/src/a.py", true),
            (&["*.py", "!test_*"], "/", "/src/test_a.py", false),
            (&["*.py", "!test_*"], "/", "/src/a.js", false),
            (&["!node_modules"], "/", "/a/node_modules/x/y.js", false),
            (&["!node_modules/"], "/", "/a/node_modules/x/y.js", false),
            (&["!src/**"], "/", "/src/a.py", false),
            (&["!src/**"], "/", "/lib/src/a.py", true),
            (&["!a"], "/a", "/a/b.py", true),
            (&["!a"], "/a", "/a/b/a", false),
            (&["!@(a|b).py"], "/", "/x/b.py", false),
            (&[r"\!a"], "/", "/!a", true),
        ] {
            assert_eq!(holds(patterns, base, path), expected, "{patterns:?} on {path}");
        }
    }

    #[test]
    fn w12_names_are_matched_as_find_does() {
        for (pattern, name, expected) in [
            ("[[:alpha:]]*", "main.rs", true),
            ("[[:alpha:]]*", "1.rs", false),
            ("[![:alpha:]]*", "1.rs", true),
            ("[[:digit:]_][[:digit:]]", "_4", true),
            ("[[:alpha:]_[:digit:]]", "7", true),
            ("[[:punct:]]x", "-x", true),
            ("[[:punct:]]x", "ax", false),
            ("[[:graph:]]", "!", true),
            ("[[:space:]]", "a", false),
            ("[]a]", "]", true),
            ("{a,b}", "{a,b}", true),
            ("{a,b}", "a", false),
            ("[{a]", "{", true),
            ("\\[:x", "[:x", true),
            ("\\{", "{", true),
        ] {
            let names =
                NamePatterns::new(&FindBy::Name(pattern.to_owned()), &WsPath::root()).unwrap();
            let path = WsPath::root().join_bytes(name.as_bytes()).unwrap();
            assert_eq!(names.matches_path(&path, false), expected, "{pattern} on {name}");
        }
        let unknown = NamePatterns::new(&FindBy::Name("[[:letter:]]".to_owned()), &WsPath::root());
        let fault = unknown.err().unwrap();
        assert_eq!(fault.code(), FaultCode::BadPattern);
        assert!(fault.message().contains("alpha"), "{}", fault.message());
    }

    #[test]
    fn g8_patterns_that_take_long_to_compile_are_refused() {
        let names = |by: FindBy| NamePatterns::new(&by, &WsPath::root()).map(|_| ());
        assert!(names(FindBy::Globs(vec!["*".repeat(1_000)])).is_ok());
        for by in [
            FindBy::Globs(vec!["[a]".repeat(30_000)]),
            FindBy::Globs(vec!["a*".to_owned(); 40_000]),
            FindBy::Name("?".repeat(100_000)),
        ] {
            assert_eq!(names(by).map_err(|fault| fault.code()), Err(FaultCode::BadPattern));
        }
    }
}
