//! `file_info`: answers the properties of a file without its content (W14).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op;
use yard_core::{FaultCode, FileKind};

use super::content;
use crate::paging::is_false;
use crate::tool::{Context, Stop, Tool, Work};

/// Tells the type, size, line count, times and hash of a file, or the type and times of a folder,
/// without returning its content. Of a link it tells of the file or folder that it leads to, and where that
/// is.
#[derive(Deserialize, JsonSchema)]
pub(super) struct FileInfo {
    /// Full path to the file or folder.
    path: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The file or folder.
    path: String,
    /// Its type: document, folder, canvas, chat, whiteboard, agent, skill or plan.
    file_type: &'static str,
    /// Its size in bytes; null for a folder.
    size: Option<u64>,
    /// Its lines; null for a folder and for what is no text.
    line_count: Option<u64>,
    /// Whether the store's newest version is what is on disk.
    synced: bool,
    /// When it came to be (RFC 3339, UTC).
    created_at: String,
    /// When it was last changed (RFC 3339, UTC).
    updated_at: String,
    /// SHA-256 of its content, the next `last_read_hash`; null for a folder.
    hash: Option<String>,
    /// Its id; not there for what the store does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Whether the system manages it; not there if it does not.
    #[serde(skip_serializing_if = "is_false")]
    is_virtual: bool,
    /// Of a link: what it leads to, which the rest is about. The rest is about the link itself where that is
    /// not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    link_target: Option<String>,
}

impl Tool for FileInfo {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "file_info";
    const WORK: Work = Work::Look;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = context.path(&args.path)?;
        let look = |follow| {
            context.perform(op::Stat { path: path.clone(), want: content::EVERYTHING, follow })
        };
        let found = look(false)?;
        let shown = context.display(&found.entry.path);
        let (stat, link_target) = match found.entry.kind {
            Some(FileKind::Link) => match look(true) {
                Ok(target) => {
                    let leads_to = context.display(&target.entry.path);
                    (target, Some(leads_to))
                }
                // It leads to nothing.
                Err(Stop::Fault(fault)) if fault.code() == FaultCode::NotFound => (found, None),
                Err(stop) => return Err(stop),
            },
            _ => (found, None),
        };
        Ok(Reply {
            path: shown,
            file_type: stat.entry.file_type.word(),
            size: stat.entry.size,
            line_count: stat.line_count,
            synced: stat.entry.synced,
            created_at: stat.created_at.to_string(),
            updated_at: stat.entry.updated_at.to_string(),
            hash: stat.hash.map(|hash| hash.to_string()),
            id: stat.entry.id.map(|id| id.to_string()),
            is_virtual: stat.entry.is_virtual,
            link_target,
        })
    }
}
