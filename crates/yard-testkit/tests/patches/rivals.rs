//! Several threads patch the same files at once: each patch is seen whole, and none is lost.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use yard_core::FaultCode;
use yard_testkit::{Folders, OpenOptions};
use yard_testkit::{scaled, tree};

use super::{patch, put};

const THREADS: usize = 4;
const FILES: usize = 5;

/// A patch that puts its own line below the head of every file.
fn lines(name: &str) -> String {
    (0..FILES)
        .map(|file| format!("--- a/f{file}\n+++ b/f{file}\n@@ -1 +1,2 @@\n head\n+{name}\n"))
        .collect()
}

#[test]
fn c3_patches_of_the_same_files_from_several_threads_all_happen() {
    let rounds = scaled(100);
    let place = Folders::new();
    let child = place.open_as_child(OpenOptions::default());
    for file in 0..FILES {
        put(&child, &format!("/f{file}"), "head\n");
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for thread in 0..THREADS {
            let child = child.clone();
            threads.push(scope.spawn(move || {
                for round in 0..rounds {
                    let text = lines(&format!("{thread} {round}"));
                    child.perform(patch(&text)).unwrap_or_else(|fault| panic!("{fault}"));
                }
            }));
        }
        let (root, over) = (place.root(), &over);
        scope.spawn(move || {
            // No reader sees a file that is torn.
            while !over.load(Ordering::Relaxed) {
                for file in 0..FILES {
                    let text = std::fs::read_to_string(root.join(format!("f{file}"))).unwrap();
                    assert!(text.starts_with("head\n") && text.ends_with('\n'), "{text:?}");
                }
            }
        });
        for thread in threads {
            thread.join().unwrap();
        }
        over.store(true, Ordering::Relaxed);
    });
    let texts: Vec<String> = (0..FILES)
        .map(|file| std::fs::read_to_string(place.root().join(format!("f{file}"))).unwrap())
        .collect();
    let all: BTreeSet<&str> = texts[0].lines().skip(1).collect();
    assert_eq!(all.len(), THREADS * rounds, "every patch left its line");
    // The order of lines is that of the steps, in every file alike.
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:#?}");
    let patches = child.history(None, usize::MAX - 1).into_iter().filter(|s| s.verb == "patch");
    assert_eq!(patches.count(), THREADS * rounds);
    assert_eq!(child.verified(), Vec::<String>::new());
}

#[test]
fn c3_of_several_patches_that_exclude_each_other_one_happens_whole() {
    for round in 0..scaled(100) {
        let place = Folders::new();
        let child = place.open_as_child(OpenOptions::default());
        put(&child, "/a", "a\n");
        put(&child, "/b", "b\n");
        let won: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let child = child.clone();
                    scope.spawn(move || {
                        let text = format!(
                            "*** Begin Patch\n*** Add File: x/new\n+{thread}\n\
                             *** Update File: a\n*** Move to: x/a{thread}\n@@\n-a\n+A\n\
                             *** Delete File: b\n*** End Patch\n"
                        );
                        match child.perform(patch(&text)) {
                            Ok(_) => Some(thread),
                            Err(fault) => {
                                let code = fault.code();
                                let fair = [FaultCode::Exists, FaultCode::NotFound];
                                assert!(fair.contains(&code), "{fault}");
                                None
                            }
                        }
                    })
                })
                .collect();
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
        });
        let [winner] = won[..] else { panic!("round {round}: {won:?} won") };
        let found: Vec<String> = tree(place.root()).into_keys().collect();
        assert_eq!(found, ["/x".to_owned(), format!("/x/a{winner}"), "/x/new".to_owned()]);
        let new = std::fs::read_to_string(place.root().join("x/new")).unwrap();
        assert_eq!(new, format!("{winner}\n"));
        assert_eq!(child.verified(), Vec::<String>::new());
    }
}
