//! The web on the command line: what the configuration exempts is reached, by file and by variable, and what
//! asks is shown to a person with its address. The server is the test's own, on loopback.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests drive the binary from outside"
)]

mod support;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt as _;
use std::thread;

use serde_json::{Value, json};
use support::{Ran, TestWorkspace};

/// A page on loopback; its host and port.
fn page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let head = BufReader::new(&stream).lines().map_while(Result::ok);
            head.take_while(|line| !line.is_empty()).for_each(drop);
            let page = "<h1>Here</h1>";
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}",
                page.len()
            );
            stream.write_all(format!("{head}\r\n\r\n{page}").as_bytes()).unwrap();
        }
    });
    place
}

fn fetch(workspace: &TestWorkspace, place: &str, exempt: Option<&str>) -> Ran {
    let args = json!({"url": format!("http://{place}/a")}).to_string();
    let mut command = workspace.command(&["call", "--toolset", "assistant", "web_fetch", &args]);
    command.envs(exempt.map(|pair| ("TOOLYARD__WEB__EXEMPT", format!("[{pair:?}]"))));
    Ran::from(command.output().unwrap())
}

#[test]
fn a4_what_the_operator_exempts_is_reached_and_nothing_else_here_is() {
    let (workspace, place) = (TestWorkspace::new(), page());
    let refused = fetch(&workspace, &place, None).json();
    assert_eq!(refused["result"]["error"]["code"], "PERMISSION_DENIED", "{refused}");
    let reached = fetch(&workspace, &place, Some(&place)).json();
    assert_eq!(reached["result"]["value"]["body"], "# Here\n", "{reached}");
    fs::write(workspace.data().join("toolyard.toml"), format!("[web]\nexempt = [{place:?}]\n"))
        .unwrap();
    let reached = fetch(&workspace, &place, None).json();
    assert_eq!(reached["result"]["value"]["status"], 200, "{reached}");
    let wrong = fetch(&workspace, &place, Some("localhost"));
    assert!(
        wrong.stderr.contains("web.exempt") || wrong.stdout.contains("web.exempt"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn a_person_sees_the_address_and_decides() {
    let (workspace, place) = (TestWorkspace::new(), page());
    fs::DirBuilder::new().mode(0o700).create(workspace.data()).unwrap();
    fs::write(workspace.data().join("toolyard.toml"), format!("[web]\nexempt = [{place:?}]\n"))
        .unwrap();
    let rules = workspace.temp.path().join("rules.json");
    fs::write(&rules, r#"{"preset": "strict"}"#).unwrap();
    assert_eq!(workspace.run(&["policy", "set", rules.to_str().unwrap()]).exit, 0);
    let pending = fetch(&workspace, &place, None).json();
    let id =
        pending["result"]["approval_id"].as_str().unwrap_or_else(|| panic!("{pending}")).to_owned();
    let shown = workspace.run(&["approve", &id]).stdout;
    assert!(shown.contains(&format!("fetch GET http://{place}/a")), "{shown}");
    let done = workspace.approve(&id);
    assert!(done.to_string().contains("# Here"), "{done}");
    let _: Value = done;
}
