//! Pages as they are read: Markdown from HTML, charsets, what is no text, and parts of what is long.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::{Server, page};
use super::{fails, fetch, workspace_reaching};

fn fetched(kind: &str, body: impl AsRef<[u8]>) -> Value {
    let server = Server::saying(page(kind, body));
    fetch(&workspace_reaching(&[&server]), json!({"url": server.url("/dir/page")}))
}

#[test]
fn a4_html_comes_as_markdown_and_its_source_when_asked() {
    let html = "<!doctype html><html><head><title>A page</title><style>p{}</style>\
        <script>var hidden = 1;</script></head><body><nav><a href='/'>Home</a></nav>\
        <main><h1>Heading</h1><p>Some <b>bold</b> text and a <a href='other?x=1'>link</a>.</p>\
        <ul><li>one</li><li>two</li></ul><pre><code>let x = 1;</code></pre>\
        <table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table></main></body></html>";
    let server = Server::saying(page("text/html", html));
    let workspace = workspace_reaching(&[&server]);
    let value = fetch(&workspace, json!({"url": server.url("/dir/page")}));
    let text = value["body"].as_str().unwrap();
    let link = format!("[link]({})", server.url("/dir/other?x=1"));
    for expected in ["A page", "# Heading", "**bold**", &link, "- one", "let x = 1;", "| A", "| 1"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    for unwanted in ["hidden", "p{}", "<p>"] {
        assert!(!text.contains(unwanted), "{unwanted}: {text}");
    }
    assert_eq!(value["status"], json!(200));
    assert_eq!(value["headers"]["content-type"], json!("text/html"));
    assert_eq!((&value["truncated"], &value["message"]), (&json!(false), &Value::Null));
    let source = fetch(&workspace, json!({"url": server.url("/"), "format": "html"}));
    assert_eq!(source["body"], json!(html));
}

#[test]
fn a4_what_is_in_forms_and_headers_stays_and_raised_digits_are_told_from_others() {
    let html = "<!doctype html><html><body><header><nav><a href='/'>Menu</a></nav><h1>Title</h1></header>\
        <form action='/search'><p>Inside the form</p><input name='q'></form>\
        <article><header><h2>Part</h2></header><p>x<sup>2</sup> and H<sub>2</sub>O</p></article>\
        </body></html>";
    let value = fetched("text/html", html);
    let text = value["body"].as_str().unwrap();
    for expected in ["# Title", "Inside the form", "## Part", "x^2^", "H~2~O"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains("Menu") && !text.contains("x2"), "{text}");
}

#[test]
fn what_is_sent_is_the_method_the_headers_and_the_body_and_what_comes_is_told_likewise() {
    let server = Server::saying(
        *b"HTTP/1.1 201 Made\r\nX-One: 1\r\nX-Two: a\r\nX-Two: b\r\nContent-Length: 4\r\n\r\ndone",
    );
    let workspace = workspace_reaching(&[&server]);
    let value = fetch(&workspace, json!({"url": server.url("/get"), "headers": {"X-Mine": "yes"}}));
    assert_eq!((&value["status"], &value["body"]), (&json!(201), &json!("done")));
    assert_eq!(
        (&value["headers"]["x-one"], &value["headers"]["x-two"]),
        (&json!("1"), &json!("a, b"))
    );
    let post = json!({
        "url": server.url("/post"), "method": "POST", "body": "{\"a\": 1}", "timeout": "20",
        "headers": {"Content-Type": "application/json"},
    });
    fetch(&workspace, post);
    let heard = server.heard();
    assert!(heard[0].starts_with("GET /get HTTP/1.1\r\n"), "{}", heard[0]);
    assert!(heard[0].to_ascii_lowercase().contains("\r\nx-mine: yes\r\n"), "{}", heard[0]);
    assert!(heard[1].starts_with("POST /post HTTP/1.1\r\n"), "{}", heard[1]);
    assert!(heard[1].to_ascii_lowercase().contains("\r\ncontent-type: application/json\r\n"));
    assert!(heard[1].ends_with("\r\n\r\n{\"a\": 1}"), "{}", heard[1]);
    for method in ["DELETE", "PUT"] {
        let (code, message) = fails(&workspace, json!({"url": server.url("/"), "method": method}));
        assert_eq!(code, "INVALID_ARGUMENTS", "{message}");
        assert!(message.contains("method: ") && message.contains("GET, POST"), "{message}");
    }
}

#[test]
fn what_is_no_html_stays_as_it_is() {
    for (kind, body) in [
        ("application/json", "{\"a\": [1, 2,  3]}"),
        ("text/plain; charset=utf-8", "<p>not a page</p>\n"),
        ("application/xml", "<?xml version=\"1.0\"?><a/>"),
        ("text/markdown", "# *as it is*"),
        ("image/svg+xml", "<svg/>"),
        ("", "plain"),
    ] {
        assert_eq!(fetched(kind, body)["body"], json!(body), "{kind}");
    }
    assert_eq!(fetched("", "<!DOCTYPE html><h1>x</h1>")["body"].as_str().unwrap().trim(), "# x");
    let missing = Server::saying(*b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone");
    let value = fetch(&workspace_reaching(&[&missing]), json!({"url": missing.url("/")}));
    assert_eq!((&value["status"], &value["body"]), (&json!(404), &json!("gone")));
}

#[test]
fn a_charset_is_honoured_wherever_it_is_said() {
    let utf16: Vec<u8> = "\u{feff}grüße".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let bare: Vec<u8> = "grüße".encode_utf16().flat_map(u16::to_be_bytes).collect();
    for (kind, body) in [
        ("text/plain; charset=ISO-8859-1", b"gr\xfc\xdfe".to_vec()),
        ("text/plain; charset=\"utf-8\"", "grüße".into()),
        ("text/plain", utf16.clone()),
        ("text/plain; charset=iso-8859-1", utf16),
        ("text/plain; charset=utf-16be", bare),
        ("text/plain; charset=latin1", "\u{feff}grüße".into()),
        ("text/html", b"<meta charset=windows-1252><p>gr\xfc\xdfe".to_vec()),
        (
            "text/html",
            b"<meta http-equiv=\"Content-Type\" content='text/html; charset=iso-8859-15'>gr\xfc\xdfe".to_vec(),
        ),
        ("text/plain; charset=no-such", "grüße".into()),
    ] {
        let value = fetched(kind, &body);
        assert_eq!(value["body"].as_str().unwrap().trim(), "grüße", "{kind} {body:?}");
    }
    let japanese = b"\x1b$B$3$s$K$A$O\x1b(B";
    assert_eq!(fetched("text/plain; charset=iso-2022-jp", japanese)["body"], json!("こんにちは"));
    let shift = b"\x82\xb1\x82\xf1\x82\xc9\x82\xbf\x82\xcd";
    assert_eq!(fetched("text/plain; charset=shift_jis", shift)["body"], json!("こんにちは"));
}

#[test]
fn what_is_no_text_is_said_to_be_none() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0".to_vec();
    for (kind, body) in [
        ("image/png", png.clone()),
        ("text/html", png.clone()),
        ("text/html; charset=windows-1252", png),
        ("application/pdf", b"%PDF-1.7\n...".to_vec()),
        ("text/plain", b"%PDF-1.7\n\xe2\xe3\xcf\xd3\n1 0 obj".to_vec()),
        ("application/octet-stream", vec![0, 1, 2, 3, 0xff]),
        ("application/json; charset=utf-8", b"PK\x03\x04\x14\0\0\0".to_vec()),
    ] {
        let server = Server::saying(page(kind, &body));
        let (code, message) =
            fails(&workspace_reaching(&[&server]), json!({"url": server.url("/")}));
        assert_eq!(code, "BINARY_FILE", "{kind}: {message}");
        assert!(message.contains("answered 200 with") && message.contains("JSON"), "{message}");
    }
}

#[test]
fn r12_a_long_text_is_read_in_parts() {
    let text: String = (0..60_000).map(|line| format!("zeile {line} ü\n")).collect();
    let server = Server::saying(page("text/plain; charset=utf-8", &text));
    let workspace = workspace_reaching(&[&server]);
    let (mut whole, mut offset) = (String::new(), json!(0));
    while !offset.is_null() {
        let value = fetch(&workspace, json!({"url": server.url("/"), "offset": offset}));
        whole.push_str(value["body"].as_str().unwrap());
        assert_eq!(value["truncated"], json!(!value["nextOffset"].is_null()));
        offset = value["nextOffset"].clone();
    }
    assert_eq!(whole, text);
    let past = fetch(&workspace, json!({"url": server.url("/"), "offset": 1_u64 << 40}));
    assert_eq!((&past["body"], &past["truncated"]), (&json!(""), &json!(false)));
}

#[test]
fn a4_no_page_is_too_deep_or_too_odd() {
    let deep = 100_000;
    let formatting: String = (0..500).map(|id| format!("<b id={id}>")).collect();
    let reopened: String = (0..20_000).map(|id| format!("<p><b id={id}>x")).collect();
    for (name, html) in [
        (
            "div",
            format!(
                "<p>before</p>{}deep{}<p>after</p>",
                "<div>".repeat(deep),
                "</div>".repeat(deep)
            ),
        ),
        ("open", format!("{}deep", "<span>".repeat(deep))),
        ("lists", format!("{}deep", "<ul><li>".repeat(deep))),
        ("quotes", format!("{}deep", "<blockquote>".repeat(deep))),
        ("tables", format!("{}deep", "<table><tr><td>".repeat(deep))),
        ("formatting", format!("{formatting}{}", "<p>x".repeat(50_000))),
        ("reopened", reopened),
        ("angles", "<".repeat(1_000_000)),
        ("comments", "<!--".repeat(100_000)),
        ("svg", format!("{}deep", "<svg><g>".repeat(deep))),
    ] {
        let begun = Instant::now();
        let value = fetched("text/html", &html);
        assert!(value["body"].as_str().unwrap().len() <= 256 << 10, "{name}");
        if name == "div" {
            assert!(value["body"].as_str().unwrap().contains("before"), "{value}");
            assert!(value["message"].as_str().unwrap().contains("left out"), "{value}");
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{name}: {:?}", begun.elapsed());
    }
    // What takes too long ends with its call, not with the page.
    let attributes: String = (0..600_000).map(|id| format!("a{id}=1 ")).collect();
    let server = Server::saying(page("text/html", format!("<p {attributes}>x")));
    let begun = Instant::now();
    let args = json!({"url": server.url("/"), "timeout": 2});
    let answer = super::call(
        &workspace_reaching(&[&server]),
        &workspace_reaching(&[&server]).session(),
        "web_fetch",
        args,
    );
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?} {}", begun.elapsed(), answer.body);
}
