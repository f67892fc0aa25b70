//! What a request costs, over every route that the OpenAPI document names: for a megabyte sent no more than
//! two seconds of processor time and 200 MB of memory, and no answer above its bound. The plain run sends
//! some of the bodies, of a tenth of the size. What tools cost is measured tool by tool elsewhere
//! (`yard-testkit/tests/fuzz_args/costs.rs`).

use std::time::Duration;

use serde_json::{Value, json};
use yard_testkit::large_args::large;
use yard_testkit::soak;

use crate::harness::{Server, Someone};

const MAX_TIME: Duration = Duration::from_secs(2);
const MAX_KIB: u64 = 200 << 10;
/// The largest answer, but for the bytes of a file.
const MAX_ANSWER: usize = 1 << 20;
/// The largest error.
const MAX_ERROR: usize = 64 << 10;

fn size() -> usize {
    if soak() { 1 << 20 } else { 100 << 10 }
}

/// A request to one of the routes.
struct Request {
    method: String,
    path: String,
    what: String,
    content_type: &'static str,
    body: Vec<u8>,
}

/// Everything that a path may name, made in a workspace of the person's.
fn made(ada: &Someone<'_>) -> Vec<(&'static str, String)> {
    let workspace = ada.workspace();
    let api = format!("/api/v1/workspaces/{workspace}");
    let write = |text: &str| {
        let args = json!({"path": "/rows.txt", "content": text, "overwrite": true});
        ada.tool(&workspace, "write", args).expect(200)["result"]["file_id"].clone()
    };
    write("one\n");
    let file = write("two\n").as_str().unwrap().to_owned();
    let versions = ada.get(&format!("{api}/files/{file}/versions")).expect(200);
    let steps = ada.get(&format!("{api}/steps")).expect(200);
    let chat = ada.post(&format!("{api}/chats"), json!({"title": "Talk"})).expect(201);
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned();
    let unknown = "01a1ded5-dd8a-77da-afc2-e0984d8b1839".to_owned();
    vec![
        ("{id}", workspace),
        ("{file_id}", file),
        ("{version_id}", text(&versions["versions"][0]["id"])),
        ("{step_id}", text(&steps["steps"][0]["id"])),
        ("{chat_id}", text(&chat["chat"]["id"])),
        ("{user_id}", ada.id.clone()),
        ("{key_id}", unknown.clone()),
        ("{terminal_id}", unknown.clone()),
        ("{question_id}", unknown.clone()),
        ("{comment_id}", unknown.clone()),
        ("{approval_id}", unknown),
    ]
}

/// What is sent to one method of one route.
fn requests(route: &str, method: &str, of: &Value, names: &[(&str, String)]) -> Vec<Request> {
    let path = names.iter().fold(route.to_owned(), |path, (name, id)| path.replace(name, id));
    let request = |path: &str, what: String, content_type, body: Vec<u8>| Request {
        method: method.to_uppercase(),
        path: path.to_owned(),
        what: format!("{method} {route}, {what}"),
        content_type,
        body,
    };
    let mut all = Vec::new();
    let bodies = &of["requestBody"]["content"];
    if let Some(json) = bodies.get("application/json") {
        for (what, body) in large(&json["schema"], size()) {
            all.push(request(&path, what, "application/json", body.to_string().into_bytes()));
        }
        let garbage =
            [("no JSON", "[".repeat(size())), ("one text", format!("{:?}", "a".repeat(size())))];
        for (what, body) in garbage {
            all.push(request(&path, what.to_owned(), "application/json", body.into_bytes()));
        }
    } else if bodies.is_object() {
        let body = "some line of a file\n".repeat(size() / 20).into_bytes();
        all.push(request(&path, "a file".to_owned(), "application/octet-stream", body));
    } else {
        all.push(request(&path, "nothing".to_owned(), "", Vec::new()));
    }
    // What the address may hold is bounded far below a megabyte.
    let long = ["a".repeat(30_000), "%2e%2e%2f".repeat(3_000), "**%2F".repeat(6_000)];
    let parameters = of["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    for parameter in parameters.iter().filter(|parameter| parameter["in"] == "query") {
        let name = parameter["name"].as_str().unwrap();
        for long in &long {
            let path = format!("{path}?{name}={long}");
            all.push(request(&path, format!("{name}={}", &long[..9]), "", Vec::new()));
        }
    }
    let many: String = (0..3_000).map(|at| format!("u{at}=1&")).collect();
    all.push(request(&format!("{path}?{many}"), "many parameters".to_owned(), "", Vec::new()));
    all
}

/// User and system time of the server.
fn processor_time(server: &Server) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    let ticks = |at: usize| -> u64 { after_name.split(' ').nth(at).unwrap().parse().unwrap() };
    Duration::from_millis((ticks(12) + ticks(13)) * 10)
}

fn kib(server: &Server, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The status and the length of an answer; no status where the server hung up before it had read everything,
/// so that its answer was lost.
fn sent(ada: &Someone<'_>, request: &Request) -> (u16, usize) {
    let Request { method, path, content_type, body, .. } = request;
    let mut bytes = format!(
        "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n",
        ada.server.address, ada.token
    );
    if !content_type.is_empty() {
        bytes += &format!("Content-Type: {content_type}\r\n");
    }
    bytes += &format!("Content-Length: {}\r\n\r\n", body.len());
    let answer = ada.server.raw_and_stay(&[bytes.as_bytes(), body].concat());
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or(0), answer.len())
}

#[test]
fn g8_a_megabyte_to_any_route_costs_two_seconds_and_200_mb_at_most() {
    let server = Server::start_with(&[("TOOLYARD__JWT__ACCESS_TOKEN_EXPIRATION_MINUTES", "60")]);
    let ada = server.person();
    let names = made(&ada);
    let document = server.get("/openapi.json").expect(200);
    let routes = document["paths"].as_object().unwrap();
    let mut wrong = Vec::new();
    let mut told_something = 0;
    let (mut count, mut slowest) = (0, (Duration::ZERO, String::new()));
    let all = routes.iter().flat_map(|(route, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(move |(method, of)| (route, method, of))
    });
    // Nobody is logged in after the last of them; and a stream of events ends only with its reader.
    let is_left_out = |route: &str, method: &str| {
        route.ends_with("/logout")
            || route.ends_with("/events")
            || method == "delete" && route.ends_with("/{id}")
    };
    for (route, method, of) in all.filter(|(route, method, _)| !is_left_out(route, method)) {
        let requests = requests(route, method, of, &names).into_iter().enumerate();
        for (_, request) in requests.filter(|(at, _)| soak() || at % 4 == 0) {
            std::fs::write(format!("/proc/{}/clear_refs", server.pid()), "5").unwrap();
            let (memory, time) = (kib(&server, "VmRSS:"), processor_time(&server));
            let (status, length) = sent(&ada, &request);
            let time = processor_time(&server) - time;
            let memory = kib(&server, "VmHWM:").saturating_sub(memory);
            let is_file = route.ends_with("/content") && status == 200;
            let bound = if status >= 400 { MAX_ERROR } else { MAX_ANSWER };
            let is_too_long = length > bound && !is_file;
            let reply = format!(
                "{}: {} with {} bytes, {time:?}, {memory} KiB",
                request.what, status, length
            );
            told_something += usize::from(status != 0);
            if status >= 500 || is_too_long || time > MAX_TIME || memory > MAX_KIB {
                wrong.push(reply.clone());
            }
            if time > slowest.0 {
                slowest = (time, reply);
            }
            count += 1;
        }
    }
    eprintln!("{count} requests; the slowest: {}", slowest.1);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100 && told_something > count / 2, "{told_something} of {count} were answered");
}
