//! Every escape of the table, with all walls standing and with each alone, as root and as an ordinary
//! user. Beside what a case says of itself, the host is looked at afterwards: a file, sockets of all
//! kinds and a process, none of which may have noticed anything.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::process::{Child, Command, Stdio};

use yard_sandbox::{Layer, Level, Sandbox, SandboxConfig, Walls};

use crate::box_setup::{BoxSetup, as_root_and_user, sandbox, sandbox_with};
use crate::cases::{CASES, Case, N, W, WORDS};

/// What on the host must not notice anything.
struct Host {
    setup: BoxSetup,
    victim: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    streams: Vec<UnixListener>,
    datagram: UnixDatagram,
}

impl Host {
    fn new() -> Self {
        let mut setup = BoxSetup::new();
        // One of the cases tries to raise it.
        setup.limits.cpu_seconds = Some(600);
        let workspace = setup.workspace();
        symlink(setup.outside().join("secret"), workspace.join("planted")).unwrap();
        fs::create_dir(workspace.join(".data")).unwrap();
        fs::write(workspace.join(".data/secret"), "data-secret\n").unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let abstract_name = format!("toolyard-test-{}", setup.outside().display());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let streams = vec![
            UnixListener::bind(setup.outside().join("stream")).unwrap(),
            UnixListener::bind(workspace.join("stream")).unwrap(),
            UnixListener::bind_addr(&address).unwrap(),
        ];
        let datagram = UnixDatagram::bind(workspace.join("datagram")).unwrap();
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        datagram.set_nonblocking(true).unwrap();
        for stream in &streams {
            stream.set_nonblocking(true).unwrap();
        }
        let victim = Command::new("sleep").arg("120").stdin(Stdio::null()).spawn().unwrap();
        setup.env = vec![
            ("SECRET".into(), setup.outside().join("secret").into()),
            ("OUTSIDE".into(), setup.outside().into()),
            ("WORKSPACE".into(), workspace.into()),
            ("VICTIM".into(), victim.id().to_string().into()),
            ("SERVER".into(), std::process::id().to_string().into()),
            ("PORT".into(), tcp.local_addr().unwrap().port().to_string().into()),
            ("UDP_PORT".into(), udp.local_addr().unwrap().port().to_string().into()),
            ("ABSTRACT".into(), abstract_name.into()),
        ];
        Self { setup, victim, tcp, udp, streams, datagram }
    }

    fn noticed(&mut self) -> Vec<String> {
        let mut noticed = Vec::new();
        let secret = fs::read_to_string(self.setup.outside().join("secret"));
        if secret.ok().as_deref() != Some("host-secret\n") {
            noticed.push("the file outside changed".to_owned());
        }
        let metadata = fs::metadata(self.setup.outside().join("secret")).unwrap();
        if metadata.mode() & 0o7777 != 0o644 || metadata.mtime() < 1000 {
            noticed.push("what is said about the file outside changed".to_owned());
        }
        if fs::read_dir(self.setup.outside()).unwrap().count() != 2 {
            noticed.push("there is something new outside".to_owned());
        }
        if self.victim.try_wait().unwrap().is_some() {
            noticed.push("the process on the host ended".to_owned());
        }
        if self.tcp.accept().is_ok() || self.streams.iter().any(|stream| stream.accept().is_ok()) {
            noticed.push("somebody dialled".to_owned());
        }
        let mut byte = [0];
        let silent = |heard: std::io::Result<usize>| {
            heard.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        };
        if !silent(self.udp.recv(&mut byte)) || !silent(self.datagram.recv(&mut byte)) {
            noticed.push("a datagram came".to_owned());
        }
        noticed
    }

    /// What is wrong with how a case went; empty when it was held.
    fn try_out(&mut self, sandbox: &Sandbox, walls: Walls, case: &Case) -> Vec<String> {
        let Case(name, _, body) = case;
        let script = format!("{}\n{WORDS}\n{body}\nprint('done')\n", include_str!("prelude.py"));
        let flag = ("NAMESPACES".into(), u8::from(walls.namespaces).to_string().into());
        self.setup.env.retain(|(name, _)| name != "NAMESPACES");
        self.setup.env.push(flag);
        let argv = ["python3", "-c", &script];
        let ran = if walls.namespaces {
            self.setup.hidden = vec![self.setup.workspace().join(".data")];
            self.setup.run(sandbox, &argv)
        } else {
            self.setup.hidden.clear();
            let workspace = self.setup.workspace();
            self.setup.run_on(sandbox, Layer::InPlace, &workspace, &argv)
        };
        let mut wrong = match ran {
            Err(error) => vec![format!("no box: {error}")],
            Ok(ran) => {
                let bad = ["ESCAPED"].iter().filter(|word| ran.stdout.contains(**word)).count();
                let answer =
                    ["ran\n", "held ", "done\n"].iter().all(|word| ran.stdout.contains(word));
                if bad > 0 || !answer || ran.code() != Some(0) {
                    vec![format!("{:?}\n{}{}", ran.ended, ran.stdout, ran.stderr)]
                } else {
                    Vec::new()
                }
            }
        };
        wrong.extend(self.noticed());
        wrong.iter().map(|what| format!("{name}: {what}")).collect()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

fn try_all(sandbox: &Sandbox, walls: Walls, fits: impl Fn(&Case) -> bool) {
    let mut host = Host::new();
    let mut wrong = Vec::new();
    let mut tried = 0;
    for case in CASES.iter().filter(|case| fits(case)) {
        wrong.extend(host.try_out(sandbox, walls, case));
        tried += 1;
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn there_are_sixty_cases() {
    assert!(CASES.len() >= 60, "{}", CASES.len());
    assert!(CASES.iter().filter(|case| case.1 & N != 0).count() >= 40);
    assert!(CASES.iter().filter(|case| case.1 & W != 0).count() >= 40);
}

#[test]
fn no_escape_with_all_walls() {
    as_root_and_user("escapes::no_escape_with_all_walls", || {
        let sandbox = sandbox();
        assert_eq!(sandbox.level(), Level::Full, "{:#?}", sandbox.findings());
        try_all(&sandbox, Walls::default(), |_| true);
    });
}

#[test]
fn no_escape_with_namespaces_alone() {
    as_root_and_user("escapes::no_escape_with_namespaces_alone", || {
        let walls = Walls { namespaces: true, landlock: false, seccomp: false };
        let sandbox = sandbox_with(SandboxConfig { walls, ..SandboxConfig::default() });
        assert_eq!(sandbox.level(), Level::Full);
        try_all(&sandbox, walls, |case| case.1 & N != 0);
    });
}

#[test]
fn no_escape_with_landlock_and_seccomp_alone() {
    as_root_and_user("escapes::no_escape_with_landlock_and_seccomp_alone", || {
        let walls = Walls { namespaces: false, ..Walls::default() };
        let sandbox = sandbox_with(SandboxConfig { walls, ..SandboxConfig::default() });
        assert_eq!(sandbox.level(), Level::Walls, "{:#?}", sandbox.findings());
        try_all(&sandbox, walls, |case| case.1 & W != 0);
    });
}

/// Each attempt must be one: with nothing in its way, most of the table gets out. Tried on what does no
/// harm to this machine.
#[test]
fn the_cases_would_escape_without_walls() {
    let walls = Walls { namespaces: false, landlock: false, seccomp: false };
    let wish = SandboxConfig {
        walls,
        lowest: Level::Full,
        allow_unconfined: true,
        ..SandboxConfig::default()
    };
    let sandbox = sandbox_with(wish);
    assert_eq!(sandbox.level(), Level::Unconfined);
    let harmless = [
        "read a file outside",
        "list a folder outside",
        "climb out by dots",
        "follow a link out",
        "dial a server of the host",
        "dial a named socket in the workspace",
        "send to a named socket in the workspace",
        "turn one of a pair to the host",
        "dial an abstract socket",
        "processes of the host are not seen",
        "rings",
        "type into a terminal",
    ];
    for name in harmless {
        let case = CASES.iter().find(|case| case.0 == name).unwrap();
        let mut host = Host::new();
        assert!(!host.try_out(&sandbox, walls, case).is_empty(), "{name} cannot fail");
    }
}

/// What a listener inside would hear from inside: the sockets that are denied outwards work within.
#[test]
fn sockets_and_processes_work_inside() {
    as_root_and_user("escapes::sockets_and_processes_work_inside", || {
        let (sandbox, setup) = (sandbox(), BoxSetup::new());
        let script = "import multiprocessing, socket, os, threading\n\
            s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()\n\
            socket.create_connection(s.getsockname()); print('tcp')\n\
            u = socket.socket(socket.AF_UNIX); u.bind('inside'); u.listen()\n\
            socket.socket(socket.AF_UNIX).connect('inside'); print('unix')\n\
            print('pool', sum(multiprocessing.Pool(3).map(abs, [-1, -2, -3])))\n\
            with multiprocessing.Manager() as m: d = m.dict(); d['x'] = 1; print('manager', d['x'])\n\
            print(os.popen('echo popen').read().strip())\n";
        let ran = setup.run(&sandbox, &["python3", "-c", script]).unwrap();
        assert_eq!(ran.stdout, "tcp\nunix\npool 6\nmanager 1\npopen\n", "{ran:?}");
    });
}

/// A daemon closes everything, leaves its session and its parent, and is gone all the same.
#[test]
fn daemons_do_not_outlive_the_call() {
    as_root_and_user("escapes::daemons_do_not_outlive_the_call", || {
        let marker = format!("{}.{}", 40_000 + std::process::id() % 10_000, std::process::id());
        let script = format!(
            "import os, sys, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        \
             os.closerange(0, 100)\n        os.execvp('sleep', ['sleep', '{marker}'])\n    os._exit(0)\n\
             time.sleep(0.3)\nprint('ran')"
        );
        let argv = ["python3", "-c", &script];
        for namespaces in [true, false] {
            let setup = BoxSetup::new();
            let walls = Walls { namespaces, ..Walls::default() };
            let sandbox = sandbox_with(SandboxConfig { walls, ..SandboxConfig::default() });
            let workspace = setup.workspace();
            let ran = match namespaces {
                true => setup.run(&sandbox, &argv).unwrap(),
                false => setup.run_on(&sandbox, Layer::InPlace, &workspace, &argv).unwrap(),
            };
            assert_eq!(ran.stdout, "ran\n", "{ran:?}");
            assert_eq!(running(&marker), Vec::<String>::new());
        }
    });
}

/// Processes of the host that sleep for just so long.
pub(crate) fn running(marker: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let mut line = String::new();
        if let Ok(mut file) = fs::File::open(entry.path().join("cmdline")) {
            let _ = file.read_to_string(&mut line);
        }
        if line.starts_with("sleep") && line.contains(marker) {
            found.push(line);
        }
    }
    found
}
