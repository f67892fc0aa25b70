//! No two public types of the workspace have the same name, so that a reader who finds a name knows which type is
//! meant. The modules of the toolsets are left out: each of their tools has a type of its own and its own `Reply`.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::{Source, sources};

/// Names that occur more than once today. The list may only shrink: rename one of the types, then remove its name here.
const REPEATED: [&str; 1] = ["Result"];

/// The folders of `yard-dialects/src` that hold one file a tool.
const TOOLSETS: [&str; 7] =
    ["assistant", "coder", "codex", "file", "filesystem", "history", "workspace"];

/// Words that declare a type.
const KINDS: [&str; 5] = ["struct", "enum", "trait", "union", "type"];

fn is_of_a_tool(file: &str) -> bool {
    let inside = file.strip_prefix("crates/yard-dialects/src/");
    inside.is_some_and(|inside| TOOLSETS.contains(&inside.split('/').next().unwrap_or_default()))
}

/// The name that a line declares as a public type.
fn declared(line: &str) -> Option<&str> {
    let (kind, rest) = line.trim_start().strip_prefix("pub ")?.split_once(' ')?;
    let is_of_name = |character: char| character.is_alphanumeric() || character == '_';
    let name = rest.split(|character| !is_of_name(character)).next()?;
    (KINDS.contains(&kind) && !name.is_empty()).then_some(name)
}

/// Each public type of shipped code with the files that declare it.
fn public_types() -> BTreeMap<String, BTreeSet<String>> {
    let mut types: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let shipped = sources().into_iter().filter(Source::is_shipped);
    for source in shipped.filter(|source| !is_of_a_tool(&source.path)) {
        for name in source.code().filter_map(|(_, line)| declared(line)) {
            types.entry(name.to_owned()).or_default().insert(source.path.clone());
        }
    }
    types
}

#[test]
fn no_two_public_types_have_the_same_name() {
    let types = public_types();
    assert!(types.len() > 200, "only {} public types were found", types.len());
    let mut broken = Vec::new();
    for (name, files) in types.iter().filter(|(_, files)| files.len() > 1) {
        if !REPEATED.contains(&name.as_str()) {
            broken.push(format!("{name} is public in {files:?}: rename all but one"));
        }
    }
    for name in REPEATED {
        if types.get(name).is_none_or(|files| files.len() < 2) {
            broken.push(format!("{name} occurs once by now: remove it from REPEATED"));
        }
    }
    assert!(broken.is_empty(), "\n  {}", broken.join("\n  "));
}

#[test]
fn declarations_are_distinguished_from_other_lines() {
    assert_eq!(declared("pub struct Page<T> {"), Some("Page"));
    assert_eq!(declared("    pub enum Kind{"), Some("Kind"));
    assert_eq!(declared("pub type Result<T> = std::result::Result<T, Fault>;"), Some("Result"));
    assert_eq!(declared("pub(crate) struct Inner;"), None);
    assert_eq!(declared("pub fn page() {"), None);
    assert_eq!(declared("struct Page;"), None);
}
