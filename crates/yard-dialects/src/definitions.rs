//! The declarations of a toolset's tools for the API of each vendor, all from the same schemas.

use serde_json::{Map, Value, json};

use crate::catalog::Catalog;
use crate::schema;
use crate::tool::AnyTool;

yard_core::spelled_enum! {
    /// The format of the definitions.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Format {
        /// All properties of a tool, for people and for Toolyard's own doors.
        Json = "json",
        /// Name, description and parameters (A7).
        Functions = "functions",
        /// OpenAI's Responses API.
        OpenAi = "openai",
        /// OpenAI's Chat Completions API, and those that speak it.
        OpenAiChat = "openai-chat",
        /// Anthropic's Messages API.
        Anthropic = "anthropic",
        /// Google's Gemini API.
        Gemini = "gemini",
    }
}

impl Catalog {
    /// The tools of one toolset, declared for `format`; none if there is no such toolset.
    pub fn definitions(&self, toolset: &str, format: Format) -> Value {
        let tools = self.list(toolset);
        match format {
            Format::Json => tools.map(|tool| plain(toolset, tool)).collect(),
            Format::Functions => tools.map(function).collect(),
            Format::OpenAi => tools.map(openai).collect(),
            Format::OpenAiChat => tools.map(openai_chat).collect(),
            Format::Anthropic => tools.map(anthropic).collect(),
            Format::Gemini => json!({"functionDeclarations": tools.map(gemini).collect::<Value>()}),
        }
    }
}

fn plain(toolset: &str, tool: &AnyTool) -> Value {
    json!({
        "name": tool.name(),
        "toolset": toolset,
        "description": tool.about(),
        "input_schema": tool.input_schema(),
        "output_schema": tool.output_schema(),
        "approval": tool.asks().about(),
    })
}

fn function(tool: &AnyTool) -> Value {
    json!({
        "name": tool.function_name(),
        "description": tool.about(),
        "parameters": tool.input_schema(),
    })
}

fn openai(tool: &AnyTool) -> Value {
    let (parameters, strict) = openai_parameters(tool);
    json!({
        "type": "function",
        "name": tool.function_name(),
        "description": tool.about(),
        "parameters": parameters,
        "strict": strict,
    })
}

fn openai_chat(tool: &AnyTool) -> Value {
    let (parameters, strict) = openai_parameters(tool);
    let function = json!({
        "name": tool.function_name(),
        "description": tool.about(),
        "parameters": parameters,
        "strict": strict,
    });
    json!({"type": "function", "function": function})
}

/// Strict calling requires every argument (A7): a tool with optional arguments cannot be strict.
fn openai_parameters(tool: &AnyTool) -> (Value, bool) {
    let mut parameters = tool.input_schema().clone();
    let strict = schema::is_strict(&parameters);
    if strict {
        move_defaults_to_descriptions(&mut parameters);
    }
    (parameters, strict)
}

/// Moves each `default` to the description: some providers of strict calling refuse the keyword.
fn move_defaults_to_descriptions(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    if let Some(default) = object.shift_remove("default")
        && let Some(Value::String(about)) = object.get_mut("description")
    {
        about.push_str(&format!(" Default: {default}."));
    }
    for schema in schema::below(object) {
        move_defaults_to_descriptions(schema);
    }
}

fn anthropic(tool: &AnyTool) -> Value {
    json!({
        "name": tool.function_name(),
        "description": tool.about(),
        "input_schema": tool.input_schema(),
    })
}

fn gemini(tool: &AnyTool) -> Value {
    let mut parameters = tool.input_schema().clone();
    to_gemini(&mut parameters);
    let mut declaration = json!({"name": tool.function_name(), "description": tool.about()});
    // A function without arguments has no parameters: an empty object is refused.
    if parameters["properties"].as_object().is_some_and(|properties| !properties.is_empty()) {
        declaration["parameters"] = parameters;
    }
    declaration
}

/// The keywords of Gemini's subset of OpenAPI schemas; any other fails the request.
const GEMINI_KEYWORDS: [&str; 17] = [
    "type",
    "format",
    "description",
    "nullable",
    "enum",
    "items",
    "minItems",
    "maxItems",
    "properties",
    "required",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "anyOf",
    "default",
];

fn to_gemini(schema: &mut Value) {
    if schema.is_boolean() {
        *schema = Value::Object(Map::new());
    }
    let Value::Object(object) = schema else { return };
    if let Some(Value::Array(types)) = object.get("type") {
        let nullable = types.iter().any(|name| name == "null");
        let only = types.iter().find(|name| *name != "null").cloned();
        object.insert("type".to_owned(), only.unwrap_or_else(|| "string".into()));
        object.insert("nullable".to_owned(), nullable.into());
    }
    object.retain(|keyword, _| GEMINI_KEYWORDS.contains(&keyword.as_str()));
    // Gemini has no schema for any value: most values are strings.
    if !object.contains_key("type") && !object.contains_key("anyOf") {
        object.insert("type".to_owned(), "string".into());
    }
    for schema in schema::below(object) {
        to_gemini(schema);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definitions of a toolset, one a tool.
    fn each(catalog: &Catalog, toolset: &str, format: Format) -> Vec<Value> {
        let definitions = catalog.definitions(toolset, format);
        let list = match format {
            Format::Gemini => definitions["functionDeclarations"].clone(),
            _ => definitions,
        };
        list.as_array().unwrap().clone()
    }

    fn name(format: Format, definition: &Value) -> String {
        let holder = match format {
            Format::OpenAiChat => &definition["function"],
            _ => definition,
        };
        holder["name"].as_str().unwrap().to_owned()
    }

    fn names(catalog: &Catalog, toolset: &str, format: Format) -> Vec<String> {
        let definitions = each(catalog, toolset, format);
        definitions.iter().map(|definition| name(format, definition)).collect()
    }

    #[test]
    fn every_format_declares_every_tool() {
        let catalog = Catalog::standard();
        assert_eq!(catalog.list("workspace").count(), 20);
        for dialect in catalog.dialects() {
            for (format, _) in Format::WORDS {
                let tools = catalog.list(dialect.name);
                let all: Vec<String> = match format {
                    Format::Json => tools.map(|tool| tool.name().to_owned()).collect(),
                    _ => tools.map(AnyTool::function_name).collect(),
                };
                assert_eq!(names(&catalog, dialect.name, format), all, "{format:?}");
            }
        }
        assert_eq!(catalog.definitions("nowhere", Format::Json), json!([]));
    }

    #[test]
    fn f6_an_exported_name_is_a_legal_function_name() {
        let catalog = Catalog::standard();
        let legal = |name: &str| {
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        for dialect in catalog.dialects() {
            for (format, _) in Format::WORDS.into_iter().filter(|(it, _)| *it != Format::Json) {
                assert!(names(&catalog, dialect.name, format).iter().all(|name| legal(name)));
            }
        }
        assert_eq!(names(&catalog, "file", Format::OpenAi)[0], "file_read");
        assert_eq!(names(&catalog, "file", Format::Json)[0], "file.read");
        for name in ["file.read", "file_read"] {
            assert_eq!(catalog.get("file", name).map(AnyTool::name), Some("file.read"));
        }
        assert!(catalog.get("file", "read").is_none());
    }

    #[test]
    fn a7_each_vendor_gets_its_own_shape() {
        let catalog = Catalog::standard();
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let first = |format| keys(&each(&catalog, "workspace", format)[0]);
        assert_eq!(
            first(Format::Json),
            ["name", "toolset", "description", "input_schema", "output_schema", "approval"]
        );
        assert_eq!(first(Format::Functions), ["name", "description", "parameters"]);
        assert_eq!(first(Format::OpenAi), ["type", "name", "description", "parameters", "strict"]);
        assert_eq!(first(Format::OpenAiChat), ["type", "function"]);
        assert_eq!(
            keys(&each(&catalog, "workspace", Format::OpenAiChat)[0]["function"]),
            ["name", "description", "parameters", "strict"]
        );
        assert_eq!(first(Format::Anthropic), ["name", "description", "input_schema"]);
        assert_eq!(first(Format::Gemini), ["name", "description", "parameters"]);
        for (format, word) in Format::WORDS {
            assert_eq!(Format::from_word(word), Some(format));
            assert_eq!(format.word(), word);
        }
    }

    #[test]
    fn a7_a_tool_whose_arguments_may_be_left_out_is_not_strict() {
        let catalog = Catalog::standard();
        let strict = |toolset, format, at: &str| -> Vec<(String, bool)> {
            let definitions = each(&catalog, toolset, format);
            let one = |tool: &Value| {
                (name(format, tool), tool.pointer(at).and_then(Value::as_bool).unwrap())
            };
            definitions.iter().map(one).collect()
        };
        for (format, at) in [(Format::OpenAi, "/strict"), (Format::OpenAiChat, "/function/strict")]
        {
            assert!(strict("codex", format, at).iter().all(|(_, strict)| *strict));
            let file = strict("file", format, at);
            assert!(file.contains(&("file_patch".to_owned(), true)));
            assert!(file.contains(&("file_read".to_owned(), false)));
            assert!(strict("coder", format, at).contains(&("multiedit".to_owned(), false)));
        }
        let list_dir = &each(&catalog, "codex", Format::OpenAi)[0]["parameters"];
        assert!(!list_dir.to_string().contains("\"default\""), "strict callers may refuse it");
        assert!(list_dir["properties"]["depth"]["description"].as_str().unwrap().ends_with("2."));
    }

    #[test]
    fn a7_definitions_have_the_approval_default() {
        let catalog = Catalog::standard();
        let approval = |toolset: &str, at: usize| {
            each(&catalog, toolset, Format::Json)[at]["approval"].clone()
        };
        assert_eq!(approval("assistant", 1), "asks for nothing beyond what the policy asks for");
        assert_eq!(approval("assistant", 3), "asks before it replaces or removes what is there");
        assert_eq!(approval("coder", 0), "asks before reading, until there is a yes for the chat");
        assert_eq!(approval("codex", 3), "asks before each change");
    }

    #[test]
    fn gemini_gets_no_keyword_that_it_does_not_know() {
        let mut schema = json!({
            "$schema": "x",
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "a": {"type": ["integer", "null"], "description": "A"},
                "b": {"type": "array", "items": {"type": "string", "title": "B"}},
                "additionalProperties": {"description": "named like a keyword"},
                "any": true,
            },
        });
        to_gemini(&mut schema);
        assert_eq!(
            schema,
            json!({
                "type": "object",
                "properties": {
                    "a": {"type": "integer", "description": "A", "nullable": true},
                    "b": {"type": "array", "items": {"type": "string"}},
                    "additionalProperties": {"description": "named like a keyword", "type": "string"},
                    "any": {"type": "string"},
                },
            })
        );
        let all = Catalog::standard().definitions("workspace", Format::Gemini).to_string();
        for keyword in ["$schema", "additionalProperties", "\"null\"", "$ref"] {
            assert!(!all.contains(keyword), "{keyword}");
        }
    }
}
