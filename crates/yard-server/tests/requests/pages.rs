//! What browsers may do with the pages of the server.

use yard_dialects::Catalog;
use yard_server::http::routes;

use crate::harness::{Response, TestServer};

/// No route answers with HTML that loads, frames or runs something else, whatever it says.
#[test]
fn every_page_has_a_policy_that_allows_no_inline_style_and_no_frame() {
    let server = TestServer::start();
    let mut pages = 0;
    for route in routes(&Catalog::standard()) {
        let path = route.path.replace("{id}", &server.workspace).replace("{*path}", "index.html");
        let path: Vec<&str> =
            path.split('/').map(|part| if part.starts_with('{') { "x" } else { part }).collect();
        // A stream of events does not end.
        if route.method != "GET" || route.path.ends_with("/events") || route.is_protocol() {
            continue;
        }
        for with_token in [true, false] {
            let path = path.join("/");
            let stream = match with_token {
                true => server.begin("GET", &path, &[]),
                false => server.begin_as("GET", &path, &[]),
            };
            let answer = Response::read(stream);
            if !answer.header("content-type").is_some_and(|media| media.starts_with("text/html")) {
                continue;
            }
            pages += 1;
            let policy =
                answer.header("content-security-policy").unwrap_or_else(|| panic!("{path}"));
            for part in ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"] {
                assert!(policy.contains(part), "{path}: {policy}");
            }
            assert!(!policy.contains("unsafe"), "{path}: {policy}");
            assert_eq!(answer.header("x-frame-options"), Some("deny"), "{path}");
            assert!(!answer.text().contains(" style="), "{path}");
        }
    }
    // The page, the first steps, the documents, and two pages on which people decide, with and without a login.
    assert!(pages >= 12, "{pages}");
}
