//! The reply of tools that search the text of files: the matches of one answer, how to go on, and what was left out.
//! Its type has no doc comment, which would be a part of the tools' schemas.

use schemars::JsonSchema;
use serde::Serialize;
use yard_core::op::{GrepAnswer, GrepMatch};

use crate::paging::{self, is_zero};

#[derive(Serialize, JsonSchema)]
pub(crate) struct Matches<M> {
    /// The matching lines.
    matches: Vec<M>,
    /// Whether matches remain after these.
    truncated: bool,
    /// The `cursor` that gives the matches that remain; not there if none do.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// How many files and folders were left out because ignore files exclude them; not there if none were.
    #[serde(skip_serializing_if = "is_zero")]
    ignored: u64,
    /// How many were left out because they may not be read; not there if none were.
    #[serde(skip_serializing_if = "is_zero")]
    withheld: u64,
}

impl<M> Matches<M> {
    /// The matches of an answer, each as `show` makes it.
    pub(crate) fn of(answer: GrepAnswer, show: impl FnMut(GrepMatch) -> M) -> Self {
        Self {
            next: paging::next_match(&answer),
            truncated: answer.truncated,
            ignored: answer.ignored,
            withheld: answer.withheld,
            matches: answer.matches.into_iter().map(show).collect(),
        }
    }
}
