//! SIGKILL at any moment of a patch over fifty files: opened again, all of it is there or none of it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use yard_testkit::{ChildWorkspace, FolderSnapshot, scaled, staged, tree};
use yard_testkit::{FakeWorld, Folders, OpenOptions};

use super::{newest, patch, undo};

const FILES: usize = 50;
const ORDER: &str = "YARD_PATCH_CHILD";

/// Every kind of section in turn.
fn sections() -> String {
    (0..FILES).map(section).collect()
}

fn section(number: usize) -> String {
    let name = format!("d{}/f{number}", number % 7);
    let (hunk, new) =
        (format!("@@ -1,3 +1,3 @@\n one {number}\n-two\n+zwei\n three\n"), number % 5);
    match number % 6 {
        0 => format!(
            "diff --git a/{name} b/n{new}/f{number}\nsimilarity index 50%\nrename from {name}\n\
             rename to n{new}/f{number}\n--- a/{name}\n+++ b/n{new}/f{number}\n{hunk}"
        ),
        1 => format!(
            "diff --git a/{name} b/{name}.moved\nsimilarity index 100%\nrename from {name}\n\
             rename to {name}.moved\n"
        ),
        2 => format!(
            "diff --git a/{name} b/{name}\ndeleted file mode 100644\n--- a/{name}\n+++ /dev/null\n\
             @@ -1,3 +0,0 @@\n-one {number}\n-two\n-three\n"
        ),
        3 => format!(
            "diff --git a/m{new}/{number} b/m{new}/{number}\nnew file mode 100755\n--- /dev/null\n\
             +++ b/m{new}/{number}\n@@ -0,0 +1 @@\n+made {number}\n"
        ),
        4 => format!(
            "diff --git a/{name} b/{name}\nold mode 100644\nnew mode 100755\n--- a/{name}\n\
             +++ b/{name}\n{hunk}"
        ),
        _ => format!("--- a/{name}\n+++ b/{name}\n{hunk}"),
    }
}

fn lay(root: &Path) {
    for number in 0..FILES {
        let folder = root.join(format!("d{}", number % 7));
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!("one {number}\ntwo\nthree\n");
        std::fs::write(folder.join(format!("f{number}")), text).unwrap();
    }
}

/// In a child process: does the patch, takes it back, and so on until it is killed.
#[test]
fn child() {
    let Some(order) = std::env::var_os(ORDER) else { return };
    let order = order.into_string().unwrap();
    let (root, state) = order.split_once('|').unwrap();
    let opened =
        ChildWorkspace::open(Path::new(root), Path::new(state), OpenOptions::default()).unwrap();
    let mut answer = std::io::stdout();
    let mut say = |words: &str| {
        answer.write_all(format!("\n@{words}\n").as_bytes()).unwrap();
        answer.flush().unwrap();
    };
    // Whoever was killed before may have left it either way.
    let mut done = Path::new(root).join("n0").exists();
    say("ready");
    loop {
        if done {
            undo(&opened, newest(&opened)).unwrap();
        } else {
            opened.perform(patch(&sections())).unwrap();
        }
        done = !done;
        say(if done { "done" } else { "undone" });
    }
}

/// Kills a child after a while; how many changes it told of.
fn kill_after(place: &Folders, pause: Duration) -> usize {
    let order = format!("{}|{}", place.root().display(), place.state().display());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::child", "--nocapture"])
        .env(ORDER, order)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut answer = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while line.trim_end() != "@ready" {
        line.clear();
        assert_ne!(answer.read_line(&mut line).unwrap(), 0, "the child does not start");
    }
    std::thread::sleep(pause);
    child.kill().unwrap();
    assert!(child.wait().unwrap().code().is_none(), "the child ended by itself");
    answer.lines().map_while(Result::ok).filter(|line| line.starts_with('@')).count()
}

/// How many changes there were; what was found on disk is none.
fn changes(opened: &ChildWorkspace) -> usize {
    let steps = opened.history(None, usize::MAX - 1);
    steps.iter().filter(|step| step.verb != "adopt").count()
}

/// How long a patch and its undo take, and what each leaves.
fn expected() -> (Duration, FolderSnapshot, FolderSnapshot) {
    let place = Folders::new();
    lay(place.root());
    let before = tree(place.root());
    let opened = place.open_as_child(OpenOptions::default());
    let began = Instant::now();
    opened.perform(patch(&sections())).unwrap();
    let after = tree(place.root());
    undo(&opened, newest(&opened)).unwrap();
    assert_eq!(tree(place.root()), before);
    (began.elapsed(), before, after)
}

#[test]
fn c3_killed_at_any_moment_a_patch_happened_or_it_did_not() {
    let (whole, before, after) = expected();
    let dice = FakeWorld::new(7);
    let kills = scaled(400);
    let (mut place, mut known) = (Folders::new(), 0);
    let (mut as_before, mut as_after) = (0, 0);
    for kill in 0..kills {
        if kill % 20 == 0 {
            (place, known) = (Folders::new(), 0);
            lay(place.root());
        }
        let range = whole.as_micros() as usize * 2;
        let answer = kill_after(&place, Duration::from_micros(dice.below(range) as u64));
        let opened = place.open_as_child(OpenOptions::default());
        let found = tree(place.root());
        let (is_before, is_after) = (found == before, found == after);
        assert!(is_before || is_after, "kill {kill}: half done {found:#?}");
        // Only the one that was under way may be either way.
        let happened = changes(&opened) - known;
        assert!(
            (answer..=answer + 1).contains(&happened),
            "kill {kill}: {answer} told, {happened} are"
        );
        known += happened;
        as_before += usize::from(is_before);
        as_after += usize::from(is_after);
        assert_eq!(opened.verified(), Vec::<String>::new(), "kill {kill}");
        assert_eq!(staged(place.state()), Vec::<String>::new(), "kill {kill}");
    }
    eprintln!("{kills} kills in {whole:?}: {as_before} as before, {as_after} as after");
    assert!(as_before > 0 && as_after > 0, "all kills fell on one side");
}
