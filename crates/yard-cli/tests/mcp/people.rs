//! Questions and approvals through the client, in both revisions, and what is said where it cannot ask.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{BOTH, Client, Setup, Wire, text};

const OVERWRITE: &str = "write_file";

fn able() -> Value {
    json!({"elicitation": {"form": {}}})
}

/// Makes a call that asks a person, who says `text_of`; its result, and what was asked.
pub(crate) fn asking(
    client: &Client,
    wire: Wire,
    tool: &str,
    arguments: &Value,
    output: Value,
) -> (Value, Value) {
    let params = json!({"name": tool, "arguments": arguments});
    if wire == Wire::Sessions {
        client.answers.borrow_mut().push(("elicitation/create".to_owned(), output));
        let result = client.result("tools/call", params);
        let asked = client.notifications.borrow_mut().pop().unwrap();
        return (result, asked["params"].clone());
    }
    let first = client.result("tools/call", params.clone());
    assert_eq!(first["resultType"], "input_required", "{first}");
    let asked = first["inputRequests"]["person"]["params"].clone();
    let mut again = params;
    again["requestState"] = first["requestState"].clone();
    again["inputResponses"] = json!({"person": output});
    (client.result("tools/call", again), asked)
}

#[test]
fn a_person_approves_in_the_client() {
    for wire in BOTH {
        let setup = Setup::new();
        for name in ["a", "b", "c"] {
            setup.put(name, "one\n");
        }
        let client = setup.speak(wire, &[], able());
        let yes = json!({"action": "accept", "content": {"decision": "Allow once"}});
        let arguments = json!({"path": "a", "content": "two\n"});
        let (result, asked) = asking(&client, wire, OVERWRITE, &arguments, yes);
        assert!(
            asked["message"].as_str().unwrap().contains("+two"),
            "the effect is shown: {asked}"
        );
        assert_ne!(result["isError"], true, "{result}");
        assert_eq!(setup.text("a"), "two\n");
        let no = json!({"action": "accept", "content": {"decision": "Deny", "reason": "not this"}});
        let arguments = json!({"path": "b", "content": "three\n"});
        let (result, _) = asking(&client, wire, OVERWRITE, &arguments, no);
        assert!(result["isError"] == true && text(&result).contains("not this"), "{result}");
        let (result, _) =
            asking(&client, wire, OVERWRITE, &arguments, json!({"action": "decline"}));
        assert!(result["isError"] == true && text(&result).contains("said no"), "{result}");
        let (result, _) = asking(&client, wire, OVERWRITE, &arguments, json!({"action": "cancel"}));
        assert!(text(&result).contains("toolyard approve"), "it waits on: {result}");
        assert_eq!(setup.text("b"), "one\n");
        let always = json!({"action": "accept", "content": {"decision": "Allow for this chat"}});
        let (result, _) = asking(&client, wire, OVERWRITE, &arguments, always);
        assert_ne!(result["isError"], true, "{result}");
        client.text_of(OVERWRITE, json!({"path": "c", "content": "four\n"}));
        assert_eq!(setup.text("c"), "four\n");
    }
}

#[test]
fn nothing_hides_in_the_form_of_the_client() {
    for wire in BOTH {
        let setup = Setup::new();
        setup.put("a", "one\n");
        let client = setup.speak(wire, &["--toolset", "workspace"], able());
        let hidden = "rm\u{1b}[8m -rf\u{200b} \u{202e}x\u{e0041}\n";
        let no = || json!({"action": "decline"});
        let args = json!({"path": "/a", "content": hidden, "overwrite": true});
        let (_, asked) = asking(&client, wire, "write", &args, no());
        let message = asked["message"].as_str().unwrap();
        assert!(message.contains("+rm‹U+001B›[8m -rf‹U+200B› ‹U+202E›x‹U+E0041›\n"), "{message:?}");
        let question = json!({"name": "q", "question": hidden, "schema": {"type": "string", "enum": ["a\u{200b}", "b"]}});
        let (_, asked) = asking(&client, wire, "ask_user", &json!({"questions": [question]}), no());
        let property = &asked["requestedSchema"]["properties"]["q"];
        assert_eq!(property["enumNames"], json!(["a‹U+200B›", "b"]), "{asked}");
        assert_eq!(property["enum"], json!(["a\u{200b}", "b"]), "what is answered stays");
        for shown in [&asked["message"], &property["description"]] {
            let shown = shown.as_str().unwrap();
            assert!(
                shown.contains("‹U+200B›") && !shown.contains(['\u{1b}', '\u{202e}']),
                "{shown:?}"
            );
        }
    }
}

#[test]
fn a_person_answers_a_question_in_the_client() {
    for wire in BOTH {
        let setup = Setup::new();
        let client = setup.speak(wire, &["--toolset", "workspace"], able());
        let colour = json!({"name": "colour", "question": "Which colour?",
            "schema": {"type": "string", "enum": ["red", "blue"]},
            "buttons": [{"label": "Warm", "value": "red"}, {"label": "Cold", "value": "blue"}]});
        let many = json!({"name": "many", "question": "How many?", "schema": {"type": "integer"}});
        let arguments = json!({"questions": [colour, many]});
        let output = json!({"action": "accept", "content": {"colour": "blue", "many": 3}});
        let (result, asked) = asking(&client, wire, "ask_user", &arguments, output);
        assert_eq!(asked["requestedSchema"]["required"], json!(["colour", "many"]), "{asked}");
        let offered = &asked["requestedSchema"]["properties"]["colour"];
        assert_eq!(
            (&offered["enum"], &offered["enumNames"]),
            (&json!(["red", "blue"]), &json!(["Warm", "Cold"]))
        );
        assert_eq!(
            result["structuredContent"]["answers"],
            json!({"colour": "blue", "many": 3}),
            "{result}"
        );
        let wrong = json!({"action": "accept", "content": {"colour": "green", "many": 3}});
        let (result, _) = asking(&client, wire, "ask_user", &arguments, wrong);
        assert!(result["isError"] == true && text(&result).contains("colour"), "{result}");
        let nested = json!({"questions": [{"name": "x", "question": "?", "schema": {"type": "object",
            "properties": {"deep": {"type": "object"}}}}]});
        let result = client.call("ask_user", nested);
        assert!(text(&result).contains("toolyard answer"), "no form has it: {result}");
    }
}

#[test]
fn a_state_is_good_for_its_own_call_only() {
    let setup = Setup::new();
    setup.put("a", "one\n");
    setup.put("b", "one\n");
    let client = setup.speak(Wire::Requests, &[], able());
    let call =
        |path: &str| json!({"name": OVERWRITE, "arguments": {"path": path, "content": "two\n"}});
    let first = client.result("tools/call", call("a"));
    let state = first["requestState"].as_str().unwrap().to_owned();
    let yes = json!({"person": {"action": "accept", "content": {"decision": "Allow once"}}});
    let mut flipped = state.clone();
    flipped.replace_range(10..11, if &state[10..11] == "A" { "B" } else { "A" });
    for (path, state) in
        [("b", state.as_str()), ("a", flipped.as_str()), ("a", "nonsense"), ("a", "")]
    {
        let mut again = call(path);
        again["requestState"] = state.into();
        again["inputResponses"] = yes.clone();
        let answer = client.ask("tools/call", again);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    assert_eq!((setup.text("a"), setup.text("b")), ("one\n".to_owned(), "one\n".to_owned()));
    // A second server of the same person signs with another key.
    let other = setup.speak(Wire::Requests, &[], able());
    let mut again = call("a");
    again["requestState"] = state.into();
    again["inputResponses"] = yes;
    assert!(other.ask("tools/call", again).get("error").is_some());
}

#[test]
fn where_the_client_cannot_ask_the_answer_says_who_can() {
    for (wire, words, able) in [
        (Wire::Sessions, &["--wait", "0"][..], json!({})),
        (Wire::Requests, &["--wait", "0"], json!({})),
        (Wire::Sessions, &["--wait", "0", "--no-elicitation"], able()),
        (Wire::Requests, &["--wait", "0", "--no-elicitation"], able()),
    ] {
        let setup = Setup::new();
        setup.put("a", "one\n");
        let client = setup.speak(wire, words, able);
        let result = client.call(OVERWRITE, json!({"path": "a", "content": "two\n"}));
        assert_eq!(result["isError"], true, "{result}");
        let id = result["_meta"]["toolyard/answer"]["approval_id"].as_str().unwrap().to_owned();
        assert!(text(&result).contains(&format!("toolyard approve {id}")), "{result}");
        setup.approve(&id);
        assert_eq!(setup.text("a"), "two\n", "it happens without another call");
    }
}

#[test]
fn r16_a_call_waits_for_a_person_at_another_place() {
    let setup = Setup::new();
    setup.put("a", "one\n");
    let client = setup.connect(&["--wait", "20"]);
    let id = client.request(
        "tools/call",
        json!({"name": OVERWRITE, "arguments": {"path": "a", "content": "two\n"}}),
    );
    let began = Instant::now();
    let approval = loop {
        let listed = setup.person(&["approve", "--json"]);
        let listed: Value = serde_json::from_str(&listed).unwrap();
        if let Some(found) = listed["approvals"][0]["id"].as_str() {
            break found.to_owned();
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{listed}");
        std::thread::sleep(Duration::from_millis(100));
    };
    setup.approve(&approval);
    let result = client.answer_to(id)["result"].clone();
    assert_ne!(result["isError"], true, "{result}");
    assert!(began.elapsed() < Duration::from_secs(120));
    assert_eq!(setup.text("a"), "two\n");
}

/// The request that waits, once there is one.
fn waiting(setup: &Setup) -> Value {
    let began = Instant::now();
    loop {
        let listed: Value = serde_json::from_str(&setup.person(&["approve", "--json"])).unwrap();
        if listed["approvals"][0]["id"].is_string() {
            return listed["approvals"][0].clone();
        }
        assert!(began.elapsed() < Duration::from_secs(30), "nothing waits: {listed}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn p2_a_terminal_that_is_approved_on_the_command_line_opens_in_the_server_that_waits() {
    let setup = Setup::new();
    let client = setup.connect(&["--toolset", "codex", "--wait", "60"]);
    let arguments = json!({"session_id": "t", "cmd": "echo ready; cat", "workdir": null});
    let id = client.request("tools/call", json!({"name": "exec_command", "arguments": arguments}));
    let request = waiting(&setup);
    let output = setup.approve(request["id"].as_str().unwrap());
    assert!(output.contains("executed"), "{output}");
    let result = client.answer_to(id)["result"].clone();
    assert_ne!(result["isError"], true, "{result}");
    assert!(text(&result).contains("ready"), "{result}");
    let typed = client.text_of("write_stdin", json!({"session_id": "t", "chars": "typed\n"}));
    assert!(typed.contains("typed"), "{typed}");
    client.text_of("kill_session", json!({"session_id": "t"}));
}

#[test]
fn p2_a_command_that_is_approved_on_the_command_line_is_answered_to_the_call_that_waits() {
    let setup = Setup::new();
    let words = ["--toolset", "assistant", "--policy", "strict", "--wait", "60"];
    let client = setup.connect(&words);
    let arguments = json!({"language": "bash", "code": "echo out"});
    let id = client.request("tools/call", json!({"name": "run_code", "arguments": arguments}));
    let request = waiting(&setup);
    setup.approve(request["id"].as_str().unwrap());
    let result = client.answer_to(id)["result"].clone();
    assert_ne!(result["isError"], true, "{result}");
    assert!(text(&result).contains("out"), "{result}");
}

#[test]
fn b2_what_changed_since_it_was_shown_in_the_client_is_shown_again() {
    for wire in BOTH {
        let setup = Setup::new();
        setup.put("a", "one\n");
        let client = setup.speak(wire, &[], able());
        let arguments = json!({"path": "a", "content": "two\n"});
        let yes = json!({"action": "accept", "content": {"decision": "Allow once"}});
        let params = json!({"name": OVERWRITE, "arguments": arguments});
        // The request is renewed under the same id, while the client shows what it was.
        let renew = || {
            let request = waiting(&setup);
            setup.put("a", "somebody's\n");
            let output = setup.approve(request["id"].as_str().unwrap());
            assert!(output.contains("somebody's"), "it waits again, with the new diff: {output}");
        };
        let asked_again = if wire == Wire::Sessions {
            let call = client.request("tools/call", params);
            let first = client.next_message();
            assert!(first["params"]["message"].as_str().unwrap().contains("-one"), "{first}");
            renew();
            client.send(&json!({"jsonrpc": "2.0", "id": first["id"], "result": yes}));
            let second = client.next_message();
            let message = second["params"]["message"].as_str().unwrap().to_owned();
            assert_eq!(setup.text("a"), "somebody's\n");
            client.send(&json!({"jsonrpc": "2.0", "id": second["id"], "result": yes}));
            let result = client.answer_to(call)["result"].clone();
            assert_ne!(result["isError"], true, "{result}");
            message
        } else {
            let first = client.result("tools/call", params.clone());
            renew();
            let mut again = params.clone();
            again["requestState"] = first["requestState"].clone();
            again["inputResponses"] = json!({"person": yes});
            let second = client.result("tools/call", again);
            assert_eq!(second["resultType"], "input_required", "{second}");
            assert_eq!(setup.text("a"), "somebody's\n");
            let mut again = params;
            again["requestState"] = second["requestState"].clone();
            again["inputResponses"] = json!({"person": yes});
            let result = client.result("tools/call", again);
            assert_ne!(result["isError"], true, "{result}");
            second["inputRequests"]["person"]["params"]["message"].as_str().unwrap().to_owned()
        };
        assert!(asked_again.contains("-somebody's"), "{asked_again}");
        assert_eq!(setup.text("a"), "two\n");
    }
}

#[test]
fn g15_what_a_dialog_cannot_show_whole_cannot_be_approved_there() {
    for wire in BOTH {
        let setup = Setup::new();
        let long: String = (0..3_000).map(|line| format!("line {line}\n")).collect();
        setup.put("a", &long);
        let client = setup.speak(wire, &[], able());
        let arguments = json!({"path": "a", "content": "short\n"});
        let yes = json!({"action": "accept", "content": {"decision": "Allow once"}});
        let (result, asked) = asking(&client, wire, OVERWRITE, &arguments, yes);
        let decisions = &asked["requestedSchema"]["properties"]["decision"]["enum"];
        assert_eq!(*decisions, json!(["Deny"]), "{asked}");
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(setup.text("a"), long);
        let request = waiting(&setup);
        setup.approve(request["id"].as_str().unwrap());
        assert_eq!(setup.text("a"), "short\n", "it is decided where it is shown");
    }
}

#[test]
fn b7_a_call_that_its_client_cancels_withdraws_its_request() {
    let setup = Setup::new();
    setup.put("a", "one\n");
    let client = setup.connect(&["--wait", "60"]);
    let arguments = json!({"path": "a", "content": "two\n"});
    let id = client.request("tools/call", json!({"name": OVERWRITE, "arguments": arguments}));
    let request = waiting(&setup);
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": id, "reason": "not needed"}});
    client.send(&cancelled);
    let began = Instant::now();
    let one = request["id"].as_str().unwrap();
    loop {
        let row: Value = serde_json::from_str(&setup.person(&["approve", one, "--json"])).unwrap();
        if row["status"] == "withdrawn" {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{row}");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(setup.text("a"), "one\n");
}

#[test]
fn b7_a_request_whose_process_was_killed_still_waits() {
    let setup = Setup::new();
    setup.put("a", "one\n");
    let client = setup.connect(&["--wait", "60"]);
    let arguments = json!({"path": "a", "content": "two\n"});
    client.request("tools/call", json!({"name": OVERWRITE, "arguments": arguments}));
    let request = waiting(&setup);
    drop(client);
    setup.approve(request["id"].as_str().unwrap());
    assert_eq!(setup.text("a"), "two\n");
}

/// A server on loopback that says one thing and counts how often.
fn page() -> (String, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    use std::io::{BufRead as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap().to_string();
    let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&count);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let lines = std::io::BufReader::new(stream.try_clone().unwrap()).lines();
            lines.take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).count();
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let output =
                "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\nthe page";
            stream.write_all(output.as_bytes()).unwrap();
        }
    });
    (place, count)
}

#[test]
fn a_person_is_asked_about_a_host_in_the_client_while_the_command_waits() {
    let setup = Setup::new();
    let (place, count) = page();
    let mut command = setup.command(&["--toolset", "codex"]);
    command.env("TOOLYARD__COMMANDS__REACH", format!("[{place:?}]"));
    let client = Client::start(command, Wire::Sessions, able());
    let curl = json!({"command": format!("curl -sS http://{place}/"), "workdir": null, "timeout_ms": 30_000});
    let yes = json!({"action": "accept", "content": {"decision": "Allow once"}});
    let (result, asked) = asking(&client, Wire::Sessions, "shell", &curl, yes);
    assert!(text(&result).contains("the page"), "{result}");
    let message = asked["message"].as_str().unwrap();
    assert!(message.contains(&format!("connect {place}")), "{message}");
    assert!(message.contains("curl -sS"), "{message}");
    let no = json!({"action": "accept", "content": {"decision": "Deny", "reason": "not now"}});
    let (result, _) = asking(&client, Wire::Sessions, "shell", &curl, no);
    assert!(text(&result).contains(&format!("{place} (a person said no: not now)")), "{result}");
    assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 1);
}
