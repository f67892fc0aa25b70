//! Completes what a person types where an address or a prompt takes a path: the names below the folder
//! that is typed so far.

use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo};
use yard_core::op::Names;
use yard_core::{Call, FileKind, WsPath};

use super::callers::WorkspaceView;
use super::resources::{locate, perform};

/// The completions of an argument; none for a folder that cannot be listed.
pub(super) fn complete(
    workspaces: &[WorkspaceView],
    params: &CompleteRequestParams,
    call: &Call,
) -> Result<CompleteResult, ErrorData> {
    let typed = params.argument.value.as_str();
    let mut values = match params.argument.name.as_str() {
        "path" => paths(workspaces, typed, call),
        _ => Vec::new(),
    };
    let total = u32::try_from(values.len()).ok();
    let has_more = values.len() > CompletionInfo::MAX_VALUES;
    values.truncate(CompletionInfo::MAX_VALUES);
    let completion = CompletionInfo::with_pagination(values, total, has_more);
    let completion = completion.map_err(|error| ErrorData::internal_error(error, None))?;
    Ok(CompleteResult::new(completion))
}

/// Paths without a leading slash, as addresses have them. Folders end with a slash.
fn paths(workspaces: &[WorkspaceView], typed: &str, call: &Call) -> Vec<String> {
    let typed = typed.trim_start_matches('/');
    let (folder, prefix) = typed.rsplit_once('/').unwrap_or(("", typed));
    if folder.is_empty() && workspaces.iter().any(|workspace| workspace.name.is_some()) {
        let names = workspaces.iter().filter_map(|workspace| workspace.name.as_deref());
        return names
            .filter(|name| name.starts_with(prefix))
            .map(|name| format!("{name}/"))
            .collect();
    }
    let parent = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let Ok((workspace, path)) = target(workspaces, folder) else { return Vec::new() };
    let names = Names { path, for_tree: false };
    let Ok(names) = perform(&workspace.session, call, names) else { return Vec::new() };
    let named = names.entries.iter().filter_map(|entry| {
        let name = entry.path.name()?.to_string();
        let end = if entry.kind == Some(FileKind::Folder) { "/" } else { "" };
        name.starts_with(prefix).then(|| format!("{parent}{name}{end}"))
    });
    named.collect()
}

fn target<'a>(
    workspaces: &'a [WorkspaceView],
    folder: &str,
) -> yard_core::Result<(&'a WorkspaceView, WsPath)> {
    match (workspaces, folder) {
        ([only], "") if only.name.is_none() => Ok((only, WsPath::root())),
        (workspaces, folder) => locate(workspaces, folder.as_bytes()),
    }
}
