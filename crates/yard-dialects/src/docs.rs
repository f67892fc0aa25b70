//! The reference of all dialects and their tools, generated from the catalog. `docs/dialects.md` is this
//! text; a test compares them.

use serde_json::{Map, Value};
use yard_core::FaultCode;

use crate::catalog::Catalog;
use crate::definitions::Format;
use crate::dialect::Dialect;
use crate::tool::AnyTool;

const HEAD: &str = "# Dialects

<!-- Generated from the catalog: edit the doc comments in crates/yard-dialects, not this page. -->

A dialect is a set of tools with names, arguments and answers that models already know. All of them
work on the same workspace: whatever one changes, the others see, with the same history, the same
trash and the same undo. A call names its dialect as `toolset`.
";

const WHICH: &str = "
## Which dialect for which model

- Claude models edit by exact text: `workspace` (everything, with plans and questions) or `coder` (seven
  tools, camel case, line numbers with an arrow).
- GPT models of the Codex line write patches from memory, and follow strict schemas: `codex`.
- Gemini models, and others with plain function calling: `workspace` or `file`, whose schemas use no
  keyword that Gemini refuses in its export.
- Agents that were set up for the MCP project's reference server for files: `filesystem`, which takes and
  says what that server does.
- Small and local models: `file`. Six tools, few arguments, errors as answers with one word each.
- Assistants that handle files besides text (images, archives): `assistant`, which reads and writes base64.

A model that is in none of these rows does best with the dialect whose names it was trained on; if that
is not known, with `workspace`.
";

const ANSWERS: &str = "
## Answers

Over HTTP every answer is JSON. `workspace` says by the HTTP status what happened: 200 with `{\"success\": true,
\"result\": ..., \"error\": null}`, or a status of its own with `{\"success\": false, \"error\": message,
\"code\": ...}` and, for wrong arguments, `fields`.

Every other dialect answers 200 whenever the tool ran: `{\"success\": bool, \"result\": ..., \"error\": message or
null}`, where `result` is the dialect's own answer, also to a failure. `file`, `coder`, `codex` and `filesystem` answer a
failure with `{\"error\": word, \"message\": ...}`; `assistant` answers `{\"ok\": true, \"value\": ...}` or `{\"ok\": false,
\"error\": {\"code\", \"message\", \"details\"}}`. A tool or toolset that does not exist is a 404 in the words of
`workspace`.

Where a person must agree first, and did not in the time that the call may wait, the answer of every dialect is
202 with `{\"status\": \"approval_pending\", \"approval_id\": ...}` as its `result`.

The tables below show what is in `result` (of `assistant`: in its `value`).
";

/// The reference of every dialect in `catalog`, as Markdown.
pub fn markdown(catalog: &Catalog) -> String {
    let mut page = HEAD.to_owned();
    page.push_str(WHICH);
    page.push_str(ANSWERS);
    page.push_str(&exports());
    page.push_str(&faults(catalog));
    for dialect in catalog.dialects() {
        page.push_str(&toolset(catalog, dialect));
    }
    page
}

fn exports() -> String {
    let words = Format::WORDS.map(|(_, word)| format!("`{word}`")).join(", ");
    format!(
        "\n## Definitions for models\n\n`toolyard tools --toolset NAME --format FORMAT` prints the \
         definitions of a dialect; FORMAT is one of {words}. A tool that has no argument which may \
         be left out is exported to OpenAI as strict. Where a dot is no part of a legal name, it is \
         an underscore (`file_read`); either name can be called.\n"
    )
}

/// A description of each fault for people.
fn about_fault(code: FaultCode) -> &'static str {
    match code {
        FaultCode::BadArgument => "an argument is missing, unknown or wrong",
        FaultCode::TextNotFound => "the text to be replaced does not occur",
        FaultCode::TextNotUnique => "the text to be replaced occurs more than once",
        FaultCode::NoChange => "the edit would change nothing",
        FaultCode::BadPattern => "a regular expression or glob is wrong, or takes too much work",
        FaultCode::Binary => "the file is no text, or no regular file",
        FaultCode::TooLarge => "too large to load or to write",
        FaultCode::BadPath => "the path is malformed or reserved",
        FaultCode::PathOutside => "the path leaves the workspace",
        FaultCode::NotFound => "there is no such file",
        FaultCode::IsFolder => "a directory where a file is wanted",
        FaultCode::NotFolder => "a file where a directory is wanted",
        FaultCode::Exists => "something is already there",
        FaultCode::NotEmpty => "the directory is not empty",
        FaultCode::Stale => "the file has changed since it was read",
        FaultCode::MergeConflict => "an undo collides with a later change",
        FaultCode::Denied => "policy, plan mode or role says no",
        FaultCode::ReadRefused => "the operating system refuses to read",
        FaultCode::WriteRefused => "the operating system refuses to write",
        FaultCode::DiskFull => "the disk is full",
        FaultCode::Io => "another I/O error",
        FaultCode::Timeout => "out of time, or cancelled",
        FaultCode::NotRun => "a process could not be started",
        FaultCode::Unavailable => "not available on this machine or in this configuration",
    }
}

fn faults(catalog: &Catalog) -> String {
    let dialects: Vec<&Dialect> = catalog.dialects().collect();
    let head: String = dialects.iter().map(|dialect| format!(" `{}` |", dialect.name)).collect();
    let mut text = format!(
        "\n## Errors\n\nEach dialect has its own word for what went wrong.\n\n| What |{head}\n|---|{}\n",
        "---|".repeat(dialects.len())
    );
    for code in FaultCode::ALL {
        let cells = dialects.iter().map(|dialect| {
            let error_codes = error_codes(catalog, dialect, code);
            format!(" {error_codes} |")
        });
        text.push_str(&format!("| {} |{}\n", about_fault(code), cells.collect::<String>()));
    }
    text
}

/// A dialect's error code for a fault; all of them where it depends on the tool.
fn error_codes(catalog: &Catalog, dialect: &Dialect, code: FaultCode) -> String {
    let mut names: Vec<&str> = Vec::new();
    for tool in catalog.list(dialect.name) {
        let name = (dialect.error_code)(tool.name(), code);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
}

fn toolset(catalog: &Catalog, dialect: &Dialect) -> String {
    let mut text = format!("\n## Toolset `{}`\n\n{}\n", dialect.name, dialect.about);
    if let Some(session) = session(dialect.name) {
        text.push_str(&format!(
            "\nA session: what a model sends (`>`), and below it what comes back. `…` stands for ids, hashes and \
             times, and for what is cut.\n\n```text\n{session}```\n"
        ));
    }
    for tool in catalog.list(dialect.name) {
        text.push_str(&section(tool));
    }
    text
}

/// Some calls of a dialect and their answers. The test `sessions.rs` makes the calls and compares the answers; its
/// comment says how to regenerate these files.
fn session(dialect: &str) -> Option<&'static str> {
    Some(match dialect {
        "workspace" => include_str!("sessions/workspace.txt"),
        "file" => include_str!("sessions/file.txt"),
        "coder" => include_str!("sessions/coder.txt"),
        "assistant" => include_str!("sessions/assistant.txt"),
        "codex" => include_str!("sessions/codex.txt"),
        "filesystem" => include_str!("sessions/filesystem.txt"),
        _ => return None,
    })
}

fn section(tool: &AnyTool) -> String {
    format!(
        "\n### `{}`\n\n{}\n\nApproval: {}.\n\n{}\n{}",
        tool.name(),
        tool.about(),
        tool.asks().about(),
        arguments(tool.input_schema()),
        reply(tool.output_schema())
    )
}

fn arguments(schema: &Value) -> String {
    let rows = properties(schema).map(|(name, property)| {
        let default = match property.get("default") {
            Some(Value::Null) => "-".to_owned(),
            Some(default) => format!("`{default}`"),
            None if is_required(schema, name) => "required".to_owned(),
            None => "-".to_owned(),
        };
        format!("| `{name}` | {} | {default} | {} |\n", kind(property), description(property))
    });
    table("| Argument | Type | Default | Meaning |\n|---|---|---|---|\n", rows)
}

fn reply(schema: &Value) -> String {
    let mut rows = Vec::new();
    reply_rows(schema, "", &mut rows);
    table("| Reply | Type | Meaning |\n|---|---|---|\n", rows)
}

fn reply_rows(schema: &Value, at: &str, rows: &mut Vec<String>) {
    for (name, property) in properties(schema) {
        let place = format!("{at}{name}");
        rows.push(format!("| `{place}` | {} | {} |\n", kind(property), description(property)));
        match property.get("items") {
            Some(items) => reply_rows(items, &format!("{place}[]."), rows),
            None => reply_rows(property, &format!("{place}."), rows),
        }
    }
}

fn table(head: &str, rows: impl IntoIterator<Item = String>) -> String {
    let rows: String = rows.into_iter().collect();
    if rows.is_empty() { String::new() } else { format!("{head}{rows}") }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema
        .get("required")
        .and_then(Value::as_array)
        .is_some_and(|names| names.iter().any(|known| known == name))
}

fn kind(property: &Value) -> String {
    let name = match property.get("type") {
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or ")
        }
        _ => match property.get("anyOf").and_then(Value::as_array) {
            Some(alternatives) => {
                return alternatives.iter().map(kind).collect::<Vec<_>>().join(" or ");
            }
            None => "any".to_owned(),
        },
    };
    let of = property.get("items").map(kind).filter(|of| of != "object");
    of.map_or_else(|| name.clone(), |of| format!("{name} of {of}"))
}

/// One cell of a table: no line breaks, no bars.
fn description(property: &Value) -> String {
    let text = property.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_argument_and_reply_field_is_described() {
        let catalog = Catalog::standard();
        let page = markdown(&catalog);
        for dialect in catalog.dialects() {
            for tool in catalog.list(dialect.name) {
                assert!(page.contains(&format!("\n### `{}`\n", tool.name())), "{}", tool.name());
                assert!(!tool.about().is_empty(), "{}", tool.name());
            }
        }
        for row in page.lines().filter(|line| line.starts_with("| `")) {
            assert!(!row.ends_with("|  |"), "no meaning: {row}");
        }
        for dialect in catalog.dialects() {
            assert!(session(dialect.name).is_some_and(|text| text.lines().count() == 10));
        }
        assert!(page.contains("| `entries[].path` | string |"));
        assert!(page.contains("| `limit` | integer | `50` |"));
        assert!(page.contains("| `path` | string | required |"));
        assert!(page.contains("| `include` | array of string or null | - |"));
        assert!(
            page.contains(
                "| another I/O error | `INTERNAL_ERROR` | `io_error` or `write_failed` |"
            )
        );
        assert!(page.contains("Approval: asks before reading, until there is a yes for the chat."));
    }
}
