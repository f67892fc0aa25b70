//! The house rules, as tests: what must stay absent is looked for, so that it stays absent. A rule
//! that is broken names the file, the line and what to do instead.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that reads the repository"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The ladder of ARCHITECTURE.md: each crate and what it may depend on.
const LADDER: [(&str, &[&str]); 8] = [
    ("yard-core", &[]),
    ("yard-store", &["yard-core"]),
    ("yard-kernel", &["yard-core", "yard-store"]),
    ("yard-gate", &["yard-core", "yard-store", "yard-kernel"]),
    ("yard-dialects", &["yard-core", "yard-gate"]),
    ("yard-server", &["yard-core", "yard-gate", "yard-dialects"]),
    (
        "yard-cli",
        &["yard-core", "yard-store", "yard-kernel", "yard-gate", "yard-dialects", "yard-server"],
    ),
    ("yard-testkit", &["yard-core", "yard-store", "yard-kernel", "yard-gate", "yard-dialects"]),
];

/// Who may open, make and remove files.
const FILES: &[&str] = &[
    "crates/yard-store/src/blobs",
    "crates/yard-store/src/sqlite",
    "crates/yard-kernel/src/disk",
    "crates/yard-kernel/src/sandbox",
    "crates/yard-cli/src/hidden_programs.rs",
    "crates/yard-cli/src/certificates.rs",
    "crates/yard-cli/src/package_indexes.rs",
    "crates/yard-cli/src/overlap.rs",
    "crates/yard-cli/src/location.rs",
    "crates/yard-cli/src/storage.rs",
    "crates/yard-cli/src/toolchains.rs",
    "crates/yard-cli/src/system_world.rs",
    "crates/yard-testkit/",
];

/// Words of the outside world, and the only places (by how their path begins) that may say them.
const WORLDLY: [(&str, &[&str]); 12] = [
    ("std::fs", FILES),
    ("File::open", FILES),
    ("File::create", FILES),
    ("File::options", FILES),
    ("OpenOptions", FILES),
    (
        "rustix::fs",
        &["crates/yard-kernel/src/disk", "crates/yard-kernel/src/sandbox", "crates/yard-testkit/"],
    ),
    (
        "std::process",
        &[
            "crates/yard-kernel/src/sandbox",
            "crates/yard-cli/src/git_identity.rs",
            "crates/yard-cli/src/main.rs",
            "crates/yard-testkit/",
        ],
    ),
    (
        "std::net",
        &[
            "crates/yard-server/",
            "crates/yard-cli/src/command/serve.rs",
            "crates/yard-cli/src/config.rs",
            "crates/yard-cli/src/port_forwards.rs",
            "crates/yard-kernel/src/net",
            "crates/yard-kernel/src/ports.rs",
            "crates/yard-kernel/src/sandbox",
            "crates/yard-kernel/src/terminal/ports.rs",
            "crates/yard-testkit/",
        ],
    ),
    // The filter asks which processor this was built for.
    (
        "std::env",
        &["crates/yard-cli/", "crates/yard-kernel/src/sandbox/filter.rs", "crates/yard-testkit/"],
    ),
    ("SystemTime", &["crates/yard-cli/src/system_world.rs", "crates/yard-testkit/"]),
    // A stopwatch: how long something took, never what time it is.
    (
        "Instant::now",
        &[
            "crates/yard-testkit/",
            "crates/yard-kernel/src/sandbox",
            "crates/yard-server/src/http/answer.rs",
            "crates/yard-server/src/http/mcp.rs",
            "crates/yard-server/src/listen/attentive.rs",
            "crates/yard-server/src/mcp/call.rs",
            "crates/yard-server/src/waiting.rs",
            "crates/yard-cli/src/telemetry.rs",
            "crates/yard-cli/src/system_world.rs",
        ],
    ),
    // Who dials: the exporter of traces, to the collector that the operator configured.
    ("TcpStream::connect", &["crates/yard-cli/src/telemetry.rs"]),
];

/// The type of a file that somebody else opened: holding one is a right, not a way in.
const OPENED: [&str; 3] = ["use std::fs::File;", "&mut std::fs::File", "&std::fs::File"];

/// Longest source file, without its tests.
const MAX_LINES: usize = 800;

/// A text file of the repository.
struct Source {
    /// Relative to the repository, with forward slashes.
    path: String,
    text: String,
}

impl Source {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// In a crate's `src`.
    fn is_shipped(&self) -> bool {
        self.is_rust() && self.path.starts_with("crates/") && self.path.contains("/src/")
    }

    fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.split('.').next().unwrap_or_default()
    }

    /// Lines with their numbers, without comments and without the tests at the end.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().take(self.tests_begin());
        let code = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
        code.map(|(at, line)| (at + 1, line))
    }

    /// How many lines stand before `#[cfg(test)] mod tests {`.
    fn tests_begin(&self) -> usize {
        let lines: Vec<&str> = self.text.lines().collect();
        let is_start = |pair: &[&str]| {
            pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
        };
        lines.windows(2).position(is_start).unwrap_or(lines.len())
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every text file that is ours.
fn sources() -> Vec<Source> {
    let root = repository();
    let mut sources = Vec::new();
    collect(&root, &root, &mut sources);
    assert!(sources.iter().any(|source| source.path == "crates/yard-core/src/lib.rs"));
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

fn collect(root: &Path, folder: &Path, sources: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            if !["target", ".git", "corpus", "artifacts"].iter().any(|skipped| name == *skipped) {
                collect(root, &path, sources);
            }
        } else if let Ok(text) = fs::read_to_string(&path) {
            let path = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            sources.push(Source { path, text });
        }
    }
}

fn check(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}\n  {}", broken.join("\n  "));
}

/// Every place where `word` stands in shipped code whose path begins with `prefix`.
fn mentions(sources: &[Source], prefix: &str, word: &str) -> Vec<String> {
    sources
        .iter()
        .filter(|source| source.is_shipped() && source.path.starts_with(prefix))
        .flat_map(|source| source.code().map(move |(number, line)| (source, number, line)))
        .filter(|(_, _, line)| line.contains(word))
        .map(|(source, number, line)| format!("{}:{number}: {}", source.path, line.trim()))
        .collect()
}

/// The crates of ours that a manifest names, each with whether only tests need it.
fn dependencies(manifest: &str) -> Vec<(String, bool)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_matches(['[', ']']).to_owned();
            if let Some((table, name)) = section.rsplit_once('.')
                && table.ends_with("dependencies")
                && name.starts_with("yard-")
            {
                found.push((name.to_owned(), table.ends_with("dev-dependencies")));
            }
        } else if section.ends_with("dependencies") && line.starts_with("yard-") {
            let name = line.split([' ', '=', '.']).next().unwrap_or_default();
            found.push((name.to_owned(), section.ends_with("dev-dependencies")));
        }
    }
    found
}

#[test]
fn crates_depend_only_upwards() {
    let mut broken = Vec::new();
    let mut seen = BTreeSet::new();
    for source in sources() {
        let Some(path) = source.path.strip_prefix("crates/") else { continue };
        let Some(name) = path.strip_suffix("/Cargo.toml") else { continue };
        let Some(rank) = LADDER.iter().position(|(known, _)| *known == name) else {
            broken.push(format!("{name} is not on the ladder: add it there, and here"));
            continue;
        };
        seen.insert(name.to_owned());
        for (dependency, for_tests) in dependencies(&source.text) {
            let above = LADDER[..rank].iter().any(|(known, _)| *known == dependency);
            let fits = LADDER[rank].1.contains(&dependency.as_str())
                || for_tests && (above || dependency == "yard-testkit");
            if !fits {
                broken.push(format!("{name} must not depend on {dependency}"));
            }
        }
    }
    check("A crate depends only upward in the ladder (invariant 1).", &broken);
    assert_eq!(seen.len(), LADDER.len(), "only these crates of the ladder are there: {seen:?}");
}

#[test]
fn manifests_are_read_as_cargo_reads_them() {
    let manifest = "[dependencies]\nyard-a = 1\nyard-b.workspace = true\nserde = 1\n\
        [dev-dependencies.yard-c]\npath = 1\n[target.x.dependencies]\nyard-d={}\n[lints]\nyard-e = 1";
    let found = dependencies(manifest);
    let found: Vec<_> = found.iter().map(|(name, for_tests)| (name.as_str(), *for_tests)).collect();
    assert_eq!(found, [("yard-a", false), ("yard-b", false), ("yard-c", true), ("yard-d", false)]);
}

#[test]
fn every_module_says_what_it_is() {
    let shipped = sources().into_iter().filter(Source::is_shipped);
    let silent = shipped.filter(|source| !source.text.starts_with("//! "));
    let broken: Vec<String> = silent.map(|source| source.path).collect();
    check("Every module opens with `//!`: what it is, what it may not do.", &broken);
}

#[test]
fn every_source_file_is_part_of_its_crate() {
    let sources = sources();
    let shipped = sources.iter().filter(|source| source.is_shipped());
    let orphan = |source: &&Source| {
        let (folder, file) = source.path.rsplit_once('/').unwrap();
        let (module, above) = match file {
            "lib.rs" | "main.rs" => return false,
            "mod.rs" => (folder.rsplit('/').next().unwrap(), folder.rsplit_once('/').unwrap().0),
            _ => (source.stem(), folder),
        };
        let homes = ["/lib.rs", "/main.rs", "/mod.rs", ".rs"].map(|end| format!("{above}{end}"));
        let named = format!("mod {module};");
        let names_it = |home: &Source| {
            homes.contains(&home.path) && home.text.lines().any(|line| line.ends_with(&named))
        };
        !sources.iter().any(names_it)
    };
    let broken: Vec<String> = shipped.filter(orphan).map(|source| source.path.clone()).collect();
    check("no `mod` names this file, so nobody compiles it: name it or remove it", &broken);
}

#[test]
fn nothing_is_left_to_do() {
    let sources = sources();
    let broken: Vec<String> = [concat!("todo", "!("), concat!("unimplemented", "!(")]
        .iter()
        .flat_map(|word| mentions(&sources, "crates/", word))
        .collect();
    check("Leave room by the ladder, not by stubs.", &broken);
}

#[test]
fn no_merge_is_left_half_done() {
    // Written apart, so that this file is not found by itself.
    let marks = [["<<<<", "<<< "].concat(), [">>>>", ">>> "].concat()];
    let is_mark = |line: &&str| marks.iter().any(|mark| line.starts_with(mark.as_str()));
    let is_marked = |source: &Source| source.text.lines().any(|line| is_mark(&line));
    let broken: Vec<String> =
        sources().into_iter().filter(is_marked).map(|source| source.path).collect();
    check("no file has the marks of a merge in it", &broken);
}

#[test]
fn files_are_named_after_what_they_hold() {
    let vague = ["utils", "util", "helpers", "helper", "common", "manager", "misc"];
    let is_vague = |source: &Source| source.is_rust() && vague.contains(&source.stem());
    let broken: Vec<String> =
        sources().into_iter().filter(is_vague).map(|source| source.path).collect();
    check("Nouns for modules; these names hold anything.", &broken);
}

#[test]
fn the_inside_knows_no_wire() {
    let sources = sources();
    let mut broken = Vec::new();
    for inside in ["yard-core", "yard-store", "yard-kernel"] {
        broken.extend(mentions(&sources, &format!("crates/{inside}/"), "serde_json"));
    }
    check("No JSON below the gate: the inside speaks plain data.", &broken);
}

#[test]
fn dialects_cannot_name_the_kernel() {
    let sources = sources();
    let mut broken = mentions(&sources, "crates/yard-dialects/", "yard_kernel");
    broken.extend(mentions(&sources, "crates/yard-dialects/", "yard_store"));
    check("A dialect goes through the gate (invariant 4).", &broken);
}

#[test]
fn only_named_places_touch_the_world() {
    let sources = sources();
    let mut broken = Vec::new();
    for (word, places) in WORLDLY {
        let found = mentions(&sources, "crates/", word);
        let is_stray = |at: &String| {
            let is_opened = word == "std::fs" && OPENED.iter().any(|opened| at.contains(opened));
            !is_opened && !places.iter().any(|place| at.starts_with(place))
        };
        broken.extend(found.into_iter().filter(is_stray));
    }
    check(
        "Files, processes, network, environment and clock have one place each (invariant 2).",
        &broken,
    );
}

#[test]
fn two_files_alone_are_unsafe() {
    const UNSAFE: [&str; 2] =
        ["crates/yard-kernel/src/sandbox/syscall.rs", "crates/yard-store/src/sqlite/log.rs"];
    let sources = sources();
    let broken: Vec<String> = [concat!("unsafe", " {"), concat!("unsafe", "_code")]
        .iter()
        .flat_map(|word| mentions(&sources, "crates/", word))
        .filter(|at| !UNSAFE.iter().any(|path| at.starts_with(path)))
        .collect();
    check(
        "System calls without a safe wrapper have one small file, and so has SQLite's log.",
        &broken,
    );
    for home in sources.iter().filter(|source| UNSAFE.contains(&source.path.as_str())) {
        let reasons = home.text.matches("// SAFETY: ").count();
        let blocks = home.text.matches(concat!("unsafe", " {")).count();
        let promises = home.text.matches(concat!("unsafe", " impl")).count();
        assert_eq!(blocks + promises, reasons, "{}", home.path);
    }
}

#[test]
fn files_stay_short() {
    let shipped = sources().into_iter().filter(Source::is_shipped);
    let long = shipped.filter(|source| source.tests_begin() > MAX_LINES);
    let broken: Vec<String> = long.map(|source| source.path).collect();
    check("No source file has more than 800 lines before its tests.", &broken);
}

#[test]
fn every_ruling_has_a_test_that_names_it() {
    let sources = sources();
    let rulings = (1..=17).map(|number| format!("r{number}"));
    let rulings = rulings.chain((1..=19).map(|number| format!("w{number}")));
    let of_dialects =
        "f1 f2 f3 f4 f5 f6 c1 c2 c3 c4 c5 c6 a1 a2 a3 a4 a5 a6 a7 x1 x2 x3 x4 x5 x6".split(' ');
    let rulings = rulings.chain(of_dialects.map(str::to_owned));
    let named = |ruling: &String| {
        let function = format!("fn {ruling}_");
        sources.iter().any(|source| source.is_rust() && source.text.contains(&function))
    };
    let broken: Vec<String> = rulings.filter(|ruling| !named(ruling)).collect();
    check("Every ruling has a test function that begins with its name (`r4_`, `w13_`).", &broken);
}

#[test]
fn no_file_names_this_machine() {
    let here = repository().to_str().unwrap().to_owned();
    let words = [here.as_str(), concat!("/.cargo", "/registry"), concat!("/.rustup", "/")];
    let mut broken = Vec::new();
    for source in sources() {
        for (number, line) in source.text.lines().enumerate() {
            // A path from the home is everybody's.
            let anywhere = line.replace("~/", "");
            if words.iter().any(|word| anywhere.contains(word)) {
                broken.push(format!("{}:{}: {}", source.path, number + 1, line.trim()));
            }
        }
    }
    check("No path of one machine belongs in the repository.", &broken);
}

#[test]
fn links_between_documents_lead_somewhere() {
    let root = repository();
    let mut broken = Vec::new();
    for source in sources().iter().filter(|source| source.path.ends_with(".md")) {
        let folder = root.join(&source.path).parent().unwrap().to_owned();
        for target in links(&source.text) {
            let file = target.split('#').next().unwrap_or_default();
            let is_ours = !target.contains("://") && !target.starts_with("mailto:");
            if is_ours && !file.is_empty() && !folder.join(file).exists() {
                broken.push(format!("{}: {target}", source.path));
            }
        }
    }
    check("A link in a document leads to a file.", &broken);
}

fn links(text: &str) -> Vec<&str> {
    text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ', '\n']).next()).collect()
}

/// The last column of the threat model's tables names the tests that keep the line.
#[test]
fn the_threat_model_names_tests_that_exist() {
    let sources = sources();
    let functions: BTreeSet<&str> = sources
        .iter()
        .filter(|source| source.is_rust())
        .flat_map(|source| source.text.split("fn ").skip(1))
        .filter_map(|rest| rest.split(['(', '<']).next())
        .collect();
    let model = sources.iter().find(|source| source.path == "docs/threat-model.md").unwrap();
    let mut broken = Vec::new();
    for row in model.text.lines().filter(|line| line.starts_with('|')) {
        let last = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        let named = last.split('`').skip(1).step_by(2);
        broken.extend(named.filter(|name| !functions.contains(name)).map(str::to_owned));
    }
    check("docs/threat-model.md names tests that are not there.", &broken);
}
