//! `exit_plan_mode`: changes a chat from plan mode to build mode, once a person accepted the plan (W16).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use yard_core::op::{ReadAnswer, Stat, StatAnswer, Want, Write};
use yard_core::{FaultCode, FileType, WsPath};

use super::front_matter::{Plan, Status};
use super::plan_file;
use crate::tool::{Context, Hints, Stop, Tool};

/// The argument that names the plan.
const PATH: &str = "plan_file_path";

/// Leaves plan mode and goes on in build mode. Call it only after the user clicked `Accept` on a
/// question of `ask_user` with exactly the choices Accept and Reject, asked after the plan's last
/// change; a chat message that sounds positive is not enough. Each `Accept` counts once. The plan's
/// status becomes `approved`.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ExitPlanMode {
    /// Full path to the plan, ending in `.plan`.
    plan_file_path: String,
    /// Kept in the chat's transcript.
    #[serde(rename = "allowedPrompts")]
    allowed_prompts: Option<Value>,
    /// Kept in the chat's transcript.
    #[serde(rename = "pushToRemote")]
    push_to_remote: Option<Value>,
    /// Kept in the chat's transcript.
    #[serde(rename = "remoteSessionId")]
    remote_session_id: Option<Value>,
    /// Kept in the chat's transcript.
    #[serde(rename = "remoteSessionUrl")]
    remote_session_url: Option<Value>,
    /// Kept in the chat's transcript.
    #[serde(rename = "remoteSessionTitle")]
    remote_session_title: Option<Value>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The mode that the chat is in now: `build`.
    mode: &'static str,
    /// The plan that was accepted.
    plan_file: String,
    /// SHA-256 of the plan, with its new status.
    hash: Option<String>,
}

impl Tool for ExitPlanMode {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "exit_plan_mode";
    const HINTS: Hints = Hints::CHANGES;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let path = plan_file::path(&args.plan_file_path, PATH, context)?;
        let (stat, whole) = plan(&path, context).map_err(about_plan)?;
        let plan = Plan::of(&whole.text);
        if plan.body.trim().is_empty() {
            return Err(Stop::argument(
                PATH,
                format!("{} is empty: write the plan first", context.display(&path)),
            ));
        }
        let content = approved(&plan, &stat) + plan.body;
        let write = Write {
            file_type: Some(FileType::Plan),
            expected: whole.hash,
            ..Write::replacing(whole.path.clone(), content.into_bytes())
        };
        let notes = args.notes();
        let left = context.attempt.leave_plan_mode(write, notes);
        let left = left.map_err(|fault| context.fault_for_caller(fault, &[]))?;
        Ok(Reply {
            mode: "build",
            plan_file: context.display(&left.path),
            hash: left.hash.map(|hash| hash.to_string()),
        })
    }
}

impl ExitPlanMode {
    /// The other arguments, for the transcript.
    fn notes(self) -> Value {
        let sent = [
            ("allowedPrompts", self.allowed_prompts),
            ("pushToRemote", self.push_to_remote),
            ("remoteSessionId", self.remote_session_id),
            ("remoteSessionUrl", self.remote_session_url),
            ("remoteSessionTitle", self.remote_session_title),
        ];
        let sent = sent.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let notes: serde_json::Map<String, Value> = sent.collect();
        if notes.is_empty() { Value::Null } else { json!(notes) }
    }
}

/// Reads the plan; the type of the file has to be plan, too.
fn plan(path: &WsPath, context: &Context<'_>) -> Result<(StatAnswer, ReadAnswer), Stop> {
    let stat = context.perform(Stat { path: path.clone(), want: Want::default(), follow: true })?;
    if stat.entry.file_type != FileType::Plan {
        let wrong = format!(
            "File is not a plan file: {} is of type {}. Write it with plan_write, or with write \
             and file_type \"plan\"",
            context.display(path),
            stat.entry.file_type.word()
        );
        return Err(Stop::argument(PATH, wrong));
    }
    Ok((stat, plan_file::read(path, context)?))
}

/// Names the argument, which is `path` in the other plan tools.
fn about_plan(stop: Stop) -> Stop {
    stop.map_fault(|fault| match fault.code() {
        FaultCode::NotFound | FaultCode::Timeout => Stop::Fault(fault),
        _ => Stop::argument(PATH, fault.message()),
    })
}

/// The front matter with its new status; a plan without front matter gets one.
fn approved(plan: &Plan<'_>, stat: &StatAnswer) -> String {
    let status = ("status", Status::Approved.word().to_owned());
    if plan.metadata().is_some() {
        return plan.head_with(&[status]);
    }
    let heading = plan.body.lines().find_map(|line| line.strip_prefix("# "));
    let name = stat.entry.path.name().map(|name| name.to_string()).unwrap_or_default();
    let title = heading.map_or(name.as_str(), str::trim).to_owned();
    plan.head_with(&[("title", title), status, ("created_at", stat.created_at.to_string())])
}
