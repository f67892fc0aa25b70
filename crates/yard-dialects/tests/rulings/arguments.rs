//! Rulings about arguments and paths.

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;
use yard_testkit::TestWorkspace;

use crate::support::{each, fails, invalid, lines, ok, on_disk};

#[test]
fn r1_arguments_are_taken_as_models_send_them() {
    let workspace = TestWorkspace::new();
    workspace.put("/a/b.txt", lines(10));
    let result = ok(&workspace, "ls", json!({"recursive": "true", "limit": "1"}));
    assert_eq!(each(&result["entries"], "path"), ["/a"]);
    let result = ok(&workspace, "ls", json!({"recursive": 1, "limit": 5.0, "path": null}));
    assert_eq!(each(&result["entries"], "path"), ["/a", "/a/b.txt"]);
    let result = ok(&workspace, "read", json!("{\"path\": \"/a/b.txt\", \"offset\": \"-1\"}"));
    assert_eq!(result["content"], "line 9\n");
}

#[test]
fn r1_what_is_wrong_is_named() {
    let workspace = TestWorkspace::new();
    assert!(
        invalid(&workspace, "read", json!({"file_path": "/a"}), "file_path").contains("`path`")
    );
    assert!(
        invalid(&workspace, "read", json!({"file_path": "/a"}), "path")
            .starts_with("missing; expected a string")
    );
    assert!(
        invalid(&workspace, "read", json!({"path": "/a", "limit": "ten"}), "limit")
            .contains("an integer")
    );
    assert!(invalid(&workspace, "read", json!([]), "arguments").contains("an object"));
    let body = fails(&workspace, "reed", json!({}), 404, "NOT_FOUND");
    assert!(body["error"].as_str().unwrap().contains("did you mean 'read'"), "{body}");
}

#[test]
fn r2_paths_are_forgiven_but_never_outside() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": " docs//a.txt ", "content": "a"}));
    let host = on_disk(&workspace, "/docs/a.txt");
    for path in [
        "/docs/a.txt",
        "docs/a.txt",
        "/docs/./x/../a.txt",
        "//docs///a.txt",
        host.to_str().unwrap(),
    ] {
        let result = ok(&workspace, "read", json!({"path": path}));
        assert_eq!(
            (&result["content"], &result["path"]),
            (&json!("a"), &json!("/docs/a.txt")),
            "{path}"
        );
    }
    let gone = on_disk(&workspace, "/gone").to_str().unwrap().to_owned();
    for tool in ["cat", "read_multiple_files"] {
        let files = ok(&workspace, tool, json!({"paths": [gone, "gone", "/.."]}));
        assert_eq!(each(&files["files"], "path"), ["/gone", "/gone", "/.."], "{tool}");
    }
    for path in ["/..", "../x", "/docs/../../x"] {
        for tool in ["read", "rm", "touch", "mkdir", "ls", "file_info"] {
            invalid(&workspace, tool, json!({"path": path}), "path");
        }
    }
    invalid(&workspace, "read", json!({"path": ""}), "path");
    invalid(&workspace, "read", json!({"path": "a\u{0}b"}), "path");
    invalid(
        &workspace,
        "mv",
        json!({"source": "/docs/a.txt", "destination": "/../x"}),
        "destination",
    );
    invalid(&workspace, "mv", json!({"source": "/../x", "destination": "/y"}), "source");
}

#[test]
fn r2_what_is_at_a_path_exactly_as_it_was_sent_comes_first() {
    let workspace = TestWorkspace::new();
    workspace.put("/sp", "without");
    workspace.put("/sp ", "with");
    assert_eq!(ok(&workspace, "read", json!({"path": "/sp "}))["content"], "with");
    assert_eq!(ok(&workspace, "read", json!({"path": "/sp"}))["content"], "without");
    // Nothing is called so: white space around a path means nothing.
    assert_eq!(ok(&workspace, "read", json!({"path": " /sp"}))["content"], "without");
    let edit = json!({"path": "/sp ", "old_string": "with", "new_string": "changed"});
    ok(&workspace, "edit", edit);
    assert_eq!(
        (workspace.bytes("/sp "), workspace.bytes("/sp")),
        (b"changed".into(), b"without".into())
    );
    for toolset in ["file", "coder", "assistant"] {
        let (tool, args) = match toolset {
            "file" => ("file.read", json!({"path": "sp "})),
            "coder" => ("read", json!({"filePath": "sp "})),
            _ => ("read_file", json!({"path": "sp "})),
        };
        let call = workspace.call_context();
        let answer = workspace.catalog().call(toolset, tool, args, &workspace.session(), &call);
        assert!(answer.body.to_string().contains("changed"), "{toolset}: {}", answer.body);
    }
    ok(&workspace, "rm", json!({"path": "/sp "}));
    assert!(!workspace.has("/sp ") && workspace.has("/sp"));
}

#[test]
fn r2_names_are_kept_as_given() {
    let workspace = TestWorkspace::new();
    for name in ["/Ünïcode Näme.TXT", "/e\u{301}", "/é", "/UPPER", "/upper"] {
        ok(&workspace, "write", json!({"path": name, "content": name}));
    }
    for name in ["/Ünïcode Näme.TXT", "/e\u{301}", "/é", "/UPPER", "/upper"] {
        assert_eq!(ok(&workspace, "read", json!({"path": name}))["content"], name);
    }
}

#[test]
fn r3_links_inside_are_followed_and_stay() {
    let workspace = TestWorkspace::new();
    workspace.put("/target.txt", "one\n");
    symlink("target.txt", on_disk(&workspace, "/link.txt")).unwrap();
    assert_eq!(ok(&workspace, "read", json!({"path": "/link.txt"}))["content"], "one\n");
    ok(&workspace, "edit", json!({"path": "/link.txt", "old_string": "one", "new_string": "two"}));
    assert_eq!(workspace.bytes("/target.txt"), b"two\n");
    assert!(on_disk(&workspace, "/link.txt").is_symlink());
    ok(&workspace, "rm", json!({"path": "/link.txt"}));
    assert!(!on_disk(&workspace, "/link.txt").is_symlink());
    assert_eq!(workspace.bytes("/target.txt"), b"two\n");
}

#[test]
fn r3_links_that_leave_are_path_errors() {
    let workspace = TestWorkspace::new();
    let outside = workspace.root().parent().unwrap().to_owned();
    symlink(&outside, on_disk(&workspace, "/out")).unwrap();
    symlink("/etc/hostname", on_disk(&workspace, "/host")).unwrap();
    for (tool, args) in [
        ("read", json!({"path": "/host"})),
        ("read", json!({"path": "/out/secret"})),
        ("ls", json!({"path": "/out"})),
        ("write", json!({"path": "/out/new.txt", "content": "x"})),
        ("write", json!({"path": "/host", "content": "x", "overwrite": true})),
        ("mkdir", json!({"path": "/out/new"})),
    ] {
        invalid(&workspace, tool, args, "path");
    }
    assert!(!outside.join("new.txt").exists() && !outside.join("new").exists());
}

#[test]
fn r3_fifos_are_never_opened() {
    let workspace = TestWorkspace::new();
    assert!(Command::new("mkfifo").arg(on_disk(&workspace, "/pipe")).status().unwrap().success());
    invalid(&workspace, "read", json!({"path": "/pipe"}), "path");
    let cat = ok(&workspace, "cat", json!({"paths": ["/pipe"]}));
    assert!(cat["files"][0]["error"].is_string());
    assert_eq!(ok(&workspace, "grep", json!({"pattern": "x"}))["matches"], json!([]));
}
