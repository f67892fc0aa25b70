//! `toolyard undo`, `redo` and `back-to`, with `--preview` and `--path`.

use crate::support::TestWorkspace;

fn newest(workspace: &TestWorkspace) -> String {
    workspace.newest_step()
}

#[test]
fn a_preview_shows_a_diff_and_changes_nothing() {
    let workspace = TestWorkspace::new();
    workspace.write("/a.txt", "one\n");
    workspace.write("/b.txt", "two\n");
    let step = newest(&workspace);
    let shown = workspace.run(&["undo", &step, "--preview"]);
    assert_eq!(shown.exit, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("removed\n--- a/b.txt\n+++ /dev/null\n"), "{}", shown.stdout);
    assert!(shown.stdout.ends_with("nothing was changed; without --preview this is done\n"));
    assert_eq!(newest(&workspace), step);
    let value = workspace.json(&["undo", &step, "--preview"]);
    assert_eq!(value["changes"][0]["change"], "removed", "{value}");

    workspace.json(&["undo", &step]);
    assert!(!workspace.file("b.txt").exists());
    let redone = workspace.run(&["redo", &step]);
    assert!(redone.stdout.starts_with("undid the undo "), "{}", redone.stdout);
    assert_eq!(workspace.text("b.txt"), "two\n");
}

#[test]
fn back_to_a_step_takes_back_what_came_after_it_in_the_paths_that_are_named() {
    let workspace = TestWorkspace::new();
    workspace.write("/a.txt", "one\n");
    let first = newest(&workspace);
    workspace.write("/src/b.txt", "two\n");
    workspace.write("/c.txt", "three\n");
    let done = workspace.json(&["back-to", &first, "--path", "src"]);
    assert_eq!(done["back_to"], first.as_str());
    assert!(!workspace.file("src").exists());
    assert_eq!(workspace.text("c.txt"), "three\n");
    let done = workspace.run(&["back-to", &first]);
    assert!(done.stdout.starts_with(&format!("went back to step {first} ")), "{}", done.stdout);
    assert!(!workspace.file("c.txt").exists());
    workspace.json(&["undo", "last"]);
    assert_eq!(workspace.text("c.txt"), "three\n");
}

#[test]
fn a_conflict_is_named() {
    let workspace = TestWorkspace::new();
    workspace.write("/a.txt", "one\n");
    let step = newest(&workspace);
    std::fs::write(workspace.file("a.txt"), "by hand\n").unwrap();
    let shown = workspace.run(&["undo", &step, "--preview"]);
    assert!(shown.stdout.contains("conflict: /a.txt: "), "{}", shown.stdout);
    assert!(shown.stdout.contains("--path PATH takes back only what has no conflict"));
    let refused = workspace.run(&["undo", &step]);
    assert_eq!(refused.exit, 1);
    assert_eq!(workspace.text("a.txt"), "by hand\n");
}

#[test]
fn a_step_that_is_undone_already_is_not_undone_by_an_empty_step() {
    let workspace = TestWorkspace::new();
    workspace.write("/a.txt", "one\n");
    workspace.write("/a.txt", "two\n");
    let step = newest(&workspace);
    workspace.json(&["undo", &step]);
    let undo = newest(&workspace);
    let again = workspace.run(&["undo", &step]);
    assert_eq!(again.exit, 1, "{}", again.stdout);
    assert!(again.stderr.contains("taken back already"), "{}", again.stderr);
    assert!(again.stderr.contains(&format!("`toolyard redo {step}`")), "{}", again.stderr);
    assert_eq!(newest(&workspace), undo, "no step was made");
    let history = workspace.run(&["history"]).stdout;
    let row = history.lines().nth(1).unwrap();
    assert!(row.contains(&format!("  /a.txt (undoes {}", &step[..13])), "{history}");
}

#[test]
fn redo_takes_last_for_what_was_undone_last_and_an_undo_for_the_step_that_it_undid() {
    let workspace = TestWorkspace::new();
    workspace.write("/a.txt", "one\n");
    let nothing = workspace.run(&["redo", "last"]);
    assert_eq!(nothing.exit, 1);
    assert!(nothing.stderr.contains("nothing is undone"), "{}", nothing.stderr);
    workspace.write("/a.txt", "two\n");
    workspace.json(&["undo", "last"]);
    assert_eq!(workspace.text("a.txt"), "one\n");
    workspace.json(&["redo", "last"]);
    assert_eq!(workspace.text("a.txt"), "two\n");
    assert_eq!(workspace.run(&["redo", "last"]).exit, 1, "it is there again");
    workspace.json(&["undo", "last"]);
    assert_eq!(workspace.text("a.txt"), "one\n", "an undo of the redo");
    workspace.write("/b.txt", "b\n");
    workspace.json(&["undo", "last"]);
    assert!(!workspace.file("b.txt").exists());
    workspace.json(&["redo", &newest(&workspace)]);
    assert_eq!(workspace.text("b.txt"), "b\n");
}
