//! What the box can do on this machine, over HTTP: for people, and without paths of the host.

use serde_json::json;

use crate::harness::Server;

#[test]
fn r13_people_see_what_the_box_can_do_and_no_path_of_the_host() {
    let server = Server::start();
    let ada = server.person();
    let workspace = ada.workspace();
    let said = ada.get("/api/v1/doctor").expect(200);
    let report = &said["doctor"];
    let level = server.get("/health").expect(200)["commands"].clone();
    assert_eq!((&report["level"], &report["ok"]), (&level, &json!(level == "full")));
    let findings = report["findings"].as_array().unwrap();
    let names: Vec<&str> = findings.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"namespaces") && names.contains(&"overlay"), "{names:?}");
    let text = said.to_string();
    for host in [server.data().to_str().unwrap(), "/home/", "/root/", "/tmp/", "/usr/"] {
        assert!(!text.contains(host), "{host}: {text}");
    }
    ada.agent(&workspace, "member").get("/api/v1/doctor").expect(403);
    server.get("/api/v1/doctor").expect(401);
}
