//! `format_code` with real formatters: what changes, what does not, and what is missing (A6).

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};
use yard_core::op::Undo;
use yard_testkit::TestWorkspace;

use crate::box_setup::{newest, picture, workspace};
use crate::programs::{
    bare_path, error, prettier, python, repository, run, rust, value, workspace_showing,
};

fn paths(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect()
}

/// A workspace with everything that there is a formatter for here.
fn furnished() -> (TestWorkspace, Value) {
    let ((toolchain, path), (home, mut shown), node) = (rust(), python(), prettier());
    shown.extend([toolchain, node.clone()]);
    let workspace = workspace_showing(shown);
    symlink(home, workspace.root().join(".venv")).unwrap();
    symlink(node.join("node_modules"), workspace.root().join("node_modules")).unwrap();
    (workspace, json!({"PATH": path}))
}

#[test]
fn a6_each_file_by_its_own_formatter() {
    let (workspace, env) = furnished();
    repository(&workspace);
    workspace.put(".gitignore", "ignored/\nnode_modules\n.venv\n");
    workspace.put("Cargo.toml", "[package]\nname = \"x\"\nedition = \"2021\"\n");
    workspace.put("rustfmt.toml", "tab_spaces = 2\n");
    workspace.put("src/main.rs", "mod other;\nasync fn a(){\nlet x=1;}\nfn main(){}\n");
    workspace.put("src/other.rs", "fn  other(){}\n");
    workspace.put("py/a b.py", "x = {  'a':1 }\n");
    workspace.put("py/fine.py", "x = 1\n");
    workspace.put("py/broken.py", "def (:\n");
    workspace.put("py/new\nline.py", "x=1\n");
    workspace.put("web/a.js", "const a = {b:1}\n");
    workspace.put("web/fine.js", "const a = 1;\n");
    workspace.put("web/style.css", "a{b:c}\n");
    workspace.put("ignored/x.py", "x=1\n");
    let before = picture(workspace.root());
    let checked =
        value(&workspace, "format_code", json!({"paths": ["."], "check": true, "env": env}));
    let changed = [
        "py/a b.py",
        "py/new\nline.py",
        "src/main.rs",
        "src/other.rs",
        "web/a.js",
        "web/style.css",
    ];
    assert_eq!(paths(&checked["changed"]), changed, "{checked}");
    assert_eq!(paths(&checked["failed"]), ["py/broken.py"]);
    assert!(checked["failed"][0]["message"].as_str().unwrap().contains("1:5"), "{checked}");
    assert_eq!((&checked["changedCount"], &checked["unchanged"]), (&json!(6), &json!(2)));
    assert_eq!(checked["missing"], json!([]));
    assert_eq!(picture(workspace.root()), before, "a check changes nothing");
    let only = json!({"paths": ["src/main.rs"], "env": env});
    assert_eq!(paths(&value(&workspace, "format_code", only)["changed"]), ["src/main.rs"]);
    assert_eq!(workspace.bytes("src/other.rs"), b"fn  other(){}\n", "nobody named it");
    let formatted = "mod other;\nasync fn a() {\n  let x = 1;\n}\nfn main() {}\n";
    assert_eq!(String::from_utf8(workspace.bytes("src/main.rs")).unwrap(), formatted);
    let all = value(&workspace, "format_code", json!({"paths": ["py", "web", "src"], "env": env}));
    assert_eq!(all["changedCount"], 5, "{all}");
    assert_eq!(workspace.bytes("py/a b.py"), b"x = {\"a\": 1}\n");
    assert_eq!(workspace.bytes("web/a.js"), b"const a = { b: 1 };\n");
    let by: Vec<&str> = { all["changed"].as_array().unwrap().iter() }
        .map(|file| file["formatter"].as_str().unwrap())
        .collect();
    assert_eq!(by, ["ruff", "ruff", "rustfmt", "prettier", "prettier"]);
    let again = value(&workspace, "format_code", json!({"paths": ["."], "env": env}));
    assert_eq!((&again["changedCount"], &again["message"]), (&json!(0), &Value::Null), "{again}");
    workspace.perform(Undo::of(newest(&workspace).0)).unwrap();
    assert_eq!(workspace.bytes("web/a.js"), b"const a = {b:1}\n", "one step");
    assert_eq!(workspace.bytes("ignored/x.py"), b"x=1\n");
}

#[test]
fn a6_what_is_formatted_is_what_the_formatter_makes() {
    let (toolchain, path) = rust();
    let workspace = workspace_showing(vec![toolchain.clone()]);
    let source = "fn  main( ){println!( \"{}\" ,1 );\n if true {return}}\n";
    workspace.put("a.rs", source);
    let answer =
        value(&workspace, "format_code", json!({"paths": ["a.rs"], "env": {"PATH": path}}));
    assert_eq!(paths(&answer["changed"]), ["a.rs"]);
    let alone = tempfile::tempdir().unwrap();
    std::fs::write(alone.path().join("a.rs"), source).unwrap();
    run(Command::new(toolchain.join("bin/rustfmt")).arg(alone.path().join("a.rs")));
    assert_eq!(workspace.bytes("a.rs"), std::fs::read(alone.path().join("a.rs")).unwrap());
}

#[test]
fn a6_a_missing_formatter_says_what_to_install() {
    let workspace = workspace();
    let env = json!({"PATH": bare_path(&workspace)});
    for name in ["a.rs", "b.py", "c.go", "d.ts", "e.md", "f.xyz"] {
        workspace.put(name, "x\n");
    }
    let answer = value(&workspace, "format_code", json!({"paths": ["."], "env": env}));
    let missing: Vec<&str> = { answer["missing"].as_array().unwrap().iter() }
        .map(|missing| missing["formatter"].as_str().unwrap())
        .collect();
    assert_eq!(missing, ["gofmt", "prettier", "ruff", "rustfmt"], "{answer}");
    assert!(answer["missing"][2]["install"].as_str().unwrap().contains("pip install ruff"));
    assert_eq!((&answer["changedCount"], &answer["missing"][1]["files"]), (&json!(0), &json!(1)));
    let named = value(&workspace, "format_code", json!({"paths": ["e.md", "f.xyz"], "env": env}));
    assert_eq!(named["missing"][0]["formatter"], "prettier");
    assert_eq!(named["unknown"], json!(["f.xyz"]));
    assert_eq!(
        error(&workspace, "format_code", json!({"paths": ["nowhere.rs"]})).0,
        "FILE_NOT_FOUND"
    );
    assert_eq!(error(&workspace, "format_code", json!({"paths": []})).0, "INVALID_ARGUMENTS");
}

#[test]
fn a6_what_the_project_is_set_up_for_is_the_only_formatter() {
    let (home, shown) = python();
    let workspace = workspace_showing(shown);
    symlink(home, workspace.root().join(".venv")).unwrap();
    workspace.put("app/pyproject.toml", "[tool.ruff]\n[tool.black]\nline-length = 99\n");
    workspace.put("app/a.py", "x=1\n");
    workspace.put("lib/.ruff.toml", "");
    workspace.put("lib/a.py", "x=1\n");
    workspace.put("web/package.json", "{\"devDependencies\": {\"prettier\": \"3\"}}\n");
    workspace.put("web/a.js", "a( )\n");
    let answer =
        value(&workspace, "format_code", json!({"paths": ["app/a.py", "lib/a.py", "web/a.js"]}));
    assert_eq!(paths(&answer["changed"]), ["lib/a.py"], "{answer}");
    let missing: Vec<&str> = { answer["missing"].as_array().unwrap().iter() }
        .map(|missing| missing["formatter"].as_str().unwrap())
        .collect();
    assert_eq!(missing, ["black", "prettier"], "{answer}");
    let install = answer["missing"][0]["install"].as_str().unwrap();
    assert!(install.contains("`install_package`") && install.contains("[\"black\"]"), "{install}");
}
