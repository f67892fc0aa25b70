//! Several roots (R15), and clients that offer fewer.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{BOTH, Client, Setup, Wire, text, toolyard};
use crate::people::asking;

fn two_roots() -> (Setup, TempDir, Client, String) {
    let (setup, other) = (Setup::new(), TempDir::new().unwrap());
    setup.put("a", "first\n");
    std::fs::write(other.path().join("a"), "second\n").unwrap();
    let mut command = toolyard(setup.data.path());
    command
        .arg("mcp")
        .args(["--policy", "open"])
        .arg("--root")
        .arg(setup.root.path())
        .arg(other.path());
    let client = Client::start(command, Wire::Sessions, json!({}));
    let second = std::fs::canonicalize(other.path()).unwrap().to_str().unwrap().to_owned();
    (setup, other, client, second)
}

#[test]
fn r15_several_roots_are_several_workspaces() {
    let (setup, other, client, second) = two_roots();
    let listed = client.text_of("list_allowed_directories", json!({}));
    assert!(
        listed.contains(setup.path("").trim_end_matches('/')) && listed.contains(&second),
        "{listed}"
    );
    assert_eq!(client.text_of("read_text_file", json!({"path": setup.path("a")})), "first\n");
    assert_eq!(
        client.text_of("read_text_file", json!({"path": format!("{second}/a")})),
        "second\n"
    );
    client.text_of("write_file", json!({"path": format!("{second}/b"), "content": "x"}));
    assert!(other.path().join("b").exists());
    let across = json!({"source": setup.path("a"), "destination": format!("{second}/c")});
    let why = client.complaint("move_file", across);
    assert!(why.contains("different roots"), "{why}");
    let why = client.complaint("read_text_file", json!({"path": "/etc/passwd"}));
    assert!(why.contains("Access denied"), "{why}");
    let both = json!({"paths": [setup.path("a"), format!("{second}/a")]});
    let read = client.text_of("read_multiple_files", both);
    assert!(read.contains("first\n") && read.contains("second\n"), "{read}");
    let some = json!({"paths": [format!("{second}/a"), "/etc/hostname", setup.path("gone")]});
    let read = client.text_of("read_multiple_files", some);
    assert!(read.contains("second\n"), "{read}");
    assert_eq!(read.matches("Error - ").count(), 2, "{read}");
    let mut history = toolyard(setup.data.path());
    let history = history.arg("--root").arg(other.path()).arg("history").output().unwrap();
    assert!(String::from_utf8_lossy(&history.stdout).contains("/b"));
}

#[test]
fn what_a_client_offers_narrows_and_never_widens() {
    let cases = [
        ("sub", true, false), // a folder of ours: only that
        ("", true, true),     // all of it
        ("..", true, true),   // more than it: what the operator allowed
        ("/etc", true, true), // nothing of ours: says nothing about us
    ];
    for (offered, sub, rest) in cases {
        let setup = Setup::new();
        setup.put("sub/a", "in\n");
        setup.put("b", "out\n");
        let client = setup.speak(
            Wire::Sessions,
            &["--policy", "open"],
            json!({"roots": {"listChanged": true}}),
        );
        let uri = match offered {
            "/etc" => "file:///etc".to_owned(),
            ".." => format!(
                "file://{}",
                std::path::Path::new(&setup.path("")).parent().unwrap().display()
            ),
            inside => format!("file://{}", setup.path(inside).trim_end_matches('/')),
        };
        client
            .answers
            .borrow_mut()
            .push(("roots/list".to_owned(), json!({"roots": [{"uri": uri}]})));
        let seen = client.call("read_text_file", json!({"path": setup.path("sub/a")}));
        assert_eq!(seen["isError"] != true, sub, "{offered}: {seen}");
        let seen = client.call("read_text_file", json!({"path": setup.path("b")}));
        assert_eq!(seen["isError"] != true, rest, "{offered}: {seen}");
        let wrote = client.call("write_file", json!({"path": setup.path("c"), "content": "x"}));
        assert_eq!(wrote["isError"] != true, rest, "{offered}: {wrote}");
        let outside = client.complaint("read_text_file", json!({"path": "/etc/hostname"}));
        assert!(outside.contains("Access denied"), "{outside}");
        if offered == "sub" {
            let allowed = client.text_of("list_allowed_directories", json!({}));
            assert_eq!(allowed, format!("Allowed directories:\n{}", setup.path("sub")));
            let listed = client.result("resources/list", json!({}));
            assert!(listed.to_string().contains("toolyard://file/sub/a"), "{listed}");
            assert!(!listed.to_string().contains("toolyard://file/b"), "{listed}");
            // The client changes its mind.
            let all = format!("file://{}", setup.path("").trim_end_matches('/'));
            client
                .answers
                .borrow_mut()
                .push(("roots/list".to_owned(), json!({"roots": [{"uri": all}]})));
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
            // The server asks for the new roots while it answers other calls.
            let end = Instant::now() + Duration::from_secs(120);
            let read = || client.call("read_text_file", json!({"path": setup.path("b")}));
            while read()["isError"] == true {
                assert!(Instant::now() < end, "the new roots never count");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

#[test]
fn who_is_narrowed_gets_round_it_by_no_command_and_by_no_fault() {
    let setup = Setup::new();
    setup.put("sub/a", "in\n");
    setup.put("secret", "open sesame\n");
    let sub = format!("file://{}", setup.path("sub"));
    let narrowed = |toolset: &str| {
        let words = ["--toolset", toolset, "--policy", "open"];
        let client = setup.speak(Wire::Sessions, &words, json!({"roots": {}}));
        let roots = json!({"roots": [{"uri": sub}]});
        client.answers.borrow_mut().push(("roots/list".to_owned(), roots));
        client
    };
    let shell = json!({"command": "cat ../secret", "workdir": "sub"});
    let why = narrowed("codex").complaint("shell", shell);
    assert!(why.contains("outside of what the client offers") && !why.contains("sesame"), "{why}");
    let edits = json!([{"oldText": "open sesam", "newText": "x"}, {"oldText": "opn sesame", "newText": "y"}]);
    let edit = json!({"path": setup.path("secret"), "edits": edits});
    let why = narrowed("filesystem").complaint("edit_file", edit);
    assert!(!why.contains("open sesame"), "{why}");
    // A link to the folder is the folder.
    let link = setup.data.path().join("link");
    std::os::unix::fs::symlink(setup.path("sub"), &link).unwrap();
    let client = setup.speak(Wire::Sessions, &["--policy", "open"], json!({"roots": {}}));
    let roots = json!({"roots": [{"uri": format!("file://localhost{}", link.display())}]});
    client.answers.borrow_mut().push(("roots/list".to_owned(), roots));
    client.text_of("read_text_file", json!({"path": setup.path("sub/a")}));
    client.complaint("read_text_file", json!({"path": setup.path("secret")}));
}

/// Two roots, `app` and `lib`, and what is kept of both.
struct Pair {
    folder: TempDir,
    data: TempDir,
}

impl Pair {
    fn new() -> Self {
        let pair = Self { folder: TempDir::new().unwrap(), data: TempDir::new().unwrap() };
        for root in ["app", "lib"] {
            std::fs::create_dir_all(pair.at(root).join("src")).unwrap();
            std::fs::write(pair.at(root).join("src/a.txt"), format!("one of {root}\n")).unwrap();
        }
        pair
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join(path)
    }

    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.at(path)).unwrap()
    }

    fn speak(&self, wire: Wire, words: &[&str], able: Value) -> Client {
        let mut command = toolyard(self.data.path());
        command.arg("mcp").args(words).arg("--root").arg(self.at("app")).arg(self.at("lib"));
        Client::start(command, wire, able)
    }

    fn open(&self, toolset: &str) -> Client {
        self.speak(Wire::Sessions, &["--toolset", toolset, "--policy", "open"], json!({}))
    }

    /// What `toolyard` prints as the person at the machine, about one root.
    fn person(&self, root: &str, words: &[&str]) -> String {
        let mut command = toolyard(self.data.path());
        let done = command.arg("--root").arg(self.at(root)).args(words).output().unwrap();
        let printed = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success(), "{printed}{}", String::from_utf8_lossy(&done.stderr));
        printed
    }
}

fn data(client: &Client, tool: &str, arguments: Value) -> Value {
    let result = client.call(tool, arguments);
    assert_ne!(result["isError"], true, "{tool}: {result}");
    result["structuredContent"].clone()
}

#[test]
fn r15_without_absolute_paths_roots_are_folders_at_the_top() {
    let pair = Pair::new();
    let client = pair.open("workspace");
    let listed = data(&client, "ls", json!({}));
    let names: Vec<_> =
        listed["entries"].as_array().unwrap().iter().map(|entry| &entry["path"]).collect();
    assert_eq!((listed["path"].as_str(), names), (Some("/"), vec![&json!("/app"), &json!("/lib")]));
    let listed = data(&client, "ls", json!({"path": "/lib/src"}));
    assert_eq!(listed["entries"][0]["path"], "/lib/src/a.txt");
    let read = data(&client, "read", json!({"path": "/lib/src/a.txt"}));
    assert_eq!(
        (&read["path"], &read["content"]),
        (&json!("/lib/src/a.txt"), &json!("one of lib\n"))
    );
    let found = data(&client, "grep", json!({"pattern": "one of", "path": "/lib"}));
    assert_eq!(found["matches"][0]["path"], "/lib/src/a.txt");
    let found = data(&client, "glob", json!({"pattern": "**/*.txt", "path": "/app"}));
    assert_eq!(found["matches"][0]["path"], "/app/src/a.txt");
    data(&client, "write", json!({"path": "/lib/new/b.txt", "content": "b\n"}));
    data(&client, "mv", json!({"source": "/lib/new/b.txt", "destination": "/lib/c.txt"}));
    assert_eq!(pair.text("lib/c.txt"), "b\n");
    assert!(!pair.at("app/lib").exists() && !pair.at("lib/lib").exists());
    let both = json!({"paths": ["/app/src/a.txt", "/app/gone.txt"]});
    let read = data(&client, "read_multiple_files", both);
    assert_eq!(read["files"][1]["path"], "/app/gone.txt");
    assert_eq!(read["files"][1]["success"], false);
}

#[test]
fn r15_a_call_about_no_root_or_about_two_changes_nothing_and_says_what_to_send() {
    let pair = Pair::new();
    let client = pair.open("workspace");
    let across = json!({"source": "/app/src/a.txt", "destination": "/lib/b.txt"});
    let why = client.complaint("mv", across);
    assert!(why.contains("one call for each"), "{why}");
    assert!(pair.at("app/src/a.txt").exists() && !pair.at("lib/b.txt").exists());
    let why = client.complaint("read", json!({"path": "/src/a.txt"}));
    assert!(why.contains("the roots are /app and /lib"), "{why}");
    let why = client.complaint("grep", json!({"pattern": "one"}));
    assert!(why.contains("such as /app"), "{why}");
    let why = client.complaint("read", json!({"path": "/lib/gone.txt"}));
    assert!(why.contains("/lib/gone.txt"), "{why}");
    let why = client.complaint("read", json!({"path": "/lib/../../x"}));
    assert!(!why.contains("one of"), "{why}");
    let both = json!({"paths": ["/app/src/a.txt", "/lib/src/a.txt"]});
    let why = client.complaint("read_multiple_files", both);
    assert!(why.contains("one call for each"), "{why}");
}

#[test]
fn r15_every_dialect_lists_the_roots_and_shows_paths_that_it_takes_back() {
    let pair = Pair::new();
    let client = pair.open("codex");
    let listed = data(&client, "list_dir", json!({"path": ".", "depth": 1}));
    assert_eq!(listed["entries"], json!(["app/", "lib/"]));
    let patch = "*** Begin Patch\n*** Update File: lib/src/a.txt\n@@\n-one of lib\n+two of lib\n*** End Patch";
    let done = data(&client, "apply_patch_json", json!({"patch": patch}));
    assert_eq!(done["results"][0]["path"], "lib/src/a.txt");
    assert_eq!(pair.text("lib/src/a.txt"), "two of lib\n");
    let patch =
        "*** Begin Patch\n*** Delete File: app/src/a.txt\n*** Add File: lib/x\n+x\n*** End Patch";
    let why = client.complaint("apply_patch_json", json!({"patch": patch}));
    assert!(why.contains("one call for each") && pair.at("app/src/a.txt").exists(), "{why}");
    let ran = data(&client, "shell", json!({"command": "pwd; cat a.txt", "workdir": "lib/src"}));
    assert!(ran.to_string().contains("two of lib"), "{ran}");
    let host = pair.at("lib/src/a.txt").canonicalize().unwrap();
    let read = data(&client, "read_file", json!({"path": host.to_str().unwrap()}));
    assert!(read.to_string().contains("two of lib"), "{read}");

    let client = pair.open("coder");
    let listed = data(&client, "ls", json!({"dirPath": "."}));
    assert_eq!((&listed["entries"][0]["path"], &listed["count"]), (&json!("app"), &json!(2)));
    let read = data(&client, "read", json!({"filePath": "lib/src/a.txt"}));
    assert_eq!(read["metadata"]["filePath"], "lib/src/a.txt", "{read}");

    let client = pair.open("assistant");
    let listed = data(&client, "list_directory", json!({"path": "."}));
    assert_eq!(listed["value"]["entries"][1]["name"], "lib", "{listed}");
    let moved = data(&client, "move_file", json!({"from": "lib/src/a.txt", "to": "lib/b.txt"}));
    assert_eq!(moved["value"]["to"], "lib/b.txt", "{moved}");

    let client = pair.open("file");
    let listed = data(&client, "file_list", json!({"path": "."}));
    assert_eq!(listed["files"][0]["path"], "app", "{listed}");
}

#[test]
fn r15_what_is_approved_happens_in_the_root_that_was_meant() {
    let yes = json!({"action": "accept", "content": {"decision": "Allow once"}});
    for wire in BOTH {
        let pair = Pair::new();
        let able = json!({"elicitation": {"form": {}}});
        let client = pair.speak(wire, &["--toolset", "workspace", "--policy", "strict"], able);
        let arguments = json!({"path": "/lib/src/a.txt", "content": "two\n", "overwrite": true});
        let (result, asked) = asking(&client, wire, "write", &arguments, yes.clone());
        assert!(asked.to_string().contains("+two"), "{asked}");
        assert_eq!(result["structuredContent"]["path"], "/lib/src/a.txt", "{result}");
        assert_eq!(pair.text("lib/src/a.txt"), "two\n");
        assert_eq!(pair.text("app/src/a.txt"), "one of app\n");
    }
    // Another process, which knows that root alone, does what was meant.
    let pair = Pair::new();
    let client = pair.speak(
        Wire::Sessions,
        &["--toolset", "workspace", "--policy", "strict", "--wait", "0"],
        json!({}),
    );
    let arguments = json!({"path": "/lib/src/a.txt", "content": "two\n", "overwrite": true});
    let waiting = client.call("write", arguments);
    assert!(text(&waiting).contains("toolyard approve"), "{waiting}");
    let folder = pair.at("lib").canonicalize().unwrap();
    assert!(text(&waiting).contains(folder.to_str().unwrap()), "{waiting}");
    let id = waiting["_meta"]["toolyard/answer"]["approval_id"].as_str().unwrap();
    let shown: Value =
        serde_json::from_str(&pair.person("lib", &["approve", id, "--json"])).unwrap();
    let state = shown["state_hash"].as_str().unwrap();
    pair.person("lib", &["approve", id, "--yes", "--state", state]);
    assert_eq!(pair.text("lib/src/a.txt"), "two\n");
    assert!(!pair.at("lib/lib").exists());
}

#[test]
fn r15_steps_and_terminals_are_found_in_the_root_that_has_them() {
    let pair = Pair::new();
    let words = ["--toolset", "codex", "--policy", "open", "--history"];
    let client = pair.speak(Wire::Sessions, &words, json!({}));
    let opened = data(
        &client,
        "exec_command",
        json!({"cmd": "cat", "workdir": "lib", "session_id": "echo"}),
    );
    assert!(opened.to_string().contains("echo") || opened["state"] != "ended", "{opened}");
    let listed = data(&client, "list_sessions", json!({}));
    let row = &listed["sessions"][0];
    assert_eq!((&row["session_id"], &row["workdir"]), (&json!("echo"), &json!("lib")), "{listed}");
    let printed = data(&client, "write_stdin", json!({"session_id": "echo", "chars": "hello\n"}));
    assert!(printed.to_string().contains("hello"), "{printed}");
    data(&client, "kill_session", json!({"session_id": "echo"}));
    let patch = "*** Begin Patch\n*** Delete File: lib/src/a.txt\n*** End Patch";
    data(&client, "apply_patch_json", json!({"patch": patch}));
    let steps = data(&client, "list_steps", json!({"path": "lib"}));
    let step = steps["steps"][0]["step"].as_str().unwrap_or_else(|| panic!("{steps}"));
    data(&client, "undo_step", json!({"step": step}));
    assert_eq!(pair.text("lib/src/a.txt"), "one of lib\n");
}

#[test]
fn r15_a_call_that_names_no_root_is_asked_to_name_one() {
    let pair = Pair::new();
    let client = pair.open("codex");
    let why = client.complaint("shell", json!({"command": "pwd"}));
    assert!(why.contains("app and lib"), "{why}");
    // In its box every root is at the same place.
    let why = client.complaint("read_file", json!({"path": "/workspace/src/a.txt"}));
    assert!(!why.contains("one of"), "{why}");
    let client = pair.open("coder");
    let found = data(&client, "glob", json!({"pattern": "lib/**/*.txt"}));
    assert_eq!(found["files"], json!(["lib/src/a.txt"]), "{found}");
    let found = data(&client, "glob", json!({"pattern": "lib/*.txt"}));
    assert_eq!(found["files"], json!([]), "{found}");
    let folder = pair.at("lib").canonicalize().unwrap();
    let host = format!("{}/**/*.txt", folder.display());
    let found = data(&client, "glob", json!({"pattern": host}));
    assert_eq!(found["files"], json!(["lib/src/a.txt"]), "{found}");
    let why = client.complaint("glob", json!({"pattern": "src/*.txt"}));
    assert!(why.contains("app, lib"), "{why}");
    let words = ["--toolset", "workspace", "--policy", "open", "--history"];
    let client = pair.speak(Wire::Sessions, &words, json!({}));
    let why = client.complaint("list_steps", json!({}));
    assert!(why.contains("/app and /lib"), "{why}");
    let found = data(&client, "glob", json!({"pattern": "/lib/src/*", "path": "/lib"}));
    assert_eq!(found["matches"][0]["path"], "/lib/src/a.txt", "{found}");
    let like = json!({"pattern": "one", "path": "/lib", "path_pattern": "/lib/src/%"});
    assert_eq!(data(&client, "grep", like)["matches"][0]["path"], "/lib/src/a.txt");
    let folder = pair.folder.path().canonicalize().unwrap();
    let host = format!("{}//app/../lib/./src/a.txt", folder.display());
    assert_eq!(data(&client, "read", json!({"path": host}))["path"], "/lib/src/a.txt");
    let plan = data(&client, "plan_write", json!({"title": "Later", "content": "Do it"}));
    let listed = data(&client, "plan_list", json!({}));
    assert_eq!(listed["plans"][0]["path"], plan["path"], "{listed}");
    assert!(plan["path"].as_str().unwrap().starts_with("/app/plans/"), "{plan}");
}

#[test]
fn r15_listings_and_searches_of_the_folder_that_holds_the_roots_go_into_each() {
    let pair = Pair::new();
    std::os::unix::fs::symlink("src", pair.at("lib/link")).unwrap();
    let client = pair.open("coder");
    let listed = data(&client, "ls", json!({"dirPath": ".", "recursive": true}));
    let entries = listed["entries"].as_array().unwrap().iter().map(shown);
    let entries: Vec<String> = entries.filter(|path| !path.contains("/chats")).collect();
    let expected = "app/ lib/ app/src/ lib/link/ lib/src/ app/src/a.txt lib/src/a.txt";
    assert_eq!(entries.join(" "), expected, "{listed}");
    let globs = [
        ("**/*.txt", "app/src/a.txt lib/src/a.txt"),
        ("*.txt", "app/src/a.txt lib/src/a.txt"),
        ("*/src/*.txt", "app/src/a.txt lib/src/a.txt"),
        ("{app,lib}/src/a.txt", "app/src/a.txt lib/src/a.txt"),
        ("l*/**", "lib/src/a.txt"),
        ("!lib/**", "app/src/a.txt"),
    ];
    for (pattern, expected) in globs {
        let found = data(&client, "glob", json!({"pattern": pattern}));
        let files = words(&found["files"]);
        assert_eq!(files, expected, "{pattern}");
    }
    let first = data(&client, "glob", json!({"pattern": "**/*.txt", "limit": 1}));
    assert_eq!(
        (words(&first["files"]), &first["truncated"]),
        ("app/src/a.txt".into(), &json!(true))
    );
    let cursor = &first["next"];
    let next = data(&client, "glob", json!({"pattern": "**/*.txt", "limit": 1, "cursor": cursor}));
    assert_eq!(
        (words(&next["files"]), &next["truncated"]),
        ("lib/src/a.txt".into(), &json!(false))
    );

    let client = pair.open("file");
    let listed = data(&client, "file_list", json!({"pattern": "**/*.txt"}));
    assert_eq!(listed["files"][1]["path"], "lib/src/a.txt", "{listed}");
    let found = data(&client, "file_search", json!({"pattern": "one of", "max_results": 1}));
    assert_eq!(found["matches"][0]["path"], "app/src/a.txt", "{found}");
    let cursor = &found["next"];
    let found = data(&client, "file_search", json!({"pattern": "one of", "cursor": cursor}));
    assert_eq!(found["matches"][0]["path"], "lib/src/a.txt", "{found}");
    assert_eq!((found["matches"].as_array().unwrap().len(), &found["next"]), (1, &json!(null)));

    let client = pair.open("codex");
    let listed = data(&client, "list_dir", json!({"path": ".", "depth": 2}));
    assert_eq!(
        words(&listed["entries"]).replace("app/chats/ ", ""),
        "app/ lib/ app/src/ lib/src/ lib/link@"
    );
    let found =
        data(&client, "grep_files", json!({"pattern": "one of", "include": ["*.txt", "!app/**"]}));
    assert_eq!(found["results"][0]["file"], "lib/src/a.txt", "{found}");
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");

    let client = pair.open("assistant");
    let found = data(&client, "search_code", json!({"query": "one of"}));
    let results = found["value"]["results"].as_array().unwrap();
    let paths: Vec<_> = results.iter().map(|found| found["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["app/src/a.txt", "lib/src/a.txt"], "{found}");
    let listed = data(&client, "list_directory", json!({"path": ".", "recursive": true}));
    assert!(listed.to_string().contains("lib/src/a.txt"), "{listed}");
    let read = data(&client, "read_file", json!({"path": "lib/src/a.txt"}));
    assert_eq!(read["value"]["content"], "one of lib\n");
}

fn shown(entry: &Value) -> String {
    let mark = if entry["type"] == "directory" { "/" } else { "" };
    format!("{}{mark}", entry["path"].as_str().unwrap())
}

fn words(all: &Value) -> String {
    let all = all.as_array().unwrap().iter().map(|one| one.as_str().unwrap());
    all.collect::<Vec<_>>().join(" ")
}

#[test]
fn r15_what_would_ask_in_a_root_is_refused_in_a_search_of_all_and_says_to_name_one() {
    let pair = Pair::new();
    let words = ["--toolset", "file", "--policy", "strict", "--wait", "0"];
    let client = pair.speak(Wire::Sessions, &words, json!({}));
    let why = client.complaint("file_search", json!({"pattern": "one of"}));
    assert!(why.contains("Name one root, such as app"), "{why}");
}

#[test]
fn r2_a_path_below_a_root_that_was_given_by_a_link_is_taken() {
    let pair = Pair::new();
    let link = pair.at("link");
    std::os::unix::fs::symlink("lib", &link).unwrap();
    let link = link.to_str().unwrap();
    for roots in
        [vec![link.to_owned()], vec![pair.at("app").to_str().unwrap().to_owned(), link.to_owned()]]
    {
        for (toolset, tool, argument) in [
            ("file", "file_read", "path"),
            ("coder", "read", "filePath"),
            ("assistant", "read_file", "path"),
            ("codex", "read_file", "path"),
            ("workspace", "read", "path"),
            ("filesystem", "read_text_file", "path"),
        ] {
            let mut command = toolyard(pair.data.path());
            command.args(["mcp", "--toolset", toolset, "--policy", "open", "--root"]).args(&roots);
            let client = Client::start(command, Wire::Sessions, json!({}));
            let result = client.call(tool, json!({argument: format!("{link}/src/a.txt")}));
            assert!(result.to_string().contains("one of lib"), "{toolset}: {result}");
        }
        let mut command = toolyard(pair.data.path());
        command.args(["mcp", "--toolset", "coder", "--policy", "open", "--root"]).args(&roots);
        let client = Client::start(command, Wire::Sessions, json!({}));
        let found = data(&client, "glob", json!({"pattern": format!("{link}/src/*.txt")}));
        assert_eq!(found["count"], 1, "{found}");
        let patch = format!(
            "--- a{link}/src/a.txt\n+++ b{link}/src/a.txt\n@@ -1 +1 @@\n-one of lib\n+two\n"
        );
        let patch = patch.replace("--- a", "--- ").replace("+++ b", "+++ ");
        data(&client, "apply_patch", json!({"patchText": patch}));
        assert_eq!(pair.text("lib/src/a.txt"), "two\n");
        std::fs::write(pair.at("lib/src/a.txt"), "one of lib\n").unwrap();
    }
}

#[test]
fn r15_a_client_that_offers_the_second_root_works_there() {
    let pair = Pair::new();
    let words = ["--toolset", "workspace", "--policy", "open"];
    let client = pair.speak(Wire::Sessions, &words, json!({"roots": {}}));
    let uri = format!("file://{}", pair.at("lib").canonicalize().unwrap().display());
    let roots = json!({"roots": [{"uri": uri}]});
    client.answers.borrow_mut().push(("roots/list".to_owned(), roots));
    let read = data(&client, "read", json!({"path": "/lib/src/a.txt"}));
    assert_eq!(read["content"], "one of lib\n");
    let listed = data(&client, "ls", json!({}));
    assert_eq!((&listed["total"], &listed["entries"][0]["path"]), (&json!(1), &json!("/lib")));
    let why = client.complaint("read", json!({"path": "/app/src/a.txt"}));
    assert!(!why.contains("one of app"), "{why}");
}

#[test]
fn r15_an_approved_path_of_the_host_is_the_one_that_was_shown() {
    let pair = Pair::new();
    let words = ["--toolset", "workspace", "--policy", "strict"];
    let client = pair.speak(Wire::Sessions, &words, json!({"elicitation": {"form": {}}}));
    let host = pair.at("lib").canonicalize().unwrap().join("lib/x");
    let arguments = json!({"path": host.to_str().unwrap(), "content": "x"});
    let yes = json!({"action": "accept", "content": {"decision": "Allow once"}});
    let (result, asked) = asking(&client, Wire::Sessions, "write", &arguments, yes);
    assert!(asked["message"].as_str().unwrap().contains("in the root lib"), "{asked}");
    assert_eq!(result["structuredContent"]["path"], "/lib/lib/x", "{result}");
    assert_eq!(pair.text("lib/lib/x"), "x");
}

#[test]
fn r15_a_terminal_that_runs_is_found_before_one_that_is_over() {
    let pair = Pair::new();
    let client = pair.open("codex");
    let open = |cmd: &str, root: &str| {
        data(&client, "exec_command", json!({"cmd": cmd, "workdir": root, "session_id": "one"}))
    };
    open("true", "app");
    open("cat", "lib");
    let printed = data(&client, "write_stdin", json!({"session_id": "one", "chars": "hello\n"}));
    assert!(printed.to_string().contains("hello"), "{printed}");
    data(&client, "kill_session", json!({"session_id": "one"}));
}
