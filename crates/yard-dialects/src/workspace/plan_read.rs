//! `plan_read`: reads a plan's body by lines, and its front matter (W17).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::lines::{self, LineSlice};
use yard_core::op::{Stat, Want};
use yard_core::{FaultCode, WsPath};

use super::front_matter::{Metadata, Plan};
use super::{plan_file, read};
use crate::paging;
use crate::tool::{Context, Stop, Tool, Work};

/// Reads a plan by its path or its name: what its front matter says as `metadata`, and the plan
/// itself, without front matter, by lines.
#[derive(Deserialize, JsonSchema)]
pub(super) struct PlanRead {
    /// Full path to the plan. Send this or `name`.
    path: Option<String>,
    /// The plan's name below `/plans/`, without `.plan`. Send this or `path`.
    name: Option<String>,
    /// First line to read, counted from 0 after the front matter; negative counts from the end.
    #[serde(default)]
    offset: i64,
    /// Most lines to return; 0 is all that one answer may hold.
    #[serde(default = "crate::defaults::number::<500>")]
    limit: u64,
    /// Where a cut answer goes on: its `cursor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The plan that was read.
    path: String,
    /// What its front matter says; null if it has none.
    metadata: Option<Metadata>,
    /// Lines of the plan, without front matter.
    content: String,
    /// SHA-256 of the whole file, front matter included: the next `last_read_hash`.
    hash: Option<String>,
    /// Whether the store's newest version is what is on disk.
    synced: Option<bool>,
    /// Lines of the whole plan, without front matter.
    total_lines: u64,
    /// Whether something remains after `content`.
    truncated: bool,
    /// The first line of `content`, counted from 0.
    offset: u64,
    /// The limit that was used.
    limit: u64,
    /// The next unread line, to be sent as `cursor`; null if none remains.
    cursor: Option<u64>,
    /// A line was longer than one answer may be and was cut: `read` goes on with this as its
    /// `byte_offset`.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_at_byte: Option<u64>,
}

impl Tool for PlanRead {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "plan_read";
    const WORK: Work = Work::Look;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = match (&args.path, &args.name) {
            (Some(path), None) => plan_file::path(path, "path", context)?,
            (None, Some(name)) if name.trim().is_empty() => {
                return Err(Stop::argument("name", "must not be empty: send the name of a plan"));
            }
            (None, Some(name)) => named(name, context)?,
            (Some(_), Some(_)) => {
                return Err(Stop::argument("name", "send either `path` or `name`, not both"));
            }
            (None, None) => {
                let missing = "missing; send `path`, or the plan's `name` below /plans/";
                return Err(Stop::argument("path", missing));
            }
        };
        let whole = plan_file::read(&path, context)?;
        let plan = Plan::of(&whole.text);
        let start = read::start(args.cursor, args.offset);
        let slice = lines::slice(plan.body.as_bytes(), start, paging::max_lines(args.limit));
        let part = fit(plan.body, &slice, context.limits().answer_bytes);
        Ok(Reply {
            path: context.display(&whole.path),
            metadata: plan.metadata(),
            content: part.text.to_owned(),
            hash: whole.hash.map(|hash| hash.to_string()),
            synced: whole.synced,
            total_lines: slice.total,
            truncated: part.truncated,
            offset: slice.first_line,
            limit: args.limit,
            cursor: part.next,
            cut_at_byte: part.cut_at.map(|at| (plan.head.len() + at) as u64),
        })
    }
}

/// The plan of that name: the one directly below the folder of plans, else the only one in a folder below it,
/// because `plan_list` shows the name of such a plan without its folder.
fn named(name: &str, context: &Context<'_>) -> Result<WsPath, Stop> {
    let path = plan_file::path(&below_plans(name), "name", context)?;
    let stat = Stat { path: path.clone(), want: Want::default(), follow: false };
    match context.perform(stat) {
        Err(Stop::Fault(fault)) if fault.code() == FaultCode::NotFound && !name.contains('/') => {}
        _ => return Ok(path),
    }
    let entries = plan_file::all(context)?.into_iter();
    let same: Vec<WsPath> =
        entries.map(|entry| entry.path).filter(|other| other.name() == path.name()).collect();
    match same.as_slice() {
        [] => Ok(path),
        [only] => Ok(only.clone()),
        several => {
            let paths: Vec<String> = several.iter().map(|path| context.display(path)).collect();
            let message = format!(
                "is the name of several plans: {}; send the `path` of one of them",
                paths.join(", ")
            );
            Err(Stop::argument("name", message))
        }
    }
}

/// The path of a plan from its name, with or without the ending.
fn below_plans(name: &str) -> String {
    let name = name.trim().trim_end_matches(plan_file::END);
    format!("{}/{name}{}", plan_file::FOLDER, plan_file::END)
}

/// The part of a slice that an answer has room for.
struct Part<'a> {
    text: &'a str,
    truncated: bool,
    next: Option<u64>,
    cut_at: Option<usize>,
}

/// As many whole lines of a slice as fit into an answer, or the beginning of its first line.
fn fit<'a>(body: &'a str, slice: &LineSlice, max_bytes: u64) -> Part<'a> {
    let text = &body[slice.range.clone()];
    let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    if text.len() <= max_bytes {
        let next = slice.first_line + slice.lines;
        let next = Some(next).filter(|_| slice.truncated);
        return Part { text, truncated: slice.truncated, next, cut_at: None };
    }
    let room = text.floor_char_boundary(max_bytes);
    let (end, cut) = match text[..room].rfind('\n') {
        Some(at) => (at + 1, false),
        None => (room, true),
    };
    let text = &text[..end];
    let next = slice.first_line + lines::count(text.as_bytes());
    let cut_at = cut.then_some(slice.range.start + end);
    Part { text, truncated: true, next: Some(next).filter(|next| *next < slice.total), cut_at }
}

#[cfg(test)]
mod tests {
    use yard_core::op::LineStart;

    use super::*;

    #[test]
    fn w17_a_name_is_a_path_below_plans() {
        assert_eq!(below_plans("bold-oak-tale"), "/plans/bold-oak-tale.plan");
        assert_eq!(below_plans(" bold-oak-tale.plan"), "/plans/bold-oak-tale.plan");
    }

    #[test]
    fn r12_a_body_is_cut_at_a_line_or_within_one() {
        let body = "ab\ncd\nefghij\n";
        let slice = |start| lines::slice(body.as_bytes(), LineStart::FromStart(start), None);
        let part = fit(body, &slice(0), 5);
        assert_eq!((part.text, part.truncated, part.next), ("ab\n", true, Some(1)));
        let part = fit(body, &slice(2), 5);
        assert_eq!((part.text, part.next, part.cut_at), ("efghi", None, Some(11)));
        let part = fit(body, &slice(0), 500);
        assert_eq!((part.text, part.truncated, part.next), (body, false, None));
    }
}
