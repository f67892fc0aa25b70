//! The index behind `search_code`: which file contains which words and defines which names.
//!
//! Each workspace has one index in memory. The first search builds it, and every search brings it up to date: it walks the
//! tree and compares the signature of each file, so that a search finds every change, whichever program made it, and reads
//! only changed files again. Nothing is watched, and nothing is stored on disk. Files are read through
//! [`yard_disk::Disk`], and results are ranked in `rank`.

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
pub use rank::{Hit, HitKind, Query, Ranked, SearchScope, best_line};
pub use read::text_of;
pub use refresh::Refresh;
