//! What the rulings and the description of the envelope say of patches, each as a test: what is
//! accepted, what is refused and in which words, where hunks land, and what no input may do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test that reads its corpus and fails loudly"
)]

#[path = "patch_rules/corpus.rs"]
mod corpus;
#[path = "patch_rules/freeform.rs"]
mod freeform;
#[path = "patch_rules/growth.rs"]
mod growth;
#[path = "patch_rules/placing.rs"]
mod placing;
#[path = "patch_rules/speed.rs"]
mod speed;
mod support;
#[path = "patch_rules/unified.rs"]
mod unified;
#[path = "patch_rules/wrong_place.rs"]
mod wrong_place;

use yard_core::Fault;
use yard_core::patch::{Applied, FilePatch, Patch, apply, parse};

/// The only section of a patch.
fn one(patch: &str) -> FilePatch {
    let patch: Patch = parse(patch).unwrap_or_else(|error| panic!("{error}\n{patch}"));
    assert_eq!(patch.files.len(), 1);
    patch.files.into_iter().next().unwrap()
}

/// What a patch of one file makes of a text.
fn applied(text: &str, patch: &str) -> Result<Applied, Fault> {
    apply(text.as_bytes(), &one(patch))
}

fn text_of(applied: &Applied) -> String {
    String::from_utf8(applied.content.clone()).unwrap()
}

/// Checks the line and some words of a refusal.
fn refused(patch: &str, line: usize, words: &[&str]) {
    let error = parse(patch).expect_err(patch);
    assert_eq!(error.line, line, "{error}\n{patch}");
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "{word:?} is not in {message:?}\n{patch}");
    }
}
