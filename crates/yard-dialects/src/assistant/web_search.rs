//! `web_search`: searches the web with the provider that the operator configured (A5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::search_providers::not_configured;
use super::web_fetch::time_limit;
use crate::stop::completed;
use crate::tool::{Context, Hints, Stop, Tool, Work};

/// Longest query, in bytes.
const MAX_QUERY_BYTES: usize = 1_000;
/// Seconds that a provider may take (A2).
const SECONDS: f64 = 30.0;

/// Searches the web and answers titles, addresses and snippets, best first. `web_fetch` reads a result.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct WebSearch {
    /// What to search for.
    query: String,
    /// How many results, at most 20.
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 20))]
    num_results: usize,
}

fn five() -> usize {
    5
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The results, best first.
    results: Vec<SearchResult>,
}

#[derive(Serialize, JsonSchema)]
struct SearchResult {
    /// What the page is called.
    title: String,
    /// Where it is.
    url: String,
    /// What it says about the query.
    snippet: String,
}

impl Tool for WebSearch {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "web_search";
    const WORK: Work = Work::Run;
    const HINTS: Hints = Hints::LOOKS.reaching_out();

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        if args.query.trim().is_empty() || args.query.len() > MAX_QUERY_BYTES {
            return Err(Stop::argument(
                "query",
                format!("expected 1 to {MAX_QUERY_BYTES} bytes of text"),
            ));
        }
        if !(1..=20).contains(&args.num_results) {
            return Err(Stop::argument("numResults", "expected 1 to 20"));
        }
        let (query, count) = (args.query.as_str(), args.num_results);
        let limit = time_limit(context, SECONDS)?;
        let searched = match context.session().search_provider() {
            Some(provider) => context.attempt.search_web(provider.as_ref(), query, count, limit),
            None => Err(not_configured()),
        };
        let searched = searched.map_err(|fault| Stop::Detailed(fault, json!({"query": query})))?;
        let results = completed(searched)?.into_iter().map(|hit| {
            let (title, url, snippet) = (hit.title, hit.url, hit.snippet);
            SearchResult { title, url, snippet }
        });
        Ok(Reply { results: results.collect() })
    }
}
