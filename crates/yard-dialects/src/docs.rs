//! The reference of all tools, generated from the catalog. `docs/tools.md` is this text; a test
//! compares them.

use serde_json::{Map, Value};

use crate::catalog::{Catalog, Dialect};
use crate::tool::AnyTool;

const HEAD: &str = "# Tools

<!-- Generated from the catalog: edit the doc comments in crates/yard-dialects, not this page. -->
";

/// The reference of every tool in `catalog`, as Markdown.
pub fn markdown(catalog: &Catalog) -> String {
    let mut page = HEAD.to_owned();
    for dialect in catalog.dialects() {
        page.push_str(&toolset(catalog, dialect));
    }
    page
}

fn toolset(catalog: &Catalog, dialect: &Dialect) -> String {
    let mut text = format!("\n## Toolset `{}`\n\n{}\n", dialect.name, dialect.about);
    for tool in catalog.list(dialect.name) {
        text.push_str(&section(tool));
    }
    text
}

fn section(tool: &AnyTool) -> String {
    format!(
        "\n### `{}`\n\n{}\n\n{}\n{}",
        tool.name(),
        tool.about(),
        arguments(tool.input_schema()),
        reply(tool.output_schema())
    )
}

fn arguments(schema: &Value) -> String {
    let rows = properties(schema).map(|(name, property)| {
        let default = match property.get("default") {
            Some(default) => format!("`{default}`"),
            None if is_required(schema, name) => "required".to_owned(),
            None => "-".to_owned(),
        };
        format!("| `{name}` | {} | {default} | {} |\n", kind(property), description(property))
    });
    table("| Argument | Type | Default | Meaning |\n|---|---|---|---|\n", rows)
}

fn reply(schema: &Value) -> String {
    let mut rows = Vec::new();
    reply_rows(schema, "", &mut rows);
    table("| Reply | Type | Meaning |\n|---|---|---|\n", rows)
}

fn reply_rows(schema: &Value, at: &str, rows: &mut Vec<String>) {
    for (name, property) in properties(schema) {
        let place = format!("{at}{name}");
        rows.push(format!("| `{place}` | {} | {} |\n", kind(property), description(property)));
        match property.get("items") {
            Some(items) => reply_rows(items, &format!("{place}[]."), rows),
            None => reply_rows(property, &format!("{place}."), rows),
        }
    }
}

fn table(head: &str, rows: impl IntoIterator<Item = String>) -> String {
    let rows: String = rows.into_iter().collect();
    if rows.is_empty() { String::new() } else { format!("{head}{rows}") }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema
        .get("required")
        .and_then(Value::as_array)
        .is_some_and(|names| names.iter().any(|known| known == name))
}

fn kind(property: &Value) -> String {
    let name = match property.get("type") {
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_owned(),
    };
    let of = property.get("items").map(kind).filter(|of| of != "object");
    of.map_or_else(|| name.clone(), |of| format!("{name} of {of}"))
}

/// One cell of a table: no line breaks, no bars.
fn description(property: &Value) -> String {
    let text = property.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_argument_and_reply_field_is_described() {
        let catalog = Catalog::standard();
        let page = markdown(&catalog);
        for tool in catalog.list("workspace") {
            assert!(page.contains(&format!("\n### `{}`\n", tool.name())), "{}", tool.name());
            assert!(!tool.about().is_empty(), "{}", tool.name());
        }
        for row in page.lines().filter(|line| line.starts_with("| `")) {
            assert!(!row.ends_with("|  |"), "no meaning: {row}");
        }
        assert!(page.contains("| `entries[].path` | string |"));
        assert!(page.contains("| `limit` | integer | `50` |"));
        assert!(page.contains("| `path` | string | required |"));
    }
}
