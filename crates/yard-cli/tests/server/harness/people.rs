//! People with accounts, and agents with keys, who talk to the server of a test.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::{Answer, Server};

pub(crate) const PASSWORD: &str = "correct horse battery staple";

impl Server {
    /// A new person with an account, logged in.
    pub(crate) fn person(&self) -> Someone<'_> {
        let nth = self.people.fetch_add(1, Ordering::Relaxed);
        let email = format!("person-{nth}@example.com");
        let account = json!({"email": email, "password": PASSWORD, "full_name": "Some One"});
        self.post("/api/v1/auth/register", &account).expect(201);
        let login = json!({"email": email, "password": PASSWORD});
        let login = self.post("/api/v1/auth/login", &login).expect(200);
        let text = |name: &str| login[name].as_str().unwrap().to_owned();
        let id = login["user"]["id"].as_str().unwrap().to_owned();
        Someone {
            server: self,
            token: text("access_token"),
            refresh: text("refresh_token"),
            email,
            id,
        }
    }

    /// Somebody with this token or key.
    pub(crate) fn holder(&self, token: &str) -> Someone<'_> {
        Someone {
            server: self,
            token: token.to_owned(),
            refresh: String::new(),
            email: String::new(),
            id: String::new(),
        }
    }
}

/// Somebody who calls, with a token or a key.
#[derive(Clone)]
pub(crate) struct Someone<'a> {
    pub(crate) server: &'a Server,
    pub(crate) token: String,
    pub(crate) refresh: String,
    pub(crate) email: String,
    pub(crate) id: String,
}

impl<'a> Someone<'a> {
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.ask_with(method, path, &[], body)
    }

    /// With more headers.
    pub(crate) fn ask_with(
        &self,
        method: &str,
        path: &str,
        more: &[(&str, &str)],
        body: &Value,
    ) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let mut headers = vec![("authorization", bearer.as_str())];
        headers.extend(more);
        if body.is_null() {
            return self.server.send(method, path, &headers, b"");
        }
        headers.push(("content-type", "application/json"));
        self.server.send(method, path, &headers, body.to_string().as_bytes())
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &Value::Null)
    }

    pub(crate) fn post(&self, path: &str, body: Value) -> Answer {
        self.ask("POST", path, &body)
    }

    /// Decides on the request at `path`, as it is now.
    pub(crate) fn decide(&self, path: &str, mut decision: Value) -> Answer {
        decision["state_hash"] = self.get(path).expect(200)["state_hash"].clone();
        self.post(&format!("{path}/decision"), decision)
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", path, &Value::Null)
    }

    /// A new workspace of this person: its id.
    pub(crate) fn workspace(&self) -> String {
        let made = self.post("/api/v1/workspaces", json!({"name": "Work"})).expect(201);
        made["workspace"]["id"].as_str().unwrap().to_owned()
    }

    /// A key to a workspace of this person, and who holds it.
    pub(crate) fn agent(&self, workspace: &str, role: &str) -> Someone<'a> {
        let toolsets = ["workspace", "file", "coder", "assistant", "codex", "filesystem"];
        let key = json!({"name": "agent", "role": role, "toolsets": toolsets});
        let key = self.post(&format!("/api/v1/workspaces/{workspace}/keys"), key).expect(201);
        self.server.holder(key["key"].as_str().unwrap())
    }

    /// Makes another person a member of this one's workspace.
    pub(crate) fn invite(&self, workspace: &str, other: &Someone<'_>, role: &str) {
        let member = json!({"email": other.email, "role": role});
        self.post(&format!("/api/v1/workspaces/{workspace}/members"), member).expect(201);
    }

    /// Calls a tool.
    pub(crate) fn tool(&self, workspace: &str, tool: &str, args: Value) -> Answer {
        let body = json!({"tool": tool, "args": args});
        self.post(&format!("/api/v1/workspaces/{workspace}/tools"), body)
    }
}
