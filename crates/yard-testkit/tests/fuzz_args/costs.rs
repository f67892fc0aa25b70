//! What a call costs: for a megabyte of arguments no tool takes more than two seconds of processor time or
//! 200 MB of memory. The plain run sends some of them, of a tenth of the size.
//! It is measured in a process of its own, in which nothing else runs.

use std::process::Command;
use std::time::Duration;

use yard_testkit::TestWorkspace;
use yard_testkit::large_args::large;

/// Set in the process that measures.
const MEASURE: &str = "YARD_MEASURE_COSTS";
/// The processor time of one call, of all threads. Tests are not optimized as a release is.
const MOST_TIME: Duration = Duration::from_secs(2);
/// Memory that one call needs beyond what was there.
const MOST_KIB: u64 = 200 << 10;

fn is_soak() -> bool {
    std::env::var_os("YARD_SOAK").is_some()
}

fn size() -> usize {
    if is_soak() { 1 << 20 } else { 100 << 10 }
}

/// The processor time of this process.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    let ticks = |at: usize| -> u64 { after_name.split(' ').nth(at).unwrap().parse().unwrap() };
    // User and system time, in hundredths of a second.
    Duration::from_millis((ticks(12) + ticks(13)) * 10)
}

fn kib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A file of about the size, a row for each edit.
fn rows(size: usize) -> String {
    (0..size / 32).map(|row| format!("value_{row:06} = of some length;\n")).collect()
}

/// A call and what it cost.
struct Cost {
    what: String,
    time: Duration,
    kib: u64,
}

fn measured(workspace: &TestWorkspace, only: &str) -> Vec<Cost> {
    let (session, call) = (workspace.session(), workspace.call_context());
    let mut costs = Vec::new();
    for dialect in workspace.catalog().dialects() {
        for tool in workspace.catalog().list(dialect.name) {
            let name = format!("{} {}", dialect.name, tool.name());
            if !name.contains(only) {
                continue;
            }
            workspace.put("/rows.txt", rows(size()));
            let all = large(tool.input_schema(), size()).into_iter().enumerate();
            // Which ones are left out of the plain run differs from tool to tool.
            let chosen = |at: usize| is_soak() || (at + costs.len()).is_multiple_of(4);
            let chosen: Vec<_> = all.filter(|(at, _)| chosen(*at)).map(|(_, one)| one).collect();
            for (kind, args) in chosen {
                std::fs::write("/proc/self/clear_refs", "5").unwrap();
                let (memory, time) = (kib("VmRSS:"), processor_time());
                let answer =
                    workspace.catalog().call(dialect.name, tool.name(), args, &session, &call);
                let time = processor_time() - time;
                let kib = kib("VmHWM:").saturating_sub(memory);
                let what = format!("{name}, {kind:?}: {}", answer.status);
                costs.push(Cost { what, time, kib });
            }
        }
    }
    costs
}

/// Runs in the process that the next test starts.
#[test]
fn measured_alone() {
    let Some(only) = std::env::var_os(MEASURE) else { return };
    let mut costs = measured(&super::workspace(), only.to_str().unwrap());
    costs.sort_by_key(|cost| std::cmp::Reverse(cost.time));
    let mut most: Vec<&Cost> = costs.iter().take(20).collect();
    let mut by_memory: Vec<&Cost> = costs.iter().collect();
    by_memory.sort_by_key(|cost| std::cmp::Reverse(cost.kib));
    most.extend(by_memory.into_iter().take(20));
    println!("\n{} calls of {} bytes", costs.len(), size());
    for cost in most {
        println!("cost {:?}, {} KiB: {}", cost.time, cost.kib, cost.what);
    }
    let is_too_much = |cost: &&Cost| cost.time > MOST_TIME || cost.kib > MOST_KIB;
    for cost in costs.iter().filter(is_too_much) {
        println!("TOO MUCH {:?}, {} KiB: {}", cost.time, cost.kib, cost.what);
    }
}

#[test]
fn g8_a_megabyte_of_arguments_costs_two_seconds_and_200_mb_at_most() {
    let only = std::env::var("YARD_ONLY").unwrap_or_default();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "fuzz_args::costs::measured_alone", "--nocapture"]).env(MEASURE, only);
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    eprintln!("{text}");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains(" calls of ") && !text.contains("TOO MUCH"), "{text}");
}
