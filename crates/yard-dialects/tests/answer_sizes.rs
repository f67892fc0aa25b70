//! How many bytes the answers of each dialect have, for the same forty requests over the same files:
//! listings, searches, reads and failures. Agents pay for every byte, so that none of the numbers in
//! `answer_sizes.tsv` may grow by accident. `YARD_RENEW=1` writes the table anew.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test prepares a disk, reads its table and fails loudly"
)]

use std::collections::BTreeMap;

use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/answer_sizes.tsv");
const DIALECTS: [&str; 6] = ["workspace", "file", "coder", "assistant", "codex", "filesystem"];

/// What is asked for, whatever the dialect.
#[derive(Clone, Copy)]
enum Ask {
    List(&'static str),
    ListAll(&'static str),
    Names(&'static str),
    Search(&'static str),
    Read(&'static str),
    Part(&'static str, u64),
    Missing(&'static str),
    Wrong(&'static str),
}

const ASKS: [Ask; 40] = [
    Ask::List("."),
    Ask::List("src"),
    Ask::List("src/parser"),
    Ask::List("src/server"),
    Ask::List("tests"),
    Ask::List("docs"),
    Ask::ListAll("."),
    Ask::ListAll("src"),
    Ask::ListAll("docs"),
    Ask::ListAll("tests"),
    Ask::Names("**/*.rs"),
    Ask::Names("**/*.md"),
    Ask::Names("src/**/*_test.rs"),
    Ask::Names("**/none.here"),
    Ask::Search("fn parse"),
    Ask::Search("TODO"),
    Ask::Search("Result<Token"),
    Ask::Search("use crate"),
    Ask::Search("pub struct"),
    Ask::Search("return None"),
    Ask::Search("absent_from_everything"),
    Ask::Search("error"),
    Ask::Read("README.md"),
    Ask::Read("src/main.rs"),
    Ask::Read("src/parser/token_0.rs"),
    Ask::Read("src/parser/token_1.rs"),
    Ask::Read("src/server/route_3.rs"),
    Ask::Read("docs/chapter_0.md"),
    Ask::Part("src/parser/token_0.rs", 0),
    Ask::Part("src/parser/token_0.rs", 10),
    Ask::Part("src/server/route_1.rs", 20),
    Ask::Part("docs/chapter_1.md", 5),
    Ask::Missing("src/absent.rs"),
    Ask::Missing("absent/folder/file.rs"),
    Ask::Missing("../outside.rs"),
    Ask::Missing("src"),
    Ask::Wrong("src/main.rs"),
    Ask::Wrong("README.md"),
    Ask::Wrong("docs/chapter_0.md"),
    Ask::Wrong("src/parser/token_1.rs"),
];

impl Ask {
    fn group(self) -> &'static str {
        match self {
            Self::List(_) | Self::ListAll(_) => "listings",
            Self::Names(_) => "names",
            Self::Search(_) => "searches",
            Self::Read(_) | Self::Part(..) => "reads",
            Self::Missing(_) | Self::Wrong(_) => "failures",
        }
    }

    /// The call of one dialect. One that cannot search contents searches for names.
    fn call(self, dialect: &str) -> (&'static str, Value) {
        match dialect {
            "workspace" => self.workspace(),
            "file" => self.file(),
            "coder" => self.coder(),
            "assistant" => self.assistant(),
            "codex" => self.codex(),
            _ => self.filesystem(),
        }
    }

    fn workspace(self) -> (&'static str, Value) {
        match self {
            Self::List(path) => ("ls", json!({"path": path})),
            Self::ListAll(path) => ("ls", json!({"path": path, "recursive": true})),
            Self::Names(pattern) => ("glob", json!({"pattern": pattern})),
            Self::Search(pattern) => ("grep", json!({"pattern": pattern})),
            Self::Read(path) | Self::Missing(path) => ("read", json!({"path": path})),
            Self::Part(path, offset) => {
                ("read", json!({"path": path, "offset": offset, "limit": 5}))
            }
            Self::Wrong(path) => {
                ("edit", json!({"path": path, "old_string": "not in it", "new_string": "x"}))
            }
        }
    }

    fn file(self) -> (&'static str, Value) {
        match self {
            Self::List(path) => ("file.list", json!({"path": path})),
            Self::ListAll(path) => ("file.list", json!({"path": path, "pattern": "**/*"})),
            Self::Names(pattern) => ("file.list", json!({"pattern": pattern})),
            Self::Search(pattern) => ("file.search", json!({"pattern": pattern})),
            Self::Read(path) | Self::Missing(path) => ("file.read", json!({"path": path})),
            Self::Part(path, offset) => {
                ("file.read", json!({"path": path, "offset": offset + 1, "limit": 5}))
            }
            Self::Wrong(path) => {
                let patches = json!([{"find": "not in it", "replace": "x"}]);
                ("file.patch", json!({"path": path, "patches": patches}))
            }
        }
    }

    fn coder(self) -> (&'static str, Value) {
        match self {
            Self::List(path) => ("ls", json!({"dirPath": path})),
            Self::ListAll(path) => ("ls", json!({"dirPath": path, "recursive": true})),
            Self::Names(pattern) => ("glob", json!({"pattern": pattern})),
            Self::Search(_) => ("glob", json!({"pattern": "src/**/*.rs"})),
            Self::Read(path) | Self::Missing(path) => ("read", json!({"filePath": path})),
            Self::Part(path, offset) => {
                ("read", json!({"filePath": path, "offset": offset, "limit": 5}))
            }
            Self::Wrong(path) => {
                ("edit", json!({"filePath": path, "oldString": "not in it", "newString": "x"}))
            }
        }
    }

    fn assistant(self) -> (&'static str, Value) {
        match self {
            Self::List(path) => ("list_directory", json!({"path": path})),
            Self::ListAll(path) => ("list_directory", json!({"path": path, "recursive": true})),
            Self::Names(_) => ("list_directory", json!({"path": "tests"})),
            Self::Search(words) => ("search_code", json!({"query": words})),
            Self::Read(path) | Self::Missing(path) => ("read_file", json!({"path": path})),
            Self::Part(path, offset) => {
                ("read_file", json!({"path": path, "offset": offset, "limit": 5}))
            }
            Self::Wrong(path) => ("move_file", json!({"from": path, "to": "docs"})),
        }
    }

    fn codex(self) -> (&'static str, Value) {
        match self {
            Self::List(path) => ("list_dir", json!({"path": path, "depth": 1})),
            Self::ListAll(path) => ("list_dir", json!({"path": path, "depth": 9})),
            Self::Names(pattern) => ("grep_files", json!({"pattern": "mod", "include": [pattern]})),
            Self::Search(pattern) => ("grep_files", json!({"pattern": pattern})),
            Self::Read(path) | Self::Missing(path) => ("read_file", json!({"path": path})),
            Self::Part(path, offset) => {
                ("read_file", json!({"path": path, "offset": offset, "limit": 5}))
            }
            Self::Wrong(path) => {
                let patch = format!(
                    "*** Begin Patch\n*** Update File: {path}\n@@\n-not in it\n+x\n*** End Patch\n"
                );
                ("apply_patch", json!({"patch": patch}))
            }
        }
    }

    fn filesystem(self) -> (&'static str, Value) {
        match self {
            Self::List(path) => ("list_directory", json!({"path": path})),
            Self::ListAll(path) => ("directory_tree", json!({"path": path})),
            Self::Names(pattern) => ("search_files", json!({"path": ".", "pattern": pattern})),
            Self::Search(_) => ("search_files", json!({"path": "src", "pattern": "**/*.rs"})),
            Self::Read(path) | Self::Missing(path) => ("read_text_file", json!({"path": path})),
            Self::Part(path, _) => ("read_text_file", json!({"path": path, "head": 5})),
            Self::Wrong(path) => {
                let edits = json!([{"oldText": "not in it", "newText": "x"}]);
                ("edit_file", json!({"path": path, "edits": edits}))
            }
        }
    }
}

/// A small project, the same on every machine.
fn project() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    workspace.put("/README.md", "# Shop\n\nA parser and a server.\n\nTODO: say how to build it.\n");
    // What is ignored comes before every match, so that it is counted also where the answer is cut.
    workspace.put("/.gitignore", "build/\n");
    workspace.put("/build/debug/out.rs", "fn parse_ignored() {}\n");
    workspace
        .put("/src/main.rs", "mod parser;\nmod server;\n\nfn main() {\n    server::run();\n}\n");
    for number in 0..8 {
        workspace.put(&format!("/src/parser/token_{number}.rs"), token(number));
        workspace.put(&format!("/src/server/route_{number}.rs"), route(number));
        workspace.put(&format!("/tests/case_{number}_test.rs"), case(number));
    }
    for number in 0..4 {
        let lines =
            (0..30).map(|line| format!("Line {line} of chapter {number}, with an error.\n"));
        workspace.put(&format!("/docs/chapter_{number}.md"), lines.collect::<String>());
    }
    workspace
}

fn token(number: usize) -> String {
    let functions = (0..6).map(|nth| {
        format!(
            "/// Parses form {nth} of token {number}.\npub fn parse_{number}_{nth}(text: &str) -> Result<Token, ParseError> {{\n    \
             let mut rest = text.trim_start();\n    if rest.is_empty() {{\n        return None.ok_or(ParseError::Empty);\n    }}\n    \
             // TODO: report the column of the error.\n    Token::read(&mut rest, {nth})\n}}\n\n"
        )
    });
    format!("use crate::token::{{ParseError, Token}};\n\n{}", functions.collect::<String>())
}

fn route(number: usize) -> String {
    format!(
        "use crate::http::{{Reply, Request}};\n\npub struct Route{number} {{\n    pub path: String,\n    pub method: Method,\n}}\n\n\
         impl Route{number} {{\n    pub fn answer(&self, request: &Request) -> Reply {{\n        match request.method == self.method {{\n            \
         true => Reply::ok(),\n            false => Reply::error(405),\n        }}\n    }}\n}}\n"
    )
}

fn case(number: usize) -> String {
    format!(
        "use crate::parser;\n\n#[test]\nfn case_{number}() {{\n    assert!(parser::parse_{number}_0(\"x\").is_ok());\n}}\n"
    )
}

/// Bytes by dialect and group.
fn measured() -> BTreeMap<String, usize> {
    let workspace = project();
    let (session, call) = (workspace.session(), workspace.call_context());
    let mut sizes = BTreeMap::new();
    for dialect in DIALECTS {
        for ask in ASKS {
            let (tool, args) = ask.call(dialect);
            let answer = workspace.catalog().call(dialect, tool, args.clone(), &session, &call);
            let fails = ask.group() == "failures";
            assert_eq!(answer.ok, !fails, "{dialect}.{tool} {args}: {}", answer.body);
            let bytes = answer.body.to_string().len();
            *sizes.entry(format!("{dialect}\t{}", ask.group())).or_default() += bytes;
        }
    }
    sizes
}

#[test]
fn no_dialect_answers_at_greater_length_than_before() {
    let sizes = measured();
    let rows = sizes.iter().map(|(name, bytes)| format!("{name}\t{bytes}\n"));
    let written = format!("dialect\tgroup\tbytes\n{}", rows.collect::<String>());
    if std::env::var_os("YARD_RENEW").is_some() {
        std::fs::write(TABLE, &written).unwrap();
    }
    let table = std::fs::read_to_string(TABLE).unwrap();
    let mut known = BTreeMap::new();
    for line in table.lines().skip(1) {
        let (name, bytes) = line.rsplit_once('\t').unwrap();
        known.insert(name.to_owned(), bytes.parse::<usize>().unwrap());
    }
    let renew = "YARD_RENEW=1 cargo nextest run -p yard-dialects --test answer_sizes";
    assert_eq!(
        known.keys().collect::<Vec<_>>(),
        sizes.keys().collect::<Vec<_>>(),
        "other rows than in the table; write it anew with `{renew}`"
    );
    let mut grown = Vec::new();
    for (name, bytes) in &sizes {
        match bytes.cmp(&known[name]) {
            std::cmp::Ordering::Greater => {
                grown.push(format!("{name}: {bytes} bytes, {} before", known[name]));
            }
            std::cmp::Ordering::Less => eprintln!(
                "{name} is shorter than in the table ({bytes}, {} before): keep it so with `{renew}`",
                known[name]
            ),
            std::cmp::Ordering::Equal => {}
        }
    }
    assert!(
        grown.is_empty(),
        "answers have grown. If that is meant, write the table anew with `{renew}`:\n{}",
        grown.join("\n")
    );
}

/// The answer as it was when every match had its context, empty or not, and every answer all its counts.
fn with_what_is_empty(mut answer: Value) -> Value {
    let result = answer["result"].as_object_mut().unwrap();
    for (name, empty) in [("next", Value::Null), ("ignored", json!(0))] {
        result.entry(name).or_insert(empty);
    }
    for found in result["matches"].as_array_mut().unwrap() {
        let found = found.as_object_mut().unwrap();
        for name in ["before_context", "after_context"] {
            found.entry(name).or_insert(json!([]));
        }
    }
    answer
}

#[test]
fn w10_grep_has_a_quarter_fewer_bytes_than_with_what_is_empty() {
    let workspace = project();
    let (mut now, mut before) = (0, 0);
    for ask in ASKS.into_iter().filter(|ask| ask.group() == "searches") {
        let (tool, args) = ask.call("workspace");
        let answer = workspace.call(tool, args).body.into_value();
        now += answer.to_string().len();
        before += with_what_is_empty(answer).to_string().len();
    }
    eprintln!("{now} bytes, {before} with what is empty");
    assert!(now * 4 <= before * 3, "{now} of {before} bytes");
}
