//! The files of the page, as a server sends them.

use crate::harness::Server;

#[test]
fn the_page_runs_nothing_but_its_own_files() {
    let server = Server::start();
    let page = server.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "require-trusted-types-for 'script'",
    ] {
        assert!(policy.contains(part), "{part}: {policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    let text = String::from_utf8(page.bytes.clone()).unwrap();
    for inline in ["<script>", "<style", " style=", " onclick=", "javascript:"] {
        assert!(!text.contains(inline), "{inline}");
    }
    for path in ["/web/main.js", "/web/style.css"] {
        assert!(text.contains(path), "{path}");
        let file = server.get(path);
        assert_eq!((file.status, file.header("content-security-policy")), (200, Some(policy)));
    }
}

#[test]
fn a_file_of_the_page_is_sent_once_and_small() {
    let server = Server::start();
    let whole = server.get("/web/main.js");
    let etag = whole.header("etag").unwrap();
    assert_eq!(whole.header("cache-control"), Some("no-cache"));
    let again = server.send("GET", "/web/main.js", &[("if-none-match", etag)], b"");
    assert_eq!((again.status, again.bytes.len()), (304, 0));
    for path in ["/web/nothing.js", "/web/../Cargo.toml", "/web/%2e%2e/Cargo.toml", "/web/", "/web"]
    {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
}
