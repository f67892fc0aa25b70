//! The tools of a toolset as each vendor's API wants them declared, all from the same schemas.

use serde_json::{Map, Value, json};

use crate::catalog::Catalog;
use crate::schema;
use crate::tool::AnyTool;

/// Who reads the definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// People and our own doors: everything that is known of a tool.
    Json,
    /// OpenAI's Responses API.
    OpenAi,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's Gemini API.
    Gemini,
}

impl Format {
    /// Every format with its one spelling.
    pub const WORDS: [(Format, &'static str); 4] = [
        (Self::Json, "json"),
        (Self::OpenAi, "openai"),
        (Self::Anthropic, "anthropic"),
        (Self::Gemini, "gemini"),
    ];

    /// Its spelling.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(format, _)| *format == self).map_or("json", |(_, word)| word)
    }

    /// The format of that spelling, in any case.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS
            .iter()
            .find(|(_, known)| known.eq_ignore_ascii_case(word))
            .map(|(format, _)| *format)
    }
}

impl Catalog {
    /// The tools of one toolset, declared for `format`; none if there is no such toolset.
    pub fn definitions(&self, toolset: &str, format: Format) -> Value {
        let tools = self.list(toolset);
        match format {
            Format::Json => tools.map(|tool| plain(toolset, tool)).collect(),
            Format::OpenAi => tools.map(openai).collect(),
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
    })
}

fn openai(tool: &AnyTool) -> Value {
    json!({
        "type": "function",
        "name": tool.name(),
        "description": tool.about(),
        "parameters": tool.input_schema(),
        // Strict calling wants every argument required; ours have defaults.
        "strict": false,
    })
}

fn anthropic(tool: &AnyTool) -> Value {
    json!({
        "name": tool.name(),
        "description": tool.about(),
        "input_schema": tool.input_schema(),
    })
}

fn gemini(tool: &AnyTool) -> Value {
    let mut parameters = tool.input_schema().clone();
    to_gemini(&mut parameters);
    let mut declaration = json!({"name": tool.name(), "description": tool.about()});
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
    // Gemini has no "any value": text is what is meant most.
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

    fn names(definitions: &Value) -> Vec<&str> {
        definitions
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool["name"].as_str())
            .collect()
    }

    #[test]
    fn every_format_declares_every_tool() {
        let catalog = Catalog::standard();
        let all: Vec<&str> = catalog.list("workspace").map(AnyTool::name).collect();
        assert_eq!(all.len(), 20);
        for format in [Format::Json, Format::OpenAi, Format::Anthropic] {
            assert_eq!(names(&catalog.definitions("workspace", format)), all, "{format:?}");
        }
        let gemini = catalog.definitions("workspace", Format::Gemini);
        assert_eq!(names(&gemini["functionDeclarations"]), all);
        assert_eq!(catalog.definitions("nowhere", Format::Json), json!([]));
    }

    #[test]
    fn each_vendor_gets_its_own_shape() {
        let catalog = Catalog::standard();
        let first = |format| {
            let definitions = catalog.definitions("workspace", format);
            match format {
                Format::Gemini => definitions["functionDeclarations"][0].clone(),
                _ => definitions[0].clone(),
            }
        };
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(
            keys(&first(Format::Json)),
            ["name", "toolset", "description", "input_schema", "output_schema"]
        );
        assert_eq!(
            keys(&first(Format::OpenAi)),
            ["type", "name", "description", "parameters", "strict"]
        );
        assert_eq!(keys(&first(Format::Anthropic)), ["name", "description", "input_schema"]);
        assert_eq!(keys(&first(Format::Gemini)), ["name", "description", "parameters"]);
        for (format, word) in Format::WORDS {
            assert_eq!(Format::from_word(&word.to_uppercase()), Some(format));
            assert_eq!(format.word(), word);
        }
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
