//! What is dialled, and what is not; and that nothing a server does holds a call, fills memory or ends the
//! process.

use std::io::Write as _;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use yard_gate::{Net, Web};

use super::server::{Server, leading, page};
use super::{Names, call, exempting, fails, fetch, here, workspace, workspace_reaching};

#[test]
fn a4_what_is_not_public_is_refused_however_it_is_called() {
    let names = Names::new(|host, _| match host {
        "private.example" => vec!["10.1.2.3"],
        "metadata.example" => vec!["169.254.169.254"],
        "ula.example" => vec!["fd00:ec2::254"],
        "mapped.example" => vec!["::ffff:10.0.0.1"],
        "mixed.example" => vec!["93.184.215.14", "192.168.0.1"],
        "mixed6.example" => vec!["2606:4700::1111", "::1"],
        _ => vec!["127.0.0.1"],
    });
    let workspace = workspace(Web::new(Net::default().resolving_by(names)));
    for url in [
        "http://private.example/",
        "https://metadata.example/latest/meta-data/",
        "http://ula.example/",
        "http://mapped.example/",
        "http://mixed.example/",
        "http://mixed6.example/",
        "http://localhost:8080/",
        "http://127.0.0.1/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://[::1]/",
        "http://[::ffff:169.254.169.254]/",
        "http://169.254.169.254/",
        "http://192.168.1.1/",
        "http://0.0.0.0:22/",
        "http://100.64.0.1/",
    ] {
        let (code, message) = fails(&workspace, json!({"url": url}));
        assert_eq!(code, "PERMISSION_DENIED", "{url}: {message}");
        assert!(message.contains("[web] exempt"), "{url}: {message}");
    }
    let (code, message) = fails(&workspace, json!({"url": "file:///etc/passwd"}));
    assert_eq!(code, "INVALID_ARGUMENTS", "{message}");
}

#[test]
fn a4_a_name_is_looked_up_once_and_what_was_checked_is_dialled() {
    let server = Server::saying(page("text/plain", "here"));
    // A second lookup gets another address.
    let names =
        Names::new(|_, before| if before == 0 { vec!["127.0.0.1"] } else { vec!["10.0.0.1"] });
    let pair = format!("rebinding.example:{}", server.port());
    let workspace = workspace(Web::new(exempting(names.clone(), std::slice::from_ref(&pair))));
    let value = fetch(&workspace, json!({"url": format!("http://{pair}/a?b=c#d")}));
    assert_eq!(value["body"], json!("here"));
    assert_eq!(names.asked.load(Ordering::SeqCst), 1);
    let heard = server.heard().remove(0);
    assert!(heard.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{heard}");
    assert!(heard.to_ascii_lowercase().contains(&format!("host: {pair}\r\n")), "{heard}");
}

#[test]
fn a4_every_redirect_is_checked_again() {
    let other = Server::saying(page("text/plain", "never"));
    for to in [
        other.url("/"),
        "http://169.254.169.254/latest".to_owned(),
        "http://[::1]/".to_owned(),
        "//10.0.0.1/".to_owned(),
        "http://localhost/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "http://user:pass@127.0.0.1/".to_owned(),
    ] {
        let server = Server::saying(leading(302, &to));
        let (code, message) =
            fails(&workspace_reaching(&[&server]), json!({"url": server.url("/")}));
        assert_eq!(code, "PERMISSION_DENIED", "{to}: {message}");
    }
    assert_eq!(other.heard().len(), 0, "nobody dialled what is not exempt");
}

#[test]
fn redirects_are_followed_as_browsers_do_and_not_for_ever() {
    let end = Server::start(|request, stream| {
        stream.write_all(&page("text/plain", request)).unwrap();
    });
    let to = end.url("/end");
    let start = Server::start(move |request, stream| {
        let path = request.split(' ').nth(1).unwrap();
        let status = path.trim_matches('/').parse().unwrap_or(302);
        let to = if path == "/loop" { "/loop" } else { to.as_str() };
        stream.write_all(&leading(status, to)).unwrap();
    });
    let workspace = workspace_reaching(&[&start, &end]);
    let post = |path: &str| {
        let headers = json!({
            "Authorization": "Bearer t", "Cookie": "c=1", "X-Api-Key": "k",
            "Content-Type": "text/x", "Accept": "text/y",
        });
        let args =
            json!({"url": start.url(path), "method": "POST", "body": "sent", "headers": headers});
        let value = fetch(&workspace, args);
        assert_eq!(value["url"], json!(end.url("/end")));
        value["body"].as_str().unwrap().to_ascii_lowercase()
    };
    for path in ["/301", "/302", "/303"] {
        let heard = post(path);
        assert!(heard.starts_with("get /end") && !heard.contains("sent"), "{path}: {heard}");
        assert!(!heard.contains("text/x"), "{path}: {heard}");
    }
    for path in ["/307", "/308"] {
        let heard = post(path);
        assert!(heard.starts_with("post /end") && heard.ends_with("sent"), "{path}: {heard}");
        assert!(heard.contains("content-type: text/x"), "{path}: {heard}");
    }
    for secret in ["authorization", "cookie", "x-api-key"] {
        assert!(!post("/307").contains(secret), "{secret} is for one origin");
    }
    assert!(post("/307").contains("accept: text/y"));
    let (code, message) = fails(&workspace, json!({"url": start.url("/loop")}));
    assert_eq!(code, "TOO_LARGE", "{message}");
    let loops = start.heard().iter().filter(|heard| heard.starts_with("GET /loop")).count();
    assert_eq!(loops, 11);
}

#[test]
fn headers_of_the_line_are_nobody_s_to_set() {
    let server = Server::saying(page("text/plain", "x"));
    let workspace = workspace_reaching(&[&server]);
    for (name, value) in [
        ("Host", "other.example"),
        ("Content-Length", "3"),
        ("transfer-encoding", "chunked"),
        ("Connection", "keep-alive"),
        ("X-A", "a\r\nX-B: b"),
        ("X A", "a"),
    ] {
        let args = json!({"url": server.url("/"), "headers": {name: value}});
        assert_eq!(fails(&workspace, args).0, "INVALID_ARGUMENTS", "{name}");
    }
    let (code, message) = fails(&workspace, json!({"url": server.url("/"), "body": "x"}));
    assert_eq!((code.as_str(), message.contains("POST")), ("INVALID_ARGUMENTS", true), "{message}");
    assert_eq!(server.heard().len(), 0);
}

/// Half of the time for which the servers below say nothing: who is back by then did not wait for them.
const UNBLOCKED: Duration = Duration::from_secs(30);

#[test]
fn a_stalled_server_blocks_no_other_call() {
    let silent = Server::start(|_, _| thread::sleep(Duration::from_secs(60)));
    let drips = Server::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nX-Slow: ");
        while stream.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(100));
        }
    });
    let in_body = Server::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
        thread::sleep(Duration::from_secs(60));
    });
    let workspace = workspace_reaching(&[&silent, &drips, &in_body]);
    for server in [&silent, &drips, &in_body] {
        let begun = Instant::now();
        let (code, message) = fails(&workspace, json!({"url": server.url("/"), "timeout": 1}));
        assert_eq!(code, "TIMEOUT", "{message}");
        assert!(begun.elapsed() < UNBLOCKED, "{:?}", begun.elapsed());
    }
    // A name that nobody answers for.
    let names = Names::new(|_, _| {
        thread::sleep(Duration::from_secs(60));
        Vec::new()
    });
    let slow = super::workspace(Web::new(Net::default().resolving_by(names)));
    let (code, message) = fails(&slow, json!({"url": "http://slow.example/", "timeout": 0.5}));
    assert_eq!(code, "TIMEOUT", "{message}");
    let (code, message) = fails(&slow, json!({"url": "http://slow.example/", "timeout": 0}));
    assert_eq!(code, "INVALID_ARGUMENTS", "{message}");
}

#[test]
fn a_cancelled_call_lets_go_at_once() {
    let silent = Server::start(|_, _| thread::sleep(Duration::from_secs(60)));
    let workspace = workspace_reaching(&[&silent]);
    let context = workspace.call_context();
    let flag = context.cancel_flag();
    let begun = Instant::now();
    let canceller = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        flag.store(true, Ordering::Relaxed);
    });
    let args = json!({"url": silent.url("/")});
    let answer =
        workspace.catalog().call("assistant", "web_fetch", args, &workspace.session(), &context);
    assert!(begun.elapsed() < UNBLOCKED);
    assert_eq!(answer.body["result"]["error"]["code"], json!("TIMEOUT"), "{}", answer.body);
    canceller.join().unwrap();
}

#[test]
fn r12_a_flood_is_cut_and_says_so() {
    let text = "0123456789abcde\n".repeat(1 << 12);
    let endless = Server::start(move |_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
        while stream.write_all(text.as_bytes()).is_ok() {}
    });
    let headers = Server::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"X-Header: value\r\n").is_ok() {}
    });
    let many = Server::start(|_, stream| {
        let lines = "X-H: v\r\n".repeat(2_000);
        let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\n{lines}\r\n").as_bytes());
    });
    let making = "head -c 300000000 /dev/zero | tr '\\0' a | gzip -1";
    let bomb = Command::new("sh").args(["-c", making]).output().unwrap().stdout;
    assert!(bomb.len() < 4 << 20, "{}", bomb.len());
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        bomb.len()
    );
    let bomb = Server::saying([head.as_bytes(), &bomb].concat());
    let workspace = workspace_reaching(&[&endless, &headers, &many, &bomb]);
    for server in [&endless, &bomb] {
        let value = fetch(&workspace, json!({"url": server.url("/")}));
        assert_eq!(value["body"].as_str().unwrap().len(), 256 << 10);
        assert_eq!((&value["truncated"], &value["nextOffset"]), (&json!(true), &json!(256 << 10)));
        let message = value["message"].as_str().unwrap();
        assert!(message.contains("only the first 8388608 bytes were read"), "{message}");
    }
    for server in [&headers, &many] {
        let (code, message) = fails(&workspace, json!({"url": server.url("/")}));
        assert_eq!(code, "IO_ERROR", "{message}");
    }
}

#[test]
fn lies_about_length_and_framing_are_refused() {
    let answers: [(&str, &[u8]); 6] = [
        ("short", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"),
        ("chunks", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nhe"),
        ("no end", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
        ("size", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n"),
        ("nothing", b""),
        ("no HTTP", b"220 mail.example ESMTP\r\n"),
    ];
    for (lie, answer) in answers {
        let server = Server::saying(answer);
        let (code, message) =
            fails(&workspace_reaching(&[&server]), json!({"url": server.url("/")}));
        assert_eq!(code, "IO_ERROR", "{lie}: {message}");
        assert!(message.contains(&server.place()), "{lie}: {message}");
    }
    let long = Server::saying(*b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nthis and more");
    assert_eq!(
        fetch(&workspace_reaching(&[&long]), json!({"url": long.url("/")}))["body"],
        json!("this")
    );
    let gone = Server::start(|_, _| {});
    let (code, message) =
        fails(&workspace_reaching(&[&gone]), json!({"url": "http://127.0.0.1:1/"}));
    assert_eq!(code, "PERMISSION_DENIED", "{message}");
}

/// A server that speaks TLS is known by its name and by who signed for it, not by its address.
#[test]
fn a4_a_sealed_line_is_to_who_the_address_names() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &str| {
        let args = args.split(' ');
        let made = Command::new("openssl").args(args).current_dir(folder.path()).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        made.stdout
    };
    run("req -x509 -newkey rsa:2048 -nodes -days 3 -keyout key.pem -out cert.pem \
         -subj /CN=site.example -addext subjectAltName=DNS:site.example \
         -addext basicConstraints=critical,CA:FALSE");
    let authority = run("x509 -in cert.pem -outform DER");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let at = format!("127.0.0.1:{port}");
    let mut server = Command::new("openssl")
        .args([
            "s_server", "-quiet", "-www", "-cert", "cert.pem", "-key", "key.pem", "-accept", &at,
        ])
        .current_dir(folder.path())
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while std::net::TcpStream::connect(&at).is_err() && begun.elapsed() < Duration::from_secs(120) {
        thread::sleep(Duration::from_millis(50));
    }
    let pairs = [format!("site.example:{port}"), format!("other.example:{port}")];
    let net = exempting(here(), &pairs);
    let own = workspace(Web::new(net.clone().trusting(vec![authority])));
    let value = fetch(&own, json!({"url": format!("https://{}/", pairs[0]), "format": "html"}));
    assert_eq!(value["status"], json!(200));
    let (code, message) = fails(&own, json!({"url": format!("https://{}/", pairs[1])}));
    assert!(code == "IO_ERROR" && message.contains("certificate"), "{code} {message}");
    let usual = workspace(Web::new(net));
    let (code, message) = fails(&usual, json!({"url": format!("https://{}/", pairs[0])}));
    assert!(code == "IO_ERROR" && message.contains("certificate"), "{code} {message}");
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn an_unknown_name_is_reported_as_unknown() {
    let workspace = workspace(Web::new(Net::default().resolving_by(Names::new(|_, _| Vec::new()))));
    let answer = call(
        &workspace,
        &workspace.session(),
        "web_fetch",
        json!({"url": "https://nowhere.example/"}),
    );
    let error = &answer.body["result"]["error"];
    assert!(
        error["message"].as_str().unwrap().contains("there is no host nowhere.example"),
        "{error}"
    );
    assert_eq!(error["details"]["url"], json!("https://nowhere.example/"));
}
