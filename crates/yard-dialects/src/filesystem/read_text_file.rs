//! `read_text_file`: reads a text file, or its first or last lines.

use schemars::JsonSchema;
use serde::Deserialize;
use yard_core::op::{self, Fetch, LineStart, ReadAnswer, Slice, Want};
use yard_core::{Fault, FaultCode, Subject, WsPath};

use super::{Reply, fault, host_paths};
use crate::tool::{Context, Stop, Tool, Work};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Read the complete contents of a file from the file system as text, whatever its encoding and its
/// extension. Use the 'head' parameter to read only the first N lines of a file, or the 'tail' parameter
/// to read only the last N lines. Only works within allowed directories.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ReadTextFile {
    /// The file: an absolute path within an allowed directory, or one relative to it.
    pub(super) path: String,
    /// If provided, returns only the last N lines of the file.
    pub(super) tail: Option<u64>,
    /// If provided, returns only the first N lines of the file.
    pub(super) head: Option<u64>,
}

impl Tool for ReadTextFile {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "read_text_file";
    const WORK: Work = Work::Look;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        read(&args, context).map(Reply::from)
    }
}

/// The text that the arguments ask for.
pub(super) fn read(args: &ReadTextFile, context: &Context<'_>) -> Result<String, Stop> {
    let path = host_paths::parse(context, &args.path, Subject::Path)?;
    // The reference server reads a 0 as if the argument had not been sent.
    let nonzero = |lines: Option<u64>| lines.filter(|lines| *lines > 0);
    match (nonzero(args.head), nonzero(args.tail)) {
        (Some(_), Some(_)) => {
            let message =
                "Cannot specify both head and tail parameters simultaneously. Send one of them";
            Err(Stop::Fault(Fault::new(FaultCode::BadArgument, message)))
        }
        (Some(head), None) => first(context, path, head),
        (None, Some(tail)) => Ok(slice(context, path, LineStart::FromEnd(tail), Some(tail))?.text),
        (None, None) => whole(context, path, context.limits().load_bytes),
    }
}

/// A whole text, with the byte order mark that it may begin with: a caller that writes it back keeps the mark.
pub(super) fn whole(context: &Context<'_>, path: WsPath, max_bytes: u64) -> Result<String, Stop> {
    let answer = bounded(context, path, LineStart::FromStart(0), None, max_bytes)?;
    match begins_with_mark(context, &answer)? {
        true => Ok(format!("{BYTE_ORDER_MARK}{}", answer.text)),
        false => Ok(answer.text),
    }
}

fn begins_with_mark(context: &Context<'_>, answer: &ReadAnswer) -> Result<bool, Stop> {
    if answer.size != (answer.text.len() + BYTE_ORDER_MARK.len()) as u64 {
        return Ok(false);
    }
    let length = BYTE_ORDER_MARK.len() as u64;
    let path = answer.path.clone();
    let start = context.perform(Fetch { path, offset: 0, length, seen: None })?;
    Ok(start.bytes == BYTE_ORDER_MARK.as_bytes())
}

/// The first lines, without the newline of the last one.
fn first(context: &Context<'_>, path: WsPath, lines: u64) -> Result<String, Stop> {
    let mut text = slice(context, path, LineStart::FromStart(0), Some(lines))?.text;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

fn slice(
    context: &Context<'_>,
    path: WsPath,
    start: LineStart,
    limit: Option<u64>,
) -> Result<ReadAnswer, Stop> {
    bounded(context, path, start, limit, context.limits().load_bytes)
}

/// R12: this dialect cannot page, so what does not fit is refused and not cut.
fn bounded(
    context: &Context<'_>,
    path: WsPath,
    start: LineStart,
    limit: Option<u64>,
    max_bytes: u64,
) -> Result<ReadAnswer, Stop> {
    let slice = Slice::Lines { start, limit };
    let answer = context
        .perform(op::Read { path: path.clone(), slice, want: Want::default(), max_bytes })
        .map_err(fault::of_system_call(context, "open", &path))
        .map_err(suggest_read_media_file)?;
    let is_cut = answer.cut_at_byte.is_some()
        || answer.truncated && limit.is_none_or(|limit| answer.lines < limit);
    if !is_cut {
        return Ok(answer);
    }
    let message = format!(
        "{} has {} bytes, and the answer has room for {max_bytes} of them; use 'head' or 'tail' to \
         read fewer lines of it",
        context.host_display(&path),
        answer.size
    );
    Err(Stop::Fault(Fault::new(FaultCode::TooLarge, message).about(Subject::Path)))
}

fn suggest_read_media_file(stop: Stop) -> Stop {
    stop.reword(|fault| {
        let message = fault.message();
        (fault.code() == FaultCode::Binary && message.contains("is not a text"))
            .then(|| format!("{message}. Use read_media_file for its bytes"))
    })
}
