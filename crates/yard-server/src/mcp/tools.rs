//! The tools of one toolset as MCP lists them, generated from the catalog.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::Value;
use yard_dialects::{AnyTool, Catalog, Dialect};

/// The form of a tool's reply in MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyForm {
    /// A text, which is sent once.
    Text,
    /// Content blocks of MCP.
    Blocks,
    /// Data, which is sent as data and as text for models.
    Data,
}

impl ReplyForm {
    /// The form of a tool's reply, by its schema.
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
pub(super) fn tool_list(catalog: &Catalog, toolset: &str) -> Vec<Tool> {
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
    let definition =
        Tool::new(tool.function_name(), tool.about().to_owned(), object(tool.input_schema()))
            .with_title(title)
            .with_annotations(annotations);
    match ReplyForm::of(tool) {
        ReplyForm::Data => definition.with_raw_output_schema(object(&dialect.answer_schema(tool))),
        ReplyForm::Text | ReplyForm::Blocks => definition,
    }
}

/// The title of a tool for people: `read_text_file` is "Read text file".
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
            let tool_list = tool_list(&catalog, dialect.name);
            assert_eq!(tool_list.len(), catalog.list(dialect.name).count());
            for (tool_list, tool) in tool_list.iter().zip(catalog.list(dialect.name)) {
                assert_eq!(tool_list.name, tool.function_name());
                assert_eq!(Value::Object((*tool_list.input_schema).clone()), *tool.input_schema());
                let is_object = |schema: &JsonObject| schema.get("type") == Some(&"object".into());
                assert!(is_object(&tool_list.input_schema), "{}", tool_list.name);
                let output = tool_list.output_schema.as_deref();
                assert!(output.is_none_or(is_object), "{}.{}", dialect.name, tool_list.name);
                assert_eq!(output.is_some(), ReplyForm::of(tool) == ReplyForm::Data);
            }
        }
        assert!(super::tool_list(&catalog, "nowhere").is_empty());
    }

    #[test]
    fn a_text_is_sent_once() {
        let catalog = Catalog::standard();
        let reply_form = |toolset, tool| ReplyForm::of(catalog.get(toolset, tool).unwrap());
        assert_eq!(reply_form("filesystem", "read_text_file"), ReplyForm::Text);
        assert_eq!(reply_form("filesystem", "read_media_file"), ReplyForm::Blocks);
        assert_eq!(reply_form("workspace", "read"), ReplyForm::Data);
        let read = tool_list(&catalog, "file").remove(0);
        assert_eq!((read.name.as_ref(), read.title.as_deref()), ("file_read", Some("File read")));
    }
}
