//! A tree of 50,000 source-like files in 3,000 folders, made once and kept beside the build.

use std::path::{Path, PathBuf};

use crate::source::Dice;
use crate::workspace::data;

/// Files in the tree.
pub(crate) const FILES: usize = 50_000;
const FOLDERS: usize = 3_000;
/// Changes when the tree does.
const EDITION: &str = "1";

/// A word that a few hundred lines hold.
pub(crate) const RARE: &str = "quicksilver";
/// A word that every file holds.
pub(crate) const COMMON: &str = "journal";

/// The root of the tree.
pub(crate) fn tree() -> PathBuf {
    let root = data().join("tree");
    let stamp = data().join("tree.edition");
    if std::fs::read_to_string(&stamp).is_ok_and(|found| found == EDITION) {
        return root;
    }
    eprintln!("making a tree of {FILES} files...");
    let _ = std::fs::remove_dir_all(&root);
    make(&root);
    std::fs::write(stamp, EDITION).expect("a stamp");
    root
}

fn make(root: &Path) {
    let mut dice = Dice(50_000);
    let mut folders = vec![root.to_owned()];
    std::fs::create_dir_all(root.join(".git/objects")).expect("folders");
    std::fs::write(root.join(".git/objects/pack.rs"), b"journal quicksilver\n").expect("a file");
    std::fs::write(root.join(".gitignore"), "*.log\n/out/\n*.tmp\n").expect("a file");
    while folders.len() < FOLDERS {
        let parent = dice.below(folders.len());
        let name =
            if dice.below(40) == 0 { "build".to_owned() } else { format!("mod_{}", folders.len()) };
        let folder = folders[parent].join(name);
        if folder.components().count() - root.components().count() > 9 || folder.exists() {
            continue;
        }
        std::fs::create_dir(&folder).expect("a folder");
        if dice.below(25) == 0 {
            std::fs::write(folder.join(".gitignore"), "build/\n*.gen.rs\n!keep.gen.rs\n")
                .expect("a file");
        }
        folders.push(folder);
    }
    for number in 0..FILES {
        let folder = &folders[dice.below(folders.len())];
        let ending =
            ["rs", "rs", "rs", "py", "md", "json", "c", "log", "gen.rs", "txt"][dice.below(10)];
        let size =
            1_000 + dice.below(11_000) + if dice.below(16) == 0 { dice.below(8_000) } else { 0 };
        let mut text = dice.text(size);
        if dice.below(120) == 0 {
            text.extend_from_slice(format!("// the {RARE} of {number}\n").as_bytes());
        }
        std::fs::write(folder.join(format!("file_{number}.{ending}")), text).expect("a file");
    }
}
