//! W18 over stdio: an agent's own calls are files in `/chats`, and no search, glob, find or listing that
//! starts above goes in. Connections that change nothing make no chat. `YARD_SOAK=1` makes ten times as many
//! calls and connections.

use serde_json::{Value, json};

use crate::client::{Setup, text};

const WORD: &str = "needle_word";

/// Connections and calls that are made before anybody searches.
fn counts() -> (usize, usize) {
    if std::env::var_os("YARD_SOAK").is_some() { (100, 200) } else { (10, 20) }
}

/// Sources with a word that the calls quote, too.
fn sources() -> Setup {
    let setup = Setup::new();
    for name in ["src/main.rs", "src/lib.rs", "src/deep/parser.rs", "docs/notes.md"] {
        setup.put(name, &format!("first line\nfn {WORD}() {{}}\n"));
    }
    setup
}

/// The titles of the chats, as the person at the machine sees them.
fn chats(setup: &Setup) -> Vec<Value> {
    let listed: Value = serde_json::from_str(&setup.person(&["chats", "--json"])).unwrap();
    listed["chats"].as_array().unwrap_or_else(|| panic!("{listed}")).clone()
}

/// Every way to search or list from above, in every dialect. What is found must be sources.
fn searches() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("workspace", "grep", json!({"pattern": WORD})),
        ("workspace", "grep", json!({"pattern": WORD, "include_ignored": true, "limit": 0})),
        ("workspace", "glob", json!({"pattern": "**/*"})),
        ("workspace", "glob", json!({"pattern": "*", "limit": 0})),
        ("workspace", "find", json!({})),
        ("workspace", "find", json!({"name": "*", "limit": 0})),
        ("workspace", "ls", json!({"recursive": true, "limit": 0})),
        ("file", "file_search", json!({"pattern": WORD})),
        ("file", "file_list", json!({"pattern": "**/*"})),
        ("coder", "glob", json!({"pattern": "**/*"})),
        ("coder", "ls", json!({"dirPath": ".", "recursive": true})),
        ("assistant", "list_directory", json!({"path": ".", "recursive": true})),
        ("assistant", "search_code", json!({"query": WORD})),
        ("codex", "grep_files", json!({"pattern": WORD})),
        ("codex", "list_dir", json!({"path": ".", "depth": 9})),
        ("filesystem", "search_files", json!({"path": ".", "pattern": "**/*"})),
        ("filesystem", "directory_tree", json!({"path": "."})),
    ]
}

#[test]
fn w18_after_many_calls_and_connections_every_search_returns_sources() {
    let setup = sources();
    let (connections, calls) = counts();
    let open = ["--toolset", "workspace", "--policy", "open"];
    for number in 0..connections {
        let client = setup.connect(&open);
        let note = json!({"path": "/src/note.txt", "content": format!("{WORD} {number}\n"), "overwrite": true});
        client.text_of("write", note);
        assert_eq!(client.leave(), Some(0));
    }
    let client = setup.connect(&open);
    for number in 0..calls {
        let (old, new) = (format!("{WORD} {}", connections - 1 + number), number + connections);
        let edit = json!({"path": "/src/note.txt", "old_string": old, "new_string": format!("{WORD} {new}")});
        client.text_of("edit", edit);
    }
    client.leave();
    assert_eq!(chats(&setup).len(), connections + 1, "each connection that changed something");
    for (toolset, tool, args) in searches() {
        let client = setup.connect(&["--toolset", toolset, "--policy", "open"]);
        let answer = client.call(tool, args.clone());
        assert_ne!(answer["isError"], true, "{toolset}.{tool} {args}: {answer}");
        let output = answer.to_string();
        assert!(output.contains("parser.rs"), "{toolset}.{tool} {args}: {output}");
        assert!(
            !output.contains("chats") && !output.contains(".chat"),
            "{toolset}.{tool}: {output}"
        );
    }
    // Where they are named they are there, and the root lists their folder once.
    let client = setup.connect(&open);
    let root = client.call("ls", json!({}))["structuredContent"].clone();
    let names: Vec<&Value> =
        root["entries"].as_array().unwrap().iter().map(|entry| &entry["path"]).collect();
    assert_eq!(names, ["/chats", "/docs", "/src"]);
    let named = client.call("grep", json!({"pattern": WORD, "path": "/chats", "limit": 0}));
    let matches = named["structuredContent"]["matches"].as_array().unwrap().len();
    assert!(matches >= connections + calls, "{matches}");
    let listed = client.call("ls", json!({"path": "/chats", "limit": 0}));
    let total = &listed["structuredContent"]["total"];
    assert_eq!(*total, json!(connections + 1), "{listed}");
}

#[test]
fn w18_connections_that_change_nothing_make_no_chat() {
    let setup = sources();
    for toolset in ["workspace", "file", "coder", "assistant", "codex", "filesystem"] {
        let client = setup.connect(&["--toolset", toolset, "--policy", "open"]);
        for (_, tool, args) in searches().into_iter().filter(|(of, ..)| *of == toolset) {
            client.call(tool, args);
        }
        client.leave();
    }
    let client = setup.connect(&["--toolset", "workspace", "--policy", "open"]);
    client.text_of("read", json!({"path": "/src/lib.rs"}));
    client.complaint(
        "edit",
        json!({"path": "/src/lib.rs", "old_string": "absent", "new_string": "x"}),
    );
    assert!(chats(&setup).is_empty(), "{:?}", chats(&setup));
    // The first change makes it, and what comes after belongs to it.
    client.text_of(
        "edit",
        json!({"path": "/src/lib.rs", "old_string": "first", "new_string": "1st"}),
    );
    client.text_of("write", json!({"path": "/new.txt", "content": "x"}));
    client.leave();
    let made = chats(&setup);
    assert_eq!(made.len(), 1, "{made:?}");
    let client = setup.connect(&["--toolset", "workspace", "--policy", "open"]);
    let read = client.call("read", json!({"path": "/chats/MCP: test.chat"}));
    let output = text(&read);
    assert!(output.contains("workspace.edit") && output.contains("workspace.write"), "{output}");
}
