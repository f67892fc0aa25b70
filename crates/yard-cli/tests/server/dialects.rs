//! The other dialects over HTTP: `toolset` picks one, a failure is an answer (F1), and each vendor gets its
//! definitions.

use serde_json::{Value, json};

use crate::harness::{Answer, Server, Someone};

fn call(someone: &Someone<'_>, base: &str, toolset: &str, tool: &str, args: Value) -> Answer {
    let body = json!({"toolset": toolset, "tool": tool, "args": args, "wait_ms": 0});
    someone.post(&format!("{base}/tools"), body)
}

#[test]
fn f1_over_http_a_tool_that_ran_answers_200_and_what_never_ran_does_not() {
    let server = Server::start();
    let ada = server.person();
    let base = format!("/api/v1/workspaces/{}", ada.workspace());
    let written =
        call(&ada, &base, "file", "file.write", json!({"path": "a.txt", "content": "x\n"}));
    assert_eq!(written.expect(200)["result"]["bytes_written"], 2);
    let read = call(&ada, &base, "file", "file_read", json!({"path": "a.txt"})).expect(200);
    assert_eq!(read["result"]["content"], "     1\tx\n");
    let missing = call(&ada, &base, "file", "file.read", json!({"path": "b.txt"})).expect(200);
    assert_eq!(
        (&missing["success"], &missing["result"]["error"]),
        (&json!(false), &json!("file_not_found"))
    );
    let listed = call(&ada, &base, "assistant", "list_directory", json!({"path": "."})).expect(200);
    assert_eq!(listed["result"]["value"]["entries"][0]["name"], "a.txt");
    let patch = "*** Begin Patch\n*** Add File: b.txt\n+hello\n*** End Patch";
    let asked = call(&ada, &base, "codex", "apply_patch_freeform", json!({"patch": patch}));
    let asked = asked.expect(202);
    let id = asked["result"]["approval_id"].as_str().unwrap();
    let yes = json!({"decision": "approve"});
    let done = ada.decide(&format!("{base}/approvals/{id}"), yes).expect(200);
    assert_eq!(done["result"]["results"][0]["created"], true, "{done}");
    let asked = call(&ada, &base, "coder", "read", json!({"filePath": "b.txt"})).expect(202);
    assert_eq!(asked["result"]["status"], "approval_pending");
    call(&ada, &base, "coder", "nothing", json!({})).expect(404);
    call(&ada, &base, "nobody", "read", json!({})).expect(404);
}

#[test]
fn a7_definitions_come_as_each_vendor_takes_them() {
    let server = Server::start();
    let ada = server.person();
    let base = format!("/api/v1/workspaces/{}", ada.workspace());
    let of = |toolset: &str, format: &str| {
        ada.get(&format!("{base}/tools?toolset={toolset}&format={format}")).expect(200)["tools"]
            .clone()
    };
    let strict = of("codex", "openai");
    assert_eq!((&strict[0]["name"], &strict[0]["strict"]), (&json!("list_dir"), &json!(true)));
    assert_eq!(of("codex", "openai-chat")[0]["function"]["strict"], true);
    assert_eq!(of("file", "anthropic")[0]["name"], "file_read");
    assert_eq!(of("assistant", "functions")[0]["name"], "list_directory");
    assert_eq!(of("coder", "gemini")["functionDeclarations"].as_array().unwrap().len(), 7);
    let known = of("assistant", "json");
    assert!(known[3]["approval"].as_str().unwrap().contains("replaces or removes"), "{known}");
}

#[test]
fn r13_command_output_is_for_members_only() {
    let mut server = Server::start_with(&[("TOOLYARD__COMMANDS__OUTPUT_MIB", "1")]);
    let read = |someone: &Someone<'_>, workspace: &str, path: &str| {
        let base = format!("/api/v1/workspaces/{workspace}");
        call(someone, &base, "codex", "read_file", json!({"path": path, "limit": 2}))
    };
    let (token, workspace, path) = {
        let (ada, bob, eve) = (server.person(), server.person(), server.person());
        let workspace = ada.workspace();
        ada.invite(&workspace, &bob, "viewer");
        let base = format!("/api/v1/workspaces/{workspace}");
        let agent = ada.agent(&workspace, "member");
        let answer = call(&agent, &base, "codex", "shell", json!({"command": "seq 1 300000"}));
        let answer = answer.expect(200)["result"].clone();
        let path = answer["stdout_path"].as_str().unwrap().to_owned();
        let printed = answer["stdout"].as_str().unwrap();
        assert!(
            printed.contains("the first 1048576 of all 1988895 bytes are at .toolyard-output/")
        );
        assert!(
            !answer.to_string().contains(server.data().to_str().unwrap()),
            "no path of the host"
        );
        for someone in [&ada, &bob, &agent, &ada.agent(&workspace, "viewer")] {
            assert_eq!(read(someone, &workspace, &path).expect(200)["result"]["text"], "1\n2\n");
        }
        read(&eve, &workspace, &path).expect(403);
        let elsewhere = read(&ada, &ada.workspace(), &path).expect(200);
        assert_eq!(elsewhere["result"]["error"], "FILE_NOT_FOUND", "{elsewhere}");
        (ada.token, workspace, path)
    };
    server.crash_and_restart();
    let ada = server.holder(&token);
    assert_eq!(read(&ada, &workspace, &path).expect(200)["result"]["text"], "1\n2\n");
}
