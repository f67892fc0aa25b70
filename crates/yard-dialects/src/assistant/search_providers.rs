//! The APIs of the providers that `web_search` can use: the operator configures one (A5). The gate judges each request
//! and sends it. The key goes to the provider only: no answer, fault, log or audit row has it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use yard_core::{Fault, FaultCode, Result};
use yard_gate::{Method, SearchHit, SearchProvider, Target, WebRequest, WebResponse};

/// Longest title and snippet of a result that are shown.
const TITLE_CHARS: usize = 300;
const SNIPPET_CHARS: usize = 1_000;
/// Which bytes of a query are percent-encoded.
const QUERY_CHARACTERS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

yard_core::spelled_enum! {
    /// A kind of provider.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Provider {
        /// An instance of SearXNG, by its JSON API.
        Searxng = "searxng",
        /// Brave's search API.
        Brave = "brave",
        /// Tavily's search API.
        Tavily = "tavily",
    }
}

impl Provider {
    /// Its address, unless the operator configures another one.
    fn default_address(self) -> Option<&'static str> {
        match self {
            Self::Searxng => None,
            Self::Brave => Some("https://api.search.brave.com"),
            Self::Tavily => Some("https://api.tavily.com"),
        }
    }
}

/// A provider with its address and the operator's key.
struct Configured {
    provider: Provider,
    base: Target,
    key: Option<String>,
}

impl fmt::Debug for Configured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}", self.provider, self.base.host_port())
    }
}

/// A provider as it is configured; the error says which setting is missing or wrong.
pub fn search_provider(
    provider: Provider,
    url: Option<&str>,
    key: Option<String>,
) -> std::result::Result<Arc<dyn SearchProvider>, String> {
    let url =
        url.or(provider.default_address()).ok_or("expected `search_url`, where SearXNG is")?;
    let base = Target::parse(url).map_err(|fault| format!("search_url: {fault}"))?;
    if provider != Provider::Searxng && key.as_ref().is_none_or(|key| key.trim().is_empty()) {
        return Err("expected `search_key`, which the provider gave you".to_owned());
    }
    Ok(Arc::new(Configured { provider, base, key }))
}

impl SearchProvider for Configured {
    fn address(&self) -> &Target {
        &self.base
    }

    fn request(&self, query: &str, count: usize, wall: Duration) -> Result<WebRequest> {
        let key = self.key.clone().unwrap_or_default();
        let mut headers = vec![("Accept".to_owned(), "application/json".to_owned())];
        let base = self.base.as_str().trim_end_matches('/');
        let query = query.trim();
        let (target, body) = match self.provider {
            Provider::Searxng => (format!("{base}/search?format=json&q={}", encoded(query)), None),
            Provider::Brave => {
                headers.push(("X-Subscription-Token".to_owned(), key));
                let path = "/res/v1/web/search";
                (format!("{base}{path}?count={count}&q={}", encoded(query)), None)
            }
            Provider::Tavily => {
                headers.push(("Authorization".to_owned(), format!("Bearer {key}")));
                headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
                let body = json!({"query": query, "max_results": count}).to_string();
                (format!("{base}/search"), Some(body.into_bytes()))
            }
        };
        let method = if body.is_some() { Method::Post } else { Method::Get };
        Ok(WebRequest { target: Target::parse(&target)?, method, headers, body, wall })
    }

    fn hits(&self, response: &WebResponse, count: usize) -> Result<Vec<SearchHit>> {
        let place = self.base.host_port();
        if response.status != 200 {
            let advice = self.advice(response.status);
            let message =
                format!("the search provider at {place} answered {}{advice}", response.status);
            return Err(Fault::new(FaultCode::Io, message));
        }
        let answered: Option<Value> = serde_json::from_slice(&response.body).ok();
        let (list, snippet) = match self.provider {
            Provider::Searxng | Provider::Tavily => ("/results", "content"),
            Provider::Brave => ("/web/results", "description"),
        };
        // Brave omits the member if there are no results.
        let results =
            answered.as_ref().map(|answered| answered.pointer(list).and_then(Value::as_array));
        let Some(results) = results else {
            let message = format!("the search provider at {place} did not answer in JSON");
            return Err(Fault::new(FaultCode::Io, message));
        };
        let hits = results.into_iter().flatten().filter_map(|one| hit(one, snippet));
        Ok(hits.take(count).collect())
    }
}

impl Configured {
    /// What an operator can do about a status.
    fn advice(&self, status: u16) -> &'static str {
        match (self.provider, status) {
            (Provider::Searxng, 403) => {
                ": its JSON API is off; add json to `search.formats` in its settings.yml"
            }
            (_, 401 | 403) => ": it does not take the key in `[web] search_key`",
            (_, 402 | 429 | 432) => ": too many searches for now; wait, or search less",
            _ => "",
        }
    }
}

fn hit(one: &Value, snippet: &str) -> Option<SearchHit> {
    let text = |name: &str, most: usize| {
        let text = plain(one[name].as_str().unwrap_or_default());
        text.chars().take(most).collect::<String>()
    };
    let url = Target::parse(one["url"].as_str()?).ok()?;
    Some(SearchHit {
        title: text("title", TITLE_CHARS),
        url: url.as_str().to_owned(),
        snippet: text(snippet, SNIPPET_CHARS),
    })
}

/// A text without the HTML tags that providers put around the words of the query.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        plain.push_str(before);
        let tag = after.split_once('>').filter(|(tag, _)| {
            let name = tag.trim_start_matches('/');
            matches!(name, "strong" | "b" | "em" | "i" | "mark" | "br")
        });
        match tag {
            Some((_, after)) => rest = after,
            None => {
                plain.push('<');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    let entities =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&amp;", "&")];
    for (entity, sign) in entities {
        plain = plain.replace(entity, sign);
    }
    plain
}

/// A text percent-encoded for the query of a URL.
fn encoded(text: &str) -> String {
    utf8_percent_encode(text, QUERY_CHARACTERS).to_string()
}

/// The fault where no provider is configured.
pub(super) fn not_configured() -> Fault {
    Fault::new(
        FaultCode::Unavailable,
        "no search provider is configured. The operator sets one in toolyard.toml: `[web]` with `search = \
         \"searxng\"` and `search_url = \"http://127.0.0.1:8888\"`, or `search = \"brave\"` (or \"tavily\") \
         and `search_key`; or by TOOLYARD__WEB__SEARCH, TOOLYARD__WEB__SEARCH_URL, TOOLYARD__WEB__SEARCH_KEY",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_providers_are_removed_from_texts() {
        assert_eq!(
            plain("a <strong>b</strong> &amp;lt; <c> 1 < 2 &#x27;x&#x27;"),
            "a b &lt; <c> 1 < 2 'x'"
        );
        assert_eq!(encoded("a b&c=ü"), "a%20b%26c%3D%C3%BC");
    }

    #[test]
    fn a5_a_provider_says_what_it_needs_and_hides_its_key() {
        let needs = |provider, url| search_provider(provider, url, None).unwrap_err();
        assert!(needs(Provider::Searxng, None).contains("search_url"));
        assert!(needs(Provider::Brave, None).contains("search_key"));
        assert!(needs(Provider::Tavily, Some("ftp://x")).contains("search_url"));
        let brave = search_provider(Provider::Brave, None, Some("sesame".to_owned())).unwrap();
        assert!(!format!("{brave:?}").contains("sesame"));
    }
}
