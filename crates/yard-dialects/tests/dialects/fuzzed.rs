//! Any arguments of any tool get an answer in the envelope of F1, without a panic.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use yard_testkit::TestWorkspace;

use super::call;

/// Values that callers send, right or wrong.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..5).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(vec![
            ".",
            "..",
            "/",
            "a.txt",
            "dir",
            "dir/b.txt",
            "new/c.txt",
            "/workspace/a.txt",
            "link",
            "*",
            "**/*.txt",
            "[",
            "(",
            "x",
            "slice",
            "indentation",
            "base64",
            "utf-8",
            "true",
            "7",
            "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y\n",
            "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n",
            "*** Begin Patch\n*** Update File: link\n*** Move to: dir\n*** End Patch\n",
        ])
        .prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 3, |inner| {
        let names = prop::sample::select(vec![
            "find",
            "replace",
            "oldString",
            "newString",
            "oldText",
            "newText",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((names, inner), 0..3).prop_map(|members| {
                let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
                Value::Object(members.collect::<Map<_, _>>())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn f1_any_arguments_have_an_answer(values in prop::collection::vec(value(), 40)) {
        let workspace = TestWorkspace::new();
        workspace.put("/a.txt", "x\n");
        workspace.put("/dir/b.txt", "x\nx\n");
        std::os::unix::fs::symlink("/etc", workspace.root().join("link")).unwrap();
        let mut values = values.into_iter().cycle();
        for toolset in ["file", "coder", "assistant", "codex", "filesystem"] {
            for tool in workspace.catalog().list(toolset) {
                let known = tool.input_schema()["properties"].as_object().unwrap();
                let args: Map<String, Value> =
                    known.keys().cloned().zip(values.by_ref()).collect();
                let answer = call(&workspace, toolset, tool.name(), args.clone().into());
                prop_assert_eq!(answer.status, 200, "{} {}", tool.name(), json!(args));
                prop_assert_eq!(&answer.body["success"], &json!(answer.ok));
                prop_assert_eq!(answer.body["error"].is_null(), answer.ok);
                prop_assert!(answer.body["result"].is_object());
            }
        }
    }
}
