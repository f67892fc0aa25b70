//! The rulings, as the tools of `workspace` keep them: each test is named after its ruling.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::atomic::Ordering;

use crate::support::{each, fails, invalid, is_hash, is_time, is_uuid_v7, lines, ok, on_disk};
use serde_json::{Value, json};
use yard_gate::{Actor, CallerPolicy};
use yard_store::{SqliteStore, Store as _};
use yard_testkit::TestWorkspace;

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

#[test]
fn r4_slices_are_exact() {
    let workspace = TestWorkspace::new();
    workspace.put("/crlf.txt", "a\r\nb\r\nc");
    let result = ok(&workspace, "read", json!({"path": "/crlf.txt", "offset": 1, "limit": 1}));
    assert_eq!((&result["content"], &result["total_lines"]), (&json!("b\r\n"), &json!(3)));
    assert_eq!(result["truncated"], true);
    let result = ok(&workspace, "read", json!({"path": "/crlf.txt", "offset": 2}));
    assert_eq!((&result["content"], &result["truncated"]), (&json!("c"), &json!(false)));
}

/// Reads one line, however long, and all that follows it: by lines first, then by bytes.
fn read_on(workspace: &TestWorkspace, path: &str, line: u64) -> String {
    let first = ok(workspace, "read", json!({"path": path, "offset": line, "limit": 1}));
    assert_eq!(first["truncated"], true);
    let mut text = first["content"].as_str().unwrap().to_owned();
    let mut at = first["cut_at_byte"].clone();
    while at.is_u64() {
        let more = ok(workspace, "read", json!({"path": path, "byte_offset": at}));
        text.push_str(more["content"].as_str().unwrap());
        assert!(more["cut_at_byte"].is_null() || more["cut_at_byte"].as_u64() > at.as_u64());
        at = more["cut_at_byte"].clone();
    }
    text
}

#[test]
fn r4_a_line_over_the_bound_is_cut_and_read_on_by_bytes() {
    let workspace = TestWorkspace::new();
    let counted: String = (0..50_000).map(|number| format!("{number:06}é")).collect();
    workspace.put("/long.txt", format!("first\n{counted}\nlast\n"));
    assert!(read_on(&workspace, "/long.txt", 1) == format!("{counted}\nlast\n"));
}

#[test]
fn r4_a_long_line_of_a_large_file_is_read_on_by_bytes() {
    let workspace = TestWorkspace::new();
    let counted: String = (0..300_000).map(|number| format!("{number:06}é")).collect();
    assert!(counted.len() > 2 << 20);
    workspace.put("/long.txt", format!("first\n{counted}\nlast\n"));
    assert!(read_on(&workspace, "/long.txt", 1) == format!("{counted}\nlast\n"));
}

#[test]
fn r4_a_long_line_in_utf16_is_read_on_by_bytes() {
    let workspace = TestWorkspace::new();
    let counted: String = (0..50_000).map(|number| format!("{number:06}")).collect();
    workspace.put("/wide.txt", utf16(&counted));
    assert!(read_on(&workspace, "/wide.txt", 0) == counted);
}

#[test]
fn r5_encodings_line_ends_and_marks_stay() {
    let workspace = TestWorkspace::new();
    for (name, before, after) in [
        ("/crlf", b"a\r\nb\r\nc\r\n".to_vec(), b"a\r\nX\r\nY\r\nc\r\n".to_vec()),
        ("/bom", b"\xef\xbb\xbfa\nb\nc".to_vec(), b"\xef\xbb\xbfa\nX\nY\nc".to_vec()),
        ("/utf16", utf16("a\nb\nc"), utf16("a\nX\nY\nc")),
    ] {
        workspace.put(name, before);
        ok(&workspace, "edit", json!({"path": name, "old_string": "b\n", "new_string": "X\nY\n"}));
        assert_eq!(workspace.bytes(name), after, "{name}");
    }
}

fn utf16(text: &str) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

#[test]
fn r5_binary_files_are_refused_by_name() {
    let workspace = TestWorkspace::new();
    workspace.put("/image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    workspace.put("/nul.bin", b"a\0b");
    for path in ["/image.png", "/nul.bin"] {
        invalid(&workspace, "read", json!({"path": path}), "path");
        invalid(
            &workspace,
            "edit",
            json!({"path": path, "old_string": "a", "new_string": "b"}),
            "path",
        );
    }
    assert!(
        invalid(&workspace, "read", json!({"path": "/image.png"}), "path")
            .to_lowercase()
            .contains("png")
    );
}

#[test]
fn r6_the_hash_is_that_of_the_bytes_known_or_not() {
    let workspace = TestWorkspace::new();
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    workspace.put("/external", "abc");
    let made = ok(&workspace, "write", json!({"path": "/known", "content": "abc"}));
    assert_eq!(made["hash"], abc);
    for path in ["/external", "/known"] {
        assert_eq!(ok(&workspace, "read", json!({"path": path}))["hash"], abc);
        assert_eq!(ok(&workspace, "file_info", json!({"path": path}))["hash"], abc);
    }
}

#[test]
fn r7_a_stale_hash_writes_nothing_and_tells_the_current_one() {
    let workspace = TestWorkspace::new();
    let first = ok(&workspace, "write", json!({"path": "/a", "content": "one"}));
    let second =
        ok(&workspace, "write", json!({"path": "/a", "content": "two", "overwrite": true}));
    let edit = json!({"path": "/a", "old_string": "two", "new_string": "three", "last_read_hash": first["hash"]});
    let body = fails(&workspace, "edit", edit, 409, "CONFLICT");
    assert!(body["error"].as_str().unwrap().contains(second["hash"].as_str().unwrap()), "{body}");
    let write = json!({"path": "/a", "content": "three", "overwrite": true, "last_read_hash": first["hash"]});
    fails(&workspace, "write", write, 409, "CONFLICT");
    assert_eq!(workspace.bytes("/a"), b"two");
}

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
fn r10_failed_edits_teach() {
    let workspace = TestWorkspace::new();
    workspace.put(
        "/a.rs",
        "fn one() {\n    let value = 1;\n}\nfn two() {\n    let value = 1;\n}\nfn three() {\n\tdone();\n}\n",
    );
    let edit = |old: &str| json!({"path": "/a.rs", "old_string": old, "new_string": "x"});
    let several = invalid(&workspace, "edit", edit("    let value = 1;"), "old_string");
    assert!(several.contains('2') && several.contains('5'), "each line number: {several}");
    let near = invalid(&workspace, "edit", edit("fn three() {\n    done();"), "old_string");
    assert!(near.contains('7') || near.contains('8'), "the closest place: {near}");
}

#[test]
fn r11_ids_and_times() {
    let workspace = TestWorkspace::new();
    let made = ok(&workspace, "write", json!({"path": "/a", "content": "x"}));
    assert!(
        is_uuid_v7(&made["file_id"]) && is_uuid_v7(&made["version_id"]) && is_hash(&made["hash"])
    );
    workspace.put("/external", "x");
    for path in ["/a", "/external"] {
        let info = ok(&workspace, "file_info", json!({"path": path}));
        assert!(is_time(&info["created_at"]) && is_time(&info["updated_at"]), "{info}");
    }
}

#[test]
fn r12_text_answers_are_bounded_and_go_on() {
    let workspace = TestWorkspace::new();
    let bound = usize::try_from(workspace.session().limits().answer_bytes).unwrap();
    let text = lines(60_000);
    assert!(text.len() > 2 * bound);
    workspace.put("/big.txt", &text);
    let mut whole = String::new();
    let mut cursor = json!(0);
    while !cursor.is_null() {
        let page =
            ok(&workspace, "read", json!({"path": "/big.txt", "limit": 0, "cursor": cursor}));
        let content = page["content"].as_str().unwrap();
        assert!(content.len() <= bound && !content.is_empty());
        assert_eq!(page["truncated"], !page["cursor"].is_null());
        whole.push_str(content);
        cursor = page["cursor"].clone();
    }
    assert_eq!(whole, text);

    let cat =
        ok(&workspace, "cat", json!({"paths": ["/big.txt", "/big.txt"], "number_lines": true}));
    assert_eq!(cat["truncated"], true);
    assert!(cat["content"].as_str().unwrap().len() <= bound);
    let next = cat["files"][0]["next_offset"].as_u64().unwrap();
    let rest = ok(
        &workspace,
        "cat",
        json!({"paths": ["/big.txt"], "number_lines": true, "offset": next, "limit": 1}),
    );
    assert_eq!(rest["content"], format!("{:>6}\tline {next}\n", next + 1));

    let many =
        ok(&workspace, "read_multiple_files", json!({"paths": vec!["/big.txt"; 5], "limit": 0}));
    let total: usize = each(&many["files"], "content").iter().map(|text| text.len()).sum();
    assert!(total <= bound);
    for file in many["files"].as_array().unwrap() {
        assert_eq!(file["truncated"], true);
        assert!(file["cursor"].as_u64().unwrap() > 0);
    }

    let grep = ok(&workspace, "grep", json!({"pattern": "line", "limit": 0, "context": 2}));
    assert!(grep.to_string().len() < 4 * bound);
    assert!(grep["next"].is_string());
}

/// The bound is on the text that is answered, not on the bytes that it is decoded from.
#[test]
fn r12_decoded_text_is_bounded_too() {
    let workspace = TestWorkspace::new();
    let bound = usize::try_from(workspace.session().limits().answer_bytes).unwrap();
    let sentence = "Déjà vu à l'été: un café très serré, s'il vous plaît, et une crème brûlée.\n";
    let latin1: Vec<u8> = sentence.chars().map(|character| character as u8).collect();
    workspace.put("/legacy.txt", latin1.repeat(10_000));
    let read = ok(&workspace, "read", json!({"path": "/legacy.txt", "limit": 0}));
    let content = read["content"].as_str().unwrap();
    assert!(content.starts_with(sentence), "{}", &content[..100]);
    assert!(content.len() <= bound, "{} > {bound}", content.len());
}

/// Files that the kernel streams answer as those that it holds.
#[test]
fn r12_large_files_are_read_like_small_ones() {
    let workspace = TestWorkspace::new();
    let text = lines(200_000);
    assert!(text.len() > 2 << 20);
    workspace.put("/big.txt", &text);
    for (offset, limit, first) in
        [(0, 3, 0), (150_000, 2, 150_000), (-5, 2, 199_995), (-999_999, 1, 0)]
    {
        let args = json!({"path": "/big.txt", "offset": offset, "limit": limit});
        let result = ok(&workspace, "read", args);
        let expected: String =
            (first..first + limit).map(|line| format!("line {line}\n")).collect();
        assert_eq!(
            (&result["content"], &result["offset"]),
            (&json!(expected), &json!(first)),
            "{offset}"
        );
        assert_eq!(
            (&result["total_lines"], &result["cursor"]),
            (&json!(200_000), &json!(first + limit))
        );
    }
    let past = ok(&workspace, "read", json!({"path": "/big.txt", "offset": 999_999}));
    assert_eq!((&past["content"], &past["offset"]), (&json!(""), &json!(200_000)));
    assert_eq!((&past["truncated"], &past["cursor"]), (&json!(false), &Value::Null));
    let end = ok(&workspace, "read", json!({"path": "/big.txt", "offset": -2}));
    assert_eq!(
        (&end["content"], &end["truncated"]),
        (&json!("line 199998\nline 199999\n"), &json!(false))
    );
    assert_eq!(end["hash"], ok(&workspace, "file_info", json!({"path": "/big.txt"}))["hash"]);
    let cat =
        ok(&workspace, "cat", json!({"paths": ["/big.txt"], "offset": -1, "number_lines": true}));
    assert_eq!(cat["content"], "200000\tline 199999\n");
}

#[test]
fn w1_envelopes() {
    let workspace = TestWorkspace::new();
    let answer = workspace.call("touch", json!({"path": "/a"}));
    let keys: Vec<&String> = answer.body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["success", "result", "error"]);
    let answer = workspace.call("rm", json!({"path": "/none"}));
    let keys: Vec<&String> = answer.body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["success", "error", "code"]);
    let answer = workspace.call("rm", json!({}));
    let keys: Vec<&String> = answer.body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["success", "error", "code", "fields"]);
}

#[test]
fn w1_policy_and_time_have_their_codes() {
    let workspace = TestWorkspace::new();
    let args = json!({"path": "/a", "content": "x"});
    let reader = workspace.session_of(Actor::LocalAgent, CallerPolicy::ReadOnly);
    let denied = workspace.call_as(&reader, "workspace", "write", args.clone());
    assert_eq!((denied.status, &denied.body["code"]), (403, &json!("FORBIDDEN")));
    let call = workspace.call_context();
    call.cancel_flag().store(true, Ordering::Relaxed);
    let late = workspace.catalog().call("workspace", "write", args, &workspace.session(), &call);
    assert_eq!((late.status, &late.body["code"]), (504, &json!("TIMEOUT")));
    assert!(!workspace.has("/a"));
}

#[test]
fn w2_file_types_are_lower_case() {
    let workspace = TestWorkspace::new();
    for word in ["document", "canvas", "whiteboard", "agent", "skill", "plan"] {
        let path = format!("/{word}");
        ok(
            &workspace,
            "write",
            json!({"path": path, "content": "x", "file_type": word.to_uppercase()}),
        );
        assert_eq!(ok(&workspace, "file_info", json!({"path": path}))["file_type"], word);
        let found = ok(&workspace, "find", json!({"file_type": word}));
        assert_eq!(each(&found["matches"], "path"), [path]);
    }
}

#[test]
fn w3_values_come_back_as_values_and_text_as_text() {
    let workspace = TestWorkspace::new();
    let value: Value =
        serde_json::from_str(r#"{"z": 1.50, "a": [2e-7, 12345678901234567890123], "m": null}"#)
            .unwrap();
    ok(&workspace, "write", json!({"path": "/v.json", "content": value}));
    let stored = "{\n  \"z\": 1.50,\n  \"a\": [\n    2e-7,\n    12345678901234567890123\n  ],\n  \"m\": null\n}";
    assert_eq!(workspace.bytes("/v.json"), stored.as_bytes());
    let read = ok(&workspace, "read", json!({"path": "/v.json"}));
    assert_eq!(read["content"].to_string(), value.to_string());
    let many = ok(&workspace, "read_multiple_files", json!({"paths": ["/v.json"]}));
    assert_eq!(many["files"][0]["content"], value);
    for (path, value) in
        [("/n", json!(42)), ("/l", json!([1, "two"])), ("/b", json!(true)), ("/null", json!(null))]
    {
        ok(&workspace, "write", json!({"path": path, "content": value}));
        assert_eq!(ok(&workspace, "read", json!({"path": path}))["content"], value, "{path}");
    }

    ok(&workspace, "write", json!({"path": "/t.json", "content": stored}));
    assert_eq!(ok(&workspace, "read", json!({"path": "/t.json"}))["content"], stored);

    ok(&workspace, "edit", json!({"path": "/v.json", "old_string": "1.50", "new_string": "2"}));
    assert_eq!(ok(&workspace, "read", json!({"path": "/v.json"}))["content"]["z"], json!(2));
    ok(&workspace, "edit", json!({"path": "/v.json", "old_string": "null", "new_string": "nil"}));
    ok(&workspace, "write", json!({"path": "/n", "content": "42", "overwrite": true}));
    assert_eq!(
        ok(&workspace, "read", json!({"path": "/n"}))["content"],
        "42",
        "written as text now"
    );
    ok(&workspace, "mv", json!({"source": "/l", "destination": "/moved"}));
    assert_eq!(ok(&workspace, "read", json!({"path": "/moved"}))["content"], json!([1, "two"]));
    let broken = ok(&workspace, "read", json!({"path": "/v.json"}));
    assert!(broken["content"].is_string(), "no longer JSON: text");
    assert_eq!(broken["total_lines"], 8);
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
fn w5_cursor_scrolls() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", lines(10));
    let first = ok(&workspace, "read", json!({"path": "/a", "limit": 4}));
    assert_eq!((&first["cursor"], &first["truncated"]), (&json!(4), &json!(true)));
    let second =
        ok(&workspace, "read", json!({"path": "/a", "limit": 4, "cursor": first["cursor"]}));
    assert_eq!((&second["offset"], &second["cursor"]), (&json!(4), &json!(8)));
    let back = ok(&workspace, "read", json!({"path": "/a", "limit": 1, "cursor": 8, "offset": -3}));
    assert_eq!(back["content"], "line 5\n");
    let last = ok(&workspace, "read", json!({"path": "/a", "limit": 4, "cursor": 8}));
    assert_eq!((&last["content"], &last["cursor"]), (&json!("line 8\nline 9\n"), &Value::Null));
    assert_eq!(last["truncated"], false);
}

#[test]
fn w5_offsets_resolve_and_are_never_errors() {
    let workspace = TestWorkspace::new();
    workspace.put("/external", lines(10));
    ok(&workspace, "write", json!({"path": "/known", "content": lines(10)}));
    for path in ["/external", "/known"] {
        for (offset, resolved, content) in [
            (-3, 7, lines(10)[49..].to_owned()),
            (-99, 0, lines(10)),
            (10, 10, String::new()),
            (99, 10, String::new()),
        ] {
            let result =
                ok(&workspace, "read", json!({"path": path, "offset": offset, "limit": 0}));
            assert_eq!(
                (&result["content"], &result["offset"]),
                (&json!(content), &json!(resolved)),
                "{path} {offset}"
            );
            assert_eq!(result["truncated"], false);
        }
    }
}

#[test]
fn w6_write_protects_every_existing_file() {
    let workspace = TestWorkspace::new();
    workspace.put("/external", "stays");
    let message =
        invalid(&workspace, "write", json!({"path": "/external", "content": "x"}), "path");
    assert!(message.contains("overwrite=true") && message.contains("edit"));
    assert_eq!(workspace.bytes("/external"), b"stays");
}

#[test]
fn w6_folders_and_chats() {
    let workspace = TestWorkspace::new();
    let made = ok(
        &workspace,
        "write",
        json!({"path": "/new/folder", "file_type": "folder", "content": {}}),
    );
    assert!(is_uuid_v7(&made["file_id"]));
    assert_eq!((&made["version_id"], &made["hash"]), (&Value::Null, &Value::Null));
    assert!(on_disk(&workspace, "/new/folder").is_dir());
    ok(&workspace, "write", json!({"path": "/bare", "file_type": "folder"}));
    invalid(
        &workspace,
        "write",
        json!({"path": "/full", "file_type": "folder", "content": "x"}),
        "content",
    );
    assert!(
        invalid(
            &workspace,
            "write",
            json!({"path": "/c", "file_type": "chat", "content": {}}),
            "file_type"
        )
        .contains("chats API")
    );
    assert!(
        invalid(
            &workspace,
            "write",
            json!({"path": "/c", "file_type": "film", "content": "x"}),
            "file_type"
        )
        .contains("whiteboard")
    );
    invalid(&workspace, "write", json!({"path": "/c"}), "content");
    workspace.put("/file", "x");
    invalid(&workspace, "write", json!({"path": "/file", "file_type": "folder"}), "path");
    let typed =
        ok(&workspace, "write", json!({"path": "/c", "file_type": "canvas", "content": {}}));
    let again = ok(&workspace, "write", json!({"path": "/c", "content": [], "overwrite": true}));
    assert_eq!(typed["file_id"], again["file_id"]);
    let info = ok(&workspace, "file_info", json!({"path": "/c"}));
    assert_eq!(info["file_type"], "canvas", "an existing file keeps its type");
}

#[test]
fn w7_what_was_removed_has_a_trash_id() {
    let workspace = TestWorkspace::new();
    workspace.put("/external", "x");
    let result = ok(&workspace, "rm", json!({"path": "/external"}));
    assert_eq!(result["file_id"], Value::Null);
    assert!(is_uuid_v7(&result["trash_id"]));
    let made = ok(&workspace, "touch", json!({"path": "/known"}));
    let result = ok(&workspace, "rm", json!({"path": "/known"}));
    assert_eq!((&result["file_id"], &result["trash_id"]), (&made["file_id"], &made["file_id"]));
    ok(&workspace, "mkdir", json!({"path": "/empty"}));
    ok(&workspace, "rm", json!({"path": "/empty"}));
    assert!(!on_disk(&workspace, "/empty").exists());
    invalid(&workspace, "rm", json!({"path": "/"}), "path");
}

#[test]
fn w8_moves() {
    let workspace = TestWorkspace::new();
    let made = ok(&workspace, "write", json!({"path": "/dir/sub/file", "content": "x"}));
    workspace.put("/plain", "p");
    let mv =
        |source: &str, destination: &str| json!({"source": source, "destination": destination});
    fails(&workspace, "mv", mv("/plain", "/nowhere/"), 404, "NOT_FOUND");
    fails(&workspace, "mv", mv("/plain", "/dir/sub/file/"), 404, "NOT_FOUND");
    fails(&workspace, "mv", mv("/plain", "/no/parent"), 404, "NOT_FOUND");
    fails(&workspace, "mv", mv("/dir", "/dir/sub/dir"), 400, "VALIDATION_ERROR");
    fails(&workspace, "mv", mv("/dir", "/dir/sub/"), 400, "VALIDATION_ERROR");
    workspace.put("/taken/plain", "t");
    fails(&workspace, "mv", mv("/plain", "/taken/"), 409, "CONFLICT");
    fails(&workspace, "mv", mv("/plain", "/taken"), 409, "CONFLICT");
    fails(&workspace, "mv", mv("/", "/taken/"), 400, "VALIDATION_ERROR");
    // What is in the way is named, not missed.
    for destination in ["/dir/sub/file/", "/dir/sub/file/x", "/dir/sub/file/x/"] {
        let body = fails(&workspace, "mv", mv("/plain", destination), 404, "NOT_FOUND");
        assert!(body["error"].as_str().unwrap().contains("/dir/sub/file is a file"), "{body}");
    }
    let why = invalid(&workspace, "mv", mv("/dir", "/dir/"), "destination");
    assert!(why.contains("into itself"), "{why}");
    assert_eq!(ok(&workspace, "mv", mv("/plain", "/plain"))["to_path"], "/plain");
    assert_eq!(ok(&workspace, "mv", mv("/dir", "/moved"))["to_path"], "/moved");
    let info = ok(&workspace, "file_info", json!({"path": "/moved/sub/file"}));
    assert_eq!((&info["id"], &info["synced"]), (&made["file_id"], &json!(true)));
    assert!(!on_disk(&workspace, "/dir").exists());
}

#[test]
fn w9_inserts_whole_lines() {
    let workspace = TestWorkspace::new();
    let insert =
        |line: u64, text: &str| json!({"path": "/a", "insert_line": line, "insert_content": text});
    workspace.put("/a", "one\ntwo\n");
    ok(&workspace, "edit", insert(0, "zero"));
    assert_eq!(workspace.bytes("/a"), b"zero\none\ntwo\n");
    ok(&workspace, "edit", insert(3, "three\n"));
    assert_eq!(workspace.bytes("/a"), b"zero\none\ntwo\nthree\n");
    invalid(&workspace, "edit", insert(9, "x"), "insert_line");
    let both = json!({"path": "/a", "old_string": "one", "new_string": "1", "insert_line": 0, "insert_content": "x"});
    invalid(&workspace, "edit", both, "insert_line");
    invalid(&workspace, "edit", json!({"path": "/a"}), "old_string");
    invalid(
        &workspace,
        "edit",
        json!({"path": "/a", "old_string": "one", "new_string": "one"}),
        "new_string",
    );
    invalid(
        &workspace,
        "edit",
        json!({"path": "/a", "old_string": "one", "new_string": "1", "last_read_hash": "a1b2"}),
        "last_read_hash",
    );
    assert_eq!(workspace.bytes("/a"), b"zero\none\ntwo\nthree\n");
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

#[test]
fn w13_cat_is_gnu_cat_for_one_file() {
    let workspace = TestWorkspace::new();
    let text = "\n\n\tone \r\n\n\n\n  two\t\r\nthree\r";
    workspace.put("/a.txt", text);
    let place = on_disk(&workspace, "/a.txt");
    for (flags, args) in [
        (vec![], json!({})),
        (vec!["-E"], json!({"show_ends": true})),
        (vec!["-T"], json!({"show_tabs": true})),
        (vec!["-s"], json!({"squeeze_blank": true})),
        (vec!["-n"], json!({"number_lines": true})),
        (
            vec!["-E", "-T", "-n"],
            json!({"show_ends": true, "show_tabs": true, "number_lines": true}),
        ),
        (
            vec!["-E", "-T", "-s"],
            json!({"show_ends": true, "show_tabs": true, "squeeze_blank": true}),
        ),
    ] {
        let printed = Command::new("cat").args(&flags).arg(&place).output().unwrap().stdout;
        let mut args = args;
        args["paths"] = json!(["/a.txt"]);
        let result = ok(&workspace, "cat", args);
        assert_eq!(result["content"].as_str().unwrap().as_bytes(), printed, "{flags:?}");
        assert_eq!(result["files"][0]["content"], result["content"]);
    }
}

#[test]
fn w13_numbers_are_each_file_s_own() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", "1\n\n\n4\n");
    workspace.put("/b", "x\ny\n");
    let squeezed = ok(
        &workspace,
        "cat",
        json!({"paths": ["/a"], "squeeze_blank": true, "number_lines": true}),
    );
    assert_eq!(squeezed["content"], "     1\t1\n     2\t\n     4\t4\n");
    assert_eq!(squeezed["files"][0]["line_count"], 3);
    let two = ok(
        &workspace,
        "cat",
        json!({"paths": ["/b", "/b"], "number_lines": true, "show_headers": true}),
    );
    assert_eq!(
        two["content"],
        "==> /b <==\n     1\tx\n     2\ty\n\n==> /b <==\n     1\tx\n     2\ty\n"
    );
    let offset =
        ok(&workspace, "cat", json!({"paths": ["/a"], "offset": -1, "number_lines": true}));
    assert_eq!(offset["content"], "     4\t4\n");
}

#[test]
fn w13_unreadable_files_and_the_number_of_files() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", "1\n");
    workspace.put("/bin", "\0");
    let result = ok(&workspace, "cat", json!({"paths": ["/a", "/none", "/bin", "/..", "/a"]}));
    assert_eq!(result["content"], "1\n1\n");
    for index in [1, 2, 3] {
        let file = &result["files"][index];
        assert!(file["error"].is_string() && file["content"].is_null(), "{file}");
    }
    invalid(&workspace, "cat", json!({"paths": []}), "paths");
    invalid(&workspace, "cat", json!({"paths": vec!["/a"; 21]}), "paths");
    ok(&workspace, "cat", json!({"paths": vec!["/a"; 20]}));
    invalid(&workspace, "read_multiple_files", json!({"paths": []}), "paths");
    invalid(&workspace, "read_multiple_files", json!({"paths": vec!["/a"; 51]}), "paths");
    ok(&workspace, "read_multiple_files", json!({"paths": vec!["/a"; 50]}));
}

#[test]
fn w14_file_info_of_a_folder() {
    let workspace = TestWorkspace::new();
    workspace.put("/external/file", "x");
    ok(&workspace, "mkdir", json!({"path": "/known"}));
    for path in ["/external", "/known", "/"] {
        let info = ok(&workspace, "file_info", json!({"path": path}));
        assert_eq!((&info["path"], &info["file_type"]), (&json!(path), &json!("folder")));
        for key in ["size", "line_count", "hash"] {
            assert_eq!(info[key], Value::Null, "{path} {key}");
        }
        assert!(is_time(&info["updated_at"]));
    }
}

#[test]
fn w19_synced_is_what_the_disk_says() {
    let workspace = TestWorkspace::new();
    ok(&workspace, "write", json!({"path": "/a", "content": "one"}));
    assert_eq!(ok(&workspace, "read", json!({"path": "/a"}))["synced"], true);
    workspace.put("/a", "two, behind its back");
    let read = ok(&workspace, "read", json!({"path": "/a"}));
    assert_eq!(
        (&read["content"], &read["synced"]),
        (&json!("two, behind its back"), &json!(false))
    );
    assert_eq!(ok(&workspace, "file_info", json!({"path": "/a"}))["synced"], false);
    ok(&workspace, "edit", json!({"path": "/a", "old_string": "two", "new_string": "three"}));
    assert_eq!(ok(&workspace, "ls", json!({}))["entries"][0]["synced"], true);
}

#[test]
fn w19_touch_makes_no_version() {
    let workspace = TestWorkspace::new();
    let made = ok(&workspace, "write", json!({"path": "/a", "content": "x"}));
    let touched = ok(&workspace, "touch", json!({"path": "/a"}));
    assert_eq!(touched["file_id"], made["file_id"]);
    assert_eq!(touched.get("version_id"), None);
    let info = ok(&workspace, "file_info", json!({"path": "/a"}));
    assert_eq!((&info["hash"], &info["synced"]), (&made["hash"], &json!(true)));
}

#[test]
fn b1_a_call_of_a_toolset_that_the_key_is_not_for_leaves_an_audit_row() {
    let workspace = TestWorkspace::new();
    let agent = workspace.session().with_toolsets(&["file".to_owned()]);
    let write = json!({"path": "/a.txt", "content": "x"});
    let call = workspace.call_context();
    let answer = workspace.catalog().call("workspace", "write", write, &agent, &call);
    assert_eq!((answer.ok, answer.status), (false, 403), "{}", answer.body);
    let rows = SqliteStore::open(workspace.folders().state()).unwrap().audit(0, 100).unwrap();
    let row = rows.iter().map(|row| &row.entry).find(|entry| entry.action == "deny call");
    assert_eq!(row.unwrap().detail, "workspace.write", "{rows:?}");
}
