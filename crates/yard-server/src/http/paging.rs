//! Lists in parts: `limit` entries after `cursor`, and `next` where more remain.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;
use yard_gate::admin::PageRequest;

use super::problem::Problem;

const DEFAULT: usize = 100;
const MOST: usize = 1_000;

/// Which part of a list.
#[derive(Clone, Deserialize, JsonSchema)]
pub(super) struct Paging {
    /// At most that many entries, 1 to 1,000 (default 100).
    #[schemars(range(min = 1, max = 1_000))]
    pub(super) limit: Option<usize>,
    /// Where to go on: the `next` of the answer before.
    pub(super) cursor: Option<String>,
}

impl Paging {
    /// At most that many entries.
    pub(super) fn limit(&self) -> Result<usize, Problem> {
        match self.limit.unwrap_or(DEFAULT) {
            limit @ 1..=MOST => Ok(limit),
            _ => Err(Problem::invalid("limit", format!("expected 1 to {MOST}"))),
        }
    }

    /// The cursor, as what the list is ordered by.
    pub(super) fn cursor<T: FromStr>(&self) -> Result<Option<T>, Problem> {
        let read = |text: &String| {
            let wrong = "expected the `next` of an answer, or nothing to begin at the start";
            text.parse().map_err(|_| Problem::invalid("cursor", wrong))
        };
        self.cursor.as_ref().map(read).transpose()
    }

    /// The part to ask for: one more than is shown, which tells whether more remain.
    pub(super) fn page<T: FromStr>(&self) -> Result<PageRequest<T>, Problem> {
        Ok(PageRequest { after: self.cursor()?, limit: self.limit()? + 1 })
    }
}

/// What is shown of the entries that were found, and how to go on.
pub(super) fn cut<T>(
    mut found: Vec<T>,
    paging: &Paging,
    name: impl Fn(&T) -> String,
) -> (Vec<T>, Option<String>) {
    let limit = paging.limit.unwrap_or(DEFAULT).clamp(1, MOST);
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(name);
    (found, next)
}
