//! R2 in the four dialects: one rule, one place.

use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

use super::{fails, ok};

/// A tool of each dialect that reads a file, with its argument for the path and its word for outside.
const READERS: [(&str, &str, &str, &str); 4] = [
    ("file", "file.read", "path", "path_outside_workspace"),
    ("coder", "read", "filePath", "INVALID_PATH"),
    ("assistant", "read_file", "path", "INVALID_PATH"),
    ("codex", "read_file", "path", "INVALID_PATH"),
];

fn args(name: &str, path: &str) -> Value {
    json!({name: path})
}

#[test]
fn r2_relative_paths_start_at_the_root_and_absolute_ones_must_be_inside() {
    let workspace = TestWorkspace::new();
    workspace.put("/dir/a.txt", "x\n");
    let inside = format!("{}/dir/a.txt", workspace.root().display());
    for (toolset, tool, name, word) in READERS {
        for path in ["dir/a.txt", " ./dir//a.txt ", "dir/../dir/a.txt", "/workspace/dir/a.txt"] {
            ok(&workspace, toolset, tool, args(name, path));
        }
        ok(&workspace, toolset, tool, args(name, &inside));
        for path in ["/dir/a.txt", "/etc/passwd", "..", "dir/../../x", "/workspaces/dir/a.txt"] {
            let message = fails(&workspace, toolset, tool, args(name, path), word);
            assert!(message.contains("relative to the root"), "{message}");
        }
        for path in ["", " ", "a\0b", &"x".repeat(300)] {
            fails(&workspace, toolset, tool, args(name, path), word);
        }
    }
}

#[test]
fn r3_a_link_that_leaves_is_a_path_error() {
    let workspace = TestWorkspace::new();
    std::os::unix::fs::symlink("/etc/hostname", workspace.root().join("out")).unwrap();
    for (toolset, tool, name, word) in READERS {
        fails(&workspace, toolset, tool, args(name, "out"), word);
    }
}

#[test]
fn r13_no_answer_names_a_path_of_the_host() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "x\n");
    let root = workspace.root().display().to_string();
    for (toolset, tool, name, _) in READERS {
        for path in ["a.txt", "none.txt", "."] {
            let answer = super::call(&workspace, toolset, tool, args(name, path));
            assert!(!answer.body.as_str().contains(&root), "{}", answer.body);
        }
    }
}
