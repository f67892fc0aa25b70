//! What a command is told that met a limit: which one, how much it is, and which setting moves it.

use std::path::PathBuf;

use serde_json::json;
use yard_kernel::CommandBox;
use yard_sandbox::{CommandLimits, Sandbox, SandboxConfig};
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

use crate::box_setup::shell;
use crate::programs::{call, value};

const MEGA: u64 = 1 << 20;

fn workspace_with(limits: CommandLimits) -> TestWorkspace {
    let helper = PathBuf::from(env!("CARGO_BIN_EXE_toolyard"));
    let mut boxed = CommandBox::new(move || Sandbox::probe(helper, SandboxConfig::default()));
    boxed.limits = limits;
    TestWorkspace::open(
        &Folders::new(),
        OpenOptions { boxed: Some(boxed), ..OpenOptions::default() },
    )
    .unwrap()
}

#[test]
fn a_limit_that_ends_a_command_is_named_with_its_setting() {
    let limits = CommandLimits {
        memory_bytes: 96 * MEGA,
        cpu_seconds: Some(1),
        written_bytes: 4 * MEGA,
        file_bytes: MEGA,
        processes: 30,
        ..CommandLimits::default()
    };
    let workspace = workspace_with(limits);
    for (command, words) in [
        (
            "python3 -c 'x = bytearray(300 << 20); import time; time.sleep(5)'",
            "it was ended because it took more than 96 MiB of memory, which is the limit (`memory_mib` of \
             `[commands]`)",
        ),
        (
            "while :; do :; done",
            "it was ended because it took more than 1 s of processor time, which is the limit (`cpu_seconds` \
             of `[commands]`)",
        ),
        (
            "for n in 1 2 3 4 5 6; do head -c 1000000 /dev/zero > big$n; done; sleep 5",
            "it was ended because it wrote more than 4 MiB, which is the limit (`written_mib` of `[commands]`)",
        ),
        (
            "exec head -c 2000000 /dev/zero > big",
            "a program was ended because it wrote a file larger than 1 MiB, which is the limit (`file_mib` of \
             `[commands]`)",
        ),
        (
            "for n in $(seq 40); do sleep 3 & done; wait",
            "a program could start no more processes: a command may have 30 at a time (`processes` of \
             `[commands]`)",
        ),
        (
            "python3 -c 'import threading, time; [threading.Thread(target=time.sleep, args=(3,)).start() for n in \
             range(100)]'",
            "a program could start no more processes: a command may have 30 at a time (`processes` of \
             `[commands]`)",
        ),
    ] {
        let reply = shell(&workspace, command);
        let message = reply["message"].as_str().unwrap();
        assert!(message.starts_with(words), "{command}: {reply}");
    }
}

#[test]
fn a_command_may_take_an_hour_and_says_when_its_time_is_up() {
    let workspace = workspace_with(CommandLimits::default());
    let args = json!({"language": "bash", "code": "sleep 30", "timeout": 1});
    let error = call(&workspace, "run_code", args).body["result"]["error"].clone();
    assert_eq!(error["code"], "TIMEOUT");
    assert!(
        error["message"].as_str().unwrap().contains("up to 3600 s (`run_minutes` of `[commands]`)")
    );
    let args = json!({"language": "bash", "code": "true", "timeout": 3600});
    value(&workspace, "run_code", args);
    let args = json!({"language": "bash", "code": "true", "timeout": 3601});
    let answer = call(&workspace, "run_code", args).body;
    assert!(
        answer.to_string().contains("3600 seconds (`run_minutes` of `[commands]`)"),
        "{answer}"
    );
}
