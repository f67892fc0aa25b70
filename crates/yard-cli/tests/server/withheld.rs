//! What a caller may not read is in nothing that the server tells: answers, events, log lines, and metrics.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use yard_dialects::Catalog;

use crate::attempts::{CANARIES, Dice, args_for};
use crate::harness::Server;

fn check_no_canary(what: &str, answer: &str) {
    for canary in CANARIES {
        assert!(!answer.contains(canary), "{what} told {canary}: {answer}");
    }
}

/// Files of which some may not be read. They come without the server's help, so that no request has named what
/// is in them.
fn furnish(root: &Path) {
    for (name, text) in [
        ("secrets/k.txt", CANARIES[0]),
        (".env", CANARIES[1]),
        ("app/.env", CANARIES[1]),
        ("conf/deep/key.pem", CANARIES[2]),
        ("conf/plain.txt", "plain"),
        ("src/main.py", "print('hello')"),
    ] {
        let file = root.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{text}\nsecond line\n")).unwrap();
    }
    symlink("secrets/k.txt", root.join("link.txt")).unwrap();
}

/// Every tool of every toolset with its schema, but those that dial out.
fn tools() -> Vec<(&'static str, String, Value)> {
    let catalog = Catalog::standard();
    let mut tools = Vec::new();
    for toolset in Catalog::toolset_names() {
        for tool in catalog.list(toolset) {
            if !tool.name().starts_with("web_") && tool.name() != "install_package" {
                tools.push((toolset, tool.name().to_owned(), tool.input_schema().clone()));
            }
        }
    }
    tools
}

#[test]
fn no_log_line_metric_event_or_answer_has_what_a_caller_may_not_read() {
    let path = std::env::var("PATH").unwrap_or_default();
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let folders = format!("[{:?}]", home.to_str().unwrap());
    let variables = [
        ("TOOLYARD__LOG__LEVEL", "trace"),
        ("TOOLYARD__LOG__FORMAT", "json"),
        ("TOOLYARD__WORKSPACES__FOLDERS", folders.as_str()),
        ("PATH", path.as_str()),
    ];
    let calls = if std::env::var_os("YARD_SOAK").is_some() { 3_000 } else { 300 };
    for (round, then) in ["deny", "ask"].into_iter().enumerate() {
        let server = Server::start_with(&variables);
        let ada = server.person();
        let root = home.join(then);
        furnish(&root);
        let made = json!({"name": "Work", "folder": root.to_str().unwrap()});
        let made = ada.post("/api/v1/workspaces", made).expect(201);
        let workspace = made["workspace"]["id"].as_str().unwrap().to_owned();
        let inside = format!("/api/v1/workspaces/{workspace}");
        let rules = json!({"rules": [
            {"effect": "read", "path": ["secrets/**", "conf/deep/**", ".env", "**/.env"], "then": then},
        ]});
        ada.ask("PUT", &format!("{inside}/policy"), &rules).expect(200);
        let agent = ada.agent(&workspace, "member");
        let mut dice = Dice(91 + round as u64);
        let tools = tools();
        for _ in 0..calls {
            let (toolset, tool, schema) = dice.pick(&tools);
            let args = args_for(&mut dice, schema, &root);
            let body = json!({"toolset": toolset, "tool": tool, "args": args, "wait_ms": 0});
            let answer = agent.post(&format!("{inside}/tools"), body);
            let answer = String::from_utf8_lossy(&answer.bytes).into_owned();
            check_no_canary(&format!("{toolset}.{tool} {args}"), &answer);
        }
        let events = server.raw_and_stay(
            format!(
                "GET {inside}/events HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nLast-Event-ID: 0\r\n\r\n",
                server.address, agent.token
            )
            .as_bytes(),
        );
        assert!(events.contains("text/event-stream"), "{events}");
        check_no_canary("the events", &events);
        let metrics = server.get("/metrics");
        assert_eq!(metrics.status, 200);
        check_no_canary("the metrics", &String::from_utf8_lossy(&metrics.bytes));
        let log = server.log();
        assert!(log.len() > calls, "{} lines", log.len());
        for line in &log {
            check_no_canary("a log line", line);
        }
        for route in ["chats", "steps", "approvals", "questions", "terminals"] {
            let answer = agent.get(&format!("{inside}/{route}"));
            check_no_canary(route, &String::from_utf8_lossy(&answer.bytes));
        }
    }
}
