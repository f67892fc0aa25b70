//! Contents on their way between memory, the staging folder and the store: how many bytes a call may load or write, how a
//! new content is staged, how a stored one is staged again, and which files are build output, whose contents may be
//! evicted. The kept files of purged contents are removed here.
//!
//! Nothing here knows paths that an operation plans to change, and nothing here changes a file of the workspace.

pub(crate) mod build_output;
pub(crate) mod deletions;
pub(crate) mod load_limits;
pub(crate) mod staging;
pub(crate) mod stored_content;
