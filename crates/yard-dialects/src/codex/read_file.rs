//! `read_file`: reads lines of a file, indented on request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::WsPath;

use crate::pages::{self, LinePrefix, PageRequest};
use crate::tool::{Calling, Context, Stop, Tool, Work};

/// The longest indentation.
const MAX_INDENT: usize = 1_000;

/// Reads a slice of a text file.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ReadFile {
    /// File to read, relative to the workspace root.
    path: String,
    /// First line to read, counted from 0.
    #[serde(default)]
    offset: u64,
    /// Most lines to return.
    #[serde(default = "crate::defaults::number::<400>")]
    #[schemars(range(min = 1))]
    limit: u64,
    /// Either `slice`, the lines as they are, or `indentation`, each line after `indent`.
    #[serde(default = "mode")]
    mode: String,
    /// What is put before each line when `mode` is `indentation`.
    #[serde(default = "indent")]
    indent: String,
}

fn mode() -> String {
    "slice".to_owned()
}

fn indent() -> String {
    "    ".to_owned()
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The lines, their ends included.
    text: String,
    /// Whether something remains after `text`.
    truncated: bool,
    /// Lines of the whole file.
    total_lines: u64,
    /// That a line is longer than one answer and was cut, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Tool for ReadFile {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "read_file";
    const WORK: Work = Work::Look;
    const CALLING: Calling = Calling::Strict;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let request = PageRequest {
            path: context.path(&args.path)?,
            skip: args.offset,
            limit: Some(args.limit),
            max_bytes: context.limits().answer_bytes,
            prefix: line_prefix(&args.mode, &args.indent)?,
        };
        let page = pages::read(context, request)?;
        Ok(Reply {
            truncated: page.truncated,
            total_lines: page.total_lines,
            note: page.cut_line.zip(page.next_byte).map(|cut| note(context, &page.path, cut)),
            text: page.text,
        })
    }
}

fn line_prefix<'a>(mode: &str, indent: &'a str) -> Result<LinePrefix<'a>, Stop> {
    match mode.trim().to_ascii_lowercase().as_str() {
        "slice" => Ok(LinePrefix::Text("")),
        "indentation" if indent.len() > MAX_INDENT => {
            Err(Stop::argument("indent", format!("expected at most {MAX_INDENT} bytes")))
        }
        "indentation" => Ok(LinePrefix::Text(indent)),
        _ => Err(Stop::argument("mode", "expected slice or indentation")),
    }
}

fn note(context: &Context<'_>, path: &WsPath, (line, byte): (u64, u64)) -> String {
    // The arguments of this tool count lines. The name of a command output can have a byte to begin at.
    let on = match path.is_command_output() {
        true => format!("read {}@{byte} to go on there", context.display(path)),
        false => "search it with grep_files".to_owned(),
    };
    format!("line {line} is longer than one answer and was cut at byte {byte} of the file; {on}")
}
