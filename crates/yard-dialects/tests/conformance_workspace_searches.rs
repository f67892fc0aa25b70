//! What the document of `workspace` asks of `grep`, `glob`, `cat`, `file_info`, `find` and
//! `read_multiple_files`, where no ruling's test asks it already. `docs/conformance.md` lists all of it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

use std::fs::File;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use crate::support::{each, fails, invalid, is_hash, is_time, lines, ok, on_disk};
use serde_json::{Value, json};
use yard_core::ContentHash;
use yard_testkit::TestWorkspace;

/// Every argument of the document: tool, name, type, default, and whether it must be sent. That `pattern` of
/// `glob` need not be sent is W11.
const ARGUMENTS: [(&str, &str, &str, Option<&str>, bool); 24] = [
    ("grep", "pattern", "string", None, true),
    ("grep", "path_pattern", "string", None, false),
    ("grep", "case_sensitive", "boolean", Some("false"), false),
    ("grep", "limit", "integer", Some("50"), false),
    ("glob", "pattern", "string", None, false),
    ("glob", "path", "string", Some("\"/\""), false),
    ("cat", "paths", "array", None, true),
    ("cat", "show_ends", "boolean", Some("false"), false),
    ("cat", "show_tabs", "boolean", Some("false"), false),
    ("cat", "squeeze_blank", "boolean", Some("false"), false),
    ("cat", "number_lines", "boolean", Some("false"), false),
    ("cat", "show_headers", "boolean", Some("false"), false),
    ("cat", "offset", "integer", Some("0"), false),
    ("cat", "limit", "integer", None, false),
    ("file_info", "path", "string", None, true),
    ("find", "name", "string", None, false),
    ("find", "path", "string", Some("\"/\""), false),
    ("find", "file_type", "string", None, false),
    ("find", "min_size", "integer", None, false),
    ("find", "max_size", "integer", None, false),
    ("find", "recursive", "boolean", Some("true"), false),
    ("find", "limit", "integer", Some("50"), false),
    ("read_multiple_files", "paths", "array", None, true),
    ("read_multiple_files", "limit", "integer", Some("500"), false),
];

/// The type that a schema names, apart from `null`.
fn type_of(schema: &Value) -> &str {
    match &schema["type"] {
        Value::Array(types) => {
            types.iter().find_map(|one| one.as_str().filter(|one| *one != "null"))
        }
        one => one.as_str(),
    }
    .unwrap_or_else(|| panic!("no type in {schema}"))
}

#[test]
fn arguments_have_the_types_and_defaults_of_the_document() {
    let workspace = TestWorkspace::new();
    for (tool, name, wanted, default, required) in ARGUMENTS {
        let schema = workspace.catalog().get("workspace", tool).unwrap().input_schema();
        let argument = &schema["properties"][name];
        assert_eq!(type_of(argument), wanted, "{tool} {name}: {argument}");
        if wanted == "array" {
            assert_eq!(type_of(&argument["items"]), "string", "{tool} {name}: {argument}");
        }
        let default = default.map(|text| serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(argument.get("default"), default.as_ref(), "{tool} {name}: {argument}");
        let all = schema["required"].as_array().cloned().unwrap_or_default();
        assert_eq!(all.contains(&json!(name)), required, "{tool} {name}: {all:?}");
    }
    for (tool, argument, most) in [("cat", "paths", 20), ("read_multiple_files", "paths", 50)] {
        let schema = workspace.catalog().get("workspace", tool).unwrap().input_schema();
        assert_eq!(schema["properties"][argument]["maxItems"], most, "{tool}");
    }
}

#[test]
fn required_arguments_are_missed_by_name() {
    let workspace = TestWorkspace::new();
    for (tool, name, _, _, required) in ARGUMENTS {
        if required {
            assert!(
                invalid(&workspace, tool, json!({}), name).contains("missing"),
                "{tool} {name}"
            );
        }
    }
    ok(&workspace, "find", json!({}));
}

#[test]
fn the_arguments_that_the_document_shows_are_taken() {
    let workspace = TestWorkspace::new();
    workspace.put("/src/main.rs", "fn main() {}\n");
    for (tool, args) in [
        (
            "grep",
            json!({"pattern": "fn \\w+\\(", "path_pattern": "%.rs", "case_sensitive": false, "limit": 50}),
        ),
        ("glob", json!({"pattern": "*.rs", "path": "/src"})),
        (
            "cat",
            json!({"paths": ["/config.json", "/.env"], "show_ends": true, "show_tabs": true,
                "squeeze_blank": true, "number_lines": false, "show_headers": false, "offset": 100, "limit": 50}),
        ),
        ("file_info", json!({"path": "/src/main.rs"})),
        (
            "find",
            json!({"name": "*.txt", "path": "/src", "file_type": "folder", "min_size": 1_048_576,
                "max_size": 10_485_760, "recursive": true, "limit": 50}),
        ),
        (
            "read_multiple_files",
            json!({"paths": ["/config.json", "/README.md", "/src/main.rs"], "limit": 100}),
        ),
    ] {
        ok(&workspace, tool, args);
    }
}

#[test]
fn r1_numbers_and_booleans_may_be_sent_as_text() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", lines(9));
    for (tool, args, name) in [
        ("grep", json!({"pattern": "LINE", "limit": 2}), "limit"),
        ("grep", json!({"pattern": "LINE", "case_sensitive": true}), "case_sensitive"),
        ("glob", json!({"pattern": "*", "limit": 1}), "limit"),
        ("cat", json!({"paths": ["/a.txt"], "offset": -3}), "offset"),
        ("cat", json!({"paths": ["/a.txt"], "limit": 2}), "limit"),
        ("cat", json!({"paths": ["/a.txt"], "show_ends": true}), "show_ends"),
        ("find", json!({"min_size": 99}), "min_size"),
        ("find", json!({"max_size": 9}), "max_size"),
        ("find", json!({"recursive": false}), "recursive"),
        ("read_multiple_files", json!({"paths": ["/a.txt"], "limit": 2}), "limit"),
    ] {
        let mut as_text = args.clone();
        as_text[name] = json!(args[name].to_string());
        assert_eq!(ok(&workspace, tool, as_text), ok(&workspace, tool, args), "{tool} {name}");
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Fields by type, as `name: type name: type|type`.
#[track_caller]
fn has_fields(value: &Value, fields: &str) {
    let words: Vec<&str> = fields.split_whitespace().collect();
    for pair in words.chunks(2) {
        let field = value.get(pair[0].trim_end_matches(':'));
        let field = field.unwrap_or_else(|| panic!("no {} in {value}", pair[0]));
        assert!(pair[1].split('|').any(|wanted| wanted == kind(field)), "{} {value}", pair[0]);
    }
}

/// The tables of answers, for a file that the store knows, one that is on disk only, and a folder where a tool
/// shows any.
#[test]
fn answers_have_the_fields_and_types_of_the_document() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": "/d/known.rs", "content": "fn known() {}\n"}));
    workspace.put("/d/external.rs", "fn external() {}\n");
    workspace.put("/d/deep/more.rs", "fn more() {}\n");
    let found = "path: string name: string synced: boolean file_type: string \
        size: integer|null updated_at: string";
    let globbed = format!("{found} is_virtual: boolean");
    let both = json!(["/d/known.rs", "/d/external.rs"]);
    for (tool, args, whole, list, each_item, count) in [
        (
            "grep",
            json!({"pattern": "fn"}),
            "matches: array",
            "matches",
            "path: string line_number: integer line_text: string",
            3,
        ),
        (
            "glob",
            json!({"pattern": "**"}),
            "pattern: string base_path: string matches: array",
            "matches",
            globbed.as_str(),
            5,
        ),
        ("find", json!({}), "matches: array", "matches", found, 5),
        (
            "cat",
            json!({"paths": both, "limit": 1}),
            "content: string files: array",
            "files",
            "path: string content: string line_count: integer synced: boolean \
             offset: integer limit: integer total_lines: integer",
            2,
        ),
        (
            "read_multiple_files",
            json!({"paths": both}),
            "files: array",
            "files",
            "path: string success: boolean content: string hash: string synced: boolean \
             error: null total_lines: integer truncated: boolean",
            2,
        ),
    ] {
        let result = ok(&workspace, tool, args);
        has_fields(&result, whole);
        let items = result[list].as_array().unwrap();
        assert_eq!(items.len(), count, "{tool}: {result}");
        items.iter().for_each(|item| has_fields(item, each_item));
    }
    for path in ["/d/known.rs", "/d/external.rs", "/d"] {
        let info = ok(&workspace, "file_info", json!({"path": path}));
        has_fields(
            &info,
            "path: string file_type: string size: integer|null line_count: integer|null \
             synced: boolean created_at: string updated_at: string hash: string|null",
        );
        assert!(is_time(&info["created_at"]) && is_time(&info["updated_at"]), "{info}");
        assert_eq!(is_hash(&info["hash"]), path != "/d", "{info}");
    }
}

#[test]
fn synced_is_told_apart_by_every_tool_that_tells_of_files() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": "/known.txt", "content": "x\n"}));
    workspace.put("/external.txt", "x\n");
    let both = json!(["/external.txt", "/known.txt"]);
    for (tool, args, list) in [
        ("glob", json!({"pattern": "*.txt"}), "matches"),
        ("find", json!({"name": "*.txt"}), "matches"),
        ("cat", json!({"paths": both}), "files"),
        ("read_multiple_files", json!({"paths": both}), "files"),
    ] {
        let result = ok(&workspace, tool, args);
        assert_eq!(each(&result[list], "path"), ["/external.txt", "/known.txt"], "{tool}");
        let synced = (&result[list][0]["synced"], &result[list][1]["synced"]);
        assert_eq!(synced, (&json!(false), &json!(true)), "{tool}");
    }
}

#[test]
fn w10_fifty_matches_are_returned_unless_another_limit_is_sent() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", lines(60));
    workspace.put("/b.txt", lines(10));
    let grep = |mut args: Value| {
        args["pattern"] = json!("line");
        let result = ok(&workspace, "grep", args);
        let numbers = result["matches"].as_array().unwrap().iter();
        let numbers: Vec<(String, u64)> = numbers
            .map(|one| {
                (one["path"].as_str().unwrap().to_owned(), one["line_number"].as_u64().unwrap())
            })
            .collect();
        (numbers, result["truncated"].as_bool().unwrap())
    };
    let first =
        |count: u64| (1..=count).map(|line| ("/a.txt".to_owned(), line)).collect::<Vec<_>>();
    assert_eq!(grep(json!({})), (first(50), true));
    assert_eq!(grep(json!({"limit": 3})), (first(3), true));
    let (all, truncated) = grep(json!({"limit": 0}));
    assert_eq!((all.len(), truncated), (70, false));
}

#[test]
fn w12_fifty_files_are_found_unless_another_limit_is_sent() {
    let workspace = TestWorkspace::new();
    for number in 0..60 {
        workspace.put(&format!("/{number:02}.txt"), "x");
    }
    let find = |args: Value| {
        let result = ok(&workspace, "find", args);
        (result["matches"].as_array().unwrap().len(), result["truncated"].as_bool().unwrap())
    };
    assert_eq!(find(json!({})), (50, true));
    assert_eq!(find(json!({"limit": 7})), (7, true));
    assert_eq!(find(json!({"limit": 0})), (60, false));
}

#[test]
fn grep_searches_the_newest_text_of_every_file_that_is_text() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": "/known.txt", "content": "old words\n"}));
    ok(&workspace, "edit", json!({"path": "/known.txt", "old_string": "old", "new_string": "new"}));
    ok(&workspace, "write", json!({"path": "/removed.txt", "content": "new words\n"}));
    ok(&workspace, "rm", json!({"path": "/removed.txt"}));
    ok(
        &workspace,
        "write",
        json!({"path": "/board.canvas", "content": {"a": "new words"}, "file_type": "canvas"}),
    );
    workspace.put("/external.txt", "new words\n");
    workspace.put("/binary.bin", "new words\n\0");
    let wide = std::iter::once(0xfeff).chain("new words\n".encode_utf16());
    workspace.put("/wide.txt", wide.flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    let grep = |pattern: &str| {
        let result = ok(&workspace, "grep", json!({"pattern": pattern}));
        each(&result["matches"], "path").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(grep("new words"), ["/board.canvas", "/external.txt", "/known.txt", "/wide.txt"]);
    assert_eq!(grep("old words"), Vec::<String>::new());
    // Lines are counted in what the file holds now.
    workspace.put("/known.txt", "first\r\n\r\nnew words\r\n");
    let result = ok(&workspace, "grep", json!({"pattern": "new words$", "path_pattern": "known"}));
    let found = &result["matches"][0];
    assert_eq!((&found["line_number"], &found["line_text"]), (&json!(3), &json!("new words")));
}

#[test]
fn glob_stars_stop_at_slashes_and_two_stars_do_not() {
    let workspace = TestWorkspace::new();
    for path in ["/a.rs", "/src/a.rs", "/src/ab.rs", "/src/deep/c.rs", "/src/deep/er/d.rs"] {
        workspace.put(path, "x");
    }
    for (pattern, paths) in [
        ("/src/*.rs", &["/src/a.rs", "/src/ab.rs"][..]),
        ("src/?.rs", &["/src/a.rs"]),
        ("/src/**/*.rs", &["/src/a.rs", "/src/ab.rs", "/src/deep/c.rs", "/src/deep/er/d.rs"]),
        ("/src/**/er/*", &["/src/deep/er/d.rs"]),
        ("/*", &["/a.rs", "/src"]),
        ("*/*.rs", &["/src/a.rs", "/src/ab.rs"]),
        ("?.rs", &["/a.rs", "/src/a.rs", "/src/deep/c.rs", "/src/deep/er/d.rs"]),
        ("/src/deep/**", &["/src/deep/c.rs", "/src/deep/er", "/src/deep/er/d.rs"]),
    ] {
        let result = ok(&workspace, "glob", json!({"pattern": pattern}));
        assert_eq!(each(&result["matches"], "path"), paths, "{pattern}");
    }
    let below = ok(&workspace, "glob", json!({"pattern": "*.rs", "path": "src/deep/"}));
    assert_eq!(below["base_path"], "/src/deep");
    assert_eq!(each(&below["matches"], "path"), ["/src/deep/c.rs", "/src/deep/er/d.rs"]);
}

#[test]
fn r3_no_search_leaves_the_workspace() {
    let workspace = TestWorkspace::new();
    let outside = workspace.root().parent().unwrap().to_owned();
    std::fs::write(outside.join("outside.txt"), "needle\n").unwrap();
    workspace.put("/inside.txt", "needle\n");
    symlink(&outside, on_disk(&workspace, "/folder")).unwrap();
    symlink(outside.join("outside.txt"), on_disk(&workspace, "/file.txt")).unwrap();
    for (tool, args, paths) in [
        ("grep", json!({"pattern": "needle"}), &["/inside.txt"][..]),
        ("glob", json!({"pattern": "**/*"}), &["/file.txt", "/folder", "/inside.txt"]),
        ("find", json!({}), &["/file.txt", "/folder", "/inside.txt"]),
    ] {
        assert_eq!(each(&ok(&workspace, tool, args.clone())["matches"], "path"), paths, "{tool}");
        for path in ["..", "/..", "/folder", "/folder/data", "/etc/../../etc"] {
            let mut args = args.clone();
            args["path"] = json!(path);
            invalid(&workspace, tool, args, "path");
        }
    }
    for pattern in ["../*.txt", "/../*.txt", "a/../../*.txt", ".."] {
        invalid(&workspace, "glob", json!({"pattern": pattern}), "pattern");
    }
    for path in ["/file.txt", "/folder/outside.txt", "/../outside.txt"] {
        invalid(&workspace, "file_info", json!({"path": path}), "path");
        for tool in ["cat", "read_multiple_files"] {
            let file = &ok(&workspace, tool, json!({"paths": [path]}))["files"][0];
            assert!(
                file["error"].is_string() && file["content"].is_null(),
                "{tool} {path}: {file}"
            );
        }
    }
}

/// The paths that the program prints, in the order of their bytes.
fn printed_by_find(workspace: &TestWorkspace, base: &str, flags: &[&str]) -> Vec<String> {
    let mut find = Command::new("find");
    find.arg(format!(".{base}")).args(["-mindepth", "1"]).args(flags);
    let output = find.current_dir(workspace.root()).env("LC_ALL", "C").output().unwrap();
    assert!(output.status.success(), "{flags:?}: {output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut paths: Vec<String> =
        printed.lines().map(|line| line.replacen("./", "/", 1).replace("//", "/")).collect();
    paths.sort_unstable();
    paths
}

/// Sizes are the program's with W12's bounds: `-size +9c` is from 10 bytes on.
#[test]
fn w12_find_finds_what_the_program_finds() {
    let workspace = TestWorkspace::new();
    for (path, size) in [
        ("/a.txt", 9),
        ("/b.txt", 10),
        ("/.hidden", 11),
        ("/src/test_a.rs", 12),
        ("/src/a.md", 19),
        ("/src/deep/B.TXT", 20),
        ("/src/deep/[x].md", 21),
        ("/src/deep/empty.txt", 0),
        ("/test_dir/large.bin", (1 << 20) + 1),
    ] {
        workspace.put(path, "x".repeat(size));
    }
    for (args, flags) in [
        (json!({}), &[][..]),
        (json!({"name": "*.txt"}), &["-name", "*.txt"]),
        (json!({"name": "test_*"}), &["-name", "test_*"]),
        (json!({"name": "?.*"}), &["-name", "?.*"]),
        (json!({"name": "[ab]*"}), &["-name", "[ab]*"]),
        (json!({"name": "[!ab]*"}), &["-name", "[!ab]*"]),
        (json!({"name": "[a-c].md"}), &["-name", "[a-c].md"]),
        (json!({"name": "\\[x\\]*"}), &["-name", "\\[x\\]*"]),
        (json!({"name": "[[]x]*"}), &["-name", "[[]x]*"]),
        (json!({"name": ".*"}), &["-name", ".*"]),
        (json!({"name": "a.txt"}), &["-name", "a.txt"]),
        (json!({"name": "src/*"}), &["-name", "src/*"]),
        (json!({"file_type": "folder"}), &["-type", "d"]),
        (json!({"file_type": "document"}), &["-type", "f"]),
        (json!({"file_type": "folder", "name": "*e*"}), &["-type", "d", "-name", "*e*"]),
        (json!({"recursive": false}), &["-maxdepth", "1"]),
        (json!({"recursive": false, "path": "/src"}), &["-maxdepth", "1"]),
        (json!({"path": "/src", "name": "*.md"}), &["-name", "*.md"]),
        (json!({"min_size": 10}), &["-type", "f", "-size", "+9c"]),
        (json!({"max_size": 20}), &["-type", "f", "-size", "-21c"]),
        (
            json!({"min_size": 10, "max_size": 20, "path": "/src"}),
            &["-type", "f", "-size", "+9c", "-size", "-21c"],
        ),
        (json!({"min_size": 1_048_577}), &["-type", "f", "-size", "+1048576c"]),
        (json!({"max_size": 0}), &["-type", "f", "-size", "-1c"]),
    ] {
        let base = args["path"].as_str().unwrap_or("/").to_owned();
        let found = ok(&workspace, "find", args.clone());
        let printed = printed_by_find(&workspace, &base, flags);
        assert_eq!(each(&found["matches"], "path"), printed, "{args}");
    }
    // The program takes what is no pattern as it is; here it is refused.
    assert!(invalid(&workspace, "find", json!({"name": "[x"}), "name").contains("unclosed"));
}

#[test]
fn find_has_what_the_store_knows_of_a_file_and_finds_only_what_is_on_disk() {
    let workspace = TestWorkspace::new();
    let args = json!({"path": "/board.canvas", "content": "12345", "file_type": "canvas"});
    let made = ok(&workspace, "write", args);
    workspace.put("/external.canvas", "123");
    ok(&workspace, "write", json!({"path": "/gone.canvas", "content": "x", "file_type": "canvas"}));
    std::fs::remove_file(on_disk(&workspace, "/gone.canvas")).unwrap();
    let found = ok(&workspace, "find", json!({"name": "*.canvas"}));
    let [known, external] = found["matches"].as_array().unwrap().as_slice() else {
        panic!("{found}")
    };
    assert_eq!((&known["file_type"], &known["id"]), (&json!("canvas"), &made["file_id"]));
    assert_eq!((&known["size"], &known["synced"]), (&json!(5), &json!(true)));
    assert_eq!((&external["file_type"], external.get("id")), (&json!("document"), None));
    assert_eq!((&external["size"], &external["synced"]), (&json!(3), &json!(false)));
    let time = UNIX_EPOCH + Duration::from_millis(1_000_000_000_123);
    let file = File::options().append(true).open(on_disk(&workspace, "/external.canvas")).unwrap();
    file.set_modified(time).unwrap();
    for (tool, args) in [("find", json!({"name": "ext*"})), ("glob", json!({"pattern": "/ext*"}))] {
        let found = ok(&workspace, tool, args);
        assert_eq!(found["matches"][0]["updated_at"], "2001-09-09T01:46:40.123Z", "{tool}");
    }
}

#[test]
fn file_info_tells_of_a_file_what_is_needed_to_edit_it_and_none_of_its_content() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": "/a.txt", "content": "one\ntwo"}));
    let before = ok(&workspace, "file_info", json!({"path": "/a.txt"}));
    assert_eq!((&before["size"], &before["line_count"]), (&json!(7), &json!(2)));
    assert!(!before.to_string().contains("one"), "{before}");
    let edit = |hash: &Value, new: &str| json!({"path": "/a.txt", "old_string": "one", "new_string": new, "last_read_hash": hash});
    ok(&workspace, "edit", edit(&before["hash"], "one one"));
    fails(&workspace, "edit", edit(&before["hash"], "x"), 409, "CONFLICT");
    let after = ok(&workspace, "file_info", json!({"path": "/a.txt"}));
    assert_eq!(after["hash"], ContentHash::of(b"one one\ntwo").to_string());
    assert_eq!((&after["created_at"], &after["id"]), (&before["created_at"], &before["id"]));
    assert!(after["updated_at"].as_str() >= before["updated_at"].as_str(), "{after}");
    // What is on disk counts, not what the store recorded.
    workspace.put("/a.txt", "behind its back\n");
    let outside = ok(&workspace, "file_info", json!({"path": "/a.txt"}));
    assert_eq!((&outside["size"], &outside["line_count"]), (&json!(16), &json!(1)));
    assert_eq!(outside["hash"], ContentHash::of(b"behind its back\n").to_string());
    // Lines are counted where there are any.
    workspace.put("/b.bin", b"\0\n\n\n");
    let binary = ok(&workspace, "file_info", json!({"path": "/b.bin"}));
    assert_eq!((&binary["size"], &binary["line_count"]), (&json!(4), &Value::Null));
    assert_eq!(binary["hash"], ContentHash::of(b"\0\n\n\n").to_string());
    fails(&workspace, "file_info", json!({"path": "/none"}), 404, "NOT_FOUND");
}

#[test]
fn read_multiple_files_reads_each_up_to_the_limit_in_the_order_asked() {
    let workspace = TestWorkspace::new();
    workspace.put("/long.txt", lines(600));
    workspace.put("/fits.txt", lines(500));
    workspace.put("/short.txt", lines(3));
    let paths = ["/short.txt", "/long.txt", "/fits.txt", "/short.txt"];
    for (limit, shown) in
        [(None, [3, 500, 500, 3]), (Some(2), [2, 2, 2, 2]), (Some(0), [3, 600, 500, 3])]
    {
        let result = ok(&workspace, "read_multiple_files", json!({"paths": paths, "limit": limit}));
        assert_eq!(each(&result["files"], "path"), paths);
        for ((file, shown), total) in
            result["files"].as_array().unwrap().iter().zip(shown).zip([3, 600, 500, 3])
        {
            assert_eq!(file["content"], lines(shown), "{limit:?}");
            assert_eq!(file["total_lines"], total);
            assert_eq!(file["truncated"], shown < total, "{limit:?} {total}");
            assert_eq!(file["hash"], ContentHash::of(lines(total).as_bytes()).to_string());
        }
    }
    let read = ok(&workspace, "read_multiple_files", json!({"paths": ["/short.txt"], "limit": 1}));
    let hash = &read["files"][0]["hash"];
    ok(
        &workspace,
        "edit",
        json!({"path": "/short.txt", "old_string": "line 2", "new_string": "x", "last_read_hash": hash}),
    );
}

#[test]
fn read_multiple_files_has_the_value_of_a_file_that_was_written_as_one() {
    let workspace = TestWorkspace::new();
    let value = json!({"elements": [], "version": 1});
    ok(&workspace, "write", json!({"path": "/a.canvas", "content": value, "file_type": "canvas"}));
    let read = ok(&workspace, "read_multiple_files", json!({"paths": ["/a.canvas"]}));
    let file = &read["files"][0];
    assert_eq!((&file["content"], &file["total_lines"]), (&value, &Value::Null));
    assert_eq!((&file["truncated"], &file["success"]), (&json!(false), &json!(true)));
}

#[test]
fn w13_a_file_that_is_not_read_says_why_and_the_others_are_read() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "a\n");
    workspace.put("/folder/x", "x");
    workspace.put("/b.bin", "\0");
    let bad = ["/none.txt", "/folder", "/b.bin", "/../x"];
    let paths = ["/a.txt", bad[0], bad[1], bad[2], bad[3], "/a.txt"];
    for tool in ["cat", "read_multiple_files"] {
        let result = ok(&workspace, tool, json!({"paths": paths}));
        assert_eq!(each(&result["files"], "path"), paths, "{tool}");
        for (file, path) in result["files"].as_array().unwrap().iter().zip(paths) {
            let nulls = ["content", "synced", "total_lines"].map(|name| file[name].is_null());
            assert_eq!(nulls, [bad.contains(&path); 3], "{tool} {file}");
            let why = file["error"].as_str();
            assert_eq!(
                why.is_some_and(|why| !why.is_empty()),
                bad.contains(&path),
                "{tool} {file}"
            );
            if tool == "read_multiple_files" {
                assert_eq!(file["success"], !bad.contains(&path), "{file}");
                let nulls = ["hash", "truncated"].map(|name| file[name].is_null());
                assert_eq!(nulls, [bad.contains(&path); 2], "{file}");
            }
        }
        let why = result["files"][1]["error"].as_str().unwrap();
        assert!(why.contains("not found") && why.contains("/none.txt"), "{tool}: {why}");
    }
}

#[test]
fn w13_offset_and_limit_are_each_file_s_own() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", lines(10));
    workspace.put("/b", lines(4));
    let part = |from: usize, count: usize| -> String {
        lines(10).split_inclusive('\n').skip(from).take(count).collect()
    };
    for (args, a, b) in [
        (json!({}), (0, 10), (0, 4)),
        (json!({"offset": 2, "limit": 3}), (2, 3), (2, 2)),
        (json!({"limit": 1}), (0, 1), (0, 1)),
        (json!({"offset": -3}), (7, 3), (1, 3)),
        (json!({"offset": -6, "limit": 2}), (4, 2), (0, 2)),
        (json!({"offset": 99}), (10, 0), (4, 0)),
    ] {
        let limit = args["limit"].clone();
        let mut args = args;
        args["paths"] = json!(["/a", "/b"]);
        let result = ok(&workspace, "cat", args.clone());
        let (first, second) = (part(a.0, a.1), part(b.0, b.1));
        assert_eq!(result["content"], format!("{first}{second}"), "{args}");
        for (file, (text, (offset, count), total)) in
            result["files"].as_array().unwrap().iter().zip([(first, a, 10), (second, b, 4)])
        {
            assert_eq!(
                (&file["content"], &file["line_count"]),
                (&json!(text), &json!(count)),
                "{args}"
            );
            assert_eq!(
                (&file["offset"], &file["total_lines"]),
                (&json!(offset), &json!(total)),
                "{args}"
            );
            assert_eq!(file["limit"], limit, "{args}");
        }
    }
}

#[test]
fn w13_cat_shows_nothing_that_was_not_asked_for() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", "\tone  \n\n\n\ntwo");
    workspace.put("/b", "three\n");
    let plain = ok(&workspace, "cat", json!({"paths": ["/a", "/b"]}));
    assert_eq!(plain["content"], "\tone  \n\n\n\ntwothree\n");
    let headed = ok(&workspace, "cat", json!({"paths": ["/a", "/b"], "show_headers": true}));
    assert_eq!(headed["content"], "==> /a <==\n\tone  \n\n\n\ntwo\n\n==> /b <==\nthree\n");
    assert_eq!(each(&headed["files"], "content"), ["\tone  \n\n\n\ntwo", "three\n"]);
    let squeezed =
        ok(&workspace, "cat", json!({"paths": ["/a"], "squeeze_blank": true, "show_ends": true}));
    assert_eq!(squeezed["content"], "\tone  $\n$\ntwo");
}
