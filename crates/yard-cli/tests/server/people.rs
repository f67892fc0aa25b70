//! Accounts, logins, tokens and cookies.

use serde_json::{Value, json};

use crate::harness::{PASSWORD, Server};

#[test]
fn an_account_is_made_and_used() {
    let server = Server::start();
    let account =
        json!({"email": "Ada@Example.com", "password": PASSWORD, "confirm_password": PASSWORD});
    let made = server.post("/api/v1/auth/register", &account).expect(201);
    assert_eq!(made["user"]["email"], "ada@example.com");
    assert_eq!(server.post("/api/v1/auth/register", &account).expect(409)["code"], "CONFLICT");
    let login = json!({"email": "ADA@example.com", "password": PASSWORD});
    let answer = server.post("/api/v1/auth/login", &login);
    let login = answer.expect(200);
    for name in
        ["access_token", "refresh_token", "access_token_expires_at", "refresh_token_expires_at"]
    {
        assert!(login[name].is_string(), "{name}: {login}");
    }
    let cookies: Vec<_> = answer
        .headers
        .get_all("set-cookie")
        .iter()
        .map(|cookie| cookie.to_str().unwrap())
        .collect();
    assert_eq!(cookies.len(), 2);
    assert!(
        cookies.iter().all(|cookie| cookie.contains("HttpOnly") && cookie.contains("SameSite"))
    );
    let me =
        server.holder(login["access_token"].as_str().unwrap()).get("/api/v1/auth/me").expect(200);
    assert_eq!(me["user"], made["user"]);
    assert!(me["user"].get("password").is_none(), "R13");
}

#[test]
fn a_bad_account_is_refused_field_by_field() {
    let server = Server::start();
    let bad = json!({"email": "nobody", "password": "short", "confirm_password": "other"});
    let reply = server.post("/api/v1/auth/register", &bad).expect(400);
    assert_eq!(reply["code"], "VALIDATION_ERROR");
    let fields: Vec<_> = reply["fields"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields, ["email", "password", "confirm_password"]);
    let reply = server.post("/api/v1/auth/register", &json!({"emial": "a@b.c"})).expect(400);
    assert!(reply["fields"]["emial"].as_str().unwrap().contains("`email`"), "R1: {reply}");
}

#[test]
fn a_refresh_token_is_good_once_and_its_copy_ends_the_login() {
    let server = Server::start();
    let ada = server.person();
    let refresh =
        |token: &str| server.post("/api/v1/auth/refresh", &json!({"refresh_token": token}));
    let second = refresh(&ada.refresh).expect(200);
    let text = |value: &Value, name: &str| value[name].as_str().unwrap().to_owned();
    let newer = server.holder(&text(&second, "access_token"));
    newer.get("/api/v1/auth/me").expect(200);
    let third = refresh(&text(&second, "refresh_token")).expect(200);
    // The first one is used up: whoever shows it again has a copy, so everything of this login ends.
    assert_eq!(refresh(&ada.refresh).expect(401)["code"], "INVALID_TOKEN");
    refresh(&text(&third, "refresh_token")).expect(401);
    newer.get("/api/v1/auth/me").expect(401);
}

#[test]
fn logging_out_ends_the_login_and_no_other() {
    let server = Server::start();
    let ada = server.person();
    let login = json!({"email": ada.email, "password": PASSWORD});
    let other = server.post("/api/v1/auth/login", &login).expect(200);
    ada.post("/api/v1/auth/logout", Value::Null).expect(204);
    ada.get("/api/v1/auth/me").expect(401);
    server.post("/api/v1/auth/refresh", &json!({"refresh_token": ada.refresh})).expect(401);
    server.holder(other["access_token"].as_str().unwrap()).get("/api/v1/auth/me").expect(200);
}

#[test]
fn browsers_come_with_cookies_and_the_header_beats_them() {
    let server = Server::start();
    let (ada, bob) = (server.person(), server.person());
    let cookie = format!("access_token={}", ada.token);
    let me = |headers: &[(&str, &str)]| server.send("GET", "/api/v1/auth/me", headers, b"");
    assert_eq!(me(&[("cookie", &cookie)]).expect(200)["user"]["email"], ada.email.as_str());
    let bearer = format!("Bearer {}", bob.token);
    let both = [("cookie", cookie.as_str()), ("authorization", bearer.as_str())];
    assert_eq!(me(&both).expect(200)["user"]["email"], bob.email.as_str());
    let bad = [("cookie", cookie.as_str()), ("authorization", "Bearer nonsense")];
    me(&bad).expect(401);
    let refresh = format!("refresh_token={}", ada.refresh);
    let by_cookie = server.send("POST", "/api/v1/auth/refresh", &[("cookie", &refresh)], b"");
    assert!(by_cookie.expect(200)["access_token"].is_string());
}

#[test]
fn another_sites_page_changes_nothing_by_cookie() {
    let server = Server::start();
    let ada = server.person();
    let cookie = format!("access_token={}", ada.token);
    let make = |more: &[(&str, &str)]| {
        let mut headers = vec![("cookie", cookie.as_str()), ("content-type", "application/json")];
        headers.extend(more);
        server.send("POST", "/api/v1/workspaces", &headers, br#"{"name":"x"}"#)
    };
    make(&[("origin", "http://evil.example")]).expect(403);
    make(&[("sec-fetch-site", "cross-site")]).expect(403);
    make(&[("sec-fetch-site", "same-site")]).expect(403);
    let own = format!("http://{}", server.address);
    make(&[("origin", &own), ("sec-fetch-site", "same-origin")]).expect(201);
    let form = [("cookie", cookie.as_str()), ("content-type", "text/plain")];
    server.send("POST", "/api/v1/workspaces", &form, br#"{"name":"x"}"#).expect(415);
    let listed = ada.get("/api/v1/workspaces").expect(200);
    assert_eq!(listed["workspaces"].as_array().unwrap().len(), 1);
}

#[test]
fn a_rebound_name_reaches_nothing() {
    let server = Server::start();
    let headers = [("host", "evil.example"), ("content-type", "application/json")];
    let account = json!({"email": "a@b.c", "password": PASSWORD}).to_string();
    server.send("POST", "/api/v1/auth/register", &headers, account.as_bytes()).expect(403);
    server.send("GET", "/nowhere", &headers, b"").expect(403);
}

#[test]
fn wrong_passwords_are_counted_and_right_ones_are_not() {
    let server = Server::start();
    let ada = server.person();
    let login = |password: &str| {
        let body = json!({"email": ada.email, "password": password});
        server.post("/api/v1/auth/login", &body)
    };
    for _ in 0..20 {
        login(PASSWORD).expect(200);
    }
    let failed = (1..=20).find(|_| login("not the right password").status == 429);
    assert!(failed.is_some(), "429 within 20 wrong passwords");
    let refused = login(PASSWORD);
    assert_eq!(refused.expect(429)["code"], "RATE_LIMITED");
    assert!(refused.header("retry-after").is_some());
}

/// Tries wrong passwords as one client of a proxy until that client is refused; what another one gets.
fn refused_next_to(server: &Server) -> u16 {
    let ada = server.person();
    let login = |client: &str, password: &str| {
        let body = json!({"email": ada.email, "password": password}).to_string();
        let headers = [("content-type", "application/json"), ("x-forwarded-for", client)];
        server.send("POST", "/api/v1/auth/login", &headers, body.as_bytes()).status
    };
    let refused = (1..=20).any(|_| login("203.0.113.1", "not the right password") == 429);
    assert!(refused, "429 within 20 wrong passwords");
    assert_eq!(login("203.0.113.1", PASSWORD), 429);
    // What a client writes in front of what the proxy adds counts for nothing.
    assert_eq!(login("203.0.113.2, 203.0.113.1", PASSWORD), 429);
    login("203.0.113.2", PASSWORD)
}

#[test]
fn clients_are_distinguished_behind_a_trusted_proxy_only() {
    assert_eq!(refused_next_to(&Server::start()), 429, "anybody can send the header");
    let trusting = [
        ("TOOLYARD__SERVER__TRUSTED_PROXIES", "[\"127.0.0.0/8\"]"),
        ("TOOLYARD__REGISTRATION__OPEN", "true"),
    ];
    assert_eq!(refused_next_to(&Server::start_with(&trusting)), 200);
}

#[test]
fn nothing_is_stored_of_a_registration_that_could_confirm_a_guess_at_its_password() {
    let server = Server::start();
    let register = |password: &str| {
        let body = json!({"email": "ada@example.com", "password": password}).to_string();
        let headers = [("content-type", "application/json"), ("idempotency-key", "once")];
        server.send("POST", "/api/v1/auth/register", &headers, body.as_bytes())
    };
    register(PASSWORD).expect(201);
    // A stored answer would be repeated to the one who sends the same password alone.
    let again = register(PASSWORD).expect(409);
    assert_eq!(register("another password of hers").expect(409), again);
    let login = |password: &str| {
        let body = json!({"email": "ada@example.com", "password": password});
        server.post("/api/v1/auth/login", &body).status
    };
    assert_eq!((login(PASSWORD), login("another password of hers")), (200, 401));
}

#[test]
fn twenty_accounts_a_minute_can_be_made() {
    let server = Server::start();
    for _ in 0..20 {
        server.person();
    }
}

#[test]
fn an_account_that_is_not_there_answers_as_one_that_is() {
    let server = Server::start();
    let ada = server.person();
    let login = |email: &str| {
        let body = json!({"email": email, "password": "wrong wrong wrong"});
        server.post("/api/v1/auth/login", &body).expect(401)
    };
    assert_eq!(login(&ada.email), login("nobody@example.com"));
}

#[test]
fn registration_and_secrets_follow_the_configuration() {
    let closed = Server::start_with(&[("TOOLYARD__REGISTRATION__OPEN", "false")]);
    let account = json!({"email": "a@b.c", "password": PASSWORD});
    assert_eq!(closed.post("/api/v1/auth/register", &account).expect(403)["code"], "FORBIDDEN");
    use std::os::unix::fs::PermissionsExt as _;
    let secret = std::fs::metadata(closed.data().join("jwt.secret")).unwrap();
    assert_eq!(secret.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_server_stops_in_order_and_starts_again_with_its_people() {
    let mut server = Server::start();
    let (token, workspace) = {
        let ada = server.person();
        (ada.token.clone(), ada.workspace())
    };
    assert!(server.stop().success());
    server.crash_and_restart();
    let ada = server.holder(&token);
    ada.get(&format!("/api/v1/workspaces/{workspace}")).expect(200);
}

#[test]
fn the_address_of_a_server_answers_people_with_a_page() {
    let server = Server::start();
    let page = server.get("/start");
    assert_eq!(page.status, 200);
    let text = String::from_utf8(page.bytes).unwrap();
    for link in ["href=\"/docs\"", "href=\"/openapi.json\"", "href=\"/health\"", "/auth/register"] {
        assert!(text.contains(link), "{link}: {text}");
    }
    assert!(!text.contains("<script"), "{text}");
    for path in ["/docs", "/openapi.json", "/health"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
}
