//! Every byte of the whole comes through the reader of each dialect.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

use super::{FOLDER, files, lines, ok, path_of, say_lines, spill};
use crate::box_setup::{shell, workspace};

#[test]
fn x4_streams_are_kept_whole_and_apart_and_short_ones_leave_no_file() {
    let workspace = workspace();
    let command = format!("{}; {} >&2; printf end", say_lines(300_000), say_lines(200_000));
    let reply = shell(&workspace, &command);
    let (out, err) = (path_of(&reply, "stdout"), path_of(&reply, "stderr"));
    assert!(out.starts_with(FOLDER) && out.ends_with(".stdout") && err.ends_with(".stderr"));
    let text = reply["stdout"].as_str().unwrap();
    let hint = format!("; the whole is at {out}, to be read in parts with offset and limit");
    assert!(text.contains(&hint), "{text}");
    assert_eq!(
        by_codex(&workspace, &out),
        lines(300_000) + "end",
        "also without a newline at the end"
    );
    assert_eq!(by_codex(&workspace, &err), lines(200_000));
    assert_eq!(files(&workspace).len(), 2);
    let reply = shell(&workspace, &format!("{}; echo short >&2", say_lines(60_000)));
    assert_eq!((&reply["stdout_path"], &reply["stderr_path"]), (&Value::Null, &Value::Null));
    assert_eq!(reply["stdout"], lines(60_000), "what fits is shown whole");
    assert_eq!(files(&workspace).len(), 2, "what fits leaves no file");
}

/// All pages, one after the other.
fn by_codex(workspace: &TestWorkspace, path: &str) -> String {
    let (mut all, mut offset) = (String::new(), 0);
    loop {
        let args = json!({"path": path, "offset": offset, "limit": 7_000});
        let page = ok(workspace, "codex", "read_file", args);
        let text = page["text"].as_str().unwrap();
        all.push_str(text);
        offset += text.lines().count();
        if page["truncated"] == false {
            return all;
        }
    }
}

fn by_workspace(workspace: &TestWorkspace, path: &str) -> String {
    let (mut all, mut cursor) = (String::new(), json!(0));
    while !cursor.is_null() {
        let args = json!({"path": format!("/{path}"), "limit": 0, "cursor": cursor});
        let page = ok(workspace, "workspace", "read", args);
        all.push_str(page["content"].as_str().unwrap());
        cursor = page["cursor"].clone();
    }
    all
}

/// Numbered lines without their numbers.
fn unnumbered(text: &str, mark: char) -> String {
    text.split_inclusive('\n').map(|line| line.split_once(mark).unwrap().1).collect()
}

fn by_file(workspace: &TestWorkspace, path: &str) -> String {
    let (mut all, mut offset) = (String::new(), 1);
    loop {
        let args = json!({"path": path, "offset": offset});
        let page = ok(workspace, "file", "file.read", args);
        let text = unnumbered(page["content"].as_str().unwrap(), '\t');
        offset += text.lines().count();
        all.push_str(&text);
        if page["truncated"] == false {
            return all;
        }
    }
}

fn by_coder(workspace: &TestWorkspace, path: &str) -> String {
    let (mut all, mut offset) = (String::new(), 0);
    loop {
        let page = ok(workspace, "coder", "read", json!({"filePath": path, "offset": offset}));
        let text = unnumbered(page["content"].as_str().unwrap(), '→');
        offset += text.lines().count();
        all.push_str(&text);
        if page["metadata"]["truncated"] == false {
            return all;
        }
    }
}

fn by_assistant(workspace: &TestWorkspace, path: &str) -> String {
    let (mut all, mut offset) = (String::new(), 0);
    loop {
        let args = json!({"path": path, "offset": offset, "limit": 9_000});
        let page = ok(workspace, "assistant", "read_file", args);
        let text = page["value"]["content"].as_str().unwrap();
        all.push_str(text);
        offset += text.lines().count();
        if page["value"]["truncated"] == false {
            return all;
        }
    }
}

#[test]
fn x4_every_dialect_reads_every_byte_of_it() {
    let workspace = workspace();
    let path = spill(&workspace, 400_000);
    let expected = lines(400_000);
    for (dialect, by) in [
        ("codex", by_codex as fn(&TestWorkspace, &str) -> String),
        ("workspace", by_workspace),
        ("file", by_file),
        ("coder", by_coder),
        ("assistant", by_assistant),
    ] {
        assert!(by(&workspace, &path) == expected, "{dialect}");
    }
    let whole = ok(&workspace, "assistant", "read_file", json!({"path": path}));
    assert!(whole["value"]["content"] == expected, "what can be loaded whole is");
    let cat =
        ok(&workspace, "workspace", "cat", json!({"paths": [format!("/{path}")], "limit": 3}));
    assert!(cat.to_string().contains("        0\\n        1\\n        2\\n"), "{cat}");
    let last = json!({"path": format!("/{path}"), "offset": -2});
    let last = ok(&workspace, "workspace", "read", last);
    assert_eq!(
        (&last["content"], &last["synced"]),
        (&json!("    39998\n    39999\n"), &json!(true))
    );
    let many = json!({"paths": [format!("/{path}")]});
    let many = ok(&workspace, "workspace", "read_multiple_files", many);
    assert!(many.to_string().contains("        0\\n        1\\n"), "{many}");
}

/// Bytes as they are, through base64.
fn by_bytes(workspace: &TestWorkspace, path: &str) -> Vec<u8> {
    let (mut all, mut next) = (Vec::new(), json!(0));
    while !next.is_null() {
        let args = json!({"path": path, "encoding": "base64", "byteOffset": next});
        let page = ok(workspace, "assistant", "read_file", args)["value"].clone();
        all.extend(STANDARD.decode(page["content"].as_str().unwrap()).unwrap());
        next = page["nextByte"].clone();
    }
    all
}

#[test]
fn x4_output_that_is_no_text_is_read_all_the_same() {
    let workspace = workspace();
    let code = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 3000)";
    let reply = shell(&workspace, &format!("python3 -c '{code}'"));
    let path = path_of(&reply, "stdout");
    let expected: Vec<u8> = (0..=255).collect::<Vec<u8>>().repeat(3_000);
    assert!(by_bytes(&workspace, &path) == expected);
    assert!(by_workspace(&workspace, &path) == String::from_utf8_lossy(&expected));
    let about = ok(&workspace, "workspace", "file_info", json!({"path": format!("/{path}")}));
    assert_eq!((&about["size"], &about["line_count"]), (&json!(768_000), &json!(3_001)), "{about}");
    let found = ok(&workspace, "codex", "grep_files", json!({"pattern": "ABC", "path": path}));
    assert_eq!(found["results"][0]["matches"][2]["line_num"], 4, "a NUL hides nothing");
}

#[test]
fn x4_pages_of_damaged_lines_go_on_where_they_were_cut() {
    let workspace = workspace();
    // One line of bytes that are no UTF-8, in which every place can be told.
    let code =
        "import sys; sys.stdout.buffer.write(b''.join(b'%d\\xff' % n for n in range(90000)))";
    let path = path_of(&shell(&workspace, &format!("python3 -c \"{code}\"")), "stdout");
    let expected: String = (0..90_000).map(|number| format!("{number}\u{fffd}")).collect();
    let (mut all, mut next) = (String::new(), None);
    loop {
        let page = match next {
            None => json!({"path": format!("/{path}")}),
            Some(byte) => json!({"path": format!("/{path}"), "byte_offset": byte}),
        };
        let page = ok(&workspace, "workspace", "read", page);
        all.push_str(page["content"].as_str().unwrap());
        next = page["cut_at_byte"].as_u64();
        if next.is_none() {
            break;
        }
    }
    assert!(all == expected, "{} of {}", all.len(), expected.len());
}

#[test]
fn x4_one_line_of_fifty_megabytes_is_read_to_its_end() {
    let workspace = workspace();
    let reply = shell(&workspace, "seq -s ' ' 1 6500000 | tr -d '\\n'");
    let path = path_of(&reply, "stdout");
    let size = std::fs::metadata(&files(&workspace)[0]).unwrap().len();
    assert!(size > 50_000_000, "{size}");
    // In `codex` the name says where to begin: its arguments count lines.
    let first = ok(&workspace, "codex", "read_file", json!({"path": path}));
    let shown = first["text"].as_str().unwrap();
    let note = first["note"].as_str().unwrap();
    assert!(shown.starts_with("1 2 3 ") && note.contains("longer than one answer"), "{note}");
    let next = note.split("read ").nth(1).unwrap().split(' ').next().unwrap();
    assert_eq!(next, format!("{path}@{}", shown.len()));
    let second = ok(&workspace, "codex", "read_file", json!({"path": next}));
    let both = format!("{shown}{}", second["text"].as_str().unwrap());
    let expected: String = (1..100_000).map(|number| format!("{number} ")).collect();
    assert!(expected.starts_with(&both), "nothing is lost between the two");
    let end = format!("{path}@{}", size - 15);
    let last = ok(&workspace, "codex", "read_file", json!({"path": end}));
    assert_eq!((&last["text"], &last["truncated"]), (&json!("6499999 6500000"), &json!(false)));
    let last = json!({"path": path, "byteOffset": size - 7});
    let last = ok(&workspace, "assistant", "read_file", last)["value"].clone();
    assert_eq!((&last["content"], &last["truncated"]), (&json!("6500000"), &json!(false)));
    let last = json!({"filePath": path, "byteOffset": size - 7});
    assert_eq!(ok(&workspace, "coder", "read", last)["content"], "6500000");
    let last = json!({"path": path, "byte_offset": size - 7});
    assert_eq!(ok(&workspace, "file", "file.read", last)["content"], "6500000");
}

#[test]
fn x4_output_is_searched_where_it_is_and_in_no_other_search() {
    let workspace = workspace();
    workspace.put("/a.txt", "    12345\n");
    let path = spill(&workspace, 300_000);
    let found = ok(&workspace, "codex", "grep_files", json!({"pattern": "12345$", "path": path}));
    assert_eq!(found["results"][0]["file"], path);
    assert_eq!(found["results"][0]["matches"][0]["line_num"], 12_346);
    let found = json!({"pattern": "12345$", "path": FOLDER});
    assert_eq!(ok(&workspace, "file", "file.search", found)["matches"][0]["path"], path);
    for (toolset, tool, args) in [
        ("workspace", "grep", json!({"pattern": "12345", "include_ignored": true})),
        ("workspace", "glob", json!({"pattern": "**/*", "include_ignored": true})),
        ("workspace", "glob", json!({"pattern": "*.stdout"})),
        ("workspace", "find", json!({"path": "/"})),
        ("workspace", "ls", json!({"path": "/"})),
        ("codex", "list_dir", json!({"path": ".", "depth": 5})),
        ("codex", "grep_files", json!({"pattern": "12345"})),
        ("file", "file.list", json!({"path": "."})),
        ("file", "file.search", json!({"pattern": "12345"})),
        ("coder", "ls", json!({"dirPath": ".", "recursive": true})),
        ("coder", "glob", json!({"pattern": "**/*"})),
        ("assistant", "list_directory", json!({"path": ".", "recursive": true})),
    ] {
        let reply = ok(&workspace, toolset, tool, args).to_string();
        assert!(!reply.contains("toolyard-output"), "{toolset} {tool}: {reply}");
    }
    let name = path.rsplit('/').next().unwrap();
    let listed = ok(&workspace, "workspace", "ls", json!({"path": format!("/{FOLDER}")}));
    assert_eq!(listed["total"], 1, "{listed}");
    for (toolset, tool, args) in [
        ("workspace", "ls", json!({"path": format!("/{FOLDER}")})),
        ("workspace", "glob", json!({"path": format!("/{FOLDER}"), "pattern": "*.stdout"})),
        ("workspace", "find", json!({"path": format!("/{FOLDER}"), "name": "*.stdout"})),
        ("codex", "list_dir", json!({"path": FOLDER})),
        ("file", "file.list", json!({"path": FOLDER})),
        ("coder", "ls", json!({"dirPath": FOLDER})),
        ("assistant", "list_directory", json!({"path": FOLDER})),
    ] {
        let reply = ok(&workspace, toolset, tool, args).to_string();
        assert!(reply.contains(name), "{toolset} {tool}: {reply}");
    }
    let about = ok(&workspace, "workspace", "file_info", json!({"path": format!("/{path}")}));
    assert_eq!(
        (&about["size"], &about["line_count"]),
        (&json!(300_000), &json!(30_000)),
        "{about}"
    );
}
