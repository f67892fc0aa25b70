//! Rulings about reading files: their lines, bytes and encodings, and how much one answer holds.

use std::process::Command;

use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

use crate::support::{each, invalid, lines, ok, on_disk};

#[test]
fn r4_slices_are_exact() {
    let workspace = TestWorkspace::new();
    workspace.put("/crlf.txt", "a\r\nb\r\nc");
    let result = ok(&workspace, "read", json!({"path": "/crlf.txt", "offset": 1, "limit": 1}));
    assert_eq!((&result["content"], &result["total_lines"]), (&json!("b\r\n"), &json!(3)));
    assert_eq!(result["truncated"], true);
    let result = ok(&workspace, "read", json!({"path": "/crlf.txt", "offset": 2}));
    assert_eq!((&result["content"], &result["truncated"]), (&json!("c"), &json!(false)));
}

/// Reads one line, however long, and all that follows it: by lines first, then by bytes.
fn read_on(workspace: &TestWorkspace, path: &str, line: u64) -> String {
    let first = ok(workspace, "read", json!({"path": path, "offset": line, "limit": 1}));
    assert_eq!(first["truncated"], true);
    let mut text = first["content"].as_str().unwrap().to_owned();
    let mut at = first["cut_at_byte"].clone();
    while at.is_u64() {
        let more = ok(workspace, "read", json!({"path": path, "byte_offset": at}));
        text.push_str(more["content"].as_str().unwrap());
        assert!(more["cut_at_byte"].is_null() || more["cut_at_byte"].as_u64() > at.as_u64());
        at = more["cut_at_byte"].clone();
    }
    text
}

#[test]
fn r4_a_line_over_the_bound_is_cut_and_read_on_by_bytes() {
    let workspace = TestWorkspace::new();
    let counted: String = (0..50_000).map(|number| format!("{number:06}é")).collect();
    workspace.put("/long.txt", format!("first\n{counted}\nlast\n"));
    assert!(read_on(&workspace, "/long.txt", 1) == format!("{counted}\nlast\n"));
}

#[test]
fn r4_a_long_line_of_a_large_file_is_read_on_by_bytes() {
    let workspace = TestWorkspace::new();
    let counted: String = (0..300_000).map(|number| format!("{number:06}é")).collect();
    assert!(counted.len() > 2 << 20);
    workspace.put("/long.txt", format!("first\n{counted}\nlast\n"));
    assert!(read_on(&workspace, "/long.txt", 1) == format!("{counted}\nlast\n"));
}

#[test]
fn r4_a_long_line_in_utf16_is_read_on_by_bytes() {
    let workspace = TestWorkspace::new();
    let counted: String = (0..50_000).map(|number| format!("{number:06}")).collect();
    workspace.put("/wide.txt", utf16(&counted));
    assert!(read_on(&workspace, "/wide.txt", 0) == counted);
}

#[test]
fn r5_encodings_line_ends_and_marks_stay() {
    let workspace = TestWorkspace::new();
    for (name, before, after) in [
        ("/crlf", b"a\r\nb\r\nc\r\n".to_vec(), b"a\r\nX\r\nY\r\nc\r\n".to_vec()),
        ("/bom", b"\xef\xbb\xbfa\nb\nc".to_vec(), b"\xef\xbb\xbfa\nX\nY\nc".to_vec()),
        ("/utf16", utf16("a\nb\nc"), utf16("a\nX\nY\nc")),
    ] {
        workspace.put(name, before);
        ok(&workspace, "edit", json!({"path": name, "old_string": "b\n", "new_string": "X\nY\n"}));
        assert_eq!(workspace.bytes(name), after, "{name}");
    }
}

fn utf16(text: &str) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

#[test]
fn r5_binary_files_are_refused_by_name() {
    let workspace = TestWorkspace::new();
    workspace.put("/image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    workspace.put("/nul.bin", b"a\0b");
    for path in ["/image.png", "/nul.bin"] {
        invalid(&workspace, "read", json!({"path": path}), "path");
        invalid(
            &workspace,
            "edit",
            json!({"path": path, "old_string": "a", "new_string": "b"}),
            "path",
        );
    }
    assert!(
        invalid(&workspace, "read", json!({"path": "/image.png"}), "path")
            .to_lowercase()
            .contains("png")
    );
}

#[test]
fn r6_the_hash_is_that_of_the_bytes_known_or_not() {
    let workspace = TestWorkspace::new();
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    workspace.put("/external", "abc");
    let made = ok(&workspace, "write", json!({"path": "/known", "content": "abc"}));
    assert_eq!(made["hash"], abc);
    for path in ["/external", "/known"] {
        assert_eq!(ok(&workspace, "read", json!({"path": path}))["hash"], abc);
        assert_eq!(ok(&workspace, "file_info", json!({"path": path}))["hash"], abc);
    }
}

#[test]
fn r12_text_answers_are_bounded_and_go_on() {
    let workspace = TestWorkspace::new();
    let bound = usize::try_from(workspace.session().limits().answer_bytes).unwrap();
    let text = lines(60_000);
    assert!(text.len() > 2 * bound);
    workspace.put("/big.txt", &text);
    let mut whole = String::new();
    let mut cursor = json!(0);
    while !cursor.is_null() {
        let page =
            ok(&workspace, "read", json!({"path": "/big.txt", "limit": 0, "cursor": cursor}));
        let content = page["content"].as_str().unwrap();
        assert!(content.len() <= bound && !content.is_empty());
        assert_eq!(page["truncated"], !page["cursor"].is_null());
        whole.push_str(content);
        cursor = page["cursor"].clone();
    }
    assert_eq!(whole, text);

    let cat =
        ok(&workspace, "cat", json!({"paths": ["/big.txt", "/big.txt"], "number_lines": true}));
    assert_eq!(cat["truncated"], true);
    assert!(cat["content"].as_str().unwrap().len() <= bound);
    let next = cat["files"][0]["next_offset"].as_u64().unwrap();
    let rest = ok(
        &workspace,
        "cat",
        json!({"paths": ["/big.txt"], "number_lines": true, "offset": next, "limit": 1}),
    );
    assert_eq!(rest["content"], format!("{:>6}\tline {next}\n", next + 1));

    let many =
        ok(&workspace, "read_multiple_files", json!({"paths": vec!["/big.txt"; 5], "limit": 0}));
    let total: usize = each(&many["files"], "content").iter().map(|text| text.len()).sum();
    assert!(total <= bound);
    for file in many["files"].as_array().unwrap() {
        assert_eq!(file["truncated"], true);
        assert!(file["cursor"].as_u64().unwrap() > 0);
    }

    let grep = ok(&workspace, "grep", json!({"pattern": "line", "limit": 0, "context": 2}));
    assert!(grep.to_string().len() < 4 * bound);
    assert!(grep["next"].is_string());
}

/// The bound is on the text that is answered, not on the bytes that it is decoded from.
#[test]
fn r12_decoded_text_is_bounded_too() {
    let workspace = TestWorkspace::new();
    let bound = usize::try_from(workspace.session().limits().answer_bytes).unwrap();
    let sentence = "Déjà vu à l'été: un café très serré, s'il vous plaît, et une crème brûlée.\n";
    let latin1: Vec<u8> = sentence.chars().map(|character| character as u8).collect();
    workspace.put("/legacy.txt", latin1.repeat(10_000));
    let read = ok(&workspace, "read", json!({"path": "/legacy.txt", "limit": 0}));
    let content = read["content"].as_str().unwrap();
    assert!(content.starts_with(sentence), "{}", &content[..100]);
    assert!(content.len() <= bound, "{} > {bound}", content.len());
}

/// Files that the kernel streams answer as those that it holds.
#[test]
fn r12_large_files_are_read_like_small_ones() {
    let workspace = TestWorkspace::new();
    let text = lines(200_000);
    assert!(text.len() > 2 << 20);
    workspace.put("/big.txt", &text);
    for (offset, limit, first) in
        [(0, 3, 0), (150_000, 2, 150_000), (-5, 2, 199_995), (-999_999, 1, 0)]
    {
        let args = json!({"path": "/big.txt", "offset": offset, "limit": limit});
        let result = ok(&workspace, "read", args);
        let expected: String =
            (first..first + limit).map(|line| format!("line {line}\n")).collect();
        assert_eq!(
            (&result["content"], &result["offset"]),
            (&json!(expected), &json!(first)),
            "{offset}"
        );
        assert_eq!(
            (&result["total_lines"], &result["cursor"]),
            (&json!(200_000), &json!(first + limit))
        );
    }
    let past = ok(&workspace, "read", json!({"path": "/big.txt", "offset": 999_999}));
    assert_eq!((&past["content"], &past["offset"]), (&json!(""), &json!(200_000)));
    assert_eq!((&past["truncated"], &past["cursor"]), (&json!(false), &Value::Null));
    let end = ok(&workspace, "read", json!({"path": "/big.txt", "offset": -2}));
    assert_eq!(
        (&end["content"], &end["truncated"]),
        (&json!("line 199998\nline 199999\n"), &json!(false))
    );
    assert_eq!(end["hash"], ok(&workspace, "file_info", json!({"path": "/big.txt"}))["hash"]);
    let cat =
        ok(&workspace, "cat", json!({"paths": ["/big.txt"], "offset": -1, "number_lines": true}));
    assert_eq!(cat["content"], "200000\tline 199999\n");
}

#[test]
fn w5_cursor_scrolls() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", lines(10));
    let first = ok(&workspace, "read", json!({"path": "/a", "limit": 4}));
    assert_eq!((&first["cursor"], &first["truncated"]), (&json!(4), &json!(true)));
    let second =
        ok(&workspace, "read", json!({"path": "/a", "limit": 4, "cursor": first["cursor"]}));
    assert_eq!((&second["offset"], &second["cursor"]), (&json!(4), &json!(8)));
    let back = ok(&workspace, "read", json!({"path": "/a", "limit": 1, "cursor": 8, "offset": -3}));
    assert_eq!(back["content"], "line 5\n");
    let last = ok(&workspace, "read", json!({"path": "/a", "limit": 4, "cursor": 8}));
    assert_eq!((&last["content"], &last["cursor"]), (&json!("line 8\nline 9\n"), &Value::Null));
    assert_eq!(last["truncated"], false);
}

#[test]
fn w5_offsets_resolve_and_are_never_errors() {
    let workspace = TestWorkspace::new();
    workspace.put("/external", lines(10));
    ok(&workspace, "write", json!({"path": "/known", "content": lines(10)}));
    for path in ["/external", "/known"] {
        for (offset, resolved, content) in [
            (-3, 7, lines(10)[49..].to_owned()),
            (-99, 0, lines(10)),
            (10, 10, String::new()),
            (99, 10, String::new()),
        ] {
            let result =
                ok(&workspace, "read", json!({"path": path, "offset": offset, "limit": 0}));
            assert_eq!(
                (&result["content"], &result["offset"]),
                (&json!(content), &json!(resolved)),
                "{path} {offset}"
            );
            assert_eq!(result["truncated"], false);
        }
    }
}

#[test]
fn w13_cat_is_gnu_cat_for_one_file() {
    let workspace = TestWorkspace::new();
    let text = "\n\n\tone \r\n\n\n\n  two\t\r\nthree\r";
    workspace.put("/a.txt", text);
    let place = on_disk(&workspace, "/a.txt");
    for (flags, args) in [
        (vec![], json!({})),
        (vec!["-E"], json!({"show_ends": true})),
        (vec!["-T"], json!({"show_tabs": true})),
        (vec!["-s"], json!({"squeeze_blank": true})),
        (vec!["-n"], json!({"number_lines": true})),
        (
            vec!["-E", "-T", "-n"],
            json!({"show_ends": true, "show_tabs": true, "number_lines": true}),
        ),
        (
            vec!["-E", "-T", "-s"],
            json!({"show_ends": true, "show_tabs": true, "squeeze_blank": true}),
        ),
    ] {
        let printed = Command::new("cat").args(&flags).arg(&place).output().unwrap().stdout;
        let mut args = args;
        args["paths"] = json!(["/a.txt"]);
        let result = ok(&workspace, "cat", args);
        assert_eq!(result["content"].as_str().unwrap().as_bytes(), printed, "{flags:?}");
        assert_eq!(result["files"][0]["content"], result["content"]);
    }
}

#[test]
fn w13_numbers_are_each_file_s_own() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", "1\n\n\n4\n");
    workspace.put("/b", "x\ny\n");
    let squeezed = ok(
        &workspace,
        "cat",
        json!({"paths": ["/a"], "squeeze_blank": true, "number_lines": true}),
    );
    assert_eq!(squeezed["content"], "     1\t1\n     2\t\n     4\t4\n");
    assert_eq!(squeezed["files"][0]["line_count"], 3);
    let two = ok(
        &workspace,
        "cat",
        json!({"paths": ["/b", "/b"], "number_lines": true, "show_headers": true}),
    );
    assert_eq!(
        two["content"],
        "==> /b <==\n     1\tx\n     2\ty\n\n==> /b <==\n     1\tx\n     2\ty\n"
    );
    let offset =
        ok(&workspace, "cat", json!({"paths": ["/a"], "offset": -1, "number_lines": true}));
    assert_eq!(offset["content"], "     4\t4\n");
}

#[test]
fn w13_unreadable_files_and_the_number_of_files() {
    let workspace = TestWorkspace::new();
    workspace.put("/a", "1\n");
    workspace.put("/bin", "\0");
    let result = ok(&workspace, "cat", json!({"paths": ["/a", "/none", "/bin", "/..", "/a"]}));
    assert_eq!(result["content"], "1\n1\n");
    for index in [1, 2, 3] {
        let file = &result["files"][index];
        assert!(file["error"].is_string() && file["content"].is_null(), "{file}");
    }
    invalid(&workspace, "cat", json!({"paths": []}), "paths");
    invalid(&workspace, "cat", json!({"paths": vec!["/a"; 21]}), "paths");
    ok(&workspace, "cat", json!({"paths": vec!["/a"; 20]}));
    invalid(&workspace, "read_multiple_files", json!({"paths": []}), "paths");
    invalid(&workspace, "read_multiple_files", json!({"paths": vec!["/a"; 51]}), "paths");
    ok(&workspace, "read_multiple_files", json!({"paths": vec!["/a"; 50]}));
}
