//! `plan_write`: writes a plan with its front matter, or replaces one (W17).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::op::{OnExisting, ReadAnswer, Stat, Want, Write};
use yard_core::{Fault, FaultCode, FileType, WsPath};

use super::front_matter::{Metadata, Plan, Status};
use super::{plan_file, plan_names};
use crate::tool::{Context, Stop, Tool};

/// How many random names are tried.
const MAX_TRIES: usize = 100;

/// Writes a plan: a Markdown file below `/plans/` with a front matter that says its title, its status
/// and when it was made. Without `path` it gets a name of three random words. An existing plan is
/// replaced and keeps its `created_at`. Works in plan mode.
#[derive(Deserialize, JsonSchema)]
pub(super) struct PlanWrite {
    /// The plan's title.
    title: String,
    /// The plan itself, in Markdown, without front matter.
    content: String,
    /// Full path to the plan, ending in `.plan`; a new name is made if not given.
    path: Option<String>,
    /// How far the plan is.
    #[serde(default = "draft")]
    #[schemars(extend("enum" = Status::WORDS.map(|(_, word)| word)))]
    status: String,
}

fn draft() -> String {
    Status::Draft.word().to_owned()
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The plan that was written.
    path: String,
    /// Its id.
    file_id: String,
    /// Its new version.
    version_id: Option<String>,
    /// SHA-256 of the whole file: the next `last_read_hash`.
    hash: Option<String>,
    /// What its front matter says.
    metadata: Metadata,
}

impl Tool for PlanWrite {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "plan_write";

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let status = Status::named(&args.status)?;
        let title = args.title.trim();
        if title.is_empty() {
            return Err(Stop::argument("title", "must not be empty: send what the plan is about"));
        }
        let path = match &args.path {
            Some(text) => plan_file::path(text, "path", context)?,
            None => free_path(context)?,
        };
        let before = existing(&path, context)?;
        let old = Plan::of(before.as_ref().map_or("", |answer| answer.text.as_str()));
        let metadata = metadata(title, status, &old, context);
        let content = head(&old, &metadata) + &args.content;
        let changed = context.perform(Write {
            file_type: Some(FileType::Plan),
            on_existing: if before.is_some() { OnExisting::Replace } else { OnExisting::Refuse },
            expected: before.as_ref().and_then(|answer| answer.hash),
            ..Write::replacing(path, content.into_bytes())
        })?;
        Ok(Reply {
            path: context.display(&changed.path),
            file_id: changed.file.to_string(),
            version_id: changed.version.map(|version| version.to_string()),
            hash: changed.hash.map(|hash| hash.to_string()),
            metadata,
        })
    }
}

/// The plan at the path, if there is one.
fn existing(path: &WsPath, context: &Context<'_>) -> Result<Option<ReadAnswer>, Stop> {
    match plan_file::read(path, context) {
        Ok(answer) => Ok(Some(answer)),
        Err(Stop::Fault(fault)) if fault.code() == FaultCode::NotFound => Ok(None),
        Err(stop) => Err(stop),
    }
}

/// The front matter of the new version, which keeps `created_at`.
fn metadata(title: &str, status: Status, old: &Plan<'_>, context: &Context<'_>) -> Metadata {
    let created = old.metadata().and_then(|metadata| metadata.created_at);
    Metadata {
        title: Some(title.to_owned()),
        status: Some(status.word().to_owned()),
        created_at: Some(created.unwrap_or_else(|| context.call().world().now().to_string())),
    }
}

fn head(old: &Plan<'_>, metadata: &Metadata) -> String {
    let field = |key, value: &Option<String>| (key, value.clone().unwrap_or_default());
    old.head_with(&[
        field("title", &metadata.title),
        field("status", &metadata.status),
        field("created_at", &metadata.created_at),
    ])
}

/// A path below `/plans` at which nothing is.
fn free_path(context: &Context<'_>) -> Result<WsPath, Stop> {
    for _ in 0..MAX_TRIES {
        let name = plan_names::random_name(context.call().world());
        let path = context.own_path(&format!("{}/{name}{}", plan_file::FOLDER, plan_file::END))?;
        let stat = Stat { path: path.clone(), want: Want::default(), follow: false };
        match context.perform(stat) {
            Err(Stop::Fault(fault)) if fault.code() == FaultCode::NotFound => return Ok(path),
            found => drop(found?),
        }
    }
    let message = "no free name of three words was found below /plans; send `path`";
    Err(Fault::new(FaultCode::Exists, message).into())
}
