//! What a box does for a command that means no harm.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use yard_sandbox::{CommandListener, Exit, Layer, Level, SandboxConfig, StopReason, Walls};

use crate::box_setup::{BoxSetup, as_root_and_user, call, sandbox, sandbox_with};

#[test]
fn a_command_runs_on_a_layer_and_the_workspace_stays_as_it_was() {
    as_root_and_user("basics::a_command_runs_on_a_layer_and_the_workspace_stays_as_it_was", || {
        let (sandbox, setup) = (sandbox(), BoxSetup::new());
        assert_eq!(sandbox.level(), Level::Full, "{:#?}", sandbox.findings());
        fs::write(setup.workspace().join("gone"), "x").unwrap();
        let script = "cat file; echo upper > file; echo new > new; rm gone; mkdir -p a/b; pwd; \
                      echo $GREETING $SECRET_CANARY >&2; exit 3";
        let ran = setup.sh(&sandbox, script);
        assert_eq!(ran.code(), Some(3), "{ran:?}");
        assert_eq!(ran.stdout, format!("lower\n{}\n", setup.workspace().display()));
        assert_eq!(ran.stderr, "hello\n");
        assert_eq!(fs::read_to_string(setup.workspace().join("file")).unwrap(), "lower\n");
        assert!(setup.workspace().join("gone").exists());
        let upper = setup.upper();
        assert_eq!(fs::read_to_string(upper.join("file")).unwrap(), "upper\n");
        let me = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        for name in ["file", "new", "a/b"] {
            let metadata = fs::metadata(upper.join(name)).unwrap();
            assert_eq!((metadata.uid(), metadata.gid()), me, "{name} is not the server's");
        }
        assert_eq!(fs::symlink_metadata(upper.join("gone")).unwrap().rdev(), 0);
    });
}

#[test]
fn the_end_is_told_in_numbers() {
    as_root_and_user("basics::the_end_is_told_in_numbers", || {
        let (sandbox, setup) = (sandbox(), BoxSetup::new());
        let ran = setup.sh(&sandbox, "kill -SEGV $$");
        assert_eq!(ran.ended.exit, Exit::Signal(11));
        let error = setup.run(&sandbox, &["no-such-program"]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(2), "{error}");
    });
}

#[test]
fn time_runs_out_for_all_of_a_commands_processes() {
    as_root_and_user("basics::time_runs_out_for_all_of_a_commands_processes", || {
        let (sandbox, mut setup) = (sandbox(), BoxSetup::new());
        setup.limits.wall = Duration::from_millis(300);
        let before = Instant::now();
        let script = "trap 'echo asked; exit 5' TERM; (trap '' TERM; setsid sleep 30) & \
                      echo here; while :; do sleep 0.05; done";
        let ran = setup.sh(&sandbox, script);
        assert_eq!(ran.ended.stopped, Some(StopReason::Wall));
        assert!(ran.stdout.starts_with("here\n"), "{ran:?}");
        assert!(ran.stdout.contains("asked"), "it was not asked: {ran:?}");
        let ran = setup.sh(&sandbox, "trap '' TERM; while :; do sleep 0.05; done");
        assert_eq!((ran.ended.stopped, ran.ended.exit), (Some(StopReason::Wall), Exit::Signal(9)));
        assert!(before.elapsed() < Duration::from_secs(60));
    });
}

#[test]
fn a_cancelled_call_ends_its_command() {
    as_root_and_user("basics::a_cancelled_call_ends_its_command", || {
        let (sandbox, setup) = (sandbox(), BoxSetup::new());
        let call = call();
        let flag = call.cancel_flag();
        let canceller = thread::spawn(move || {
            thread::sleep(Duration::from_millis(200));
            flag.store(true, Ordering::Relaxed);
        });
        let workspace = setup.workspace();
        let argv = ["sleep", "20"];
        let ran = setup.run_in(&sandbox, Layer::ReadOnly, &workspace, &argv, &call).unwrap();
        canceller.join().unwrap();
        assert_eq!(ran.ended.stopped, Some(StopReason::Cancelled));
        assert_eq!(ran.ended.exit, Exit::Signal(15));
    });
}

#[test]
fn input_scripts_and_another_place_are_handed_in() {
    as_root_and_user("basics::input_scripts_and_another_place_are_handed_in", || {
        let (sandbox, mut setup) = (sandbox(), BoxSetup::new());
        setup.stdin = vec![b'x'; 300_000];
        setup.scripts = vec![("main.sh".into(), b"pwd; wc -c; ls; echo in > place\n".to_vec())];
        let argv = ["sh", "/run/toolyard/main.sh"];
        let at = Path::new("/workspace");
        let ran = setup.run_on(&sandbox, Layer::InPlace, at, &argv).unwrap();
        assert_eq!(ran.stdout, "/workspace\n300000\nfile\n", "{ran:?}");
        assert_eq!(fs::read_to_string(setup.workspace().join("place")).unwrap(), "in\n");
        let argv = ["sh", "-c", "echo changed > file"];
        let ran = setup.run_on(&sandbox, Layer::ReadOnly, at, &argv).unwrap();
        assert_ne!(ran.code(), Some(0));
        assert_eq!(fs::read_to_string(setup.workspace().join("file")).unwrap(), "lower\n");
    });
}

/// A data folder may lie in the workspace, or the workspace in the data folder.
#[test]
fn what_is_hidden_around_the_workspace_is_hidden() {
    as_root_and_user("basics::what_is_hidden_around_the_workspace_is_hidden", || {
        let mut setup = BoxSetup::new();
        let data = setup.workspace().parent().unwrap().to_owned();
        let wish = SandboxConfig { shown: vec![data.clone()], ..SandboxConfig::default() };
        let sandbox = sandbox_with(wish);
        let script = format!("ls /usr | grep bin; cat file; ls {}", data.display());
        let ran = setup.sh(&sandbox, &script);
        assert_eq!(ran.stdout, "bin\nsbin\nlower\nlayers\noutside\nworkspace\n", "{ran:?}");
        setup.hidden = vec![data];
        let ran = setup.sh(&sandbox, &script);
        assert_eq!(ran.stdout, "bin\nsbin\nlower\nworkspace\n", "{ran:?}");
    });
}

/// Writes down that a command starts, slowly, and may fail to.
struct Clerk {
    made: PathBuf,
    fails: bool,
}

impl CommandListener for Clerk {
    fn starts(&mut self) -> io::Result<()> {
        thread::sleep(Duration::from_millis(100));
        assert!(!self.made.exists(), "the command did not wait");
        if self.fails { Err(io::Error::other("no ink")) } else { Ok(()) }
    }
}

/// Whatever must be written down before a command starts is, with each wall alone too.
#[test]
fn a_command_waits_until_its_start_was_written_down() {
    as_root_and_user("basics::a_command_waits_until_its_start_was_written_down", || {
        let setup = BoxSetup::new();
        let made = setup.workspace().join("made");
        for namespaces in [true, false] {
            let walls = Walls { namespaces, ..Walls::default() };
            let sandbox = sandbox_with(SandboxConfig { walls, ..SandboxConfig::default() });
            let run = |fails| {
                let mut clerk = Clerk { made: made.clone(), fails };
                let argv = ["sh", "-c", "echo > made"];
                setup.run_heard_on(&sandbox, Layer::InPlace, &argv, &mut clerk)
            };
            assert_eq!(run(true).unwrap_err().to_string(), "no ink");
            assert!(!made.exists());
            assert_eq!(run(false).unwrap().exit, Exit::Code(0));
            fs::remove_file(&made).unwrap();
        }
    });
}
