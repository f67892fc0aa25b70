//! How much is kept, and for how long; and who cannot get at it.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use serde_json::{Value, json};
use yard_core::op::{Purge, Trash};
use yard_disk::RetentionLimits;

use super::{
    FOLDER, files, lines, ok, path_of, plan_keeping, read, say_lines, spill, yard_keeping,
};
use crate::box_setup::{shell, workspace};

#[test]
fn x4_of_a_flood_the_first_bytes_are_kept_and_the_rest_is_counted() {
    let workspace =
        yard_keeping(RetentionLimits { stream_bytes: 100_000, ..RetentionLimits::default() });
    let answer = shell(&workspace, &say_lines(5_000_000));
    let (text, path) = (answer["stdout"].as_str().unwrap(), path_of(&answer, "stdout"));
    let hint = format!("the first 100000 of all 5000000 bytes are at {path}");
    assert!(text.contains(&hint) && text.ends_with("   499999\n"), "{text}");
    assert!(
        std::fs::read(&files(&workspace)[0]).unwrap() == lines(5_000_000).as_bytes()[..100_000]
    );
    let workspace = yard_keeping(RetentionLimits { stream_bytes: 0, ..RetentionLimits::default() });
    let answer = shell(&workspace, &say_lines(5_000_000));
    assert_eq!((&answer["stdout_path"], files(&workspace).len()), (&Value::Null, 0));
    assert!(
        answer["stdout"].as_str().unwrap().contains("[... 4934464 bytes are left out here ...]")
    );
}

#[test]
fn x4_the_oldest_output_is_removed_first_and_a_reader_learns_that() {
    let workspace =
        yard_keeping(RetentionLimits { total_bytes: 1_000_000, ..RetentionLimits::default() });
    let paths: Vec<String> = (0..4).map(|_| spill(&workspace, 400_000)).collect();
    let found: Vec<bool> = paths.iter().map(|path| read(&workspace, path).ok).collect();
    assert_eq!(found, [false, false, true, true]);
    let gone = read(&workspace, &paths[0]).body["result"].clone();
    assert_eq!(gone["error"], "FILE_NOT_FOUND", "{gone}");
    let message = gone["message"].as_str().unwrap();
    assert!(message.contains("only for a while") && message.contains("run the command again"));
    let path = spill(&workspace, 3_000_000);
    assert_eq!(files(&workspace).len(), 1, "what was just said stays, however much it is");
    assert!(read(&workspace, &path).ok);
}

#[test]
fn x4_what_is_old_goes_when_the_workspace_is_opened() {
    let workspace = workspace();
    let (old, young) = (spill(&workspace, 200_000), spill(&workspace, 200_000));
    let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let file = files(&workspace)[0].with_file_name(name(&old));
    let past = std::time::SystemTime::now() - Duration::from_secs(8 * 24 * 3_600);
    std::fs::File::options().write(true).open(file).unwrap().set_modified(past).unwrap();
    assert!(read(&workspace, &old).ok && read(&workspace, &young).ok);
    let workspace = workspace.reopen_as(plan_keeping(RetentionLimits::default()));
    assert!(!read(&workspace, &old).ok && read(&workspace, &young).ok, "a week is over");
    let workspace = workspace
        .reopen_as(plan_keeping(RetentionLimits { total_bytes: 1, ..RetentionLimits::default() }));
    assert_eq!(files(&workspace).len(), 0, "what is too much goes too");
}

#[test]
fn r13_output_belongs_to_one_workspace_and_to_no_other_user() {
    let (one, other) = (workspace(), workspace());
    let path = spill(&one, 200_000);
    assert!(read(&one, &path).ok && !read(&other, &path).ok);
    let file = &files(&one)[0];
    assert!(!file.starts_with(one.root()) && !one.has(&format!("/{FOLDER}")));
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(file), mode(file.parent().unwrap())), (0o600, 0o700));
    let command = format!("cat {} {path}; ls {FOLDER} {}; ls -a", file.display(), {
        one.folders().state().display()
    });
    let answer = shell(&one, &command);
    assert!(
        !answer["stdout"].as_str().unwrap().contains("output"),
        "a box shows none of it: {answer}"
    );
    assert_eq!(answer["stderr"].as_str().unwrap().matches("No such file").count(), 4, "{answer}");
}

#[test]
fn a_purge_removes_command_output_as_well() {
    let workspace = workspace();
    let text = lines(200_000);
    let args = json!({"path": "/secret", "content": text});
    ok(&workspace, "workspace", "write", args);
    let path = path_of(&shell(&workspace, "cat secret"), "stdout");
    ok(&workspace, "workspace", "rm", json!({"path": "/secret"}));
    assert!(read(&workspace, &path).ok, "what was removed can come back");
    let file = workspace.perform(Trash { limit: 9, skip: 0 }).unwrap().entries[0].file;
    workspace.perform(Purge { file }).unwrap();
    assert_eq!((files(&workspace).len(), read(&workspace, &path).ok), (0, false));
}
