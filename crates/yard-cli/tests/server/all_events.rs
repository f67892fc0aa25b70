//! The one stream of events of a person, over all workspaces.

use serde_json::{Value, json};

use crate::harness::{Server, Someone};
use crate::talk::Listener;

const BASE: &str = "/api/v1";

fn write(someone: &Someone<'_>, workspace: &str, path: &str) {
    someone.tool(workspace, "write", json!({"path": path, "content": "x"})).expect(200);
}

#[test]
fn what_happens_in_any_workspace_of_a_person_is_one_stream() {
    let server = Server::start();
    let (ada, eve) = (server.person(), server.person());
    let (one, two, foreign) = (ada.workspace(), ada.workspace(), eve.workspace());
    let mut live = Listener::open(&ada, BASE, None);
    live.greeted();
    write(&eve, &foreign, "/theirs");
    write(&ada, &one, "/a");
    let first = live.next("change");
    assert_eq!((&first.data["workspace"], &first.data["kind"]), (&json!(one), &json!("step")));
    let steps = ada.get(&format!("/api/v1/workspaces/{one}/steps")).expect(200);
    assert_eq!(first.data["ref"], steps["steps"][0]["id"]);
    let question = json!({"name": "q", "question": "Why?", "schema": {"type": "string"}});
    let args = json!({"questions": [question], "wait_ms": 0});
    let asked = ada.agent(&two, "member").tool(&two, "ask_user", args).expect(200);
    let second = live.next_of_kind("question.asked");
    assert_eq!(
        (&second["workspace"], &second["ref"]),
        (&json!(two), &asked["result"]["question_id"])
    );
    ada.agent(&one, "member").get("/api/v1/events").expect(403);
}

#[test]
fn a_stream_goes_on_where_it_broke_off_and_says_when_too_much_was_missed() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let mut live = Listener::open(&ada, BASE, None);
    live.greeted();
    write(&ada, &workspace, "/a");
    let seen = live.next("change").id;
    drop(live);
    write(&ada, &workspace, "/b");
    let newest = ada.get(&format!("/api/v1/workspaces/{workspace}/steps")).expect(200);
    let mut again = Listener::open(&ada, BASE, Some(&seen));
    let found = std::iter::repeat_with(|| again.next("change").data["ref"].clone())
        .take(2)
        .any(|step| step == newest["steps"][0]["id"]);
    assert!(found, "the event that happened meanwhile is sent");
    for number in 0..220 {
        write(&ada, &workspace, &format!("/many/{number}"));
    }
    for (since, what) in [(seen.as_str(), "too long ago"), ("17", "an id that was never sent")] {
        let mut late = Listener::open(&ada, BASE, Some(since));
        assert_eq!(late.next("reset").data, json!({}), "{what}");
    }
}

#[test]
fn a_workspace_that_is_joined_later_is_followed_and_one_that_is_left_is_not() {
    let server = Server::start();
    let (ada, bob) = (server.person(), server.person());
    let workspace = ada.workspace();
    let mut live = Listener::open(&bob, BASE, None);
    live.greeted();
    ada.invite(&workspace, &bob, "viewer");
    live.next("workspaces");
    write(&ada, &workspace, "/a");
    assert_eq!(live.next("change").data["workspace"], json!(workspace));
    ada.delete(&format!("/api/v1/workspaces/{workspace}/members/{}", bob.id)).expect(204);
    write(&ada, &workspace, "/b");
    assert_eq!(live.next("workspaces").data, json!({}), "nothing is said of what bob may not see");
}

#[test]
fn a_workspace_that_cannot_be_read_does_not_end_the_stream_of_the_others() {
    let mut server = Server::start();
    let (token, damaged, sound) = {
        let ada = server.person();
        let (damaged, sound) = (ada.workspace(), ada.workspace());
        write(&ada, &damaged, "/a");
        write(&ada, &sound, "/a");
        (ada.token.clone(), damaged, sound)
    };
    server.stop();
    let journal = server.data().join("journals").join(&damaged).join("journal.db");
    std::fs::write(journal, "no journal any more").unwrap();
    server.crash_and_restart();
    let ada = server.holder(&token);
    for since in [None, Some("2020-01-01T00:00:00.000Z")] {
        let mut live = Listener::open(&ada, BASE, since);
        live.greeted();
        write(&ada, &sound, since.map_or("/b", |_| "/c"));
        assert_eq!(live.next("change").data["workspace"], json!(sound));
    }
}

impl Listener {
    /// The data of the next change of this kind.
    fn next_of_kind(&mut self, kind: &str) -> Value {
        loop {
            let data = self.next("change").data;
            if data["kind"] == kind {
                return data;
            }
        }
    }
}
