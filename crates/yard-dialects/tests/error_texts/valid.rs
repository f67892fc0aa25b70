//! Calls with right arguments, one or more of each tool, to be broken one argument at a time.

use serde_json::{Value, json};

/// A call that a tool takes.
pub(crate) struct Valid {
    pub(crate) toolset: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) args: Value,
}

const ENVELOPE: &str = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch";
const UNIFIED: &str = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n";
const PLAN: &str = "/plans/bold-meadow-quest.plan";

/// All of them.
pub(crate) fn calls() -> Vec<Valid> {
    let all = [
        of_workspace(),
        of_plans(),
        of_file(),
        of_coder(),
        of_assistant(),
        of_runs(),
        of_codex(),
        of_filesystem(),
    ];
    all.into_iter().flatten().collect()
}

fn of(toolset: &'static str, tools: Vec<(&'static str, Value)>) -> Vec<Valid> {
    tools.into_iter().map(|(tool, args)| Valid { toolset, tool, args }).collect()
}

fn of_workspace() -> Vec<Valid> {
    let question = json!([{"name": "n", "question": "How many?", "schema": {"type": "integer"}}]);
    of(
        "workspace",
        vec![
            ("ls", json!({"path": "/src", "recursive": true, "limit": 5, "cursor": 0})),
            ("read", json!({"path": "/a.txt", "offset": 1, "limit": 2, "cursor": 0, "hash": true})),
            ("read", json!({"path": "/a.txt", "byte_offset": 1, "byte_limit": 2})),
            (
                "write",
                json!({"path": "/new/n.txt", "content": "x", "file_type": "document", "overwrite": false}),
            ),
            ("rm", json!({"path": "/empty.txt"})),
            ("mv", json!({"source": "/a.txt", "destination": "/b.txt"})),
            ("touch", json!({"path": "/a.txt"})),
            ("mkdir", json!({"path": "/new"})),
            ("edit", json!({"path": "/a.txt", "old_string": "one", "new_string": "1"})),
            ("edit", json!({"path": "/a.txt", "insert_line": 1, "insert_content": "x"})),
            (
                "grep",
                json!({"pattern": "one", "path": "/", "path_pattern": "*.txt", "case_sensitive": true, "limit": 5,
            "context": 1, "include_ignored": false}),
            ),
            (
                "grep",
                json!({"pattern": "one", "before_context": 1, "after_context": 1, "cursor": "/a.txt:1"}),
            ),
            (
                "glob",
                json!({"pattern": "*.txt", "path": "/", "limit": 5, "include_ignored": true, "cursor": "/a.txt"}),
            ),
            ("glob", json!({"patterns": ["*.txt", "src/**"]})),
            ("file_info", json!({"path": "/a.txt"})),
            (
                "find",
                json!({"name": "*.txt", "path": "/", "file_type": "document", "min_size": 1, "max_size": 99,
            "recursive": true, "limit": 5, "include_ignored": true, "cursor": "/a.txt"}),
            ),
            ("read_multiple_files", json!({"paths": ["/a.txt", "/src/lib.rs"], "limit": 5})),
            (
                "cat",
                json!({"paths": ["/a.txt"], "show_ends": true, "show_tabs": true, "squeeze_blank": true,
            "number_lines": true, "show_headers": true, "offset": 0, "limit": 5}),
            ),
            ("ask_user", json!({"questions": question, "wait_ms": 0})),
            (
                "ask_user",
                json!({"questions": [{"name": "n", "question": "Which?", "schema": {"type": "string",
            "enum": ["a", "b"]}, "buttons": [{"label": "A", "value": "a"}]}]}),
            ),
        ],
    )
}

fn of_plans() -> Vec<Valid> {
    of(
        "workspace",
        vec![
            ("exit_plan_mode", json!({"plan_file_path": PLAN})),
            (
                "plan_write",
                json!({"title": "T", "content": "# T\n", "path": "/plans/new.plan", "status": "draft"}),
            ),
            ("plan_read", json!({"path": PLAN, "offset": 0, "limit": 5, "cursor": 0})),
            ("plan_read", json!({"name": "bold-meadow-quest"})),
            ("plan_edit", json!({"path": PLAN, "old_string": "First", "new_string": "Then"})),
            ("plan_edit", json!({"path": PLAN, "insert_line": 0, "insert_content": "x"})),
            ("plan_list", json!({"status": "draft", "limit": 5, "cursor": 0})),
        ],
    )
}

fn of_file() -> Vec<Valid> {
    of(
        "file",
        vec![
            ("file.read", json!({"path": "a.txt", "offset": 1, "limit": 2})),
            ("file.read", json!({"path": "a.txt", "byte_offset": 1})),
            ("file.write", json!({"path": "n.txt", "content": "x"})),
            ("file.patch", json!({"path": "a.txt", "patches": [{"find": "one", "replace": "1"}]})),
            ("file.delete", json!({"path": "empty.txt"})),
            (
                "file.list",
                json!({"path": "src", "pattern": "*.rs", "include_ignored": true, "cursor": "src/lib.rs"}),
            ),
            (
                "file.search",
                json!({"pattern": "one", "path": ".", "glob": "*.txt", "case_sensitive": true,
            "context_lines": 1, "max_results": 5, "include_ignored": true, "cursor": "a.txt:1"}),
            ),
        ],
    )
}

fn of_coder() -> Vec<Valid> {
    of(
        "coder",
        vec![
            ("read", json!({"filePath": "a.txt", "offset": 0, "limit": 2})),
            ("read", json!({"filePath": "a.txt", "byteOffset": 1})),
            ("write", json!({"filePath": "n.txt", "content": "x"})),
            (
                "edit",
                json!({"filePath": "a.txt", "oldString": "one", "newString": "1", "replaceAll": true}),
            ),
            (
                "multiedit",
                json!({"filePath": "a.txt", "edits": [{"oldString": "one", "newString": "1"}]}),
            ),
            ("apply_patch", json!({"patchText": ENVELOPE})),
            ("apply_patch", json!({"patchText": UNIFIED})),
            ("ls", json!({"dirPath": "src", "recursive": true})),
            (
                "glob",
                json!({"pattern": "**/*.rs", "limit": 5, "includeIgnored": true, "cursor": "src/lib.rs"}),
            ),
        ],
    )
}

fn of_assistant() -> Vec<Valid> {
    of(
        "assistant",
        vec![
            ("list_directory", json!({"path": "src", "recursive": true, "includeHidden": true})),
            ("read_file", json!({"path": "a.txt", "encoding": "utf-8", "offset": 1, "limit": 2})),
            ("read_file", json!({"path": "picture.png", "encoding": "base64", "byteOffset": 1})),
            (
                "write_file",
                json!({"path": "n/n.txt", "content": "eA==", "encoding": "base64", "createDirs": true}),
            ),
            ("delete_file", json!({"path": "full", "recursive": true})),
            ("move_file", json!({"from": "a.txt", "to": "b.txt", "overwrite": true})),
            (
                "search_code",
                json!({"query": "first", "path": "src", "language": "rust", "kind": "definition", "limit": 5}),
            ),
        ],
    )
}

fn of_runs() -> Vec<Valid> {
    of(
        "assistant",
        vec![
            (
                "run_code",
                json!({"language": "python", "code": "print(1)", "args": ["x"], "env": {"A": "b"}, "timeout": 5}),
            ),
            (
                "web_fetch",
                json!({"url": "http://127.0.0.1/", "method": "GET", "headers": {"Accept": "text/html"},
            "timeout": 5, "format": "html", "offset": 0}),
            ),
            ("web_fetch", json!({"url": "http://127.0.0.1/", "method": "POST", "body": "x"})),
            ("web_search", json!({"query": "words", "numResults": 3})),
            ("git_status", json!({"repository": ".", "path": "src", "limit": 5})),
            (
                "git_diff",
                json!({"repository": ".", "path": "src", "staged": true, "range": "HEAD"}),
            ),
            ("git_log", json!({"repository": ".", "path": "src", "ref": "HEAD", "limit": 5})),
            (
                "git_commit",
                json!({"repository": ".", "message": "Words", "paths": ["a.txt"], "all": false}),
            ),
            (
                "git_push",
                json!({"repository": ".", "remote": "origin", "branch": "main", "forceWithLease": false}),
            ),
            (
                "run_tests",
                json!({"framework": "pytest", "path": ".", "filter": "x", "env": {"A": "b"}, "timeout": 5}),
            ),
            ("format_code", json!({"paths": ["src/lib.rs"], "check": true, "env": {"A": "b"}})),
            (
                "install_package",
                json!({"manager": "pip", "packages": ["six"], "path": ".", "timeout": 5}),
            ),
        ],
    )
}

fn of_codex() -> Vec<Valid> {
    of(
        "codex",
        vec![
            ("list_dir", json!({"path": "src", "depth": 2, "offset": 0, "limit": 5})),
            (
                "read_file",
                json!({"path": "a.txt", "offset": 0, "limit": 5, "mode": "slice", "indent": "    "}),
            ),
            (
                "grep_files",
                json!({"pattern": "one", "path": ".", "include": ["*.txt"], "limit": 5}),
            ),
            ("apply_patch_json", json!({"patch": UNIFIED})),
            ("apply_patch_freeform", json!({"patch": ENVELOPE})),
            ("shell", json!({"command": "ls", "workdir": "src", "timeout_ms": 500})),
            ("exec_command", json!({"session_id": "s", "cmd": "ls", "workdir": "src"})),
            ("write_stdin", json!({"session_id": "s", "chars": "x"})),
            ("list_sessions", json!({})),
            ("resize_session", json!({"session_id": "s", "rows": 24, "columns": 80})),
            ("kill_session", json!({"session_id": "s"})),
        ],
    )
}

fn of_filesystem() -> Vec<Valid> {
    of(
        "filesystem",
        vec![
            ("read_file", json!({"path": "a.txt", "head": 2})),
            ("read_text_file", json!({"path": "a.txt", "tail": 2})),
            ("read_media_file", json!({"path": "picture.png"})),
            ("read_multiple_files", json!({"paths": ["a.txt", "src/lib.rs"]})),
            ("write_file", json!({"path": "n.txt", "content": "x"})),
            (
                "edit_file",
                json!({"path": "a.txt", "edits": [{"oldText": "one", "newText": "1"}], "dryRun": true}),
            ),
            ("create_directory", json!({"path": "new"})),
            ("list_directory", json!({"path": "src"})),
            ("list_directory_with_sizes", json!({"path": "src", "sortBy": "size"})),
            ("directory_tree", json!({"path": "src", "excludePatterns": ["*.md"]})),
            ("move_file", json!({"source": "a.txt", "destination": "b.txt"})),
            (
                "search_files",
                json!({"path": ".", "pattern": "**/*.rs", "excludePatterns": ["*.md"]}),
            ),
            ("get_file_info", json!({"path": "a.txt"})),
            ("list_allowed_directories", json!({})),
        ],
    )
}
