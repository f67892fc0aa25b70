//! The words of failures, read as a model reads them that has nothing else to go on. `error_texts.txt` has calls that
//! fail, each with what is said of it: whoever changes a word sees it there. What holds of every text is checked over
//! that file and over thousands of calls with one argument broken.
//!
//! A new case is one line in the file, `TOOLSET TOOL ARGUMENTS`, at its end in brackets where it is called if not by an
//! agent that may do anything: `YARD_RENEW=1 cargo nextest run -p yard-dialects error_texts::` writes its words below.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

#[path = "error_texts/breakage.rs"]
mod breakage;
#[path = "error_texts/fixture.rs"]
mod fixture;
#[path = "error_texts/listed.rs"]
mod listed;
#[path = "error_texts/rules.rs"]
mod rules;
#[path = "error_texts/valid.rs"]
pub(crate) mod valid;

use std::collections::BTreeSet;

use yard_dialects::Catalog;
use yard_testkit::Dice;

use breakage::Broken;
use fixture::Fixture;
use listed::{Failing, TABLE};

/// How many calls with a broken argument a soak makes; a plain run makes a third of them.
const BROKEN: usize = 3_000;

#[test]
fn the_words_of_every_failure_are_those_of_the_table() {
    let known = std::fs::read_to_string(TABLE).unwrap();
    let fixture = Fixture::with_failing_disks();
    let (written, taken) = listed::written(&known, |failing| fixture.call(failing));
    if std::env::var_os("YARD_RENEW").is_some() {
        std::fs::write(TABLE, &written).unwrap();
    }
    assert!(taken.is_empty(), "these calls do not fail:\n{}", taken.join("\n"));
    let known = std::fs::read_to_string(TABLE).unwrap();
    let renew = "YARD_RENEW=1 cargo nextest run -p yard-dialects error_texts::";
    let mut changed = Vec::new();
    for (known, written) in known.split("\n\n").zip(written.split("\n\n")) {
        if known != written {
            changed.push(format!("{known}\n  is now\n{written}"));
        }
    }
    assert!(
        known == written,
        "other words than in the table. If that is meant, write it anew with `{renew}`:\n{}",
        changed.join("\n\n")
    );
}

#[test]
fn the_table_has_every_tool_of_every_toolset_and_at_least_two_hundred_calls() {
    let known = std::fs::read_to_string(TABLE).unwrap();
    let failing = listed::failing(&known);
    assert!(failing.len() >= 200, "{}", failing.len());
    let calls: BTreeSet<_> =
        failing.iter().map(|one| format!("{} {}", one.toolset, one.tool)).collect();
    for toolset in Catalog::toolset_names() {
        for tool in Catalog::standard().list(toolset) {
            let name = format!("{toolset} {}", tool.name());
            assert!(calls.contains(&name), "no failure of {name} is in the table");
        }
    }
    let distinct: BTreeSet<_> = failing.iter().map(|one| &one.line).collect();
    assert_eq!(distinct.len(), failing.len(), "a call stands twice in the table");
}

#[test]
fn every_text_of_the_table_keeps_the_rules() {
    let known = std::fs::read_to_string(TABLE).unwrap();
    let fixture = Fixture::with_failing_disks();
    let mut broken = Vec::new();
    for failing in listed::failing(&known) {
        let failed = fixture.fail(&failing);
        let wrong = rules::broken_by(&fixture, &failing, &failed);
        broken.extend(
            wrong.iter().map(|rule| format!("{}\n{}\n  {rule}", failing.line, failed.text)),
        );
    }
    assert!(broken.is_empty(), "{} rules are broken:\n{}", broken.len(), broken.join("\n\n"));
}

#[test]
fn every_text_about_a_broken_argument_keeps_the_rules_and_names_it() {
    let calls = valid::calls();
    let catalog = Catalog::standard();
    for toolset in Catalog::toolset_names() {
        for tool in catalog.list(toolset) {
            let named = |call: &valid::Valid| (call.toolset, call.tool) == (toolset, tool.name());
            assert!(calls.iter().any(named), "no valid call of {toolset} {}", tool.name());
        }
    }
    let mut dice = Dice::new(20_261_118);
    let mut fixture = Fixture::new();
    let (mut wrong, mut failed) = (Vec::new(), 0);
    let calls_made = if std::env::var_os("YARD_SOAK").is_some() { BROKEN } else { BROKEN / 3 };
    for _ in 0..calls_made {
        let valid = dice.pick(&calls);
        let Some(broken) = Broken::of(&valid.args, &mut dice) else { continue };
        let failing = Failing::new(valid.toolset, valid.tool, broken.args.clone());
        let Some(failure) = fixture.call(&failing) else {
            // It was taken, and may have changed something.
            if !catalog.get(valid.toolset, valid.tool).unwrap().hints().reads_only {
                fixture = Fixture::new();
            }
            continue;
        };
        failed += 1;
        let mut rules = rules::broken_by(&fixture, &failing, &failure);
        rules.extend(broken.unnamed_in(&failure));
        let shown: String = failing.line.chars().take(300).collect();
        wrong.extend(rules.iter().map(|rule| format!("{shown}\n{}\n  {rule}", failure.text)));
    }
    assert!(failed > calls_made / 2, "only {failed} of {calls_made} calls failed");
    wrong.sort();
    wrong.dedup();
    let shown: Vec<&str> = wrong.iter().take(60).map(String::as_str).collect();
    assert!(
        wrong.is_empty(),
        "{} texts break a rule, among them:\n{}",
        wrong.len(),
        shown.join("\n\n")
    );
}
