//! Marks on what a person has seen: their own, and of one content.

use serde_json::{Value, json};

use crate::harness::{Server, Someone};

fn mark(someone: &Someone<'_>, workspace: &str, path: &str, hash: &str, seen: bool) -> u16 {
    let body = json!({"path": path, "hash": hash, "seen": seen});
    someone.ask("PUT", &format!("/api/v1/workspaces/{workspace}/seen"), &body).status
}

fn marks(someone: &Someone<'_>, workspace: &str, query: &str) -> (Vec<Value>, Value) {
    let path = format!("/api/v1/workspaces/{workspace}/seen{query}");
    let page = someone.get(&path).expect(200);
    (page["seen"].as_array().unwrap().clone(), page["next"].clone())
}

#[test]
fn marks_are_by_person_path_and_content_and_survive_a_restart() {
    let mut server = Server::start();
    let (one, two) = ("a".repeat(64), "b".repeat(64));
    let (token, workspace) = {
        let (ada, bob, eve) = (server.person(), server.person(), server.person());
        let workspace = ada.workspace();
        ada.invite(&workspace, &bob, "member");
        ada.invite(&workspace, &eve, "viewer");
        for (path, hash) in [("/a", &one), ("/a", &one), ("/b", &one), ("/a", &two)] {
            assert_eq!(mark(&ada, &workspace, path, hash, true), 204);
        }
        let (first, next) = marks(&ada, &workspace, "?limit=2");
        let at = |path: &str, hash: &str| json!({"path": path, "hash": hash});
        assert_eq!(first, [at("/a", &one), at("/b", &one)]);
        let rest = format!("?cursor={}", next.as_str().unwrap());
        assert_eq!(marks(&ada, &workspace, &rest), (vec![at("/a", &two)], Value::Null));
        assert!(marks(&bob, &workspace, "").0.is_empty(), "another person's");
        assert_eq!(mark(&bob, &workspace, "/a", &one, false), 204);
        assert_eq!(marks(&ada, &workspace, "").0.len(), 3);
        assert_eq!(mark(&ada, &workspace, "/b", &one, false), 204);
        assert_eq!(mark(&ada, &workspace, "/never", &one, false), 204);
        assert_eq!(mark(&ada, &workspace, "/a", "nonsense", true), 400);
        assert_eq!(mark(&ada, &workspace, "../..", &one, true), 400);
        let agent = ada.agent(&workspace, "member");
        assert_eq!(mark(&agent, &workspace, "/a", &one, true), 403);
        assert_eq!(mark(&eve, &workspace, "/a", &one, true), 403, "a viewer");
        (ada.token, workspace)
    };
    assert!(server.stop().success());
    server.crash_and_restart();
    let left = marks(&server.holder(&token), &workspace, "").0;
    assert_eq!(left, [json!({"path": "/a", "hash": one}), json!({"path": "/a", "hash": two})]);
}
