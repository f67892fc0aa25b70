//! One file an operation: what it would do, worked out without doing it.

mod edit;
mod fetch;
mod find;
mod fingerprint;
mod grep;
mod history;
mod import;
mod land;
mod list;
mod locate;
mod mkdir;
mod names;
mod patch;
mod place;
pub(crate) mod purge;
mod read;
mod relocate;
mod remove;
mod restore;
mod search_code;
mod show;
mod stale;
mod stat;
mod sync;
mod touch;
mod trash;
mod undo;
mod verify;
pub(crate) mod version;
mod write;

pub(crate) use grep::is_passing;
pub(crate) use sync::is_settled;
