//! Among the top-level modules of a crate no import leads back: what a module imports does not import it, by
//! whatever way. The same holds among the modules inside of one module. A module and its children count as one and may know
//! each other. Imports by a name that the root re-exports lead to the module that has it.
//!
//! Only `crate::` and `super::` paths are read, and what the root itself names; comments and the tests at the end
//! of a file are left out.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::{Source, sources};

/// What the root of a crate counts as, with the items that it has of its own.
const ROOT: &str = "the root";

/// The modules whose own modules still import each other in a ring, by crate. The list only becomes shorter.
const KNOWN_RINGS: [(&str, &str); 2] = [("yard-core", "patch"), ("yard-store", "sqlite")];

/// Each module with the modules that it imports, and where it does.
type Imports = BTreeMap<String, BTreeMap<String, String>>;

/// The code of one file of a crate.
struct SourceFile {
    /// Its path, relative to `src`.
    name: String,
    /// Without comments and tests.
    code: String,
}

impl SourceFile {
    /// The modules that it is in, from the outermost to itself; none for the root.
    fn path(&self) -> Vec<&str> {
        let parts = self.name.strip_suffix(".rs").unwrap().split('/');
        parts.filter(|part| !["lib", "main", "mod"].contains(part)).collect()
    }

    /// The module that it is in, of those directly inside of `scope`.
    fn module(&self, scope: &[&str]) -> String {
        self.path().get(scope.len()).map_or(ROOT, |module| module).to_owned()
    }

    /// Whether it is in a module inside of `scope`.
    fn is_inside(&self, scope: &[&str]) -> bool {
        self.path().len() > scope.len() && self.path().starts_with(scope)
    }
}

/// The code of a file's text, without comments and without the tests at its end.
fn code_of(source: &Source) -> String {
    let code = source.code().map(|(_, line)| line.split("//").next().unwrap_or_default());
    code.collect::<Vec<_>>().join("\n")
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn word(text: &str) -> &str {
    &text[..text.find(|character| !is_word(character)).unwrap_or(text.len())]
}

/// The parts of a list in braces, at its outermost level.
fn listed(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 1);
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || depth == 1 && character == ',' {
            parts.push(list[start..at].trim());
            start = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The first names of what stands behind `crate::` or as many `super::` as lead to the root.
fn first_names(rest: &str) -> Vec<&str> {
    let rest = rest.trim_start();
    if rest.starts_with('{') {
        listed(rest).into_iter().map(word).collect()
    } else {
        vec![word(rest)]
    }
}

/// Where in a file the root of `scope` is named, with the names behind it.
fn named_from_root<'a>(source: &'a SourceFile, scope: &[&str]) -> Vec<&'a str> {
    let code = &source.code;
    let supers = "super::".repeat(source.path().len() - scope.len());
    let absolute = scope.iter().fold("crate::".to_owned(), |way, name| format!("{way}{name}::"));
    let mut names = Vec::new();
    for way in [absolute.as_str(), supers.as_str()].into_iter().filter(|way| !way.is_empty()) {
        for (at, _) in code.match_indices(way) {
            let before = code[..at].chars().next_back();
            if !before.is_some_and(|before| is_word(before) || before == '$' || before == ':') {
                names.extend(first_names(&code[at + way.len()..]));
            }
        }
    }
    names
}

/// The `use` statements of a root, each with whether it re-exports.
fn statements(code: &str) -> Vec<(bool, &str)> {
    let mut found = Vec::new();
    for part in code.split(';') {
        let Some(at) = part.rfind("use ").filter(|at| !part[..*at].ends_with(is_word)) else {
            continue;
        };
        let line = part[..at].rsplit('\n').next().unwrap_or_default();
        found.push((line.trim_start().starts_with("pub"), part[at + 4..].trim()));
    }
    found
}

/// The names that a root re-exports from its modules, with the module of each.
fn reexports(root: &SourceFile, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut homes = BTreeMap::new();
    for (_, tree) in statements(&root.code).into_iter().filter(|(is_public, _)| *is_public) {
        for tree in if tree.starts_with('{') { listed(tree) } else { vec![tree] } {
            let home = word(tree);
            if modules.contains(home) {
                collect_names(&tree[home.len()..], home, &mut homes);
            }
        }
    }
    homes
}

/// Every name at the end of a path, by which callers know it.
fn collect_names(tree: &str, home: &str, homes: &mut BTreeMap<String, String>) {
    let tree = tree.trim().trim_start_matches("::").trim();
    if tree.starts_with('{') {
        listed(tree).into_iter().for_each(|part| collect_names(part, home, homes));
    } else if let Some((_, name)) = tree.split_once(" as ") {
        homes.insert(name.trim().to_owned(), home.to_owned());
    } else if let Some((_, rest)) = tree.split_once("::") {
        collect_names(rest, home, homes);
    } else {
        homes.insert(word(tree).to_owned(), home.to_owned());
    }
}

/// What the modules of a crate import of each other.
fn imports(sources: &[SourceFile]) -> Imports {
    let modules: BTreeSet<String> = sources.iter().map(|source| source.module(&[])).collect();
    let mut homes = BTreeMap::new();
    for root in sources.iter().filter(|source| source.path().is_empty()) {
        homes.append(&mut reexports(root, &modules));
    }
    let mut imports = Imports::new();
    for source in sources {
        let module = source.module(&[]);
        let mut names = named_from_root(source, &[]);
        if module == ROOT {
            let private = statements(&source.code).into_iter().filter(|(is_public, _)| !is_public);
            names
                .extend(private.map(|(_, tree)| word(tree)).filter(|name| modules.contains(*name)));
        }
        for name in names.into_iter().filter(|name| !name.is_empty() && *name != "self") {
            let home = if modules.contains(name) {
                Some(name)
            } else {
                homes.get(name).map(String::as_str)
            };
            let home = home.unwrap_or(ROOT).to_owned();
            if home != module {
                let place = format!("{} names {name}", source.name);
                imports.entry(module.clone()).or_default().entry(home).or_insert(place);
            }
        }
    }
    imports
}

/// What the modules inside of a module import of each other. What they import of that module itself does not count: it is
/// their parent.
fn imports_inside(sources: &[SourceFile], scope: &[&str]) -> Imports {
    let inside: Vec<&SourceFile> = sources.iter().filter(|one| one.is_inside(scope)).collect();
    let modules: BTreeSet<String> = inside.iter().map(|source| source.module(scope)).collect();
    let mut homes = BTreeMap::new();
    for root in sources.iter().filter(|source| source.path() == scope) {
        homes.append(&mut reexports(root, &modules));
    }
    let mut imports = Imports::new();
    for source in inside {
        let module = source.module(scope);
        for name in named_from_root(source, scope) {
            let home = if modules.contains(name) {
                Some(name)
            } else {
                homes.get(name).map(String::as_str)
            };
            if let Some(home) = home.filter(|home| *home != module) {
                let place = format!("{} names {name}", source.name);
                imports.entry(module.clone()).or_default().entry(home.to_owned()).or_insert(place);
            }
        }
    }
    imports
}

/// Every module that has modules of its own.
fn scopes(sources: &[SourceFile]) -> BTreeSet<Vec<&str>> {
    let paths = sources.iter().map(SourceFile::path);
    paths.flat_map(|path| (1..path.len()).map(move |depth| path[..depth].to_vec())).collect()
}

fn reaches(imports: &Imports, from: &str) -> BTreeSet<String> {
    let (mut seen, mut ahead) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(module) = ahead.pop() {
        for next in imports.get(&module).into_iter().flatten().map(|(next, _)| next) {
            if seen.insert(next.clone()) {
                ahead.push(next.clone());
            }
        }
    }
    seen
}

/// Every import that is part of a cycle.
fn cycles(imports: &Imports) -> Vec<String> {
    let reached: BTreeMap<&str, BTreeSet<String>> =
        imports.keys().map(|module| (module.as_str(), reaches(imports, module))).collect();
    let leads_back = |from: &str, to: &str| reached.get(to).is_some_and(|all| all.contains(from));
    let mut found = Vec::new();
    for (from, targets) in imports {
        let back = targets.iter().filter(|(to, _)| leads_back(from, to));
        found.extend(back.map(|(to, place)| format!("{from} imports {to} ({place})")));
    }
    found
}

/// The files of each crate, by its name.
fn crates() -> BTreeMap<String, Vec<SourceFile>> {
    let mut crates: BTreeMap<String, Vec<SourceFile>> = BTreeMap::new();
    for source in sources().iter().filter(|source| source.is_shipped()) {
        let inside = source.path.strip_prefix("crates/").unwrap();
        let (name, file) = inside.split_once("/src/").unwrap();
        let file = SourceFile { name: file.to_owned(), code: code_of(source) };
        crates.entry(name.to_owned()).or_default().push(file);
    }
    crates
}

#[test]
fn modules_of_a_crate_do_not_import_each_other_in_a_ring() {
    let mut broken = Vec::new();
    for (name, files) in crates() {
        let found = cycles(&imports(&files));
        broken.extend(found.iter().map(|one| format!("{name}: {one}")));
    }
    assert!(
        broken.is_empty(),
        "Top-level modules import each other in a ring. Move a function to where its data is, or hand in \
         what it needs.\n  {}",
        broken.join("\n  ")
    );
}

#[test]
fn modules_inside_of_a_module_do_not_import_each_other_in_a_ring() {
    let (mut broken, mut rings) = (Vec::new(), Vec::new());
    for (name, files) in crates() {
        for scope in scopes(&files) {
            let (found, scope) = (cycles(&imports_inside(&files, &scope)), scope.join("::"));
            let is_known = KNOWN_RINGS.contains(&(name.as_str(), scope.as_str()));
            if !found.is_empty() && is_known {
                rings.push((name.clone(), scope));
            } else {
                broken.extend(found.iter().map(|one| format!("{name}, in {scope}: {one}")));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "Modules inside of one module import each other in a ring. Move a function to where its data is, or hand \
         in what it needs.\n  {}",
        broken.join("\n  ")
    );
    let known = KNOWN_RINGS.map(|(name, scope)| (name.to_owned(), scope.to_owned()));
    assert_eq!(rings, known, "take the rings that are gone from the list");
}

#[test]
fn imports_inside_of_a_module_are_read_from_its_own_root() {
    let source =
        |name: &str, code: &str| SourceFile { name: name.to_owned(), code: code.to_owned() };
    let all = [
        source("lib.rs", "mod a;\nmod b;"),
        source(
            "a/mod.rs",
            "mod one;\nmod two;\nmod three;\npub(crate) use two::Thing;\nfn own() {}",
        ),
        source("a/one.rs", "use super::{Thing, own};\nuse crate::b::X;"),
        source("a/two.rs", "use crate::a::three::Y;"),
        source("a/three/deep.rs", "use super::super::one;\nuse super::helper;"),
        source("b.rs", "use crate::a::one::Z;"),
    ];
    assert_eq!(scopes(&all), BTreeSet::from([vec!["a"], vec!["a", "three"]]));
    let found = imports_inside(&all, &["a"]);
    let of = |module: &str| found[module].keys().map(String::as_str).collect::<Vec<_>>();
    assert_eq!((of("one"), of("two"), of("three")), (vec!["two"], vec!["three"], vec!["one"]));
    assert_eq!(cycles(&found).len(), 3);
}

#[test]
fn imports_are_read_as_the_compiler_resolves_them() {
    let source = |name: &str, code: &str| {
        let source = Source { path: name.to_owned(), text: code.to_owned() };
        SourceFile { name: name.to_owned(), code: code_of(&source) }
    };
    let all = [
        source(
            "lib.rs",
            "mod a;\nmod b;\nmod c;\nmod d;\npub use c::{deep::Thing, Other as Named};\nfn own() {}",
        ),
        source(
            "a.rs",
            "use crate::{b::{X, y}, Thing};\n// crate::d\nfn f() { crate::own() }\n#[cfg(test)]\nmod tests { use crate::d; }",
        ),
        source("b.rs", "use super::Named;"),
        source("c/mod.rs", "mod deep;"),
        source("c/deep.rs", "use super::super::d::Z;\nuse super::Other;"),
        source("d.rs", "fn g() -> crate::a::A { $crate::b::h() }"),
    ];
    let found = imports(&all);
    let of = |module: &str| found[module].keys().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(of("a"), ["b", "c", ROOT]);
    assert_eq!(of("b"), ["c"]);
    assert_eq!(of("c"), ["d"]);
    assert_eq!(of("d"), ["a"]);
    let cycle: Vec<String> = cycles(&found);
    assert_eq!(cycle.len(), 5, "{cycle:?}");
    assert!(cycle.contains(&"d imports a (d.rs names a)".to_owned()));
}
