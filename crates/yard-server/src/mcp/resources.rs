//! Resources: files, history, diffs. All reads are judged by the gate, so that a caller sees only what it may read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::ErrorData;
use rmcp::model::{
    ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;
use yard_core::op::{
    FETCH_BYTES, Fetch, Find, FindBy, History, HistoryOf, LineStart, Operation, Read, Show, Slice,
    Want,
};
use yard_core::{Call, Fault, FaultCode, FileKind, Result, WsPath};
use yard_gate::{Asks, Completion, Execute, Origin, Session};

use super::address::{Address, TEMPLATES};
use super::callers::WorkspaceView;

/// The toolset that audit rows name for operations of the MCP server.
const DOOR: &str = "mcp";
/// How many files one page lists.
const PAGE: usize = 200;
/// How many steps a history shows.
const STEPS: usize = 50;
/// The longest diff, in bytes.
const DIFF_BYTES: u64 = 256 << 10;
/// The largest file that is read, in bytes.
const FILE_BYTES: u64 = 8 << 20;

/// Performs one operation as the caller. It is a fault if a person would have to be asked.
pub(super) fn perform<O: Execute>(
    session: &Session,
    call: &Call,
    op: O,
) -> Result<<O as Operation>::Answer> {
    let origin = Origin { toolset: DOOR, tool: O::VERB, asks: Asks::Never };
    match session.perform(origin, call, op)? {
        Completion::Done(answer) => Ok(answer),
        Completion::Pending(_) => {
            let message =
                "this needs a person's approval, which only a tool call can ask for: use a tool";
            Err(Fault::new(FaultCode::Denied, message))
        }
    }
}

/// The templates of the addresses.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |(form, name, about): &(&str, &str, &str)| {
        ResourceTemplate::new(*form, *name).with_description(*about)
    };
    TEMPLATES.iter().map(template).collect()
}

/// A page of the resources. The cursor is the number of the folder that is listed, and the last path.
pub(super) fn list(
    workspaces: &[WorkspaceView],
    cursor: Option<&str>,
    call: &Call,
) -> std::result::Result<ListResourcesResult, ErrorData> {
    let (at, after) = match cursor {
        None => (0, None),
        Some(cursor) => parse_cursor(cursor).ok_or_else(|| {
            ErrorData::invalid_params("expected a cursor that this server handed out", None)
        })?,
    };
    let mut items = Vec::new();
    if cursor.is_none() {
        let history = Resource::new(Address::of_history(), "history")
            .with_description("The newest steps, with the ids under which they can be undone.")
            .with_mime_type("text/plain");
        items.push(history);
    }
    let areas = workspaces.iter().flat_map(|workspace| {
        let folders = workspace.session.folders().into_iter();
        folders.map(move |folder| (workspace, folder))
    });
    let areas: Vec<(&WorkspaceView, WsPath)> = areas.collect();
    let Some((workspace, folder)) = areas.get(at) else {
        return Ok(ListResourcesResult::with_all_items(items));
    };
    let below = Find::below(folder.clone(), FindBy::Any);
    let find = Find { limit: Some(PAGE), after, ..below };
    let listing = perform(&workspace.session, call, find).map_err(|fault| to_error(&fault))?;
    let last = listing.entries.last().map(|entry| entry.path.clone());
    let files = listing
        .entries
        .iter()
        .filter(|entry| entry.kind == Some(FileKind::File) && !entry.is_virtual);
    items.extend(files.map(|entry| {
        let uri = Address::of_file(workspace.name.as_deref(), &entry.path);
        let resource = Resource::new(uri, String::from_utf8_lossy(entry.path.relative()));
        match entry.size {
            Some(size) => resource.with_size(size),
            None => resource,
        }
    }));
    let mut page = ListResourcesResult::with_all_items(items);
    page.next_cursor = match (listing.truncated, last) {
        (true, Some(last)) => Some(format!("{at}:{}", STANDARD.encode(last.relative()))),
        _ => (at + 1 < areas.len()).then(|| format!("{}:", at + 1)),
    };
    Ok(page)
}

fn parse_cursor(cursor: &str) -> Option<(usize, Option<WsPath>)> {
    let (at, path) = cursor.split_once(':')?;
    let path = STANDARD.decode(path).ok()?;
    let path = if path.is_empty() { None } else { Some(WsPath::from_bytes(&path).ok()?) };
    Some((at.parse().ok()?, path))
}

/// Reads the resource of an address.
pub(super) fn read(
    workspaces: &[WorkspaceView],
    uri: &str,
    call: &Call,
) -> std::result::Result<ReadResourceResult, ErrorData> {
    let address = Address::parse(uri).ok_or_else(|| {
        let forms = TEMPLATES.map(|(form, ..)| form).join(", ");
        ErrorData::resource_not_found(
            format!("no resource has this address; the forms are {forms}"),
            Some(json!({"uri": uri})),
        )
    })?;
    let content = content(workspaces, uri, &address, call).map_err(|fault| {
        let mut error = to_error(&fault);
        error.data = Some(json!({"uri": uri}));
        error
    })?;
    Ok(ReadResourceResult::new(vec![content]))
}

fn content(
    workspaces: &[WorkspaceView],
    uri: &str,
    address: &Address,
    call: &Call,
) -> Result<ResourceContents> {
    match address {
        Address::File(path) => {
            let (workspace, path) = locate(workspaces, path)?;
            let bytes = bytes(&workspace.session, &path, call)?;
            Ok(match String::from_utf8(bytes) {
                Ok(text) => ResourceContents::text(text, uri),
                Err(error) => ResourceContents::blob(STANDARD.encode(error.as_bytes()), uri)
                    .with_mime_type("application/octet-stream"),
            })
        }
        Address::History(path) => {
            let lines = match path {
                Some(path) => {
                    let (workspace, path) = locate(workspaces, path)?;
                    history(&workspace.session, HistoryOf::Path(path), call)?
                }
                None => {
                    let of_one = |workspace: &WorkspaceView| {
                        history(&workspace.session, HistoryOf::Workspace, call)
                    };
                    workspaces.iter().map(of_one).collect::<Result<Vec<_>>>()?.concat()
                }
            };
            let none = || "nothing has changed yet".to_owned();
            let text = if lines.is_empty() { none() } else { lines.join("\n") };
            Ok(ResourceContents::text(text, uri))
        }
        Address::Diff(step) => {
            let shown = workspaces
                .iter()
                .map(|workspace| perform(&workspace.session, call, Show::all(*step, DIFF_BYTES)));
            let shown = first_success(shown)?;
            let mut text: String =
                shown.changes.iter().filter_map(|change| change.diff.as_deref()).collect();
            if shown.truncated {
                text.push_str("\n(cut: `toolyard show` has all of it)\n");
            }
            Ok(ResourceContents::text(text, uri).with_mime_type("text/x-diff"))
        }
    }
}

/// The first success, or the last fault.
fn first_success<T>(mut tried: impl Iterator<Item = Result<T>>) -> Result<T> {
    let mut result = Err(Fault::new(FaultCode::NotFound, "there is no workspace"));
    while result.is_err() {
        match tried.next() {
            Some(next) => result = next,
            None => break,
        }
    }
    result
}

/// The workspace and the path in it that the path of an address names.
pub(super) fn locate<'a>(
    workspaces: &'a [WorkspaceView],
    path: &[u8],
) -> Result<(&'a WorkspaceView, WsPath)> {
    let none = || Fault::new(FaultCode::NotFound, "no such file");
    let mut parts = path.splitn(2, |byte| *byte == b'/');
    let (workspace, inside) = match workspaces {
        [only] if only.name.is_none() => (only, path),
        workspaces => {
            let name = parts.next().unwrap_or_default();
            let named = |workspace: &&WorkspaceView| {
                workspace.name.as_deref().map(str::as_bytes) == Some(name)
            };
            (workspaces.iter().find(named).ok_or_else(none)?, parts.next().unwrap_or_default())
        }
    };
    WsPath::from_bytes(inside).map(|path| (workspace, path)).map_err(|_| none())
}

fn bytes(session: &Session, path: &WsPath, call: &Call) -> Result<Vec<u8>> {
    let fetch = |offset, seen| {
        perform(session, call, Fetch { path: path.clone(), offset, length: FETCH_BYTES, seen })
    };
    let first = match fetch(0, None) {
        // Transcripts of chats are texts that no file on disk has.
        Err(fault) if fault.code() == FaultCode::NotFound => {
            return transcript(session, path, call).ok_or(fault);
        }
        first => first?,
    };
    if first.size > FILE_BYTES {
        let message = format!(
            "{path} has {} bytes; at most {FILE_BYTES} are read as a resource: use a tool that pages",
            first.size
        );
        return Err(Fault::new(FaultCode::TooLarge, message));
    }
    let mut bytes = first.bytes;
    while (bytes.len() as u64) < first.size {
        bytes.extend(fetch(bytes.len() as u64, Some(first.seen))?.bytes);
    }
    Ok(bytes)
}

/// The beginning of the transcript of a chat; nothing for any other path that no file has.
fn transcript(session: &Session, path: &WsPath, call: &Call) -> Option<Vec<u8>> {
    let slice = Slice::Lines { start: LineStart::FromStart(0), limit: None };
    let (path, want) = (path.clone(), Want::default());
    let read = Read { path, slice, want, max_bytes: FILE_BYTES };
    let answer = perform(session, call, read).ok()?;
    let mut text = answer.text;
    if answer.truncated {
        text.push_str("\n(cut: a tool that pages has all of it)\n");
    }
    Some(text.into_bytes())
}

fn history(session: &Session, of: HistoryOf, call: &Call) -> Result<Vec<String>> {
    let page = perform(session, call, History { of, limit: STEPS, before: None })?;
    let line = |step: &yard_core::op::HistoryEntry| {
        let path = step.path.as_ref().map(ToString::to_string).unwrap_or_default();
        let more = match step.files {
            0 | 1 => String::new(),
            files => format!(" and {} more", files - 1),
        };
        format!("{} {} {} {} {path}{more}", step.id, step.at, step.author.word(), step.verb)
    };
    Ok(page.steps.iter().map(line).collect())
}

fn to_error(fault: &Fault) -> ErrorData {
    let message = fault.message().to_owned();
    match fault.code() {
        FaultCode::NotFound => ErrorData::resource_not_found(message, None),
        FaultCode::Io => ErrorData::internal_error(message, None),
        _ => ErrorData::invalid_params(message, None),
    }
}
