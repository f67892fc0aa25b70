//! The messages about commands that reached a limit: which limit, how much it is, and which setting changes it.

use std::time::Duration;

use yard_gate::{CommandLimits, StopReason};

/// Why a command was ended after it `took` so long.
pub(crate) fn ended_by(why: StopReason, limits: &CommandLimits, took: Duration) -> String {
    let (because, setting) = match why {
        StopReason::Wall => {
            return format!(
                "it ran out of time after {} and was ended, with everything that it had started; a longer \
                 timeout can be sent, up to {} s (`run_minutes` of `[commands]`)",
                seconds(took),
                limits.wall.as_secs()
            );
        }
        StopReason::Cancelled => return "the call was cancelled, and the command ended".to_owned(),
        StopReason::DiskFull => {
            return "it was ended because the disk is nearly full: less than 64 MiB are free"
                .to_owned();
        }
        StopReason::HomeFull => {
            return "it was ended because it put more into its home and /tmp than they hold (`home_mib` of \
                    `[commands]`)"
                .to_owned();
        }
        StopReason::Memory => (memory(limits), memory_settings(limits)),
        StopReason::Cpu => {
            let seconds = limits.cpu_seconds.unwrap_or_default();
            (format!("it took more than {seconds} s of processor time"), "`cpu_seconds`")
        }
        StopReason::Processes => {
            (format!("it had more than {} processes at a time", limits.processes), "`processes`")
        }
        StopReason::Written => {
            (format!("it wrote more than {}", size(limits.written_bytes)), "`written_mib`")
        }
    };
    format!("it was ended because {because}, which is the limit ({setting} of `[commands]`)")
}

/// A time in seconds; in milliseconds where it is less than one second.
fn seconds(took: Duration) -> String {
    match took.as_secs() {
        0 => format!("{} ms", took.as_millis()),
        seconds => format!("{seconds} s"),
    }
}

/// The exit code of a program that the kernel ended because it wrote too large a file: 128 and the number of the
/// signal SIGXFSZ.
const FILE_TOO_LARGE: i32 = 128 + 25;

/// The message for an exit code, if it is that of a program that reached the limit of one file.
pub(crate) fn for_exit_code(code: i32, limits: &CommandLimits) -> Option<String> {
    (code == FILE_TOO_LARGE).then(|| {
        format!(
            "a program was ended because it wrote a file larger than {}, which is the limit (`file_mib` of \
             `[commands]`)",
            size(limits.file_bytes)
        )
    })
}

/// The error messages of programs that could not start another process or thread: shells, Python and the C library.
const NO_MORE_PROCESSES: [&str; 4] = [
    "fork: Resource temporarily unavailable",
    "fork: retry: Resource temporarily unavailable",
    "Cannot fork",
    "can't start new thread",
];

/// The message for an error output, if a program reached the limit of processes there. That ends nothing: the kernel
/// refuses the next process.
pub(crate) fn for_stderr(stderr: &str, limits: &CommandLimits) -> Option<String> {
    NO_MORE_PROCESSES.iter().any(|message| stderr.contains(message)).then(|| {
        format!(
            "a program could start no more processes: a command may have {} at a time (`processes` of \
             `[commands]`)",
            limits.processes
        )
    })
}

/// The message for a terminal that ran for as long as one may.
pub(crate) fn for_longest_life(life: Duration) -> String {
    let seconds = life.as_secs();
    let life =
        if seconds < 3_600 { format!("{seconds} s") } else { format!("{} hours", seconds / 3_600) };
    format!(
        "it ran out of time and was ended, with everything that it had started: a terminal may run for {life} \
         (`terminal_hours` of `[commands]`)"
    )
}

fn memory(limits: &CommandLimits) -> String {
    let own = format!("it took more than {} of memory", size(limits.memory_bytes));
    match limits.shared_memory {
        None => own,
        Some(shared) => format!(
            "{own}, or all commands of this workspace together more than {}, or of this server more than {}",
            size(shared.workspace_bytes),
            size(shared.all_bytes)
        ),
    }
}

fn memory_settings(limits: &CommandLimits) -> &'static str {
    if limits.shared_memory.is_none() {
        "`memory_mib`"
    } else {
        "`memory_mib`, `workspace_memory_mib`, `all_memory_mib`"
    }
}

/// Bytes in the unit that people read most easily.
fn size(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;
    match bytes {
        0..MIB => format!("{bytes} bytes"),
        MIB..GIB => format!("{} MiB", bytes / MIB),
        _ => format!("{}.{} GiB", bytes / GIB, bytes % GIB * 10 / GIB),
    }
}

#[cfg(test)]
mod tests {
    use yard_gate::SharedMemory;

    use super::*;

    #[test]
    fn each_message_has_the_limit_its_amount_and_its_setting() {
        let limits = CommandLimits {
            wall: Duration::from_secs(3_600),
            cpu_seconds: Some(60),
            memory_bytes: (17 << 30) + (600 << 20),
            shared_memory: None,
            processes: 4_096,
            written_bytes: 8 << 30,
            ..CommandLimits::default()
        };
        let message = |why| ended_by(why, &limits, Duration::from_millis(61_200));
        let soon = ended_by(StopReason::Wall, &limits, Duration::from_millis(312));
        assert!(soon.starts_with("it ran out of time after 312 ms and"), "{soon}");
        for (why, expected) in [
            (
                StopReason::Wall,
                "it ran out of time after 61 s and was ended, with everything that it had started; a longer \
                 timeout can be sent, up to 3600 s (`run_minutes` of `[commands]`)",
            ),
            (StopReason::Cancelled, "the call was cancelled, and the command ended"),
            (
                StopReason::Memory,
                "it was ended because it took more than 17.5 GiB of memory, which is the limit (`memory_mib` \
                 of `[commands]`)",
            ),
            (
                StopReason::Cpu,
                "it was ended because it took more than 60 s of processor time, which is the limit \
                 (`cpu_seconds` of `[commands]`)",
            ),
            (
                StopReason::Processes,
                "it was ended because it had more than 4096 processes at a time, which is the limit \
                 (`processes` of `[commands]`)",
            ),
            (
                StopReason::Written,
                "it was ended because it wrote more than 8.0 GiB, which is the limit (`written_mib` of \
                 `[commands]`)",
            ),
            (
                StopReason::DiskFull,
                "it was ended because the disk is nearly full: less than 64 MiB are free",
            ),
            (
                StopReason::HomeFull,
                "it was ended because it put more into its home and /tmp than they hold (`home_mib` of \
                 `[commands]`)",
            ),
        ] {
            assert_eq!(message(why), expected, "{why:?}");
        }
        let shared_memory =
            Some(SharedMemory { workspace_bytes: 512 << 20, all_bytes: 1_024 << 20 });
        let served = CommandLimits { shared_memory, ..limits };
        assert_eq!(
            ended_by(StopReason::Memory, &served, Duration::ZERO),
            "it was ended because it took more than 17.5 GiB of memory, or all commands of this workspace \
             together more than 512 MiB, or of this server more than 1.0 GiB, which is the limit (`memory_mib`, \
             `workspace_memory_mib`, `all_memory_mib` of `[commands]`)"
        );
        assert_eq!(
            for_exit_code(153, &CommandLimits { file_bytes: 4 << 30, ..CommandLimits::default() })
                .unwrap(),
            "a program was ended because it wrote a file larger than 4.0 GiB, which is the limit (`file_mib` of \
             `[commands]`)"
        );
        assert_eq!(for_exit_code(1, &CommandLimits::default()), None);
        let few = CommandLimits { processes: 30, ..CommandLimits::default() };
        for stderr in [
            "bash: fork: Resource temporarily unavailable\n",
            "bash: fork: retry: Resource temporarily unavailable\n",
            "sh: 1: Cannot fork\n",
            "RuntimeError: can't start new thread\n",
        ] {
            assert_eq!(
                for_stderr(stderr, &few).unwrap(),
                "a program could start no more processes: a command may have 30 at a time (`processes` of \
                 `[commands]`)"
            );
        }
        assert_eq!(for_stderr("read: Resource temporarily unavailable\n", &few), None);
        assert_eq!(
            for_longest_life(Duration::from_secs(12 * 3_600)),
            "it ran out of time and was ended, with everything that it had started: a terminal may run for 12 hours \
             (`terminal_hours` of `[commands]`)"
        );
    }
}
