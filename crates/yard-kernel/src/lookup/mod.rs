//! Finds what is at a path: an entry on disk, a node of the store, a virtual file, or command output; and makes the faults
//! for a path where something else is expected. Nothing here plans or changes anything.

pub(crate) mod node_lookup;
pub(crate) mod path_faults;
pub(crate) mod read_target;
mod virtual_paths;
