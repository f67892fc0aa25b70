//! The table of routes as one page for people, without a script and without anything from elsewhere.

use std::fmt::Write as _;

use super::html::{escaped, frame};
use super::route::{BodyShape, ReplyShape, Route};

const INTRODUCTION: &str = "<h1>Toolyard API</h1><p>Send a person's access token or an agent's key as \
<code>Authorization: Bearer</code>. Errors are JSON: <code>error</code> says what to send instead. The same \
as a document: <a href=\"/openapi.json\">/openapi.json</a>.</p>";

/// The page.
pub(super) fn render(routes: &[Route]) -> String {
    let mut page = INTRODUCTION.to_owned();
    for route in routes.iter().filter(|route| !route.is_page()) {
        describe(&mut page, route);
    }
    frame("Toolyard API", &page)
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
