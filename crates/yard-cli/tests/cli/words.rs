//! What the binary prints for the most common mistakes on its command line. `words.txt` has each command line with its
//! output; `YARD_RENEW=1 cargo nextest run -p yard-cli --test cli words` renews it.

use std::fs;

use serde_json::json;

use super::support::TestWorkspace;

/// The file with the expected output.
const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/words.txt");

/// An id that nothing has.
const NO_ID: &str = "01890000-0000-7000-8000-000000000000";

/// Command lines with a mistake in them.
const MISTAKES: &[&[&str]] = &[
    &["call", "read", "{'path': '/a.txt'}"],
    &["call", "read", "{\"path\": \"/a.txt\""],
    &["call", "read", "/a.txt"],
    &["call", "read", "--path", "/a.txt"],
    &["call", "read", "{}"],
    &["call", "raed", "{\"path\": \"/a.txt\"}"],
    &["call", "--toolset", "worksapce", "read", "{}"],
    &["call", "--toolset", "codex", "read", "{\"path\": \"a.txt\"}"],
    &["call", "shell", "{\"command\": \"ls\"}"],
    &["call"],
    &["call", "--chat", "mine", "ls"],
    &["cal", "read"],
    &["ls", "/"],
    &["shell", "ls"],
    &["--root", "$root/nowhere", "call", "ls"],
    &["--root", "$root/a.txt", "call", "ls"],
    &["mcp", "--toolset", "worksapce"],
    &["mcp", "--policy", "opne"],
    &["tools", "--toolset", "worksapce"],
    &["tools", "--format", "xml"],
    &["undo"],
    &["undo", "abc"],
    &["redo", "last"],
    &["show", "last"],
    &["history", "nope.txt"],
    &["restore", "nope.txt"],
    &["approve", "abc"],
    &["approve", NO_ID],
    &["answer", "abc"],
    &["answer", NO_ID],
    &["policy", "set", "{\"preset\": \"strict\"}"],
];

/// The arguments of a command line, its exit code and its output.
fn printed(workspace: &TestWorkspace, arguments: &[&str]) -> String {
    let root = workspace.root().to_str().unwrap().to_owned();
    let arguments: Vec<String> = arguments.iter().map(|one| one.replace("$root", &root)).collect();
    let ran = match arguments[0].as_str() {
        "--root" => {
            let mut command = workspace.bare();
            command.arg("--data-dir").arg(workspace.data()).args(&arguments);
            super::support::Ran::from(command.output().unwrap())
        }
        _ => workspace.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()),
    };
    let quoted: Vec<String> = arguments
        .iter()
        .map(|one| if one.contains([' ', '{']) { format!("'{one}'") } else { one.clone() })
        .collect();
    let text = format!(
        "$ toolyard {}\n{}{}exit code {}\n",
        quoted.join(" "),
        ran.stderr,
        ran.stdout,
        ran.exit
    );
    text.replace(&root, "$root")
}

#[test]
fn the_words_for_the_most_common_mistakes_are_those_of_the_table() {
    let workspace = TestWorkspace::new();
    fs::write(workspace.file("a.txt"), "one\n").unwrap();
    let all: Vec<String> =
        MISTAKES.iter().map(|arguments| printed(&workspace, arguments)).collect();
    let written = all.join("\n");
    if std::env::var_os("YARD_RENEW").is_some() {
        fs::write(TABLE, &written).unwrap();
    }
    let known = fs::read_to_string(TABLE).unwrap();
    assert_eq!(written, known, "other words than in the table");
}

#[test]
fn the_words_for_mistakes_are_no_parser_s_and_say_what_to_do() {
    let workspace = TestWorkspace::new();
    fs::write(workspace.file("a.txt"), "one\n").unwrap();
    for arguments in MISTAKES {
        let printed = printed(&workspace, arguments);
        for word in ["expected value at line", "EOF while", "key must be", "Fault", "::"] {
            let is_sent = arguments.iter().any(|sent| sent.contains(word));
            assert!(is_sent || !printed.contains(word), "{word}: {printed}");
        }
        let ways =
            ["hint: ", "tip: ", "did you mean", "Did you mean", "--help", "lists", "expected"];
        assert!(ways.iter().any(|way| printed.contains(way)), "no way on in: {printed}");
        assert!(!printed.ends_with("exit code 0\n"), "{printed}");
    }
}

#[test]
fn a_call_that_waits_for_a_person_says_who_decides_and_how_to_wait() {
    let workspace = TestWorkspace::new();
    let policy = workspace.temp.path().join("strict.json");
    fs::write(&policy, r#"{"preset": "strict"}"#).unwrap();
    workspace.json(&["policy", "set", policy.to_str().unwrap()]);
    let ran =
        workspace.run(&["call", "write", &json!({"path": "/x.txt", "content": "x"}).to_string()]);
    assert_eq!(ran.exit, 3, "{}{}", ran.stdout, ran.stderr);
    let answer = ran.json();
    let id = answer["result"]["approval_id"].as_str().unwrap();
    assert_eq!(
        ran.stderr,
        format!(
            "hint: a person decides with `toolyard approve {id}`; `toolyard call --wait` waits for that\n"
        )
    );
}

#[test]
fn a_data_folder_that_is_a_file_is_said_to_be_one() {
    let workspace = TestWorkspace::new();
    let file = workspace.temp.path().join("file");
    fs::write(&file, "").unwrap();
    for data in [file.clone(), file.join("below")] {
        let mut command = workspace.bare();
        command
            .arg("--root")
            .arg(workspace.root())
            .arg("--data-dir")
            .arg(&data)
            .args(["call", "ls"]);
        let ran = super::support::Ran::from(command.output().unwrap());
        assert_eq!(ran.exit, 1);
        let expected = "the data folder is a file, or lies in one\n";
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}

#[test]
fn a_request_is_named_by_the_beginning_of_its_id() {
    let workspace = TestWorkspace::new();
    let policy = workspace.temp.path().join("strict.json");
    fs::write(&policy, r#"{"preset": "strict"}"#).unwrap();
    workspace.json(&["policy", "set", policy.to_str().unwrap()]);
    let ran =
        workspace.run(&["call", "write", &json!({"path": "/x.txt", "content": "x"}).to_string()]);
    let answer = ran.json();
    let id = answer["result"]["approval_id"].as_str().unwrap();
    assert_eq!(workspace.json(&["approve", &id[..13]])["id"], id);
    let none = workspace.run(&["approve", "ffffffff"]);
    assert_eq!(none.exit, 1);
    assert!(none.stderr.contains("`toolyard approve` lists them"), "{}", none.stderr);
    let listed = workspace.run(&["approve"]).stdout;
    assert!(listed.contains("`toolyard approve ID` shows a request"), "{listed}");
}

#[test]
fn the_list_of_tools_names_the_other_toolsets() {
    let workspace = TestWorkspace::new();
    let listed = workspace.run(&["tools", "--toolset", "codex"]).stdout;
    let last = listed.lines().last().unwrap();
    assert_eq!(
        last,
        "these are the tools of codex; --toolset lists others: workspace, file, coder, assistant, filesystem"
    );
}
