//! A server that does what a test tells it to, for each request on a thread of its own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A server on loopback. It serves until the test's process ends.
pub(crate) struct Server {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Gets each whole request, and writes any bytes as the answer.
    pub(crate) fn start(answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (heard, answer) = (Arc::new(Mutex::new(Vec::new())), Arc::new(answer));
        let all = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, all) = (Arc::clone(&answer), Arc::clone(&all));
                thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let request = read_request(&stream);
                    all.lock().unwrap().push(request.clone());
                    answer(&request, &mut stream);
                });
            }
        });
        Self { address, heard }
    }

    /// A server that always says the same.
    pub(crate) fn saying(response: impl Into<Vec<u8>>) -> Self {
        let response = response.into();
        Self::start(move |_, stream| {
            let _ = stream.write_all(&response);
        })
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn place(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Every request so far.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

fn read_request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    let mut length = 0;
    while !request.ends_with("\r\n\r\n") {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return request;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        request.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    request + &String::from_utf8(body).unwrap()
}

/// A whole response.
pub(crate) fn page(kind: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A redirect.
pub(crate) fn leading(status: u16, to: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} Elsewhere\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
        .into_bytes()
}
