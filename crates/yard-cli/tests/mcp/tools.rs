//! Tools: listed from the catalog, called in every dialect, answered as the protocol wants it.

use serde_json::{Value, json};
use yard_dialects::Catalog;

use crate::client::{BOTH, Client, Setup, Wire, text, wait_until};

#[test]
fn every_toolset_is_listed_as_the_catalog_has_it() {
    let setup = Setup::new();
    for dialect in Catalog::standard().dialects() {
        let client = setup.connect(&["--toolset", dialect.name]);
        let listed = client.result("tools/list", json!({}));
        let names: Vec<&str> = names(&listed);
        let known: Vec<String> = Catalog::standard()
            .list(dialect.name)
            .map(yard_dialects::AnyTool::function_name)
            .collect();
        assert_eq!(names, known, "{}", dialect.name);
        for tool in listed["tools"].as_array().unwrap() {
            let hints = &tool["annotations"];
            for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
                assert!(hints[hint].is_boolean(), "{tool}");
            }
            assert!(tool["title"].is_string() && tool["description"].is_string());
        }
    }
}

fn names(listed: &Value) -> Vec<&str> {
    listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn both_wires_read_write_and_teach() {
    for wire in BOTH {
        let setup = Setup::new();
        setup.put("a.txt", "hello, my dear world\n");
        let client = setup.speak(wire, &["--policy", "open"], json!({}));
        if wire == Wire::Requests {
            let found = client.result("server/discover", json!({}));
            assert!(
                found["supportedVersions"].as_array().unwrap().contains(&"2026-07-28".into()),
                "{found}"
            );
        }
        assert_eq!(
            client.text_of("read_text_file", json!({"path": setup.path("a.txt")})),
            "hello, my dear world\n"
        );
        client.text_of("write_file", json!({"path": "b.txt", "content": "new\n"}));
        assert_eq!(setup.text("b.txt"), "new\n");
        let why = client.complaint(
            "edit_file",
            json!({"path": "a.txt", "edits": [{"oldText": "helo, my dear world", "newText": "x"}]}),
        );
        assert!(why.contains("hello, my dear world"), "the closest place is named: {why}");
        let why = client.complaint("read_text_file", json!({}));
        assert!(why.contains("path"), "{why}");
        let answer = client.ask("tools/call", json!({"name": "read_txt_file", "arguments": {}}));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert!(
            answer["error"]["message"].as_str().unwrap().contains("read_text_file"),
            "{answer}"
        );
        assert_eq!(client.leave(), Some(0));
        let history = setup.person(&["history"]);
        assert!(history.contains("b.txt"), "history outlives the connection: {history}");
        setup.person(&["undo", "last"]);
        assert!(!setup.root.path().join("b.txt").exists());
    }
}

#[test]
fn data_comes_with_its_schema_and_a_text_for_models() {
    let setup = Setup::new();
    setup.put("src/a.rs", "fn main() {}\n");
    let client = setup.connect(&["--toolset", "workspace"]);
    let result = client.call("read", json!({"path": "/src/a.rs"}));
    assert!(result["structuredContent"].to_string().contains("fn main() {}"), "{result}");
    let words = text(&result);
    assert!(words.contains("fn main() {}\n") || words.ends_with("fn main() {}"), "{words}");
    assert!(
        !words.contains("\\n") && !words.contains('{') || words.contains("main() {}"),
        "{words}"
    );
    let client = setup.connect(&[]);
    let result = client.call("read_text_file", json!({"path": "src/a.rs"}));
    assert!(result.get("structuredContent").is_none(), "a text is sent once: {result}");
}

#[test]
fn f1_the_text_of_a_failure_begins_with_its_code_in_every_dialect() {
    let setup = Setup::new();
    for (toolset, tool, argument, begins) in [
        ("workspace", "read", "path", "NOT_FOUND: "),
        ("file", "file_read", "path", "file_not_found: "),
        ("coder", "read", "filePath", "FILE_NOT_FOUND: "),
        ("assistant", "read_file", "path", "FILE_NOT_FOUND: "),
        ("codex", "read_file", "path", "FILE_NOT_FOUND: "),
        // The words of the reference server, which has no codes of its own.
        ("filesystem", "read_text_file", "path", "ENOENT: "),
    ] {
        let client = setup.connect(&["--toolset", toolset, "--policy", "open"]);
        let why = client.complaint(tool, json!({argument: "none.txt"}));
        assert!(why.starts_with(begins) && why.contains("none.txt"), "{toolset}: {why}");
        assert_eq!(why.matches(begins).count(), 1, "{why}");
    }
}

#[test]
fn r14_each_connection_is_a_chat_of_its_own() {
    let setup = Setup::new();
    for _ in 0..2 {
        let client = setup.connect(&["--policy", "open"]);
        client.text_of("write_file", json!({"path": "x", "content": "y"}));
    }
    let chats = setup.person(&["chats"]);
    assert_eq!(chats.matches("MCP: test").count(), 2, "{chats}");
}

#[test]
fn read_only_is_what_the_gate_says() {
    let setup = Setup::new();
    setup.put("a", "one\n");
    let client = setup.connect(&["--read-only", "--policy", "open"]);
    let listed = client.result("tools/list", json!({}));
    assert!(names(&listed).contains(&"write_file"), "no tool is left out");
    assert_eq!(client.text_of("read_text_file", json!({"path": "a"})), "one\n");
    for (tool, arguments) in [
        ("write_file", json!({"path": "b", "content": "x"})),
        ("create_directory", json!({"path": "d"})),
        ("move_file", json!({"source": "a", "destination": "b"})),
    ] {
        let why = client.complaint(tool, arguments);
        assert!(why.contains("may read and not change"), "{tool}: {why}");
    }
    let dry = json!({"path": "a", "edits": [{"oldText": "one", "newText": "two"}], "dryRun": true});
    assert!(client.text_of("edit_file", dry).contains("+two"), "a dry run only looks");
    assert_eq!(setup.text("a"), "one\n");
}

#[test]
fn with_history_an_agent_takes_a_step_back_in_every_dialect() {
    for dialect in Catalog::standard().dialects() {
        let setup = Setup::new();
        setup.put("keep", "1\n");
        let plain = setup.connect(&["--toolset", dialect.name]);
        assert!(!names(&plain.result("tools/list", json!({}))).contains(&"undo_step"));
        let answer =
            plain.ask("tools/call", json!({"name": "undo_step", "arguments": {"step": "x"}}));
        assert!(answer.get("error").is_some(), "{answer}");
        drop(plain);
        setup.person(&["call", "write", "{\"path\": \"/new\", \"content\": \"x\"}"]);
        let client = setup.connect(&["--toolset", dialect.name, "--history", "--policy", "open"]);
        let listed = client.call("list_steps", json!({"limit": 1}));
        let data = &listed["structuredContent"];
        let data = if dialect.name == "assistant" { &data["value"] } else { data };
        let step = data["steps"][0]["step"].as_str().unwrap_or_else(|| panic!("{listed}"));
        client.text_of("undo_step", json!({"step": step}));
        assert!(!setup.root.path().join("new").exists(), "{}", dialect.name);
        let why = client.complaint("undo_step", json!({"step": "nonsense"}));
        assert!(why.contains("list_steps"), "{why}");
    }
}

/// The ids of the processes that the server of a client has started.
fn programs_of(client: &Client) -> String {
    let mut pgrep = std::process::Command::new("pgrep");
    let output = pgrep.args(["-P", &client.id().to_string()]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn progress_is_reported_and_a_cancelled_call_ends() {
    for wire in BOTH {
        let setup = Setup::new();
        let client = setup.speak(wire, &["--toolset", "assistant", "--policy", "open"], json!({}));
        let sleep = |seconds: u32| {
            json!({"name": "run_code", "_meta": {"progressToken": "p"},
            "arguments": {"language": "bash", "code": format!("sleep {seconds}; echo done > late")}})
        };
        let result = client.result("tools/call", sleep(3));
        assert_ne!(result["isError"], true, "{result}");
        let reply = client.notifications.borrow().clone();
        let reply: Vec<&Value> =
            reply.iter().filter(|message| message["method"] == "notifications/progress").collect();
        assert!(reply.len() >= 2, "{reply:?}");
        assert!(reply.iter().all(|message| message["params"]["progressToken"] == "p"));
        std::fs::remove_file(setup.root.path().join("late")).unwrap();
        let id = client.request("tools/call", sleep(20));
        wait_until("its program runs", || !programs_of(&client).is_empty());
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        client.send(&cancel);
        // The one after it is answered, the cancelled one is not, and its program is gone.
        client.text_of("list_directory", json!({"path": "."}));
        wait_until("its program is gone", || programs_of(&client).is_empty());
        assert!(!setup.root.path().join("late").exists());
    }
}

#[test]
fn what_was_only_found_on_disk_is_not_taken_back() {
    let setup = Setup::new();
    setup.put("mine", "mine\n");
    let client = setup.connect(&["--toolset", "codex", "--history", "--policy", "open"]);
    client.text_of("exec_command", json!({"session_id": "s", "cmd": "true", "workdir": null}));
    let listed = client.call("list_steps", json!({}));
    let found = &listed["structuredContent"]["steps"][0];
    assert_eq!((&found["verb"], &found["by"]), (&json!("import"), &json!("external")), "{listed}");
    let why = client.complaint("undo_step", json!({"step": found["step"]}));
    assert!(why.contains("already"), "{why}");
    drop(client);
    let mut undo = crate::client::toolyard(setup.data.path());
    let undo = undo.arg("--root").arg(setup.root.path()).args(["undo", "last"]).output().unwrap();
    assert!(!undo.status.success(), "nothing was done here yet");
    assert_eq!(setup.text("mine"), "mine\n");
}

/// Valid arguments for every tool of every toolset, as the session of the Python client sends them.
fn samples() -> Value {
    serde_json::from_str(include_str!("calls.json")).unwrap()
}

/// Every file below a folder, with its bytes.
fn picture(folder: &std::path::Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(picture(&path)),
            false => drop(found.insert(path.clone(), std::fs::read(&path).unwrap())),
        }
    }
    found
}

/// A workspace that has something for most samples to find.
fn furnished() -> Setup {
    let setup = Setup::new();
    for name in ["a.txt", "b.txt", "notes.md", "src/main.py", "src/lib.rs", "plan.md"] {
        setup.put(name, "one\ntwo\nthree\n");
    }
    setup
}

#[test]
fn hints_are_true() {
    let samples = samples();
    for dialect in Catalog::standard().dialects() {
        let setup = furnished();
        let before = picture(setup.root.path());
        let client = setup.connect(&["--toolset", dialect.name, "--policy", "open", "--wait", "0"]);
        let listed = client.result("tools/list", json!({}));
        let hinted = |tool: &Value, hint: &str| tool["annotations"][hint] == true;
        let tools = listed["tools"].as_array().unwrap();
        let call = |tool: &Value| {
            let name = tool["name"].as_str().unwrap();
            let arguments = samples[dialect.name][name]["valid"].clone();
            assert!(arguments.is_object(), "{}.{name} has no sample", dialect.name);
            client.ask("tools/call", json!({"name": name, "arguments": arguments}));
        };
        // Who reads only changes nothing, and leaves no step.
        tools.iter().filter(|tool| hinted(tool, "readOnlyHint")).for_each(call);
        assert_eq!(picture(setup.root.path()), before, "{}", dialect.name);
        assert!(!setup.person(&["history"]).contains("agent"), "{}", dialect.name);
        // Who destroys nothing leaves what is there as it is.
        let gentle =
            |tool: &&Value| !hinted(tool, "readOnlyHint") && !hinted(tool, "destructiveHint");
        tools.iter().filter(gentle).for_each(call);
        let after = picture(setup.root.path());
        assert!(
            before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)),
            "{}",
            dialect.name
        );
        // And under --read-only nobody changes anything.
        let client = setup.connect(&["--toolset", dialect.name, "--read-only", "--wait", "0"]);
        for tool in tools.iter().filter(|tool| !hinted(tool, "openWorldHint")) {
            let name = tool["name"].as_str().unwrap();
            let arguments = samples[dialect.name][name]["valid"].clone();
            client.ask("tools/call", json!({"name": name, "arguments": arguments}));
        }
        assert_eq!(picture(setup.root.path()), after, "{}", dialect.name);
    }
}
