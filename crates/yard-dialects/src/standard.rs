//! The catalog of Toolyard's own dialects. A new dialect is a line of the table below.

use crate::catalog::Catalog;
use crate::dialect::Dialect;
use crate::tool::AnyTool;
use crate::{assistant, coder, codex, file, filesystem, history, workspace};

/// A dialect, and the function that lists its tools.
type Entry = (&'static Dialect, fn() -> Vec<AnyTool>);

const DIALECTS: [Entry; 6] = [
    (&workspace::DIALECT, workspace::tools),
    (&file::DIALECT, file::tools),
    (&coder::DIALECT, coder::tools),
    (&assistant::DIALECT, assistant::tools),
    (&codex::DIALECT, codex::tools),
    (&filesystem::DIALECT, filesystem::tools),
];

impl Catalog {
    /// A catalog without tools.
    pub fn empty() -> Self {
        Self::new(workspace::DIALECT, Vec::new())
    }

    /// The names of Toolyard's own toolsets, in order.
    pub fn toolset_names() -> Vec<&'static str> {
        DIALECTS.map(|(dialect, _)| dialect.name).to_vec()
    }

    /// Every tool that Toolyard has.
    pub fn standard() -> Self {
        let mut catalog = Self::new(workspace::DIALECT, history::tools());
        for (dialect, tools) in DIALECTS {
            tools().into_iter().for_each(|tool| catalog.add(dialect, tool));
        }
        catalog
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::{Value, json};

    use super::*;
    use crate::context::Context;
    use crate::stop::Stop;
    use crate::tool::{CallTraits, Hints, Tool, Work};

    /// Says hello.
    #[derive(Deserialize, JsonSchema)]
    struct HelloArgs {}

    #[derive(Serialize, JsonSchema)]
    struct HelloReply {}

    struct Hello;

    impl Tool for Hello {
        type Args = HelloArgs;
        type Reply = HelloReply;
        const NAME: &'static str = "ls";

        fn run(_: HelloArgs, _: &Context<'_>) -> Result<HelloReply, Stop> {
            Ok(HelloReply {})
        }
    }

    #[test]
    fn a_tool_of_the_same_name_is_replaced() {
        let mut catalog = Catalog::standard();
        let before = catalog.list("workspace").count();
        catalog.register::<Hello>(&workspace::DIALECT);
        assert_eq!(catalog.list("workspace").count(), before);
        assert_eq!(catalog.get("workspace", "ls").map(AnyTool::about), Some("Says hello."));
        assert_eq!(catalog.list("nowhere").count(), 0);
    }

    #[test]
    fn the_message_for_an_unknown_tool_names_the_nearest_one() {
        let catalog = Catalog::standard();
        let message = |name| catalog.unknown_tool_message("workspace", name);
        assert!(message("gerp").starts_with("Tool 'gerp' not found; did you mean 'grep'?"));
        assert!(message("read_file").contains("did you mean 'read'"));
        assert!(
            message("invalid_tool").starts_with("Tool 'invalid_tool' not found. Known: ls, read")
        );
    }

    struct Editor;

    impl Tool for Editor {
        type Args = HelloArgs;
        type Reply = HelloReply;
        const NAME: &'static str = "text_editor";

        fn traits(args: &Value) -> CallTraits {
            let looks = args["command"] == "view";
            let work = if looks { Work::Look } else { Self::WORK };
            let hints = if looks { Hints::LOOKS } else { Self::HINTS };
            CallTraits { work, hints, asks: Self::ASKS }
        }

        fn run(_: HelloArgs, _: &Context<'_>) -> Result<HelloReply, Stop> {
            Ok(HelloReply {})
        }
    }

    #[test]
    fn the_nature_of_a_call_may_depend_on_its_arguments() {
        let editor = AnyTool::of::<Editor>();
        let traits = |command| editor.traits(&json!({"command": command}));
        assert_eq!((traits("view").work, traits("view").hints.reads_only), (Work::Look, true));
        assert_eq!(
            (traits("insert").work, traits("insert").hints.reads_only),
            (Work::Change, false)
        );
        assert_eq!((editor.work(), editor.hints().reads_only), (Work::Change, false));
    }
}
