//! Arguments that no schema foresaw, to every tool of the catalog: whatever is sent, the answer is an
//! envelope, and never a panic. `YARD_SOAK=1` sends ten times as many; `YARD_SEED=n` one of them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test prepares a disk and fails loudly"
)]

#[path = "fuzz_args/costs.rs"]
mod costs;

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use yard_core::WsPath;
use yard_core::op::{History, HistoryOf, Import, OnFolder, Remove, Undo};
use yard_dialects::Answer;
use yard_testkit::{FakeWorld, TestWorkspace};

const PLAIN: u64 = 2_000;
const SOAK: u64 = 20_000;

/// Largest answer, as it goes over a wire.
const MAX_ANSWER: usize = 1 << 20;
/// No call takes longer: nothing waits, nothing is large.
const MAX_CALL: Duration = Duration::from_secs(20);
/// After this many cases the files are made again.
const CASES_PER_YARD: u64 = 250;

const PLAN: &str = "/plans/bold-oak-tale.plan";
const SECRET: &str = "the secret outside of the root";

fn workspace() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    workspace.put("/notes.md", "# Notes\n\nalpha\nbeta\n");
    workspace.put("/src/main.rs", "fn main() {\n    println!(\"hello\");\n}\n");
    workspace.put("/src/deep/er/file.txt", "a\r\nb\r\n".repeat(400));
    workspace.put("/wide.txt", b"\xff\xfea\0\n\0");
    workspace.put("/data.bin", b"\0\x01\x02\xff");
    workspace.put("/caf\u{e9}/\u{1f600}", "smile\n");
    workspace.put("/long.txt", "x".repeat(300_000));
    workspace.put("/.gitignore", "*.log\n");
    workspace.put("/empty", "");
    workspace.put("/json.json", "{\"a\": [1, 2.50]}");
    workspace.call("plan_write", json!({"title": "P", "content": "alpha\nbeta\n", "path": PLAN}));
    let outside = workspace.root().join("../outside");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(outside.join("secret"), SECRET).unwrap();
    symlink("../outside", workspace.root().join("way-out")).unwrap();
    symlink("notes.md", workspace.root().join("link")).unwrap();
    symlink("loop", workspace.root().join("loop")).unwrap();
    workspace
}

struct Fuzz {
    dice: FakeWorld,
}

impl Fuzz {
    fn below(&self, bound: usize) -> usize {
        self.dice.below(bound)
    }

    fn one<T: Copy>(&self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn path(&self) -> String {
        let known = [
            "/",
            "/notes.md",
            "/src",
            "/src/main.rs",
            "/src/deep/er/file.txt",
            "/wide.txt",
            "/data.bin",
            "/caf\u{e9}/\u{1f600}",
            "/long.txt",
            "/empty",
            "/json.json",
            "/link",
            "/new.txt",
            "/new/deeper/file",
            "notes.md",
            "src/",
            "/missing",
        ];
        let tricks = [
            "",
            " ",
            ".",
            "..",
            "../../..",
            "/../../../etc/passwd",
            "/proc/self/root/etc/passwd",
            "/etc/passwd",
            "/way-out",
            "/way-out/secret",
            "/way-out/../notes.md",
            "/loop",
            "/loop/x",
            "//notes.md//",
            "/./notes.md/.",
            "/notes.md/x",
            "/src/../..",
            "~",
            "/a\0b",
            "\0",
            "C:\\Windows",
            "\\\\host\\share",
            "/%2e%2e/%2e%2e/etc/passwd",
            "file:///etc/passwd",
            "/\u{202e}gpj",
            "/e\u{301}",
            "/\\xff",
            "/\\x2e\\x2e/etc",
            "/.toolyard-staging",
            "/.toolyard-staging/x",
            "/workspace/notes.md",
            "-rf",
            "/*",
            "/new\nline",
            "/.git/config",
            "/\u{feff}",
            "/chats/x.chat",
            "$(id)",
            "`id`",
        ];
        match self.below(12) {
            0..=7 => self.one(&known).to_owned(),
            8..=10 => self.one(&tricks).to_owned(),
            _ => match self.below(4) {
                0 => format!("/{}", "n".repeat(self.one(&[254, 255, 256, 5_000]))),
                1 => "/d".repeat(self.one(&[50, 2_049, 40_000])),
                2 => format!("/src/{}", "../".repeat(self.below(5_000))),
                _ => self.text(),
            },
        }
    }

    fn plan(&self) -> String {
        let known = [PLAN, "/plans/new.plan", "/deep/er/new.plan", "/notes.md", "/missing.plan"];
        if self.below(4) == 0 { self.path() } else { self.one(&known).to_owned() }
    }

    /// Questions, most of them right.
    fn questions(&self) -> Value {
        let question = |at: usize| {
            let words = json!({"type": "string", "enum": ["Accept", "Reject"]});
            let several = json!({"type": "array", "items": words.clone()});
            let schema = match self.below(6) {
                0 => self.value(3),
                1 => json!(words.to_string()),
                2 => several,
                3 => json!({"type": "string", "pattern": self.text()}),
                _ => words,
            };
            let mut asked = json!({"name": format!("q{at}"), "question": "?", "schema": schema});
            if self.below(3) == 0 {
                asked["buttons"] = json!([{"label": "Accept", "value": "Accept"}]);
            }
            asked
        };
        (0..self.below(6)).map(question).collect()
    }

    fn text(&self) -> String {
        let pieces = [
            "a",
            "alpha",
            "\n",
            "\r\n",
            "\r",
            "\0",
            "\u{fffd}",
            "\u{1f600}",
            "e\u{301}",
            "(",
            ")*",
            "[",
            "]",
            "{",
            "}",
            "\\",
            "|",
            "^$",
            "(?=a)",
            "(a+)+$",
            "\\1",
            "**",
            "?",
            "%",
            "_",
            "{{",
            "\u{feff}",
            "\u{10ffff}",
            "'",
            "\"",
            "-",
            "--",
            "1",
            "true",
            "null",
            "[[:<:]]",
            "\\m",
            "{1000000}",
            "(?P<x",
            "[z-a]",
            "\u{7}",
            "\t",
            "/",
            "..",
        ];
        match self.below(12) {
            0 => "x".repeat(self.one(&[10_000, 300_000])),
            1 => "(".repeat(self.one(&[200, 5_000])),
            2 => "[".repeat(20_000),
            3 => self.number(),
            _ => (0..self.below(8)).map(|_| self.one(&pieces)).collect(),
        }
    }

    fn number(&self) -> String {
        let numbers = [
            "0",
            "1",
            "-1",
            "2",
            "50",
            "500",
            "1e3",
            "5.0",
            "5.5",
            "-0",
            "1e400",
            "-1e400",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "18446744073709551615",
            "18446744073709551616",
            "1e-400",
            "NaN",
            "0x10",
            " 7 ",
            "+3",
            "123456789012345678901234567890",
            "4294967296",
            "1_000",
        ];
        self.one(&numbers).to_owned()
    }

    /// Any JSON value.
    fn value(&self, depth: usize) -> Value {
        match self.below(if depth == 0 { 6 } else { 9 }) {
            0 => Value::Null,
            1 => Value::Bool(self.below(2) == 0),
            2 | 3 => serde_json::from_str(self.number().trim()).unwrap_or(Value::Null),
            4 => Value::String(self.text()),
            5 => Value::String(self.path()),
            6 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            7 => {
                let members = (0..self.below(4)).map(|_| (self.text(), self.value(depth - 1)));
                Value::Object(members.collect())
            }
            _ => {
                // As deep as a parser lets through.
                let inner = self.value(0);
                (0..self.below(120)).fold(inner, |inner, _| json!([inner]))
            }
        }
    }

    /// What the property of that name usually is.
    fn usual(&self, name: &str, schema: &Value) -> Value {
        let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or("");
        let about_plan = schema["description"].as_str().is_some_and(|about| about.contains("plan"));
        match (name, kind) {
            ("questions", _) => self.questions(),
            ("status", _) => self.one(&["draft", "approved", "done"]).into(),
            ("plan_file_path", _) => self.plan().into(),
            ("path", _) if about_plan => self.plan().into(),
            ("name", _) if about_plan => self.one(&["bold-oak-tale", "x", "../notes"]).into(),
            ("path" | "source" | "destination", _) => self.path().into(),
            ("paths", _) => (0..1 + self.below(4)).map(|_| self.path()).collect(),
            ("pattern" | "name" | "path_pattern", _) => {
                let usual = ["a", "*.rs", "**/*", "al.ha", "%.md", "src/*", "[a-z]+", "(?i)FN"];
                if self.below(3) == 0 { self.text().into() } else { self.one(&usual).into() }
            }
            ("patterns", _) => (0..self.below(3)).map(|_| self.text()).collect(),
            ("old_string", _) => self.one(&["alpha", "b\n", "main", "smile"]).into(),
            ("file_type", _) => {
                self.one(&["document", "plan", "folder", "Canvas", "chat", "film"]).into()
            }
            ("last_read_hash", _) => "0".repeat(self.one(&[64, 63, 0])).into(),
            ("content", _) if self.below(2) == 0 => self.value(3),
            (_, "boolean") => self.one(&[json!(true), json!(false)].each_ref()).clone(),
            (_, "integer") => json!(self.below(5)),
            (_, "array") => (0..self.below(3)).map(|_| self.text()).collect(),
            _ => self.text().into(),
        }
    }

    /// Arguments near enough to right ones to get past the first check.
    fn near(&self, schema: &Value) -> Value {
        let none = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&none);
        let required: Vec<&str> = schema["required"]
            .as_array()
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let mut args = Map::new();
        for (name, property) in properties {
            if required.contains(&name.as_str()) || self.below(4) == 0 {
                args.insert(name.clone(), self.usual(name, property));
            }
        }
        if properties.contains_key("overwrite") && self.below(4) > 0 {
            args.insert("content".to_owned(), self.value(3));
            args.insert("overwrite".to_owned(), json!(true));
            args.remove("last_read_hash");
        }
        if properties.contains_key("old_string") {
            let about = properties["path"]["description"].as_str().unwrap_or_default();
            let plan = [(PLAN, "alpha"), (PLAN, "beta")];
            let files = [("/notes.md", "alpha"), ("/src/main.rs", "main"), ("/wide.txt", "a")];
            self.pair(&mut args, if about.contains(".plan") { &plan } else { &files });
        }
        let mutations = self.below(4);
        for _ in 0..mutations.saturating_sub(1) {
            let names: Vec<&String> = properties.keys().collect();
            let name = names[self.below(names.len())].clone();
            match self.below(6) {
                0 => args.remove(&name),
                1 => args.insert(format!("{name}s"), self.value(1)),
                2 => args.insert(self.text(), self.value(2)),
                3 => args.insert(name, self.number().into()),
                _ => args.insert(name, self.value(3)),
            };
        }
        Value::Object(args)
    }

    /// Either a replacement or an insertion, as `edit` wants it.
    fn pair(&self, args: &mut Map<String, Value>, places: &[(&str, &str)]) {
        for name in ["old_string", "new_string", "insert_line", "insert_content"] {
            args.remove(name);
        }
        let (path, old) = self.one(places);
        if self.below(2) == 0 {
            args.insert("path".to_owned(), path.into());
        }
        args.remove("last_read_hash");
        if self.below(2) == 0 {
            args.insert("old_string".to_owned(), old.into());
            args.insert("new_string".to_owned(), self.text().into());
        } else {
            args.insert("insert_line".to_owned(), json!(self.below(4)));
            args.insert("insert_content".to_owned(), self.text().into());
        }
    }

    fn args(&self, schema: &Value) -> Value {
        match self.below(10) {
            0 => self.value(4),
            1 => Value::String(self.near(schema).to_string()),
            _ => self.near(schema),
        }
    }
}

fn judge(answer: &Answer) {
    let body = answer.body.as_object().expect("an envelope");
    assert_eq!(body["success"], answer.ok);
    let wire = answer.body.to_string();
    assert!(wire.len() < MAX_ANSWER, "an answer of {} bytes", wire.len());
    for word in ["root:x:0:", SECRET] {
        assert!(!wire.contains(word), "something outside of the root was read");
    }
    if answer.ok {
        assert_eq!(answer.status, 200);
        assert!(body.contains_key("result") && body["error"].is_null());
        return;
    }
    let status = answer.status;
    let code = body["code"].as_str().expect("a code");
    assert!(body["error"].as_str().is_some_and(|error| !error.is_empty()), "no message");
    let known =
        [(400, "VALIDATION_ERROR"), (403, "FORBIDDEN"), (404, "NOT_FOUND"), (409, "CONFLICT")];
    assert!(known.contains(&(status, code)), "{status} {code}");
    assert_eq!(body.contains_key("fields"), status == 400);
}

fn run(workspace: &TestWorkspace, seed: u64) -> (&'static str, u16) {
    let fuzz = Fuzz { dice: FakeWorld::new(seed) };
    let tools: Vec<_> = workspace.catalog().list("workspace").collect();
    let tool = tools[fuzz.below(tools.len())];
    let args = fuzz.args(tool.input_schema());
    let begun = Instant::now();
    let output = catch_unwind(AssertUnwindSafe(|| {
        let answer = workspace.call(tool.name(), args.clone());
        judge(&answer);
        answer
    }));
    let took = begun.elapsed();
    let shown = || args.to_string().chars().take(2_000).collect::<String>();
    match output {
        Ok(answer) => {
            assert!(took < MAX_CALL, "seed {seed}: {} took {took:?}: {}", tool.name(), shown());
            (tool.name(), answer.status)
        }
        Err(panic) => {
            eprintln!("seed {seed}: {} {}", tool.name(), shown());
            let answer =
                catch_unwind(AssertUnwindSafe(|| workspace.call(tool.name(), args.clone())));
            if let Ok(answer) = answer {
                let body: String = answer.body.to_string().chars().take(1_000).collect();
                eprintln!("called again, it answers {} {body}", answer.status);
            }
            resume_unwind(panic);
        }
    }
}

#[test]
fn any_arguments_get_a_clean_answer() {
    if let Some(seed) = std::env::var_os("YARD_SEED") {
        run(&workspace(), seed.to_str().unwrap().parse().unwrap());
        return;
    }
    let cases = if std::env::var_os("YARD_SOAK").is_some() { SOAK } else { PLAIN };
    let mut tally: BTreeMap<(&str, u16), u64> = BTreeMap::new();
    let mut place = workspace();
    for seed in 0..cases {
        if seed % CASES_PER_YARD == CASES_PER_YARD - 1 {
            assert_eq!(
                std::fs::read(place.root().join("../outside/secret")).unwrap(),
                SECRET.as_bytes()
            );
            place = workspace();
        }
        *tally.entry(run(&place, seed)).or_default() += 1;
    }
    eprintln!("{tally:?}");
    // Every tool was reached, and not only its door.
    for tool in place.catalog().list("workspace") {
        let of = |status| tally.get(&(tool.name(), status)).copied().unwrap_or_default();
        // Nobody accepts a plan here, so the way out of plan mode ends at its last check.
        let inside = if tool.name() == "exit_plan_mode" { of(403) } else { of(200) };
        assert!(inside > 0 && of(400) > 0, "{}: {tally:?}", tool.name());
    }
}

#[test]
fn tools_and_toolsets_that_do_not_exist_are_answers() {
    let workspace = workspace();
    for tool in ["", "nope", "READ", "read\0", "../read", "\u{1f600}"] {
        let answer = workspace.call(tool, json!({}));
        judge(&answer);
        assert_eq!(answer.status, 404, "{tool:?}");
    }
    let (session, call) = (workspace.session(), workspace.call_context());
    let answer = workspace.catalog().call("nope", "read", json!({}), &session, &call);
    judge(&answer);
    assert_eq!(answer.status, 404);
}

/// Largest answer that says what is wrong, whatever was sent.
const MAX_ERROR: usize = 256 << 10;

/// Arguments that are large in one way each, for every property that a tool has.
fn large(schema: &Value) -> Vec<Value> {
    let fuzz = Fuzz { dice: FakeWorld::new(8) };
    let unknown: Map<_, _> = (0..5_000).map(|at| (format!("unheard of {at}"), json!(1))).collect();
    let mut all = vec![
        Value::Object(unknown),
        json!({"\u{1b}\u{1f600}".repeat(20_000): 1}),
        json!("x".repeat(40_000)),
        json!(vec![json!(1); 20_000]),
    ];
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    for name in properties.keys() {
        for wrong in [
            json!("\"\u{1b}\\".repeat(40_000)),
            json!("/a".repeat(100_000)),
            json!("line\n".repeat(200_000)),
            json!(vec![json!("(".repeat(50)); 2_000]),
            json!(vec![json!({"unheard": "of"}); 2_000]),
            serde_json::from_str::<Value>(&"9".repeat(20_000)).unwrap(),
        ] {
            let usual = properties.iter().map(|(name, of)| (name.clone(), fuzz.usual(name, of)));
            let mut args: Map<String, Value> = usual.collect();
            args.insert(name.clone(), wrong);
            all.push(Value::Object(args));
        }
    }
    all
}

#[test]
fn g8_whatever_is_sent_to_any_tool_the_answer_has_a_bound() {
    let place = workspace();
    let (session, call) = (place.session(), place.call_context());
    let mut largest = (0, String::new());
    for dialect in place.catalog().dialects() {
        for tool in place.catalog().list(dialect.name) {
            for args in large(tool.input_schema()) {
                let sent = args.to_string().len();
                let answer = place.catalog().call(dialect.name, tool.name(), args, &session, &call);
                let reply = answer.body.to_string().len();
                let bound = if answer.ok { MAX_ANSWER + sent } else { MAX_ERROR };
                let name = format!("{} {}", dialect.name, tool.name());
                assert!(
                    reply <= bound,
                    "{name}: {sent} bytes sent, {reply} told: {:.300}",
                    answer.body.to_string()
                );
                if !answer.ok && reply > largest.0 {
                    largest = (reply, name);
                }
            }
        }
    }
    eprintln!("the largest answer that says what is wrong: {largest:?}");
}

/// As deep as a path may be: nothing recurses itself to death.
#[test]
fn r2_the_deepest_path_is_a_path() {
    // What a thread of a server usually has.
    let small = std::thread::Builder::new().stack_size(2 << 20);
    small.spawn(visit_the_deepest_path).unwrap().join().unwrap();
}

fn visit_the_deepest_path() {
    let workspace = workspace();
    let deep = "/d".repeat(2_000);
    let file = format!("{deep}/file");
    for (tool, args) in [
        ("write", json!({"path": file, "content": "deep\n"})),
        ("read", json!({"path": file})),
        ("edit", json!({"path": file, "old_string": "deep", "new_string": "deeper"})),
        ("grep", json!({"pattern": "deeper"})),
        ("glob", json!({"pattern": "file"})),
        ("find", json!({"name": "file"})),
        ("ls", json!({"path": deep})),
        ("file_info", json!({"path": file})),
        ("mv", json!({"source": "/d", "destination": "/e"})),
        ("mv", json!({"source": "/e", "destination": "/d"})),
    ] {
        let answer = workspace.call(tool, args);
        judge(&answer);
        assert!(answer.ok, "{tool}: {}", answer.body["error"]);
    }
    let root = WsPath::parse("/d").unwrap();
    let import = || Import { path: WsPath::root(), include_ignored: true };
    workspace.perform(import()).unwrap();
    workspace.perform(Remove { path: root, on_folder: OnFolder::WithContents }).unwrap();
    assert!(!workspace.has("/d"));
    let newest =
        workspace.perform(History { of: HistoryOf::Workspace, limit: 1, before: None }).unwrap();
    workspace.perform(Undo::of(newest.steps[0].id)).unwrap();
    assert_eq!(workspace.bytes(&file), b"deeper\n");
    std::fs::remove_dir_all(workspace.root().join("d")).unwrap();
    assert_eq!(workspace.perform(import()).unwrap().removed, 2_001);
}
