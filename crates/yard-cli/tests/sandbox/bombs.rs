//! Commands that take too much, each with a bound of its own: time, memory, processes, files, output.
//! And a server that dies under its commands.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use yard_sandbox::{CommandListener, Exit, Layer, Sandbox, SandboxConfig, StopReason, Walls};

use crate::box_setup::{BoxSetup, as_root_and_user, sandbox, sandbox_with};
use crate::escapes::running;

const MEGA: u64 = 1 << 20;

#[test]
fn memory_is_that_of_all_processes_together() {
    as_root_and_user("bombs::memory_is_that_of_all_processes_together", || {
        let (sandbox, mut setup) = (sandbox(), BoxSetup::new());
        setup.limits.memory_bytes = 200 * MEGA;
        let alone = "import time\nheld = []\nprint('ran', flush=True)\nfor _ in range(50):\n    \
                     held.append(bytearray(20 << 20))\n    time.sleep(0.02)\nprint('ESCAPED')";
        let many = "import os, time\nprint('ran', flush=True)\nfor _ in range(8):\n    \
                    if os.fork() == 0:\n        held = bytearray(40 << 20)\n        time.sleep(3)\n        \
                    os._exit(0)\ntime.sleep(3)\nprint('ESCAPED')";
        for script in [alone, many] {
            let ran = setup.run(&sandbox, &["python3", "-c", script]).unwrap();
            assert_eq!(ran.ended.stopped, Some(StopReason::Memory), "{ran:?}");
            assert_eq!(ran.stdout, "ran\n");
        }
        let shared = "import os, time\nheld = bytearray(60 << 20)\nfor _ in range(6):\n    \
                      if os.fork() == 0:\n        time.sleep(0.5)\n        os._exit(0)\n\
                      time.sleep(0.5)\nprint('fine')";
        let ran = setup.run(&sandbox, &["python3", "-c", shared]).unwrap();
        assert_eq!((ran.ended.stopped, ran.stdout.as_str()), (None, "fine\n"), "{ran:?}");
    });
}

/// Where control groups can be made, which is where a server is meant to run.
#[test]
fn commands_of_a_server_share_its_memory() {
    let sandbox =
        sandbox_with(SandboxConfig { all_memory: Some(150 * MEGA), ..SandboxConfig::default() });
    let has_groups = sandbox.findings().iter().any(|one| one.name == "control groups" && one.ok);
    if !has_groups {
        return;
    }
    let mut setup = BoxSetup::new();
    setup.limits.memory_bytes = 1_000 * MEGA;
    let script = "print('ran', flush=True)\nheld = bytearray(400 << 20)\nprint('ESCAPED')";
    let ran = setup.run(&sandbox, &["python3", "-c", script]).unwrap();
    assert_eq!((ran.ended.stopped, ran.stdout.as_str()), (Some(StopReason::Memory), "ran\n"));
}

#[test]
fn commands_of_a_workspace_share_its_part_of_a_servers_memory() {
    let sandbox =
        sandbox_with(SandboxConfig { all_memory: Some(1_000 * MEGA), ..SandboxConfig::default() });
    let has_groups = sandbox.findings().iter().any(|one| one.name == "control groups" && one.ok);
    if !has_groups {
        return;
    }
    let [one, other] = [150 * MEGA, 400 * MEGA].map(|share| sandbox.of_workspace(share).unwrap());
    let run = |sandbox: &Sandbox, megabytes: u64, seconds: u64| {
        let mut setup = BoxSetup::new();
        setup.limits.memory_bytes = 500 * MEGA;
        let script = format!(
            "import time\nheld = bytearray({megabytes} << 20)\ntime.sleep({seconds})\nprint('fine')"
        );
        setup.run(sandbox, &["python3", "-c", &script]).unwrap()
    };
    let ran = run(&one, 200, 0);
    assert_eq!(ran.ended.stopped, Some(StopReason::Memory), "{ran:?}");
    // Two at once, of which each by itself is within the share; and one of the other workspace meanwhile. They hold
    // their memory for longer than a busy machine takes to start the other.
    let (first, second, others) = thread::scope(|scope| {
        let first = scope.spawn(|| run(&one, 100, 8));
        let second = scope.spawn(|| run(&one, 100, 8));
        let others = scope.spawn(|| run(&other, 200, 0));
        (first.join().unwrap(), second.join().unwrap(), others.join().unwrap())
    });
    let stopped = [first.ended.stopped, second.ended.stopped];
    assert!(stopped.contains(&Some(StopReason::Memory)), "{stopped:?}");
    assert_eq!((others.ended.stopped, others.stdout.as_str()), (None, "fine\n"), "{others:?}");
    let ran = run(&one, 100, 0);
    assert_eq!((ran.ended.stopped, ran.stdout.as_str()), (None, "fine\n"), "{ran:?}");
}

#[test]
fn processes_are_counted() {
    as_root_and_user("bombs::processes_are_counted", || {
        let (sandbox, mut setup) = (sandbox(), BoxSetup::new());
        setup.limits.processes = 40;
        let script = "import os, time\nmade = 0\nfor _ in range(200):\n    try:\n        \
                      if os.fork() == 0:\n            time.sleep(20)\n            os._exit(0)\n        \
                      made += 1\n    except OSError as error:\n        print(made, error.errno)\n        break";
        let ran = setup.run(&sandbox, &["python3", "-c", script]).unwrap();
        assert_eq!(ran.stdout, "39 11\n", "{ran:?}");
    });
}

#[test]
fn processor_time_is_that_of_all_processes_together() {
    as_root_and_user("bombs::processor_time_is_that_of_all_processes_together", || {
        let (sandbox, mut setup) = (sandbox(), BoxSetup::new());
        setup.limits.cpu_seconds = Some(1);
        let ran = setup.sh(&sandbox, "while :; do :; done");
        assert_eq!(ran.ended.stopped, Some(StopReason::Cpu), "{ran:?}");
        // Each of these is far from the limit by itself.
        let ran = setup.sh(&sandbox, "while :; do timeout 0.2 sh -c 'while :; do :; done'; done");
        assert_eq!(ran.ended.stopped, Some(StopReason::Cpu), "{ran:?}");
    });
}

#[test]
fn what_is_written_is_bounded() {
    as_root_and_user("bombs::what_is_written_is_bounded", || {
        let (sandbox, mut setup) = (sandbox(), BoxSetup::new());
        setup.limits.written_bytes = 20 * MEGA;
        let script = "for n in $(seq 40); do head -c 2000000 /dev/zero > big$n; sleep 0.03; done; echo ESCAPED";
        let ran = setup.sh(&sandbox, script);
        assert_eq!(
            (ran.ended.stopped, ran.stdout.as_str()),
            (Some(StopReason::Written), ""),
            "{ran:?}"
        );
        setup.limits.file_bytes = MEGA;
        let ran = setup.sh(&sandbox, "head -c 2000000 /dev/zero > big; stat -c %s big");
        assert_eq!(ran.stdout.trim(), MEGA.to_string(), "{ran:?}");
        setup.limits.memory_bytes = 64 * MEGA;
        setup.limits.file_bytes = 1 << 40;
        let ran = setup.sh(&sandbox, "head -c 100000000 /dev/zero > /tmp/big; echo $?");
        assert!(
            ran.stdout.trim() != "0" || ran.ended.stopped == Some(StopReason::Memory),
            "{ran:?}"
        );
        let ran = setup.sh(&sandbox, "ulimit -n; ulimit -c");
        assert_eq!(ran.stdout, "4096\n0\n", "{ran:?}");
    });
}

#[test]
fn neither_modes_nor_depth_hide_what_is_written() {
    as_root_and_user("bombs::neither_modes_nor_depth_hide_what_is_written", || {
        let (sandbox, mut setup) = (sandbox(), BoxSetup::new());
        setup.limits.written_bytes = 20 * MEGA;
        let write = "for n in $(seq 40); do head -c 2000000 /dev/zero > big$n; sleep 0.03; done; echo ESCAPED";
        let deep =
            "for n in 1 2 3; do at=$(printf 'd%.0s/' $(seq 100)); mkdir -p $at; cd $at; done";
        let hidden = "mkdir -m 0300 hidden; cd hidden";
        for enter in [deep, hidden] {
            let ran = setup.sh(&sandbox, &format!("{enter}; {write}"));
            let seen = (ran.ended.stopped, ran.stdout.as_str());
            assert_eq!(seen, (Some(StopReason::Written), ""), "{enter}: {ran:?}");
        }
        let hidden = setup.upper().join("hidden");
        assert_eq!(fs::metadata(&hidden).unwrap().permissions().mode() & 0o777, 0o300);
        fs::set_permissions(hidden, Permissions::from_mode(0o700)).unwrap();
    });
}

/// A listener that has heard enough ends the command, and hears no more.
#[test]
fn a_flood_of_output_is_ended_by_who_listens() {
    struct Enough(u64);
    impl CommandListener for Enough {
        fn stdout(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.0 += bytes.len() as u64;
            if self.0 > 5 * MEGA { Err(io::Error::other("enough")) } else { Ok(()) }
        }
    }
    as_root_and_user("bombs::a_flood_of_output_is_ended_by_who_listens", || {
        let (sandbox, setup) = (sandbox(), BoxSetup::new());
        let mut ears = Enough(0);
        let before = Instant::now();
        let error = setup.run_heard(&sandbox, &["yes"], &mut ears).unwrap_err();
        assert_eq!(error.to_string(), "enough");
        assert!(ears.0 < 6 * MEGA && before.elapsed() < Duration::from_secs(5));
        // Both streams at once, more than any pipe holds, in order and to the last byte.
        let ran = setup.sh(&sandbox, "seq 300000 & seq 300000 >&2; wait");
        assert_eq!((ran.stdout.lines().count(), ran.stderr.lines().count()), (300_000, 300_000));
    });
}

/// Started by the test below, and killed by it.
#[test]
#[ignore = "a part of another test"]
fn a_server_to_be_killed() {
    let marker = std::env::var("TOOLYARD_TEST_MARKER").unwrap();
    let namespaces = std::env::var("TOOLYARD_TEST_NAMESPACES").unwrap() == "true";
    let walls = Walls { namespaces, ..Walls::default() };
    let (sandbox, setup) =
        (sandbox_with(SandboxConfig { walls, ..SandboxConfig::default() }), BoxSetup::new());
    let script = format!("setsid sleep {marker} & sleep {marker}");
    let workspace = setup.workspace();
    let argv = ["sh", "-c", &script];
    let _ = match namespaces {
        true => setup.run(&sandbox, &argv),
        false => setup.run_on(&sandbox, Layer::InPlace, &workspace, &argv),
    };
}

#[test]
fn nothing_is_left_of_a_server_that_is_killed() {
    as_root_and_user("bombs::nothing_is_left_of_a_server_that_is_killed", || {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        // Others on this machine may have left some, elsewhere.
        let before = stale_groups();
        for namespaces in [true, false] {
            let marker = format!("300.{}", std::process::id());
            let mut server = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "bombs::a_server_to_be_killed", "--ignored"])
                .env("TOOLYARD_TEST_MARKER", &marker)
                .env("TOOLYARD_TEST_NAMESPACES", namespaces.to_string())
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            until("the command runs", || running(&marker).len() == 2);
            server.kill().unwrap();
            server.wait().unwrap();
            until("its processes are gone", || running(&marker).is_empty());
        }
        assert_eq!(fs::read_to_string("/proc/self/mountinfo").unwrap(), mounts);
        // The next one sweeps the groups that were left, as soon as the kernel has done with their processes.
        until("the groups are swept", || {
            drop(sandbox());
            stale_groups().iter().all(|group| before.contains(group))
        });
    });
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let before = Instant::now();
    while !holds() {
        assert!(before.elapsed() < Duration::from_secs(120), "not in two minutes: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Groups of servers that are no more.
fn stale_groups() -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![std::path::PathBuf::from("/sys/fs/cgroup")];
    while let Some(folder) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten().filter(|entry| entry.file_type().unwrap().is_dir()) {
            let name = entry.file_name().into_string().unwrap();
            match name.strip_prefix("toolyard-").and_then(|rest| rest.split('-').next()) {
                Some(pid) if !fs::exists(format!("/proc/{pid}")).unwrap() => found.push(name),
                Some(_) => {}
                None => waiting.push(entry.path()),
            }
        }
    }
    found
}

#[test]
fn a_killed_command_is_reported_as_killed() {
    as_root_and_user("bombs::a_killed_command_is_reported_as_killed", || {
        let (sandbox, setup) = (sandbox(), BoxSetup::new());
        let ran = setup.sh(&sandbox, "kill -9 $$");
        assert_eq!((ran.ended.exit, ran.ended.stopped), (Exit::Signal(9), None));
    });
}

/// Without namespaces the kernel counts all of a user's processes, and not root's: looking bounds them.
#[test]
fn processes_are_bounded_without_namespaces() {
    as_root_and_user("bombs::processes_are_bounded_without_namespaces", || {
        let walls = Walls { namespaces: false, ..Walls::default() };
        let (sandbox, mut setup) =
            (sandbox_with(SandboxConfig { walls, ..SandboxConfig::default() }), BoxSetup::new());
        setup.limits.processes = 30;
        let script = "import os, time\nmade = 0\nfor _ in range(120):\n    try:\n        \
                      if os.fork() == 0:\n            time.sleep(3)\n            os._exit(0)\n        \
                      made += 1\n    except OSError:\n        break\ntime.sleep(3)\nprint(made)";
        let workspace = setup.workspace();
        let argv = ["python3", "-c", script];
        let ran = setup.run_on(&sandbox, Layer::ReadOnly, &workspace, &argv).unwrap();
        let refused = ran.stdout.trim().parse().is_ok_and(|made: u32| made < 35);
        assert!(ran.ended.stopped == Some(StopReason::Processes) || refused, "{ran:?}");
    });
}
