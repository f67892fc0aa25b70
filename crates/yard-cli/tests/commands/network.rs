//! Network by consent: commands in the box reach hosts through the proxy alone, and a host that nobody allowed
//! is held while a person is asked. Every host is a server of the test on loopback; names lead there by a
//! resolver of the test, so that nothing ever leaves this machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yard_core::{ApprovalId, ChatId};
use yard_gate::{
    Actor, Approval, ApprovalFilter, ApprovalStatus, CallerPolicy, DecisionInput, Mode, Net,
    Resolve, Scope, Session, Web,
};
use yard_store::{SqliteStore, Store as _};
use yard_testkit::failing_store::FailingStore;
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

use crate::box_setup::{guarded, newest, plan, shell_as, shown, times};

/// A server that answers what a test wants to a path, and counts what it was asked for.
pub(crate) struct Host {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Host {
    pub(crate) fn serve(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = Self { port: listener.local_addr().unwrap().port(), asked: Arc::default() };
        let (asked, answer) = (Arc::clone(&host.asked), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (asked, answer) = (Arc::clone(&asked), Arc::clone(&answer));
                thread::spawn(move || drop(speak(stream, &asked, &*answer)));
            }
        });
        host
    }

    fn saying(words: &'static str) -> Self {
        Self::serve(move |_| page(words))
    }

    fn url(&self, name: &str) -> String {
        format!("http://{name}:{}/", self.port)
    }

    pub(crate) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

fn speak(
    mut stream: TcpStream,
    asked: &Mutex<Vec<String>>,
    answer: &dyn Fn(&str) -> Vec<u8>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.lock().unwrap().push(path.clone());
    stream.write_all(&answer(&path))
}

pub(crate) fn page(words: &str) -> Vec<u8> {
    let length = words.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{words}")
        .into_bytes()
}

/// Every name is on this machine.
struct Here;

impl Resolve for Here {
    fn resolve(&self, _: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
        Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))])
    }
}

/// A way to these names at this port, none of which the operator allowed.
pub(crate) fn way_to(places: &[(&str, u16)]) -> Web {
    let net = Net::default().resolving_by(Arc::new(Here));
    let exempt =
        |net: Net, (name, port): &(&str, u16)| net.exempting(&format!("{name}:{port}")).unwrap();
    Web::new(places.iter().fold(net, exempt))
}

pub(crate) fn workspace_with(web: Web) -> TestWorkspace {
    let workspace = TestWorkspace::open(&Folders::new(), OpenOptions { web, ..plan() }).unwrap();
    let level = workspace.kernel().box_level().unwrap();
    assert_eq!(level, yard_sandbox::Level::Full, "these tests need a machine with boxes");
    workspace
}

const CURL: &str = "curl -sS --max-time 50";

/// What a command answers, as its caller reads it.
fn run(workspace: &TestWorkspace, session: &Session, command: &str) -> Value {
    let answer = shell_as(workspace, session, command);
    assert!(answer.pending.is_none(), "{command}: {}", answer.body);
    answer.body["result"].clone()
}

fn curl(workspace: &TestWorkspace, session: &Session, url: &str) -> Value {
    run(workspace, session, &format!("{CURL} {url}"))
}

fn message(reply: &Value) -> String {
    reply["message"].as_str().unwrap_or_else(|| panic!("no message: {reply}")).to_owned()
}

fn stdout(reply: &Value) -> String {
    reply["stdout"].as_str().unwrap_or_else(|| panic!("no stdout: {reply}")).to_owned()
}

pub(crate) fn requests(workspace: &TestWorkspace, status: ApprovalStatus) -> Vec<Approval> {
    let filter = ApprovalFilter { status: Some(status), ..ApprovalFilter::default() };
    workspace.person().approvals().list(filter, None, 100).unwrap().rows
}

/// The request that a command waits for.
pub(crate) fn awaited(workspace: &TestWorkspace) -> Approval {
    let until = Instant::now() + Duration::from_secs(120);
    loop {
        if let Some(row) = requests(workspace, ApprovalStatus::Pending).into_iter().next() {
            return row;
        }
        assert!(Instant::now() < until, "nobody was asked");
        thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn decide(
    workspace: &TestWorkspace,
    id: ApprovalId,
    approves: bool,
    scope: Scope,
) -> Approval {
    let decision = DecisionInput {
        approves,
        scope,
        reason: None,
        args: None,
        state: shown(workspace, id),
        planned: None,
        parts: None,
    };
    workspace
        .catalog()
        .decide(id, &decision, &workspace.person(), &workspace.call_context())
        .unwrap()
}

fn audit(workspace: &TestWorkspace) -> String {
    let store = SqliteStore::open(workspace.folders().state()).unwrap();
    let rows = store.audit(0, 1_000).unwrap();
    rows.iter().map(|row| format!("{}: {}\n", row.entry.action, row.entry.detail)).collect()
}

fn chat(workspace: &TestWorkspace, mode: Mode) -> ChatId {
    workspace.person().chats().make(&workspace.call_context(), "Another", Some(mode)).unwrap().id
}

#[test]
fn a_host_is_held_until_a_person_says_yes_and_goes_through() {
    let host = Host::saying("the page");
    let workspace = workspace_with(way_to(&[("site.example", host.port)]));
    let url = host.url("site.example");
    thread::scope(|scope| {
        let reply = scope.spawn(|| curl(&workspace, &guarded(&workspace), &url));
        let row = awaited(&workspace);
        assert_eq!(host.count(), 0, "nothing is sent before the word");
        let args: Value = serde_json::from_str(&row.request.args).unwrap();
        assert_eq!(args["host"], "site.example");
        assert_eq!(args["port"], host.port);
        assert_eq!(args["command"], format!("{CURL} {url}"));
        let place = format!("site.example:{}", host.port);
        assert_eq!(
            row.request.reason,
            format!(
                "a command wants to reach a host that is not on the operator's list: connect {place} (tried once)"
            )
        );
        let decided = decide(&workspace, row.id, true, Scope::Once);
        let may_connect = [ApprovalStatus::Approved, ApprovalStatus::Executed];
        assert!(may_connect.contains(&decided.status), "{decided:?}");
        let reply = reply.join().unwrap();
        assert_eq!(stdout(&reply), "the page", "{reply}");
        assert_eq!(reply["message"], Value::Null, "{reply}");
        assert_eq!(
            workspace.person().approvals().get(row.id).unwrap().status,
            ApprovalStatus::Executed
        );
        let reply = audit(&workspace);
        let line = reply.lines().find(|line| line.starts_with("connected: codex.shell run "));
        let line = line.unwrap_or_else(|| panic!("{reply}"));
        assert!(line.contains(&format!(": {place} tries 1 up ")), "{line}");
        let down: u64 = line.rsplit(' ').next().unwrap().parse().unwrap();
        assert_eq!(down, page("the page").len() as u64);
    });
    assert_eq!(host.count(), 1);
}

#[test]
fn what_a_command_did_lands_even_if_its_traffic_cannot_be_recorded() {
    let host = Host::saying("the page");
    let web = way_to(&[("site.example", host.port)]);
    let store =
        |store: Arc<SqliteStore>| Arc::new(FailingStore::refusing_audit(store, "connected")) as _;
    let options = OpenOptions { web, store: Box::new(store), ..plan() };
    let workspace = TestWorkspace::open(&Folders::new(), options).unwrap();
    let line = format!("{CURL} {} > page.txt", host.url("site.example"));
    let answer = shell_as(&workspace, &workspace.session(), &line);
    assert!(!answer.ok && answer.body.to_string().contains("full"), "{}", answer.body);
    assert_eq!(workspace.bytes("/page.txt"), b"the page");
    let (_, author) = newest(&workspace);
    assert_eq!(author, yard_core::Author::Agent);
}

#[test]
fn a_host_that_a_person_denies_is_refused_and_the_answer_says_so() {
    let host = Host::saying("never");
    let workspace = workspace_with(way_to(&[("site.example", host.port)]));
    let url = host.url("site.example");
    // The second try of the same command asks nobody again.
    let twice = format!("{CURL} {url}; {CURL} {url}");
    thread::scope(|scope| {
        let reply = scope.spawn(|| run(&workspace, &guarded(&workspace), &twice));
        let row = awaited(&workspace);
        decide(&workspace, row.id, false, Scope::Once);
        let reply = reply.join().unwrap();
        let place = format!("site.example:{}", host.port);
        assert_eq!(
            message(&reply),
            format!("hosts that were refused: {place} (a person said no to this host)")
        );
        assert_eq!(requests(&workspace, ApprovalStatus::Pending).len(), 0);
    });
    assert_eq!(host.count(), 0);
}

#[test]
fn a_host_that_nobody_decides_about_waits_and_a_later_yes_is_for_the_next_try() {
    let host = Host::saying("the page");
    let web = way_to(&[("site.example", host.port)]).holding_for(Duration::from_millis(300));
    let workspace = workspace_with(web);
    let (agent, url) = (guarded(&workspace), host.url("site.example"));
    let reply = curl(&workspace, &agent, &url);
    let row = awaited(&workspace);
    let place = format!("site.example:{}", host.port);
    assert_eq!(
        message(&reply),
        format!(
            "hosts that wait for a person's approval: {place} (approval {}). Tell the person; once it is \
             approved, run the command again",
            row.id
        )
    );
    assert!(
        stdout(&reply).contains(&format!("(approval {})", row.id)),
        "the page says so too: {reply}"
    );
    assert_eq!(host.count(), 0);
    // Another command asks for the same: there is one request.
    curl(&workspace, &agent, &url);
    let waiting = requests(&workspace, ApprovalStatus::Pending);
    assert_eq!(waiting.len(), 1);
    assert!(
        waiting[0].request.reason.ends_with("(tried 2 times)"),
        "{}",
        waiting[0].request.reason
    );

    let decided = decide(&workspace, row.id, true, Scope::Once);
    assert_eq!(decided.status, ApprovalStatus::Approved, "no command is there to use it");
    assert_eq!(stdout(&curl(&workspace, &agent, &url)), "the page");
    assert_eq!(
        workspace.person().approvals().get(row.id).unwrap().status,
        ApprovalStatus::Executed
    );
    assert!(
        message(&curl(&workspace, &agent, &url)).contains("wait for a person"),
        "it was for one command"
    );
    assert_eq!(host.count(), 1);
}

#[test]
fn a_yes_for_the_chat_or_by_a_rule_lets_every_command_through() {
    let host = Host::saying("the page");
    let places = [("site.example", host.port), ("other.example", host.port)];
    let workspace = workspace_with(way_to(&places).holding_for(Duration::from_millis(200)));
    let agent = guarded(&workspace);
    let (first, second) = (
        agent.in_chat(chat(&workspace, Mode::Build)).unwrap(),
        agent.in_chat(chat(&workspace, Mode::Build)).unwrap(),
    );
    let url = host.url("site.example");
    curl(&workspace, &first, &url);
    let decided = decide(&workspace, awaited(&workspace).id, true, Scope::Chat);
    assert_eq!(decided.status, ApprovalStatus::Executed);
    for _ in 0..2 {
        assert_eq!(stdout(&curl(&workspace, &first, &url)), "the page");
    }
    assert!(
        message(&curl(&workspace, &second, &url)).contains("wait for a person"),
        "another chat"
    );
    decide(&workspace, awaited(&workspace).id, true, Scope::Rule);
    assert_eq!(stdout(&curl(&workspace, &second, &url)), "the page");
    let saved = workspace.person().settings().unwrap().saved;
    assert_eq!(
        saved[0].rule,
        json!({"effect": "connect", "host": ["site.example"], "then": "allow"})
    );
    let other = curl(&workspace, &second, &host.url("other.example"));
    assert!(message(&other).contains("other.example"), "another host: {other}");
}

#[test]
fn two_commands_that_wait_for_one_host_ask_once() {
    let host = Host::saying("the page");
    let workspace = workspace_with(way_to(&[("site.example", host.port)]));
    let url = host.url("site.example");
    thread::scope(|scope| {
        let commands: Vec<_> =
            (0..2).map(|_| scope.spawn(|| curl(&workspace, &guarded(&workspace), &url))).collect();
        let row = awaited(&workspace);
        // Both are held by now, or will be: a moment more would show a second request.
        thread::sleep(Duration::from_millis(1_500));
        assert_eq!(requests(&workspace, ApprovalStatus::Pending).len(), 1);
        decide(&workspace, row.id, true, Scope::Once);
        for command in commands {
            assert_eq!(stdout(&command.join().unwrap()), "the page");
        }
    });
    assert_eq!(host.count(), 2);
}

#[test]
fn a_redirect_to_another_host_asks_again() {
    let other = Host::saying("the other page");
    let port = other.port;
    let host = Host::serve(move |_| {
        format!(
            "HTTP/1.1 302 Found\r\nLocation: http://other.example:{port}/\r\nContent-Length: 0\r\n\
             Connection: close\r\n\r\n"
        )
        .into_bytes()
    });
    let places = [("site.example", host.port), ("other.example", port)];
    let web = way_to(&places).allowing("site.example").unwrap();
    let workspace = workspace_with(web.holding_for(Duration::from_millis(300)));
    let command = format!("{CURL} -L {}", host.url("site.example"));
    let reply = run(&workspace, &guarded(&workspace), &command);
    assert!(message(&reply).contains(&format!("other.example:{port} (approval ")), "{reply}");
    assert_eq!((host.count(), other.count()), (1, 0));
    decide(&workspace, awaited(&workspace).id, true, Scope::Once);
    assert_eq!(stdout(&run(&workspace, &guarded(&workspace), &command)), "the other page");
}

#[test]
fn presets_lists_rules_modes_and_roles_decide_as_they_do_for_the_web_tools() {
    let host = Host::saying("the page");
    let web = way_to(&[("site.example", host.port)]).holding_for(Duration::from_millis(200));
    let workspace = workspace_with(web);
    let url = host.url("site.example");
    let open = workspace.session_of(Actor::LocalAgent, CallerPolicy::Open);
    assert_eq!(stdout(&curl(&workspace, &open, &url)), "the page");
    let nobody = guarded(&workspace).without_person();
    assert!(message(&curl(&workspace, &nobody, &url)).contains("--no-person"));
    let planning = open.in_chat(chat(&workspace, Mode::Plan)).unwrap();
    assert!(message(&curl(&workspace, &planning, &url)).contains("plan mode"));
    assert_eq!((host.count(), requests(&workspace, ApprovalStatus::Pending).len()), (1, 0));
    // A rule about what is fetched is one about what a command could fetch.
    let deny = json!({"rules": [{"effect": "fetch", "host": "*.example", "then": "deny", "why": "not ours"}]});
    workspace
        .person()
        .change_settings(&workspace.call_context(), deny.as_object().unwrap())
        .unwrap();
    let reply = message(&curl(&workspace, &open, &url));
    assert!(
        reply.starts_with(&format!("hosts that were refused: site.example:{} (rule 1", host.port)),
        "{reply}"
    );
    assert!(reply.contains("not ours"), "{reply}");
    assert!(
        audit(&workspace)
            .contains(&format!("deny reach: codex.shell connect site.example:{}", host.port))
    );
    assert_eq!(host.count(), 1);
}

#[test]
fn a_port_that_the_person_named_is_reached_once_they_agree_and_by_commands_alone() {
    let host = Host::saying("the page");
    let place = format!("127.0.0.1:{}", host.port);
    let web = way_to(&[]).reaching(&place).unwrap().holding_for(Duration::from_millis(300));
    let workspace = workspace_with(web);
    // The box has the port, too, so that also programs that know no proxy reach it.
    let command = format!("{CURL} --noproxy '*' http://{place}/");
    let reply = run(&workspace, &guarded(&workspace), &command);
    assert!(message(&reply).contains(&format!("{place} (approval ")), "{reply}");
    assert_eq!(host.count(), 0);
    decide(&workspace, awaited(&workspace).id, true, Scope::Once);
    assert_eq!(stdout(&run(&workspace, &guarded(&workspace), &command)), "the page");
    let url = json!({"url": format!("http://{place}/")});
    let answer = workspace.call_of("assistant", "web_fetch", url);
    assert!(answer.body.to_string().contains("do not reach"), "{}", answer.body);
    assert_eq!(host.count(), 1);
}

#[test]
fn addresses_that_are_not_public_are_refused_without_asking() {
    let host = Host::saying("never");
    let workspace = workspace_with(way_to(&[]));
    let port = host.port;
    for place in
        [format!("127.0.0.1:{port}"), format!("2130706433:{port}"), format!("[::1]:{port}")]
    {
        let command = format!("{CURL} --noproxy '' http://{place}/");
        let reply = run(&workspace, &guarded(&workspace), &command);
        let message = message(&reply);
        assert!(message.starts_with("hosts that were refused: "), "{message}");
        assert!(message.contains("`[commands] reach`"), "{message}");
    }
    assert_eq!((host.count(), requests(&workspace, ApprovalStatus::Pending).len()), (0, 0));
}

#[test]
fn plain_sockets_and_datagrams_go_nowhere() {
    let host = Host::saying("never");
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    datagrams.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let workspace = workspace_with(way_to(&[("site.example", host.port)]));
    let udp = datagrams.local_addr().unwrap().port();
    let script = format!(
        "import socket\n\
         try:\n    socket.create_connection(('127.0.0.1', {}), 2)\n    print('connected')\n\
         except OSError as error:\n    print('tcp', error.errno)\n\
         print(socket.getaddrinfo('site.example', 80, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])\n\
         try:\n    socket.create_connection(('site.example', {}), 2)\n    print('connected')\n\
         except OSError as error:\n    print('named', error.errno)\n\
         try:\n    socket.getaddrinfo('printer', 80)\n    print('looked up')\n\
         except OSError:\n    print('no name')\n\
         s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
         s.sendto(b'x', ('127.0.0.1', {udp}))\n",
        host.port, host.port
    );
    workspace.put("try.py", &script);
    let reply = run(&workspace, &workspace.session(), "/usr/bin/python3 try.py");
    let expected = "tcp 111\n127.128.0.1\nnamed 111\nno name\n";
    assert_eq!(
        stdout(&reply),
        expected,
        "a name leads to the proxy, and only at two ports: {reply}"
    );
    assert!(datagrams.recv(&mut [0; 8]).is_err(), "the datagram stayed in the box");
    assert_eq!(host.count(), 0);
}

/// The port 80 of every name is a server of the test.
struct Port80(u16);

impl Resolve for Port80 {
    fn resolve(&self, _: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
        assert_eq!(port, 80, "nothing else is dialled");
        Ok(vec![SocketAddr::from(([127, 0, 0, 1], self.0))])
    }
}

#[test]
fn a_program_that_ignores_the_proxy_is_held_and_let_through_by_the_name_of_its_host() {
    let host = Host::saying("by its name");
    let net = Net::default().resolving_by(Arc::new(Port80(host.port)));
    let workspace = workspace_with(Web::new(net.exempting("site.example:80").unwrap()));
    let command = format!("{CURL} --noproxy '*' http://site.example/");
    let reply = thread::scope(|scope| {
        let waiting = scope.spawn(|| run(&workspace, &guarded(&workspace), &command));
        let row = awaited(&workspace);
        assert_eq!(host.count(), 0, "nothing goes out before the yes");
        decide(&workspace, row.id, true, Scope::Once);
        waiting.join().unwrap()
    });
    assert_eq!((stdout(&reply).as_str(), host.count()), ("by its name", 1), "{reply}");
}

#[test]
fn a_program_that_ignores_the_proxy_reaches_no_host() {
    let host = Host::saying("never");
    let net = Net::default().resolving_by(Arc::new(Port80(host.port)));
    let net = net.exempting("site.example:80").unwrap();
    let workspace = workspace_with(Web::new(net).holding_for(Duration::from_millis(300)));
    let command = format!(
        "getent hosts secret.of.the.project.example; \
         {CURL} --noproxy '*' http://site.example/; {CURL} --noproxy '*' https://other.example/"
    );
    let reply = run(&workspace, &guarded(&workspace), &command);
    assert!(stdout(&reply).starts_with("127.128.0.1 "), "no question leaves the box: {reply}");
    for place in ["site.example:80", "other.example:443"] {
        assert!(message(&reply).contains(&format!("{place} (approval ")), "{reply}");
    }
    assert!(
        stdout(&reply).contains("a person is asked whether site.example:80"),
        "a page says so on port 80: {reply}"
    );
    assert_eq!(host.count(), 0);
}

#[test]
fn commands_have_no_way_out_where_the_operator_closed_it() {
    let host = Host::saying("never");
    let workspace = workspace_with(way_to(&[("site.example", host.port)]).without_commands());
    let reply = run(
        &workspace,
        &workspace.session(),
        &format!("env | grep -i proxy; {CURL} {}", host.url("site.example")),
    );
    assert_eq!(stdout(&reply), "", "{reply}");
    assert_eq!(host.count(), 0);
}

#[test]
fn many_connections_of_a_command_are_served_a_few_at_a_time() {
    let host = Host::saying("x");
    let web = way_to(&[("site.example", host.port)]).allowing("site.example").unwrap();
    let workspace = workspace_with(web);
    let count = times(10_000);
    let url = host.url("site.example");
    // One that never says what it wants, and a crowd beside it.
    let script = format!(
        "import socket, urllib.request, concurrent.futures as f\n\
         slow = socket.create_connection(('127.0.0.1', 3128))\n\
         slow.sendall(b'GET http')\n\
         get = lambda _: urllib.request.urlopen('{url}').read()\n\
         with f.ThreadPoolExecutor(100) as pool:\n\
         \x20   print(sum(1 for said in pool.map(get, range({count})) if said == b'x'))\n"
    );
    workspace.put("crowd.py", &script);
    let args =
        json!({"command": "/usr/bin/python3 crowd.py", "workdir": null, "timeout_ms": 110_000});
    let answer = workspace.call_of("codex", "shell", args);
    let reply = answer.body["result"].clone();
    assert_eq!(stdout(&reply), format!("{count}\n"), "{reply}");
    assert_eq!(host.count(), count);
}

#[test]
fn whenever_a_command_is_ended_nothing_of_it_stays_open() {
    let open = Arc::new(AtomicUsize::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let counted = Arc::clone(&open);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            let counted = Arc::clone(&counted);
            thread::spawn(move || {
                let reading = stream.try_clone().unwrap();
                let writer =
                    thread::spawn(move || while { &stream }.write_all(&[7; 4_096]).is_ok() {});
                while matches!({ &reading }.read(&mut [0; 4_096]), Ok(count) if count > 0) {}
                let _ = reading.shutdown(std::net::Shutdown::Both);
                let _ = writer.join();
                counted.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    let web = way_to(&[("site.example", port)]).allowing("site.example").unwrap();
    let workspace = workspace_with(web);
    for round in 0..times(100) {
        let call = workspace.call_context();
        let cancel = call.cancel_flag();
        thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(30 + 37 * (round as u64 % 17)));
                cancel.store(true, Ordering::SeqCst);
            });
            let command = format!(
                "for i in 1 2 3 4; do {CURL} -N http://site.example:{port}/ >/dev/null & done; wait"
            );
            let args = json!({"command": command, "workdir": null, "timeout_ms": 60_000});
            workspace.catalog().call("codex", "shell", args, &workspace.session(), &call);
        });
        let until = Instant::now() + Duration::from_secs(120);
        while open.load(Ordering::SeqCst) > 0 {
            assert!(Instant::now() < until, "{} are open", open.load(Ordering::SeqCst));
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_terminal_asks_as_a_command_does_and_says_what_waits() {
    let host = Host::saying("the page");
    let web = way_to(&[("site.example", host.port)]).holding_for(Duration::from_millis(300));
    let workspace = workspace_with(web);
    let url = host.url("site.example");
    let call = |tool: &str, args: Value| {
        let agent = guarded(&workspace);
        workspace.call_as(&agent, "codex", tool, args)
    };
    let opened =
        call("exec_command", json!({"session_id": "t", "cmd": "bash --norc", "workdir": null}));
    let start = crate::box_setup::asked(&opened);
    decide(&workspace, start, true, Scope::Once);
    let types = |text: String| {
        let answer = call("write_stdin", json!({"session_id": "t", "chars": text}));
        answer.body["result"].clone()
    };
    let reply = types(format!("{CURL} {url}; echo\n"));
    let row = awaited(&workspace);
    assert!(message(&reply).contains(&format!("(approval {})", row.id)), "{reply}");
    decide(&workspace, row.id, true, Scope::Once);
    let reply = types(format!("{CURL} {url}; echo\n"));
    assert!(reply.to_string().contains("the page"), "{reply}");
    call("kill_session", json!({"session_id": "t"}));
    assert!(
        audit(&workspace).contains("connected: codex.exec_command run "),
        "{}",
        audit(&workspace)
    );
    assert_eq!(host.count(), 1);
}

/// Run by hand: what a way out costs that is not used.
#[test]
#[ignore = "a measurement"]
fn cost_of_a_way_out_that_nobody_uses() {
    let (with, without) =
        (workspace_with(way_to(&[])), workspace_with(way_to(&[]).without_commands()));
    let time = |workspace: &TestWorkspace| {
        let begun = Instant::now();
        run(workspace, &workspace.session(), "true");
        begun.elapsed()
    };
    // By turns: whatever else the machine does slows both.
    let (mut used, mut unused): (Vec<_>, Vec<_>) =
        (0..400).map(|_| (time(&with), time(&without))).unzip();
    used.sort();
    unused.sort();
    eprintln!("with {:?}, without {:?}", used[200], unused[200]);
}
