//! Generated pairs of trees: the diff that git makes of them, done to the first, gives the second;
//! taken back, it gives the first again, and so does the same diff turned around.

use yard_core::op::ApplyPatch;
use yard_core::patch::{Patch, parse};
use yard_testkit::git::{Git, commit};
use yard_testkit::patches::reverse;
use yard_testkit::trees::{Tree, changed, has_mixed_endings, tree};
use yard_testkit::{ChildWorkspace, soak, tree as everything};
use yard_testkit::{Dice, Folders, OpenOptions};

use super::{files, lay, newest, shown, undo};

const PLAIN: u64 = 200;
/// Some pairs are equal trees: this leaves 2,000 that differ.
const SOAK: u64 = 2_050;

struct Pair {
    before: Tree,
    after: Tree,
    patch: Patch,
    case: String,
}

fn pairs() -> Vec<Pair> {
    let git = Git::new();
    git.run(&["init", "-q", "--bare", "."], b"").unwrap();
    let mut stream = Vec::new();
    let count = if soak() { SOAK } else { PLAIN };
    let trees: Vec<(Tree, Tree)> = (0..count)
        .map(|seed| {
            let dice = &mut Dice::new(seed ^ 0x7a7c_0000);
            let before = tree(dice);
            let after = changed(dice, &before);
            commit(&mut stream, &format!("a{seed}"), &before);
            commit(&mut stream, &format!("b{seed}"), &after);
            (before, after)
        })
        .collect();
    git.run(&["fast-import", "--quiet", "--date-format=raw"], &stream).unwrap();
    let numbered = trees.into_iter().enumerate();
    numbered.filter_map(|(seed, (before, after))| pair(&git, seed, before, after)).collect()
}

fn pair(git: &Git, seed: usize, before: Tree, after: Tree) -> Option<Pair> {
    let dice = &mut Dice::new(seed as u64 ^ 0xd1ff);
    let mixed = before.values().chain(after.values()).any(has_mixed_endings);
    let least = if mixed { "-U1" } else { "-U0" };
    let context = *dice.pick(&[least, "-U1", "-U3", "-U3"]);
    let copies = *dice.pick(&["-M", "--find-copies-harder"]);
    let (a, b) = (format!("a{seed}"), format!("b{seed}"));
    let diff = git.run(&["diff", "--full-index", "-M", copies, context, &a, &b], b"").unwrap();
    let diff = String::from_utf8(diff).unwrap();
    let case = format!("seed {seed} {context} {copies}\n{diff}");
    if diff.is_empty() {
        assert_eq!(before, after, "{case}");
        return None;
    }
    let patch = parse(&diff).unwrap_or_else(|error| panic!("{error}\n{case}"));
    Some(Pair { before, after, patch, case })
}

fn apply(child: &ChildWorkspace, patch: &Patch, case: &str) {
    let order = ApplyPatch { patch: shown(patch.clone()) };
    child.perform(order).unwrap_or_else(|fault| panic!("{fault}\n{case}"));
}

fn check(pair: &Pair) {
    let Pair { before, after, patch, case } = pair;
    let place = Folders::new();
    lay(place.root(), before);
    let child = place.open_as_child(OpenOptions::default());
    let first = everything(place.root());
    apply(&child, patch, case);
    assert_eq!(&files(place.root()), after, "{case}");
    let second = everything(place.root());
    assert_eq!(child.verified(), Vec::<String>::new(), "{case}");
    let step = newest(&child);
    undo(&child, step).unwrap_or_else(|fault| panic!("undo: {fault}\n{case}"));
    assert_eq!(everything(place.root()), first, "undone: {case}");
    let step = newest(&child);
    undo(&child, step).unwrap_or_else(|fault| panic!("undo of the undo: {fault}\n{case}"));
    assert_eq!(everything(place.root()), second, "undo undone: {case}");
    apply(&child, &reverse(patch).unwrap(), case);
    assert_eq!(&files(place.root()), before, "reversed: {case}");
    assert_eq!(child.verified(), Vec::<String>::new(), "{case}");
}

#[test]
fn c3_git_diffs_of_generated_trees_are_done_undone_and_reversed() {
    let pairs = pairs();
    assert!(pairs.len() as u64 * 10 > PLAIN * 8, "{}", pairs.len());
    let (left, right) = pairs.split_at(pairs.len() / 2);
    std::thread::scope(|scope| {
        for half in [left, right] {
            scope.spawn(move || half.iter().for_each(check));
        }
    });
    eprintln!("{} pairs", pairs.len());
}
