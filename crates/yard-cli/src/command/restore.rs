//! `toolyard restore`: brings a removed file back, or makes an old version the newest.

use serde_json::json;
use yard_core::op::{Restore, Trash};
use yard_core::{FaultCode, FileId};
use yard_gate::Actor;

use crate::context::{CommandContext, LocalSession};
use crate::failure::Failure;
use crate::reply::Reply;
use crate::short_ids::{begins_with, id_digits};
use crate::terminal::visible_cell;

/// How many removed files are searched for an id that begins as given.
const MAX_SEARCHED: usize = 10_000;

const EXAMPLES: &str = "\
Examples:
  toolyard restore notes.txt         the file that was last removed there
  toolyard restore 0198c2a4-1b2c     by its id in `toolyard trash`
  toolyard restore --version ID      an old version (`history PATH --json` has the ids)";

/// Bring back a removed file, or an old version of a file
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Id in the trash, or the path where the file was
    #[arg(value_name = "ID|PATH", required_unless_present = "version")]
    target: Option<String>,
    /// Version that becomes the newest of its file
    #[arg(long, value_name = "ID", conflicts_with = "target")]
    version: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let local = context.open(Actor::LocalPerson)?;
        let restored = local.perform(self.restore(&local)?).map_err(|failure| {
            match (&self.target, failure.code()) {
                (Some(target), FaultCode::NotFound) => Failure::new(
                    FaultCode::NotFound,
                    format!("nothing that was removed was at {target}, or has that id"),
                ),
                _ => failure,
            }
        })?;
        if self.json {
            return Ok(Reply::json(json!({
                "file_id": restored.file.to_string(),
                "path": restored.path.to_string(),
                "step": restored.step.to_string(),
            })));
        }
        let path = restored.path.to_string();
        Ok(Reply::text(format!("restored {} by step {}\n", visible_cell(&path), restored.step)))
    }

    fn restore(&self, local: &LocalSession) -> Result<Restore, Failure> {
        if let Some(version) = &self.version {
            let id = version.parse().map_err(|_| {
                Failure::new(FaultCode::BadArgument, format!("not the id of a version: {version}"))
                    .with_hint("toolyard history PATH --json has them as version_id")
            })?;
            return Ok(Restore::Version(id));
        }
        let target = self.target.as_deref().unwrap_or_default();
        match trashed(local, target)? {
            Some(id) => Ok(Restore::Removed(id)),
            None => Ok(Restore::RemovedAt(local.path(target)?)),
        }
    }
}

/// The id that `target` is, or is the beginning of; none if it must be a path.
fn trashed(local: &LocalSession, target: &str) -> Result<Option<FileId>, Failure> {
    if let Ok(id) = target.parse() {
        return Ok(Some(id));
    }
    let Some(digits) = id_digits(target) else { return Ok(None) };
    let trash = local.perform(Trash { limit: MAX_SEARCHED, skip: 0 })?;
    let mut matching =
        trash.entries.iter().filter(|entry| begins_with(&entry.file.to_string(), &digits));
    match (matching.next(), matching.next()) {
        (Some(_), Some(_)) => Err(Failure::new(
            FaultCode::BadArgument,
            format!("several removed files have an id that begins with {target}"),
        )
        .with_hint("give more digits of it, or the path with its leading slash")),
        (only, _) => Ok(only.map(|entry| entry.file)),
    }
}
