//! What the document of `workspace` asks of tokens, of who may call tools, and of questions in the event stream,
//! where no other test holds it. `docs/conformance.md` says which test holds what.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use yard_core::ContentHash;

use crate::harness::{Server, Someone};
use crate::talk::Listener;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// HMAC-SHA256 with a key that is shorter than a block.
fn signed(key: &[u8], message: &[u8]) -> [u8; 32] {
    let padded = |byte: u8| -> Vec<u8> {
        let with_zeros = key.iter().copied().chain(std::iter::repeat(0));
        with_zeros.take(64).map(|one| one ^ byte).collect()
    };
    let inner = ContentHash::of(&[&padded(0x36)[..], message].concat());
    *ContentHash::of(&[&padded(0x5c)[..], inner.as_bytes()].concat()).as_bytes()
}

/// What an access token says.
fn claims(token: &str) -> Value {
    let part = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

/// A token like this one that ends at another time, signed as the server signs.
fn ending_at(token: &str, seconds: i64) -> String {
    let mut claims = claims(token);
    claims["exp"] = seconds.into();
    let head = token.split('.').next().unwrap();
    let message = format!("{head}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
    let signature = signed(SECRET.as_bytes(), message.as_bytes());
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[test]
fn a_token_that_has_ended_is_refused_though_its_signature_is_right() {
    let server = Server::start_with(&[("TOOLYARD__JWT__SECRET", SECRET)]);
    let ada = server.person();
    let workspace = ada.workspace();
    let made = claims(&ada.token)["iat"].as_i64().unwrap();
    let with = |token: String| server.holder(&token).tool(&workspace, "ls", json!({}));
    with(ending_at(&ada.token, made + 3_600)).expect(200);
    let refused = with(ending_at(&ada.token, made - 1)).expect(401);
    assert_eq!((&refused["code"], &refused["success"]), (&json!("INVALID_TOKEN"), &json!(false)));
    // The same with a signature by another secret.
    let mut other = ending_at(&ada.token, made + 3_600);
    let end = other.rfind('.').unwrap();
    let signature = URL_SAFE_NO_PAD.encode(signed(b"another secret", &other.as_bytes()[..end]));
    other.replace_range(end + 1.., &signature);
    assert_eq!(with(other).expect(401)["code"], "INVALID_TOKEN");
}

#[test]
fn a_token_lasts_fifteen_minutes_or_as_long_as_is_configured() {
    let minutes = |server: &Server| {
        let output = claims(&server.person().token);
        (output["exp"].as_i64().unwrap() - output["iat"].as_i64().unwrap()) / 60
    };
    assert_eq!(minutes(&Server::start()), 15);
    let variable = ("TOOLYARD__JWT__ACCESS_TOKEN_EXPIRATION_MINUTES", "7");
    assert_eq!(minutes(&Server::start_with(&[variable])), 7);
}

#[test]
fn a_tool_is_called_with_the_header_or_the_cookie_and_the_header_counts() {
    let server = Server::start();
    let (ada, bob) = (server.person(), server.person());
    let path = format!("/api/v1/workspaces/{}/tools", ada.workspace());
    let call = |headers: &[(&str, &str)]| {
        let mut all = vec![("content-type", "application/json")];
        all.extend(headers);
        server.send("POST", &path, &all, br#"{"tool":"ls","args":{}}"#)
    };
    let (hers, his) = (format!("Bearer {}", ada.token), format!("Bearer {}", bob.token));
    let cookie = |someone: &Someone<'_>| format!("access_token={}", someone.token);
    let (her_cookie, his_cookie) = (cookie(&ada), cookie(&bob));
    assert_eq!(call(&[("authorization", &hers)]).expect(200)["success"], true);
    assert_eq!(call(&[("cookie", &her_cookie)]).expect(200)["success"], true);
    call(&[("authorization", &hers), ("cookie", &his_cookie)]).expect(200);
    call(&[("authorization", &his), ("cookie", &her_cookie)]).expect(403);
    call(&[("authorization", "Bearer nonsense"), ("cookie", &her_cookie)]).expect(401);
    assert_eq!(call(&[]).expect(401)["code"], "INVALID_TOKEN");
    // The token says who it is.
    let me = ada.get("/api/v1/auth/me").expect(200);
    assert_eq!(
        (&me["user"]["id"], &me["user"]["email"], &me["user"]["full_name"]),
        (&json!(ada.id), &json!(ada.email), &json!("Some One"))
    );
}

#[test]
fn the_token_is_looked_at_before_the_membership_and_that_before_the_call() {
    let server = Server::start();
    let (ada, eve) = (server.person(), server.person());
    let workspace = ada.workspace();
    let unknown = "01a1ded5-dd8a-77da-afc2-e0984d8b1839";
    let wrong = json!({"tool": "no_such_tool", "args": {}});
    for (someone, place, status, code) in [
        (&server.holder("nonsense"), workspace.as_str(), 401, "INVALID_TOKEN"),
        (&server.holder("nonsense"), unknown, 401, "INVALID_TOKEN"),
        (&eve, workspace.as_str(), 403, "FORBIDDEN"),
        (&eve, unknown, 403, "FORBIDDEN"),
        (&ada, workspace.as_str(), 404, "NOT_FOUND"),
    ] {
        let answer = someone.post(&format!("/api/v1/workspaces/{place}/tools"), wrong.clone());
        let reply = answer.expect(status);
        assert_eq!((&reply["code"], &reply["success"]), (&json!(code), &json!(false)), "{reply}");
        assert!(reply["error"].as_str().is_some_and(|error| !error.is_empty()), "{reply}");
    }
    // Who is let in hears what is wrong with the call: the argument, then the file.
    let reply = ada.tool(&workspace, "read", json!({})).expect(400);
    assert_eq!(reply["code"], "VALIDATION_ERROR");
    assert!(reply["fields"]["path"].as_str().unwrap().starts_with("missing"), "{reply}");
    let reply = ada.tool(&workspace, "read", json!({"path": "/nonexistent/file.txt"})).expect(404);
    assert_eq!(reply["code"], "NOT_FOUND");
    assert!(reply["error"].as_str().unwrap().contains("/nonexistent/file.txt"), "{reply}");
}

#[test]
fn owners_and_members_alike_call_every_kind_of_tool() {
    let server = Server::start();
    let (ada, bob) = (server.person(), server.person());
    let workspace = ada.workspace();
    ada.invite(&workspace, &bob, "member");
    for (nth, someone) in [&ada, &bob].into_iter().enumerate() {
        let path = format!("/{nth}/a.txt");
        let plan = format!("/plans/{nth}.plan");
        let question = json!({"name": "q", "question": "?", "schema": {"type": "string"}});
        for (tool, args) in [
            ("write", json!({"path": path, "content": "a\n"})),
            ("read", json!({"path": path})),
            ("ls", json!({})),
            ("edit", json!({"path": path, "old_string": "a", "new_string": "b"})),
            ("grep", json!({"pattern": "b"})),
            ("mkdir", json!({"path": format!("/{nth}/sub")})),
            ("mv", json!({"source": path, "destination": format!("/{nth}/sub/")})),
            ("touch", json!({"path": path})),
            ("rm", json!({"path": path})),
            ("plan_write", json!({"title": "T", "content": "x", "path": plan})),
            ("plan_edit", json!({"path": plan, "old_string": "x", "new_string": "y"})),
            ("plan_read", json!({"path": plan})),
            ("plan_list", json!({})),
            ("ask_user", json!({"questions": [question]})),
        ] {
            let answer = someone.tool(&workspace, tool, args);
            assert_eq!(answer.expect(200)["success"], true, "{tool}");
        }
    }
}

#[test]
fn w15_the_event_of_a_question_has_all_that_a_page_needs_to_ask_it() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    let mut live = Listener::open(&ada, &base, None);
    live.greeted();
    let questions = json!([
        {"name": "framework", "question": "Which one?",
            "schema": {"type": "string", "enum": ["Jest", "Vitest"]},
            "buttons": [{"label": "Jest", "value": "Jest"}, {"label": "Vitest", "value": "Vitest"}]},
        {"name": "parts", "question": "Which of these?",
            "schema": {"type": "array", "items": {"type": "string", "enum": ["A", "B"]}}},
    ]);
    let asked = ada.tool(&workspace, "ask_user", json!({"questions": questions})).expect(200);
    let reply = live.next_of("question.asked").data;
    assert_eq!(reply["questions"], questions);
    assert_eq!(reply["question_id"], asked["result"]["question_id"]);
    let id = reply["question_id"].as_str().unwrap();
    // It is kept: the list of questions has it, and the answer given there counts, too.
    let listed = ada.get(&format!("{base}/questions?status=pending")).expect(200);
    assert_eq!(
        (&listed["questions"][0]["id"], &listed["questions"][0]["questions"]),
        (&json!(id), &questions)
    );
    let answers = json!({"framework": "Jest", "parts": ["A", "B"]});
    let answer = json!({"answers": answers, "via": "text"});
    ada.post(&format!("{base}/questions/{id}/answer"), answer).expect(200);
    assert_eq!(live.next_of("question.answered").data["question_id"], id);
}
