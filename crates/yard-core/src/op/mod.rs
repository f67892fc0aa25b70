//! Every operation on a workspace as a plain value, with the type of its answer. Operations have no defaults: defaults
//! belong to toolsets.

mod blame;
mod change;
mod command;
mod compare;
mod files;
mod journal;
mod look;
mod past;
mod search;
mod search_code;
mod timeline;

use crate::WsPath;
pub use crate::lines::LineStart;
pub use crate::replace::EditAction;
pub use blame::*;
pub use change::*;
pub use command::*;
pub use compare::*;
pub use files::*;
pub use journal::*;
pub use look::*;
pub use past::*;
pub use search::*;
pub use search_code::*;
pub use timeline::*;

/// A value that the kernel can plan and, if it changes anything, commit.
pub trait Operation: Clone + std::fmt::Debug + Send {
    /// What a finished operation answers.
    type Answer;
    /// Its name in audit rows and logs.
    const VERB: &'static str;
    /// The paths among its arguments that rules are about, with their links not resolved.
    fn paths(&self) -> Vec<WsPath> {
        Vec::new()
    }
}

macro_rules! operations {
    ($($op:ty => $answer:ty, $verb:literal, [$($path:ident),*];)*) => {$(
        impl Operation for $op {
            type Answer = $answer;
            const VERB: &'static str = $verb;

            fn paths(&self) -> Vec<WsPath> {
                vec![$(self.$path.clone()),*]
            }
        }
    )*};
}

operations! {
    Read => ReadAnswer, "read", [path];
    Stat => StatAnswer, "stat", [path];
    List => Listing, "list", [path];
    Names => NamesAnswer, "names", [path];
    Find => Found, "find", [path];
    Grep => GrepAnswer, "grep", [path];
    SearchCode => CodeAnswer, "search-code", [path];
    Write => Changed, "write", [path];
    Touch => Changed, "touch", [path];
    Mkdir => Changed, "mkdir", [path];
    Edit => Edited, "edit", [path];
    ApplyPatch => Patched, "patch", [];
    Move => Moved, "move", [from, to];
    Remove => Removed, "remove", [path];
    History => HistoryAnswer, "history", [];
    Show => Shown, "show", [];
    Trash => TrashAnswer, "trash", [];
    Restore => Restored, "restore", [];
    Undo => Undone, "undo", [];
    Redo => Undone, "redo", [];
    BackTo => WentBack, "back-to", [];
    PreviewUndo => UndoPreview, "preview-undo", [];
    Import => Imported, "import", [];
    Verify => Verified, "verify", [];
    Locate => FileLocation, "locate", [];
    Fingerprint => Fingerprinted, "fingerprint", [];
    Fetch => Fetched, "fetch", [path];
    ShowVersion => ShownVersion, "show-version", [];
    FetchVersion => FetchedVersion, "fetch-version", [];
    Place => Changed, "place", [path];
    Purge => PurgeAnswer, "purge", [];
    Land => Landed, "run", [];
    TakeIn => Landed, "run", [];
    ListSteps => StepList, "list-steps", [];
    TreeAt => TreeThen, "tree-at", [];
    FetchAt => FetchedThen, "fetch-at", [];
    Compare => Compared, "compare", [];
    Blame => Blamed, "blame", [];
}
