//! Files by id, raw bytes, versions, trash and steps.

use serde_json::{Value, json};

use crate::bodies::resident;
use crate::harness::{Answer, Server, Someone};

/// A person in a workspace, and the path of its routes.
fn at_work(server: &Server) -> (Someone<'_>, String, String) {
    let ada = server.person();
    let workspace = ada.workspace();
    let base = format!("/api/v1/workspaces/{workspace}");
    (ada, workspace, base)
}

fn raw(
    someone: &Someone<'_>,
    method: &str,
    path: &str,
    more: &[(&str, &str)],
    body: &[u8],
) -> Answer {
    let bearer = format!("Bearer {}", someone.token);
    let mut headers = vec![("authorization", bearer.as_str())];
    headers.extend(more);
    someone.server.send(method, path, &headers, body)
}

fn id(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no id: {value}")).to_owned()
}

#[test]
fn raw_bytes_go_in_and_out() {
    let server = Server::start();
    let (ada, _, base) = at_work(&server);
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let made = raw(&ada, "POST", &format!("{base}/files?path=/deep/er/blob.bin"), &[], &bytes);
    let made = made.expect(201);
    let content = format!("{base}/files/{}/content", id(&made["file"]["id"]));
    let whole = raw(&ada, "GET", &content, &[], b"");
    assert_eq!((whole.status, &whole.bytes), (200, &bytes));
    let etag = whole.header("etag").unwrap().to_owned();
    assert_eq!(etag.trim_matches('"'), made["file"]["hash"].as_str().unwrap());
    assert_eq!(whole.header("content-disposition"), Some("attachment"));

    let part = raw(&ada, "GET", &content, &[("range", "bytes=1000-1999")], b"");
    assert_eq!((part.status, &part.bytes[..]), (206, &bytes[1000..2000]));
    assert_eq!(part.header("content-range"), Some("bytes 1000-1999/100000"));
    let tail = raw(&ada, "GET", &content, &[("range", "bytes=-5")], b"");
    assert_eq!(&tail.bytes[..], &bytes[99_995..]);
    let outside = raw(&ada, "GET", &content, &[("range", "bytes=100000-")], b"");
    assert_eq!(outside.expect(416)["code"], "RANGE_NOT_SATISFIABLE");
    assert_eq!(outside.header("content-range"), Some("bytes */100000"));
    assert_eq!(raw(&ada, "GET", &content, &[("if-none-match", &etag)], b"").status, 304);

    raw(&ada, "PUT", &content, &[("if-match", &etag)], b"second").expect(200);
    let stale = raw(&ada, "PUT", &content, &[("if-match", &etag)], b"third").expect(409);
    assert_eq!(stale["code"], "CONFLICT", "R7");
    assert_eq!(raw(&ada, "GET", &content, &[], b"").bytes, b"second");
    let again = raw(&ada, "POST", &format!("{base}/files?path=/deep/er/blob.bin"), &[], b"x");
    assert!([400, 409].contains(&again.status), "{:?}", again.json());
    raw(&ada, "POST", &format!("{base}/files?path=/../x"), &[], b"x").expect(400);
    raw(&ada, "POST", &format!("{base}/files"), &[], b"x").expect(400);
}

#[test]
fn an_upload_of_any_size_is_never_held() {
    let server = Server::start();
    let (ada, _, base) = at_work(&server);
    let before = resident(&server);
    let bytes: Vec<u8> =
        (0..200u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let made = raw(&ada, "POST", &format!("{base}/files?path=/large.bin"), &[], &bytes).expect(201);
    assert_eq!(made["file"]["size"], bytes.len());
    let content = format!("{base}/files/{}/content", id(&made["file"]["id"]));
    let back = raw(&ada, "GET", &content, &[], b"");
    assert!(back.bytes == bytes);
    let grown = resident(&server).saturating_sub(before);
    assert!(grown < 60 << 20, "{} MiB more", grown >> 20);
}

#[test]
fn an_upload_that_breaks_off_leaves_nothing() {
    let server = Server::start();
    let (ada, workspace, base) = at_work(&server);
    let cut = format!(
        "POST {base}/files?path=/a HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Length: 1000000\r\n\r\nonly this",
        ada.token
    );
    server.raw(cut.as_bytes());
    ada.tool(&workspace, "read", json!({"path": "/a"})).expect(404);
    assert_eq!(ada.get(&format!("{base}/steps")).expect(200)["steps"], json!([]));
}

#[test]
fn versions_are_listed_shown_and_gone_back_to() {
    let server = Server::start();
    let (ada, workspace, base) = at_work(&server);
    let write = |text: &str| {
        let args = json!({"path": "/a.txt", "content": text, "overwrite": true});
        ada.tool(&workspace, "write", args).expect(200)["result"].clone()
    };
    let first = write("one\n");
    let second = write("one\ntwo\n");
    let file = format!("{base}/files/{}", id(&first["file_id"]));
    let versions = ada.get(&format!("{file}/versions")).expect(200)["versions"].clone();
    let ids: Vec<_> =
        versions.as_array().unwrap().iter().map(|version| id(&version["id"])).collect();
    assert_eq!(ids, [id(&second["version_id"]), id(&first["version_id"])], "newest first");
    assert_eq!(versions[0]["actor"], format!("person:{}", ada.id));
    let shown = ada.get(&format!("{file}/versions/{}", ids[0])).expect(200)["version"].clone();
    assert_eq!(shown["content"], "one\ntwo\n");
    assert!(shown["diff"].as_str().unwrap().contains("+two"));
    let bytes = raw(&ada, "GET", &format!("{file}/versions/{}/content", ids[1]), &[], b"");
    assert_eq!(bytes.bytes, b"one\n");
    ada.post(&format!("{file}/revert"), json!({"version_id": ids[1]})).expect(200);
    let now = ada.tool(&workspace, "read", json!({"path": "/a.txt"})).expect(200);
    assert_eq!(now["result"]["content"], "one\n");
    assert_eq!(
        ada.get(&format!("{file}/versions")).expect(200)["versions"].as_array().unwrap().len(),
        3
    );
    // A version of another file is none of this one's.
    let other = ada.tool(&workspace, "write", json!({"path": "/b", "content": "b"})).expect(200);
    let foreign = id(&other["result"]["version_id"]);
    ada.post(&format!("{file}/revert"), json!({"version_id": foreign})).expect(404);
    ada.get(&format!("{file}/versions/{foreign}")).expect(404);
    ada.get(&format!("{file}/versions/{foreign}/content")).expect(404);
}

#[test]
fn what_was_removed_comes_back_or_is_purged_by_an_owner() {
    let server = Server::start();
    let (ada, workspace, base) = at_work(&server);
    let bob = server.person();
    ada.invite(&workspace, &bob, "member");
    let made = ada.tool(&workspace, "write", json!({"path": "/a", "content": "SECRET-BYTES"}));
    let file = format!("{base}/files/{}", id(&made.expect(200)["result"]["file_id"]));
    ada.tool(&workspace, "rm", json!({"path": "/a"})).expect(200);
    ada.get(&format!("{file}/content")).expect(404);
    let trash = ada.get(&format!("{base}/files/trash")).expect(200);
    assert_eq!(trash["files"][0]["path"], "/a");
    bob.post(&format!("{file}/restore"), Value::Null).expect(200);
    assert_eq!(raw(&bob, "GET", &format!("{file}/content"), &[], b"").bytes, b"SECRET-BYTES");
    bob.delete(&format!("{file}/purge")).expect(403);
    ada.delete(&format!("{file}/purge")).expect(409);
    ada.tool(&workspace, "rm", json!({"path": "/a"})).expect(200);
    assert_eq!(ada.delete(&format!("{file}/purge")).expect(200)["files"], 1);
    ada.post(&format!("{file}/restore"), Value::Null).expect(404);
    assert_eq!(ada.get(&format!("{base}/files/trash")).expect(200)["files"], json!([]));
    assert!(ada.get(&file).expect(200)["file"]["purged"].as_bool().unwrap());
}

#[test]
fn steps_are_paged_shown_and_undone() {
    let server = Server::start();
    let (ada, workspace, base) = at_work(&server);
    for nth in 0..5 {
        let args = json!({"path": format!("/{nth}"), "content": "x\n"});
        ada.tool(&workspace, "write", args).expect(200);
    }
    let page = ada.get(&format!("{base}/steps?limit=2")).expect(200);
    let next = page["next"].as_str().unwrap();
    let rest = ada.get(&format!("{base}/steps?limit=100&cursor={next}")).expect(200);
    assert_eq!(page["steps"][0]["path"], "/4", "newest first");
    assert_eq!((rest["steps"].as_array().unwrap().len(), &rest["next"]), (3, &Value::Null));
    let step = id(&page["steps"][1]["id"]);
    let shown = ada.get(&format!("{base}/steps/{step}")).expect(200);
    assert!(shown["step"]["changes"][0]["diff"].as_str().unwrap().contains("+x"));
    let undone = ada.post(&format!("{base}/steps/{step}/undo"), Value::Null).expect(200);
    assert_eq!(undone["paths"], json!(["/3"]));
    ada.tool(&workspace, "read", json!({"path": "/3"})).expect(404);
    let newest = ada.get(&format!("{base}/steps?limit=1")).expect(200);
    assert_eq!(newest["steps"][0]["undoes"], step);
    ada.post(&format!("{base}/steps/{}/undo", ada.id), Value::Null).expect(404);
    ada.get(&format!("{base}/steps/nothing")).expect(404);
}
