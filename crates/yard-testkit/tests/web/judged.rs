//! Who is asked before a host is: by preset, by list, by rule, by mode and by role; what a yes covers; and
//! what the audit chain says of it.

use std::io::Write as _;

use serde_json::{Value, json};
use yard_core::{ApprovalId, ContentHash, FaultCode};
use yard_dialects::Answer;
use yard_gate::{
    Actor, Approval, ApprovalStatus, Awaited, CallerPolicy, DecisionInput, Mode, Scope, Session,
    Verdict, Web,
};
use yard_store::{SqliteStore, Store as _};
use yard_testkit::TestWorkspace;

use super::server::{Server, leading, page};
use super::{call, exempting, here, workspace};

/// A workspace that can reach the server as `site.example`, and whose operator named no host.
fn unlisted(server: &Server) -> (TestWorkspace, String) {
    let pair = format!("site.example:{}", server.port());
    let net = exempting(here(), std::slice::from_ref(&pair));
    (workspace(Web::new(net)), format!("http://{pair}"))
}

fn agent(workspace: &TestWorkspace, policy: CallerPolicy) -> Session {
    workspace.session_of(Actor::LocalAgent, policy)
}

#[track_caller]
fn asked(answer: &Answer) -> ApprovalId {
    match answer.pending.as_ref().map(|pending| &pending.awaited) {
        Some(Awaited::Approval(id)) => *id,
        other => panic!("{other:?}: {}", answer.body),
    }
}

fn ruling(approves: bool, scope: Scope) -> DecisionInput {
    DecisionInput {
        approves,
        scope,
        reason: None,
        args: None,
        state: ContentHash::of(b""),
        planned: None,
        parts: None,
    }
}

fn decide(
    workspace: &TestWorkspace,
    id: ApprovalId,
    ruling: &DecisionInput,
) -> Result<Approval, FaultCode> {
    let state = workspace.person().approvals().get(id).unwrap().request.state;
    let ruling = &DecisionInput { state, ..ruling.clone() };
    let decided =
        workspace.catalog().decide(id, ruling, &workspace.person(), &workspace.call_context());
    decided.map_err(|fault| fault.code())
}

fn audit(workspace: &TestWorkspace) -> String {
    let store = SqliteStore::open(workspace.folders().state()).unwrap();
    let rows = store.audit(0, 1_000).unwrap();
    rows.iter().map(|row| format!("{}: {}\n", row.entry.action, row.entry.detail)).collect()
}

#[track_caller]
fn ok(answer: &Answer) -> Value {
    assert_eq!(answer.body["result"]["ok"], json!(true), "{}", answer.body);
    answer.body["result"]["value"].clone()
}

#[track_caller]
fn refused(answer: &Answer) -> String {
    let error = &answer.body["result"]["error"];
    assert_eq!(error["code"], json!("PERMISSION_DENIED"), "{}", answer.body);
    error["message"].as_str().unwrap().to_owned()
}

#[test]
fn a4_a_host_without_permission_asks_and_an_approval_is_for_that_call() {
    let server = Server::saying(page("text/plain", "said"));
    let (workspace, base) = unlisted(&server);
    let guarded = agent(&workspace, CallerPolicy::Guarded);
    let args = json!({"url": format!("{base}/a?token=sesame"), "headers": {"Authorization": "Bearer open"}});
    let pending = call(&workspace, &guarded, "web_fetch", args.clone());
    let id = asked(&pending);
    assert_eq!(server.heard().len(), 0, "nothing is sent before the word");
    let row = workspace.person().approvals().get(id).unwrap();
    assert!(
        row.request.reason.contains(&format!("GET {base}/a?token=sesame")),
        "{}",
        row.request.reason
    );
    let effect: Value = serde_json::from_str(&row.request.effect).unwrap();
    assert_eq!(effect["dials"][0]["kind"], json!("fetch"));
    assert_eq!(effect["dials"][0]["host"], json!("site.example"));

    let done = decide(&workspace, id, &ruling(true, Scope::Once)).unwrap();
    assert_eq!(done.status, ApprovalStatus::Executed);
    assert_eq!(server.heard().len(), 1);
    let pending = yard_gate::Pending { awaited: Awaited::Approval(id), wait_ms: None };
    let resume = || {
        workspace.catalog().resume(
            "assistant",
            "web_fetch",
            &pending,
            &guarded,
            &workspace.call_context(),
        )
    };
    resume();
    let answer = resume();
    assert_eq!(ok(&answer)["body"], json!("said"));
    assert_eq!(server.heard().len(), 1, "a yes is for one call");
    asked(&call(&workspace, &guarded, "web_fetch", args));
    let reply = audit(&workspace);
    assert!(
        reply.contains(&format!("reach: assistant.web_fetch fetch site.example:{}", server.port())),
        "{reply}"
    );
    assert!(!reply.contains("sesame") && !reply.contains("open"), "{reply}");
}

#[test]
fn a4_a_denied_host_is_not_reached_and_an_approval_for_the_chat_is_for_that_host() {
    let server = Server::saying(page("text/plain", "said"));
    let (workspace, base) = unlisted(&server);
    let guarded = agent(&workspace, CallerPolicy::Guarded);
    let get = |path: &str| {
        call(&workspace, &guarded, "web_fetch", json!({"url": format!("{base}{path}")}))
    };
    let no = asked(&get("/no"));
    assert_eq!(
        decide(&workspace, no, &ruling(false, Scope::Once)).unwrap().status,
        ApprovalStatus::Denied
    );
    assert_eq!(server.heard().len(), 0);
    let yes = asked(&get("/yes"));
    decide(&workspace, yes, &ruling(true, Scope::Chat)).unwrap();
    assert_eq!(ok(&get("/again"))["body"], json!("said"));
    asked(&call(&workspace, &guarded, "web_fetch", json!({"url": "https://other.example/"})));
    let post = json!({"url": format!("{base}/"), "method": "POST", "body": "x"});
    let sending = asked(&call(&workspace, &guarded, "web_fetch", post));
    let row = workspace.person().approvals().get(sending).unwrap();
    assert!(row.request.effect.contains(&format!("POST {base}/")), "{}", row.request.effect);
    decide(&workspace, sending, &ruling(true, Scope::Rule)).unwrap();
    let saved = workspace.person().settings().unwrap().saved;
    assert_eq!(
        (&saved[0].rule["host"], &saved[0].rule["effect"]),
        (&json!(["site.example"]), &json!(["send"]))
    );
}

#[test]
fn a4_presets_lists_and_rules_say_who_asks() {
    let server = Server::saying(page("text/plain", "said"));
    let (workspace, base) = unlisted(&server);
    let get = json!({"url": format!("{base}/")});
    ok(&call(&workspace, &agent(&workspace, CallerPolicy::Open), "web_fetch", get.clone()));
    asked(&call(&workspace, &agent(&workspace, CallerPolicy::Guarded), "web_fetch", get.clone()));
    asked(&call(&workspace, &agent(&workspace, CallerPolicy::Strict), "web_fetch", get.clone()));

    let pair = format!("site.example:{}", server.port());
    let listed = Web::new(exempting(here(), &[pair])).allowing("*.example").unwrap();
    let listed = super::workspace(listed);
    ok(&call(&listed, &agent(&listed, CallerPolicy::Guarded), "web_fetch", get.clone()));
    asked(&call(&listed, &agent(&listed, CallerPolicy::Strict), "web_fetch", get.clone()));
    let deny = json!({"rules": [{"effect": "any", "host": "site.example", "then": "deny"}]});
    let person = listed.person();
    person.change_settings(&listed.call_context(), deny.as_object().unwrap()).unwrap();
    let open = agent(&listed, CallerPolicy::Open);
    assert!(refused(&call(&listed, &open, "web_fetch", get.clone())).contains("rule 1"));
    let catalog = listed.catalog();
    let notes =
        catalog.explain("assistant", "web_fetch", get, &open, &listed.call_context()).unwrap();
    assert!(matches!(notes[0].verdict, Verdict::Deny(_)), "{notes:?}");
    assert_eq!(server.heard().len(), 2);
    assert!(audit(&listed).contains("deny reach: assistant.web_fetch fetch site.example"));
}

#[test]
fn a4_a_redirect_to_a_host_without_permission_is_answered_and_not_followed() {
    let other = Server::saying(page("text/plain", "never"));
    let to = format!("http://other.example:{}/x", other.port());
    let target = to.clone();
    let server = Server::start(move |request, stream| {
        let answer = match request.split(' ').nth(1).unwrap() {
            "/home" => page("text/plain", "home"),
            "/stay" => leading(301, "/home"),
            _ => leading(302, &target),
        };
        stream.write_all(&answer).unwrap();
    });
    let pairs =
        [format!("site.example:{}", server.port()), format!("other.example:{}", other.port())];
    let web = Web::new(exempting(here(), &pairs)).allowing("site.example").unwrap();
    let workspace = workspace(web);
    let url = |path: &str| json!({"url": format!("http://{}{path}", pairs[0])});
    let guarded = agent(&workspace, CallerPolicy::Guarded);
    assert_eq!(ok(&call(&workspace, &guarded, "web_fetch", url("/stay")))["body"], json!("home"));
    let value = ok(&call(&workspace, &guarded, "web_fetch", url("/leave")));
    assert_eq!((&value["status"], &value["headers"]["location"]), (&json!(302), &json!(to)));
    assert!(value["message"].as_str().unwrap().contains(&to), "{value}");
    assert_eq!(other.heard().len(), 0);
    let open = agent(&workspace, CallerPolicy::Open);
    assert_eq!(ok(&call(&workspace, &open, "web_fetch", url("/leave")))["body"], json!("never"));
    assert!(audit(&workspace).contains("fetch other.example"));
}

#[test]
fn plan_mode_fetches_and_sends_nothing_and_a_viewer_reaches_nobody() {
    let server = Server::saying(page("text/plain", "said"));
    let (workspace, base) = unlisted(&server);
    let context = workspace.call_context();
    let chat = workspace.person().chats().make(&context, "Plan", Some(Mode::Plan)).unwrap();
    let planning = agent(&workspace, CallerPolicy::Open).in_chat(chat.id).unwrap();
    let get = json!({"url": format!("{base}/")});
    let post = json!({"url": format!("{base}/"), "method": "POST", "body": "x"});
    ok(&call(&workspace, &planning, "web_fetch", get.clone()));
    assert!(refused(&call(&workspace, &planning, "web_fetch", post.clone())).contains("plan mode"));
    assert_eq!(server.heard().len(), 1);
    let viewer = agent(&workspace, CallerPolicy::ReadOnly);
    assert!(
        refused(&call(&workspace, &viewer, "web_fetch", get)).contains("does not reach the web")
    );
    refused(&call(&workspace, &viewer, "web_fetch", post));
    assert_eq!(server.heard().len(), 1);
}

#[test]
fn a_server_that_fails_after_a_yes_is_not_asked_again_by_itself() {
    let server = Server::saying(*b"220 no web server\r\n");
    let (workspace, base) = unlisted(&server);
    let guarded = agent(&workspace, CallerPolicy::Guarded);
    let post = json!({"url": format!("{base}/"), "method": "POST", "body": "x"});
    let id = asked(&call(&workspace, &guarded, "web_fetch", post));
    let done = decide(&workspace, id, &ruling(true, Scope::Once)).unwrap();
    assert_eq!(done.status, ApprovalStatus::Failed);
    let pending = yard_gate::Pending { awaited: Awaited::Approval(id), wait_ms: None };
    workspace.catalog().resume(
        "assistant",
        "web_fetch",
        &pending,
        &guarded,
        &workspace.call_context(),
    );
    assert_eq!(server.heard().len(), 1);
}
