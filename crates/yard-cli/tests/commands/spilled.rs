//! What a command says beyond what its answer shows: kept whole, found by every dialect's reader, bounded,
//! and nobody else's.

mod bounds;
mod held;
mod paged;
mod reserved;

use std::path::PathBuf;

use serde_json::{Value, json};
use yard_dialects::Answer;
use yard_disk::RetentionLimits;
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

use crate::box_setup::{plan, shell};

/// Where they are, for tools without a leading slash.
const FOLDER: &str = ".toolyard-output";

fn plan_keeping(keeping: RetentionLimits) -> OpenOptions {
    let mut plan = plan();
    plan.boxed.as_mut().unwrap().keeping = keeping;
    plan
}

fn workspace_keeping(keeping: RetentionLimits) -> TestWorkspace {
    TestWorkspace::open(&Folders::new(), plan_keeping(keeping)).unwrap()
}

fn call(workspace: &TestWorkspace, toolset: &str, tool: &str, args: Value) -> Answer {
    workspace.call_of(toolset, tool, args)
}

#[track_caller]
fn ok(workspace: &TestWorkspace, toolset: &str, tool: &str, args: Value) -> Value {
    let answer = call(workspace, toolset, tool, args.clone());
    assert!(answer.ok, "{toolset} {tool} {args}: {}", answer.body);
    answer.body["result"].clone()
}

/// Lines that are all different, so many bytes or a few less.
fn lines(bytes: usize) -> String {
    (0..bytes / 10).map(|line| format!("{line:>9}\n")).collect()
}

/// A command that says them.
fn say_lines(bytes: usize) -> String {
    format!("seq -f %9.0f 0 {}", bytes / 10 - 1)
}

/// An answer without most of its words, for a message.
fn brief(reply: &Value) -> String {
    let text = reply.to_string();
    format!(
        "{:.300} ... {}",
        text,
        &text[text.floor_char_boundary(text.len().saturating_sub(300))..]
    )
}

/// Where the whole of a stream is.
#[track_caller]
fn path_of(reply: &Value, stream: &str) -> String {
    let path = reply[format!("{stream}_path")].as_str();
    path.unwrap_or_else(|| panic!("no path of {stream}: {}", brief(reply))).to_owned()
}

#[track_caller]
fn spill(workspace: &TestWorkspace, bytes: usize) -> String {
    path_of(&shell(workspace, &say_lines(bytes)), "stdout")
}

/// The files themselves.
fn files(workspace: &TestWorkspace) -> Vec<PathBuf> {
    let folder = workspace.folders().state().join("output").join(FOLDER);
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn read(workspace: &TestWorkspace, path: &str) -> Answer {
    call(workspace, "codex", "read_file", json!({"path": path, "limit": 1}))
}
