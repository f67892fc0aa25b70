//! Tests of the proxy without a box: a listening socket of this machine stands for the box's, and every host is a
//! server of the test on loopback.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::sync::atomic::AtomicUsize;
use std::thread;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use yard_core::{Call, Remedy, Timestamp, World};

use super::*;
use crate::{ProxySockets, Resolve};

struct Clock(Instant);

impl World for Clock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(0)
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn random(&self) -> u128 {
        7
    }

    fn secret(&self) -> Option<[u8; 32]> {
        None
    }

    fn boot_id(&self) -> u128 {
        1
    }
}

/// A policy with a verdict that tests set; it counts the connections.
struct FakePolicy {
    verdict: Mutex<ConnectionVerdict>,
    asked: AtomicUsize,
}

impl FakePolicy {
    fn new(verdict: ConnectionVerdict) -> Arc<Self> {
        Arc::new(Self { verdict: Mutex::new(verdict), asked: AtomicUsize::new(0) })
    }

    fn waits() -> ConnectionVerdict {
        ConnectionVerdict::Wait { request: "r1".to_owned(), message: "nobody answered".to_owned() }
    }

    fn set(&self, verdict: ConnectionVerdict) {
        *self.verdict.lock() = verdict;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl ConnectionPolicy for FakePolicy {
    fn decide(&self, _: &Target) -> ConnectionVerdict {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.verdict.lock().clone()
    }

    fn decide_again(&self, _: &Target, at_most: Duration) -> ConnectionVerdict {
        thread::sleep(at_most.min(Duration::from_millis(5)));
        self.verdict.lock().clone()
    }

    fn describe_remedy(&self, _: Remedy) -> &'static str {
        ""
    }
}

/// Resolves every name to the addresses of a test, and counts the lookups.
struct Names {
    addresses: Vec<&'static str>,
    asked: AtomicUsize,
}

impl Resolve for Names {
    fn resolve(&self, _: &str, port: u16) -> io::Result<Vec<std::net::SocketAddr>> {
        let before = self.asked.fetch_add(1, Ordering::SeqCst);
        // What begins with a number of looks is the answer from that look on.
        let now = self.addresses.iter().filter_map(|text| match text.split_once('@') {
            Some((look, address)) => (look.parse() == Ok(before)).then_some(address),
            None => Some(*text),
        });
        let address = |text: &str| std::net::SocketAddr::new(text.parse().unwrap(), port);
        Ok(now.map(address).collect())
    }
}

fn names(addresses: &[&'static str]) -> Arc<Names> {
    Arc::new(Names { addresses: addresses.to_vec(), asked: AtomicUsize::new(0) })
}

/// A proxy at work, as a box's watcher serves it.
struct Served {
    address: std::net::SocketAddr,
    /// Where it takes requests on port 80, connections of TLS, and questions for names.
    http: std::net::SocketAddr,
    tls: std::net::SocketAddr,
    questions: std::net::SocketAddr,
    proxy: Arc<Proxy>,
    is_done: Arc<AtomicBool>,
}

impl Served {
    fn new(net: Net, policy: Arc<dyn ConnectionPolicy>, hold: Duration) -> Self {
        let call = Call::new(Arc::new(Clock(Instant::now())));
        let proxy = Proxy::new(Some(ProxyConfig::new(net, policy, hold)), &call);
        let mut way_out = ProxySockets::new(Arc::clone(&proxy));
        let mut places = Vec::new();
        for _ in way_out.listener_addresses() {
            let made = TcpListener::bind("127.0.0.1:0").unwrap();
            places.push(made.local_addr().unwrap());
            way_out.add_listener(made).unwrap();
        }
        let (address, http, tls) = (places[0], places[1], places[2]);
        assert!(way_out.dns_address().is_some());
        let made = UdpSocket::bind("127.0.0.1:0").unwrap();
        let questions = made.local_addr().unwrap();
        way_out.add_dns_socket(made).unwrap();
        let is_done = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&is_done);
        thread::spawn(move || {
            while !done.load(Ordering::SeqCst) {
                let tick = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
                let sockets = way_out.listening().into_iter();
                let ready = sockets.map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN));
                poll(&mut ready.collect::<Vec<_>>(), Some(&tick)).unwrap();
                way_out.accept();
            }
        });
        Self { address, http, tls, questions, proxy, is_done }
    }

    /// What the proxy answers to these lines.
    fn answer(&self, lines: &str) -> String {
        let mut client = TcpStream::connect(self.address).unwrap();
        client.write_all(lines.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = client.read_to_string(&mut answer);
        answer
    }

    fn connect(&self, place: &str) -> String {
        self.answer(&format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.proxy.end();
        self.is_done.store(true, Ordering::SeqCst);
    }
}

/// A server that answers every connection with what `serve` does, and counts them.
fn server(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, count) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let (serve, counted) = (Arc::new(serve), Arc::clone(&count));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(stream));
        }
    });
    (port, count)
}

fn hello(stream: TcpStream) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
    let mut stream = stream;
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
}

fn exempt(port: u16) -> Net {
    let net = Net::default().resolving_by(names(&["127.0.0.1"]));
    net.exempting(&format!("site.example:{port}")).unwrap()
}

/// Resolves every name to one socket address, whatever the port.
struct At(std::net::SocketAddr);

impl Resolve for At {
    fn resolve(&self, _: &str, _: u16) -> io::Result<Vec<std::net::SocketAddr>> {
        Ok(vec![self.0])
    }
}

/// A proxy for a host whose ports 80 and 443 are a server of the test.
fn served_for(port: u16, verdict: ConnectionVerdict) -> Served {
    let net = Net::default().resolving_by(Arc::new(At(([127, 0, 0, 1], port).into())));
    let net = net.exempting("site.example:80").unwrap();
    let net = net.exempting("site.example:443").unwrap();
    Served::new(net, FakePolicy::new(verdict), SHORT)
}

fn denied() -> ConnectionVerdict {
    ConnectionVerdict::Deny("not there".to_owned())
}

#[test]
fn a_program_that_knows_no_proxy_finds_every_name_and_is_taken_to_its_host() {
    let (port, count) = server(hello);
    let served = served_for(port, ConnectionVerdict::Allow);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(LONG)).unwrap();
    let question = b"\x12\x34\x01\x00\0\x01\0\0\0\0\0\0\x04site\x07example\0\0\x01\0\x01";
    socket.send_to(question, served.questions).unwrap();
    let mut answer = [0; 512];
    let (length, _) = socket.recv_from(&mut answer).unwrap();
    assert_eq!(answer[length - 4..length], dns::ADDRESS.octets());
    let mut client = TcpStream::connect(served.http).unwrap();
    client.write_all(b"GET /x HTTP/1.1\r\nHost: site.example\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("hello"), "{answer}");
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let traffic = served.proxy.traffic();
    assert_eq!(
        traffic.iter().map(|host| host.host_port.as_str()).collect::<Vec<_>>(),
        ["site.example:80"]
    );
}

#[test]
fn a_connection_of_tls_goes_to_the_host_that_it_names_with_every_byte() {
    let (sender, received) = std::sync::mpsc::channel();
    let sender = Mutex::new(sender);
    let (port, _) = server(move |mut stream: TcpStream| {
        let mut bytes = vec![0; 2_048];
        let count = stream.read(&mut bytes).unwrap();
        bytes.truncate(count);
        sender.lock().send(bytes).unwrap();
        stream.write_all(b"its answer").unwrap();
    });
    let served = served_for(port, ConnectionVerdict::Allow);
    let mut client = TcpStream::connect(served.tls).unwrap();
    let first = client_hello::tests::hello_to("site.example");
    client.write_all(&first).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "its answer");
    assert_eq!(received.recv_timeout(LONG).unwrap(), first);
}

#[test]
fn a_host_that_may_not_be_reached_is_not_reached_by_its_name_either() {
    let (port, count) = server(hello);
    let served = served_for(port, denied());
    let mut client = TcpStream::connect(served.tls).unwrap();
    client.write_all(&client_hello::tests::hello_to("site.example")).unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, client_hello::ACCESS_DENIED);
    let mut client = TcpStream::connect(served.http).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nHost: site.example\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("not there"), "{answer}");
    assert_eq!(count.load(Ordering::SeqCst), 0);
    let traffic = served.proxy.traffic();
    let refused = |host: &HostTraffic| matches!(host.access, Access::Refused(_));
    assert_eq!(traffic.iter().filter(|host| refused(host)).count(), 2, "{traffic:?}");
}

const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(20);

#[test]
fn a_connection_is_held_until_there_is_a_yes() {
    let (port, count) = server(hello);
    let policy = FakePolicy::new(FakePolicy::waits());
    let served = Served::new(exempt(port), Arc::clone(&policy) as _, LONG);
    let get = format!("GET http://site.example:{port}/ HTTP/1.1\r\n\r\n");
    thread::scope(|scope| {
        let answer = scope.spawn(|| served.answer(&get));
        let until = Instant::now() + LONG;
        while served.proxy.traffic().first().map(|host| &host.access)
            != Some(&Access::Waits("r1".to_owned()))
        {
            assert!(Instant::now() < until, "it is not held");
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(count.load(Ordering::SeqCst), 0, "nothing is dialled before the yes");
        policy.set(ConnectionVerdict::Allow);
        assert!(answer.join().unwrap().ends_with("hello"));
    });
    assert_eq!(policy.asked(), 1);
    let hosts = served.proxy.end();
    assert_eq!((hosts[0].tries, &hosts[0].access, hosts[0].down), (1, &Access::Through, 43));
    assert!(hosts[0].up > 0);
}

#[test]
fn a_no_and_the_end_of_the_time_are_told_in_the_page() {
    let (port, count) = server(hello);
    let policy = FakePolicy::new(ConnectionVerdict::Deny("a person said no".to_owned()));
    let served = Served::new(exempt(port), Arc::clone(&policy) as _, SHORT);
    let place = format!("site.example:{port}");
    let answer = served.connect(&place);
    assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{answer}");
    assert!(answer.ends_with(&format!("\r\n\r\n{place}: a person said no\n")), "{answer}");
    policy.set(FakePolicy::waits());
    assert!(served.connect(&place).ends_with(&format!("{place}: nobody answered\n")));
    assert_eq!(served.proxy.traffic()[0].access, Access::Waits("r1".to_owned()));
    policy.set(ConnectionVerdict::Allow);
    assert!(served.answer(&format!("GET http://{place}/ HTTP/1.1\r\n\r\n")).ends_with("hello"));
    assert_eq!((served.proxy.traffic()[0].tries, count.load(Ordering::SeqCst)), (3, 1));
}

#[test]
fn addresses_that_are_not_public_are_refused_before_anybody_is_asked() {
    let policy = FakePolicy::new(ConnectionVerdict::Allow);
    let resolver = names(&["127.0.0.1"]);
    let net = Net::default().resolving_by(Arc::clone(&resolver) as _);
    let served = Served::new(net, Arc::clone(&policy) as _, SHORT);
    for place in [
        "127.0.0.1:80",
        "2130706433:80",
        "0x7f.1:80",
        "0177.0.0.1:80",
        "[::1]:80",
        "localhost:80",
        "a.localhost:80",
        "10.0.0.1:443",
        "192.168.1.1:443",
        "169.254.169.254:80",
        "[fe80::1]:80",
        "[fd00::1]:80",
        "[::ffff:127.0.0.1]:80",
        "[64:ff9b::7f00:1]:80",
        "0.0.0.0:80",
        "100.64.0.1:80",
    ] {
        let answer = served.connect(place);
        assert!(answer.starts_with("HTTP/1.1 403"), "{place}: {answer}");
        assert!(answer.contains("do not reach"), "{place}: {answer}");
    }
    assert_eq!(policy.asked(), 0);
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 0, "nothing is looked up");
}

#[test]
fn a_name_is_looked_up_after_the_yes_and_its_addresses_are_checked_each_time() {
    let policy = FakePolicy::new(ConnectionVerdict::Deny("no".to_owned()));
    let resolver = names(&["0@127.0.0.1", "1@10.0.0.1", "2@169.254.169.254", "3@::1"]);
    let net = Net::default().resolving_by(Arc::clone(&resolver) as _);
    let served = Served::new(net, Arc::clone(&policy) as _, SHORT);
    served.connect("secret-word.evil.example:443");
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 0, "a question for a name would tell of it");
    policy.set(ConnectionVerdict::Allow);
    for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"] {
        let answer = served.connect("moving.example:443");
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        assert!(answer.contains(&format!("moving.example is at {address}")), "{answer}");
    }
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 4, "once a connection");
    assert!(matches!(served.proxy.traffic()[0].access, Access::Refused(_)));
}

#[test]
fn a_host_and_a_client_that_both_talk_at_once_hold_nobody_up() {
    const BYTES: usize = 32 << 20;
    // Both sides say everything before they listen: whoever passes one direction at a time is stuck.
    let (port, _) = server(|stream| {
        let sending = stream.try_clone().unwrap();
        let sender = thread::spawn(move || { &sending }.write_all(&vec![7; BYTES]).unwrap());
        sender.join().unwrap();
        let (mut read, mut buffer) = (0, vec![0; 1 << 20]);
        while read < BYTES {
            read += { &stream }.read(&mut buffer).unwrap();
        }
    });
    let served = Served::new(exempt(port), FakePolicy::new(ConnectionVerdict::Allow), SHORT);
    let client = tunnel(&served, &format!("site.example:{port}"));
    let writing = client.try_clone().unwrap();
    let writer = thread::spawn(move || { &writing }.write_all(&vec![9; BYTES]).unwrap());
    let (mut read, mut buffer) = (0, vec![0; 1 << 20]);
    while read < BYTES {
        read += { &client }.read(&mut buffer).unwrap();
    }
    writer.join().unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    // The host closes its end once it has read everything.
    assert_eq!({ &client }.read(&mut buffer).unwrap(), 0);
    let hosts = served.proxy.end();
    assert_eq!((hosts[0].up, hosts[0].down), (BYTES as u64, BYTES as u64));
}

/// A connection through the proxy that is there.
fn tunnel(served: &Served, place: &str) -> TcpStream {
    let mut client = TcpStream::connect(served.address).unwrap();
    write!(client, "CONNECT {place} HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = [0; 39];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 Connection established\r\n\r\n");
    client
}

#[test]
fn the_end_of_the_command_closes_every_connection_at_once() {
    let (gone_tx, gone) = std::sync::mpsc::channel();
    let gone_tx = Mutex::new(gone_tx);
    let (port, _) = server(move |mut stream| {
        let tell = gone_tx.lock().clone();
        let mut buffer = [0; 64];
        while matches!(stream.read(&mut buffer), Ok(count) if count > 0) {}
        tell.send(()).unwrap();
    });
    let served = Served::new(exempt(port), FakePolicy::new(ConnectionVerdict::Allow), SHORT);
    let place = format!("site.example:{port}");
    let open: Vec<TcpStream> = (0..20).map(|_| tunnel(&served, &place)).collect();
    // One that has not said what it wants, and one that is held.
    let silent = TcpStream::connect(served.address).unwrap();
    let begun = Instant::now();
    served.proxy.end();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    for _ in &open {
        gone.recv_timeout(LONG).unwrap();
    }
    for mut client in open.into_iter().chain([silent]) {
        assert!(matches!(client.read(&mut [0; 8]), Ok(0) | Err(_)));
    }
    assert_eq!(served.proxy.connections.lock().open.len(), 0);
    assert_eq!(served.connect(&place), "", "nothing is served any more");
}

#[test]
fn more_connections_than_there_is_room_for_wait_and_a_slow_one_holds_nobody_up() {
    let (port, count) = server(hello);
    let served = Served::new(exempt(port), FakePolicy::new(ConnectionVerdict::Allow), SHORT);
    let mut slow = TcpStream::connect(served.address).unwrap();
    slow.write_all(b"GET http://site.exam").unwrap();
    let each = if std::env::var_os("YARD_SOAK").is_some() { 100 } else { 10 };
    let get = format!("GET http://site.example:{port}/ HTTP/1.1\r\n\r\n");
    let most = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                for _ in 0..each {
                    assert!(served.answer(&get).ends_with("hello"));
                    most.fetch_max(served.proxy.connections.lock().open.len(), Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!(count.load(Ordering::SeqCst), 100 * each);
    assert!(most.load(Ordering::SeqCst) <= MAX_CONNECTIONS);
    slow.write_all(format!("ple:{port}/ HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("hello"), "{answer}");
}

#[test]
fn a_command_asks_for_so_many_hosts_and_no_more() {
    let policy = FakePolicy::new(ConnectionVerdict::Deny("no".to_owned()));
    let served = Served::new(Net::default().resolving_by(names(&[])), policy, SHORT);
    for number in 0..MAX_HOSTS {
        assert!(served.connect(&format!("h{number}.example:443")).ends_with(": no\n"));
    }
    assert!(served.connect("one-more.example:443").contains("as many as one may"));
    assert_eq!(served.proxy.traffic().len(), MAX_HOSTS);
}

#[test]
fn what_a_command_did_with_a_host_reads_back() {
    let accesses = [
        Access::Through,
        Access::Refused("rule 1 (deny)\tsays\nno".to_owned()),
        Access::Waits("0190".to_owned()),
    ];
    for access in accesses {
        let told = HostTraffic {
            host_port: "[::1]:80".to_owned(),
            tries: 2,
            up: 3,
            down: u64::MAX,
            access,
        };
        let line = told.to_line();
        let read = HostTraffic::from_line(line.trim_end_matches('\n')).unwrap();
        match (&read.access, &told.access) {
            (Access::Refused(why), Access::Refused(_)) => {
                assert_eq!(why, "rule 1 (deny) says no")
            }
            (read, told) => assert_eq!(read, told),
        }
        assert_eq!((read.host_port, read.up, read.down), (told.host_port, told.up, told.down));
    }
    assert_eq!(HostTraffic::from_line("a\tb"), None);
}

/// Run by hand, in a release build: `cargo test --release -p yard-net -- --ignored download_speed`.
#[test]
#[ignore = "a measurement"]
fn download_speed() {
    const BYTES: usize = 2 << 30;
    let (port, _) = server(|mut stream| {
        let buffer = vec![7; 1 << 20];
        for _ in 0..BYTES >> 20 {
            stream.write_all(&buffer).unwrap();
        }
    });
    let served = Served::new(exempt(port), FakePolicy::new(ConnectionVerdict::Allow), SHORT);
    let mut client = tunnel(&served, &format!("site.example:{port}"));
    let (begun, mut read, mut buffer) = (Instant::now(), 0, vec![0; 1 << 20]);
    while read < BYTES {
        read += client.read(&mut buffer).unwrap();
    }
    let speed = BYTES as f64 / begun.elapsed().as_secs_f64() / 1e6;
    assert!(speed >= 300.0, "{speed:.0} MB/s");
    eprintln!("{speed:.0} MB/s");
}
