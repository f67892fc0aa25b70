//! Every operation on a workspace as a plain value, with the type of its answer. Operations have no defaults: defaults
//! belong to toolsets.

mod change;
mod command;
mod files;
mod journal;
mod look;
mod search;
mod search_code;

pub use crate::lines::LineStart;
pub use crate::replace::EditAction;
pub use change::*;
pub use command::*;
pub use files::*;
pub use journal::*;
pub use look::*;
pub use search::*;
pub use search_code::*;

/// A value that the kernel can plan and, if it changes anything, commit.
pub trait Operation: Clone + std::fmt::Debug + Send {
    /// What a finished operation answers.
    type Answer;
    /// Its name in audit rows and logs.
    const VERB: &'static str;
}

macro_rules! operations {
    ($($op:ty => $answer:ty, $verb:literal;)*) => {$(
        impl Operation for $op {
            type Answer = $answer;
            const VERB: &'static str = $verb;
        }
    )*};
}

operations! {
    Read => ReadAnswer, "read";
    Stat => StatAnswer, "stat";
    List => Listing, "list";
    Names => NamesAnswer, "names";
    Find => Found, "find";
    Grep => GrepAnswer, "grep";
    SearchCode => CodeAnswer, "search-code";
    Write => Changed, "write";
    Touch => Changed, "touch";
    Mkdir => Changed, "mkdir";
    Edit => Edited, "edit";
    ApplyPatch => Patched, "patch";
    Move => Moved, "move";
    Remove => Removed, "remove";
    History => HistoryAnswer, "history";
    Show => Shown, "show";
    Trash => TrashAnswer, "trash";
    Restore => Restored, "restore";
    Undo => Undone, "undo";
    Import => Imported, "import";
    Verify => Verified, "verify";
    Locate => FileLocation, "locate";
    Fingerprint => Fingerprinted, "fingerprint";
    Fetch => Fetched, "fetch";
    ShowVersion => ShownVersion, "show-version";
    FetchVersion => FetchedVersion, "fetch-version";
    Place => Changed, "place";
    Purge => PurgeAnswer, "purge";
    Land => Landed, "run";
    TakeIn => Landed, "run";
}
