//! `get_file_info`: answers a file's metadata, line by line.

use schemars::JsonSchema;
use serde::Deserialize;
use yard_core::op::{Stat, Want};
use yard_core::{FileKind, Subject, Timestamp};

use super::{Reply, fault, host_paths};
use crate::tool::{Context, Stop, Tool, Work};

/// Retrieve detailed metadata about a file or directory. Returns comprehensive information including size,
/// creation time, last modified time, permissions, and type. Only works within allowed directories.
#[derive(Deserialize, JsonSchema)]
pub(super) struct GetFileInfo {
    /// The file or directory: an absolute path within an allowed directory, or one relative to it.
    path: String,
}

impl Tool for GetFileInfo {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "get_file_info";
    const WORK: Work = Work::Look;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = host_paths::parse(context, &args.path, Subject::Path)?;
        let operation = Stat { path: path.clone(), want: Want::default(), follow: true };
        let info =
            context.perform(operation).map_err(fault::of_system_call(context, "stat", &path))?;
        let (entry, on_disk) = (&info.entry, info.on_disk);
        let lines = [
            format!("size: {}", on_disk.map_or(entry.size.unwrap_or(0), |it| it.size)),
            format!("created: {}", moment(info.created_at)),
            format!("modified: {}", moment(entry.updated_at)),
            format!("accessed: {}", moment(on_disk.map_or(entry.updated_at, |it| it.accessed_at))),
            format!("isDirectory: {}", entry.kind == Some(FileKind::Folder)),
            format!("isFile: {}", entry.kind == Some(FileKind::File)),
            // What is not on disk can be read and not written.
            format!("permissions: {:03o}", on_disk.map_or(0o444, |it| it.mode & 0o777)),
        ];
        Ok(lines.join("\n").into())
    }
}

/// A moment as JavaScript writes it, in UTC.
fn moment(at: Timestamp) -> String {
    let moment = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default();
    moment.strftime("%a %b %d %Y %H:%M:%S GMT+0000 (Coordinated Universal Time)").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_javascript_does() {
        for (at, written) in [
            ("1970-01-01T00:00:00Z", "Thu Jan 01 1970 00:00:00"),
            ("2026-11-16T03:29:41.999Z", "Mon Nov 16 2026 03:29:41"),
            ("1969-12-31T23:59:59Z", "Wed Dec 31 1969 23:59:59"),
        ] {
            let expected = format!("{written} GMT+0000 (Coordinated Universal Time)");
            assert_eq!(moment(Timestamp::parse(at).unwrap()), expected);
        }
    }
}
