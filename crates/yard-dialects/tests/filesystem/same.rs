//! Calls that both servers answer with the same text.

use serde_json::{Value, json};

use crate::reference::Reference;
use crate::{Both, files};

/// Calls that succeed, in this order on one tree: the text is the same, byte for byte.
fn good() -> Vec<(&'static str, Value)> {
    let edit = |path: &str, edits: Value, dry: bool| {
        ("edit_file", json!({"path": path, "edits": edits, "dryRun": dry}))
    };
    let one = |old: &str, new: &str| json!([{"oldText": old, "newText": new}]);
    vec![
        ("list_allowed_directories", json!({})),
        ("read_text_file", json!({"path": "{root}/a.txt"})),
        ("read_text_file", json!({"path": "a.txt"})),
        ("read_text_file", json!({"path": "{root}/src/../a.txt"})),
        ("read_text_file", json!({"path": "link.txt"})),
        ("read_text_file", json!({"path": "empty.txt"})),
        ("read_text_file", json!({"path": "umlaut é.txt"})),
        ("read_text_file", json!({"path": "a.txt", "head": 2})),
        ("read_text_file", json!({"path": "a.txt", "head": 9})),
        ("read_text_file", json!({"path": "a.txt", "head": 0, "tail": 0})),
        ("read_text_file", json!({"path": "open.txt", "head": 2})),
        ("read_text_file", json!({"path": "open.txt", "tail": 1})),
        ("read_text_file", json!({"path": "open.txt", "tail": 9})),
        ("read_text_file", json!({"path": "empty.txt", "tail": 3})),
        ("read_file", json!({"path": "a.txt"})),
        ("read_file", json!({"path": "a.txt", "head": 1})),
        ("read_media_file", json!({"path": "pixel.png"})),
        ("read_media_file", json!({"path": "tune.MP3"})),
        ("read_media_file", json!({"path": "a b#%.dat"})),
        ("read_multiple_files", json!({"paths": ["a.txt", "{root}/empty.txt"]})),
        ("list_directory", json!({"path": "{root}"})),
        ("list_directory", json!({"path": "."})),
        ("list_directory", json!({"path": "src"})),
        ("list_directory", json!({"path": "void"})),
        ("list_directory_with_sizes", json!({"path": "src"})),
        ("list_directory_with_sizes", json!({"path": "{root}", "sortBy": "name"})),
        ("list_directory_with_sizes", json!({"path": "void"})),
        ("list_directory_with_sizes", json!({"path": "logs", "sortBy": "size"})),
        ("directory_tree", json!({"path": "{root}"})),
        ("directory_tree", json!({"path": "{root}/src"})),
        ("directory_tree", json!({"path": "{root}/void"})),
        ("directory_tree", json!({"path": "{root}", "excludePatterns": ["node_modules", "*.txt"]})),
        ("directory_tree", json!({"path": "{root}", "excludePatterns": ["**/*.rs", "logs"]})),
        ("search_files", json!({"path": "{root}", "pattern": "*.txt"})),
        ("search_files", json!({"path": "{root}", "pattern": "**/*.rs"})),
        ("search_files", json!({"path": "{root}", "pattern": "**/*.{js,log}"})),
        ("search_files", json!({"path": "{root}", "pattern": "**/s*"})),
        ("search_files", json!({"path": "{root}/src", "pattern": "*"})),
        ("search_files", json!({"path": "src", "pattern": "deep/**"})),
        ("search_files", json!({"path": "{root}", "pattern": "**/nothing"})),
        (
            "search_files",
            json!({
                "path": "{root}", "pattern": "**/*.js", "excludePatterns": ["node_modules"]
            }),
        ),
        (
            "search_files",
            json!({
                "path": "{root}", "pattern": "**/*.js", "excludePatterns": ["**/node_modules/**"]
            }),
        ),
        ("create_directory", json!({"path": "{root}/made/deep/er"})),
        ("create_directory", json!({"path": "made"})),
        ("write_file", json!({"path": "{root}/made/new.txt", "content": "new\n"})),
        ("write_file", json!({"path": "made/new.txt", "content": "newer\r\n"})),
        ("write_file", json!({"path": "made/empty", "content": ""})),
        edit("a.txt", one("two", "2"), true),
        edit("a.txt", one("two", "2"), false),
        edit(
            "{root}/a.txt",
            json!([
                {"oldText": "one\n", "newText": "1\none and a half\n"},
                {"oldText": "three\n", "newText": ""}
            ]),
            false,
        ),
        edit("open.txt", one("two", "two\nthree"), false),
        edit("code.rs", one("  if x {\n y();", "if z {\n  z();"), false),
        edit("code.rs", one("main", "main"), false),
        edit("code.rs", one("    }\n}\n", "}\n\nfn f() {\n    x();\n}\n"), false),
        edit("src/deep/er/x.rs", one("x\n", "a\nb\nc\na\nb\nb\na\n"), false),
        edit("src/deep/er/x.rs", one("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n"), false),
        edit("fence.md", one("code", "more code"), false),
        edit("Big.bin", json!([]), true),
        ("read_text_file", json!({"path": "code.rs"})),
        (
            "move_file",
            json!({"source": "{root}/made/new.txt", "destination": "{root}/src/new.txt"}),
        ),
        ("move_file", json!({"source": "made", "destination": "renamed"})),
        ("directory_tree", json!({"path": "{root}"})),
    ]
}

/// Calls that fail: ours says what theirs says, and may teach more after it.
fn bad() -> Vec<(&'static str, Value)> {
    let edit = |path: &str, old: &str| {
        ("edit_file", json!({"path": path, "edits": [{"oldText": old, "newText": "x"}]}))
    };
    vec![
        ("read_text_file", json!({"path": "{root}/none.txt"})),
        ("read_text_file", json!({"path": "none/at/all.txt"})),
        ("read_text_file", json!({"path": "/etc/passwd"})),
        ("read_text_file", json!({"path": "C:\\x"})),
        ("read_text_file", json!({"path": "a.txt", "head": 1, "tail": 1})),
        ("read_media_file", json!({"path": "none.png"})),
        ("list_directory", json!({"path": "none"})),
        ("list_directory", json!({"path": "a.txt"})),
        ("list_directory_with_sizes", json!({"path": "none"})),
        ("directory_tree", json!({"path": "{root}/a.txt"})),
        ("search_files", json!({"path": "none", "pattern": "*"})),
        ("write_file", json!({"path": "none/at/all.txt", "content": ""})),
        ("write_file", json!({"path": "/etc/none", "content": ""})),
        ("create_directory", json!({"path": "a.txt"})),
        edit("a.txt", "nowhere"),
        edit("none.txt", "x"),
        ("move_file", json!({"source": "a.txt", "destination": "src"})),
        ("move_file", json!({"source": "none.txt", "destination": "x.txt"})),
        ("move_file", json!({"source": "a.txt", "destination": "none/x.txt"})),
        ("get_file_info", json!({"path": "none.txt"})),
    ]
}

#[test]
fn the_same_call_gives_the_same_text_and_leaves_the_same_files() {
    let mut both = Both::new();
    for (tool, args) in good() {
        let (ours, theirs) = both.call(tool, &args);
        assert!(theirs.is_ok, "{tool} {args}: {}", theirs.text);
        assert_eq!(ours.text, theirs.text, "{tool} {args}");
        assert!(ours.is_ok);
    }
    let (ours, theirs) = both.roots();
    assert_eq!(files(ours), files(theirs));
}

/// Of several smallest diffs both show the same one.
#[test]
fn diffs_are_the_same_line_by_line() {
    let mut both = Both::new();
    let mut dice = 7_u64;
    let mut text = || {
        let mut next = || {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (dice >> 33) as usize
        };
        let count = 1 + next() % 24;
        (0..count).map(|_| ["a\n", "b\n", "}\n", "\n"][next() % 4]).collect::<String>()
    };
    for _ in 0..100 {
        let (before, after) = (text(), text());
        both.put("dice.txt", &before);
        let edits = json!([{"oldText": before, "newText": after}]);
        let args = json!({"path": "dice.txt", "edits": edits, "dryRun": true});
        let (ours, theirs) = both.call("edit_file", &args);
        assert_eq!(ours.text, theirs.text, "{args}");
    }
    both.put("brace.rs", "fn main() {\n    if x {\n        y();\n    }\n}\n");
    let edits = json!([{"oldText": "if x {\n  y();\n}", "newText": "if z {\n  y();\n}"}]);
    let (ours, theirs) = both.call("edit_file", &json!({"path": "brace.rs", "edits": edits}));
    assert_eq!(ours.text, theirs.text);
    let (ours, theirs) = both.bytes("brace.rs");
    assert_eq!(ours, theirs);
}

#[test]
fn the_same_mistake_gives_the_same_words_and_changes_nothing() {
    let mut both = Both::new();
    for root in [both.roots().0, both.roots().1] {
        std::os::unix::fs::symlink("/", root.join("out")).unwrap();
    }
    let before = files(both.roots().0);
    for (tool, args) in bad() {
        let (ours, theirs) = both.call(tool, &args);
        assert!(!theirs.is_ok && !ours.is_ok, "{tool} {args}: {theirs:?} {ours:?}");
        assert!(ours.text.starts_with(&theirs.text), "{tool} {args}: {theirs:?} {ours:?}");
    }
    // Of several files the missing one alone is no failure of the call.
    let (ours, theirs) = both.call("read_multiple_files", &json!({"paths": ["a.txt", "none.txt"]}));
    assert!(theirs.is_ok && ours.is_ok && theirs.text.contains("ENOENT"), "{theirs:?} {ours:?}");
    assert!(ours.text.starts_with(&theirs.text), "{theirs:?} {ours:?}");
    let taken = json!({"source": "a.txt", "destination": "link.txt"});
    // Here ours names the file, or what was sent, and theirs a temporary file or the target of a link.
    for (tool, args, said) in [
        ("read_text_file", json!({"path": "src"}), "EISDIR: illegal operation on a directory"),
        (
            "write_file",
            json!({"path": "src", "content": ""}),
            "EISDIR: illegal operation on a directory",
        ),
        (
            "read_text_file",
            json!({"path": "../x"}),
            "Access denied - path outside allowed directories: ",
        ),
        (
            "read_text_file",
            json!({"path": "out/etc"}),
            "Access denied - symlink target outside allowed",
        ),
        (
            "list_directory",
            json!({"path": "out"}),
            "Access denied - symlink target outside allowed",
        ),
        (
            "write_file",
            json!({"path": "out/x", "content": ""}),
            "Access denied - symlink target outside",
        ),
        ("move_file", taken, "Destination already exists: "),
    ] {
        let (ours, theirs) = both.call(tool, &args);
        for result in [ours, theirs] {
            assert!(!result.is_ok && result.text.starts_with(said), "{tool} {args}: {result:?}");
        }
    }
    assert_eq!(files(both.roots().0), before);
}

#[test]
fn metadata_is_the_same_line_by_line() {
    let mut both = Both::new();
    for path in ["a.txt", "src", "link.txt", "Big.bin", "{root}"] {
        let (ours, theirs) = both.call("get_file_info", &json!({"path": path}));
        let fields = |text: &str| -> Vec<(String, String)> {
            let pair =
                |line: &str| line.split_once(": ").map(|(a, b)| (a.to_owned(), b.to_owned()));
            text.lines().map(|line| pair(line).unwrap()).collect()
        };
        for (ours, theirs) in fields(&ours.text).into_iter().zip(fields(&theirs.text)) {
            assert_eq!(ours.0, theirs.0);
            match ours.0.as_str() {
                // The trees were planted one after the other: the form is the same, the second may not be.
                "created" | "modified" | "accessed" => {
                    assert_eq!(ours.1.len(), theirs.1.len(), "{ours:?} {theirs:?}");
                    assert_eq!(ours.1[24..], theirs.1[24..]);
                }
                // Roots hold different names, and not every file system gives directories one size.
                "size" if !path.ends_with("txt") && path != "Big.bin" => {}
                _ => assert_eq!(ours.1, theirs.1, "{path}"),
            }
        }
    }
}

#[test]
fn tools_arguments_and_defaults_are_those_of_the_reference() {
    let theirs = Reference::start().tools();
    let catalog = yard_dialects::Catalog::standard();
    let ours: Vec<_> = catalog.list("filesystem").collect();
    assert_eq!(
        ours.iter().map(|tool| tool.name()).collect::<Vec<_>>(),
        theirs.iter().map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>()
    );
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let (ours, theirs) = (ours.input_schema(), &theirs["inputSchema"]);
        let names = |schema: &Value| {
            let mut names: Vec<String> = schema["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| name.clone())
                .collect();
            names.sort();
            names
        };
        assert_eq!(names(ours), names(theirs));
        for name in names(theirs) {
            let (ours, theirs) = (&ours["properties"][&name], &theirs["properties"][&name]);
            assert_eq!(ours.get("default"), theirs.get("default"), "{name}");
            assert_eq!(ours.get("enum"), theirs.get("enum"), "{name}");
        }
        let required = |schema: &Value| {
            let names = schema["required"].as_array().into_iter().flatten();
            let mut names: Vec<String> =
                names.map(|name| name.as_str().unwrap().to_owned()).collect();
            names.sort();
            names
        };
        assert_eq!(required(ours), required(theirs));
    }
}
