//! The dialect `workspace`: Unix-like tools over a workspace whose root is `/`.
//!
//! One line a tool below, one file a tool beside it; its error codes are in `fault.rs`.

mod ask_user;
mod cat;
mod content;
mod display;
mod edit;
mod entry;
mod exit_plan_mode;
mod fault;
mod file_info;
mod find;
mod front_matter;
mod glob;
mod grep;
mod ls;
mod mkdir;
mod mv;
mod plan_edit;
mod plan_file;
mod plan_list;
mod plan_names;
mod plan_read;
mod plan_write;
mod read;
mod read_multiple_files;
mod rm;
mod touch;
mod write;

use crate::dialect::Dialect;
use crate::envelope;
use crate::tool::{AnyTool, PathStyle};

/// How this dialect answers (W1).
pub const DIALECT: Dialect = Dialect {
    name: "workspace",
    about: "Files, folders, search, plans and questions in a workspace whose root is `/`.",
    path_style: PathStyle::Rooted,
    error_code: |_, code| fault::status_and_code(code).1,
    wrap_reply: envelope::wrap_reply,
    wrap_stop: fault::wrap_stop,
};

/// The root of the workspace: the default of arguments that name a folder.
fn root() -> String {
    "/".to_owned()
}

/// Every tool of the dialect, in the order of its specification.
pub(crate) fn tools() -> Vec<AnyTool> {
    vec![
        AnyTool::of::<ls::Ls>(),
        AnyTool::of::<read::Read>(),
        AnyTool::of::<write::Write>(),
        AnyTool::of::<rm::Rm>(),
        AnyTool::of::<mv::Mv>(),
        AnyTool::of::<touch::Touch>(),
        AnyTool::of::<mkdir::Mkdir>(),
        AnyTool::of::<edit::Edit>(),
        AnyTool::of::<grep::Grep>(),
        AnyTool::of::<glob::Glob>(),
        AnyTool::of::<file_info::FileInfo>(),
        AnyTool::of::<find::Find>(),
        AnyTool::of::<read_multiple_files::ReadMultipleFiles>(),
        AnyTool::of::<cat::Cat>(),
        AnyTool::of::<ask_user::AskUser>(),
        AnyTool::of::<exit_plan_mode::ExitPlanMode>(),
        AnyTool::of::<plan_write::PlanWrite>(),
        AnyTool::of::<plan_read::PlanRead>(),
        AnyTool::of::<plan_edit::PlanEdit>(),
        AnyTool::of::<plan_list::PlanList>(),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn input(name: &str) -> Value {
        let tools = tools();
        tools
            .iter()
            .find(|tool| tool.name() == name)
            .map(|tool| tool.input_schema().clone())
            .unwrap()
    }

    #[test]
    fn every_schema_is_closed_described_and_plain() {
        for tool in tools() {
            let schema = tool.input_schema();
            assert_eq!(schema["additionalProperties"], json!(false), "{}", tool.name());
            assert_eq!(schema.get("$schema"), None);
            for (name, property) in schema["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{}.{name}", tool.name());
                assert!(!property["type"].is_array(), "{}.{name}", tool.name());
                assert_eq!(property.get("format"), None, "{}.{name}", tool.name());
                assert_ne!(property.get("default"), Some(&Value::Null), "{}.{name}", tool.name());
            }
            assert!(!tool.input_schema().to_string().contains("$ref"));
            assert!(!tool.output_schema().to_string().contains("$ref"));
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_spec() {
        for (tool, defaults) in [
            ("ls", json!({"path": "/", "recursive": false, "limit": 50})),
            ("read", json!({"offset": 0, "limit": 500})),
            ("write", json!({"file_type": "document", "overwrite": false})),
            ("grep", json!({"case_sensitive": false, "limit": 50})),
            ("glob", json!({"path": "/", "limit": 500})),
            ("find", json!({"path": "/", "recursive": true, "limit": 50})),
            ("read_multiple_files", json!({"limit": 500})),
            ("ask_user", json!({"wait_ms": 0})),
            ("plan_write", json!({"status": "draft"})),
            ("plan_read", json!({"offset": 0, "limit": 500})),
            ("plan_list", json!({"limit": 50})),
            (
                "cat",
                json!({"show_ends": false, "show_tabs": false, "squeeze_blank": false,
                "number_lines": false, "show_headers": false, "offset": 0}),
            ),
        ] {
            for (name, default) in defaults.as_object().unwrap() {
                assert_eq!(input(tool)["properties"][name]["default"], *default, "{tool}.{name}");
            }
        }
    }

    #[test]
    fn the_required_arguments_are_those_of_the_spec() {
        for (tool, required) in [
            ("ls", json!(null)),
            ("read", json!(["path"])),
            ("write", json!(["path"])),
            ("rm", json!(["path"])),
            ("mv", json!(["source", "destination"])),
            ("touch", json!(["path"])),
            ("mkdir", json!(["path"])),
            ("edit", json!(["path"])),
            ("grep", json!(["pattern"])),
            ("glob", json!(null)),
            ("file_info", json!(["path"])),
            ("find", json!(null)),
            ("read_multiple_files", json!(["paths"])),
            ("cat", json!(["paths"])),
            ("ask_user", json!(["questions"])),
            ("exit_plan_mode", json!(["plan_file_path"])),
            ("plan_write", json!(["title", "content"])),
            ("plan_read", json!(null)),
            ("plan_edit", json!(["path"])),
            ("plan_list", json!(null)),
        ] {
            assert_eq!(input(tool)["required"], required, "{tool}");
        }
    }

    #[test]
    fn a_schema_in_full() {
        assert_eq!(
            input("ls"),
            json!({
                "type": "object",
                "properties": {
                    "path": {"description": "Directory to list.", "type": "string", "default": "/"},
                    "recursive": {
                        "description": "List everything below it too (links are not followed, `.git` is skipped).",
                        "type": "boolean",
                        "default": false
                    },
                    "limit": {
                        "description": "Most entries to return; 0 is all that one answer may hold.",
                        "type": "integer",
                        "minimum": 0,
                        "default": 50
                    },
                    "cursor": {
                        "description": "Where a cut answer goes on: its `next`.",
                        "type": "integer",
                        "minimum": 0
                    }
                },
                "additionalProperties": false
            })
        );
        assert_eq!(input("cat")["properties"]["paths"]["maxItems"], json!(20));
        assert_eq!(input("read_multiple_files")["properties"]["paths"]["maxItems"], json!(50));
    }
}
