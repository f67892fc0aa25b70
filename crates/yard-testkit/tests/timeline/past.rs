//! Folders and files as they were after a step, under the rules of now.

use yard_core::op::{FetchAt, TreeAt};
use yard_core::{FaultCode, StepId};
use yard_testkit::{at, mv, replace, rm};

use super::Told;

fn tree(step: StepId, path: &str) -> TreeAt {
    TreeAt { step, path: at(path), skip: 0, limit: 100 }
}

fn fetch(step: StepId, path: &str) -> FetchAt {
    FetchAt { step, path: at(path), offset: 0, length: 1 << 20 }
}

fn paths(told: &Told, step: StepId, path: &str) -> Vec<String> {
    told.did(tree(step, path)).entries.iter().map(|entry| entry.path.to_string()).collect()
}

fn text(told: &Told, step: StepId, path: &str) -> String {
    String::from_utf8(told.did(fetch(step, path)).bytes).unwrap()
}

#[test]
fn a_folder_that_was_moved_later_is_where_it_was_then() {
    let told = Told::new();
    let first = told.write("/src/a", "1\n");
    let second = told.write("/b", "b\n");
    let edit = told.step(replace("/src/a", "1", "two"));
    let moved = told.step(mv("/src", "/lib"));
    let later = told.step(replace("/lib/a", "two", "3"));
    let gone = told.step(rm("/lib/a"));
    assert_eq!(paths(&told, first, "/"), ["/src"]);
    assert_eq!(paths(&told, edit, "/"), ["/src", "/b"], "folders first");
    assert_eq!(paths(&told, edit, "/src"), ["/src/a"]);
    assert_eq!(paths(&told, moved, "/"), ["/lib", "/b"]);
    assert_eq!(paths(&told, gone, "/lib"), [""; 0]);
    let texts = [first, second, edit].map(|step| text(&told, step, "/src/a"));
    assert_eq!(texts, ["1\n", "1\n", "two\n"]);
    assert_eq!([moved, later].map(|step| text(&told, step, "/lib/a")), ["two\n", "3\n"]);
    let entry = told.did(tree(edit, "/src")).entries.remove(0);
    assert_eq!((entry.size, entry.hash), (Some(4), Some(told.did(fetch(edit, "/src/a")).hash)));
    for (step, path) in [(moved, "/src/a"), (first, "/b"), (gone, "/lib/a"), (first, "/src/a/b")] {
        let fault = told.0.perform(fetch(step, path)).unwrap_err();
        assert_eq!(fault.code(), FaultCode::NotFound, "{fault}");
        assert!(fault.message().contains("list the tree"), "{fault}");
    }
    let fault = told.0.perform(fetch(first, "/src")).unwrap_err();
    assert_eq!(fault.code(), FaultCode::IsFolder);
    assert_eq!(told.0.perform(tree(edit, "/b")).unwrap_err().code(), FaultCode::NotFolder);
    assert_eq!(told.0.perform(tree(edit, "/none")).unwrap_err().code(), FaultCode::NotFound);
}

#[test]
fn a_large_folder_comes_in_pages_and_bytes_in_ranges() {
    let told = Told::new();
    let mut step = told.write("/z/file", "x\n");
    for number in 0..7 {
        step = told.write(&format!("/{number}"), "0123456789");
    }
    let mut names = Vec::new();
    loop {
        let page = told.did(TreeAt { skip: names.len(), limit: 3, ..tree(step, "/") });
        names.extend(page.entries.iter().map(|entry| entry.path.to_string()));
        if !page.truncated {
            break;
        }
    }
    assert_eq!(names, ["/z", "/0", "/1", "/2", "/3", "/4", "/5", "/6"]);
    let part = told.did(FetchAt { offset: 3, length: 4, ..fetch(step, "/1") });
    assert_eq!((part.bytes.as_slice(), part.size), (&b"3456"[..], 10));
    assert!(told.did(FetchAt { offset: 99, ..fetch(step, "/1") }).bytes.is_empty());
}

#[test]
fn what_is_hidden_now_is_hidden_then_wherever_it_was() {
    let told = Told::new();
    told.write("/open/a", "a\n");
    told.write("/open/b", "b\n");
    told.write("/secret/c", "c\n");
    let then = told.write("/gone/d", "d\n");
    told.step(mv("/open/b", "/secret/b"));
    told.step(mv("/gone", "/secret/gone"));
    told.step(rm("/secret/gone/d"));
    let hidden = &["/secret"];
    let seen = |path: &str| -> Vec<String> {
        let answer = told.restricted(tree(then, path), hidden).unwrap();
        answer.entries.iter().map(|entry| entry.path.to_string()).collect()
    };
    assert_eq!(seen("/"), ["/open"]);
    assert_eq!(seen("/open"), ["/open/a"]);
    for path in ["/open/b", "/secret/c", "/gone/d"] {
        let fault = told.restricted(fetch(then, path), hidden).unwrap_err();
        assert_eq!(fault.code(), FaultCode::NotFound, "{path}");
    }
    for path in ["/secret", "/gone"] {
        assert!(told.restricted(tree(then, path), hidden).is_err(), "{path}");
    }
    assert!(told.restricted(fetch(then, "/open/a"), hidden).is_ok());
}
