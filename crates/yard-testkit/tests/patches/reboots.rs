//! The machine starts again with a disk as it was before some of the patches: the journal puts it right,
//! modes and all.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use yard_core::op::ApplyPatch;
use yard_core::patch::{Patch, parse};
use yard_testkit::probe::{Hand, copy_tree, scaled, staged};
use yard_testkit::trees::{Git, Tree, changed, commit, tree};
use yard_testkit::{Dice, FakeWorld, Folders, Plan};

use super::{files, lay, shown};

const TREES: usize = 5;

/// Trees, each made of the one before it, and the patches between them.
struct Chain {
    trees: Vec<Tree>,
    patches: Vec<Patch>,
}

fn chains() -> Vec<Chain> {
    let git = Git::new();
    git.run(&["init", "-q", "--bare", "."], b"").unwrap();
    let mut stream = Vec::new();
    let chains: Vec<Vec<Tree>> = (0..scaled(300))
        .map(|seed| {
            let dice = &mut Dice(seed as u64 ^ 0xb007);
            let mut trees = vec![tree(dice)];
            while trees.len() < TREES {
                trees.push(changed(dice, &trees[trees.len() - 1]));
            }
            for (at, tree) in trees.iter().enumerate() {
                commit(&mut stream, &format!("t{seed}.{at}"), tree);
            }
            trees
        })
        .collect();
    git.run(&["fast-import", "--quiet", "--date-format=raw"], &stream).unwrap();
    let patches = |seed: usize| {
        let between = (1..TREES).map(move |at| [at - 1, at].map(|at| format!("t{seed}.{at}")));
        let diffs = between.map(|[a, b]| git.run(&["diff", "-M", "-U1", &a, &b], b"").unwrap());
        let diffs = diffs.map(|diff| String::from_utf8(diff).unwrap());
        diffs.filter(|diff| !diff.is_empty()).map(|diff| parse(&diff).unwrap()).collect()
    };
    let numbered = chains.into_iter().enumerate();
    numbered.map(|(seed, trees)| Chain { trees, patches: patches(seed) }).collect()
}

fn open(place: &Folders, world: &Arc<FakeWorld>) -> Hand {
    let world = Arc::clone(world);
    place.hand(Plan { world, ..Plan::default() })
}

fn clear(root: &Path) {
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
    }
}

/// Does all patches, then starts the machine with the disk as it was before the last `lost` of them.
fn lose(chain: &Chain, lost: usize, context: &str) {
    let place = Folders::new();
    let world = Arc::new(FakeWorld::new(7));
    lay(place.root(), &chain.trees[0]);
    let earlier = tempfile::tempdir().unwrap();
    let hand = open(&place, &world);
    for (at, patch) in chain.patches.iter().enumerate() {
        if at == chain.patches.len() - lost {
            copy_tree(place.root(), earlier.path());
        }
        let order = ApplyPatch { patch: shown(patch.clone()) };
        hand.perform(order).unwrap_or_else(|fault| panic!("{context}: {fault}"));
    }
    drop(hand);
    clear(place.root());
    copy_tree(earlier.path(), place.root());
    world.set_boot_id(2);
    let hand = open(&place, &world);
    assert_eq!(&files(place.root()), &chain.trees[TREES - 1], "{context}");
    assert_eq!(hand.verified(), Vec::<String>::new(), "{context}");
    assert_eq!(staged(place.state()), Vec::<String>::new(), "{context}");
}

#[test]
fn c3_patches_that_a_power_cut_took_from_the_disk_are_there_again() {
    for (seed, chain) in chains().iter().enumerate() {
        for lost in 1..=chain.patches.len() {
            lose(chain, lost, &format!("chain {seed}, {lost} lost"));
        }
    }
}
