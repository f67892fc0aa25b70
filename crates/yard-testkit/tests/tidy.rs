//! The coding rules, as tests: each test searches the repository for what a rule forbids, and names the file, the line and
//! what to do instead.

use std::collections::BTreeSet;

use crate::sources::{Source, repository, sources, text_of};

/// Who may open, make and remove files.
const FILES: &[&str] = &[
    "crates/yard-store/src/blobs",
    "crates/yard-store/src/sqlite",
    "crates/yard-disk/",
    "crates/yard-sandbox/",
    "crates/yard-cli/src/browser.rs",
    "crates/yard-cli/src/hidden_programs.rs",
    "crates/yard-cli/src/certificates.rs",
    "crates/yard-cli/src/package_indexes.rs",
    "crates/yard-cli/src/page_files.rs",
    "crates/yard-cli/src/overlap.rs",
    "crates/yard-cli/src/location",
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
    ("rustix::fs", &["crates/yard-disk/", "crates/yard-sandbox/", "crates/yard-testkit/"]),
    (
        "std::process",
        &[
            "crates/yard-sandbox/",
            "crates/yard-cli/src/browser.rs",
            "crates/yard-cli/src/git_identity.rs",
            "crates/yard-cli/src/main.rs",
            "crates/yard-fixtures/",
            "crates/yard-testkit/",
        ],
    ),
    (
        "std::net",
        &[
            "crates/yard-server/",
            "crates/yard-cli/src/command/serve.rs",
            "crates/yard-cli/src/command/ui.rs",
            "crates/yard-cli/src/config.rs",
            "crates/yard-cli/src/port_forwards.rs",
            "crates/yard-net/",
            "crates/yard-kernel/src/commands/box_sockets.rs",
            "crates/yard-kernel/src/commands/ports.rs",
            "crates/yard-sandbox/",
            "crates/yard-kernel/src/commands/terminal/ports.rs",
            "crates/yard-kernel/src/commands/terminal/service.rs",
            "crates/yard-testkit/",
        ],
    ),
    // The filter asks which processor this was built for.
    (
        "std::env",
        &[
            "crates/yard-cli/",
            "crates/yard-sandbox/src/filter.rs",
            "crates/yard-fixtures/",
            "crates/yard-testkit/",
        ],
    ),
    ("SystemTime", &["crates/yard-cli/src/system_world.rs", "crates/yard-fixtures/"]),
    // A stopwatch: how long something took, never what time it is.
    (
        "Instant::now",
        &[
            "crates/yard-testkit/",
            "crates/yard-sandbox/",
            "crates/yard-server/src/http/answer.rs",
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

/// A crate of the map in ARCHITECTURE.md, and the crates that it may use.
struct Step {
    name: String,
    may_use: Vec<String>,
}

/// The rows of the map in ARCHITECTURE.md, from the lowest crate to the highest.
fn ladder(map: &str) -> Vec<Step> {
    let rows = map.lines().filter_map(|line| line.strip_prefix("| `yard-"));
    let step = |row: &str| {
        let mut cells = row.split(" | ");
        let name = cells.next().unwrap_or_default().trim_end_matches('`');
        let used = cells.next().unwrap_or_default().split(", ").filter(|used| *used != "-");
        let may_use = used.map(|used| format!("yard-{used}")).collect();
        Step { name: format!("yard-{name}"), may_use }
    };
    rows.map(step).collect()
}

/// The crates that stand before the gate in the map.
fn below_the_gate(sources: &[Source]) -> Vec<String> {
    let names = ladder(text_of(sources, "ARCHITECTURE.md")).into_iter().map(|step| step.name);
    let below: Vec<String> = names.take_while(|name| name != "yard-gate").collect();
    assert!(below.len() > 2, "the map has only {below:?} before the gate");
    below
}

#[test]
fn crates_depend_only_upwards() {
    let sources = sources();
    let ladder = ladder(text_of(&sources, "ARCHITECTURE.md"));
    let rank_of = |name: &str| ladder.iter().position(|step| step.name == name);
    let mut broken = Vec::new();
    let mut seen = BTreeSet::new();
    for source in &sources {
        let Some(path) = source.path.strip_prefix("crates/") else { continue };
        let Some(name) = path.strip_suffix("/Cargo.toml") else { continue };
        let Some(rank) = rank_of(name) else {
            broken.push(format!("{name} has no row in the map of ARCHITECTURE.md"));
            continue;
        };
        seen.insert(name.to_owned());
        for (dependency, for_tests) in dependencies(&source.text) {
            let is_below = rank_of(&dependency).is_some_and(|other| other < rank);
            let fits = is_below && (for_tests || ladder[rank].may_use.contains(&dependency))
                || for_tests && ["yard-fixtures", "yard-testkit"].contains(&dependency.as_str());
            if !fits {
                broken.push(format!("the map does not let {name} use {dependency}"));
            }
        }
    }
    let stale = ladder.iter().filter(|step| !seen.contains(&step.name));
    broken.extend(stale.map(|step| format!("the map has {}, which is no crate", step.name)));
    check("A crate depends only on those that its row of the map names (invariant 1).", &broken);
}

#[test]
fn the_map_stays_short() {
    let sources = sources();
    let words = text_of(&sources, "ARCHITECTURE.md").split_whitespace().count();
    assert!(
        words <= 2_500,
        "ARCHITECTURE.md has {words} words: move what explains a choice to docs/decisions"
    );
}

#[test]
fn the_map_is_read_row_by_row() {
    let map = "| crate | may use |\n|---|---|\n| `yard-a` | - | A |\n| `yard-b` | a | B |";
    let steps = ladder(map);
    let steps: Vec<_> = steps.iter().map(|step| (&*step.name, &*step.may_use)).collect();
    assert_eq!(steps, [("yard-a", &[] as &[String]), ("yard-b", &["yard-a".to_owned()])]);
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
    for inside in below_the_gate(&sources) {
        broken.extend(mentions(&sources, &format!("crates/{inside}/"), "serde_json"));
    }
    check("No JSON below the gate: the inside speaks plain data.", &broken);
}

/// A fault has a `Remedy` instead, which the toolsets and doors put into words.
#[test]
fn no_command_flag_setting_or_route_is_named_below_the_toolsets() {
    let sources = sources();
    let inside = below_the_gate(&sources).into_iter().chain(["yard-gate".to_owned()]);
    let mut broken = Vec::new();
    for inside in inside {
        for word in ["`toolyard", "--data-dir", "[commands]", "[web]", "[server]", "/api/v1"] {
            broken.extend(mentions(&sources, &format!("crates/{inside}/"), word));
        }
    }
    check("Names of commands, flags, settings and routes belong to those who have them.", &broken);
}

#[test]
fn dialects_cannot_name_the_kernel() {
    let sources = sources();
    let mut broken = Vec::new();
    for inside in below_the_gate(&sources).iter().filter(|name| *name != "yard-core") {
        broken.extend(mentions(&sources, "crates/yard-dialects/", &inside.replace('-', "_")));
    }
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
fn one_file_alone_is_unsafe() {
    const UNSAFE: &str = "crates/yard-sandbox/src/syscall.rs";
    let sources = sources();
    let broken: Vec<String> = [concat!("unsafe", " {"), concat!("unsafe", "_code")]
        .iter()
        .flat_map(|word| mentions(&sources, "crates/", word))
        .filter(|at| !at.starts_with(UNSAFE) && !at.contains(concat!("forbid(unsafe", "_code)")))
        .collect();
    check("System calls without a safe wrapper have one small file.", &broken);
    for home in sources.iter().filter(|source| source.path == UNSAFE) {
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

/// The code of a ruling (`r4`, `w13`) that a test's name begins with.
fn ruling_of(test: &str) -> Option<&str> {
    let (code, _) = test.split_once('_')?;
    let number = code.strip_prefix(|first: char| first.is_ascii_lowercase())?;
    let is_number = matches!(number.len(), 1 | 2) && number.bytes().all(|it| it.is_ascii_digit());
    is_number.then_some(code)
}

/// The codes that begin the entries of docs/rulings.md: `- **R4** ...`.
fn rulings(sources: &[Source]) -> BTreeSet<String> {
    let lines = text_of(sources, "docs/rulings.md").lines();
    let codes = lines.filter_map(|line| line.strip_prefix("- **")?.split("**").next());
    codes.map(str::to_lowercase).collect()
}

#[test]
fn every_ruling_that_a_test_names_has_an_entry_and_every_entry_has_a_test() {
    let sources = sources();
    let entries = rulings(&sources);
    let functions = functions(&sources);
    let named: BTreeSet<&str> = functions.iter().filter_map(|name| ruling_of(name)).collect();
    let is_unknown = |code: &&str| !entries.contains(*code);
    let unknown = named.iter().copied().filter(is_unknown);
    let mut broken: Vec<String> =
        unknown.map(|code| format!("tests begin with {code}_, which has no entry")).collect();
    let is_untested = |code: &&String| !named.contains(code.as_str());
    broken.extend(entries.iter().filter(is_untested).map(|code| format!("{code} has no test")));
    check("docs/rulings.md explains the codes that tests' names begin with.", &broken);
}

#[test]
fn departures_name_rulings_that_have_an_entry() {
    let sources = sources();
    let entries = rulings(&sources);
    let table = text_of(&sources, "docs/differences.md").lines();
    let cells = table.filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let codes = cells.filter(|cell| *cell != "ruling").flat_map(|cell| cell.split(", "));
    let unknown = codes.filter(|code| *code != "-" && !entries.contains(&code.to_lowercase()));
    let broken: Vec<String> = unknown.map(str::to_owned).collect();
    check("The first column of docs/differences.md names entries of docs/rulings.md.", &broken);
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

#[test]
fn every_decision_is_in_the_index() {
    let sources = sources();
    let decisions = sources.iter().filter_map(|source| source.path.strip_prefix("docs/decisions/"));
    let files: BTreeSet<&str> = decisions.filter(|file| *file != "README.md").collect();
    let listed: BTreeSet<&str> =
        links(text_of(&sources, "docs/decisions/README.md")).into_iter().collect();
    assert_eq!(files, listed, "docs/decisions/README.md has a row for each decision");
    let numbers: BTreeSet<&str> = files.iter().filter_map(|file| file.get(..4)).collect();
    assert_eq!(numbers.len(), files.len(), "two decisions have the same number");
}

fn links(text: &str) -> Vec<&str> {
    text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ', '\n']).next()).collect()
}

/// The names of all functions.
fn functions(sources: &[Source]) -> BTreeSet<&str> {
    let rust = sources.iter().filter(|source| source.is_rust());
    let rest_of_each = rust.flat_map(|source| source.text.split("fn ").skip(1));
    rest_of_each.filter_map(|rest| rest.split(['(', '<']).next()).collect()
}

/// What a text names in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The last column of the tables names the tests that keep the line.
#[test]
fn the_threat_model_names_tests_that_exist() {
    let sources = sources();
    let functions = functions(&sources);
    let rows =
        text_of(&sources, "docs/threat-model.md").lines().filter(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.trim_end_matches('|').rsplit('|').next());
    let missing = cells.flat_map(quoted).filter(|name| !functions.contains(name));
    let broken: Vec<String> = missing.map(str::to_owned).collect();
    check("docs/threat-model.md names tests that are not there.", &broken);
}

/// Below each invariant stand the tests that keep it, in lines that begin with a backquote.
#[test]
fn the_invariants_name_tests_that_exist() {
    let sources = sources();
    let functions = functions(&sources);
    let map = text_of(&sources, "ARCHITECTURE.md");
    let invariants = map.split_once("## Invariants").unwrap().1.lines();
    let mut broken = Vec::new();
    let mut unkept: Option<&str> = None;
    for line in invariants {
        if line.starts_with(|first: char| first.is_ascii_digit()) {
            broken.extend(unkept.replace(line).map(|line| format!("no test is named: {line}")));
        } else if line.trim_start().starts_with('`') {
            unkept = None;
            let missing = quoted(line).filter(|name| !functions.contains(name));
            broken.extend(missing.map(str::to_owned));
        }
    }
    broken.extend(unkept.map(|line| format!("no test is named: {line}")));
    check("ARCHITECTURE.md names tests that are not there.", &broken);
}
