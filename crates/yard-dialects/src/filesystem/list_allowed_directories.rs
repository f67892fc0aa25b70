//! `list_allowed_directories`: lists the directories in which callers may read and write.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Reply, host_paths};
use crate::tool::{Context, Stop, Tool, Work};

/// Returns the list of directories that this server is allowed to access. Subdirectories within these allowed
/// directories are also accessible. Use this to understand which directories and their nested paths are
/// available before trying to access files.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ListAllowedDirectories {}

impl Tool for ListAllowedDirectories {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "list_allowed_directories";
    const WORK: Work = Work::Look;

    fn run(_: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        Ok(format!("Allowed directories:\n{}", host_paths::roots(context).join("\n")).into())
    }
}
