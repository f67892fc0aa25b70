//! The table of routes as one page for people, without a script and without anything from elsewhere.

use std::fmt::Write as _;

use super::route::{BodyShape, ReplyShape, Route};

const HEAD: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Toolyard API</title><style>\
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
padding:0 1rem}summary{cursor:pointer;padding:.4rem 0}summary code{font-size:1em}pre{overflow:auto;\
padding:.8rem;border:1px solid #8884;border-radius:.4rem;font-size:.85em}.m{display:inline-block;\
min-width:4.5em;font-weight:600}small{opacity:.7}details{border-bottom:1px solid #8883}</style>\
<h1>Toolyard API</h1><p>Send a person's access token or an agent's key as <code>Authorization: \
Bearer</code>. Errors are JSON: <code>error</code> says what to send instead. The same as a document: \
<a href=\"/openapi.json\">/openapi.json</a>.</p>";

/// The page.
pub(super) fn render(routes: &[Route]) -> String {
    let mut page = HEAD.to_owned();
    for route in routes {
        describe(&mut page, route);
    }
    page
}

fn describe(page: &mut String, route: &Route) {
    let Route { method, path, about, status, .. } = route;
    // Writing into a string cannot fail.
    let _ = write!(
        page,
        "<details><summary><span class=\"m\">{method}</span><code>{}</code> {}</summary>\
         <p><small>{} Success is {status}.</small></p>",
        escaped(path),
        escaped(about),
        route.access.who()
    );
    if let Some(query) = &route.query {
        schema(page, "Query", query.schema());
    }
    if let BodyShape::Json(body) | BodyShape::OptionalJson(body) = &route.body {
        schema(page, "Body", route.shown_body.as_ref().unwrap_or(body.schema()));
    }
    if let ReplyShape::Json(reply) = &route.reply {
        schema(page, "Answer", reply);
    }
    page.push_str("</details>");
}

fn schema(page: &mut String, title: &str, schema: &serde_json::Value) {
    let _ = write!(page, "<h4>{title}</h4><pre>{}</pre>", escaped(&format!("{schema:#}")));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
