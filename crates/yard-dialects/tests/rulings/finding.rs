//! Rulings about listing and searching.

use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

use crate::support::{each, fails, invalid, ok};

#[test]
fn r8_walks_skip_git_and_what_ignore_files_exclude() {
    let workspace = TestWorkspace::new();
    for path in ["/.git/config", "/.hidden", "/kept.txt", "/dropped.log", "/build/x.txt"] {
        workspace.put(path, "needle\n");
    }
    workspace.put("/.gitignore", "*.log\nbuild/\n");
    let grep = ok(&workspace, "grep", json!({"pattern": "needle"}));
    assert_eq!(each(&grep["matches"], "path"), ["/.hidden", "/kept.txt"]);
    assert!(grep["ignored"].as_u64().unwrap() >= 2, "{grep}");
    let all = ok(&workspace, "grep", json!({"pattern": "needle", "include_ignored": true}));
    assert_eq!(
        each(&all["matches"], "path"),
        ["/.hidden", "/build/x.txt", "/dropped.log", "/kept.txt"]
    );
    let find = ok(&workspace, "find", json!({"name": "*.txt"}));
    assert_eq!(each(&find["matches"], "path"), ["/kept.txt"]);
    let glob = ok(&workspace, "glob", json!({"pattern": "*.txt", "include_ignored": true}));
    assert_eq!(each(&glob["matches"], "path"), ["/build/x.txt", "/kept.txt"]);
    assert!(each(&ok(&workspace, "ls", json!({}))["entries"], "path").contains(&"/.git"));
    let recursive = ok(&workspace, "ls", json!({"recursive": true, "limit": 0}));
    assert!(!each(&recursive["entries"], "path").iter().any(|path| path.starts_with("/.git/")));
}

/// Pages through a tool by `next` and `cursor`; every page is within the limit.
fn paged(workspace: &TestWorkspace, tool: &str, mut args: Value, list: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for _ in 0..1000 {
        let page = ok(workspace, tool, args.clone());
        let items = page[list].as_array().unwrap().clone();
        assert!(items.len() as u64 <= args["limit"].as_u64().unwrap());
        all.extend(items);
        assert_eq!(page["truncated"], !page["next"].is_null(), "{page}");
        if page["next"].is_null() {
            return all;
        }
        args["cursor"] = page["next"].clone();
    }
    panic!("{tool} never ends");
}

#[test]
fn r8_a_cut_answer_goes_on_at_next() {
    let workspace = TestWorkspace::new();
    for path in ["/a b .txt", "/a", "/a-b/x", "/a-b/y", "/z:9", "/sub/deep/é.txt"] {
        workspace.put(path, "x\nx\n\nx\n");
    }
    for (tool, list, args) in [
        ("ls", "entries", json!({"recursive": true})),
        ("glob", "matches", json!({"pattern": "*"})),
        ("find", "matches", json!({})),
        ("grep", "matches", json!({"pattern": "x"})),
    ] {
        let with = |limit: u64| {
            let mut args = args.clone();
            args["limit"] = json!(limit);
            args
        };
        let whole = ok(&workspace, tool, with(0))[list].as_array().unwrap().clone();
        assert!(whole.len() > 8, "{tool}");
        for limit in [1, 2, 3, 7] {
            assert_eq!(paged(&workspace, tool, with(limit), list), whole, "{tool} by {limit}");
        }
    }
    invalid(&workspace, "grep", json!({"pattern": "x", "cursor": "nonsense"}), "cursor");
}

#[test]
fn r9_postgres_escapes_look_around_and_bad_patterns() {
    let workspace = TestWorkspace::new();
    workspace.put("/t.txt", "word\nwordy\nsword\nfoofoo\nfoobar\n");
    let grep = |pattern: &str| {
        let result = ok(&workspace, "grep", json!({"pattern": pattern}));
        let texts: Vec<String> =
            each(&result["matches"], "line_text").into_iter().map(str::to_owned).collect();
        texts.join(" ")
    };
    assert_eq!(grep("\\mword\\M"), "word");
    assert_eq!(grep("\\yword"), "word wordy");
    assert_eq!(grep("[[:<:]]word[[:>:]]"), "word");
    assert_eq!(grep("^[[:alpha:]]{4}$"), "word");
    assert_eq!(grep("foo(?!bar)"), "foofoo");
    assert_eq!(grep("(foo)\\1"), "foofoo");
    for bad in ["(", "[a", "*"] {
        invalid(&workspace, "grep", json!({"pattern": bad}), "pattern");
    }
    // A pattern is never an option.
    assert_eq!(grep("--files"), "");
}

#[test]
fn w4_ls_lists_what_is_on_disk_only() {
    let workspace = TestWorkspace::new();
    workspace.put("/z-folder/file", "12345");
    workspace.put("/b", "123");
    ok(&workspace, "touch", json!({"path": "/a"}));
    let result = ok(&workspace, "ls", json!({}));
    assert_eq!(each(&result["entries"], "path"), ["/z-folder", "/a", "/b"]);
    assert_eq!((&result["total"], &result["truncated"]), (&json!(3), &json!(false)));
    let [folder, known, external] = result["entries"].as_array().unwrap().as_slice() else {
        panic!("{result}")
    };
    assert_eq!(
        (&folder["synced"], &folder["id"], &folder["size"]),
        (&json!(false), &Value::Null, &Value::Null)
    );
    assert_eq!((&known["synced"], &known["size"]), (&json!(true), &json!(0)));
    assert_eq!((&external["synced"], &external["size"]), (&json!(false), &json!(3)));
    let cut = ok(&workspace, "ls", json!({"limit": 2}));
    assert_eq!((&cut["total"], &cut["truncated"]), (&json!(3), &json!(true)));
}

#[test]
fn w10_grep_context_and_path_patterns() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/Main.RS", "a\nb\nneedle\nc\nd\n");
    workspace.put("/src/deep/x_y.txt", "needle\n");
    workspace.put("/other/xzy.txt", "needle\n");
    let grep = |args: Value| {
        let mut args = args;
        args["pattern"] = json!("needle");
        ok(&workspace, "grep", args)
    };
    let paths = |filter: &str| {
        let result = grep(json!({"path_pattern": filter}));
        each(&result["matches"], "path").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(paths("%.rs"), ["/src/Main.RS"]);
    assert_eq!(paths("src/*"), ["/src/Main.RS", "/src/deep/x_y.txt"]);
    assert_eq!(paths("/src/%"), ["/src/Main.RS", "/src/deep/x_y.txt"]);
    assert_eq!(paths("main"), ["/src/Main.RS"]);
    assert_eq!(paths("x_y"), ["/src/deep/x_y.txt"]);
    assert_eq!(paths("*/x?y.txt"), ["/other/xzy.txt", "/src/deep/x_y.txt"]);
    assert_eq!(paths("*.tx"), Vec::<String>::new());
    let main = |args: Value| grep(args)["matches"].as_array().unwrap().last().unwrap().clone();
    let mut found = main(json!({"path": "/src/Main.RS", "context": 1}));
    assert_eq!((&found["before_context"], &found["after_context"]), (&json!(["b"]), &json!(["c"])));
    found = main(
        json!({"path": "/src/Main.RS", "before_context": 5, "after_context": 1, "context": 0}),
    );
    assert_eq!(
        (&found["before_context"], &found["after_context"]),
        (&json!(["a", "b"]), &json!(["c"]))
    );
    found = main(json!({"path": "/src/Main.RS"}));
    assert_eq!((found.get("before_context"), found.get("after_context")), (None, None));
    let cut = grep(json!({"limit": 1}));
    assert_eq!((&cut["truncated"], cut["matches"].as_array().unwrap().len()), (&json!(true), 1));
}

#[test]
fn w11_glob() {
    let workspace = TestWorkspace::new();
    for path in ["/top.md", "/docs/a.md", "/docs/deep/b.md", "/docs/deep/c.txt"] {
        workspace.put(path, "123");
    }
    let glob = |args: Value| {
        let result = ok(&workspace, "glob", args);
        each(&result["matches"], "path").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(glob(json!({"pattern": "*.md"})), ["/docs/a.md", "/docs/deep/b.md", "/top.md"]);
    assert_eq!(
        glob(json!({"pattern": "deep/*", "path": "/docs"})),
        ["/docs/deep/b.md", "/docs/deep/c.txt"]
    );
    assert_eq!(glob(json!({"pattern": "/docs/*.md", "path": "/docs"})), ["/docs/a.md"]);
    assert_eq!(glob(json!({"pattern": "deep"})), ["/docs/deep"]);
    let both = ok(&workspace, "glob", json!({"patterns": ["*.txt", "top.*"]}));
    assert_eq!(each(&both["matches"], "path"), ["/docs/deep/c.txt", "/top.md"]);
    assert_eq!((&both["patterns"], both.get("pattern")), (&json!(["*.txt", "top.*"]), None));
    assert_eq!(both["matches"][0]["size"], 3);
    let cut = ok(&workspace, "glob", json!({"pattern": "*", "limit": 1}));
    assert_eq!(cut["truncated"], true);
    invalid(&workspace, "glob", json!({"pattern": "a/../b"}), "pattern");
    invalid(&workspace, "glob", json!({"patterns": ["a", "[z-a]"]}), "patterns");
    invalid(&workspace, "glob", json!({}), "pattern");
    fails(&workspace, "glob", json!({"pattern": "*", "path": "/none"}), 404, "NOT_FOUND");
    invalid(&workspace, "glob", json!({"pattern": "*", "path": "/top.md"}), "path");
}

#[test]
fn w12_find() {
    let workspace = TestWorkspace::new();
    workspace.put("/d/small", "1");
    workspace.put("/d/medium", "12345");
    workspace.put("/d/sub/large", "1234567890");
    let find = |args: Value| {
        let result = ok(&workspace, "find", args);
        each(&result["matches"], "path").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        find(json!({"path": "/d", "min_size": 5, "max_size": 10})),
        ["/d/medium", "/d/sub/large"]
    );
    assert_eq!(find(json!({"path": "/d", "max_size": 5})), ["/d/medium", "/d/small"]);
    assert_eq!(
        find(json!({"path": "/d", "recursive": false})),
        ["/d/medium", "/d/small", "/d/sub"]
    );
    assert_eq!(find(json!({"path": "/d", "file_type": "folder"})), ["/d/sub"]);
    assert_eq!(
        find(json!({"path": "/d", "file_type": "document", "name": "?arg[e]"})),
        ["/d/sub/large"]
    );
    assert_eq!(find(json!({"path": "/d", "name": "d"})), Vec::<String>::new());
    assert!(
        invalid(&workspace, "find", json!({"file_type": "film"}), "file_type").contains("document")
    );
    fails(&workspace, "find", json!({"path": "/none"}), 404, "NOT_FOUND");
}
