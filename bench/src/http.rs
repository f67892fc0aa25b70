//! The HTTP door: a read beside a bare axum handler that gets the same request and returns the same bytes
//! from memory, a durable write beside the kernel's own, at one connection and at many; start and
//! memory. The server is the release binary, with its log on; client and servers share the machine's
//! cores.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::clock::{Duel, duel, middle};
use crate::source::Dice;
use crate::table::{Row, Target, Used, time};
use crate::workspace::{Bench, Plan, Scratch};
use crate::write::write;

const MANY: usize = 64;
/// The reads of that many connections, beside those of a bare handler.
const READS_BESIDE_BARE: f64 = 0.35;
/// How many files the rows about many files read.
const FILES: usize = 2_000;
/// How many connections a lone client has, one after the other.
const BOUTS: usize = 15;
/// How long connections ask at a time, and how often.
const STORM: Duration = Duration::from_millis(300);
const STORMS: usize = 20;
/// What Linux counts processor time in, everywhere.
const TICKS_A_SECOND: f64 = 100.0;
const PASSWORD: &str = "correct horse battery staple";

/// At how many connections a spin of that name reads, if it is one of these.
pub(crate) fn connections(what: &str) -> Option<usize> {
    match what {
        "read-http" => Some(MANY),
        "read-http-alone" => Some(1),
        _ => None,
    }
}

/// Reads for so many seconds, for a profiler; says what one of the reads took.
pub(crate) fn spin(what: &str, connections: usize, seconds: u64) {
    let scratch = Scratch::new();
    let server = Server::start(&scratch.folder("data"));
    let read = a_read(&server, &Login::make(&server));
    let storm = Storm::of(&server, &read, connections, Duration::from_secs(seconds));
    let work = Storm::work(std::slice::from_ref(&storm)) * 1e6;
    println!("{what}: {:.0}/s, {work:.1} us of the server's processor each", storm.rate);
}

pub(crate) fn rows() -> Vec<Row> {
    let scratch = Scratch::new();
    let server = Server::start(&scratch.folder("data"));
    let resident_at_start = server.resident();
    let login = Login::make(&server);
    let read = a_read(&server, &login);
    let answer = exchange(&mut connect(&server.address), &read);
    let bare = Server::bare(&answer);

    let mut rows = vec![read_alone(&server, &bare, &read)];
    rows.extend(read_together(&server, &bare, &read));
    rows.extend(read_many_files(&bare));
    rows.extend(writes(&server, &login, &scratch));
    rows.extend(start_and_memory(&scratch, resident_at_start, &server, &read));
    rows
}

/// The request that reads a file of 10 KB, which it makes.
fn a_read(server: &Server, login: &Login) -> Vec<u8> {
    let content = text(&mut Dice(7));
    login.call(server, &json!({"tool": "write", "args": {"path": "/read.rs", "content": content}}));
    login.request(&json!({"tool": "read", "args": {"path": "/read.rs", "limit": 0}}))
}

fn read_alone(server: &Server, bare: &Server, read: &[u8]) -> Row {
    // Where the kernel puts the threads of a connection is luck, which lasts: each bout has new ones.
    let bouts = (0..BOUTS).map(|_| {
        let (mut ours, mut peer) = (connect(&server.address), connect(&bare.address));
        duel(20, 150, || drop(exchange(&mut ours, read)), || drop(exchange(&mut peer, read)))
    });
    let measured = Duel::middle_of(&bouts.collect::<Vec<_>>());
    Row::times("read 10 KB over HTTP, beside a bare handler", &measured, Target::AtMost(3.0))
}

/// Reads of different files beside the same bare handler: each once by a server that has just started, and then all of
/// them in turns.
fn read_many_files(bare: &Server) -> [Row; 2] {
    let scratch = Scratch::new();
    let data = scratch.folder("data");
    let server = Server::start(&data);
    let login = Login::make(&server);
    let mut dice = Dice(11);
    let path = |nth: usize| format!("/files/{}/{nth}.rs", nth % 50);
    for nth in 0..FILES {
        let args = json!({"path": path(nth), "content": text(&mut dice)});
        login.call(&server, &json!({"tool": "write", "args": args}));
    }
    let read =
        |nth| login.request(&json!({"tool": "read", "args": {"path": path(nth), "limit": 0}}));
    let reads: Vec<Vec<u8>> = (0..FILES).map(read).collect();
    drop(server);
    let server = Server::start(&data);
    let row = |what: &str, rounds: usize| {
        let mut next = reads.iter().cycle();
        let (mut ours, mut peer) = (connect(&server.address), connect(&bare.address));
        let measured = duel(
            rounds,
            50,
            || drop(exchange(&mut ours, next.next().expect("a request"))),
            || drop(exchange(&mut peer, &reads[0])),
        );
        Row::times(what, &measured, Target::None)
    };
    // The first round of a duel is not counted, and reads 50 files too.
    [
        row("  cold: each of 2,000 files for the first time", FILES / 50 - 1),
        row("  each of 2,000 files in turn", 2 * FILES / 50),
    ]
}

fn read_together(server: &Server, bare: &Server, read: &[u8]) -> [Row; 2] {
    let (mut ours, mut peers) = (Vec::new(), Vec::new());
    let one = |server: &Server| Storm::of(server, read, MANY, STORM);
    for round in 0..STORMS {
        // By turns also who begins, and each for a short time: the machine has other work.
        if round % 2 == 0 {
            ours.push(one(server));
        }
        peers.push(one(bare));
        if round % 2 == 1 {
            ours.push(one(server));
        }
    }
    let rate = |storms: &[Storm]| middle(storms.iter().map(|storm| storm.rate));
    let ratio = middle(ours.iter().zip(&peers).map(|(own, other)| own.rate / other.rate));
    let cells = [
        format!("{:.0}/s", rate(&ours)),
        format!("{:.0}/s", rate(&peers)),
        format!("{ratio:.2}x"),
        format!(">= {READS_BESIDE_BARE}x"),
    ];
    let (work, bare_work) = (Storm::work(&ours), Storm::work(&peers));
    let of_processor = [
        format!("{:.1} us", work * 1e6),
        format!("{:.1} us", bare_work * 1e6),
        format!("{:.2}x", work / bare_work),
        String::new(),
    ];
    [
        Row::words(
            "  at 64 connections: reads",
            cells,
            Some(Used::at_least(ratio, READS_BESIDE_BARE)),
        ),
        Row::words("  of the server's processor, a read", of_processor, None),
    ]
}

/// Many connections that asked for a while.
struct Storm {
    /// Answers a second.
    rate: f64,
    answers: f64,
    /// Seconds of the server's processor.
    processor: f64,
}

impl Storm {
    fn of(server: &Server, request: &[u8], connections: usize, time: Duration) -> Self {
        let (before, began) = (server.processor(), Instant::now());
        let rate = storm(&server.address, request, connections, time);
        let answers = rate * began.elapsed().as_secs_f64();
        Self { rate, answers, processor: server.processor() - before }
    }

    /// Seconds of the processor that one answer took.
    fn work(storms: &[Self]) -> f64 {
        let all = |of: fn(&Self) -> f64| storms.iter().map(of).sum::<f64>();
        all(|storm| storm.processor) / all(|storm| storm.answers)
    }
}

fn writes(server: &Server, login: &Login, scratch: &Scratch) -> Vec<Row> {
    let (root, state) = (scratch.folder("root"), scratch.folder("state"));
    let bench = Bench::open(&root, &state, &Plan::default());
    let mut dice = Dice(1);
    let mut connection = connect(&server.address);
    let texts: Vec<String> = (0..200).map(|_| text(&mut dice)).collect();
    let requests: Vec<Vec<u8>> = texts
        .iter()
        .map(|text| {
            login.request(&json!({"tool": "write", "args": {"path": "/w.rs", "content": text, "overwrite": true}}))
        })
        .collect();
    let (mut over, mut own) = (requests.iter().cycle(), texts.iter().cycle());
    let measured = duel(
        12,
        50,
        || drop(exchange(&mut connection, over.next().expect("a request"))),
        || {
            let bytes = own.next().expect("a text").clone().into_bytes();
            bench.perform(write("/w.rs", bytes));
        },
    );
    let one = Row::times(
        "write 10 KB over HTTP, durable, beside the kernel's",
        &measured,
        Target::AtMost(3.0),
    );
    let mut writer = |nth: usize| {
        let text = text(&mut dice);
        let path = format!("/many/{nth}.rs");
        login.request(
            &json!({"tool": "write", "args": {"path": path, "content": text, "overwrite": true}}),
        )
    };
    let each: Vec<Vec<u8>> = (0..MANY).map(&mut writer).collect();
    let mut ratios = Vec::new();
    let mut rates = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let many = storm_of(&server.address, &each, Duration::from_millis(800));
        let alone = storm_of(&server.address, &each[..1], Duration::from_millis(800));
        rates.0.push(many);
        rates.1.push(alone);
        ratios.push(many / alone);
    }
    let (many, alone) = (middle(rates.0.into_iter()), middle(rates.1.into_iter()));
    let ratio = middle(ratios.into_iter());
    let cells = [
        format!("{many:.0}/s"),
        format!("{alone:.0}/s"),
        format!("{ratio:.2}x"),
        ">= 1.5x".to_owned(),
    ];
    vec![
        one,
        Row::words("  64 connections, beside one: writes", cells, Some(Used::at_least(ratio, 1.5))),
    ]
}

fn start_and_memory(scratch: &Scratch, at_start: u64, server: &Server, read: &[u8]) -> Vec<Row> {
    let data = scratch.folder("data-2");
    let mut starts: Vec<Duration> = (0..7).map(|_| Server::start(&data).took).collect();
    starts.sort_unstable();
    let start = starts[starts.len() / 2];
    let mut called = 0.0;
    while called < 100_000.0 {
        called += storm(&server.address, read, MANY, Duration::from_secs(1));
    }
    let after = server.resident();
    let memory = |what: &str, bytes: u64, most: u64| {
        let cells = [
            format!("{:.1} MB", bytes as f64 / 1e6),
            String::new(),
            String::new(),
            format!("< {most} MB"),
        ];
        Row::words(what, cells, Some(Used::at_most(bytes as f64, most as f64 * 1e6)))
    };
    let cells = [time(start), String::new(), String::new(), "< 100 ms".to_owned()];
    vec![
        Row::words("start to ready", cells, Some(Used::at_most(start.as_secs_f64(), 0.1))),
        memory("resident memory after start", at_start, 40),
        memory("  after 100,000 calls more", after, 150),
    ]
}

/// 10 KB of source.
fn text(dice: &mut Dice) -> String {
    String::from_utf8(dice.text(10 << 10)).expect("text")
}

/// A server in a process of its own; it ends with this.
struct Server {
    child: Child,
    address: String,
    took: Duration,
}

impl Server {
    /// `toolyard serve`, ready.
    fn start(data: &Path) -> Self {
        let mut command = Command::new(sibling("toolyard"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data);
        let began = Instant::now();
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a server");
        let mut lines = BufReader::new(child.stderr.take().expect("its words")).lines();
        let address = loop {
            let line = lines.next().expect("more").expect("a line");
            if let Some(rest) = line.split("http://").nth(1) {
                break rest.split_whitespace().next().expect("an address").to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        let health = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";
        exchange(&mut connect(&address), health);
        Self { child, address, took: began.elapsed() }
    }

    /// The bare handler, which answers every call with `body`.
    fn bare(body: &[u8]) -> Self {
        let began = Instant::now();
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.arg("bare").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a server");
        child.stdin.take().expect("its body").write_all(body).expect("its body");
        let mut address = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("its words"));
        output.read_line(&mut address).expect("an address");
        Self { child, address: address.trim().to_owned(), took: began.elapsed() }
    }

    /// Seconds of processor that it has used.
    fn processor(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("it");
        let after_name = stat.rsplit(')').next().expect("fields");
        let ticks = after_name.split_whitespace().skip(11).take(2);
        ticks.map(|ticks| ticks.parse::<f64>().expect("a number")).sum::<f64>() / TICKS_A_SECOND
    }

    fn resident(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it");
        let line = status.lines().find(|line| line.starts_with("VmRSS")).expect("a line");
        line.split_whitespace().nth(1).expect("a number").parse::<u64>().expect("a number") << 10
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn sibling(name: &str) -> PathBuf {
    std::env::current_exe().expect("this program").with_file_name(name)
}

/// What a bare handler does: it takes a call and answers what came on standard input, from memory.
pub(crate) fn serve_bare() {
    let mut body = Vec::new();
    std::io::stdin().read_to_end(&mut body).expect("a body");
    let body = axum::body::Bytes::from(body);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let handler = move |_: axum::body::Bytes| async move { body };
        let path = "/api/v1/workspaces/{id}/tools";
        let router = axum::Router::new().route(path, axum::routing::post(handler));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("an address");
        println!("{}", listener.local_addr().expect("an address"));
        use axum::serve::ListenerExt as _;
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        axum::serve(listener, router).await.expect("a server");
    });
}

/// A person with a workspace.
struct Login {
    token: String,
    workspace: String,
}

impl Login {
    fn make(server: &Server) -> Self {
        let account = json!({"email": "bench@example.com", "password": PASSWORD});
        let post = |path: &str, token: &str, body: &Value| -> Value {
            let request = request(path, token, body);
            serde_json::from_slice(&exchange(&mut connect(&server.address), &request))
                .expect("JSON")
        };
        post("/api/v1/auth/register", "", &account);
        let login = post("/api/v1/auth/login", "", &account);
        let token = login["access_token"].as_str().expect("a token").to_owned();
        let made = post("/api/v1/workspaces", &token, &json!({"name": "bench"}));
        let workspace = made["workspace"]["id"].as_str().expect("an id").to_owned();
        Self { token, workspace }
    }

    fn request(&self, body: &Value) -> Vec<u8> {
        request(&format!("/api/v1/workspaces/{}/tools", self.workspace), &self.token, body)
    }

    fn call(&self, server: &Server, body: &Value) -> Value {
        let answer = exchange(&mut connect(&server.address), &self.request(body));
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        assert_eq!(answer["success"], true, "{answer}");
        answer
    }
}

fn request(path: &str, token: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let authorization =
        if token.is_empty() { String::new() } else { format!("authorization: Bearer {token}\r\n") };
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\n{authorization}content-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_nodelay(true).expect("an option");
    stream
}

/// One request and the body of its answer.
fn exchange(stream: &mut TcpStream, request: &[u8]) -> Vec<u8> {
    stream.write_all(request).expect("a request");
    let mut answer = Vec::with_capacity(16 << 10);
    let mut buffer = [0; 32 << 10];
    loop {
        let count = stream.read(&mut buffer).expect("an answer");
        assert!(count > 0, "the server hung up: {}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&buffer[..count]);
        if let Some(body) = complete(&answer) {
            assert!(answer.starts_with(b"HTTP/1.1 20"), "{}", String::from_utf8_lossy(&answer));
            return answer.split_off(body);
        }
    }
}

/// Where the body of a complete answer begins.
fn complete(answer: &[u8]) -> Option<usize> {
    let head = answer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&answer[..head]).expect("a head");
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.expect("a length").trim().parse().expect("a number");
    (answer.len() == head + length).then_some(head)
}

/// Answers a second, of `connections` that each send the same again and again.
fn storm(address: &str, request: &[u8], connections: usize, time: Duration) -> f64 {
    storm_of(address, &vec![request.to_vec(); connections], time)
}

/// Answers a second, of connections that each send their own request again and again.
fn storm_of(address: &str, requests: &[Vec<u8>], time: Duration) -> f64 {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let began = Instant::now();
        let tasks: Vec<_> = requests
            .iter()
            .map(|request| {
                let (address, request) = (address.to_owned(), request.clone());
                tokio::spawn(async move { repeat(&address, &request, began, time).await })
            })
            .collect();
        let mut answers = 0;
        for task in tasks {
            answers += task.await.expect("a connection");
        }
        f64::from(answers) / began.elapsed().as_secs_f64()
    })
}

async fn repeat(address: &str, request: &[u8], began: Instant, time: Duration) -> u32 {
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("a connection");
    stream.set_nodelay(true).expect("an option");
    let (mut answers, mut answer, mut buffer) =
        (0, Vec::with_capacity(16 << 10), vec![0; 32 << 10]);
    while began.elapsed() < time {
        stream.write_all(request).await.expect("a request");
        answer.clear();
        while complete(&answer).is_none() {
            let count = stream.read(&mut buffer).await.expect("an answer");
            assert!(count > 0, "the server hung up");
            answer.extend_from_slice(&buffer[..count]);
        }
        assert!(answer.starts_with(b"HTTP/1.1 20"), "{}", String::from_utf8_lossy(&answer));
        answers += 1;
    }
    answers
}
