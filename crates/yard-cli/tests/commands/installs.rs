//! `install_package` (A6): from indexes on loopback that these tests serve, through the box's only way out.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};
use yard_core::op::Undo;
use yard_dialects::Answer;
use yard_gate::{Actor, CallerPolicy, DecisionInput, Scope, Web};
use yard_net::Net;
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

use crate::box_setup::{asked, decide, guarded, newest, plan};
use crate::network::{Host, page, way_to, workspace_with};
use crate::programs::run;

/// An index on loopback: what it has, and what it was asked for.
struct Index {
    place: String,
    files: Arc<Mutex<HashMap<String, Vec<u8>>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Index {
    fn serve() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap().to_string();
        let index = Self { place, files: Arc::default(), asked: Arc::default() };
        let (files, asked) = (Arc::clone(&index.files), Arc::clone(&index.asked));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream, &files, &asked);
            }
        });
        index
    }

    fn has(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.files.lock().unwrap().insert(path.to_owned(), bytes.into());
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.place)
    }
}

fn answer(
    mut stream: TcpStream,
    files: &Mutex<HashMap<String, Vec<u8>>>,
    asked: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.lock().unwrap().push(path.clone());
    let found = files.lock().unwrap().get(&path).cloned();
    let status = if found.is_some() { "200 OK" } else { "404 Not Found" };
    let body = found.unwrap_or_default();
    let kind = if path.ends_with('/') { "text/html" } else { "application/octet-stream" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)
}

fn workspace(web: Web) -> TestWorkspace {
    TestWorkspace::open(&Folders::new(), OpenOptions { web, ..plan() }).unwrap()
}

/// A call of `assistant`, as an agent makes it under the guarded policy.
fn call(workspace: &TestWorkspace, tool: &str, args: Value) -> Answer {
    workspace.call_as(&guarded(workspace), "assistant", tool, args)
}

/// The answer after a person said yes, and what that person was shown.
fn installed(workspace: &TestWorkspace, args: Value) -> (Value, String) {
    let answer = call(workspace, "install_package", args);
    let id = asked(&answer);
    let shown = workspace.person().approvals().get(id).unwrap().request.diff;
    let approval = decide(workspace, id, true);
    let text = approval.answer.unwrap_or_else(|| panic!("asked again: {:?}", approval.status));
    let answer: Value = serde_json::from_str(&text).unwrap();
    (answer["body"]["result"].clone(), shown)
}

/// A wheel with one module.
fn wheel(folder: &Path) -> Vec<u8> {
    let code = "import sys, zipfile\n\
        z = zipfile.ZipFile(sys.argv[1], 'w')\n\
        z.writestr('tiny_yard.py', 'WORD = 42\\n')\n\
        m = 'tiny_yard-1.0.dist-info/'\n\
        z.writestr(m + 'METADATA', 'Metadata-Version: 2.1\\nName: tiny-yard\\nVersion: 1.0\\n')\n\
        z.writestr(m + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n\
        z.writestr(m + 'RECORD', '')\n\
        z.close()\n";
    let at = folder.join("tiny_yard-1.0-py3-none-any.whl");
    run(Command::new("python3").args(["-c", code]).arg(&at));
    fs::read(at).unwrap()
}

#[test]
fn a6_pip_installs_into_the_project_and_that_is_undone() {
    let temp = tempfile::tempdir().unwrap();
    let index = Index::serve();
    let file = "tiny_yard-1.0-py3-none-any.whl";
    index.has("/simple/tiny-yard/", format!("<a href=\"/files/{file}\">{file}</a>"));
    index.has(&format!("/files/{file}"), wheel(temp.path()));
    let web = Web::new(Net::default()).exempting(&index.place).unwrap();
    let workspace = workspace(web.installing_from("pip", &index.url("/simple/")).unwrap());
    workspace.put(".gitignore", ".venv\n");
    let (reply, shown) =
        installed(&workspace, json!({"manager": "pip", "packages": ["tiny-yard"]}));
    assert!(shown.contains("pip installs in /") && shown.contains("tiny-yard"), "{shown}");
    assert_eq!(reply["ok"], true, "{reply}");
    let found = run(Command::new("find").arg(workspace.root()).args(["-name", "tiny_yard.py"]));
    assert!(found.contains("/.venv/lib/"), "{found}");
    assert!(index.asked.lock().unwrap().iter().any(|path| path == "/simple/tiny-yard/"));
}

#[test]
fn a6_npm_installs_and_its_step_is_undone() {
    let temp = tempfile::tempdir().unwrap();
    fs::create_dir(temp.path().join("package")).unwrap();
    let manifest = json!({"name": "tiny-yard", "version": "1.0.0", "main": "index.js"});
    fs::write(temp.path().join("package/package.json"), manifest.to_string()).unwrap();
    fs::write(temp.path().join("package/index.js"), "module.exports = 42;\n").unwrap();
    run(Command::new("tar").args(["-czf", "p.tgz", "package"]).current_dir(temp.path()));
    let index = Index::serve();
    index.has("/tiny.tgz", fs::read(temp.path().join("p.tgz")).unwrap());
    let mut version = manifest;
    version["dist"] = json!({"tarball": index.url("/tiny.tgz")});
    let about = json!({"name": "tiny-yard", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}});
    index.has("/tiny-yard", about.to_string());
    let web = Web::new(Net::default()).exempting(&index.place).unwrap();
    let workspace = workspace(web.installing_from("npm", &index.url("/")).unwrap());
    workspace.put(".gitignore", "node_modules\n");
    let (reply, _) = installed(&workspace, json!({"manager": "npm", "packages": ["tiny-yard"]}));
    assert_eq!(reply["ok"], true, "{reply}");
    let manifest = fs::read_to_string(workspace.root().join("package.json")).unwrap();
    assert!(manifest.contains("tiny-yard"), "{manifest}");
    assert!(workspace.root().join("node_modules/tiny-yard/index.js").exists());
    let (step, _) = newest(&workspace);
    workspace.perform(Undo::of(step)).unwrap();
    assert!(!workspace.root().join("package.json").exists());
    assert!(!workspace.root().join("node_modules/tiny-yard").exists());
}

#[test]
fn a6_an_install_reaches_no_unnamed_host_of_this_machine() {
    let (index, other) = (Index::serve(), Index::serve());
    index.has("/simple/x/", "<a href=\"/files/none\">none</a>");
    let web = Web::new(Net::default()).exempting(&index.place).unwrap();
    let workspace = workspace(web.installing_from("pip", &index.url("/simple/")).unwrap());
    let url = other.url("/x-1.0.tar.gz");
    // The variables let programs reach their own box without the proxy: this one has to be made to use it.
    workspace.put(".venv/bin/python", "#!/bin/sh\nexec curl -sS --noproxy '' \"$9\"\n");
    fs::set_permissions(
        workspace.root().join(".venv/bin/python"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    let (reply, _) = installed(&workspace, json!({"manager": "pip", "packages": [url]}));
    assert_eq!(*other.asked.lock().unwrap(), Vec::<String>::new(), "{reply}");
}

/// A project whose "pip" fetches from two hosts, as an index and its files are on two.
fn fetching(workspace: &TestWorkspace, urls: &[String]) {
    let fetch = format!("#!/bin/sh\nexec curl -sSf {}\n", urls.join(" "));
    workspace.put(".venv/bin/python", &fetch);
    let at = workspace.root().join(".venv/bin/python");
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a6_a_yes_to_an_install_covers_its_hosts_and_by_a_rule_every_install() {
    let host = Host::serve(|_| page("said"));
    let names = ["index.example", "files.example"];
    let workspace = workspace_with(way_to(&names.map(|name| (name, host.port))));
    fetching(&workspace, &names.map(|name| format!("http://{name}:{}/", host.port)));
    let args = json!({"manager": "pip", "packages": ["left"]});
    let id = asked(&call(&workspace, "install_package", args.clone()));
    let row = workspace.person().approvals().get(id).unwrap();
    assert!(row.request.diff.contains("may reach every public host"), "{}", row.request.diff);
    let state = row.request.state;
    let decision = DecisionInput {
        approves: true,
        scope: Scope::Rule,
        reason: None,
        args: None,
        state,
        planned: None,
        parts: None,
    };
    let done = workspace
        .catalog()
        .decide(id, &decision, &workspace.person(), &workspace.call_context())
        .unwrap();
    assert!(done.answer.unwrap().contains("saidsaid"), "both hosts, and nobody was asked again");
    let saved = workspace.person().settings().unwrap().saved;
    let rule = json!({"effect": ["run"], "tool": "assistant.install_package", "then": "allow"});
    assert_eq!(saved[0].rule, rule);
    let again =
        call(&workspace, "install_package", json!({"manager": "pip", "packages": ["right"]}));
    assert!(again.ok && again.pending.is_none(), "{}", again.body);
    // Under `open` nothing asks; what a rule denies is denied there, too.
    let deny = json!({"rules": [{"host": "files.example", "then": "deny"}]});
    workspace
        .person()
        .change_settings(&workspace.call_context(), deny.as_object().unwrap())
        .unwrap();
    let open = workspace.session_of(Actor::LocalAgent, CallerPolicy::Open);
    let reply = workspace.call_as(&open, "assistant", "install_package", args);
    let error = &reply.body["result"]["error"];
    let message = error["message"].as_str().unwrap_or_else(|| panic!("{}", reply.body));
    assert!(message.contains(&format!("files.example:{}", host.port)), "{message}");
    assert_eq!(error["details"]["refusedHosts"], json!([format!("files.example:{}", host.port)]));
}

#[test]
fn a6_an_install_does_not_cover_what_only_commands_can_reach() {
    let host = Host::serve(|_| page("never"));
    let place = format!("own.example:{}", host.port);
    let web = way_to(&[]).reaching(&place).unwrap();
    let workspace = workspace_with(web.holding_for(std::time::Duration::from_millis(200)));
    fetching(&workspace, &[format!("http://{place}/")]);
    let (reply, _) = installed(&workspace, json!({"manager": "pip", "packages": ["left"]}));
    let message = reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{reply}"));
    assert!(message.contains("wait for a person's approval"), "{message}");
    assert!(message.contains(&place), "{message}");
}
