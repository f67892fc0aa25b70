//! grep on files that are larger than what is loaded whole: a long line takes bounded memory, and the call can be ended
//! in the middle of a file.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests"
)]

use std::sync::Arc;

use yard_core::op::{Grep, GrepAnswer, Operation as _, PathFilter, RegexFlavor};
use yard_core::{Call, FaultCode, Result};
use yard_gate::{Asks, Completion, Origin};
use yard_testkit::{FakeWorld, TestWorkspace, at};

/// Most bytes of a line that a search reads.
const LINE_BYTES: usize = 8 << 20;

fn grep(workspace: &TestWorkspace, path: &str, call: &Call) -> Result<GrepAnswer> {
    let grep = Grep {
        pattern: "needle".to_owned(),
        flavor: RegexFlavor::Plain,
        case_sensitive: true,
        path: at(path),
        filter: PathFilter::All,
        before: 0,
        after: 0,
        include_ignored: false,
        limit: None,
        cursor: None,
    };
    let origin = Origin { toolset: "test", tool: Grep::VERB, asks: Asks::Never };
    match workspace.session().perform(origin, call, grep)? {
        Completion::Done(answer) => Ok(answer),
        Completion::Pending(pending) => panic!("a search asks nothing: {pending:?}"),
    }
}

/// The numbers of the lines that match.
fn lines(workspace: &TestWorkspace, path: &str) -> Vec<u64> {
    let found = grep(workspace, path, &workspace.call_context()).unwrap();
    found.matches.iter().map(|found| found.line).collect()
}

#[test]
fn only_the_start_of_a_very_long_line_is_searched_and_the_lines_after_it_are_found() {
    let workspace = TestWorkspace::new();
    let long = "x".repeat(LINE_BYTES);
    workspace
        .put("/long.txt", format!("needle {long} end\n{long} needle\r\nneedle\n{long}\nneedle"));
    assert_eq!(lines(&workspace, "/long.txt"), [1, 3, 5]);
    assert_eq!(lines(&workspace, "/"), [1, 3, 5]);
}

#[test]
fn wide_text_with_a_very_long_line_is_left_out_of_a_search_and_refused_by_its_name() {
    let workspace = TestWorkspace::new();
    let long = b"x\0".repeat(3 * LINE_BYTES);
    workspace.put("/wide.txt", [b"\xff\xfe", &long[..], b"\n\0n\0e\0e\0d\0l\0e\0"].concat());
    workspace.put("/plain.txt", "needle\n");
    assert_eq!(lines(&workspace, "/"), [1]);
    let fault = grep(&workspace, "/wide.txt", &workspace.call_context()).unwrap_err();
    assert!(fault.message().contains("line"), "{fault}");
}

#[test]
fn a_search_ends_with_its_call_in_the_middle_of_a_file() {
    let workspace = TestWorkspace::new();
    workspace.put("/many.txt", "nothing here\n".repeat((40 << 20) / 13));
    // This clock advances by a millisecond whenever the call is checked.
    let call = Call::new(Arc::new(FakeWorld::new(1)));
    for path in ["/many.txt", "/"] {
        let fault = grep(&workspace, path, &call.clone().within_millis(200)).unwrap_err();
        assert_eq!(fault.code(), FaultCode::Timeout, "{fault}");
    }
}
