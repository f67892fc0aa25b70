//! What a box costs over a bare command. Run by hand, with the helper of a release build:
//! `TOOLYARD_TEST_HELPER=<release binary> cargo test -p yard-cli --test sandbox -- --ignored cost::`.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::box_setup::{BoxSetup, as_root_and_user, sandbox};

const ROUNDS: usize = 200;

fn median(mut round: impl FnMut()) -> Duration {
    let time = |()| {
        let before = Instant::now();
        round();
        before.elapsed()
    };
    let mut took: Vec<Duration> = std::iter::repeat_n((), ROUNDS).map(time).collect();
    took.sort();
    took[ROUNDS / 2]
}

#[test]
#[ignore = "a measurement"]
fn a_boxed_true_costs_little_whatever_the_workspace_holds() {
    as_root_and_user("cost::a_boxed_true_costs_little_whatever_the_workspace_holds", || {
        let (sandbox, setup) = (sandbox(), BoxSetup::new());
        let bare = median(|| {
            let ran = Command::new("true").stdout(Stdio::piped()).output();
            assert!(ran.unwrap().status.success());
        });
        let run = || assert_eq!(setup.run(&sandbox, &["true"]).unwrap().code(), Some(0));
        let boxed = median(run);
        for folder in 0..100 {
            let folder = setup.workspace().join(format!("folder-{folder}"));
            fs::create_dir(&folder).unwrap();
            for file in 0..500 {
                fs::write(folder.join(format!("file-{file}")), "").unwrap();
            }
        }
        let full = median(run);
        let user = rustix::process::geteuid().as_raw();
        println!("uid {user}: bare {bare:?}, boxed {boxed:?}, with 50,000 files {full:?}");
    });
}
