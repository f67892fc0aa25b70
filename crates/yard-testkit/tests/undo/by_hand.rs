//! What somebody deleted without a step can be brought back, and a new folder's first file can be undone
//! when the folder has others.

use std::fs;
use std::sync::Arc;

use yard_core::op::{
    ApplyPatch, EditAction, HistoryOf, Mkdir, Restore, ShowVersion, Trash, Trashed, Undo, Verify,
};
use yard_core::patch::parse;
use yard_core::{Call, FaultCode, FileId, ReadAccess, StepId, VersionId, WsPath};
use yard_kernel::{Execute, Planned};
use yard_testkit::{RealWorld, TestWorkspace};
use yard_testkit::{at, replace, rm, write};

struct Written {
    file: FileId,
    version: VersionId,
    step: StepId,
}

pub(crate) fn last_step(workspace: &TestWorkspace) -> StepId {
    let of = HistoryOf::Workspace;
    let history = workspace.perform(yard_core::op::History { of, limit: 1, before: None }).unwrap();
    history.steps[0].id
}

fn put(workspace: &TestWorkspace, path: &str, content: &str) -> Written {
    let done = workspace.perform(write(path, content, None)).unwrap();
    Written { file: done.file, version: done.version.unwrap(), step: last_step(workspace) }
}

fn delete_by_hand(workspace: &TestWorkspace, path: &str) {
    let path = workspace.root().join(path.trim_start_matches('/'));
    match path.is_dir() {
        true => fs::remove_dir_all(path).unwrap(),
        false => fs::remove_file(path).unwrap(),
    }
}

fn trash(workspace: &TestWorkspace) -> Vec<Trashed> {
    workspace.perform(Trash { limit: 99, skip: 0 }).unwrap().entries
}

fn is_whole(workspace: &TestWorkspace) {
    let found = workspace.perform(Verify).unwrap();
    assert_eq!((found.problems, found.unsynced), (Vec::new(), Vec::new()));
}

#[test]
fn a_file_deleted_by_hand_is_in_the_trash_and_comes_back() {
    let workspace = TestWorkspace::new();
    let file = put(&workspace, "/notes/a.txt", "mine\n").file;
    put(&workspace, "/b.txt", "other\n");
    delete_by_hand(&workspace, "/notes/a.txt");
    let listed = trash(&workspace);
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].file, listed[0].path.clone()), (file, at("/notes/a.txt")));
    assert_eq!((listed[0].removed_at, listed[0].step, listed[0].size), (None, None, Some(5)));

    let restored = workspace.perform(Restore::Removed(file)).unwrap();
    assert_eq!((restored.file, restored.path), (file, at("/notes/a.txt")));
    assert_eq!(workspace.bytes("/notes/a.txt"), b"mine\n");
    assert_eq!(trash(&workspace), vec![]);
    is_whole(&workspace);

    // By its path, and what was removed by a step is listed after it.
    workspace.perform(rm("/b.txt")).unwrap();
    delete_by_hand(&workspace, "/notes/a.txt");
    let paths: Vec<String> = trash(&workspace).iter().map(|entry| entry.path.to_string()).collect();
    assert_eq!(paths, ["/notes/a.txt", "/b.txt"]);
    let second = workspace.perform(Trash { limit: 1, skip: 1 }).unwrap();
    assert_eq!((second.entries[0].path.clone(), second.truncated), (at("/b.txt"), false));
    assert!(workspace.perform(Trash { limit: 1, skip: 0 }).unwrap().truncated);
    workspace.perform(Restore::RemovedAt(at("/notes/a.txt"))).unwrap();
    assert_eq!(workspace.bytes("/notes/a.txt"), b"mine\n");
    let again = workspace.perform(Restore::Removed(file)).unwrap_err();
    assert_eq!(again.code(), FaultCode::Exists, "{again}");
    is_whole(&workspace);
}

#[test]
fn a_version_of_a_file_deleted_by_hand_can_be_restored() {
    let workspace = TestWorkspace::new();
    let first = put(&workspace, "/a", "one\n");
    put(&workspace, "/a", "two\n");
    delete_by_hand(&workspace, "/a");
    workspace.perform(Restore::Version(first.version)).unwrap();
    assert_eq!(workspace.bytes("/a"), b"one\n");
    assert_eq!(trash(&workspace), vec![]);
    // Both contents are still there, and so is the deletion.
    workspace.perform(Undo::of(last_step(&workspace))).unwrap();
    assert!(!workspace.has("/a"));
    is_whole(&workspace);
}

#[test]
fn a_folder_deleted_by_hand_comes_back_with_what_was_in_it() {
    let workspace = TestWorkspace::new();
    put(&workspace, "/src/a", "a\n");
    let deep = put(&workspace, "/src/deep/b", "b\n").file;
    delete_by_hand(&workspace, "/src");
    assert_eq!(trash(&workspace).len(), 4);
    workspace.perform(Restore::RemovedAt(at("/src"))).unwrap();
    assert_eq!(
        (workspace.bytes("/src/a"), workspace.bytes("/src/deep/b")),
        (b"a\n".into(), b"b\n".into())
    );
    assert_eq!(trash(&workspace), vec![]);
    is_whole(&workspace);

    // Of one file only the folders above it come back, and the rest stays in the trash.
    delete_by_hand(&workspace, "/src");
    workspace.perform(Restore::Removed(deep)).unwrap();
    assert!(workspace.has("/src/deep/b") && !workspace.has("/src/a"));
    let left: Vec<String> = trash(&workspace).iter().map(|entry| entry.path.to_string()).collect();
    assert_eq!(left, ["/src/a"]);
    is_whole(&workspace);
}

#[test]
fn an_undo_says_what_was_deleted_by_hand_and_works_once_it_is_restored() {
    let workspace = TestWorkspace::new();
    let made = put(&workspace, "/a", "one\n");
    workspace.perform(replace("/a", "one", "two")).unwrap();
    let edit = last_step(&workspace);
    delete_by_hand(&workspace, "/a");
    let fault = workspace.perform(Undo::of(edit)).unwrap_err();
    assert_eq!(fault.code(), FaultCode::MergeConflict);
    assert!(fault.message().contains("/a was deleted outside of Toolyard"), "{fault}");
    assert!(fault.message().contains("restore it first"), "{fault}");
    assert!(!fault.message().contains("later step"), "{fault}");
    workspace.perform(Restore::Removed(made.file)).unwrap();
    workspace.perform(Undo::of(edit)).unwrap();
    assert_eq!(workspace.bytes("/a"), b"one\n");

    // What a step made and somebody deleted needs no more than to be noted.
    let made = put(&workspace, "/b", "b\n");
    delete_by_hand(&workspace, "/b");
    workspace.perform(Undo::of(made.step)).unwrap();
    assert!(!workspace.has("/b"));
    is_whole(&workspace);
}

#[test]
fn the_first_file_of_a_new_folder_is_undone_and_the_folder_stays_with_the_others() {
    let workspace = TestWorkspace::new();
    let first = put(&workspace, "/new/deep/first", "1\n");
    put(&workspace, "/new/deep/second", "2\n");
    workspace.perform(Undo::of(first.step)).unwrap();
    assert!(!workspace.has("/new/deep/first"));
    assert_eq!(workspace.bytes("/new/deep/second"), b"2\n");
    is_whole(&workspace);

    // Another's file, which no step knows of, counts too.
    let first = put(&workspace, "/other/first", "1\n");
    workspace.put("/other/by-hand", "x");
    workspace.perform(Undo::of(first.step)).unwrap();
    assert!(!workspace.has("/other/first") && workspace.has("/other/by-hand"));

    // Where making the folder is all that the step did there is nothing to take back.
    workspace.perform(Mkdir { path: at("/empty") }).unwrap();
    let made = last_step(&workspace);
    put(&workspace, "/empty/file", "x");
    let fault = workspace.perform(Undo::of(made)).unwrap_err();
    assert_eq!(fault.code(), FaultCode::MergeConflict);
    assert!(fault.message().contains("there are other files in the folder now"), "{fault}");
}

#[test]
fn writing_what_is_there_answers_with_a_version_that_exists() {
    let workspace = TestWorkspace::new();
    let first = put(&workspace, "/a", "same\n");
    let again = workspace.perform(write("/a", "same\n", None)).unwrap();
    assert_eq!(again.version, Some(first.version));
    // What somebody else wrote is recorded with the call, and its version is answered.
    workspace.put("/b", "theirs\n");
    let theirs = workspace.perform(write("/b", "theirs\n", None)).unwrap();
    let version = theirs.version.unwrap();
    let shown = workspace.perform(ShowVersion { version, of: None, max_bytes: 99 }).unwrap();
    assert_eq!(shown.size, 7);
    // An edit in a circle changes nothing either.
    let action = |old: &str, new: &str| EditAction::Replace {
        old: old.to_owned(),
        new: new.to_owned(),
        all: false,
    };
    let actions = vec![action("same", "x"), action("x", "same")];
    let circle = yard_core::op::Edit { path: at("/a"), actions, expected: None };
    assert_eq!(workspace.perform(circle).unwrap_err().code(), FaultCode::NoChange);
}

/// May list only what is below `/open`.
struct OnlyOpen;

impl ReadAccess for OnlyOpen {
    fn may_read(&self, path: &WsPath) -> bool {
        self.may_list(path)
    }

    fn may_list(&self, path: &WsPath) -> bool {
        path.is_within(&at("/open"))
    }

    fn withheld_paths(&self) -> Vec<WsPath> {
        vec![WsPath::root()]
    }

    fn withholds_all_below(&self, _: &WsPath) -> bool {
        false
    }

    fn note(&self) -> String {
        String::new()
    }

    fn may_see(&self, _: &str) -> bool {
        false
    }
}

#[test]
fn pages_of_the_trash_go_on_after_entries_that_the_caller_may_not_list() {
    let workspace = TestWorkspace::new();
    let removed = ["/open/a", "/secret/b", "/secret/c", "/open/d", "/secret/e"];
    for path in removed {
        put(&workspace, path, path);
        workspace.perform(rm(path)).unwrap();
    }
    let call = Call::new(Arc::new(RealWorld)).with_read_access(Some(Arc::new(OnlyOpen)));
    let page = |skip| match (Trash { limit: 1, skip }).plan(workspace.kernel(), &call).unwrap() {
        Planned::Answer { answer, .. } => {
            let paths: Vec<_> = answer.entries.iter().map(|entry| entry.path.clone()).collect();
            (paths, answer.truncated)
        }
        Planned::Change(_) => panic!("the trash changes nothing"),
    };
    assert_eq!(page(0), (vec![at("/open/d")], true));
    assert_eq!(page(1), (vec![at("/open/a")], false));
    assert_eq!(page(2), (vec![], false));
}

/// A patch moves build output into a new folder and changes it, and the output changes again before the patch is undone.
#[test]
fn an_undo_that_leaves_build_output_leaves_its_folder_too() {
    let workspace = TestWorkspace::new();
    put(&workspace, "/.gitignore", "target/\n");
    put(&workspace, "/source.txt", "one\n");
    put(&workspace, "/target/old/a.txt", "one\n");
    let text = "*** Begin Patch\n*** Update File: /source.txt\n@@\n-one\n+two\n\
                *** Update File: /target/old/a.txt\n*** Move to: /target/new/a.txt\n@@\n-one\n+two\n\
                *** End Patch\n";
    workspace.perform(ApplyPatch { patch: parse(text).unwrap() }).unwrap();
    let patched = last_step(&workspace);
    put(&workspace, "/target/new/a.txt", "three\n");
    let undone = workspace.perform(Undo::of(patched)).unwrap();
    assert_eq!(undone.left, [at("/target/new/a.txt")]);
    assert_eq!(workspace.bytes("/source.txt"), b"one\n");
    assert_eq!(workspace.bytes("/target/new/a.txt"), b"three\n");
    is_whole(&workspace);
}

/// The plan of the undo finds the file missing first, and then the folder that it was in.
#[test]
fn the_undo_of_a_new_folder_that_was_deleted_by_hand_has_nothing_left_to_do() {
    let workspace = TestWorkspace::new();
    let made = put(&workspace, "/notes/a.txt", "mine\n").step;
    put(&workspace, "/notes/b.txt", "too\n");
    delete_by_hand(&workspace, "/notes");
    workspace.perform(Undo::of(made)).unwrap();
    let gone: Vec<String> = trash(&workspace).iter().map(|entry| entry.path.to_string()).collect();
    assert!(
        ["/notes", "/notes/a.txt", "/notes/b.txt"]
            .iter()
            .all(|at| gone.contains(&(*at).to_owned())),
        "{gone:?}"
    );
    is_whole(&workspace);
}
