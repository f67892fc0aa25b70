//! A workspace whose commands run in the box of the binary under test.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use yard_core::op::{History, HistoryOf};
use yard_core::{ApprovalId, Author, ContentHash, StepId};
use yard_dialects::Answer;
use yard_gate::{Actor, Awaited, CallerPolicy, DecisionInput, Scope, Session};
use yard_kernel::CommandBox;
use yard_sandbox::{Sandbox, SandboxConfig};
use yard_testkit::{Folders, OpenOptions, TestWorkspace};

/// How often something is tried: the soak ten times as often.
pub(crate) fn times(soak: usize) -> usize {
    if std::env::var_os("YARD_SOAK").is_some() { soak } else { soak.div_ceil(10) }
}

pub(crate) fn plan() -> OpenOptions {
    let helper = PathBuf::from(env!("CARGO_BIN_EXE_toolyard"));
    OpenOptions {
        boxed: Some(CommandBox::new(move || Sandbox::probe(helper, SandboxConfig::default()))),
        ..OpenOptions::default()
    }
}

pub(crate) fn workspace() -> TestWorkspace {
    let workspace = TestWorkspace::open(&Folders::new(), plan()).expect("a fresh workspace opens");
    let level = workspace.kernel().box_level().unwrap();
    assert_eq!(level, yard_sandbox::Level::Full, "these tests need a machine with boxes");
    workspace
}

pub(crate) fn guarded(workspace: &TestWorkspace) -> Session {
    workspace.session_of(Actor::LocalAgent, CallerPolicy::Guarded)
}

/// A command of `codex`, as that session's agent runs it.
pub(crate) fn shell_as(workspace: &TestWorkspace, session: &Session, command: &str) -> Answer {
    let args = json!({"command": command, "workdir": null, "timeout_ms": 60_000});
    workspace.call_as(session, "codex", "shell", args)
}

/// A command that may do what it likes.
pub(crate) fn shell(workspace: &TestWorkspace, command: &str) -> Value {
    let answer = shell_as(workspace, &workspace.session(), command);
    assert!(answer.ok && answer.pending.is_none(), "{command}: {}", answer.body);
    answer.body["result"].clone()
}

/// What a person is asked about.
pub(crate) fn asked(answer: &Answer) -> ApprovalId {
    match answer.pending.as_ref().map(|pending| &pending.awaited) {
        Some(Awaited::Approval(id)) => *id,
        other => panic!("{other:?}: {}", answer.body),
    }
}

/// The state that a request shows now.
pub(crate) fn shown(workspace: &TestWorkspace, id: ApprovalId) -> ContentHash {
    workspace.person().approvals().get(id).unwrap().request.state
}

pub(crate) fn decide(
    workspace: &TestWorkspace,
    id: ApprovalId,
    approves: bool,
) -> yard_gate::Approval {
    let state = shown(workspace, id);
    let decision = DecisionInput {
        approves,
        scope: Scope::Once,
        reason: None,
        args: None,
        state,
        planned: None,
        parts: None,
    };
    workspace
        .catalog()
        .decide(id, &decision, &workspace.person(), &workspace.call_context())
        .unwrap()
}

/// The newest step, and who did it.
pub(crate) fn newest(workspace: &TestWorkspace) -> (StepId, Author) {
    let history = History { of: HistoryOf::Workspace, before: None, limit: 1 };
    let newest = workspace.perform(history).unwrap().steps.remove(0);
    (newest.id, newest.author)
}

/// What an entry of a tree is: its kind and mode, and its bytes or where it leads.
pub(crate) type Picture = BTreeMap<PathBuf, (char, u32, Vec<u8>)>;

pub(crate) fn picture(root: &Path) -> Picture {
    let mut all = Picture::new();
    let mut ahead = vec![root.to_owned()];
    while let Some(folder) = ahead.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            let mode = meta.permissions().mode() & 0o7777;
            let (kind, mode, bytes) = if meta.is_symlink() {
                // Nobody can set the mode of a link.
                ('l', 0, fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
            } else if meta.is_dir() {
                ahead.push(path.clone());
                ('d', mode, Vec::new())
            } else {
                ('f', mode, fs::read(&path).unwrap())
            };
            all.insert(path.strip_prefix(root).unwrap().to_owned(), (kind, mode, bytes));
        }
    }
    all
}

/// The names in which two trees differ, for a message.
pub(crate) fn differences(a: &Picture, b: &Picture) -> Vec<String> {
    let names: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let shown = |side: Option<&(char, u32, Vec<u8>)>| match side {
        None => "-".to_owned(),
        Some((kind, mode, bytes)) => {
            format!("{kind} {mode:o} {:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(40)]))
        }
    };
    let differing = names.into_iter().filter(|name| a.get(*name) != b.get(*name));
    differing
        .map(|name| format!("{}: {} | {}", name.display(), shown(a.get(name)), shown(b.get(name))))
        .collect()
}
