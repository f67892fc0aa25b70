//! A person's own account: another password, and the logins.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{PASSWORD, Server, Someone};

const NEW: &str = "another battery staple horse";

/// Another login of the same person.
fn log_in_again<'a>(server: &'a Server, person: &Someone<'a>, program: &str) -> Someone<'a> {
    let body = json!({"email": person.email, "password": PASSWORD}).to_string();
    let headers = [("content-type", "application/json"), ("user-agent", program)];
    let login = server.send("POST", "/api/v1/auth/login", &headers, body.as_bytes()).expect(200);
    let text = |name: &str| login[name].as_str().unwrap().to_owned();
    Someone { token: text("access_token"), refresh: text("refresh_token"), ..person.clone() }
}

fn change(person: &Someone<'_>, current: &str, new: &str) -> (u16, Value) {
    let body = json!({"current_password": current, "new_password": new});
    let answer = person.post("/api/v1/auth/password", body);
    (answer.status, answer.json())
}

fn is_logged_in(person: &Someone<'_>) -> bool {
    person.get("/api/v1/auth/me").status == 200
}

/// An open event stream of a person, which has begun.
fn stream(person: &Someone<'_>, path: &str) -> BufReader<TcpStream> {
    let address = &person.server.address;
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\r\n",
        person.token
    );
    connection.write_all(request.as_bytes()).unwrap();
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    while !line.starts_with("retry:") {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the stream did not begin");
    }
    reader
}

/// Whether the server ends a stream; it does so by a last, empty chunk.
fn ends(mut stream: BufReader<TcpStream>) -> bool {
    let mut rest = String::new();
    let mut line = String::new();
    loop {
        line.clear();
        match stream.read_line(&mut line) {
            Ok(0) => return true,
            Ok(_) if line == "0\r\n" => return true,
            Ok(_) => rest.push_str(&line),
            Err(error) => panic!("{error}: {rest}"),
        }
    }
}

#[test]
fn another_password_ends_all_other_logins() {
    let server = Server::start();
    let (ada, bob) = (server.person(), server.person());
    let other = log_in_again(&server, &ada, "phone");
    let followed = stream(&other, "/api/v1/events");
    assert_eq!(change(&ada, PASSWORD, NEW), (204, Value::Null));
    assert!(ends(followed));
    assert!(is_logged_in(&ada) && is_logged_in(&bob) && !is_logged_in(&other));
    let refresh =
        |token: &str| server.post("/api/v1/auth/refresh", &json!({"refresh_token": token}));
    refresh(&other.refresh).expect(401);
    refresh(&ada.refresh).expect(200);
    let login = |password: &str| {
        let body = json!({"email": ada.email, "password": password});
        server.post("/api/v1/auth/login", &body).status
    };
    assert_eq!((login(PASSWORD), login(NEW)), (401, 200));
}

#[test]
fn a_wrong_current_password_changes_nothing_and_counts_as_a_failed_login() {
    let server = Server::start();
    let ada = server.person();
    let other = log_in_again(&server, &ada, "phone");
    let (status, refused) = change(&ada, "not the right password", NEW);
    assert_eq!((status, &refused["fields"]["current_password"]), (400, &json!("is wrong")));
    let (status, refused) = change(&ada, PASSWORD, "short");
    assert_eq!(status, 400, "{refused}");
    assert!(refused["fields"]["new_password"].is_string(), "{refused}");
    assert!(is_logged_in(&other));
    let refused = (1..=20).find(|_| change(&ada, "not the right password", NEW).0 == 429);
    assert!(refused.is_some(), "429 within 20 wrong passwords");
    assert_eq!(change(&ada, PASSWORD, NEW).0, 429);
    let login = json!({"email": ada.email, "password": PASSWORD});
    assert_eq!(server.post("/api/v1/auth/login", &login).status, 429, "the limit is one");
    assert!(is_logged_in(&ada) && is_logged_in(&other));
}

#[test]
fn a_person_sees_the_own_logins_and_ends_one_with_its_tokens_and_streams() {
    let server = Server::start();
    let (ada, bob) = (server.person(), server.person());
    let phone = log_in_again(&server, &ada, "Phone/1.0");
    let workspace = ada.workspace();
    let logins = ada.get("/api/v1/auth/logins").expect(200)["logins"].as_array().unwrap().clone();
    assert_eq!(logins.len(), 2, "{logins:?}");
    assert_eq!((&logins[0]["current"], &logins[1]["current"]), (&json!(false), &json!(true)));
    for login in &logins {
        assert!(login["created_at"].is_string() && login["last_used_at"].is_string(), "{login}");
    }
    let page = ada.get("/api/v1/auth/logins?limit=1").expect(200);
    let next = page["next"].as_str().unwrap();
    let rest = ada.get(&format!("/api/v1/auth/logins?cursor={next}")).expect(200);
    assert_eq!(rest["logins"], json!([logins[1]]));

    let path = format!("/api/v1/auth/logins/{}", logins[0]["id"].as_str().unwrap());
    bob.delete(&path).expect(404);
    ada.agent(&workspace, "member").delete(&path).expect(403);
    ada.agent(&workspace, "member").get("/api/v1/auth/logins").expect(403);
    let followed = [
        stream(&phone, "/api/v1/events"),
        stream(&phone, &format!("/api/v1/workspaces/{workspace}/events")),
    ];
    ada.delete(&path).expect(204);
    assert!(!is_logged_in(&phone) && is_logged_in(&ada));
    for stream in followed {
        assert!(ends(stream));
    }
    let refresh = json!({"refresh_token": phone.refresh});
    server.post("/api/v1/auth/refresh", &refresh).expect(401);
    ada.delete(&path).expect(404);
    ada.delete("/api/v1/auth/logins/nonsense").expect(404);
    // The own login ends as well.
    let own = format!("/api/v1/auth/logins/{}", logins[1]["id"].as_str().unwrap());
    ada.delete(&own).expect(204);
    assert!(!is_logged_in(&ada));
}

#[test]
fn the_program_of_a_login_is_shown_bounded_and_without_control_characters() {
    let server = Server::start();
    let ada = server.person();
    let long = format!("Browser/{}", "9".repeat(500));
    log_in_again(&server, &ada, &long);
    let logins = ada.get("/api/v1/auth/logins").expect(200);
    let shown = logins["logins"][0]["user_agent"].as_str().unwrap();
    assert!(shown.starts_with("Browser/999") && shown.len() == 200, "{shown}");
}

#[test]
fn a_stream_of_a_login_that_goes_on_is_not_ended() {
    let server = Server::start();
    let ada = server.person();
    let phone = log_in_again(&server, &ada, "phone");
    let mut followed = stream(&phone, "/api/v1/events");
    assert_eq!(change(&phone, PASSWORD, NEW).0, 204);
    assert!(is_logged_in(&phone));
    let made = phone.workspace();
    assert!(!made.is_empty());
    let mut sent = [0; 8];
    followed.read_exact(&mut sent).unwrap();
}
