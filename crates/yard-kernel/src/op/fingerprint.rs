//! fingerprint: the hash of a file, which is read only if its hash is not known by its signature.

use yard_core::op::{Fingerprint, Fingerprinted};
use yard_core::{Call, ContentHash, Effect, EffectKind, Fault, FaultCode, Result, Subject, WsPath};
use yard_disk::{EntryStat, hash_all, not_found};

use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

impl Execute for Fingerprint {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Fingerprinted>> {
        let located = workspace.disk.locate(&self.path, true)?;
        let (path, stat) = located.present().ok_or_else(|| not_found(&self.path))?;
        let node = workspace.store().lookup(&path)?;
        let hash = node.as_ref().and_then(|node| workspace.content_by_signature(node, &stat));
        let (hash, stat) = match hash {
            Some(hash) => (hash, stat),
            None => {
                let (hash, stat) = hash_file(workspace, &path, &stat, call)?;
                if let Some(node) = &node {
                    workspace.remember_signature(node.id, hash, &stat, call);
                }
                (hash, stat)
            }
        };
        let answer = Fingerprinted {
            path: path.clone(),
            file: node.map(|node| node.id),
            hash,
            size: stat.size(),
            updated_at: stat.modified(),
            seen: stat.signature,
        };
        Ok(Planned::Answer { effect: Effect::one(EffectKind::Read, path), answer })
    }
}

/// The hash of a file, with the metadata that it had during the whole read.
fn hash_file(
    workspace: &Workspace,
    path: &WsPath,
    seen: &EntryStat,
    call: &Call,
) -> Result<(ContentHash, EntryStat)> {
    let (mut file, stat) = workspace.disk.open_seen(path, seen)?;
    let hash = hash_all(&mut file, path, call)?;
    if workspace.disk.look_again(&file, path)?.signature != stat.signature {
        return Err(changed_meanwhile(path));
    }
    Ok((hash, stat))
}

/// The fault for a file that changed since its metadata was read.
pub(crate) fn changed_meanwhile(path: &WsPath) -> Fault {
    let message = format!("{path} changed while it was read; read it again from the start");
    Fault::new(FaultCode::Stale, message).about(Subject::Path)
}
