//! A server with one person and one workspace, and a plain HTTP/1 client.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use yard_core::{Result, World};
use yard_dialects::Catalog;
use yard_gate::OpenWorkspace;
use yard_gate::admin::{AuthConfig, NewPerson, NewWorkspace, Opener, Server};
use yard_gate::registry::WorkspaceRow;
use yard_server::{App, BoundServer, ServerSettings};
use yard_store::SqliteRegistry;
use yard_testkit::{RealWorld, TestWorkspace};

/// No answer may take longer.
const TIMEOUT: Duration = Duration::from_secs(25);

/// Opens the one workspace of a test.
struct OneWorkspace(TestWorkspace);

impl Opener for OneWorkspace {
    fn admit_folder(&self, folder: &str) -> Result<String> {
        Ok(folder.to_owned())
    }

    fn overlap(&self, one: &str, other: &str) -> bool {
        one == other
    }

    fn open(&self, _: &WorkspaceRow) -> Result<Arc<OpenWorkspace>> {
        Ok(Arc::clone(self.0.opened()))
    }
}

/// A server that runs until the test's process ends.
pub(crate) struct TestServer {
    address: SocketAddr,
    pub(crate) workspace: String,
    token: String,
    _home: TempDir,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    head: String,
    body: Vec<u8>,
}

impl TestServer {
    pub(crate) fn start() -> Self {
        Self::start_with(Catalog::standard())
    }

    /// With these tools.
    pub(crate) fn start_with(catalog: Catalog) -> Self {
        let home = tempfile::tempdir().unwrap();
        let world: Arc<dyn World> = Arc::new(RealWorld);
        let registry = Arc::new(SqliteRegistry::open(home.path()).unwrap());
        let config = AuthConfig {
            secret: vec![7; 32],
            access_minutes: 60,
            refresh_days: 1,
            open_registration: true,
        };
        let opener = Box::new(OneWorkspace(TestWorkspace::new()));
        let admin = Server::new(registry, opener, world, config).unwrap();
        let person = NewPerson {
            email: "ada@example.com".to_owned(),
            password: "correct horse battery staple".to_owned(),
            confirm_password: None,
            full_name: None,
        };
        admin.register(&person, "127.0.0.1").unwrap();
        let login = admin.log_in(&person.email, &person.password, "127.0.0.1", None).unwrap();
        let identity = admin.identify(&login.access_token).unwrap();
        let wanted = NewWorkspace { name: "Work".to_owned(), folder: None };
        let workspace = admin.add_workspace(&identity, &wanted).unwrap().id.to_string();
        let app = App::new(admin, catalog, ServerSettings::default(), None);
        let server = BoundServer::at(([127, 0, 0, 1], 0).into()).unwrap();
        let address = server.address;
        std::thread::spawn(move || yard_server::serve(server, app, std::future::pending::<()>));
        Self { address, workspace, token: login.access_token, _home: home }
    }

    /// A path below the workspace's.
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/api/v1/workspaces/{}{rest}", self.workspace)
    }

    /// Sends the head of a request with the person's token, and leaves the body to the test.
    pub(crate) fn begin(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> TcpStream {
        let token = format!("Bearer {}", self.token);
        self.begin_as(method, path, &[headers, &[("authorization", &token)]].concat())
    }

    /// The same without a token.
    pub(crate) fn begin_as(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", self.address);
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    /// Sends a request with a body of JSON.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        let length = body.len().to_string();
        let json = [("content-type", "application/json"), ("content-length", length.as_str())];
        let mut stream = self.begin(method, path, &[headers, &json].concat());
        stream.write_all(body).unwrap();
        Response::read(stream)
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        Response::read(self.begin("GET", path, &[]))
    }
}

impl Response {
    pub(crate) fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
        let body = bytes.split_off(end);
        let head = String::from_utf8(bytes).unwrap().to_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let is_chunked = head.contains("transfer-encoding: chunked");
        let body = if is_chunked { without_chunks(&body) } else { body };
        Self { status, head, body }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let name = format!("{name}: ");
        self.head.lines().find_map(|line| line.strip_prefix(&name)).map(str::trim)
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The messages of a stream of events.
    pub(crate) fn messages(&self) -> Vec<Value> {
        let data = self.text().lines().filter_map(|line| line.strip_prefix("data: {"));
        data.map(|rest| serde_json::from_str(&format!("{{{rest}")).unwrap()).collect()
    }
}

fn without_chunks(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&body[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        whole.extend_from_slice(&body[end + 2..end + 2 + size]);
        body = &body[end + size + 4..];
    }
    whole
}
