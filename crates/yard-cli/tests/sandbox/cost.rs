//! What a box costs over a bare command. Run by hand, with the helper of a release build:
//! `TOOLYARD_TEST_HELPER=<release binary> cargo test -p yard-cli --test sandbox -- --ignored cost::`.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use yard_kernel::sandbox::Wish;

use crate::ground::{Ground, as_root_and_user, sandbox, sandbox_with};

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
        let (alone, ground) = (sandbox(), Ground::new());
        let sandbox = sandbox_with(Wish { spares: 2, ..Wish::default() });
        let bare = median(|| {
            let ran = Command::new("true").stdout(Stdio::piped()).output();
            assert!(ran.unwrap().status.success());
        });
        let run = |sandbox| assert_eq!(ground.run(sandbox, &["true"]).unwrap().code(), Some(0));
        let boxed = median(|| run(&alone));
        let spared = median(|| run(&sandbox));
        let mut seldom: Vec<Duration> = (0..30)
            .map(|_| {
                thread::sleep(Duration::from_millis(40));
                let before = Instant::now();
                run(&sandbox);
                before.elapsed()
            })
            .collect();
        seldom.sort();
        let seldom = seldom[15];
        for folder in 0..100 {
            let folder = ground.workspace().join(format!("folder-{folder}"));
            fs::create_dir(&folder).unwrap();
            for file in 0..500 {
                fs::write(folder.join(format!("file-{file}")), "").unwrap();
            }
        }
        let full = median(|| run(&sandbox));
        let user = rustix::process::geteuid().as_raw();
        println!(
            "uid {user}: bare {bare:?}, boxed {boxed:?}, with spares {spared:?}, \
             now and then {seldom:?}, with 50,000 files {full:?}"
        );
    });
}
