//! Keeps `docs/conformance.md` whole: each demand of the five documents names tests that exist, a departure names a
//! ruling that `docs/differences.md` tells people of, and every tool has its section.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use yard_dialects::Catalog;

use crate::sources::repository;

/// The toolsets that have a document; `filesystem` has a reference program in place of one.
const TOOLSETS: [&str; 5] = ["workspace", "file", "coder", "assistant", "codex"];

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A row of the list: where it stands, what is asked and what holds it.
struct Row {
    place: String,
    demand: String,
    held_by: String,
}

/// The cells of a table's row; a bar inside of one has a backslash before it.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|').replace("\\|", "\u{1}");
    let line = line.strip_suffix('|').unwrap_or(&line);
    line.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

fn rows(list: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, line) in list.lines().enumerate().filter(|(_, line)| line.starts_with('|')) {
        let cells = cells(line);
        let [demand, held_by] = cells.as_slice() else {
            panic!("docs/conformance.md:{}: a row has two cells: {line}", at + 1);
        };
        if demand == "the document asks" || demand.starts_with("---") {
            continue;
        }
        let place = format!("docs/conformance.md:{}", at + 1);
        rows.push(Row { place, demand: demand.clone(), held_by: held_by.clone() });
    }
    rows
}

/// The names of all tests in a file.
fn tests_in(text: &str) -> BTreeSet<&str> {
    let mut tests = BTreeSet::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        let starts = |word: &str| line.starts_with(word);
        if starts("#[test]") || starts("#[tokio::test") {
            is_test = true;
        } else if let Some((before, rest)) = line.split_once("fn ")
            && (before.is_empty() || before == "async ")
            && std::mem::take(&mut is_test)
        {
            tests.insert(rest.split(['(', '<']).next().unwrap());
        }
    }
    tests
}

/// The rulings of the first column of `docs/differences.md`.
fn departures() -> BTreeSet<String> {
    let differences = read("docs/differences.md");
    let rows = differences.lines().filter(|line| line.starts_with("| "));
    rows.flat_map(|row| cells(row)[0].split(", ").map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// What is wrong with a row, if anything is.
fn fault(
    row: &Row,
    tests: &mut BTreeMap<String, String>,
    departures: &BTreeSet<String>,
) -> Option<String> {
    let fault = |what: String| Some(format!("{}: {what}: {}", row.place, row.demand));
    if let Some((_, after)) = row.held_by.split_once("departs, ") {
        let ruling = after.split(':').next().unwrap();
        if !departures.contains(ruling) {
            return fault(format!("{ruling} has no row in docs/differences.md"));
        }
    }
    let named: Vec<&str> = row.held_by.split('`').skip(1).step_by(2).collect();
    if named.is_empty() {
        return fault("no test is named".to_owned());
    }
    for name in named {
        let Some((path, test)) = name.split_once("::") else {
            return fault(format!("`{name}` is not of the form path.rs::test"));
        };
        if !tests.contains_key(path) {
            let Ok(text) = fs::read_to_string(repository().join(path)) else {
                return fault(format!("there is no file {path}"));
            };
            tests.insert(path.to_owned(), text);
        }
        if !tests_in(&tests[path]).contains(test) {
            return fault(format!("{path} has no test {test}"));
        }
    }
    None
}

#[test]
fn every_demand_of_the_documents_names_tests_that_exist() {
    let rows = rows(&read("docs/conformance.md"));
    assert!(rows.len() > 400, "only {} demands are listed", rows.len());
    let (mut texts, departures) = (BTreeMap::new(), departures());
    let faults: Vec<String> =
        rows.iter().filter_map(|row| fault(row, &mut texts, &departures)).collect();
    assert!(faults.is_empty(), "{} rows:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn every_tool_of_the_documents_has_its_section() {
    let list = read("docs/conformance.md");
    let catalog = Catalog::standard();
    let headings: Vec<&str> = list.lines().filter(|line| line.starts_with("## ")).collect();
    let mut missing = Vec::new();
    for toolset in TOOLSETS {
        for tool in catalog.list(toolset) {
            let tool = tool.name();
            let (of, name) = (format!("`{toolset}`"), format!("`{tool}`"));
            if !headings.iter().any(|line| line.contains(&of) && line.contains(&name)) {
                missing.push(format!("{toolset}: {tool}"));
            }
        }
    }
    assert!(missing.is_empty(), "no section in docs/conformance.md: {missing:?}");
}
