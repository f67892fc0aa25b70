//! The tools of one toolset as MCP lists them, made from the catalog once: there is no second list.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::Value;
use yard_dialects::{AnyTool, Catalog, Dialect};

/// The form of a tool's reply in MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyForm {
    /// It is a text and nothing else: it is sent once.
    Text,
    /// It is made of MCP's own blocks.
    Blocks,
    /// It is data: sent as such, and as text for models.
    Data,
}

impl ReplyForm {
    /// How this tool speaks, by the schema of its reply.
    pub(super) fn of(tool: &AnyTool) -> Self {
        let schema = tool.output_schema();
        let Some(members) = schema.get("properties").and_then(Value::as_object) else {
            return Self::Data;
        };
        let kind = members.get("content").and_then(|content| content["type"].as_str());
        match (members.len(), kind) {
            (1, Some("string")) => Self::Text,
            (1, Some("array")) => Self::Blocks,
            _ => Self::Data,
        }
    }
}

/// Every tool of a toolset; none if there is no such toolset.
pub(super) fn listed(catalog: &Catalog, toolset: &str) -> Vec<Tool> {
    let dialect = catalog.dialects().find(|dialect| dialect.name == toolset);
    let Some(dialect) = dialect else { return Vec::new() };
    catalog.list(toolset).map(|tool| definition(dialect, tool)).collect()
}

fn definition(dialect: &Dialect, tool: &AnyTool) -> Tool {
    let title = title(tool);
    let hints = tool.hints();
    let annotations = ToolAnnotations::with_title(title.clone())
        .read_only(hints.reads_only)
        .destructive(hints.destroys)
        .idempotent(hints.repeats)
        .open_world(hints.open_world);
    let listed =
        Tool::new(tool.function_name(), tool.about().to_owned(), object(tool.input_schema()))
            .with_title(title)
            .with_annotations(annotations);
    match ReplyForm::of(tool) {
        ReplyForm::Data => listed.with_raw_output_schema(object(&dialect.answer_schema(tool))),
        ReplyForm::Text | ReplyForm::Blocks => listed,
    }
}

/// What people read instead of the name: `read_text_file` is "Read text file".
fn title(tool: &AnyTool) -> String {
    let words = tool.name().replace(['_', '.'], " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn object(schema: &Value) -> Arc<JsonObject> {
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_every_toolset_is_listed_with_what_the_catalog_knows() {
        let catalog = Catalog::standard();
        for dialect in catalog.dialects() {
            let listed = listed(&catalog, dialect.name);
            assert_eq!(listed.len(), catalog.list(dialect.name).count());
            for (listed, tool) in listed.iter().zip(catalog.list(dialect.name)) {
                assert_eq!(listed.name, tool.function_name());
                assert_eq!(Value::Object((*listed.input_schema).clone()), *tool.input_schema());
                let is_object = |schema: &JsonObject| schema.get("type") == Some(&"object".into());
                assert!(is_object(&listed.input_schema), "{}", listed.name);
                let output = listed.output_schema.as_deref();
                assert!(output.is_none_or(is_object), "{}.{}", dialect.name, listed.name);
                assert_eq!(output.is_some(), ReplyForm::of(tool) == ReplyForm::Data);
            }
        }
        assert!(super::listed(&catalog, "nowhere").is_empty());
    }

    #[test]
    fn a_text_is_sent_once() {
        let catalog = Catalog::standard();
        let reply_form = |toolset, tool| ReplyForm::of(catalog.get(toolset, tool).unwrap());
        assert_eq!(reply_form("filesystem", "read_text_file"), ReplyForm::Text);
        assert_eq!(reply_form("filesystem", "read_media_file"), ReplyForm::Blocks);
        assert_eq!(reply_form("workspace", "read"), ReplyForm::Data);
        let read = listed(&catalog, "file").remove(0);
        assert_eq!((read.name.as_ref(), read.title.as_deref()), ("file_read", Some("File read")));
    }
}
