//! A patch done to a real workspace: one step, all of it or nothing, whatever fails, whoever else is at
//! work, and whenever the process ends (C3, X3). The pure engine has its own tests in `yard-core`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests"
)]

mod kills;
mod links;
mod pairs;
mod places;
mod refusals;
mod replaced;
mod rivals;
mod saves;
mod story;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use yard_core::op::{ApplyPatch, Undo, Undone};
use yard_core::patch::{Patch, parse};
use yard_core::{Result, StepId, WsPath};
use yard_testkit::ChildWorkspace;
use yard_testkit::trees::{File, Tree};

/// A patch whose paths are as the workspace shows them: what a dialect makes of one.
fn shown(mut patch: Patch) -> Patch {
    let show = |path: &String| WsPath::parse_shown(path).unwrap().to_string();
    for file in &mut patch.files {
        file.old_path = file.old_path.as_ref().map(show);
        file.new_path = file.new_path.as_ref().map(show);
    }
    patch
}

/// The operation that does what a text asks for.
fn patch(text: &str) -> ApplyPatch {
    let patch = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    ApplyPatch { patch: shown(patch) }
}

/// Writes the files of a tree below a root, behind the kernel's back.
fn lay(root: &Path, tree: &Tree) {
    for (name, File { text, executable }) in tree {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let mode = if *executable { 0o755 } else { 0o644 };
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    }
}

/// The files below a root, as git would see them.
fn files(root: &Path) -> Tree {
    let mut found = Tree::new();
    collect(root, root, &mut found);
    found
}

fn collect(root: &Path, folder: &Path, found: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let meta = path.symlink_metadata().unwrap();
        if meta.is_dir() {
            collect(root, &path, found);
            continue;
        }
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let executable = meta.permissions().mode() & 0o100 != 0;
        found.insert(name, File { text: fs::read_to_string(&path).unwrap(), executable });
    }
}

/// The newest step.
fn newest(child: &ChildWorkspace) -> StepId {
    child.history(None, 1)[0].id
}

fn undo(child: &ChildWorkspace, step: StepId) -> Result<Undone> {
    child.perform(Undo::of(step))
}

fn put(child: &ChildWorkspace, path: &str, text: &str) {
    let write = yard_testkit::write(path, text, None);
    child.perform(write).unwrap_or_else(|fault| panic!("{path}: {fault}"));
}
