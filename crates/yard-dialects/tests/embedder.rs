//! An embedder adds a tool of its own, to our dialect or to one of its own.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test prepares a disk and fails loudly"
)]

// The example is a test too; its `main` is for people.
#[allow(dead_code)]
#[path = "../examples/embed.rs"]
mod embed;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use yard_core::op::{LineStart, Read, Slice, Want};
use yard_dialects::{Answer, Catalog, Context, Dialect, Format, PathStyle, Stop, Tool, workspace};
use yard_testkit::TestWorkspace;

/// Shouts the first line of a file.
#[derive(Deserialize, JsonSchema)]
struct Args {
    /// The file.
    path: String,
    /// How often.
    #[serde(default = "once")]
    times: usize,
}

fn once() -> usize {
    1
}

#[derive(Serialize, JsonSchema)]
struct Reply {
    /// What was shouted.
    shout: String,
}

struct Shout;

impl Tool for Shout {
    type Args = Args;
    type Reply = Reply;
    const NAME: &'static str = "shout";

    fn run(args: Args, context: &Context<'_>) -> Result<Reply, Stop> {
        let answer = context.perform(Read {
            path: context.path(&args.path)?,
            slice: Slice::Lines { start: LineStart::FromStart(0), limit: Some(1) },
            want: Want::default(),
            max_bytes: context.limits().answer_bytes,
        })?;
        Ok(Reply { shout: answer.text.trim().to_uppercase().repeat(args.times) })
    }
}

const LOUD: Dialect = Dialect {
    name: "loud",
    about: "Shouting.",
    path_style: PathStyle::Rooted,
    error_code: |_, _| "NO",
    wrap_reply: |reply| Answer {
        ok: true,
        status: 200,
        body: reply.within("{\"LOUD\": ", "}"),
        pending: None,
    },
    wrap_stop: |tool, _| Answer {
        ok: false,
        status: 418,
        body: json!({"NO": tool}).into(),
        pending: None,
    },
};

fn call(
    catalog: &Catalog,
    workspace: &TestWorkspace,
    toolset: &str,
    tool: &str,
    args: Value,
) -> Answer {
    catalog.call(toolset, tool, args, &workspace.session(), &workspace.call_context())
}

#[test]
fn a_tool_of_an_embedder_is_a_tool_like_any_other() {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "hey\nyou\n");
    let mut catalog = Catalog::standard();
    catalog.register::<Shout>(&workspace::DIALECT);
    catalog.register::<Shout>(&LOUD);

    let args = json!({"path": "/a.txt", "times": "2"});
    let answer = call(&catalog, &workspace, "workspace", "shout", args.clone());
    assert_eq!(answer.body, json!({"success": true, "result": {"shout": "HEYHEY"}, "error": null}));
    assert_eq!(
        call(&catalog, &workspace, "loud", "shout", args).body,
        json!({"LOUD": {"shout": "HEYHEY"}})
    );
    assert_eq!(call(&catalog, &workspace, "loud", "shout", json!({})).status, 418);
    assert_eq!(call(&catalog, &workspace, "loud", "read", json!({})).status, 404, "F1");

    let wrong = call(&catalog, &workspace, "workspace", "shout", json!({"pth": "/a.txt"}));
    assert!(wrong.body["fields"]["pth"].as_str().unwrap().contains("`path`"));

    let definitions = catalog.definitions("loud", Format::Anthropic);
    assert_eq!(definitions[0]["name"], "shout");
    assert_eq!(definitions[0]["description"], "Shouts the first line of a file.");
    assert!(yard_dialects::docs::markdown(&catalog).contains("## Toolset `loud`"));
    assert_eq!(call(&catalog, &workspace, "loudd", "shout", json!({})).status, 404);
}

#[test]
fn the_example_does_what_it_says() {
    let (root, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let said = embed::run(root.path(), state.path()).unwrap();
    let expected = [
        r#"{"success":true,"result":{"success":true,"bytes_written":18},"error":null}"#,
        r#"{"success":true,"result":{"words":3},"error":null}"#,
    ];
    assert_eq!(said, expected.join("\n"));
    let written = root.path().join("notes/today.txt");
    assert_eq!(std::fs::read_to_string(written).unwrap(), "three short words\n");
}
