//! The index behind `search_code`: which file holds which words and defines which names.
//!
//! It lives in memory, one a workspace, is built by the first search and is brought up to date by every
//! one: what the tree holds is walked and each file's signature compared, so that an answer is right
//! whoever changed a file, and only what changed is read again. Nothing is watched and nothing is stored.
//! Files are read through [`yard_disk::Disk`], as grep reads them; what a search answers is worked out in `rank`.

mod code_index;
mod definitions;
mod grammar;
mod index;
mod rank;
mod read;
mod refresh;
mod words;

pub use code_index::CodeIndex;
pub use definitions::Definition;
pub use rank::{Hit, Query, Ranked, SearchScope, What, best_line};
pub use read::text_of;
pub use refresh::Refresh;
