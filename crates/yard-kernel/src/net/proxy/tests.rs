//! The proxy by itself: a listening socket of this machine stands for the box's, and every host is a server
//! of the test on loopback. What must not be dialled is refused before anything is.

use std::io::{BufRead as _, BufReader};
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use yard_core::{Call, Timestamp, World};

use super::*;
use crate::net::Resolve;

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

/// Answers as it is told, and counts how often it was asked.
struct Says {
    verdict: Mutex<ConnectionVerdict>,
    asked: AtomicUsize,
}

impl Says {
    fn new(verdict: ConnectionVerdict) -> Arc<Self> {
        Arc::new(Self { verdict: Mutex::new(verdict), asked: AtomicUsize::new(0) })
    }

    fn waits() -> ConnectionVerdict {
        ConnectionVerdict::Wait { request: "r1".to_owned(), message: "nobody answered".to_owned() }
    }

    fn say(&self, verdict: ConnectionVerdict) {
        *held(&self.verdict) = verdict;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl ConnectionPolicy for Says {
    fn decide(&self, _: &Target) -> ConnectionVerdict {
        self.asked.fetch_add(1, Ordering::SeqCst);
        held(&self.verdict).clone()
    }

    fn decide_again(&self, _: &Target, at_most: Duration) -> ConnectionVerdict {
        thread::sleep(at_most.min(Duration::from_millis(5)));
        held(&self.verdict).clone()
    }
}

/// Names lead where a test says, and each look is counted.
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
    place: std::net::SocketAddr,
    proxy: Arc<Proxy>,
    is_done: Arc<AtomicBool>,
}

impl Served {
    fn new(net: Net, policy: Arc<dyn ConnectionPolicy>, hold: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap();
        let call = Call::new(Arc::new(Clock(Instant::now())));
        let proxy = Proxy::new(Reach::new(net, policy, hold), &call);
        let mut way_out = WayOut::new(Arc::clone(&proxy));
        way_out.listen(listener.into()).unwrap();
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
        Self { place, proxy, is_done }
    }

    /// What the proxy answers to these lines.
    fn answer(&self, lines: &str) -> String {
        let mut client = TcpStream::connect(self.place).unwrap();
        client.write_all(lines.as_bytes()).unwrap();
        let mut said = String::new();
        let _ = client.read_to_string(&mut said);
        said
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

const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(20);

#[test]
fn a_connection_is_held_until_there_is_a_yes() {
    let (port, count) = server(hello);
    let policy = Says::new(Says::waits());
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
        policy.say(ConnectionVerdict::Allow);
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
    let policy = Says::new(ConnectionVerdict::Deny("a person said no".to_owned()));
    let served = Served::new(exempt(port), Arc::clone(&policy) as _, SHORT);
    let place = format!("site.example:{port}");
    let said = served.connect(&place);
    assert!(said.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{said}");
    assert!(said.ends_with(&format!("\r\n\r\n{place}: a person said no\n")), "{said}");
    policy.say(Says::waits());
    assert!(served.connect(&place).ends_with(&format!("{place}: nobody answered\n")));
    assert_eq!(served.proxy.traffic()[0].access, Access::Waits("r1".to_owned()));
    policy.say(ConnectionVerdict::Allow);
    assert!(served.answer(&format!("GET http://{place}/ HTTP/1.1\r\n\r\n")).ends_with("hello"));
    assert_eq!((served.proxy.traffic()[0].tries, count.load(Ordering::SeqCst)), (3, 1));
}

#[test]
fn addresses_that_are_not_public_are_refused_before_anybody_is_asked() {
    let policy = Says::new(ConnectionVerdict::Allow);
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
        let said = served.connect(place);
        assert!(said.starts_with("HTTP/1.1 403"), "{place}: {said}");
        assert!(said.contains("do not reach"), "{place}: {said}");
    }
    assert_eq!(policy.asked(), 0);
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 0, "nothing is looked up");
}

#[test]
fn a_name_is_looked_up_after_the_yes_and_its_addresses_are_checked_each_time() {
    let policy = Says::new(ConnectionVerdict::Deny("no".to_owned()));
    let resolver = names(&["0@127.0.0.1", "1@10.0.0.1", "2@169.254.169.254", "3@::1"]);
    let net = Net::default().resolving_by(Arc::clone(&resolver) as _);
    let served = Served::new(net, Arc::clone(&policy) as _, SHORT);
    served.connect("secret-word.evil.example:443");
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 0, "a question for a name would tell of it");
    policy.say(ConnectionVerdict::Allow);
    for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"] {
        let said = served.connect("moving.example:443");
        assert!(said.starts_with("HTTP/1.1 403"), "{said}");
        assert!(said.contains(&format!("moving.example is at {address}")), "{said}");
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
        let (mut read, mut piece) = (0, vec![0; 1 << 20]);
        while read < BYTES {
            read += { &stream }.read(&mut piece).unwrap();
        }
    });
    let served = Served::new(exempt(port), Says::new(ConnectionVerdict::Allow), SHORT);
    let client = tunnel(&served, &format!("site.example:{port}"));
    let writing = client.try_clone().unwrap();
    let writer = thread::spawn(move || { &writing }.write_all(&vec![9; BYTES]).unwrap());
    let (mut read, mut piece) = (0, vec![0; 1 << 20]);
    while read < BYTES {
        read += { &client }.read(&mut piece).unwrap();
    }
    writer.join().unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    // The host closes its end once it has read everything.
    assert_eq!({ &client }.read(&mut piece).unwrap(), 0);
    let hosts = served.proxy.end();
    assert_eq!((hosts[0].up, hosts[0].down), (BYTES as u64, BYTES as u64));
}

/// A connection through the proxy that is there.
fn tunnel(served: &Served, place: &str) -> TcpStream {
    let mut client = TcpStream::connect(served.place).unwrap();
    write!(client, "CONNECT {place} HTTP/1.1\r\n\r\n").unwrap();
    let mut said = [0; 39];
    client.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"HTTP/1.1 200 Connection established\r\n\r\n");
    client
}

#[test]
fn the_end_of_the_command_closes_every_connection_at_once() {
    let (gone_tx, gone) = std::sync::mpsc::channel();
    let gone_tx = Mutex::new(gone_tx);
    let (port, _) = server(move |mut stream| {
        let tell = held(&gone_tx).clone();
        let mut piece = [0; 64];
        while matches!(stream.read(&mut piece), Ok(count) if count > 0) {}
        tell.send(()).unwrap();
    });
    let served = Served::new(exempt(port), Says::new(ConnectionVerdict::Allow), SHORT);
    let place = format!("site.example:{port}");
    let open: Vec<TcpStream> = (0..20).map(|_| tunnel(&served, &place)).collect();
    // One that has not said what it wants, and one that is held.
    let silent = TcpStream::connect(served.place).unwrap();
    let begun = Instant::now();
    served.proxy.end();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    for _ in &open {
        gone.recv_timeout(LONG).unwrap();
    }
    for mut client in open.into_iter().chain([silent]) {
        assert!(matches!(client.read(&mut [0; 8]), Ok(0) | Err(_)));
    }
    assert_eq!(held(&served.proxy.connections).open.len(), 0);
    assert_eq!(served.connect(&place), "", "nothing is served any more");
}

#[test]
fn more_connections_than_there_is_room_for_wait_and_a_slow_one_holds_nobody_up() {
    let (port, count) = server(hello);
    let served = Served::new(exempt(port), Says::new(ConnectionVerdict::Allow), SHORT);
    let mut slow = TcpStream::connect(served.place).unwrap();
    slow.write_all(b"GET http://site.exam").unwrap();
    let each = if std::env::var_os("YARD_SOAK").is_some() { 100 } else { 10 };
    let get = format!("GET http://site.example:{port}/ HTTP/1.1\r\n\r\n");
    let most = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                for _ in 0..each {
                    assert!(served.answer(&get).ends_with("hello"));
                    most.fetch_max(held(&served.proxy.connections).open.len(), Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!(count.load(Ordering::SeqCst), 100 * each);
    assert!(most.load(Ordering::SeqCst) <= MOST_CONNECTIONS);
    slow.write_all(format!("ple:{port}/ HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
    let mut said = String::new();
    slow.read_to_string(&mut said).unwrap();
    assert!(said.ends_with("hello"), "{said}");
}

#[test]
fn a_command_asks_for_so_many_hosts_and_no_more() {
    let policy = Says::new(ConnectionVerdict::Deny("no".to_owned()));
    let served = Served::new(Net::default().resolving_by(names(&[])), policy, SHORT);
    for number in 0..MOST_HOSTS {
        assert!(served.connect(&format!("h{number}.example:443")).ends_with(": no\n"));
    }
    assert!(served.connect("one-more.example:443").contains("as many as one may"));
    assert_eq!(served.proxy.traffic().len(), MOST_HOSTS);
}

#[test]
fn what_a_command_did_with_a_host_reads_back() {
    let accesses = [
        Access::Through,
        Access::Refused("rule 1 (deny)\tsays\nno".to_owned()),
        Access::Waits("0190".to_owned()),
    ];
    for access in accesses {
        let told =
            HostTraffic { place: "[::1]:80".to_owned(), tries: 2, up: 3, down: u64::MAX, access };
        let line = told.to_line();
        let read = HostTraffic::from_line(line.trim_end_matches('\n')).unwrap();
        match (&read.access, &told.access) {
            (Access::Refused(why), Access::Refused(_)) => assert_eq!(why, "rule 1 (deny) says no"),
            (read, told) => assert_eq!(read, told),
        }
        assert_eq!((read.place, read.up, read.down), (told.place, told.up, told.down));
    }
    assert_eq!(HostTraffic::from_line("a\tb"), None);
}

/// Run by hand, in a release build: `cargo test --release -p yard-kernel -- --ignored download_speed`.
#[test]
#[ignore = "a measurement"]
fn download_speed() {
    const BYTES: usize = 2 << 30;
    let (port, _) = server(|mut stream| {
        let piece = vec![7; 1 << 20];
        for _ in 0..BYTES >> 20 {
            stream.write_all(&piece).unwrap();
        }
    });
    let served = Served::new(exempt(port), Says::new(ConnectionVerdict::Allow), SHORT);
    let mut client = tunnel(&served, &format!("site.example:{port}"));
    let (begun, mut read, mut piece) = (Instant::now(), 0, vec![0; 1 << 20]);
    while read < BYTES {
        read += client.read(&mut piece).unwrap();
    }
    let speed = BYTES as f64 / begun.elapsed().as_secs_f64() / 1e6;
    assert!(speed >= 300.0, "{speed:.0} MB/s");
    eprintln!("{speed:.0} MB/s");
}
