//! A web server on loopback that counts what it is sent, body by body.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

/// A web server that counts what it is sent.
#[derive(Clone, Default)]
pub(crate) struct Counter(Arc<Mutex<HashMap<String, usize>>>);

impl Counter {
    /// Serves on loopback until the test ends; its address.
    pub(crate) fn serve(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let counter = self.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counter = counter.clone();
                thread::spawn(move || counter.answer(stream));
            }
        });
        address
    }

    fn answer(&self, stream: std::net::TcpStream) {
        let mut reader = BufReader::new(&stream);
        let (mut length, mut line) = (0, String::new());
        while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            line.clear();
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_ok() && length > 0 {
            let mark = String::from_utf8_lossy(&body).into_owned();
            *self.0.lock().unwrap().entry(mark).or_default() += 1;
        }
        let output = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\
                    Connection: close\r\n\r\nok";
        let _ = (&stream).write_all(output.as_bytes());
    }

    pub(crate) fn count(&self, mark: &str) -> usize {
        self.0.lock().unwrap().get(mark).copied().unwrap_or(0)
    }
}
