//! Git repositories of the workspace: questions that git answers in a read-only box, the files that it tracks, and the refs
//! that a command moved. Nothing here changes a repository.

pub(crate) mod moved_refs;
mod query;
mod tracked;
