//! An example of every route: what was sent to a server, and what it answered. `/docs` and the OpenAPI document show
//! them.
//!
//! The files in `examples/` come of a real run: the test `yard-cli/tests/server/examples.rs` plays a story that visits
//! every route, compares, and says how to renew these files.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::route::{Route, RouteAccess};

/// One file for each tag.
const FILES: [&str; 21] = [
    include_str!("examples/server.json"),
    include_str!("examples/auth.json"),
    include_str!("examples/inbox.json"),
    include_str!("examples/workspaces.json"),
    include_str!("examples/members.json"),
    include_str!("examples/keys.json"),
    include_str!("examples/tools.json"),
    include_str!("examples/files.json"),
    include_str!("examples/steps.json"),
    include_str!("examples/chats.json"),
    include_str!("examples/terminals.json"),
    include_str!("examples/questions.json"),
    include_str!("examples/approvals.json"),
    include_str!("examples/comments.json"),
    include_str!("examples/seen.json"),
    include_str!("examples/storage.json"),
    include_str!("examples/doctor.json"),
    include_str!("examples/policy.json"),
    include_str!("examples/events.json"),
    include_str!("examples/decide.json"),
    include_str!("examples/mcp.json"),
];

/// The characters that are not escaped in a query.
const PLAIN: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'*');

/// The longest line of JSON, in characters.
const WIDTH: usize = 96;

/// One request and its answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Example {
    /// The method and the path of the route.
    pub(super) route: String,
    /// The title of the example, if the route has several.
    pub(super) title: Option<String>,
    /// The values of the names in the path.
    #[serde(default)]
    pub(super) path: Map<String, Value>,
    #[serde(default)]
    pub(super) query: Map<String, Value>,
    #[serde(default)]
    pub(super) headers: Map<String, Value>,
    /// JSON, or a text where the route takes bytes or a form.
    #[serde(default)]
    pub(super) body: Value,
    pub(super) status: u16,
    /// JSON, or a text.
    #[serde(default)]
    pub(super) answer: Value,
}

/// By method and path.
static EXAMPLES: LazyLock<BTreeMap<String, Vec<Example>>> = LazyLock::new(|| {
    let mut all: BTreeMap<String, Vec<Example>> = BTreeMap::new();
    for example in FILES.iter().flat_map(|file| parse(file)) {
        all.entry(example.route.clone()).or_default().push(example);
    }
    all
});

/// Parses a file. A test below parses every file, so that none is invalid here.
fn parse(file: &str) -> Vec<Example> {
    serde_json::from_str(file).unwrap_or_default()
}

/// The examples of a route, the simplest first.
pub(super) fn of(route: &Route) -> &'static [Example] {
    let name = format!("{} {}", route.method, route.path);
    EXAMPLES.get(&name).map(Vec::as_slice).unwrap_or_default()
}

impl Example {
    /// The command that sends it. `$SERVER` is the server's address, `$TOKEN` an access token or a key, and `$ID` the
    /// id of the workspace.
    pub(super) fn curl(&self, access: RouteAccess) -> String {
        let (method, path) = self.route.split_once(' ').unwrap_or(("GET", &self.route));
        let mut arguments =
            vec![format!("curl -s{} \"$SERVER{}\"", self.method(method), self.address(path))];
        if access != RouteAccess::Anyone {
            arguments.push("-H \"Authorization: Bearer $TOKEN\"".to_owned());
        }
        for (name, value) in &self.headers {
            arguments.push(format!("-H {}", quoted(&format!("{name}: {}", text(value)))));
        }
        match &self.body {
            Value::Null => {}
            Value::String(body) => arguments.push(format!("--data-binary {}", quoted(body))),
            body => {
                arguments.push("-H 'Content-Type: application/json'".to_owned());
                arguments.push(format!("-d {}", quoted(&format_json(body))));
            }
        }
        arguments.join(" \\\n  ")
    }

    /// The option for the method, if curl would use another one by default.
    fn method(&self, method: &str) -> String {
        let default = if self.body.is_null() { "GET" } else { "POST" };
        if method == default { String::new() } else { format!(" -X {method}") }
    }

    /// The path and the query.
    fn address(&self, path: &str) -> String {
        let mut address = path.replace("{id}", "$ID");
        for (name, value) in &self.path {
            address = address.replace(&format!("{{{name}}}"), &text(value));
        }
        for (at, (name, value)) in self.query.iter().enumerate() {
            let value = text(value);
            let value = utf8_percent_encode(&value, PLAIN);
            address.push_str(&format!("{}{name}={value}", if at == 0 { '?' } else { '&' }));
        }
        address
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// An argument of a shell's command, quoted.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// JSON for people. A value that fits on one line is on one line.
pub fn format_json(value: &Value) -> String {
    let mut page = String::new();
    write_json(&mut page, value, 0, 0);
    page
}

/// Writes a value that begins at `column`, in a block that is indented by `indent` spaces.
fn write_json(page: &mut String, value: &Value, indent: usize, column: usize) {
    let line = one_line(value);
    let (open, close, members): (char, char, Vec<(String, &Value)>) = match value {
        _ if column + line.chars().count() <= WIDTH => return page.push_str(&line),
        Value::Array(items) => ('[', ']', items.iter().map(|item| (String::new(), item)).collect()),
        Value::Object(members) => {
            let named = members
                .iter()
                .map(|(name, value)| (format!("{}: ", Value::from(name.as_str())), value));
            ('{', '}', named.collect())
        }
        _ => return page.push_str(&line),
    };
    page.push(open);
    for (at, (name, value)) in members.iter().enumerate() {
        page.push_str(if at == 0 { "\n" } else { ",\n" });
        page.push_str(&" ".repeat(indent + 2));
        page.push_str(name);
        // One column is reserved for a comma.
        write_json(page, value, indent + 2, indent + 3 + name.chars().count());
    }
    page.push('\n');
    page.push_str(&" ".repeat(indent));
    page.push(close);
}

fn one_line(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(one_line).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                format!("{}: {}", Value::from(name.as_str()), one_line(value))
            };
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use yard_dialects::Catalog;

    use super::*;
    use crate::http::routes;

    #[test]
    fn every_route_has_an_example_and_every_example_a_route() {
        let read = |file: &&str| serde_json::from_str::<Vec<Example>>(file).unwrap();
        let written: usize = FILES.iter().map(read).map(|examples| examples.len()).sum();
        let all = routes(&Catalog::standard());
        let mut found = 0;
        for route in &all {
            // The protocol's own documents describe how a session is read and ended.
            let needs_one = if route.is_protocol() {
                route.method == http::Method::POST
            } else {
                !route.is_web_file()
            };
            let has_one = !of(route).is_empty();
            assert!(has_one || !needs_one, "{} {} has no example", route.method, route.path);
            found += of(route).len();
        }
        assert_eq!(found, written, "an example names a route that is not there");
    }

    #[test]
    fn a_curl_command_is_quoted_for_a_shell() {
        let example: Example = serde_json::from_value(json!({
            "route": "PUT /api/v1/workspaces/{id}/files/{file_id}",
            "path": {"id": "w", "file_id": "f"},
            "query": {"path": "/a b", "limit": 2},
            "headers": {"If-Match": "\"x\""},
            "body": {"name": "Ada's"},
            "status": 200,
        }))
        .unwrap();
        let expected = "curl -s -X PUT \"$SERVER/api/v1/workspaces/$ID/files/f?path=/a%20b&limit=2\" \\\n  \
            -H \"Authorization: Bearer $TOKEN\" \\\n  -H 'If-Match: \"x\"' \\\n  \
            -H 'Content-Type: application/json' \\\n  -d '{\"name\": \"Ada'\\''s\"}'";
        assert_eq!(example.curl(RouteAccess::Caller), expected);
    }

    #[test]
    fn json_is_broken_where_it_is_too_long_for_a_line() {
        assert_eq!(format_json(&json!({"a": [1, "b"], "c": {}})), r#"{"a": [1, "b"], "c": {}}"#);
        let long = "x".repeat(WIDTH);
        let broken = format_json(&json!({"a": [1, 2], "b": [long]}));
        assert_eq!(broken, format!("{{\n  \"a\": [1, 2],\n  \"b\": [\n    \"{long}\"\n  ]\n}}"));
    }
}
