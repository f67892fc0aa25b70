//! `toolyard inbox`: what waits in all folders of the data folder, and what to type for it.

use serde_json::json;

use crate::support::TestWorkspace;

#[test]
fn what_waits_in_every_folder_is_listed_oldest_first_with_what_to_type() {
    let workspace = TestWorkspace::new();
    assert_eq!(workspace.run(&["inbox"]).stdout, "nothing waits for you\n");
    workspace.write("/a.txt", "one\n");
    let rules = workspace.temp.path().join("rules.json");
    std::fs::write(&rules, r#"{"rules": [{"effect": "remove", "then": "ask"}]}"#).unwrap();
    let set = workspace.run(&["policy", "set", rules.to_str().unwrap()]);
    assert_eq!(set.exit, 0, "{}", set.stderr);
    let asked = workspace.run(&["call", "rm", r#"{"path": "/a.txt"}"#]);
    assert!(asked.stdout.contains("approval_pending"), "{} {}", asked.stdout, asked.stderr);
    let question = json!({"questions": [{"name": "q", "question": "Which color?",
        "schema": {"type": "string"}}], "wait_ms": 0});
    workspace.run(&["call", "ask_user", &question.to_string()]);

    let shown = workspace.json(&["inbox"]);
    let entries = shown["entries"].as_array().unwrap();
    let kinds: Vec<_> = entries.iter().map(|entry| entry["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["approval", "question"], "{shown}");
    assert_eq!(entries[0]["what"], "workspace.rm: remove /a.txt");
    assert_eq!(entries[1]["what"], "Which color?");
    let root = workspace.root().canonicalize().unwrap();
    assert_eq!(entries[0]["root"], root.to_str().unwrap());

    // From another folder: what is typed names the folder.
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = workspace.bare();
    command.current_dir(elsewhere.path()).arg("--data-dir").arg(workspace.data()).arg("inbox");
    let table = crate::support::Ran::from(command.output().unwrap());
    let id = entries[0]["id"].as_str().unwrap();
    let typed = format!("toolyard --root {} approve {id}", root.display());
    assert!(table.stdout.contains(&typed), "{}", table.stdout);
    assert!(entries[1]["to_decide"].as_str().unwrap().contains(" answer "), "{shown}");
    assert_eq!(workspace.json(&["inbox", "--later"])["entries"], json!([]));
}
