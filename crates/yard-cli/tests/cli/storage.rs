//! `toolyard storage`: what is kept, in columns that line up, and what `--clear` removes.

use serde_json::{Value, json};

use crate::support::TestWorkspace;

fn shell(workspace: &TestWorkspace, command: &str) -> Value {
    let args = json!({"command": command, "workdir": null, "timeout_ms": 60_000}).to_string();
    let ran = workspace.run(&["call", "--toolset", "codex", "shell", &args]);
    assert_eq!(ran.exit, 0, "{}", ran.stdout);
    ran.json()["result"].clone()
}

#[test]
fn storage_is_measured_by_part_and_what_can_be_made_again_is_cleared() {
    let workspace = TestWorkspace::new();
    workspace.write("/notes.txt", "kept\n");
    // Only what people ignore counts as build output.
    std::fs::write(workspace.file(".gitignore"), "target/\n").unwrap();
    let big = "mkdir -p target; head -c 3000000 /dev/urandom > target/a; head -c 2000000 /dev/zero | tr '\\0' x";
    shell(&workspace, big);
    let added = "mkdir -p $GOMODCACHE/a && head -c 1000000 /dev/urandom > $GOMODCACHE/a/b && chmod 555 $GOMODCACHE/a";
    shell(&workspace, &format!("{added}; echo mine > ~/a; rm -rf target"));
    let answer = workspace.json(&["storage"]);
    let bytes = answer["workspaces"][0]["bytes"].clone();
    assert_eq!(
        answer["workspaces"][0]["workspace"],
        workspace.root().canonicalize().unwrap().to_str().unwrap()
    );
    assert!(bytes["journal"].as_u64().unwrap() > 0, "{answer}");
    assert!(bytes["output"].as_u64().unwrap() >= 1_900_000, "{answer}");
    assert!(bytes["builds"].as_u64().unwrap() >= 2_900_000, "{answer}");
    assert!(bytes["caches"].as_u64().unwrap() >= 900_000, "{answer}");
    assert!(bytes["homes"].as_u64().unwrap() > 0, "{answer}");
    let budgets = json!({"output": 2_u64 << 30, "builds": 2_u64 << 30, "caches": 16_u64 << 30});
    assert_eq!(answer["budgets"], budgets);
    let table = workspace.run(&["storage"]).stdout;
    let lines: Vec<&str> = table.lines().collect();
    let at = lines[0].find("WORKSPACE").unwrap();
    assert!(lines[1][at..].starts_with('/'), "columns line up:\n{table}");
    assert!(lines[0].starts_with("JOURNAL"), "{table}");
    assert!(lines[2].starts_with("at most, of each workspace: output 2.0 GiB, builds 2.0 GiB"));
    let cleared = workspace.json(&["storage", "--clear"]);
    assert!(cleared["freed"].as_u64().unwrap() >= 4_900_000, "{cleared}");
    let after = workspace.json(&["storage"])["workspaces"][0]["bytes"].clone();
    for part in ["output", "builds", "caches"] {
        assert_eq!(after[part], 0, "{after}");
    }
    // The history is whole.
    assert_eq!(workspace.json(&["verify"])["problems"], json!([]));
    assert_eq!(workspace.text("notes.txt"), "kept\n");
    assert!(workspace.steps(None).len() >= 3);
}
