//! Resources, subscriptions, prompts and completion.

use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};

use crate::client::{BOTH, Client, Setup, Wire};

#[test]
fn files_history_and_diffs_are_read() {
    for wire in BOTH {
        let setup = Setup::new();
        setup.put("a b.txt", "one\n");
        std::fs::write(setup.root.path().join("raw"), [0, 255, 7]).unwrap();
        let client = setup.speak(wire, &["--policy", "open"], json!({}));
        client.text_of("write_file", json!({"path": "new", "content": "x\n"}));
        let listed = client.result("resources/list", json!({}));
        let uris: Vec<&str> = listed["resources"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|one| one["uri"].as_str())
            .collect();
        for uri in ["toolyard://history", "toolyard://file/a%20b.txt", "toolyard://file/new"] {
            assert!(uris.contains(&uri), "{uris:?}");
        }
        let read =
            |uri: &str| client.result("resources/read", json!({"uri": uri}))["contents"][0].clone();
        assert_eq!(read("toolyard://file/a%20b.txt")["text"], "one\n");
        let raw = read("toolyard://file/raw")["blob"].as_str().unwrap().to_owned();
        assert_eq!(base64::engine::general_purpose::STANDARD.decode(raw).unwrap(), [0, 255, 7]);
        let history = read("toolyard://history")["text"].as_str().unwrap().to_owned();
        let step = history.split(' ').next().unwrap();
        assert!(history.contains("/new"), "{history}");
        let diff = read(&format!("toolyard://diff/{step}"))["text"].as_str().unwrap().to_owned();
        assert!(diff.contains("+x"), "{diff}");
        assert!(read("toolyard://history/new")["text"].as_str().unwrap().contains(step));
        for wrong in
            ["toolyard://file/nope", "file:///etc/passwd", "toolyard://file/../../etc/passwd", "x"]
        {
            let answer = client.ask("resources/read", json!({"uri": wrong}));
            assert!(answer.get("error").is_some(), "{wrong}: {answer}");
        }
        let forms = client.result("resources/templates/list", json!({}));
        assert_eq!(forms["resourceTemplates"].as_array().unwrap().len(), 3);
    }
}

#[test]
fn long_lists_come_in_pages() {
    let setup = Setup::new();
    for number in 0..450 {
        setup.put(&format!("f{number:03}"), "");
    }
    let client = setup.connect(&[]);
    let (mut uris, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
        let page = client.result("resources/list", params);
        let found = page["resources"].as_array().unwrap().clone();
        assert!(found.len() <= 201);
        uris.extend(found.iter().map(|one| one["uri"].as_str().unwrap().to_owned()));
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    uris.sort();
    uris.dedup();
    assert_eq!(uris.len(), 451);
    let answer = client.ask("resources/list", json!({"cursor": "nonsense"}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

/// Waits until the server tells of an address.
fn wait_for(client: &Client, uri: &str) -> Value {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(120) {
        let message = client.next_message();
        if message["method"] == "notifications/resources/updated" && message["params"]["uri"] == uri
        {
            return message;
        }
    }
    panic!("nobody told of {uri}");
}

#[test]
fn a_subscriber_is_notified_of_the_changes_of_every_author() {
    for wire in BOTH {
        let setup = Setup::new();
        setup.put("a", "one\n");
        setup.put("b", "one\n");
        let client = setup.speak(wire, &["--policy", "open"], json!({}));
        let uri = "toolyard://file/a";
        match wire {
            Wire::Sessions => drop(client.result("resources/subscribe", json!({"uri": uri}))),
            Wire::Requests => {
                let filter = json!({"notifications": {"resourceSubscriptions": [uri]}});
                client.request("subscriptions/listen", filter);
                let first = client.next_message();
                assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
            }
        }
        client.request(
            "tools/call",
            json!({"name": "write_file", "arguments": {"path": "a", "content": "two\n"}}),
        );
        wait_for(&client, uri);
        setup.person(&["undo", "last"]);
        wait_for(&client, uri);
        while !client.is_silent_for(Duration::from_millis(300)) {}
        std::fs::write(setup.root.path().join("a"), "three\n").unwrap();
        wait_for(&client, uri);
        if wire == Wire::Sessions {
            client.result("resources/unsubscribe", json!({"uri": uri}));
            while !client.is_silent_for(Duration::from_millis(1_500)) {}
            std::fs::write(setup.root.path().join("a"), "four\n").unwrap();
            assert!(client.is_silent_for(Duration::from_secs(2)), "nobody wants to know any more");
        }
    }
}

#[test]
fn a_client_that_listed_resources_is_notified_when_the_list_changes() {
    let setup = Setup::new();
    setup.put("a", "one\n");
    let client = setup.speak(Wire::Sessions, &["--policy", "open"], json!({}));
    let reply = || {
        let end = Instant::now() + Duration::from_secs(120);
        while client.next_message()["method"] != "notifications/resources/list_changed" {
            assert!(Instant::now() < end, "not told");
        }
    };
    client.text_of("write_file", json!({"path": "b", "content": "two\n"}));
    assert!(client.is_silent_for(Duration::from_millis(1_200)), "who has no list is not told");
    client.result("resources/list", json!({}));
    std::thread::sleep(Duration::from_millis(500));
    client.request(
        "tools/call",
        json!({"name": "write_file", "arguments": {"path": "c", "content": "x"}}),
    );
    reply();
    std::fs::write(setup.root.path().join("d"), "from outside\n").unwrap();
    reply();
}

#[test]
fn prompts_are_filled_in() {
    for wire in BOTH {
        let setup = Setup::new();
        let client = setup.speak(wire, &["--policy", "open"], json!({}));
        client.text_of("write_file", json!({"path": "new", "content": "xyzzy\n"}));
        let listed = client.result("prompts/list", json!({}));
        let names: Vec<&str> = listed["prompts"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|one| one["name"].as_str())
            .collect();
        assert_eq!(names, ["plan", "review"]);
        let get = |name: &str, arguments: Value| {
            client.ask("prompts/get", json!({"name": name, "arguments": arguments}))
        };
        let words = |answer: &Value| {
            answer["result"]["messages"][0]["content"]["text"].as_str().unwrap().to_owned()
        };
        assert!(words(&get("plan", json!({"task": "grow a tree"}))).contains("grow a tree"));
        assert!(words(&get("review", json!({}))).contains("+xyzzy"));
        for (name, arguments) in
            [("plan", json!({})), ("nope", json!({})), ("review", json!({"steps": "many"}))]
        {
            let answer = get(name, arguments);
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
        }
    }
}

#[test]
fn paths_are_completed() {
    let setup = Setup::new();
    for name in ["src/main.rs", "src/map.rs", "src/deep/x", "readme"] {
        setup.put(name, "");
    }
    let client = setup.connect(&[]);
    let complete = |typed: &str| {
        let reference = json!({"type": "ref/resource", "uri": "toolyard://file/{+path}"});
        let params = json!({"ref": reference, "argument": {"name": "path", "value": typed}});
        client.result("completion/complete", params)["completion"]["values"].clone()
    };
    assert_eq!(complete(""), json!(["readme", "src/"]));
    assert_eq!(complete("src/ma"), json!(["src/main.rs", "src/map.rs"]));
    assert_eq!(complete("src/d"), json!(["src/deep/"]));
    assert_eq!(complete("../"), json!([]));
    assert_eq!(complete("nowhere/x"), json!([]));
}
