//! The binary itself, each time with a root and a data folder of its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests drive the binary from outside"
)]

#[path = "cli/blame.rs"]
mod blame;
#[path = "support/canaries.rs"]
mod canaries;
#[path = "cli/git.rs"]
mod git;
#[path = "cli/inbox.rs"]
mod inbox;
#[path = "cli/lasting.rs"]
mod lasting;
#[path = "cli/programs.rs"]
mod programs;
#[path = "cli/secrets.rs"]
mod secrets;
#[path = "cli/storage.rs"]
mod storage;
mod support;
#[path = "cli/take_back.rs"]
mod take_back;
#[path = "cli/words.rs"]
mod words;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::{Ran, TestWorkspace};
use yard_core::ContentHash;

fn sha(content: &str) -> Value {
    json!(ContentHash::of(content.as_bytes()).to_string())
}

fn hashes(steps: &[Value]) -> Vec<Value> {
    steps.iter().map(|step| step["hash"].clone()).collect()
}

#[test]
fn w1_a_call_goes_to_the_disk_and_back() {
    let workspace = TestWorkspace::new();
    let written = workspace.call("write", json!({"path": "/a.txt", "content": "one\ntwo\n"}));
    assert!(written["file_id"].is_string() && written["version_id"].is_string());
    assert_eq!(workspace.text("a.txt"), "one\ntwo\n");
    assert_eq!(workspace.call("read", json!({"path": "/a.txt"}))["content"], "one\ntwo\n");
    workspace.call("edit", json!({"path": "/a.txt", "old_string": "two", "new_string": "2"}));
    assert_eq!(workspace.text("a.txt"), "one\n2\n");
    workspace.call("rm", json!({"path": "/a.txt"}));
    assert!(!workspace.file("a.txt").exists());
    assert_eq!(workspace.refused("read", json!({"path": "/a.txt"}))["code"], "NOT_FOUND");
}

#[test]
fn w1_failures_are_envelopes_with_an_exit_code() {
    let workspace = TestWorkspace::new();
    let envelope = workspace.refused("read", json!({}));
    assert_eq!(envelope["code"], "VALIDATION_ERROR");
    assert!(envelope["fields"]["path"].is_string());
    assert_eq!(workspace.refused("no_such_tool", json!({}))["code"], "NOT_FOUND");
    assert_eq!(workspace.refused("read", json!({"path": "/../x"}))["code"], "VALIDATION_ERROR");
    let stale = json!({"path": "/a", "old_string": "x", "new_string": "y", "last_read_hash": "0".repeat(64)});
    workspace.write("/a", "x");
    assert_eq!(workspace.refused("edit", stale)["code"], "CONFLICT");
    assert_eq!(workspace.text("a"), "x");
}

#[test]
fn a_call_works_whatever_the_configuration_says_about_servers() {
    let workspace = TestWorkspace::new();
    workspace.write("/a.txt", "one\n");
    fs::write(workspace.data().join("toolyard.toml"), "[jwt]\nsecret = 'short'\n").unwrap();
    assert_eq!(workspace.call("read", json!({"path": "/a.txt"}))["content"], "one\n");
    let mut command = workspace.command(&["call", "read", r#"{"path": "/a.txt"}"#]);
    assert!(command.env("TOOLYARD__JWT", "x").output().unwrap().status.success());
    let server =
        Ran::from(workspace.command(&["serve", "--listen", "127.0.0.1:0"]).output().unwrap());
    assert!(server.stderr.contains("jwt.secret"), "{}", server.stderr);
    fs::write(workspace.data().join("toolyard.toml"), "[commands]\nterminals = 'x'\n").unwrap();
    let reply = workspace.run(&["call", "read", r#"{"path": "/a.txt"}"#]);
    assert!(reply.exit != 0 && reply.stderr.contains("commands.terminals"), "{}", reply.stderr);
}

#[test]
fn w1_invalid_json_is_refused_in_the_envelope() {
    let workspace = TestWorkspace::new();
    for bad in ["{", "{'path': 1}", "nonsense"] {
        let ran = workspace.run(&["call", "read", bad]);
        assert_eq!(ran.exit, 2);
        let envelope = ran.json();
        assert_eq!(envelope["success"], false);
        assert_eq!(envelope["code"], "VALIDATION_ERROR");
        assert!(envelope["fields"].is_object());
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
    let ran = workspace.run_with_input(&["call", "read", "-"], b"\xff");
    assert_eq!((ran.exit, &ran.json()["code"]), (2, &json!("VALIDATION_ERROR")));
    let ran = workspace.run(&["call", "read", "[1]"]);
    assert_eq!((ran.exit, &ran.json()["code"]), (1, &json!("VALIDATION_ERROR")));
}

#[test]
fn arguments_come_from_standard_input() {
    let workspace = TestWorkspace::new();
    let input = br#"{"path": "/in.txt", "content": "from a pipe\n"}"#;
    assert_eq!(workspace.run_with_input(&["call", "write", "-"], input).exit, 0);
    let ran = workspace.run_with_input(&["call", "read"], br#"{"path": "/in.txt"}"#);
    assert_eq!(ran.json()["result"]["content"], "from a pipe\n");
    assert_eq!(workspace.run_with_input(&["call", "ls"], b"").json()["success"], true);
}

#[test]
fn r12_a_request_over_the_bound_is_refused() {
    let workspace = TestWorkspace::new();
    let mut input = br#"{"path": "/big", "content": ""#.to_vec();
    input.resize(input.len() + (64 << 20), b'x');
    input.extend(br#""}"#);
    let ran = workspace.run_with_input(&["call", "write"], &input);
    assert_eq!((ran.exit, &ran.json()["code"]), (2, &json!("PAYLOAD_TOO_LARGE")));
    assert!(!workspace.file("big").exists());
}

#[test]
fn w3_numbers_keep_their_spelling_from_the_shell_to_the_disk() {
    let workspace = TestWorkspace::new();
    let arguments = r#"{"path": "/n.json", "content": {"b": 1.10, "a": 12345678901234567890123}}"#;
    assert_eq!(workspace.run(&["call", "write", arguments]).exit, 0);
    let text = workspace.text("n.json");
    assert!(text.contains("1.10") && text.contains("12345678901234567890123"), "{text}");
    assert!(text.find("\"b\"") < text.find("\"a\""), "{text}");
}

#[test]
fn history_lists_steps_newest_first() {
    let workspace = TestWorkspace::new();
    assert_eq!(
        workspace.json(&["history"]),
        json!({"steps": [], "truncated": false, "next": null})
    );
    workspace.write("/a.txt", "1\n");
    workspace.write("/b.txt", "2\n");
    workspace.write("/a.txt", "3\n");
    let steps = workspace.steps(None);
    let paths: Vec<&Value> = steps.iter().map(|step| &step["path"]).collect();
    assert_eq!(paths, ["/a.txt", "/b.txt", "/a.txt"]);
    assert_eq!(steps[0]["author"], "agent");
    assert_eq!(steps[0]["verb"], "write");
    assert_eq!(steps[0]["files"], 1);
    assert_eq!(steps[0]["undoes"], Value::Null);
    assert!(steps[0].get("hash").is_none());
    let page = workspace.json(&["history", "--limit", "2"]);
    assert_eq!(page["truncated"], true);
    let rest = workspace.json(&["history", "--before", page["next"].as_str().unwrap()]);
    assert_eq!(rest["steps"], json!([steps[2]]));
}

#[test]
fn r6_history_of_a_file_has_the_hash_after_each_step() {
    let workspace = TestWorkspace::new();
    workspace.write("/dir/a.txt", "1\n");
    workspace.write("/b.txt", "2\n");
    workspace.write("/dir/a.txt", "3\n");
    for path in ["/dir/a.txt", "dir/a.txt"] {
        let steps = workspace.steps(Some(path));
        assert_eq!(hashes(&steps), [sha("3\n"), sha("1\n")], "{path}");
        assert_eq!(steps[0]["size"], 2);
        assert!(steps[0]["version_id"].is_string());
    }
    let host = workspace.file("dir/a.txt").canonicalize().unwrap();
    assert_eq!(workspace.steps(Some(host.to_str().unwrap())).len(), 2);
    let ran = workspace.run(&["history", "nothing.txt", "--json"]);
    assert_ne!((ran.exit, ran.json()["steps"].as_array().map(Vec::len)), (0, Some(1)));
}

#[test]
fn a_path_may_be_relative_to_the_current_folder() {
    let workspace = TestWorkspace::new();
    workspace.write("/dir/a.txt", "1\n");
    let mut command = workspace.command(&["history", "a.txt", "--json"]);
    let ran = Ran::from(command.current_dir(workspace.file("dir")).output().unwrap());
    assert_eq!(ran.json()["steps"][0]["path"], "/dir/a.txt");
}

#[test]
fn history_has_external_versions() {
    let workspace = TestWorkspace::new();
    workspace.write("/a.txt", "first\n");
    fs::write(workspace.file("a.txt"), "behind our back\nsecond line\n").unwrap();
    workspace.call("edit", json!({"path": "/a.txt", "old_string": "second", "new_string": "2nd"}));
    let steps = workspace.steps(Some("a.txt"));
    let expected =
        [sha("behind our back\n2nd line\n"), sha("behind our back\nsecond line\n"), sha("first\n")];
    assert_eq!(hashes(&steps), expected);
    assert_eq!(steps[1]["author"], "external");
    assert_eq!(steps[0]["author"], "agent");
}

#[test]
fn undo_takes_back_an_old_step_and_an_undo() {
    let workspace = TestWorkspace::new();
    let lines: Vec<String> = (1..=20).map(|number| format!("line {number}\n")).collect();
    workspace.write("/a.txt", &lines.concat());
    workspace
        .call("edit", json!({"path": "/a.txt", "old_string": "line 2\n", "new_string": "two\n"}));
    let old = workspace.newest_step();
    workspace
        .call("edit", json!({"path": "/a.txt", "old_string": "line 18\n", "new_string": "18\n"}));
    let both = workspace.text("a.txt");

    let undone = workspace.json(&["undo", &old]);
    assert_eq!(undone["undoes"], json!(old));
    assert_eq!(undone["paths"], json!(["/a.txt"]));
    assert_eq!(workspace.text("a.txt"), lines.concat().replace("line 18\n", "18\n"));
    let newest = &workspace.steps(None)[0];
    assert_eq!((&newest["undoes"], &newest["author"]), (&json!(old), &json!("person")));

    workspace.json(&["undo", "last"]);
    assert_eq!(workspace.text("a.txt"), both);
}

#[test]
fn undo_names_a_conflict_and_changes_nothing() {
    let workspace = TestWorkspace::new();
    workspace.write("/a.txt", "1\n2\n3\n");
    workspace.call("edit", json!({"path": "/a.txt", "old_string": "2", "new_string": "two"}));
    let old = workspace.newest_step();
    workspace.call("edit", json!({"path": "/a.txt", "old_string": "two", "new_string": "TWO"}));
    let ran = workspace.run(&["undo", &old, "--json"]);
    assert_eq!((ran.exit, &ran.json()["code"]), (1, &json!("merge_conflict")));
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    assert_eq!(workspace.text("a.txt"), "1\nTWO\n3\n");
}

#[test]
fn a_step_is_named_by_its_beginning() {
    let workspace = TestWorkspace::new();
    workspace.write("/a.txt", "1\n");
    let id = workspace.newest_step();
    assert_eq!(workspace.json(&["show", &id[..18]])["id"], json!(id));
    assert_eq!(workspace.json(&["show", "last"])["id"], json!(id));
    let failure = |name| {
        let ran = workspace.run(&["undo", name, "--json"]);
        assert_eq!(ran.exit, 1);
        ran.json()["code"].clone()
    };
    assert_eq!(failure("ffff"), "not_found");
    assert_eq!(failure("nonsense"), "bad_argument");
    assert_eq!(failure("01980000-0000-7000-8000-000000000000"), "not_found");
    workspace.write("/b.txt", "1\n");
    assert_eq!(failure(&id[..4]), "bad_argument");
}

#[test]
fn show_prints_a_diff_in_colour_when_asked() {
    let workspace = TestWorkspace::new();
    workspace.write("/a.txt", "same\nold\n");
    workspace.call("edit", json!({"path": "/a.txt", "old_string": "old", "new_string": "new"}));
    let plain = workspace.run(&["show", "last"]).stdout;
    assert!(plain.contains("diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@"), "{plain}");
    assert!(plain.contains("\n same\n-old\n+new\n"), "{plain}");
    assert!(!plain.contains('\x1b'));
    let coloured = workspace.run(&["show", "last", "--color", "always"]).stdout;
    assert!(coloured.contains("\x1b[32m+new\x1b[0m"), "{coloured:?}");
    workspace.call("mv", json!({"source": "/a.txt", "destination": "/b.txt"}));
    let moved = workspace.run(&["show", "last"]).stdout;
    assert!(moved.contains("rename from a.txt\nrename to b.txt\n"), "{moved}");
    workspace.call("rm", json!({"path": "/b.txt"}));
    let removed = workspace.run(&["show", "last"]).stdout;
    assert!(removed.contains("removed\n"), "{removed}");
    let json = workspace.json(&["show", "last"]);
    assert_eq!(json["changes"][0]["change"], "removed");
    assert_eq!(json["changes"][0]["from"], "/b.txt");
    assert_eq!(json["changes"][0]["hash_before"], sha("same\nnew\n"));
}

#[test]
fn w7_what_was_removed_is_listed_and_restored() {
    let workspace = TestWorkspace::new();
    workspace.write("/a.txt", "precious\n");
    workspace.write("/b.txt", "b\n");
    workspace.call("rm", json!({"path": "/a.txt"}));
    workspace.call("rm", json!({"path": "/b.txt"}));
    let trash = workspace.json(&["trash"]);
    let entries = trash["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!((&entries[0]["path"], &entries[1]["path"]), (&json!("/b.txt"), &json!("/a.txt")));
    assert_eq!((&entries[1]["kind"], &entries[1]["size"]), (&json!("file"), &json!(9)));
    let restored = workspace.json(&["restore", entries[1]["id"].as_str().unwrap()]);
    assert_eq!(restored["path"], "/a.txt");
    assert_eq!(workspace.text("a.txt"), "precious\n");
    workspace.json(&["restore", "b.txt"]);
    assert_eq!(workspace.text("b.txt"), "b\n");
    assert_eq!(workspace.json(&["trash"])["entries"], json!([]));
    assert_eq!(workspace.run(&["restore", "b.txt", "--json"]).exit, 1);
}

#[test]
fn an_old_version_becomes_the_newest() {
    let workspace = TestWorkspace::new();
    workspace.write("/a.txt", "old\n");
    workspace.write("/a.txt", "new\n");
    let steps = workspace.steps(Some("a.txt"));
    workspace.json(&["restore", "--version", steps[1]["version_id"].as_str().unwrap()]);
    assert_eq!(workspace.text("a.txt"), "old\n");
    assert_eq!(workspace.steps(Some("a.txt")).len(), 3);
}

#[test]
fn verify_agrees_and_finds_damage() {
    let workspace = TestWorkspace::new();
    workspace.write("/a.txt", "a distinctive content that verify reads back\n");
    workspace.write("/b.txt", "b\n");
    let clean = workspace.json(&["verify"]);
    assert_eq!((&clean["ok"], &clean["problems"]), (&json!(true), &json!([])));
    assert_eq!((&clean["steps"], &clean["synced"]), (&json!(2), &json!(2)));

    fs::write(workspace.file("b.txt"), "changed behind our back\n").unwrap();
    assert_eq!(workspace.json(&["verify"])["unsynced"], json!(["/b.txt"]));

    flip_byte_in(&workspace.state().join("journal.db"), b"distinctive");
    let ran = workspace.run(&["verify", "--json"]);
    assert_eq!(ran.exit, 1, "{}", ran.stdout);
    let damaged = ran.json();
    let reply = damaged["problems"].as_array().is_some_and(|problems| !problems.is_empty());
    assert!(reply || damaged["error"].is_string(), "{damaged}");
}

#[test]
fn verify_finds_a_changed_audit_row() {
    let workspace = TestWorkspace::new();
    workspace.write("/a.txt", "a\n");
    workspace.write("/b.txt", "b\n");
    flip_byte_in(&workspace.state().join("journal.db"), b"agent:local");
    let ran = workspace.run(&["verify", "--json"]);
    assert_eq!((ran.exit, &ran.json()["ok"]), (1, &json!(false)));
}

/// Changes one byte of the first occurrence of `marker`.
fn flip_byte_in(file: &Path, marker: &[u8]) {
    let mut bytes = fs::read(file).unwrap();
    let at = bytes.windows(marker.len()).position(|window| window == marker);
    bytes[at.expect("the marker is stored")] ^= 1;
    fs::write(file, bytes).unwrap();
}

#[test]
fn import_records_what_is_on_disk() {
    let workspace = TestWorkspace::new();
    workspace.write("/known.txt", "1\n");
    fs::write(workspace.file("known.txt"), "2\n").unwrap();
    fs::create_dir(workspace.file("sub")).unwrap();
    fs::write(workspace.file("sub/new.txt"), "new\n").unwrap();
    fs::write(workspace.file("skipped.log"), "log\n").unwrap();
    fs::write(workspace.file(".gitignore"), "*.log\n").unwrap();
    let imported = workspace.json(&["import"]);
    assert!(imported["step"].is_string());
    assert_eq!((&imported["changed"], &imported["removed"]), (&json!(1), &json!(0)));
    assert_eq!(hashes(&workspace.steps(Some("sub/new.txt"))), [sha("new\n")]);
    assert_eq!(hashes(&workspace.steps(Some("known.txt"))), [sha("2\n"), sha("1\n")]);
    assert_eq!(workspace.steps(None)[0]["author"], "external");
    let again = workspace.json(&["import"]);
    assert_eq!((&again["step"], &again["added"]), (&Value::Null, &json!(0)));
    let ignored = workspace.json(&["import", "--include-ignored"]);
    assert_eq!(ignored["added"], 1);
}

#[test]
fn r9_searches_need_no_program() {
    let workspace = TestWorkspace::new();
    workspace.write("/src/main.rs", "fn main() {}\n");
    let empty = tempfile::tempdir().unwrap();
    for (tool, args) in [
        ("grep", json!({"pattern": "fn \\w+"})),
        ("glob", json!({"pattern": "*.rs"})),
        ("find", json!({"name": "*.rs"})),
    ] {
        let mut call = workspace.command(&["call", tool, &args.to_string()]);
        let ran = Ran::from(call.env("PATH", empty.path()).output().unwrap());
        assert_eq!(ran.json()["result"]["matches"][0]["path"], "/src/main.rs", "{tool}");
    }
}

#[test]
fn tools_are_listed_in_every_format() {
    let workspace = TestWorkspace::new();
    let table = workspace.run(&["tools"]).stdout;
    assert!(table.starts_with("TOOL"), "{table}");
    for tool in ["ls", "read", "write", "rm", "mv", "touch", "mkdir", "edit", "grep", "glob"] {
        assert!(table.lines().any(|line| line.starts_with(&format!("{tool} "))), "{table}");
    }
    // The first line has the headings, the last one says how to list the tools of other toolsets.
    assert!(table.lines().last().unwrap().contains("--toolset"), "{table}");
    let count = table.lines().count() - 2;
    for format in ["json", "functions", "openai", "openai-chat", "anthropic"] {
        let ran = workspace.run(&["tools", "--format", format]);
        assert_eq!(ran.json().as_array().map(Vec::len), Some(count), "{format}");
    }
    let gemini = workspace.run(&["tools", "--format", "gemini"]).json();
    assert_eq!(gemini["functionDeclarations"].as_array().map(Vec::len), Some(count));
    assert_eq!(workspace.run(&["tools", "--toolset", "nowhere"]).exit, 1);
    assert!(!workspace.data().exists(), "listing tools opens no workspace");
}

#[test]
fn shells_get_their_completions() {
    let workspace = TestWorkspace::new();
    for shell in ["bash", "zsh", "fish"] {
        let ran = workspace.run(&["completions", shell]);
        assert!(ran.exit == 0 && ran.stdout.contains("history"), "{shell}");
    }
    assert_eq!(workspace.run(&["completions", "nonsense"]).exit, 2);
}

#[test]
fn without_a_command_there_is_help() {
    let workspace = TestWorkspace::new();
    let ran = Ran::from(workspace.bare().output().unwrap());
    assert_eq!(ran.exit, 0);
    assert!(ran.stdout.contains("Usage:") && ran.stdout.contains("Examples:"), "{}", ran.stdout);
    assert_eq!(Ran::from(workspace.bare().arg("nonsense").output().unwrap()).exit, 2);
}

#[test]
fn a_data_folder_inside_the_root_is_refused() {
    let workspace = TestWorkspace::new();
    std::os::unix::fs::symlink(workspace.root(), workspace.temp.path().join("link")).unwrap();
    for inside in ["root", "root/.toolyard", "link/data", "elsewhere/../root/data"] {
        let data = workspace.temp.path().join(inside);
        let mut command = workspace.bare();
        command.arg("--root").arg(workspace.root()).arg("--data-dir").arg(data);
        let ran = Ran::from(command.args(["call", "ls", "{}"]).output().unwrap());
        assert_eq!((ran.exit, &ran.json()["success"]), (1, &json!(false)), "{inside}");
        assert!(ran.stderr.contains("--data-dir"), "{}", ran.stderr);
    }
    assert_eq!(fs::read_dir(workspace.root()).unwrap().count(), 0);
}

#[test]
fn the_data_folder_comes_from_the_environment() {
    let workspace = TestWorkspace::new();
    let run = |name: &str, value: &Path| {
        let mut command = workspace.bare();
        command.env(name, value).args(["call", "ls", "{}"]).current_dir(workspace.root());
        assert_eq!(Ran::from(command.output().unwrap()).exit, 0, "{name}");
    };
    let base = workspace.temp.path();
    run("TOOLYARD_DATA_DIR", &base.join("chosen"));
    assert!(base.join("chosen/workspaces").is_dir());
    run("XDG_DATA_HOME", &base.join("xdg"));
    assert!(base.join("xdg/toolyard/workspaces").is_dir());
    run("HOME", &base.join("someone"));
    assert!(base.join("someone").is_dir());
}

#[test]
fn the_history_is_private_and_names_its_root() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = TestWorkspace::new();
    workspace.write("/a.txt", "secret\n");
    let mode = fs::metadata(workspace.state()).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
    let note = fs::read_to_string(workspace.state().join("root")).unwrap();
    assert_eq!(note.trim_end(), workspace.root().canonicalize().unwrap().to_str().unwrap());
}

#[test]
fn a_root_that_is_not_there_is_an_error() {
    let workspace = TestWorkspace::new();
    fs::write(workspace.file("file"), "").unwrap();
    for (root, code) in [("nowhere", "not_found"), ("root/file", "not_folder")] {
        let mut command = workspace.bare();
        command.args(["--root", root, "history", "--json", "--data-dir"]).arg(workspace.data());
        let ran = Ran::from(command.output().unwrap());
        assert_eq!((ran.exit, &ran.json()["code"]), (1, &json!(code)));
        assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
    }
}

#[test]
fn nothing_of_ours_is_left_inside_the_root() {
    let workspace = TestWorkspace::new();
    workspace.write("/a.txt", "1\n");
    workspace.write("/sub/b.txt", "2\n");
    workspace.call("edit", json!({"path": "/a.txt", "old_string": "1", "new_string": "2"}));
    workspace.json(&["undo", "last"]);
    workspace.json(&["verify"]);
    let mut names: Vec<_> =
        fs::read_dir(workspace.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["a.txt", "sub"]);
    assert_eq!(fs::read_dir(workspace.file("sub")).unwrap().count(), 1);
}

#[test]
fn r13_no_answer_names_a_path_outside_of_the_root() {
    let workspace = TestWorkspace::new();
    std::os::unix::fs::symlink("/etc/passwd", workspace.file("leak")).unwrap();
    workspace.write("/a.txt", "1\n");
    let outside = workspace.temp.path().join("data").to_str().unwrap().to_owned();
    for (tool, arguments) in [
        ("ls", json!({"path": "/", "recursive": true})),
        ("read", json!({"path": "/leak"})),
        ("read", json!({"path": "/nothing"})),
        ("file_info", json!({"path": "/a.txt"})),
        ("write", json!({"path": "/leak/x", "content": ""})),
        ("mv", json!({"source": "/a.txt", "destination": "/nowhere/x"})),
    ] {
        let ran = workspace.run(&["call", tool, &arguments.to_string()]);
        for text in [&ran.stdout, &ran.stderr] {
            assert!(!text.contains(&outside), "{tool}: {text}");
            assert!(!text.contains("root:"), "{tool}: {text}");
        }
    }
    fs::write(workspace.temp.path().join("file"), "").unwrap();
    let mut command = workspace.bare();
    command.arg("--root").arg(workspace.root()).args(["--data-dir", "file", "call", "ls", "{}"]);
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.exit, 1);
    assert!(
        !ran.stdout.contains(workspace.temp.path().join("file").to_str().unwrap()),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_reader_that_went_away_is_no_panic() {
    let workspace = TestWorkspace::new();
    let lines = "a line that is long enough to fill a pipe\n".repeat(20_000);
    let arguments = json!({"path": "/long.txt", "content": lines}).to_string();
    assert_eq!(workspace.run_with_input(&["call", "write"], arguments.as_bytes()).exit, 0);
    for arguments in [&["show", "last"][..], &["call", "cat", r#"{"paths": ["/long.txt"]}"#]] {
        let mut command = workspace.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    }
}

#[test]
fn names_cannot_play_with_the_terminal() {
    let workspace = TestWorkspace::new();
    workspace.write("/evil\u{1b}[2J\n.txt", "x\n");
    let table = workspace.run(&["history"]).stdout;
    assert!(table.contains("/evil\\u{1b}[2J\\n.txt"), "{table:?}");
    assert_eq!(table.lines().count(), 2);
}

#[test]
fn the_reference_is_what_the_catalog_generates() {
    let workspace = TestWorkspace::new();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dialects.md");
    let generated = workspace.run(&["tools", "--format", "markdown"]).stdout;
    let kept = fs::read_to_string(page).unwrap();
    assert!(
        kept == generated,
        "run: cargo run -p yard-cli -- tools --format markdown > docs/dialects.md"
    );
}

#[test]
fn the_openapi_document_is_what_the_routes_generate() {
    let workspace = TestWorkspace::new();
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let generated = workspace.run(&["tools", "--format", "openapi"]).stdout;
    let kept = fs::read_to_string(document).unwrap();
    let advice = "run: cargo run -p yard-cli -- tools --format openapi > docs/openapi.json";
    assert!(kept == generated, "{advice}");
}

#[test]
fn w15_a_person_answers_on_the_command_line() {
    let workspace = TestWorkspace::new();
    let plan = "/plans/a.plan";
    let chat = workspace.json(&["chats", "--new", "Login", "--mode", "plan"]);
    let chat = chat["id"].as_str().unwrap();
    let call = |tool: &str, arguments: Value| {
        workspace.run(&["call", "--chat", chat, tool, &arguments.to_string()])
    };
    assert_eq!(call("write", json!({"path": "/x", "content": "x"})).exit, 1);
    call("plan_write", json!({"title": "T", "content": "Do it.", "path": plan}));
    let question = json!({"name": "ok", "question": "Go?",
        "schema": {"type": "string", "enum": ["Accept", "Reject"]}});
    let asked = call("ask_user", json!({"questions": [question]})).json();
    let id = asked["result"]["question_id"].as_str().unwrap();

    let waiting = workspace.json(&["answer"]);
    assert_eq!(waiting["questions"][0]["id"], id);
    assert!(workspace.run(&["answer"]).stdout.contains("Accept, Reject"));
    assert_eq!(workspace.run(&["answer", id, "ok=Maybe"]).exit, 1);
    let answered = workspace.json(&["answer", id, "ok=Accept", "--button"]);
    assert_eq!((&answered["status"], &answered["via"]), (&json!("answered"), &json!("button")));
    assert_eq!(answered["answered_by"], "person:local");
    assert_eq!(workspace.run(&["answer", id, "ok=Reject"]).exit, 1);
    assert_eq!(workspace.json(&["answer"])["questions"], json!([]));

    assert_eq!(call("exit_plan_mode", json!({"plan_file_path": plan})).exit, 0);
    assert_eq!(call("write", json!({"path": "/x", "content": "x"})).exit, 0);
    assert_eq!(workspace.json(&["chats"])["chats"][0]["mode"], "build");
    assert_eq!(workspace.run(&["call", "--chat", "nonsense", "ls", "{}"]).exit, 1);
    assert_eq!(workspace.run(&["verify"]).exit, 0);
}

/// Runs the binary as if the machine had been started again: another boot id is mounted over the kernel's, in a
/// mount namespace of its own. `None` where that is not allowed.
fn run_after_restart(workspace: &TestWorkspace, boot: &str, arguments: &[&str]) -> Option<Ran> {
    let file = workspace.temp.path().join("boot_id");
    fs::write(&file, format!("{boot}\n")).unwrap();
    let script = r#"mount --bind "$0" /proc/sys/kernel/random/boot_id || exit 99; exec "$@""#;
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).arg(&file).arg(env!("CARGO_BIN_EXE_toolyard"));
    command
        .arg("--root")
        .arg(workspace.root())
        .arg("--data-dir")
        .arg(workspace.data())
        .args(arguments);
    let ran = Ran::from(command.stdin(Stdio::null()).output().ok()?);
    (ran.exit != 99).then_some(ran)
}

#[test]
fn p1_after_a_restart_of_the_machine_no_command_takes_a_persons_work_back() {
    let workspace = TestWorkspace::new();
    fs::write(workspace.file("file.txt"), "first\n").unwrap();
    fs::write(workspace.file("gone.txt"), "gone\n").unwrap();
    fs::write(workspace.file("here.txt"), "here\n").unwrap();
    workspace
        .call("edit", json!({"path": "/file.txt", "old_string": "first", "new_string": "agent"}));
    workspace.write("/new.txt", "new\n");
    workspace.call("rm", json!({"path": "/gone.txt"}));
    workspace.call("mv", json!({"source": "/here.txt", "destination": "/there.txt"}));
    workspace.write("/other.txt", "other\n");
    // A person works on: edits, deletes, restores and moves back.
    fs::write(workspace.file("file.txt"), "person\n").unwrap();
    fs::remove_file(workspace.file("new.txt")).unwrap();
    fs::write(workspace.file("gone.txt"), "gone\n").unwrap();
    fs::rename(workspace.file("there.txt"), workspace.file("here.txt")).unwrap();
    let boots =
        ["11111111-2222-3333-4444-555555555555", "66666666-2222-3333-4444-555555555555", ""];
    let commands: [&[&str]; 6] = [
        &["call", "read", r#"{"path": "/file.txt"}"#],
        &["call", "grep", r#"{"pattern": "person"}"#],
        &["history"],
        &["verify"],
        &["doctor"],
        &["undo", "last"],
    ];
    for (boot, command) in boots.iter().cycle().zip(commands) {
        let Some(ran) = run_after_restart(&workspace, boot, command) else {
            return eprintln!("SKIPPED: no other boot id can be mounted here; NOTHING WAS CHECKED");
        };
        assert!(
            ran.exit == 0 || command[0] == "doctor",
            "{command:?}: {}{}",
            ran.stdout,
            ran.stderr
        );
        assert_eq!(workspace.text("file.txt"), "person\n", "{command:?}");
        assert_eq!(workspace.text("gone.txt"), "gone\n", "{command:?}");
        assert_eq!(workspace.text("here.txt"), "here\n", "{command:?}");
        assert!(!workspace.file("new.txt").exists(), "{command:?}");
        assert!(!workspace.file("there.txt").exists(), "{command:?}");
    }
    assert!(!workspace.file("other.txt").exists(), "the last step was undone");
}

#[test]
fn adopt_goes_on_with_a_folder_that_was_replaced_or_moved() {
    let workspace = TestWorkspace::new();
    workspace.write("/a", "agent\n");
    fs::rename(workspace.root(), workspace.temp.path().join("away")).unwrap();
    fs::create_dir(workspace.root()).unwrap();
    fs::write(workspace.file("b"), "another project\n").unwrap();
    let refused = workspace.run(&["history"]);
    assert_ne!(refused.exit, 0);
    assert!(refused.stderr.contains("toolyard adopt"), "{}", refused.stderr);
    let adopted = workspace.run(&["adopt"]);
    assert_eq!(adopted.exit, 0, "{}", adopted.stderr);
    assert!(adopted.stdout.contains("the history of 1 step"), "{}", adopted.stdout);
    assert!(!workspace.file("a").exists());
    workspace.write("/c", "goes on\n");
    let mut moved = workspace.bare();
    let away = workspace.temp.path().join("away");
    moved.arg("--root").arg(&away).arg("--data-dir").arg(workspace.data());
    let moved = Ran::from(moved.args(["adopt", "--from"]).arg(workspace.root()).output().unwrap());
    assert_eq!(moved.exit, 0, "{}", moved.stderr);
    assert_eq!(fs::read_to_string(away.join("a")).unwrap(), "agent\n");
    assert_eq!(workspace.run(&["history"]).stdout, "no steps\n", "its history went along");
}

/// What the disk has of the root, name by name.
fn texts(workspace: &TestWorkspace) -> Vec<(String, String)> {
    let mut texts: Vec<_> = fs::read_dir(workspace.root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| (name.clone(), workspace.text(&name)))
        .collect();
    texts.sort();
    texts
}

#[test]
fn h5_a_damaged_journal_is_reported_nothing_is_rewritten_and_adopt_goes_on() {
    // Of a database: no database any more, cut off, and a page of garbage in its middle.
    for damage in ["garbage", "cut", "page"] {
        let workspace = TestWorkspace::new();
        for name in 0..40 {
            workspace.write(&format!("/f{name}"), "agent\n");
        }
        fs::write(workspace.file("f1"), "person\n").unwrap();
        fs::remove_file(workspace.file("f2")).unwrap();
        let journal = fs::read_dir(workspace.data().join("workspaces")).unwrap();
        let journal = journal.map(|entry| entry.unwrap().path().join("journal.db"));
        let journal = journal.into_iter().find(|path| path.is_file()).unwrap();
        let database = rusqlite::Connection::open(&journal).unwrap();
        database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        drop(database);
        let mut bytes = fs::read(&journal).unwrap();
        match damage {
            "garbage" => bytes.fill(b'x'),
            "cut" => bytes.truncate(bytes.len() / 2 + 100),
            _ => {
                let page = bytes.len() / 8192 * 4096;
                bytes[4096..page].fill(0xa5);
            }
        }
        fs::write(&journal, &bytes).unwrap();
        let before = texts(&workspace);
        for arguments in [&["history"][..], &["call", "read", r#"{"path": "/f1"}"#], &["verify"]] {
            let reply = workspace.run(arguments);
            assert_ne!(reply.exit, 0, "{damage} {arguments:?}: {}", reply.stdout);
            let printed = format!("{}{}", reply.stdout, reply.stderr);
            assert!(
                printed.contains("damaged") && printed.contains("toolyard adopt"),
                "{damage}: {printed}"
            );
            assert_eq!(texts(&workspace), before, "{damage} {arguments:?}");
        }
        let adopted = workspace.run(&["adopt"]);
        assert_eq!(adopted.exit, 0, "{damage}: {}", adopted.stderr);
        assert!(adopted.stdout.contains("the damaged journal was kept as"), "{}", adopted.stdout);
        assert_eq!(texts(&workspace), before, "{damage}: adopting changes no file");
        workspace.write("/after", "goes on\n");
        assert_eq!(workspace.run(&["verify"]).exit, 0, "{damage}");
    }
}

#[test]
fn doctor_says_where_git_tracks_what_may_not_be_read() {
    let workspace = TestWorkspace::new();
    fs::write(workspace.file("secret.txt"), "a secret\n").unwrap();
    fs::write(workspace.file("untracked.txt"), "another\n").unwrap();
    let git = "git init -q . && git add secret.txt";
    let done = Command::new("sh").args(["-c", git]).current_dir(workspace.root()).status();
    assert!(done.unwrap().success());
    workspace.write("/a", "a\n");
    let rules = workspace.temp.path().join("rules.json");
    let rule = json!({"rules": [
        {"effect": "read", "path": ["secret.txt", "untracked.txt"], "then": "deny"}]});
    fs::write(&rules, rule.to_string()).unwrap();
    assert_eq!(workspace.run(&["policy", "set", rules.to_str().unwrap()]).exit, 0);
    let reply = workspace.run(&["doctor", "--json"]).json();
    let findings = reply["findings"].as_array().unwrap();
    if reply["level"] != "full" {
        return eprintln!("SKIPPED: there is no box to ask git in here");
    }
    let found = findings.iter().find(|finding| finding["name"] == "withheld files").unwrap();
    let found = found["found"].as_str().unwrap();
    assert!(found.contains("/secret.txt") && !found.contains("untracked"), "{found}");
}
