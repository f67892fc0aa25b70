//! The sessions with which the page of each dialect begins (`docs/dialects.md`): the calls of `sessions.json` are
//! made in a small workspace, and what they answer has to be what the page shows.
//!
//! To regenerate the sessions, and the page with them:
//!
//! ```text
//! RENEW_SESSIONS=1 cargo nextest run --workspace -E 'test(sessions::)'
//! cargo run -p yard-cli -- tools --format markdown > docs/dialects.md
//! ```

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};
use yard_testkit::TestWorkspace;

use super::call;

/// Characters of a line that are shown.
const LONGEST: usize = 240;

fn furnished() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    workspace.put(
        "/src/shapes.py",
        "import math\n\n\ndef circle_area(radius):\n    return math.pi * radius\n",
    );
    workspace.put("/README.md", "# Shapes\n");
    workspace
}

/// A value without what differs from run to run.
fn lasting(value: &Value) -> Value {
    match value {
        Value::String(text) if is_passing(text) => "…".into(),
        Value::Array(items) => items.iter().map(lasting).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), lasting(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// Whether a text is an id, a hash or a time.
fn is_passing(text: &str) -> bool {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_id =
        text.len() == 36 && text.matches('-').count() == 4 && is_hex(&text.replace('-', ""));
    let is_time = text.len() == 24 && text.ends_with('Z') && text.as_bytes()[10] == b'T';
    is_id || is_time || text.len() == 64 && is_hex(text)
}

fn cut(line: String) -> String {
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…\n", &line[..at]),
        None => format!("{line}\n"),
    }
}

/// The calls of a dialect, each with its answer below it.
fn session(dialect: &str, calls: &Value) -> String {
    let workspace = furnished();
    let mut text = String::new();
    for one in calls.as_array().unwrap() {
        let (tool, args) = (one[0].as_str().unwrap(), &one[1]);
        let answer = call(&workspace, dialect, tool, args.clone());
        assert!(answer.ok, "{dialect} {tool}: {}", answer.body);
        text.push_str(&cut(format!("> {tool} {args}")));
        text.push_str(&cut(lasting(&answer.body["result"]).to_string()));
    }
    text
}

#[test]
fn the_sessions_of_the_reference_are_what_their_calls_answer() {
    let sessions: Value = serde_json::from_str(include_str!("sessions.json")).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sessions");
    for (dialect, calls) in sessions.as_object().unwrap() {
        let (actual, file) = (session(dialect, calls), folder.join(format!("{dialect}.txt")));
        if std::env::var_os("RENEW_SESSIONS").is_some() {
            fs::write(&file, &actual).unwrap();
        }
        let stored = fs::read_to_string(&file).unwrap();
        assert_eq!(
            stored, actual,
            "{dialect}: the head of this file says how to regenerate sessions"
        );
    }
}
