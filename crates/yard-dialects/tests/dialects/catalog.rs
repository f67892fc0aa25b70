//! The catalog against the documents and the rulings: every tool is there and no other, and every fault
//! has the word of its table.

use serde_json::json;
use yard_core::{Fault, FaultCode};
use yard_dialects::{AnyTool, Catalog, Stop};
use yard_gate::{Asks, Awaited, Pending};

/// The tools of the four documents and of the reference server for files, but those that execute or reach the web (and A6's).
const TOOLS: [(&str, &[&str]); 5] = [
    ("file", &["file.read", "file.write", "file.patch", "file.delete", "file.list", "file.search"]),
    ("coder", &["read", "write", "edit", "multiedit", "apply_patch", "ls", "glob"]),
    (
        "assistant",
        &[
            "list_directory",
            "read_file",
            "write_file",
            "delete_file",
            "move_file",
            "run_code",
            "web_fetch",
            "web_search",
            "git_status",
            "git_diff",
            "git_log",
            "git_commit",
            "git_push",
            "run_tests",
            "format_code",
            "install_package",
            "search_code",
        ],
    ),
    (
        "codex",
        &[
            "list_dir",
            "read_file",
            "grep_files",
            "apply_patch_json",
            "apply_patch_freeform",
            "shell",
            "exec_command",
            "write_stdin",
            // Beside the document's: they look after its terminals (X5).
            "list_sessions",
            "resize_session",
            "kill_session",
        ],
    ),
    (
        "filesystem",
        &[
            "read_file",
            "read_text_file",
            "read_media_file",
            "read_multiple_files",
            "write_file",
            "edit_file",
            "create_directory",
            "list_directory",
            "list_directory_with_sizes",
            "directory_tree",
            "move_file",
            "search_files",
            "get_file_info",
            "list_allowed_directories",
        ],
    ),
];

#[test]
fn every_tool_of_the_documents_is_in_the_catalog_and_the_reverse() {
    let catalog = Catalog::standard();
    let toolsets: Vec<&str> = catalog.dialects().map(|dialect| dialect.name).collect();
    assert_eq!(toolsets, ["workspace", "file", "coder", "assistant", "codex", "filesystem"]);
    for (toolset, tools) in TOOLS {
        let found: Vec<&str> = catalog.list(toolset).map(AnyTool::name).collect();
        assert_eq!(found, tools, "{toolset}");
    }
}

#[test]
fn arguments_and_defaults_are_those_of_the_documents() {
    let catalog = Catalog::standard();
    for (toolset, tool, required, defaults) in [
        ("file", "file.read", json!(["path"]), json!({"offset": 1})),
        ("file", "file.write", json!(["path", "content"]), json!({})),
        ("file", "file.patch", json!(["path", "patches"]), json!({})),
        ("file", "file.delete", json!(["path"]), json!({})),
        ("file", "file.list", json!(null), json!({"path": "."})),
        (
            "file",
            "file.search",
            json!(["pattern"]),
            json!({"path": ".", "case_sensitive": true, "context_lines": 0, "max_results": 100}),
        ),
        ("coder", "read", json!(["filePath"]), json!({})),
        ("coder", "write", json!(["content", "filePath"]), json!({})),
        (
            "coder",
            "edit",
            json!(["filePath", "oldString", "newString"]),
            json!({"replaceAll": false}),
        ),
        ("coder", "multiedit", json!(["filePath", "edits"]), json!({})),
        ("coder", "apply_patch", json!(["patchText"]), json!({})),
        ("coder", "ls", json!(["dirPath"]), json!({"recursive": false})),
        ("coder", "glob", json!(["pattern"]), json!({"limit": 100})),
        (
            "assistant",
            "list_directory",
            json!(["path"]),
            json!({"recursive": false, "includeHidden": false}),
        ),
        ("assistant", "read_file", json!(["path"]), json!({"encoding": "utf-8"})),
        (
            "assistant",
            "search_code",
            json!(["query"]),
            json!({"path": ".", "kind": "all", "limit": 20}),
        ),
        (
            "assistant",
            "write_file",
            json!(["path", "content"]),
            json!({"encoding": "utf-8", "createDirs": false}),
        ),
        ("assistant", "delete_file", json!(["path"]), json!({"recursive": false})),
        ("assistant", "move_file", json!(["from", "to"]), json!({"overwrite": false})),
    ] {
        let schema = catalog.get(toolset, tool).unwrap().input_schema();
        assert_eq!(schema["required"], required, "{tool}");
        for (name, default) in defaults.as_object().unwrap() {
            assert_eq!(schema["properties"][name]["default"], *default, "{tool}.{name}");
        }
    }
}

#[test]
fn every_schema_is_closed_described_and_plain() {
    let catalog = Catalog::standard();
    for (toolset, _) in TOOLS {
        for tool in catalog.list(toolset) {
            let schema = tool.input_schema();
            assert_eq!(schema["additionalProperties"], json!(false), "{}", tool.name());
            for (name, property) in schema["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{}.{name}", tool.name());
            }
            assert!(!schema.to_string().contains("$ref"));
            assert!(!tool.output_schema().to_string().contains("$ref"));
        }
    }
}

#[test]
fn each_tool_asks_for_what_its_document_says() {
    let catalog = Catalog::standard();
    let asks = |toolset, tool| catalog.get(toolset, tool).unwrap().asks();
    for tool in ["write_file", "delete_file", "move_file"] {
        assert_eq!(asks("assistant", tool), Asks::ToOverwrite);
    }
    assert_eq!(asks("assistant", "git_push"), Asks::Always, "A6");
    assert_eq!(asks("coder", "read"), Asks::OnceToRead);
    for tool in ["write", "edit", "multiedit", "apply_patch"] {
        assert_eq!(asks("coder", tool), Asks::OnceToChange);
    }
    for tool in ["apply_patch_json", "apply_patch_freeform"] {
        assert_eq!(asks("codex", tool), Asks::ToChange);
    }
    let never = [
        ("assistant", "run_code"),
        ("assistant", "git_commit"),
        ("assistant", "run_tests"),
        ("assistant", "format_code"),
        ("assistant", "web_fetch"),
        ("codex", "shell"),
        ("codex", "exec_command"),
        ("assistant", "list_directory"),
        ("assistant", "read_file"),
        ("assistant", "git_status"),
        ("assistant", "git_diff"),
        ("assistant", "git_log"),
        ("assistant", "search_code"),
        ("coder", "ls"),
        ("coder", "glob"),
        ("codex", "list_dir"),
        ("codex", "read_file"),
        ("codex", "grep_files"),
    ];
    assert!(never.iter().all(|(toolset, tool)| asks(toolset, tool) == Asks::Never));
    for toolset in ["file", "filesystem", "workspace"] {
        assert!(catalog.list(toolset).all(|tool| tool.asks() == Asks::Never));
    }
}

/// The words of every fault in `file` (for a tool that reads, for one that writes)
/// and of `assistant`.
const FAULTS: [(FaultCode, &str, &str, &str); 24] = [
    (FaultCode::BadArgument, "invalid_arguments", "invalid_arguments", "INVALID_ARGUMENTS"),
    (FaultCode::TextNotFound, "find_not_found", "find_not_found", "INVALID_ARGUMENTS"),
    (FaultCode::TextNotUnique, "find_not_unique", "find_not_unique", "INVALID_ARGUMENTS"),
    (FaultCode::NoChange, "invalid_arguments", "invalid_arguments", "INVALID_ARGUMENTS"),
    (FaultCode::BadPattern, "invalid_pattern", "invalid_pattern", "INVALID_ARGUMENTS"),
    (FaultCode::Binary, "binary_file", "binary_file", "BINARY_FILE"),
    (FaultCode::TooLarge, "too_large", "too_large", "TOO_LARGE"),
    (FaultCode::BadPath, "path_outside_workspace", "path_outside_workspace", "INVALID_PATH"),
    (FaultCode::PathOutside, "path_outside_workspace", "path_outside_workspace", "INVALID_PATH"),
    (FaultCode::NotFound, "file_not_found", "file_not_found", "FILE_NOT_FOUND"),
    (FaultCode::IsFolder, "is_directory", "is_directory", "INVALID_PATH"),
    (FaultCode::NotFolder, "not_a_directory", "not_a_directory", "INVALID_PATH"),
    (FaultCode::Exists, "conflict", "conflict", "CONFLICT"),
    (FaultCode::NotEmpty, "conflict", "conflict", "CONFLICT"),
    (FaultCode::Stale, "conflict", "conflict", "CONFLICT"),
    (FaultCode::MergeConflict, "conflict", "conflict", "CONFLICT"),
    (FaultCode::Denied, "denied", "denied", "PERMISSION_DENIED"),
    (FaultCode::ReadRefused, "denied", "denied", "PERMISSION_DENIED"),
    (FaultCode::WriteRefused, "write_failed", "write_failed", "PERMISSION_DENIED"),
    (FaultCode::DiskFull, "write_failed", "write_failed", "IO_ERROR"),
    (FaultCode::Io, "io_error", "write_failed", "IO_ERROR"),
    (FaultCode::Timeout, "timeout", "timeout", "TIMEOUT"),
    (FaultCode::NotRun, "unavailable", "unavailable", "EXECUTION_ERROR"),
    (FaultCode::Unavailable, "unavailable", "unavailable", "UNAVAILABLE"),
];

#[test]
fn f1_every_fault_has_the_word_of_its_dialect() {
    assert!(FaultCode::ALL.iter().all(|code| FAULTS.iter().any(|(known, ..)| known == code)));
    let catalog = Catalog::standard();
    for (code, reading, writing, word) in FAULTS {
        for (toolset, tool, expected) in [
            ("file", "file.read", reading),
            ("file", "file.list", reading),
            ("file", "file.search", reading),
            ("file", "file.write", writing),
            ("file", "file.patch", writing),
            ("file", "file.delete", writing),
            ("coder", "edit", word),
            ("codex", "list_dir", word),
            ("filesystem", "write_file", word),
            ("assistant", "write_file", word),
        ] {
            let dialect = catalog.dialects().find(|dialect| dialect.name == toolset).unwrap();
            let answer = (dialect.wrap_stop)(tool, &Stop::Fault(Fault::new(code, "why")));
            assert_eq!((answer.ok, answer.status), (false, 200), "{code:?}");
            let result = &answer.body["result"];
            let expected = match toolset {
                "assistant" => json!({
                    "ok": false, "error": {"code": expected, "message": "why", "details": {}}
                }),
                _ => json!({"error": expected, "message": "why"}),
            };
            assert_eq!(*result, expected, "{toolset} {code:?}");
            assert_eq!(answer.body["error"], "why");
        }
    }
}

#[test]
fn r16_every_dialect_says_alike_that_a_person_is_asked() {
    for dialect in Catalog::standard().dialects() {
        let id = yard_core::ApprovalId::from_bytes([7; 16]);
        let awaited = Awaited::Approval(id);
        let stop = Stop::Pending(Pending { awaited, wait_ms: None });
        let answer = (dialect.wrap_stop)("write", &stop);
        assert_eq!((answer.ok, answer.status), (true, 202), "{}", dialect.name);
        let expected = json!({"status": "approval_pending", "approval_id": id.to_string()});
        assert_eq!(answer.body["result"], expected, "{}", dialect.name);
    }
}
