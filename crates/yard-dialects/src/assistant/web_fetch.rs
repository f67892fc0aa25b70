//! `web_fetch`: fetches a page of the web, as Markdown or as its source (A4).

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use yard_core::{Fault, FaultCode};
use yard_gate::{FetchedPage, Method, PageFormat, Target, WebRequest};

use crate::stop::completed;
use crate::tool::{Context, Hints, Stop, Tool, Work};

/// Fetches a URL of the public web: HTML as Markdown, JSON and other texts as they are. Redirects are
/// followed; one to a host that is not allowed yet is answered with where it leads. A host that is not on
/// the operator's list may need a person's approval. Private and local addresses are refused. Of a long page
/// the answer holds a part, and `offset` reads on.
#[derive(Deserialize, JsonSchema)]
pub(super) struct WebFetch {
    /// The address, with http or https.
    url: String,
    /// How it is asked for.
    #[serde(default)]
    method: HttpMethod,
    /// Headers to send. They are not carried to another host that a redirect leads to.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// What a POST sends. Say what it is by a `Content-Type` header.
    body: Option<String>,
    /// Seconds that it may take, redirects included.
    #[serde(default = "crate::defaults::seconds::<30>")]
    timeout: f64,
    /// How an HTML page is answered: `markdown` for its content, `html` for its source.
    #[serde(default)]
    format: Format,
    /// First byte of the text to answer, to read on in a long one.
    #[serde(default)]
    offset: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
enum HttpMethod {
    #[default]
    #[serde(rename = "GET", alias = "get")]
    Get,
    #[serde(rename = "POST", alias = "post")]
    Post,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Markdown,
    Html,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reply {
    /// The status that the server answered.
    status: u16,
    /// The headers that it answered, in lower case.
    headers: BTreeMap<String, String>,
    /// The text, or the part of it that was asked for.
    body: String,
    /// Where it came from, after redirects.
    url: String,
    /// Whether something remains after this part.
    truncated: bool,
    /// The `offset` that reads on.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    /// What is not in the text, and how to go on; left out if there is nothing to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl Tool for WebFetch {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "web_fetch";
    const WORK: Work = Work::Run;
    const HINTS: Hints = Hints::CHANGES.reaching_out();

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let (offset, url) = (args.offset, args.url.clone());
        let shape = match args.format {
            Format::Markdown => PageFormat::Markdown,
            Format::Html => PageFormat::Source,
        };
        let request = request(args, context)?;
        let fetched = context.attempt.fetch(request, shape);
        let fetched = completed(fetched.map_err(|fault| to_stop(fault, &url))?)?;
        Ok(reply(fetched, offset, context))
    }
}

fn request(args: WebFetch, context: &Context<'_>) -> Result<WebRequest, Stop> {
    if args.method == HttpMethod::Get && args.body.is_some() {
        return Err(Stop::argument("body", "a GET sends none; send it with `method: \"POST\"`"));
    }
    let target = Target::parse(&args.url);
    Ok(WebRequest {
        target: target.map_err(|fault| Stop::argument("url", fault.message()))?,
        method: match args.method {
            HttpMethod::Get => Method::Get,
            HttpMethod::Post => Method::Post,
        },
        headers: args.headers.into_iter().collect(),
        body: args.body.map(String::into_bytes),
        wall: time_limit(context, args.timeout)?,
    })
}

/// The caller's `timeout` for a request to the web.
pub(super) fn time_limit(context: &Context<'_>, seconds: f64) -> Result<Duration, Stop> {
    let max = context.limits().call_millis as f64 / 1_000.0;
    // NaN is in no range.
    if !(0.001..=max).contains(&seconds) {
        let message = format!("expected seconds, at most {max}");
        return Err(Stop::argument("timeout", message));
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn reply(fetched: FetchedPage, offset: u64, context: &Context<'_>) -> Reply {
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in fetched.headers {
        headers.entry(name).and_modify(|all| *all += &format!(", {value}")).or_insert(value);
    }
    let text = fetched.page.text;
    let max = usize::try_from(context.limits().answer_bytes).unwrap_or(usize::MAX);
    let from = text.floor_char_boundary(usize::try_from(offset).unwrap_or(usize::MAX));
    let to = text.floor_char_boundary(from.saturating_add(max));
    let truncated = to < text.len();
    let redirect = fetched.left.map(|url| {
        format!("it leads to {url}, a host that nobody allowed yet: call web_fetch with that url")
    });
    let rest = truncated
        .then(|| format!("bytes {from} to {to} of {}; read on with offset {to}", text.len()));
    let message: Vec<String> =
        [redirect, fetched.page.missing, rest].into_iter().flatten().collect();
    Reply {
        status: fetched.status,
        headers,
        body: text[from..to].to_owned(),
        url: fetched.url,
        truncated,
        next_offset: truncated.then_some(to as u64),
        message: (!message.is_empty()).then(|| message.join("; ")),
    }
}

/// The fault with its details is the result of the call: an approved call that failed so is not tried again.
fn to_stop(fault: Fault, url: &str) -> Stop {
    match fault.code() {
        FaultCode::BadArgument => Stop::argument("headers", fault.message()),
        _ => Stop::Detailed(fault, json!({"url": url})),
    }
}
