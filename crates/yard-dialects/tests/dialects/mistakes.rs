//! Common mistakes of models, and a caller that gets over each of them by doing what the error says. It knows the
//! tools' descriptions and nothing of the files: whatever it changes in its call stands in the words of the error.

use serde_json::{Value, json};
use yard_testkit::TestWorkspace;

use super::call;

/// A call as it was sent, which a [`Remedy`] changes.
struct Sent {
    tool: String,
    args: Value,
}

impl Sent {
    /// The text of an argument; `edits/0/find` is one of the first edit.
    fn text(&mut self, argument: &str) -> &mut String {
        let pointer = format!("/{argument}");
        match self.args.pointer_mut(&pointer) {
            Some(Value::String(text)) => text,
            other => panic!("{argument}: {other:?}"),
        }
    }

    fn set(&mut self, argument: &str, value: impl Into<Value>) {
        self.args[argument] = value.into();
    }
}

type Remedy = fn(&str, &mut Sent);

/// What stands between two pieces of a text.
#[track_caller]
fn between(words: &str, before: &str, after: &str) -> String {
    let (_, rest) = words.split_once(before).unwrap_or_else(|| panic!("no {before:?} in {words}"));
    let (found, _) = rest.split_once(after).unwrap_or_else(|| panic!("no {after:?} in {words}"));
    found.to_owned()
}

/// `X: unknown argument; did you mean Y?`: what was sent as X is sent as Y.
fn rename_argument(words: &str, sent: &mut Sent) {
    let (before, rest) = words.split_once(": unknown argument; did you mean `").unwrap();
    let wrong = before.rsplit([' ', ';']).next().unwrap();
    let right = rest.split('`').next().unwrap();
    // `edits[0].find` is a member of the first edit.
    let (above, wrong) = wrong.rsplit_once('.').unwrap_or(("", wrong));
    let above = above.replace('[', "/").replace(']', "");
    let pointer = if above.is_empty() { above } else { format!("/{above}") };
    let object = sent.args.pointer_mut(&pointer).and_then(Value::as_object_mut).unwrap();
    let value = object.remove(wrong).unwrap();
    object.insert(right.to_owned(), value);
}

/// As [`rename_argument`], for every argument that the words name.
fn rename_arguments(words: &str, sent: &mut Sent) {
    let mut rest = words;
    while let Some(at) = rest.find(": unknown argument; did you mean `") {
        rename_argument(rest, sent);
        rest = &rest[at + 2..];
    }
}

/// Each unknown argument is sent as the missing one, in their order.
fn move_to_missing(words: &str, sent: &mut Sent) {
    let names = |mark: &str| -> Vec<String> {
        let parts = words.split(mark);
        let names = parts.map(|part| part.rsplit([' ', ';', '\n']).next().unwrap().to_owned());
        let mut names: Vec<String> = names.collect();
        names.pop();
        names
    };
    let (unknown, missing) = (names(": unknown argument"), names(": missing"));
    assert_eq!(unknown.len(), missing.len(), "{words}");
    for (wrong, right) in unknown.iter().zip(&missing) {
        let value = sent.args.as_object_mut().unwrap().remove(wrong).unwrap();
        sent.set(right, value);
    }
}

/// `expected one of a, b, c, got ...`: the first is sent.
fn take_first_value(words: &str, sent: &mut Sent) {
    let (before, _) = words.split_once(": expected one of ").unwrap();
    let argument = before.rsplit([' ', '\n']).next().unwrap().to_owned();
    let first = between(words, ": expected one of ", ",");
    sent.set(&argument, first);
}

/// `the file has A, you sent B`: A is put for B, in whichever argument it is.
fn send_what_the_file_has(words: &str, sent: &mut Sent) {
    let has = between(words, "the file has `", "`, you sent `");
    let was_sent = between(words, "`, you sent `", "`");
    let args = sent.args.to_string();
    let quoted = |text: &str| {
        let quoted = Value::from(text.replace("\\t", "\t")).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let changed = args.replacen(&quoted(&was_sent), &quoted(&has), 1);
    assert_ne!(args, changed, "{words}");
    sent.args = serde_json::from_str(&changed).unwrap();
}

/// `The file has there:` and the lines: they are what is looked for.
fn send_the_lines(argument: &str, words: &str, sent: &mut Sent) {
    let (_, lines) = words.split_once("The file has there:\n").unwrap();
    let (lines, _) = lines.rsplit_once("\nSend the text").unwrap();
    *sent.text(argument) = lines.to_owned();
}

/// `did you mean X?` of a path.
fn take_the_path(argument: &str, words: &str, sent: &mut Sent) {
    *sent.text(argument) = between(words, "Did you mean ", "?");
}

/// What is looked for, without its last line break.
fn drop_the_last_break(argument: &str, words: &str, sent: &mut Sent) {
    assert!(words.contains("without the line break at its end"), "{words}");
    let text = sent.text(argument);
    *text = text.trim_end().to_owned();
}

/// Takes away what the words say was added.
fn unquote(argument: &str, words: &str, sent: &mut Sent) {
    let text = sent.text(argument);
    *text = match words {
        words if words.contains("without the line numbers") => {
            let bare = |line: &str| {
                line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).to_owned()
            };
            let lines: Vec<String> = text.lines().map(bare).collect();
            lines
                .iter()
                .map(|line| line.trim_start_matches([':', '\t', '→', '|']))
                .collect::<Vec<_>>()
                .join("\n")
        }
        words if words.contains("send real line breaks") => {
            text.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"")
        }
        words if words.contains("send <, >") => text.replace("&lt;", "<").replace("&gt;", ">"),
        other => panic!("{other}"),
    };
}

/// `\u0301` as JSON has it.
fn send_the_other_form(argument: &str, words: &str, sent: &mut Sent) {
    let has = between(words, "the file has `", "`");
    *sent.text(argument) = serde_json::from_str(&format!("\"{has}\"")).unwrap();
}

/// The words name another line around the place.
fn widen(argument: &str, more: &str, words: &str, sent: &mut Sent) {
    assert!(words.contains("Include more of the lines around"), "{words}");
    assert!(words.contains("lines 2, 4"), "{words}");
    let text = sent.text(argument);
    *text = format!("{more}{text}");
}

/// A character of a pattern that is meant as itself.
fn escape(argument: &str, words: &str, sent: &mut Sent) {
    let escaped = between(words, "write `", "` for the character itself");
    let text = sent.text(argument);
    *text = text.replacen(&escaped[1..], &escaped, 1);
}

fn relative(argument: &str, words: &str, sent: &mut Sent) {
    assert!(words.contains("without a leading slash"), "{words}");
    let text = sent.text(argument);
    *text = text.trim_start_matches('/').to_owned();
}

fn name_a_file(argument: &str, words: &str, sent: &mut Sent) {
    assert!(words.contains("is a folder, not a file: name a file in it"), "{words}");
    sent.text(argument).push_str("/main.rs");
}

fn other_tool(words: &str, sent: &mut Sent) {
    sent.tool = between(words, "did you mean '", "'?");
}

/// The value that is sent is the first of what a list of them would be.
fn as_list(argument: &str, words: &str, sent: &mut Sent) {
    assert!(words.contains(&format!("{argument}: expected an array")), "{words}");
    let value = sent.args[argument].take();
    sent.set(argument, json!([value]));
}

fn as_one_string(argument: &str, words: &str, sent: &mut Sent) {
    let text = between(words, "send one string, such as \"", "\"");
    sent.set(argument, text);
}

struct Mistake {
    toolset: &'static str,
    tool: &'static str,
    args: Value,
    remedy: Remedy,
}

fn of(toolset: &'static str, tool: &'static str, args: Value, remedy: Remedy) -> Mistake {
    Mistake { toolset, tool, args, remedy }
}

fn furnished() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    workspace.put("/a.txt", "one\ntwo\nthree\ntwo\n");
    workspace.put("/end.txt", "start\nend");
    workspace.put("/accent.txt", "cafe\u{301}\n");
    workspace.put("/version.toml", "name = \"x\"\nversion = \"2.0.0\"\n");
    workspace.put("/src/main.rs", "fn main() {\n\tprintln!(\"<x>\");\n}\n");
    workspace
}

const HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Mistakes in the arguments themselves.
fn of_arguments() -> Vec<Mistake> {
    vec![
        of("workspace", "read", json!({"file_path": "/a.txt"}), rename_argument),
        of("workspace", "read", json!({"filename": "/a.txt"}), move_to_missing),
        of("workspace", "mv", json!({"from": "/a.txt", "to": "/b.txt"}), move_to_missing),
        of("workspace", "write", json!({"filepath": "/n.txt", "content": "x"}), rename_argument),
        of("workspace", "grep", json!({"regex": "one"}), move_to_missing),
        of("workspace", "grep", json!({"query": "one"}), move_to_missing),
        of("workspace", "find", json!({"name": "*.rs", "type": "document"}), rename_argument),
        of("workspace", "find", json!({"name": "*.rs", "file_type": "file"}), take_first_value),
        of(
            "workspace",
            "edit",
            json!({"path": "/a.txt", "old_str": "one", "new_string": "1"}),
            rename_argument,
        ),
        of(
            "workspace",
            "edit",
            json!({"path": "/a.txt", "old_text": "one", "new_text": "1"}),
            rename_arguments,
        ),
        of("workspace", "grep", json!({"pattern": "one", "include": "*.txt"}), rename_argument),
        of("workspace", "search", json!({"pattern": "one"}), other_tool),
        of("workspace", "read_multiple_files", json!({"paths": "/a.txt"}), |words, sent| {
            as_list("paths", words, sent)
        }),
        of("workspace", "cat", json!({"paths": "/a.txt"}), |words, sent| {
            as_list("paths", words, sent)
        }),
        of("workspace", "raed", json!({"path": "/a.txt"}), other_tool),
        of("workspace", "list", json!({"path": "/"}), other_tool),
        of(
            "workspace",
            "plan_write",
            json!({"title": "t", "content": "x", "status": "done"}),
            take_first_value,
        ),
        of("file", "file.read", json!({"file_path": "a.txt"}), rename_argument),
        of("file", "file.write", json!({"path": "n.txt", "contents": "x"}), rename_argument),
        of("file", "file.raed", json!({"path": "a.txt"}), other_tool),
        of(
            "file",
            "file.edit",
            json!({"path": "a.txt", "patches": [{"find": "one", "replace": "1"}]}),
            other_tool,
        ),
        of("file", "file.search", json!({"query": "one"}), rename_argument),
        of("coder", "read", json!({"path": "a.txt"}), rename_argument),
        of("coder", "read", json!({"file_path": "a.txt"}), rename_argument),
        of("coder", "write", json!({"path": "n.txt", "content": "x"}), rename_argument),
        of(
            "coder",
            "edit",
            json!({"filePath": "a.txt", "old_string": "one", "newString": "1"}),
            rename_argument,
        ),
        of(
            "coder",
            "apply_patch",
            json!({"patch": "*** Begin Patch\n*** Add File: n.txt\n+x\n*** End Patch"}),
            rename_argument,
        ),
        of("assistant", "read_file", json!({"file_path": "a.txt"}), rename_argument),
        of(
            "assistant",
            "move_file",
            json!({"source": "a.txt", "destination": "b.txt"}),
            move_to_missing,
        ),
        of("assistant", "search_code", json!({"pattern": "main"}), move_to_missing),
        of("assistant", "read_files", json!({"path": "a.txt"}), other_tool),
        of("codex", "read_file", json!({"file_path": "a.txt"}), rename_argument),
        of("codex", "list_dir", json!({"dir_path": "src"}), rename_argument),
        of("codex", "grep_files", json!({"query": "one"}), move_to_missing),
        of(
            "codex",
            "apply_patch",
            json!({"patch": "*** Begin Patch\n*** Add File: n.txt\n+x\n*** End Patch"}),
            other_tool,
        ),
        of(
            "codex",
            "apply_patch_json",
            json!({"input": "*** Begin Patch\n*** Add File: n.txt\n+x\n*** End Patch"}),
            move_to_missing,
        ),
        of("codex", "grep_files", json!({"pattern": ["one"]}), |words, sent| {
            as_one_string("pattern", words, sent)
        }),
        of(
            "filesystem",
            "edit_file",
            json!({"path": "a.txt", "edits": [{"old_string": "one", "new_string": "1"}]}),
            rename_arguments,
        ),
        of("filesystem", "read_text_file", json!({"file_path": "a.txt"}), rename_argument),
        of("filesystem", "write_file", json!({"path": "n.txt", "text": "x"}), move_to_missing),
    ]
}

/// Mistakes about what is in a file.
fn of_contents() -> Vec<Mistake> {
    vec![
        of(
            "workspace",
            "edit",
            json!({"path": "/version.toml", "old_string": "1.0.0", "new_string": "3.0.0"}),
            send_what_the_file_has,
        ),
        of(
            "workspace",
            "edit",
            json!({"path": "/version.toml", "old_string": "version = \"1.9\"", "new_string": "x"}),
            |words, sent| send_the_lines("old_string", words, sent),
        ),
        of(
            "workspace",
            "edit",
            json!({"path": "/end.txt", "old_string": "end\n", "new_string": "END"}),
            |words, sent| drop_the_last_break("old_string", words, sent),
        ),
        of(
            "workspace",
            "edit",
            json!({"path": "/accent.txt", "old_string": "caf\u{e9}", "new_string": "tea"}),
            |words, sent| send_the_other_form("old_string", words, sent),
        ),
        of(
            "workspace",
            "edit",
            json!({"path": "/src/main.rs", "old_string": "    println!(\"<x>\");", "new_string": "\t"}),
            |words, sent| send_the_lines("old_string", words, sent),
        ),
        of(
            "workspace",
            "edit",
            json!({"path": "/src/main.rs", "old_string": "println!(\\\"<x>\\\");", "new_string": "y"}),
            |words, sent| unquote("old_string", words, sent),
        ),
        of(
            "workspace",
            "edit",
            json!({"path": "/src/main.rs", "old_string": "&lt;x&gt;", "new_string": "y"}),
            |words, sent| unquote("old_string", words, sent),
        ),
        of(
            "workspace",
            "edit",
            json!({"path": "/a.txt", "old_string": "1\tone\n2\ttwo", "new_string": "y"}),
            |words, sent| unquote("old_string", words, sent),
        ),
        of(
            "workspace",
            "edit",
            json!({"path": "/a.txt", "old_string": "two", "new_string": "2"}),
            |words, sent| widen("old_string", "three\n", words, sent),
        ),
        of(
            "workspace",
            "edit",
            json!({"path": "/a.txt", "old_string": "one", "new_string": "1", "last_read_hash": HASH}),
            |words, sent| {
                let hash = between(words, "Its hash is now ", ".");
                sent.set("last_read_hash", hash);
            },
        ),
        of("workspace", "grep", json!({"pattern": "main("}), |words, sent| {
            escape("pattern", words, sent)
        }),
        of("workspace", "write", json!({"path": "/a.txt", "content": "x"}), |words, sent| {
            assert!(words.contains("set overwrite=true"), "{words}");
            sent.set("overwrite", true);
        }),
        of(
            "file",
            "file.patch",
            json!({"path": "version.toml", "patches": [{"find": "1.0.0", "replace": "3"}]}),
            send_what_the_file_has,
        ),
        of(
            "file",
            "file.patch",
            json!({"path": "a.txt", "patches": [{"find": "two", "replace": "2"}]}),
            |words, sent| widen("patches/0/find", "three\n", words, sent),
        ),
        of(
            "coder",
            "edit",
            json!({"filePath": "version.toml", "oldString": "1.0.0", "newString": "3"}),
            send_what_the_file_has,
        ),
        of(
            "coder",
            "edit",
            json!({"filePath": "a.txt", "oldString": "two", "newString": "2"}),
            |words, sent| widen("oldString", "three\n", words, sent),
        ),
        of(
            "coder",
            "multiedit",
            json!({"filePath": "a.txt", "edits": [{"oldString": "One", "newString": "1"}]}),
            send_what_the_file_has,
        ),
        of(
            "coder",
            "apply_patch",
            json!({"patchText": "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-TWO\n+2\n*** End Patch"}),
            send_what_the_file_has,
        ),
        of(
            "codex",
            "apply_patch_json",
            json!({"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n-thre\n+3\n*** End Patch"}),
            send_what_the_file_has,
        ),
        of("codex", "grep_files", json!({"pattern": "main("}), |words, sent| {
            escape("pattern", words, sent)
        }),
        of(
            "assistant",
            "write_file",
            json!({"path": "new/n.txt", "content": "x"}),
            |words, sent| {
                assert!(words.contains("send `createDirs`: true"), "{words}");
                sent.set("createDirs", true);
            },
        ),
    ]
}

/// Mistakes about paths.
fn of_paths() -> Vec<Mistake> {
    vec![
        of("workspace", "read", json!({"path": "/scr/main.rs"}), |words, sent| {
            take_the_path("path", words, sent)
        }),
        of("workspace", "read", json!({"path": "/src/main.r"}), |words, sent| {
            take_the_path("path", words, sent)
        }),
        of(
            "workspace",
            "edit",
            json!({"path": "/A.txt", "old_string": "one", "new_string": "1"}),
            |words, sent| take_the_path("path", words, sent),
        ),
        of("workspace", "read", json!({"path": "/src"}), |words, sent| {
            name_a_file("path", words, sent)
        }),
        of("file", "file.read", json!({"path": "/src/main.rs"}), |words, sent| {
            relative("path", words, sent)
        }),
        of("file", "file.read", json!({"path": "scr/main.rs"}), |words, sent| {
            take_the_path("path", words, sent)
        }),
        of("coder", "read", json!({"filePath": "/a.txt"}), |words, sent| {
            relative("filePath", words, sent)
        }),
        of("coder", "read", json!({"filePath": "src/mian.rs"}), |words, sent| {
            take_the_path("filePath", words, sent)
        }),
        of("coder", "read", json!({"filePath": "src"}), |words, sent| {
            name_a_file("filePath", words, sent)
        }),
        of("assistant", "read_file", json!({"path": "/a.txt"}), |words, sent| {
            relative("path", words, sent)
        }),
        of("assistant", "read_file", json!({"path": "sr/main.rs"}), |words, sent| {
            take_the_path("path", words, sent)
        }),
        of("codex", "read_file", json!({"path": "/a.txt"}), |words, sent| {
            relative("path", words, sent)
        }),
        of("codex", "read_file", json!({"path": "src/main"}), |words, sent| {
            take_the_path("path", words, sent)
        }),
        of("codex", "list_dir", json!({"path": "scr"}), |words, sent| {
            take_the_path("path", words, sent)
        }),
    ]
}

/// Everything that a failed answer tells its caller.
fn error_text(body: &Value) -> String {
    let fields = body["fields"].as_object().into_iter().flatten();
    let fields: Vec<String> =
        fields.map(|(name, words)| format!("{name}: {}", words.as_str().unwrap())).collect();
    match fields.is_empty() {
        true => body["error"].as_str().unwrap().to_owned(),
        false => fields.join("; "),
    }
}

#[test]
fn r10_a_caller_that_does_what_the_error_says_gets_over_common_mistakes() {
    let mistakes = [of_arguments(), of_contents(), of_paths()];
    let mistakes: Vec<Mistake> = mistakes.into_iter().flatten().collect();
    assert!(mistakes.len() >= 60, "{}", mistakes.len());
    let mut failed = Vec::new();
    for Mistake { toolset, tool, args, remedy } in mistakes {
        let workspace = furnished();
        let first = call(&workspace, toolset, tool, args.clone());
        if first.ok {
            failed.push(format!("{toolset} {tool} {args}: this is no mistake: {}", first.body));
            continue;
        }
        let words = error_text(&first.body.into_value());
        let mut sent = Sent { tool: tool.to_owned(), args: args.clone() };
        let attempt = std::panic::AssertUnwindSafe(|| {
            remedy(&words, &mut sent);
            call(&workspace, toolset, &sent.tool, sent.args.clone())
        });
        match std::panic::catch_unwind(attempt) {
            Ok(second) if second.ok => {}
            Ok(second) => failed.push(format!(
                "{toolset} {tool} {args}\n  error: {words}\n  then: {} {}\n  error: {}",
                sent.tool, sent.args, second.body
            )),
            Err(_) => failed.push(format!(
                "{toolset} {tool} {args}\n  error: {words}\n  and did not know what to do"
            )),
        }
    }
    assert!(failed.is_empty(), "{} mistakes:\n{}", failed.len(), failed.join("\n"));
}
