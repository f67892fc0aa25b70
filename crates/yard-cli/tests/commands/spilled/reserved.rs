//! Nothing changes where it is, and what is there already cannot be seen.

use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

use super::{FOLDER, call, files, ok, read, spill};
use crate::box_setup::{shell, workspace};

#[track_caller]
fn refused(workspace: &TestWorkspace, toolset: &str, tool: &str, args: Value) {
    let answer = call(workspace, toolset, tool, args.clone());
    assert!(!answer.ok, "{toolset} {tool} {args}: {}", answer.body);
    let reply = answer.body.to_string();
    assert!(reply.contains("is reserved"), "{toolset} {tool} {args}: {reply}");
    assert!(reply.contains("read, searched and listed"), "it says what can be done: {reply}");
}

#[test]
fn x4_no_tool_changes_moves_or_removes_it() {
    let workspace = workspace();
    workspace.put("/a.txt", "x\n");
    let path = spill(&workspace, 200_000);
    let before = std::fs::read(&files(&workspace)[0]).unwrap();
    for at in [path.clone(), format!("{FOLDER}/mine.txt"), FOLDER.to_owned()] {
        let full = format!("/{at}");
        let patch = format!("*** Begin Patch\n*** Add File: {at}\n+x\n*** End Patch");
        let edit = json!({"path": full, "old_string": "1", "new_string": "2"});
        for (toolset, tool, args) in [
            ("workspace", "write", json!({"path": full, "content": "x", "overwrite": true})),
            ("workspace", "touch", json!({"path": full})),
            ("workspace", "mkdir", json!({"path": full})),
            ("workspace", "rm", json!({"path": full})),
            ("workspace", "mv", json!({"source": full, "destination": "/b.txt"})),
            ("workspace", "mv", json!({"source": "/a.txt", "destination": full})),
            ("workspace", "edit", edit),
            ("file", "file.write", json!({"path": at, "content": "x"})),
            ("file", "file.delete", json!({"path": at})),
            ("coder", "write", json!({"filePath": at, "content": "x"})),
            ("assistant", "delete_file", json!({"path": at})),
            ("assistant", "write_file", json!({"path": at, "content": "x"})),
            ("codex", "apply_patch_freeform", json!({"patch": patch})),
        ] {
            refused(&workspace, toolset, tool, args);
        }
    }
    assert!(std::fs::read(&files(&workspace)[0]).unwrap() == before);
    assert_eq!((files(&workspace).len(), workspace.bytes("/a.txt")), (1, b"x\n".to_vec()));
    assert!(!workspace.has(&format!("/{FOLDER}")));
}

#[test]
fn x4_a_command_that_writes_there_learns_that_it_was_dropped() {
    let workspace = workspace();
    let reply = shell(
        &workspace,
        &format!("mkdir {FOLDER}; echo x > {FOLDER}/x; echo y > beside; cat {FOLDER}/x"),
    );
    let message = reply["message"].as_str().unwrap();
    assert!(message.contains("nothing that the command changed was kept"), "{reply}");
    assert!(message.contains("is reserved"), "{reply}");
    assert_eq!((&reply["stdout"], workspace.has("/beside")), (&json!("x\n"), false));
}

#[test]
fn x4_a_real_file_of_that_name_is_shadowed_and_verify_says_so() {
    let workspace = workspace();
    let path = spill(&workspace, 200_000);
    workspace.put(&format!("/{path}"), "REAL");
    workspace.put(&format!("/{FOLDER}/other"), "REAL");
    std::os::unix::fs::symlink(&path, workspace.root().join("link")).unwrap();
    std::os::unix::fs::symlink(FOLDER, workspace.root().join("folder")).unwrap();
    for asked in [path.as_str(), "link"] {
        let page = read(&workspace, asked).body["result"].clone();
        assert_eq!(page["text"], "        0\n", "{asked}: {page}");
    }
    assert!(!read(&workspace, &format!("{FOLDER}/other")).ok);
    assert!(!read(&workspace, "folder/other").ok, "nor through a link");
    for (toolset, tool, args) in [
        ("workspace", "grep", json!({"pattern": "REAL", "include_ignored": true})),
        ("workspace", "ls", json!({"path": format!("/{FOLDER}")})),
        ("workspace", "ls", json!({"path": "/folder"})),
        ("workspace", "ls", json!({"path": "/"})),
    ] {
        let reply = ok(&workspace, toolset, tool, args.clone()).to_string();
        assert!(!reply.contains("REAL") && !reply.contains("other"), "{tool} {args}: {reply}");
    }
    let reply = shell(&workspace, &format!("cat {FOLDER}/other; rm -rf {FOLDER}; echo x > new"));
    assert!(!reply["stdout"].as_str().unwrap().contains("REAL"), "{reply}");
    assert!(workspace.has("/new") && workspace.has(&format!("/{FOLDER}/other")), "{reply}");
    let verified = workspace.perform(yard_core::op::Verify).unwrap();
    let shadowed: Vec<String> = verified.shadowed.iter().map(ToString::to_string).collect();
    assert_eq!((shadowed, verified.problems), (vec![format!("/{FOLDER}")], vec![]));
}

#[test]
fn what_no_tool_shows_no_box_shows_either() {
    let workspace = workspace();
    for name in [yard_core::path::RESERVED_NAME, FOLDER] {
        workspace.put(&format!("/{name}/inside"), "REAL");
        let reply = shell(&workspace, &format!("cat {name}/inside; ls -A {name}"));
        assert_eq!(reply["stdout"], "", "{name}: {reply}");
    }
}
