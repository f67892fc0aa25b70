//! Globs mean the same in every dialect that takes them: what shells and the tools of JavaScript know beside the
//! usual signs works, or is refused with how to write it.

use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

use super::{call, each};

fn furnished() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    for path in ["/a.py", "/b.js", "/src/c.py", "/src/d.ts", "/src/test_c.py", "/we(i)rd.md"] {
        workspace.put(path, "text\n");
    }
    workspace
}

/// The paths that a search by `pattern` finds in a dialect, or why it finds none.
fn found(workspace: &TestWorkspace, toolset: &str, pattern: &str) -> Result<String, String> {
    let (tool, args) = match toolset {
        "coder" => ("glob", json!({"pattern": pattern})),
        "file" => ("file.list", json!({"pattern": pattern})),
        "codex" => ("grep_files", json!({"pattern": "text", "include": [pattern]})),
        _ => ("glob", json!({"pattern": pattern})),
    };
    let answer = call(workspace, toolset, tool, args);
    if !answer.ok {
        // `workspace` tells of a wrong argument in `fields`.
        let message = answer.body["fields"]["pattern"].as_str().or(answer.body["error"].as_str());
        return Err(message.unwrap().to_owned());
    }
    let result = &answer.body["result"];
    let paths: Vec<String> = match toolset {
        "coder" => strings(&result["files"]),
        "file" => each(&result["files"], "path").into_iter().map(str::to_owned).collect(),
        "codex" => each(&result["results"], "file").into_iter().map(str::to_owned).collect(),
        _ => {
            let files = result["matches"].as_array().unwrap().iter();
            let files = files.filter(|entry| entry["file_type"] != "folder");
            files.map(|entry| entry["path"].as_str().unwrap()[1..].to_owned()).collect()
        }
    };
    Ok(paths.join(" "))
}

fn strings(all: &Value) -> Vec<String> {
    all.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

const DIALECTS: [&str; 4] = ["workspace", "file", "coder", "codex"];

#[test]
fn extended_globs_find_what_a_shell_finds_in_every_dialect() {
    let workspace = furnished();
    for (pattern, expected) in [
        ("@(a|b).*", "a.py b.js"),
        ("*.@(js|ts)", "b.js src/d.ts"),
        ("+(a|b).py", "a.py"),
        ("**/*.+(py|ts)", "a.py src/c.py src/d.ts src/test_c.py"),
        ("?(test_)c.py", "src/c.py src/test_c.py"),
        ("*(test_)c.py", "src/c.py src/test_c.py"),
        ("!*.py", "b.js src/d.ts we(i)rd.md"),
        ("!src", "a.py b.js we(i)rd.md"),
        ("!src/**", "a.py b.js we(i)rd.md"),
        ("we(i)rd.md", "we(i)rd.md"),
        ("{a,src/c}.py", "a.py src/c.py"),
    ] {
        for toolset in DIALECTS {
            let found = found(&workspace, toolset, pattern);
            assert_eq!(found.as_deref(), Ok(expected), "{toolset}: {pattern}");
        }
    }
    let include = json!({"pattern": "text", "include": ["*.py", "!test_*"]});
    let answer = call(&workspace, "codex", "grep_files", include);
    assert_eq!(each(&answer.body["result"]["results"], "file"), ["a.py", "src/c.py"]);
    let without = json!({"pattern": "text", "glob": "!*.py"});
    let answer = call(&workspace, "file", "file.search", without);
    assert_eq!(each(&answer.body["result"]["matches"], "path"), ["b.js", "src/d.ts", "we(i)rd.md"]);
}

#[test]
fn a_glob_that_cannot_be_matched_says_how_to_write_it_in_every_dialect() {
    let workspace = furnished();
    for (pattern, word) in [("!(a).py", "begins with `!`"), ("x{1..3}.txt", "{1,2,3}")] {
        for toolset in DIALECTS {
            let why = found(&workspace, toolset, pattern).unwrap_err();
            assert!(why.contains(word), "{toolset}: {why}");
        }
        let args = json!({"path": "/", "pattern": pattern});
        let answer = call(&workspace, "filesystem", "search_files", args);
        assert!(!answer.ok, "{}", answer.body);
    }
}
