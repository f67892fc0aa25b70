//! Under `guarded` the routes of files say of an effect what the tools say of it. A route cannot wait for a
//! person, so that it refuses what a tool asks for. And a key that was made for one toolset uses no other.

use serde_json::{Value, json};
use yard_testkit::Dice;

use crate::effects::{ChangeKind, Effect, FILE_TOOLS, ToolCall, Way, Whose};
use crate::harness::{Answer, Server, Someone};

/// Whose files there can be where nobody has the disk.
const OWNERS: [Whose; 4] = [Whose::Own, Whose::Persons, Whose::OtherChats, Whose::OwnButRewritten];
/// The bytes of what is no text, as the `assistant` writes them.
const BASE64: &str = "AAEC/wAH";

/// Where an effect is asked for.
#[derive(Clone, Copy)]
enum Door {
    /// `POST .../tools`
    Tool(&'static Way),
    /// `POST .../files`
    Upload,
    /// `PUT .../files/{id}/content`
    Content,
    /// `POST .../files/{id}/revert`
    Revert,
    /// `POST .../steps/{id}/undo`
    Undo,
}

impl Door {
    fn all() -> Vec<Self> {
        let routes = [Self::Upload, Self::Content, Self::Revert, Self::Undo];
        FILE_TOOLS.iter().map(Self::Tool).chain(routes).collect()
    }

    fn name(self) -> &'static str {
        match self {
            Self::Tool(way) => way.name,
            Self::Upload => "an upload",
            Self::Content => "new content",
            Self::Revert => "a revert",
            Self::Undo => "an undo",
        }
    }

    /// Whether an effect can be had here.
    fn can(self, effect: Effect, path: &str) -> bool {
        let changes_text = effect.before().is_some() && effect.after().is_some();
        match self {
            Self::Tool(way) => (way.of)(effect, path).is_some(),
            Self::Upload => effect.change_kind == ChangeKind::Create,
            Self::Content | Self::Revert => changes_text,
            // Nothing is taken back that others built upon.
            Self::Undo => {
                let removes = effect.change_kind == ChangeKind::Remove;
                changes_text || removes && effect.whose != Whose::OwnButRewritten
            }
        }
    }

    fn is_stricter(self) -> bool {
        matches!(self, Self::Tool(way) if way.is_stricter)
    }

    /// Whether the file needs a version before, to which it goes back.
    fn goes_back(self) -> bool {
        matches!(self, Self::Revert | Self::Undo)
    }
}

/// A workspace under `guarded`, its person, and an agent in it.
struct Setup<'a> {
    ada: Someone<'a>,
    agent: Someone<'a>,
    base: String,
    other_chat: String,
}

impl<'a> Setup<'a> {
    fn new(server: &'a Server) -> Self {
        let ada = server.person();
        let workspace = ada.workspace();
        let base = format!("/api/v1/workspaces/{workspace}");
        ada.ask("PUT", &format!("{base}/policy"), &json!({"preset": "guarded"})).expect(200);
        let agent = ada.agent(&workspace, "member");
        let chat = ada
            .post(&format!("{base}/chats"), json!({"title": "another", "mode": "build"}))
            .expect(201);
        let other_chat = chat["chat"]["id"].as_str().unwrap_or_else(|| panic!("{chat}")).to_owned();
        Self { ada, agent, base, other_chat }
    }

    fn call(&self, who: &Someone<'_>, made: &ToolCall, chat: Option<&str>) -> Answer {
        let mut body = json!({"toolset": made.toolset, "tool": made.tool, "args": made.args});
        body["wait_ms"] = json!(0);
        if let Some(chat) = chat {
            body["chat_id"] = json!(chat);
        }
        who.post(&format!("{}/tools", self.base), body)
    }

    /// Writes a file, after the person's yes where one is needed.
    fn write(&self, who: &Someone<'_>, path: &str, bytes: &[u8], chat: Option<&str>) {
        let mut args = json!({"path": path, "createDirs": true});
        match std::str::from_utf8(bytes) {
            Ok(text) => args["content"] = json!(text),
            Err(_) => (args["content"], args["encoding"]) = (json!(BASE64), json!("base64")),
        }
        let made = ToolCall { toolset: "assistant", tool: "write_file", args, edits: false };
        let answer = self.call(who, &made, chat);
        if answer.status == 202 {
            let reply = answer.json();
            let id = approval_in(&reply).unwrap_or_else(|| panic!("{reply}"));
            let one = format!("{}/approvals/{id}", self.base);
            let done = self.ada.decide(&one, json!({"decision": "approve"})).expect(200);
            assert_eq!(done["status"], "executed", "{done}");
        } else {
            let reply = answer.expect(200);
            assert_eq!(reply["success"], true, "{path}: {reply}");
        }
    }

    /// Makes what an effect finds, and where it goes back to.
    fn furnish(&self, effect: Effect, path: &str, goes_back: bool) {
        self.write(
            &self.ada,
            &format!("{}/other.txt", path.split('/').next().unwrap()),
            b"-\n",
            None,
        );
        let Some(before) = effect.before() else { return };
        let (who, chat) = match effect.whose {
            Whose::Own => (&self.agent, None),
            Whose::OtherChats => (&self.agent, Some(self.other_chat.as_str())),
            _ => (&self.ada, None),
        };
        if effect.whose == Whose::OwnButRewritten {
            self.write(&self.agent, path, b"what the agent wrote\n", None);
        }
        if let Some(after) = effect.after().filter(|_| goes_back) {
            self.write(who, path, after.as_bytes(), chat);
        }
        self.write(who, path, &before, chat);
    }

    fn ask(&self, door: Door, effect: Effect, path: &str) -> Answer {
        let base = &self.base;
        let raw = |method: &str, route: String, bytes: &[u8]| {
            let bearer = format!("Bearer {}", self.agent.token);
            self.agent.server.send(method, &route, &[("authorization", &bearer)], bytes)
        };
        let after = || effect.after().unwrap_or_default().into_bytes();
        match door {
            Door::Tool(way) => self.call(&self.agent, &(way.of)(effect, path).unwrap(), None),
            Door::Upload => raw("POST", format!("{base}/files?path=/{path}"), &after()),
            Door::Content => {
                raw("PUT", format!("{base}/files/{}/content", self.file(path)), &after())
            }
            Door::Revert => {
                let (file, versions) = self.versions(path);
                let body = json!({"version_id": versions[1]["id"]});
                self.agent.post(&format!("{base}/files/{file}/revert"), body)
            }
            Door::Undo => {
                let step = self.versions(path).1[0]["step_id"].as_str().unwrap().to_owned();
                self.agent.ask("POST", &format!("{base}/steps/{step}/undo"), &Value::Null)
            }
        }
    }

    fn file(&self, path: &str) -> String {
        let args = json!({"path": format!("/{path}")});
        let made = ToolCall { toolset: "workspace", tool: "file_info", args, edits: false };
        let info = self.call(&self.ada, &made, None).expect(200);
        info["result"]["id"].as_str().unwrap_or_else(|| panic!("{info}")).to_owned()
    }

    /// The file at a path, and its versions, newest first.
    fn versions(&self, path: &str) -> (String, Value) {
        let file = self.file(path);
        let found = self.ada.get(&format!("{}/files/{file}/versions", self.base)).expect(200);
        (file, found["versions"].clone())
    }
}

/// The request that an answer names, in whichever words its dialect has.
fn approval_in(reply: &Value) -> Option<String> {
    match reply {
        Value::Object(members) => {
            let is_id = |name: &str| matches!(name, "approval_id" | "approvalId");
            let own = members.iter().find(|(name, _)| is_id(name)).and_then(|(_, id)| id.as_str());
            own.map(str::to_owned).or_else(|| members.values().find_map(approval_in))
        }
        Value::Array(all) => all.iter().find_map(approval_in),
        _ => None,
    }
}

#[test]
fn b1_a_route_refuses_what_a_tool_asks_for_and_nothing_else() {
    let server = Server::start();
    let setup = Setup::new(&server);
    let mut dice = Dice::new(23);
    let doors = Door::all();
    let rounds = if std::env::var_os("YARD_SOAK").is_some() { 10 } else { 1 };
    let mut counted = [0; 2];
    let every = ChangeKind::ALL
        .into_iter()
        .flat_map(|change_kind| doors.iter().map(move |door| (change_kind, *door)));
    let every: Vec<(ChangeKind, Door)> = every.collect();
    for (at, (change_kind, door)) in (0..rounds).flat_map(|_| &every).enumerate() {
        let effect = Effect::draw(&mut dice, *change_kind, &OWNERS);
        let path = format!("w{at}/{}", effect.place.path());
        if !door.can(effect, &path) {
            continue;
        }
        setup.furnish(effect, &path, door.goes_back());
        let edits = matches!(door, Door::Tool(way) if (way.of)(effect, &path).is_some_and(|made| made.edits));
        let answer = setup.ask(*door, effect, &path);
        let body = String::from_utf8_lossy(&answer.bytes).into_owned();
        let asks = match door {
            Door::Tool(_) => answer.status == 202,
            _ => answer.status == 403 && body.contains("Only a tool can wait"),
        };
        let what = format!("{effect:?} by {}: {} {body}", door.name(), answer.status);
        let is_done = match door {
            Door::Tool(_) => answer.json()["success"] == true,
            _ => (200..300).contains(&answer.status),
        };
        assert!(asks || is_done, "{what}");
        match effect.asks(edits) {
            true => assert!(asks, "it did not ask: {what}"),
            false => assert!(!asks || door.is_stricter(), "it asked: {what}"),
        }
        counted[usize::from(asks)] += 1;
    }
    assert!(counted.iter().all(|count| *count > 20), "both verdicts are drawn: {counted:?}");
}

/// A call of each toolset that only looks.
fn looks() -> [(&'static str, &'static str, Value); 6] {
    [
        ("workspace", "ls", json!({})),
        ("file", "file.list", json!({})),
        ("coder", "ls", json!({"dirPath": "."})),
        ("assistant", "list_directory", json!({"path": "."})),
        ("codex", "list_dir", json!({"path": ".", "depth": 1, "offset": 0, "limit": 9})),
        ("filesystem", "list_directory", json!({"path": "."})),
    ]
}

#[test]
fn b1_a_key_for_one_toolset_uses_no_other_through_any_door() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    let made = ada.tool(&workspace, "write", json!({"path": "/a.txt", "content": "a\n"}));
    let file = made.expect(200)["result"]["file_id"].as_str().unwrap().to_owned();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    }});
    for (own, ..) in looks() {
        let key = json!({"name": own, "role": "member", "toolsets": [own]});
        let key = ada.post(&format!("{base}/keys"), key).expect(201);
        assert_eq!(key["toolsets"], json!([own]));
        let agent = server.holder(key["key"].as_str().unwrap());
        for (toolset, tool, args) in looks() {
            let may = if toolset == own { 200 } else { 403 };
            let body = json!({"toolset": toolset, "tool": tool, "args": args});
            // Some dialects tell their errors with status 200.
            let output = agent.post(&format!("{base}/tools"), body).json();
            assert_eq!(output["success"], toolset == own, "{own} calls {toolset}: {output}");
            let accept = [("accept", "application/json, text/event-stream")];
            let path = format!("/mcp/{workspace}?toolset={toolset}");
            let answer = agent.ask_with("POST", &path, &accept, &initialize);
            let output = String::from_utf8_lossy(&answer.bytes);
            assert_eq!(answer.status, may, "{own} speaks {toolset} over MCP: {output}");
        }
        let may = if own == "workspace" { 200 } else { 403 };
        assert_eq!(agent.get(&format!("{base}/files/{file}")).status, may, "{own}");
        assert_eq!(agent.get(&format!("{base}/files/{file}/content")).status, may, "{own}");
        assert_eq!(agent.get(&format!("{base}/files/{file}/versions")).status, may, "{own}");
    }
    // A key that names none is one for files, and there is none for a toolset that is not there.
    let plain = ada.post(&format!("{base}/keys"), json!({"name": "a", "role": "viewer"}));
    assert_eq!(plain.expect(201)["toolsets"], json!(["workspace"]));
    for wrong in [json!([]), json!(["nothing"]), json!(["workspace\ncoder"])] {
        let key = json!({"name": "a", "role": "member", "toolsets": wrong});
        ada.post(&format!("{base}/keys"), key).expect(400);
    }
}
