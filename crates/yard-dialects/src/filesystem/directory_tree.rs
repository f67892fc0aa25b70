//! `directory_tree`: lists everything below a directory, as JSON.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::Names;
use yard_core::{Fault, FaultCode, FileKind, Subject, WsPath};

use super::globs::Excluded;
use super::list_directory::names;
use super::{Reply, host_paths};
use crate::relative;
use crate::tool::{Context, Stop, Tool, Work};

/// The depth of the tree: no real tree is deeper.
const MAX_DEPTH: usize = 128;

/// Get a recursive tree view of files and directories as a JSON structure. Each entry includes 'name', 'type'
/// (file/directory), and 'children' for directories. Files have no children array, while directories always
/// have a children array (which may be empty; that of `.git` is). The output is formatted with 2-space
/// indentation for readability. Only works within allowed directories.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct DirectoryTree {
    /// The directory: an absolute path within an allowed directory, or one relative to it.
    path: String,
    /// What to leave out, with all below it: globs relative to the directory, or names at any depth.
    #[serde(default)]
    exclude_patterns: Vec<String>,
}

#[derive(Serialize)]
struct Node {
    name: String,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<Node>>,
}

impl Tool for DirectoryTree {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "directory_tree";
    const WORK: Work = Work::Walk;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = host_paths::parse(context, &args.path, Subject::Path)?;
        let mut builder = TreeBuilder {
            context,
            excluded: Excluded::by_name_too(&args.exclude_patterns)?,
            entries: context.limits().answer_entries,
            bytes: context.limits().load_bytes,
        };
        let tree = builder.nodes_below(&path, "", 1)?;
        let text = serde_json::to_string_pretty(&tree).map_err(|error| {
            Stop::Fault(Fault::new(FaultCode::Io, format!("the tree is no JSON: {error}")))
        })?;
        Ok(text.into())
    }
}

/// Builds a tree within the bounds of an answer (R12).
struct TreeBuilder<'a> {
    context: &'a Context<'a>,
    excluded: Excluded,
    entries: usize,
    bytes: u64,
}

impl TreeBuilder<'_> {
    /// The nodes of a directory; `relative` is its path from the top of the tree.
    fn nodes_below(
        &mut self,
        path: &WsPath,
        relative: &str,
        depth: usize,
    ) -> Result<Vec<Node>, Stop> {
        // A tree does not go into `/chats` unless that is where it starts (W18).
        let for_tree = depth > 1 || path.is_root();
        let listed = names(self.context, Names { path: path.clone(), for_tree })?;
        let mut nodes = Vec::new();
        for entry in &listed.entries {
            self.context.call().check()?;
            let name = relative::name(&entry.path);
            let inside =
                if relative.is_empty() { name.clone() } else { format!("{relative}/{name}") };
            if self.excluded.matches(&inside) {
                continue;
            }
            if !self.reserve(&name, depth) {
                nodes.push(self.cut(path));
                return Ok(nodes);
            }
            let is_directory = entry.kind == Some(FileKind::Folder);
            nodes.push(Node {
                r#type: if is_directory { "directory" } else { "file" },
                children: match is_directory {
                    true => Some(self.children(&entry.path, &inside, depth)?),
                    false => None,
                },
                name,
            });
        }
        if listed.entries.len() < listed.total {
            nodes.push(self.cut(path));
        }
        Ok(nodes)
    }

    fn children(&mut self, path: &WsPath, relative: &str, depth: usize) -> Result<Vec<Node>, Stop> {
        // R8: no tree goes into `.git`.
        if path.name().is_some_and(|name| name.as_bytes() == b".git") {
            return Ok(Vec::new());
        }
        if depth >= MAX_DEPTH {
            return Ok(vec![self.cut(path)]);
        }
        match self.nodes_below(path, relative, depth + 1) {
            // The directory was removed meanwhile.
            Err(Stop::Fault(fault))
                if matches!(fault.code(), FaultCode::NotFound | FaultCode::NotFolder) =>
            {
                Ok(Vec::new())
            }
            below => below,
        }
    }

    /// Reserves room for one more entry; returns whether there was any.
    fn reserve(&mut self, name: &str, depth: usize) -> bool {
        let written = (name.len() + 16 * depth + 80) as u64;
        let fits = self.entries > 0 && self.bytes >= written;
        self.entries = self.entries.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(written);
        fits
    }

    /// The note in place of entries that are left out.
    fn cut(&self, path: &WsPath) -> Node {
        let name = format!(
            "[more entries are in {}: call directory_tree with this path, or leave out more by \
             excludePatterns]",
            self.context.host_display(path)
        );
        Node { name, r#type: "note", children: None }
    }
}
