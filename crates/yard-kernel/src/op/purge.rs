//! purge: removes the contents of a removed file for good. It is no step, because nothing could undo it, but it has an audit
//! row, and the history of the file remains. `commit/purge.rs` does what is planned here.

use yard_core::op::{Purge, PurgeAnswer};
use yard_core::{Call, Effect, EffectKind, Fault, FaultCode, FileId, FileKind, Result, Subject};
use yard_store::{Node, Purged};

use crate::op::history::find_file;
use crate::proposal::{CommitWork, Execute, Planned, Proposal};
use crate::workspace::Workspace;

impl Execute for Purge {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<PurgeAnswer>> {
        let node = find_file(workspace, self.file)?;
        if node.state.is_some() {
            return Err(living(&node));
        }
        let nodes = removed_together(workspace, node, call)?;
        let mut effect = Effect::default();
        nodes.iter().for_each(|node| {
            effect.push(EffectKind::Purge, node.path.clone(), node.last.file_type)
        });
        let files: Vec<FileId> = nodes.iter().map(|node| node.id).collect();
        let (file, count) = (self.file, files.len() as u64);
        let answer = Box::new(move |purged: Purged| PurgeAnswer {
            file,
            files: count,
            contents: purged.contents.len() as u64,
            bytes: purged.bytes,
        });
        Ok(Planned::Change(Box::new(Proposal {
            effect,
            work: CommitWork::Purge { files, answer },
        })))
    }
}

fn living(node: &Node) -> Fault {
    let message = format!(
        "{} was not removed; remove it first, then purge it from the trash. Nothing was purged",
        node.path
    );
    Fault::new(FaultCode::Exists, message).about(Subject::Path)
}

/// A removed entry, and for a folder everything below it that the same step removed and that was not restored since.
fn removed_together(workspace: &Workspace, node: Node, call: &Call) -> Result<Vec<Node>> {
    if node.last.kind != FileKind::Folder {
        return Ok(vec![node]);
    }
    let changes = workspace.store().changes(node.seq)?;
    let (folder, seq) = (node.path.clone(), node.seq);
    let mut nodes = vec![node];
    for change in changes {
        call.check()?;
        let below =
            change.from.as_ref().is_some_and(|from| *from != folder && from.is_within(&folder));
        if change.after.is_some() || !below {
            continue;
        }
        let removed = workspace.store().node(change.file)?;
        nodes.extend(removed.filter(|node| node.state.is_none() && node.seq == seq));
    }
    Ok(nodes)
}
