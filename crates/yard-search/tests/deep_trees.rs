//! A walk does not recurse, so that the depth of a tree does not matter.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that makes a tree of its own"
)]

use std::path::Path;
use std::sync::Arc;
use std::{fs, thread};

use yard_core::{Call, Timestamp, World, WsPath};
use yard_disk::{Disk, Resolution};
use yard_search::{Flow, Walk, WalkOptions};

/// Folders within each other.
const DEPTH: usize = 1_500;
/// Too small for a call within a call for each of them.
const STACK_BYTES: usize = 128 << 10;

struct Still;

impl World for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(0)
    }

    fn random(&self) -> u128 {
        0
    }

    fn secret(&self) -> Option<[u8; 32]> {
        None
    }

    fn boot_id(&self) -> u128 {
        0
    }
}

#[test]
fn a_tree_that_is_deeper_than_the_stack_is_walked() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("deep-{}", std::process::id()));
    fs::create_dir_all(root.join("a/".repeat(DEPTH))).unwrap();
    let disk = Disk::open(&root, Resolution::Auto, None).unwrap();
    let walk = move || {
        let call = Call::new(Arc::new(Still));
        let options = WalkOptions { recursive: true, include_ignored: false };
        let mut visited = 0;
        let mut walk = Walk::new(&disk, &call, options);
        let walked = walk.run(&WsPath::root(), &mut |_| {
            visited += 1;
            Ok(Flow::Continue(()))
        });
        walked.map(|()| visited)
    };
    let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(walk).unwrap();
    let visited = thread.join().unwrap();
    fs::remove_dir_all(&root).unwrap();
    assert_eq!(visited, Ok(DEPTH));
}
