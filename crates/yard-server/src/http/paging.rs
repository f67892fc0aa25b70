//! Pages of lists: `limit` entries after `cursor`, and `next` if more remain.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;
use yard_gate::admin::PageRequest;

use super::problem::Problem;

const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;

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
    /// The number of entries of the page.
    pub(super) fn limit(&self) -> Result<usize, Problem> {
        match self.limit.unwrap_or(DEFAULT_LIMIT) {
            limit @ 1..=MAX_LIMIT => Ok(limit),
            _ => Err(Problem::invalid("limit", format!("expected 1 to {MAX_LIMIT}"))),
        }
    }

    /// The parsed cursor.
    pub(super) fn cursor<T: FromStr>(&self) -> Result<Option<T>, Problem> {
        let parse = |text: &String| {
            let wrong = "expected the `next` of an answer, or nothing to begin at the start";
            text.parse().map_err(|_| Problem::invalid("cursor", wrong))
        };
        self.cursor.as_ref().map(parse).transpose()
    }

    /// The page to read: one entry more than is shown, to find out whether more remain.
    pub(super) fn page<T: FromStr>(&self) -> Result<PageRequest<T>, Problem> {
        Ok(PageRequest { after: self.cursor()?, limit: self.limit()? + 1 })
    }
}

/// Cuts the entries that were read to the limit, and returns the cursor of the next page if more remain.
pub(super) fn cut<T>(
    mut entries: Vec<T>,
    paging: &Paging,
    name: impl Fn(&T) -> String,
) -> (Vec<T>, Option<String>) {
    let limit = paging.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let has_more = entries.len() > limit;
    entries.truncate(limit);
    let next = entries.last().filter(|_| has_more).map(name);
    (entries, next)
}
