//! show-version and fetch-version: the metadata and the bytes of one version of a file.

use std::sync::Arc;

use yard_core::op::{FETCH_BYTES, FetchVersion, FetchedVersion, ShowVersion, ShownVersion};
use yard_core::{
    Call, ContentHash, Effect, EffectKind, Fault, FaultCode, FileId, Result, VersionId, WsPath,
};
use yard_disk::read_range;
use yard_store::{Change, Seq, StepRow, VersionRow};

use crate::contents::stored_content::{is_whole, lost};
use crate::op::show::{Side, unified};
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;

/// Changes of a file that are read at once to find its earlier version.
const PAGE: usize = 64;

impl Execute for ShowVersion {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<ShownVersion>> {
        let row = find_version(workspace, self.version, self.of)?;
        let VersionOrigin { step, change, before } =
            origin_of(workspace, call, self.version, &row)?;
        let (hash, path) = (content_of(self.version, &row)?, place_of(&change));
        let purged = workspace.store().is_purged(&hash)?;
        let (mut diff, mut truncated) = (None, false);
        if !purged {
            let max_bytes = usize::try_from(self.max_bytes).unwrap_or(usize::MAX);
            let earlier_path = before.as_ref().map(place_of);
            let earlier = Side { content: content_after(&before), path: earlier_path.as_ref() };
            let this = Side { content: Some(hash), path: Some(&path) };
            if max_bytes == 0 {
                truncated = true;
            } else if let Some((text, cut)) = unified(workspace, call, &earlier, &this, max_bytes)?
            {
                (diff, truncated) = (Some(text), cut);
            }
        }
        let effect = Effect::one(EffectKind::Read, path.clone());
        let answer = ShownVersion {
            version: self.version,
            file: row.file,
            step: step.id,
            at: step.at,
            author: step.author,
            actor: step.actor,
            verb: step.verb,
            path,
            file_type: row.state.file_type,
            hash,
            size: row.state.size,
            before: before.and_then(|change| change.version),
            diff,
            truncated,
            purged,
        };
        Ok(Planned::Answer { effect, answer })
    }
}

impl Execute for FetchVersion {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<FetchedVersion>> {
        let row = find_version(workspace, self.version, self.of)?;
        let (hash, size) = (content_of(self.version, &row)?, row.state.size);
        let length = self.length.min(FETCH_BYTES).min(size.saturating_sub(self.offset));
        let bytes = part(workspace, &hash, self.offset, length, call)?;
        // The effect has the current path of the file: a rule on it applies to old versions, too.
        let node = workspace.store().node(row.file)?;
        let path = node.map_or_else(WsPath::root, |node| node.path);
        let effect = Effect::one(EffectKind::Read, path);
        Ok(Planned::Answer { effect, answer: FetchedVersion { bytes, size, hash } })
    }
}

/// The version of an id, or a fault that says where ids come from.
fn find_version(
    workspace: &Workspace,
    version: VersionId,
    of: Option<FileId>,
) -> Result<VersionRow> {
    let row = workspace.store().version(version)?;
    row.filter(|row| of.is_none_or(|file| row.file == file)).ok_or_else(|| {
        let whose = of.map_or_else(String::new, |file| format!(" of file {file}"));
        let message =
            format!("there is no version {version}{whose}; the file's history lists them");
        Fault::new(FaultCode::NotFound, message)
    })
}

fn content_of(version: VersionId, row: &VersionRow) -> Result<ContentHash> {
    row.state.content.ok_or_else(|| {
        Fault::new(FaultCode::NotFound, format!("version {version} has no content of its own"))
    })
}

fn content_after(change: &Option<Change>) -> Option<ContentHash> {
    change.as_ref().and_then(|change| change.after.as_ref()).and_then(|state| state.content)
}

fn place_of(change: &Change) -> WsPath {
    change.to.as_ref().or(change.from.as_ref()).cloned().unwrap_or_else(WsPath::root)
}

/// The step and the change that made a version.
struct VersionOrigin {
    step: StepRow,
    change: Change,
    /// The change that made the version before it.
    before: Option<Change>,
}

/// Reads the file's history backwards from the version's step to the version before it.
fn origin_of(
    workspace: &Workspace,
    call: &Call,
    version: VersionId,
    row: &VersionRow,
) -> Result<VersionOrigin> {
    let mut own: Option<(StepRow, Change)> = None;
    let mut before: Option<Seq> = Some(row.seq + 1);
    loop {
        call.check()?;
        let page = workspace.store().file_changes(row.file, before, PAGE)?;
        let full = page.len() == PAGE;
        before = page.last().map(|(step, _)| step.seq);
        for (step, change) in page {
            match own.take() {
                Some((step, own_change)) if change.version.is_some() => {
                    return Ok(VersionOrigin { step, change: own_change, before: Some(change) });
                }
                Some(same) => own = Some(same),
                None if change.version == Some(version) => own = Some((step, change)),
                None => {}
            }
        }
        if !full {
            let lost =
                || Fault::new(FaultCode::Io, format!("the step of version {version} is gone"));
            let (step, change) = own.ok_or_else(lost)?;
            return Ok(VersionOrigin { step, change, before: None });
        }
    }
}

/// A part of a stored content.
pub(crate) fn part(
    workspace: &Workspace,
    hash: &ContentHash,
    offset: u64,
    length: u64,
    call: &Call,
) -> Result<Vec<u8>> {
    let located = workspace.store().locate(hash)?;
    let Some(located) = located else { return Err(lost(workspace, hash)) };
    if let Some(kept) = located.kept {
        if !is_whole(workspace, &kept, hash, call)? {
            return Err(lost(workspace, hash));
        }
        let file = workspace.stage.open_kept(&kept.name).map_err(|_| lost(workspace, hash))?;
        return read_range(&file, offset, length, &WsPath::root());
    }
    let bytes = match workspace.caches.range_reads.get(hash) {
        Some(bytes) => bytes,
        None => {
            let bytes = workspace.store().content(hash)?;
            Arc::new(bytes.ok_or_else(|| lost(workspace, hash))?)
        }
    };
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
    let end = start.saturating_add(usize::try_from(length).unwrap_or(0)).min(bytes.len());
    let part = bytes[start..end].to_vec();
    if end < bytes.len() && bytes.len() as u64 > FETCH_BYTES {
        workspace.caches.range_reads.insert(*hash, bytes);
    } else if workspace.caches.range_reads.get(hash).is_some() {
        workspace.caches.range_reads.clear();
    }
    Ok(part)
}
