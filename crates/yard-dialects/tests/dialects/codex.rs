//! The dialect `codex`, by the rulings X1 to X3 of `docs/rulings.md`. In the examples a `\\n` stands for a newline.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

use super::each;

#[track_caller]
fn ok(workspace: &TestWorkspace, tool: &str, args: Value) -> Value {
    super::ok(workspace, "codex", tool, args)
}

#[track_caller]
fn fails(workspace: &TestWorkspace, tool: &str, args: Value, word: &str) -> String {
    super::fails(workspace, "codex", tool, args, word)
}

/// The schemas of the document, without titles and with our own descriptions.
#[test]
fn x1_schemas_are_strict() {
    let workspace = TestWorkspace::new();
    let patch = json!({"patch": {"type": "string"}});
    for (tool, properties) in [
        (
            "list_dir",
            json!({
                "path": {"default": ".", "type": "string"},
                "depth": {"default": 2, "minimum": 0, "type": "integer"},
                "offset": {"default": 0, "minimum": 0, "type": "integer"},
                "limit": {"default": 200, "minimum": 1, "type": "integer"}
            }),
        ),
        (
            "read_file",
            json!({
                "path": {"type": "string"},
                "offset": {"default": 0, "minimum": 0, "type": "integer"},
                "limit": {"default": 400, "minimum": 1, "type": "integer"},
                "mode": {"default": "slice", "type": "string"},
                "indent": {"default": "    ", "type": "string"}
            }),
        ),
        (
            "grep_files",
            json!({
                "pattern": {"type": "string"},
                "path": {"default": ".", "type": "string"},
                "include": {
                    "anyOf": [{"items": {"type": "string"}, "type": "array"}, {"type": "null"}],
                    "default": null
                },
                "limit": {"default": 200, "minimum": 1, "type": "integer"}
            }),
        ),
        ("apply_patch_json", patch.clone()),
        ("apply_patch_freeform", patch),
    ] {
        let mut schema = workspace.catalog().get("codex", tool).unwrap().input_schema().clone();
        for (name, property) in schema["properties"].as_object_mut().unwrap() {
            let about = property.as_object_mut().unwrap().remove("description");
            assert!(about.is_some(), "{tool}.{name}");
        }
        let all: Vec<&String> = properties.as_object().unwrap().keys().collect();
        let expected = json!({
            "type": "object", "properties": properties, "required": all,
            "additionalProperties": false
        });
        assert_eq!(schema, expected, "{tool}");
    }
}

#[test]
fn x1_an_argument_that_is_left_out_has_its_default() {
    let workspace = TestWorkspace::new();
    workspace.put("/a/b/c.txt", "x\n");
    assert_eq!(ok(&workspace, "list_dir", json!({}))["entries"], json!(["a/", "a/b/"]));
    assert_eq!(ok(&workspace, "read_file", json!({"path": "a/b/c.txt"}))["text"], "x\n");
    let all = json!({"pattern": "x", "path": null, "include": null, "limit": null});
    assert_eq!(ok(&workspace, "grep_files", all)["results"][0]["file"], "a/b/c.txt");
    fails(&workspace, "list_dir", json!({"include_ignored": true}), "INVALID_ARGUMENTS");
}

/// The example of `list_dir`.
#[test]
fn x2_directories_come_first_and_are_marked() {
    let workspace = TestWorkspace::new();
    workspace.put("/README.md", "");
    workspace.put("/pyproject.toml", "");
    std::fs::create_dir(workspace.root().join("src")).unwrap();
    let args = json!({"path": ".", "depth": 2, "offset": 0, "limit": 200});
    let reply = ok(&workspace, "list_dir", args);
    assert_eq!(reply["entries"], json!(["src/", "README.md", "pyproject.toml"]));
}

#[test]
fn x2_entries_come_breadth_first_relative_to_the_root() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/b/deep.txt", "");
    workspace.put("/src/a.txt", "");
    workspace.put("/src/b/c/deeper.txt", "");
    symlink("a.txt", workspace.root().join("src/link")).unwrap();
    let list = |depth: u64| ok(&workspace, "list_dir", json!({"path": "src", "depth": depth}));
    let own = json!(["src/b/", "src/a.txt", "src/link@"]);
    assert_eq!(list(0)["entries"], own);
    assert_eq!(list(1)["entries"], own);
    let two = json!(["src/b/", "src/a.txt", "src/link@", "src/b/c/", "src/b/deep.txt"]);
    assert_eq!(list(2)["entries"], two);
    let page = json!({"path": "src", "depth": 9, "offset": 3, "limit": 2});
    let page = ok(&workspace, "list_dir", page);
    assert_eq!(page["entries"], json!(["src/b/c/", "src/b/deep.txt"]));
    assert_eq!((&page["truncated"], &page["total"]), (&json!(true), &json!(6)));
    fails(&workspace, "list_dir", json!({"path": "none"}), "FILE_NOT_FOUND");
    fails(&workspace, "list_dir", json!({"path": "/etc"}), "INVALID_PATH");
}

/// The example of `read_file`.
#[test]
fn a_slice_is_the_text_as_it_is() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/main.py", "def hello():\n    return 'hi'\n");
    let args = json!({
        "path": "src/main.py", "offset": 0, "limit": 120, "mode": "slice", "indent": "    "
    });
    let reply = ok(&workspace, "read_file", args);
    assert_eq!(reply["text"], "def hello():\n    return 'hi'\n");
    assert_eq!(reply["truncated"], false);
    let args = json!({"path": "src/main.py", "offset": 1, "limit": 1, "mode": "indentation",
        "indent": "> "});
    let reply = ok(&workspace, "read_file", args);
    assert_eq!(
        (&reply["text"], &reply["truncated"]),
        (&json!(">     return 'hi'\n"), &json!(false))
    );
    let args = json!({"path": "src/main.py", "limit": 1});
    assert_eq!(ok(&workspace, "read_file", args)["truncated"], true);
    let args = json!({"path": "src/main.py", "mode": "tree"});
    assert!(fails(&workspace, "read_file", args, "INVALID_ARGUMENTS").contains("indentation"));
}

/// The example of `grep_files`. X2 overrides: `file` is relative to the workspace root.
#[test]
fn x2_matches_are_grouped_by_file() {
    let workspace = TestWorkspace::new();
    let text = format!("{}# TODO refine error handling\n", "\n".repeat(13));
    workspace.put("/src/utils/helpers.py", text);
    workspace.put("/src/notes.md", "TODO\n");
    let args = json!({"pattern": "TODO", "path": "src", "include": ["*.py"], "limit": 50});
    let reply = ok(&workspace, "grep_files", args);
    assert_eq!(
        reply["results"],
        json!([{
            "file": "src/utils/helpers.py",
            "matches": [{"line_num": 14, "line": "# TODO refine error handling"}]
        }])
    );
    workspace.put("/src/a.py", "TODO 1\nno\nTODO 2\n");
    let reply = ok(&workspace, "grep_files", json!({"pattern": "TODO", "limit": 3}));
    assert_eq!(each(&reply["results"], "file"), ["src/a.py", "src/notes.md"]);
    assert_eq!(reply["results"][0]["matches"].as_array().unwrap().len(), 2);
    assert_eq!(reply["truncated"], true);
    fails(&workspace, "grep_files", json!({"pattern": "("}), "INVALID_ARGUMENTS");
}

/// The examples of `apply_patch_json` and `apply_patch_freeform`.
#[test]
fn x3_either_tool_takes_either_form() {
    let unified = "--- a/file.txt\n+++ b/file.txt\n@@ -1,1 +1,1 @@\n-old\n+new\n";
    let envelope = "*** Begin Patch\n*** Update File: file.txt\n@@\n-old\n+new\n*** End Patch\n";
    for tool in ["apply_patch_json", "apply_patch_freeform"] {
        for patch in [unified, envelope] {
            let workspace = TestWorkspace::new();
            workspace.put("/file.txt", "old\n");
            let reply = ok(&workspace, tool, json!({"patch": patch}));
            let file = &reply["results"][0];
            let shown = (&file["path"], &file["bytes_written"], &file["created"]);
            assert_eq!(shown, (&json!("file.txt"), &json!(4), &json!(false)));
            assert_eq!(file.get("placed"), None, "it is exactly where the patch says");
            assert_eq!(workspace.bytes("/file.txt"), b"new\n");
        }
    }
}

#[test]
fn x3_the_answer_names_the_pass() {
    let workspace = TestWorkspace::new();
    workspace.put("/drift.txt", "one\ntwo\nthree\nold\n");
    workspace.put("/loose.txt", "  old  \n");
    let drifted = "--- a/drift.txt\n+++ b/drift.txt\n@@ -1,1 +1,1 @@\n-old\n+new\n";
    let reply = ok(&workspace, "apply_patch_json", json!({"patch": drifted}));
    let placed = &reply["results"][0]["placed"][0];
    assert_eq!((&placed["hunk"], &placed["line"]), (&json!(1), &json!(4)));
    assert_eq!(placed["pass"], "the only exact match");
    let loose = "*** Begin Patch\n*** Update File: loose.txt\n-old\n+new\n*** End Patch\n";
    let reply = ok(&workspace, "apply_patch_freeform", json!({"patch": loose}));
    let pass = reply["results"][0]["placed"][0]["pass"].as_str().unwrap();
    assert!(pass.contains("white space"), "{pass}");
    assert_eq!(workspace.bytes("/loose.txt"), b"  new\n");
}

#[test]
fn x3_add_and_move_refuse_to_overwrite_and_nothing_is_half_done() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "a\n");
    workspace.put("/b.txt", "b\n");
    let add =
        "*** Begin Patch\n*** Add File: new.txt\n+x\n*** Add File: a.txt\n+x\n*** End Patch\n";
    fails(&workspace, "apply_patch_freeform", json!({"patch": add}), "CONFLICT");
    assert!(!workspace.has("/new.txt"));
    let over = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n*** End Patch\n";
    fails(&workspace, "apply_patch_freeform", json!({"patch": over}), "CONFLICT");
    let rename = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: c/d.txt\n*** End Patch\n";
    let reply = ok(&workspace, "apply_patch_freeform", json!({"patch": rename}));
    assert_eq!(reply["results"][0]["path"], "c/d.txt");
    assert_eq!(reply["results"][0]["moved_from"], "a.txt");
    assert_eq!(workspace.bytes("/c/d.txt"), b"a\n");
    let root = workspace.root().display();
    let onto = format!(
        "*** Begin Patch\n*** Update File: b.txt\n*** Move to: {root}/b.txt\n-b\n+B\n*** End Patch\n"
    );
    ok(&workspace, "apply_patch_freeform", json!({"patch": onto}));
    assert_eq!(workspace.bytes("/b.txt"), b"B\n");
    let message =
        fails(&workspace, "apply_patch_json", json!({"patch": "hello"}), "INVALID_ARGUMENTS");
    assert!(message.contains("*** Begin Patch"), "it shows both forms: {message}");
}

#[test]
fn r2_white_space_in_the_names_of_a_patch_is_kept() {
    let workspace = TestWorkspace::new();
    let patch = "--- /dev/null\n+++ \"b/ a \"\n@@ -0,0 +1 @@\n+x\n";
    ok(&workspace, "apply_patch_json", json!({"patch": patch}));
    assert_eq!(workspace.bytes("/ a "), b"x\n");
}
