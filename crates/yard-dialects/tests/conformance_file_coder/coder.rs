//! What the document of `coder` asks for, sentence by sentence; its "Testing" and design decisions with it.

use serde_json::{Value, json};
use yard_core::{ApprovalId, ContentHash};
use yard_dialects::Answer;
use yard_gate::{Actor, ApprovalStatus, Awaited, CallerPolicy, DecisionInput, Scope};
use yard_testkit::TestWorkspace;

use super::{done, each, everything_below, has_members, refused};

#[track_caller]
fn ok(workspace: &TestWorkspace, tool: &str, args: Value) -> Value {
    done(workspace, "coder", tool, args)
}

#[track_caller]
fn fails(workspace: &TestWorkspace, tool: &str, args: Value, code: &str) -> String {
    refused(workspace, "coder", tool, args, code)
}

/// A call under the policy of a server.
fn guarded(workspace: &TestWorkspace, tool: &str, args: Value) -> Answer {
    let agent = workspace.session_of(Actor::LocalAgent, CallerPolicy::Guarded);
    workspace.call_as(&agent, "coder", tool, args)
}

/// The request that a call waits for.
#[track_caller]
fn asked(answer: &Answer) -> ApprovalId {
    assert_eq!((answer.ok, answer.status), (true, 202), "{}", answer.body);
    let Some(Awaited::Approval(id)) = answer.pending.as_ref().map(|pending| &pending.awaited)
    else {
        panic!("{}", answer.body)
    };
    *id
}

/// Says yes or no to a request as it is now, for that call alone.
fn decide(workspace: &TestWorkspace, id: ApprovalId, approves: bool) -> ApprovalStatus {
    let state: ContentHash = workspace.person().approvals().get(id).unwrap().request.state;
    let ruling = DecisionInput {
        approves,
        scope: Scope::Once,
        reason: None,
        args: None,
        state,
        planned: None,
        parts: None,
    };
    let decided =
        workspace.catalog().decide(id, &ruling, &workspace.person(), &workspace.call_context());
    decided.unwrap().status
}

#[test]
fn arguments_and_answers_are_those_of_the_document() {
    let workspace = TestWorkspace::new();
    let tool = |name: &str| workspace.catalog().get("coder", name).unwrap();
    for (name, input, ours, output, also) in [
        (
            "read",
            "filePath string, offset? integer, limit? integer",
            &["byteOffset"][..],
            "content string, metadata object",
            &[][..],
        ),
        (
            "write",
            "content string, filePath string",
            &[],
            "success boolean, filePath string, diff string, created boolean",
            &["diffTruncated"],
        ),
        (
            "edit",
            "filePath string, oldString string, newString string, replaceAll? boolean",
            &[],
            "success boolean, filePath string, replacements integer",
            &[],
        ),
        (
            "multiedit",
            "filePath string, edits array",
            &[],
            "success boolean, filePath string, totalReplacements integer, results array",
            &[],
        ),
        (
            "apply_patch",
            "patchText string",
            &[],
            "success boolean, filesModified integer, files array",
            &[],
        ),
        (
            "ls",
            "dirPath string, recursive? boolean",
            &["cursor"],
            "entries array, count integer",
            &["truncated", "next"],
        ),
        (
            "glob",
            "pattern string, limit? integer",
            &["includeIgnored", "cursor"],
            "files array, count integer, pattern string",
            &["truncated", "next", "ignored", "withheld"],
        ),
    ] {
        has_members(tool(name).input_schema(), input, ours, name);
        has_members(tool(name).output_schema(), output, also, name);
    }
    let input = |name: &str, member: &str| &tool(name).input_schema()["properties"][member];
    let output = |name: &str, member: &str| &tool(name).output_schema()["properties"][member];
    let edit = "oldString string, newString string, replaceAll? boolean";
    has_members(&input("multiedit", "edits")["items"], edit, &[], "an edit");
    assert_eq!(input("multiedit", "edits")["minItems"], 1);
    let metadata = "truncated boolean, lineCount integer, filePath string, preview boolean";
    has_members(output("read", "metadata"), metadata, &["nextByte"], "metadata");
    let result = &output("multiedit", "results")["items"];
    has_members(result, "replacements integer", &[], "a result");
    let entry = &output("ls", "entries")["items"];
    has_members(entry, "name string, path string, type string", &[], "an entry");
    let file = &output("apply_patch", "files")["items"];
    let ours = ["movedFrom", "copiedFrom", "placed"];
    has_members(file, "path string, action string", &ours, "a patched file");
    assert_eq!(output("glob", "files")["items"]["type"], "string");
    assert_eq!(
        (&input("read", "offset")["minimum"], &input("read", "limit")["minimum"]),
        (&json!(0), &json!(1))
    );
    let limit = input("glob", "limit");
    assert_eq!((&limit["minimum"], &limit["maximum"]), (&json!(1), &json!(1000)));
}

/// The document's tests of `read`.
#[test]
fn what_the_document_tests_of_read_holds() {
    let workspace = TestWorkspace::new();
    workspace.put("/test.txt", "test content\n");
    workspace.put("/large.txt", "line\n".repeat(2_001));
    workspace.put("/binary.bin", b"\x00\x01\x02");
    let path = |name: &str| json!({"filePath": workspace.root().join(name)});
    let read = ok(&workspace, "read", path("test.txt"));
    assert!(read["content"].as_str().unwrap().contains("test content"));
    assert_eq!(ok(&workspace, "read", path("large.txt"))["metadata"]["truncated"], true);
    let message = fails(&workspace, "read", path("binary.bin"), "BINARY_FILE");
    assert!(message.contains("binary") && message.contains("binary.bin"), "{message}");
}

/// The document's tests of `edit`.
#[test]
fn what_the_document_tests_of_edit_holds() {
    let workspace = TestWorkspace::new();
    workspace.put("/test.txt", "old text\n");
    let path = workspace.root().join("test.txt");
    let one =
        json!({"filePath": path, "oldString": "old", "newString": "new", "replaceAll": false});
    assert_eq!(ok(&workspace, "edit", one)["replacements"], 1);
    workspace.put("/test.txt", "old and old\n");
    let all = json!({"filePath": path, "oldString": "old", "newString": "new", "replaceAll": true});
    assert!(ok(&workspace, "edit", all)["replacements"].as_u64().unwrap() > 1);
    assert_eq!(workspace.bytes("/test.txt"), b"new and new\n");
}

#[test]
fn files_with_a_signature_of_binary_data_are_refused_by_name() {
    let workspace = TestWorkspace::new();
    let program = [&b"\x7fELF\x02\x01\x01"[..], &[0; 57]].concat();
    for (name, bytes, what) in [
        ("a.png", &b"\x89PNG\r\n\x1a\n\x01\x02"[..], "PNG"),
        ("a.pdf", b"%PDF-1.7\nplain\n", "PDF"),
        ("a.zip", b"PK\x03\x04\x14\x01\x01\x01", "ZIP"),
        ("a.gz", b"\x1f\x8b\x08\x01\x01\x01", "GZ"),
        ("a.gif", b"GIF89a\x01\x80\x01\x80", "GIF"),
        ("a.jpg", b"\xff\xd8\xff\xe0\x01\x10JFIF\x01", "JPG"),
        ("a.elf", &program, "ELF"),
    ] {
        workspace.put(name, bytes);
        let message = fails(&workspace, "read", json!({"filePath": name}), "BINARY_FILE");
        assert!(message.contains(name) && message.contains(what), "{message}");
        let edit = json!({"filePath": name, "oldString": "P", "newString": "Q"});
        fails(&workspace, "edit", edit, "BINARY_FILE");
        assert_eq!(workspace.bytes(name), bytes);
    }
}

#[test]
fn c1_a_part_of_a_file_is_numbered_as_in_the_whole_and_the_end_is_told() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "line\n".repeat(3_000));
    let whole = "/workspace/a.txt";
    for (offset, limit, first, last, truncated) in [
        (0, 2_000, 1, 2_000, true),
        (2_000, 2_000, 2_001, 3_000, false),
        (2_998, 1, 2_999, 2_999, true),
    ] {
        let args = json!({"filePath": whole, "offset": offset, "limit": limit});
        let read = ok(&workspace, "read", args);
        let content = read["content"].as_str().unwrap();
        assert!(content.starts_with(&format!("{first:>6}→line\n")), "{offset}");
        assert!(content.ends_with(&format!("{last:>6}→line\n")), "{offset}");
        let metadata = json!({"truncated": truncated, "lineCount": 3_000, "filePath": "a.txt", "preview": true});
        assert_eq!(read["metadata"], metadata, "{offset}");
    }
    let past = ok(&workspace, "read", json!({"filePath": "a.txt", "offset": 5_000}));
    assert_eq!((&past["content"], &past["metadata"]["truncated"]), (&json!(""), &json!(false)));
}

#[test]
fn c5_before_it_writes_a_person_sees_the_diff_that_the_answer_has_afterwards() {
    let before = "{\n  \"version\": \"0.0.1\"\n}\n";
    let after = "{\n  \"name\": \"new-package\",\n  \"version\": \"0.0.1\"\n}\n";
    let args = json!({"filePath": "package.json", "content": after});
    let workspace = TestWorkspace::new();
    workspace.put("/package.json", before);
    let plain = ok(&workspace, "write", args.clone());
    let diff = plain["diff"].as_str().unwrap();
    assert!(diff.contains("+  \"name\": \"new-package\",\n"), "{diff}");
    let workspace = TestWorkspace::new();
    workspace.put("/package.json", before);
    let id = asked(&guarded(&workspace, "write", args));
    let request = workspace.person().approvals().get(id).unwrap().request;
    assert_eq!(request.diff, diff);
    assert_eq!(
        workspace.bytes("/package.json"),
        before.as_bytes(),
        "nothing happens before the yes"
    );
    assert_eq!(decide(&workspace, id, true), ApprovalStatus::Executed);
    assert_eq!(workspace.bytes("/package.json"), after.as_bytes());
}

#[test]
fn c5_whatever_a_tool_asks_for_does_not_happen_after_a_no() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\ntwo\n");
    let before = everything_below(workspace.root());
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n";
    let edits =
        json!([{"oldString": "one", "newString": "1"}, {"oldString": "two", "newString": "2"}]);
    for (tool, args) in [
        ("read", json!({"filePath": "a.txt"})),
        ("write", json!({"filePath": "a.txt", "content": "x"})),
        ("write", json!({"filePath": "new/b.txt", "content": "x"})),
        ("edit", json!({"filePath": "a.txt", "oldString": "one", "newString": "1"})),
        ("multiedit", json!({"filePath": "a.txt", "edits": edits})),
        ("apply_patch", json!({"patchText": patch})),
    ] {
        let called = guarded(&workspace, tool, args);
        let id = asked(&called);
        let request = workspace.person().approvals().get(id).unwrap().request;
        let effect: Value = serde_json::from_str(&request.effect).unwrap();
        assert!(!effect["paths"].as_array().unwrap().is_empty(), "{tool}: {effect}");
        assert_eq!(decide(&workspace, id, false), ApprovalStatus::Denied, "{tool}");
        let agent = workspace.session_of(Actor::LocalAgent, CallerPolicy::Guarded);
        let pending = called.pending.unwrap();
        let answer =
            workspace.catalog().resume("coder", tool, &pending, &agent, &workspace.call_context());
        assert_eq!(answer.body["result"]["error"], "PERMISSION_DENIED", "{tool}: {}", answer.body);
        assert!(!answer.body.to_string().contains("two"), "{tool}: {}", answer.body);
        assert_eq!(everything_below(workspace.root()), before, "{tool}");
    }
}

#[test]
fn c3_a_multiedit_asks_once_for_all_its_edits() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\ntwo\nthree\n");
    let edits = json!([
        {"oldString": "one", "newString": "1"},
        {"oldString": "two", "newString": "2"},
        {"oldString": "three", "newString": "3"}
    ]);
    let id = asked(&guarded(&workspace, "multiedit", json!({"filePath": "a.txt", "edits": edits})));
    let diff = workspace.person().approvals().get(id).unwrap().request.diff;
    assert!(["+1\n", "+2\n", "+3\n"].iter().all(|line| diff.contains(line)), "{diff}");
    assert_eq!(decide(&workspace, id, true), ApprovalStatus::Executed);
    assert_eq!(workspace.bytes("/a.txt"), b"1\n2\n3\n");
}

#[test]
fn the_text_of_an_edit_is_no_pattern_and_stands_as_it_is_sent() {
    let workspace = TestWorkspace::new();
    let edit = |old: &str, new: &str, all: bool| json!({"filePath": "a.txt", "oldString": old, "newString": new, "replaceAll": all});
    for (text, old) in [
        ("abc\n", "a.c"),
        ("abc\n", "ABC"),
        ("a  c\n", "a c"),
        ("a\tc\n", "a    c"),
        ("xx\n", "x+"),
    ] {
        workspace.put("/a.txt", text);
        for all in [false, true] {
            let message = fails(&workspace, "edit", edit(old, "new", all), "INVALID_ARGUMENTS");
            assert!(message.contains("not found"), "{message}");
        }
        assert_eq!(workspace.bytes("/a.txt"), text.as_bytes());
    }
    for all in [false, true] {
        workspace.put("/a.txt", "(a|b)* $1\n");
        assert_eq!(ok(&workspace, "edit", edit("(a|b)* $1", "$& \\1 $$", all))["replacements"], 1);
        assert_eq!(workspace.bytes("/a.txt"), b"$& \\1 $$\n");
    }
    // As many as a text has, one after the other.
    workspace.put("/a.txt", "aaaa b aa\n");
    assert_eq!(ok(&workspace, "edit", edit("aa", "a", true))["replacements"], 3);
    assert_eq!(workspace.bytes("/a.txt"), b"aa b a\n");
    // What changes nothing is refused.
    fails(&workspace, "edit", edit("b", "b", false), "INVALID_ARGUMENTS");
}

#[test]
fn c3_each_edit_of_several_is_made_to_what_those_before_it_left() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "import a\nuse(a)\nuse(a)\n");
    let edits = json!([
        {"oldString": "import a", "newString": "import first"},
        {"oldString": "import first", "newString": "import second"},
        {"oldString": "use(a)", "newString": "use(second)", "replaceAll": true},
        {"oldString": "second", "newString": "last", "replaceAll": "true"}
    ]);
    let reply = ok(&workspace, "multiedit", json!({"filePath": "a.txt", "edits": edits}));
    let counts: Vec<u64> = reply["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["replacements"].as_u64().unwrap())
        .collect();
    assert_eq!((counts, &reply["totalReplacements"]), (vec![1, 1, 2, 3], &json!(7)));
    assert_eq!(workspace.bytes("/a.txt"), b"import last\nuse(last)\nuse(last)\n");
    // In another order the first of them finds nothing, and none is made.
    let before = workspace.bytes("/a.txt");
    let edits = json!([
        {"oldString": "import last", "newString": "import a"},
        {"oldString": "import second", "newString": "import b"}
    ]);
    let args = json!({"filePath": "a.txt", "edits": edits});
    assert!(fails(&workspace, "multiedit", args, "INVALID_ARGUMENTS").contains("edit 2 of 2"));
    // `replaceAll` is false unless it is sent.
    let args = json!({"filePath": "a.txt", "edits": [{"oldString": "last", "newString": "a"}]});
    fails(&workspace, "multiedit", args, "INVALID_ARGUMENTS");
    assert_eq!(workspace.bytes("/a.txt"), before);
}

#[test]
fn writing_makes_the_folders_above_and_nothing_else() {
    let workspace = TestWorkspace::new();
    workspace.put("/kept.txt", "kept\n");
    ok(&workspace, "write", json!({"filePath": "a/b/c.txt", "content": "x"}));
    let mut made: Vec<String> = everything_below(workspace.root()).into_keys().collect();
    made.sort();
    let below = |name: &str| workspace.root().join(name).display().to_string();
    assert_eq!(made, [below("a"), below("a/b"), below("a/b/c.txt"), below("kept.txt")]);
    let patch = "--- /dev/null\n+++ b/d/e/f.txt\n@@ -0,0 +1 @@\n+x\n";
    let reply = ok(&workspace, "apply_patch", json!({"patchText": patch}));
    assert_eq!(
        reply,
        json!({"success": true, "filesModified": 1, "files": [{"path": "d/e/f.txt", "action": "add"}]})
    );
    assert_eq!(workspace.bytes("/d/e/f.txt"), b"x\n");
    fails(
        &workspace,
        "edit",
        json!({"filePath": "no/new.txt", "oldString": "a", "newString": "b"}),
        "FILE_NOT_FOUND",
    );
    assert!(!workspace.has("/no"));
}

#[test]
fn c3_hunks_that_are_counted_wrong_or_not_at_all_are_applied_where_they_are_clear() {
    let workspace = TestWorkspace::new();
    for hunk in ["@@ -1,9 +1,9 @@\n one\n-two\n+2\n three\n", "@@\n one\n-two\n+2\n three\n"] {
        workspace.put("/a.txt", "one\ntwo\nthree\n");
        let patch = format!("--- a/a.txt\n+++ b/a.txt\n{hunk}");
        let reply = ok(&workspace, "apply_patch", json!({"patchText": patch}));
        assert_eq!(each(&reply["files"], "action"), ["update"]);
        assert_eq!(workspace.bytes("/a.txt"), b"one\n2\nthree\n", "{hunk}");
    }
}

#[test]
fn a_listing_is_of_the_directory_itself_unless_it_is_recursive() {
    let workspace = TestWorkspace::new();
    for path in ["/src/index.ts", "/src/components/Button.tsx", "/src/components/ui/x.ts"] {
        workspace.put(path, "");
    }
    let own = json!([
        {"name": "index.ts", "path": "src/index.ts", "type": "file"},
        {"name": "components", "path": "src/components", "type": "directory"}
    ]);
    let host = workspace.root().join("src");
    for dir in ["src", "./src/", "/workspace/src", host.to_str().unwrap()] {
        let listed = ok(&workspace, "ls", json!({"dirPath": dir}));
        assert_eq!((&listed["entries"], &listed["count"]), (&own, &json!(2)), "{dir}");
    }
    let all = ok(&workspace, "ls", json!({"dirPath": "src", "recursive": true}));
    assert_eq!(all["count"], 5);
    assert_eq!(each(&all["entries"], "path")[4], "src/components/ui/x.ts");
    let missing = ok(&workspace, "ls", json!({"dirPath": "none/at/all", "recursive": true}));
    assert_eq!((&missing["entries"], &missing["count"]), (&json!([]), &json!(0)));
}

#[test]
fn a_glob_finds_files_of_the_whole_workspace_and_a_hundred_unless_told_otherwise() {
    let workspace = TestWorkspace::new();
    for number in 0..120 {
        workspace.put(&format!("/many/{number:03}.ts"), "");
    }
    workspace.put("/a.ts", "");
    let found = |args: Value| ok(&workspace, "glob", args);
    let cut = found(json!({"pattern": "**/*.ts"}));
    assert_eq!(cut["files"].as_array().unwrap().len(), 100);
    assert_eq!((&cut["count"], &cut["pattern"]), (&json!(100), &json!("**/*.ts")));
    assert_eq!((&cut["files"][0], &cut["files"][1]), (&json!("a.ts"), &json!("many/000.ts")));
    let all = found(json!({"pattern": "**/*.ts", "limit": "1000"}));
    assert_eq!(all["count"], 121);
    assert_eq!(all["files"].as_array().unwrap().len(), 121);
    assert_eq!(found(json!({"pattern": "*"}))["count"], 100, "a directory is no file");
    let none = found(json!({"pattern": "many/*.py"}));
    assert_eq!((&none["files"], &none["count"]), (&json!([]), &json!(0)));
}

#[test]
fn r8_a_glob_leaves_out_what_ignore_files_exclude_and_goes_through_no_link() {
    let workspace = TestWorkspace::new();
    workspace.put("/.gitignore", "out/\n");
    for path in ["/out/a.ts", "/src/b.ts", "/.hidden.ts", "/.git/c.ts"] {
        workspace.put(path, "");
    }
    std::os::unix::fs::symlink("src", workspace.root().join("link")).unwrap();
    let found = |args: Value| ok(&workspace, "glob", args);
    let visible = found(json!({"pattern": "**/*.ts"}));
    assert_eq!(visible["files"], json!([".hidden.ts", "src/b.ts"]));
    assert_eq!(visible["ignored"], 1, "{visible}");
    let all = found(json!({"pattern": "**/*.ts", "includeIgnored": true}));
    assert_eq!(all["files"], json!([".hidden.ts", "out/a.ts", "src/b.ts"]));
    assert_eq!(found(json!({"pattern": "link/*"}))["files"], json!([]));
    assert_eq!(found(json!({"pattern": "*.ts"}))["files"], visible["files"], "at any depth");
}

#[test]
fn every_tool_takes_a_path_relative_or_absolute_and_shows_it_relative() {
    let workspace = TestWorkspace::new();
    let root = workspace.root().display().to_string();
    for prefix in ["", "./", "none/../", "/workspace/", &format!("{root}/")] {
        workspace.put("/dir/a.txt", "one\ntwo\n");
        let path = format!("{prefix}dir/a.txt");
        let read = ok(&workspace, "read", json!({"filePath": path}));
        assert_eq!(read["metadata"]["filePath"], "dir/a.txt", "{prefix}");
        let edit = json!({"filePath": path, "oldString": "one", "newString": "1"});
        assert_eq!(ok(&workspace, "edit", edit)["filePath"], "dir/a.txt", "{prefix}");
        let edits = json!([{"oldString": "two", "newString": "2"}]);
        let multi = ok(&workspace, "multiedit", json!({"filePath": path, "edits": edits}));
        assert_eq!(multi["filePath"], "dir/a.txt", "{prefix}");
        let write = ok(&workspace, "write", json!({"filePath": path, "content": "x\n"}));
        assert_eq!(write["filePath"], "dir/a.txt", "{prefix}");
        assert!(write["diff"].as_str().unwrap().starts_with("--- a/dir/a.txt\n"), "{prefix}");
        let patch =
            format!("*** Begin Patch\n*** Update File: {path}\n@@\n-x\n+y\n*** End Patch\n");
        let patched = ok(&workspace, "apply_patch", json!({"patchText": patch}));
        assert_eq!(each(&patched["files"], "path"), ["dir/a.txt"], "{prefix}");
        let listed = ok(&workspace, "ls", json!({"dirPath": format!("{prefix}dir")}));
        assert_eq!(each(&listed["entries"], "path"), ["dir/a.txt"], "{prefix}");
        if prefix.starts_with('/') {
            let found = ok(&workspace, "glob", json!({"pattern": format!("{prefix}dir/*")}));
            assert_eq!(found["files"], json!(["dir/a.txt"]), "{prefix}");
        }
        assert_eq!(workspace.bytes("/dir/a.txt"), b"y\n");
    }
}

#[test]
fn f1_a_failure_is_an_answer_that_names_the_file_and_what_is_wrong() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\n");
    workspace.put("/nul.bin", b"a\0b");
    for (tool, args, code, words) in [
        ("read", json!({"filePath": "no/x.ts"}), "FILE_NOT_FOUND", ["no/x.ts", "not found"]),
        ("read", json!({"filePath": "nul.bin"}), "BINARY_FILE", ["nul.bin", "binary"]),
        (
            "edit",
            json!({"filePath": "a.txt", "oldString": "two", "newString": "2"}),
            "INVALID_ARGUMENTS",
            ["a.txt", "not found"],
        ),
        ("read", json!({"filePath": "../a.txt"}), "INVALID_PATH", ["../a.txt", "relative"]),
    ] {
        let message = fails(&workspace, tool, args, code);
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
}
