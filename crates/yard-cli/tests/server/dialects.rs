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
    let done = ada.post(&format!("{base}/approvals/{id}/decision"), yes).expect(200);
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
