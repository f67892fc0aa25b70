//! What happens in the story of the examples, request by request.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::stand_ins::StandIns;
use crate::harness::{Answer, Server};

/// A request of the story, and its answer.
pub(super) struct RecordedExample {
    /// The method and the path of the route.
    pub(super) route: String,
    /// As the file of the route has it.
    pub(super) example: Value,
}

/// What is sent.
#[derive(Clone, Default)]
pub(super) struct Request<'a> {
    pub(super) title: Option<&'a str>,
    /// The names of the path.
    pub(super) path: Vec<(&'a str, &'a str)>,
    pub(super) query: Vec<(&'a str, &'a str)>,
    pub(super) headers: Vec<(&'a str, String)>,
    /// JSON, or a text.
    pub(super) body: Value,
    pub(super) token: &'a str,
}

impl<'a> Request<'a> {
    /// The same, to a thing with this name in the path.
    pub(super) fn naming(mut self, name: &'a str, id: &'a str) -> Self {
        self.path.push((name, id));
        self
    }
}

pub(super) struct Story<'a> {
    server: &'a Server,
    stand_ins: StandIns,
    pub(super) recorded: Vec<RecordedExample>,
}

/// What marks that something was cut.
const CUT: &str = "…";

impl<'a> Story<'a> {
    pub(super) fn new(server: &'a Server) -> Self {
        Self { server, stand_ins: StandIns::new(&server.address), recorded: Vec::new() }
    }

    /// Sends a request that the story does not tell.
    pub(super) fn quietly(&mut self, route: &str, request: &Request<'_>) -> Answer {
        self.stand_ins.begin(route);
        let answer = self.send(route, request);
        if let Ok(json) = serde_json::from_slice(&answer.bytes) {
            // What it names may come again later.
            self.stand_ins.value(&json);
        }
        answer
    }

    /// Sends a request and tells it with its answer, which has this status. What came back, as JSON if it is.
    #[track_caller]
    pub(super) fn tell(&mut self, route: &str, status: u16, request: &Request<'_>) -> Value {
        self.tell_cut(route, status, request, |answer| answer)
    }

    /// The same, telling only a part of the answer.
    #[track_caller]
    pub(super) fn tell_cut(
        &mut self,
        route: &str,
        status: u16,
        request: &Request<'_>,
        cut: impl FnOnce(Value) -> Value,
    ) -> Value {
        let answer = self.quietly(route, request);
        let output = String::from_utf8(answer.bytes).unwrap();
        assert_eq!(answer.status, status, "{route}: {output}");
        let is_json =
            answer.headers.get("content-type").is_some_and(|media| media == "application/json");
        let output = match output.is_empty() {
            true => Value::Null,
            false if is_json => serde_json::from_str(&output).unwrap(),
            false => output.into(),
        };
        self.record(route, status, request, &cut(output.clone()));
        output
    }

    /// Tells the first `count` events of a stream.
    pub(super) fn tell_events(&mut self, route: &str, request: &Request<'_>, count: usize) {
        self.stand_ins.begin(route);
        let (_, path) = address(route, request);
        let mut stream = TcpStream::connect(&self.server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let (address, token) = (&self.server.address, request.token);
        let headers: String =
            request.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        write!(
            stream,
            "GET {path} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n{headers}\r\n"
        )
        .unwrap();
        let mut output = String::new();
        let mut piece = [0; 4096];
        let end = loop {
            let whole = output.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
            if let Some((end, _)) = whole.match_indices("\n\n").nth(count) {
                break output.len() - whole.len() + end;
            }
            let length = stream.read(&mut piece).unwrap();
            assert!(length > 0, "{output}");
            output.push_str(std::str::from_utf8(&piece[..length]).unwrap());
        };
        let body = output[..end].split_once("\r\n\r\n").unwrap().1;
        self.record(route, 200, request, &format!("{body}\n\n{CUT}").into());
    }

    fn send(&self, route: &str, request: &Request<'_>) -> Answer {
        let (method, path) = address(route, request);
        let bearer = format!("Bearer {}", request.token);
        let mut headers: Vec<(&str, &str)> =
            request.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        if !request.token.is_empty() {
            headers.push(("authorization", &bearer));
        }
        let body = match &request.body {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            json => {
                headers.push(("content-type", "application/json"));
                json.to_string()
            }
        };
        self.server.send(method, &path, &headers, body.as_bytes())
    }

    /// A request to another program than the server of the story begins.
    pub(super) fn begin(&mut self, route: &str) {
        self.stand_ins.begin(route);
    }

    /// Tells what that program answered.
    pub(super) fn tell_answer(
        &mut self,
        route: &str,
        status: u16,
        request: &Request<'_>,
        answer: &Value,
    ) {
        self.record(route, status, request, answer);
    }

    fn record(&mut self, route: &str, status: u16, request: &Request<'_>, answer: &Value) {
        let pairs = |pairs: &[(&str, &str)]| {
            let recorded = pairs.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
            recorded.collect::<Value>()
        };
        let headers: Vec<_> =
            request.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut example = json!({"route": route});
        for (name, value) in [
            ("title", json!(request.title)),
            ("path", pairs(&request.path)),
            ("query", numbers(pairs(&request.query))),
            ("headers", pairs(&headers)),
            ("body", request.body.clone()),
            ("status", json!(status)),
            ("answer", answer.clone()),
        ] {
            if !value.is_null() && value != json!({}) {
                example[name] = self.stand_ins.value(&value);
            }
        }
        self.recorded.push(RecordedExample { route: route.to_owned(), example });
    }
}

/// What is a number in a query, as one.
fn numbers(mut query: Value) -> Value {
    for value in query.as_object_mut().unwrap().values_mut() {
        if let Ok(number) = value.as_str().unwrap().parse::<u64>() {
            *value = number.into();
        }
    }
    query
}

/// The method, and the path with the query.
fn address<'a>(route: &'a str, request: &Request<'_>) -> (&'a str, String) {
    let (method, path) = route.split_once(' ').unwrap();
    let filled = request
        .path
        .iter()
        .fold(path.to_owned(), |path, (name, value)| path.replace(&format!("{{{name}}}"), value));
    let query =
        form_urlencoded::Serializer::new(String::new()).extend_pairs(&request.query).finish();
    (method, if query.is_empty() { filled } else { format!("{filled}?{query}") })
}

/// The first lines of a text.
pub(super) fn first_lines(text: &str, count: usize) -> Value {
    let lines: Vec<&str> = text.lines().take(count).collect();
    format!("{}\n{CUT}", lines.join("\n")).into()
}

/// The beginning of a page, without its style.
pub(super) fn beginning(page: &Value) -> Value {
    let page = page.as_str().unwrap();
    let (head, rest) = page.split_once("<style>").unwrap();
    let (_, body) = rest.split_once("</style>").unwrap();
    let recorded = format!("{head}<style>{CUT}</style>\n{body}");
    match recorded.char_indices().nth(600) {
        Some((end, _)) => format!("{}{CUT}", &recorded[..end]).into(),
        None => recorded.into(),
    }
}
