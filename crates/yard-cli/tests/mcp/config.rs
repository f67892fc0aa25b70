//! `--print-config`, the page about clients, and what is said to wrong options.

use crate::client::{Setup, toolyard};

#[test]
fn the_page_about_clients_is_what_the_program_prints() {
    let setup = Setup::new();
    let printed = setup.command(&["--print-config", "all"]).output().unwrap();
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/clients.md");
    let kept = std::fs::read_to_string(page).unwrap();
    assert_eq!(
        String::from_utf8(printed.stdout).unwrap(),
        kept,
        "toolyard mcp --print-config all > docs/clients.md"
    );
}

#[test]
fn a_configuration_starts_what_was_asked_for() {
    let setup = Setup::new();
    let words = [
        "--toolset",
        "codex",
        "--read-only",
        "--history",
        "--no-elicitation",
        "--print-config",
        "cursor",
    ];
    let printed = setup.command(&words).output().unwrap();
    let config: serde_json::Value = serde_json::from_slice(&printed.stdout).unwrap();
    let server = &config["mcpServers"]["toolyard"];
    assert_eq!(server["command"], "toolyard");
    let arguments: Vec<&str> =
        server["args"].as_array().unwrap().iter().filter_map(|it| it.as_str()).collect();
    let root = setup.path("");
    let root = root.trim_end_matches('/');
    let data = setup.data.path().to_str().unwrap();
    let expected = ["mcp", "--root", root, "--toolset", "codex", "--data-dir", data, "--read-only"];
    assert_eq!(arguments, [&expected[..], &["--history", "--no-elicitation"]].concat());
}

#[test]
fn wrong_options_are_reported_and_nothing_is_served() {
    let setup = Setup::new();
    for (words, hint) in [
        (["--toolset", "nope"], "filesystem"),
        (["--policy", "nope"], "guarded"),
        (["--print-config", "nope"], "claude-code"),
    ] {
        let done = setup.command(&words).output().unwrap();
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{text}");
        assert!(text.contains(hint) && done.stdout.is_empty(), "{text}");
    }
    let mut command = toolyard(setup.data.path());
    let done = command.args(["mcp", "/nowhere/at/all"]).output().unwrap();
    assert!(!done.status.success() && done.stdout.is_empty());
    let mut command = toolyard(setup.data.path());
    let done = command.args(["--root", "/a", "--root", "/b", "history"]).output().unwrap();
    assert_eq!(done.status.code(), Some(2), "only mcp takes several roots");
}
