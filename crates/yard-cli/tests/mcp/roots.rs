//! Several roots (R15), and clients that offer fewer.

use serde_json::json;
use tempfile::TempDir;

use crate::client::{Client, Ground, Wire, toolyard};

fn two_roots() -> (Ground, TempDir, Client, String) {
    let (ground, other) = (Ground::new(), TempDir::new().unwrap());
    ground.put("a", "first\n");
    std::fs::write(other.path().join("a"), "second\n").unwrap();
    let mut command = toolyard(ground.data.path());
    command
        .arg("mcp")
        .args(["--policy", "open"])
        .arg("--root")
        .arg(ground.root.path())
        .arg(other.path());
    let client = Client::start(command, Wire::Sessions, json!({}));
    let second = std::fs::canonicalize(other.path()).unwrap().to_str().unwrap().to_owned();
    (ground, other, client, second)
}

#[test]
fn r15_several_roots_are_several_workspaces() {
    let (ground, other, client, second) = two_roots();
    let listed = client.said("list_allowed_directories", json!({}));
    assert!(
        listed.contains(ground.path("").trim_end_matches('/')) && listed.contains(&second),
        "{listed}"
    );
    assert_eq!(client.said("read_text_file", json!({"path": ground.path("a")})), "first\n");
    assert_eq!(client.said("read_text_file", json!({"path": format!("{second}/a")})), "second\n");
    client.said("write_file", json!({"path": format!("{second}/b"), "content": "x"}));
    assert!(other.path().join("b").exists());
    let across = json!({"source": ground.path("a"), "destination": format!("{second}/c")});
    let why = client.complaint("move_file", across);
    assert!(why.contains("different roots"), "{why}");
    let why = client.complaint("read_text_file", json!({"path": "/etc/passwd"}));
    assert!(why.contains("Access denied"), "{why}");
    let both = json!({"paths": [ground.path("a"), format!("{second}/a")]});
    let why = client.complaint("read_multiple_files", both);
    assert!(why.contains("one call for each root"), "{why}");
    let mut history = toolyard(ground.data.path());
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
        let ground = Ground::new();
        ground.put("sub/a", "in\n");
        ground.put("b", "out\n");
        let client = ground.speak(
            Wire::Sessions,
            &["--policy", "open"],
            json!({"roots": {"listChanged": true}}),
        );
        let uri = match offered {
            "/etc" => "file:///etc".to_owned(),
            ".." => format!(
                "file://{}",
                std::path::Path::new(&ground.path("")).parent().unwrap().display()
            ),
            inside => format!("file://{}", ground.path(inside).trim_end_matches('/')),
        };
        client
            .answers
            .borrow_mut()
            .push(("roots/list".to_owned(), json!({"roots": [{"uri": uri}]})));
        let seen = client.call("read_text_file", json!({"path": ground.path("sub/a")}));
        assert_eq!(seen["isError"] != true, sub, "{offered}: {seen}");
        let seen = client.call("read_text_file", json!({"path": ground.path("b")}));
        assert_eq!(seen["isError"] != true, rest, "{offered}: {seen}");
        let wrote = client.call("write_file", json!({"path": ground.path("c"), "content": "x"}));
        assert_eq!(wrote["isError"] != true, rest, "{offered}: {wrote}");
        let outside = client.complaint("read_text_file", json!({"path": "/etc/hostname"}));
        assert!(outside.contains("Access denied"), "{outside}");
        if offered == "sub" {
            let allowed = client.said("list_allowed_directories", json!({}));
            assert_eq!(allowed, format!("Allowed directories:\n{}", ground.path("sub")));
            let listed = client.result("resources/list", json!({}));
            assert!(listed.to_string().contains("toolyard://file/sub/a"), "{listed}");
            assert!(!listed.to_string().contains("toolyard://file/b"), "{listed}");
            // The client changes its mind.
            let all = format!("file://{}", ground.path("").trim_end_matches('/'));
            client
                .answers
                .borrow_mut()
                .push(("roots/list".to_owned(), json!({"roots": [{"uri": all}]})));
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
            std::thread::sleep(std::time::Duration::from_millis(200));
            client.said("read_text_file", json!({"path": ground.path("b")}));
        }
    }
}

#[test]
fn who_is_narrowed_gets_round_it_by_no_command_and_by_no_fault() {
    let ground = Ground::new();
    ground.put("sub/a", "in\n");
    ground.put("secret", "open sesame\n");
    let sub = format!("file://{}", ground.path("sub"));
    let narrowed = |toolset: &str| {
        let words = ["--toolset", toolset, "--policy", "open"];
        let client = ground.speak(Wire::Sessions, &words, json!({"roots": {}}));
        let roots = json!({"roots": [{"uri": sub}]});
        client.answers.borrow_mut().push(("roots/list".to_owned(), roots));
        client
    };
    let shell = json!({"command": "cat ../secret", "workdir": "sub"});
    let why = narrowed("codex").complaint("shell", shell);
    assert!(why.contains("outside of what the client offers") && !why.contains("sesame"), "{why}");
    let edits = json!([{"oldText": "open sesam", "newText": "x"}, {"oldText": "opn sesame", "newText": "y"}]);
    let edit = json!({"path": ground.path("secret"), "edits": edits});
    let why = narrowed("filesystem").complaint("edit_file", edit);
    assert!(!why.contains("open sesame"), "{why}");
    // A link to the folder is the folder.
    let link = ground.data.path().join("link");
    std::os::unix::fs::symlink(ground.path("sub"), &link).unwrap();
    let client = ground.speak(Wire::Sessions, &["--policy", "open"], json!({"roots": {}}));
    let roots = json!({"roots": [{"uri": format!("file://localhost{}", link.display())}]});
    client.answers.borrow_mut().push(("roots/list".to_owned(), roots));
    client.said("read_text_file", json!({"path": ground.path("sub/a")}));
    client.complaint("read_text_file", json!({"path": ground.path("secret")}));
}
