//! read: a slice of a text of any size. Only what the caller requests is computed, and a large file is streamed.

mod encoded;
mod part;
mod stream;

use std::fs::File;

use yard_core::op::{Read, ReadAnswer};
use yard_core::{Call, ContentHash, Effect, EffectKind, FaultCode, Result, WsPath};
use yard_disk::{EntryStat, is_folder, read_all};

use crate::proposal::{Execute, Planned};
use crate::virtual_files::command_output;
use crate::workspace::Workspace;

use part::Part;
use stream::Stream;

/// Files up to this size are loaded, which is faster than streaming.
const MAX_WHOLE_BYTES: u64 = 1 << 20;

impl Execute for Read {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<ReadAnswer>> {
        if let Some(planned) = plan_virtual(self, workspace, &self.path, call)? {
            return Ok(planned);
        }
        let opened = workspace.disk.open_wherever(&self.path);
        if let Some(target) = virtual_link_target(workspace, &self.path, &opened)?
            && let Some(planned) = plan_virtual(self, workspace, &target, call)?
        {
            return Ok(planned);
        }
        let (path, mut file, stat) = opened?;
        let want = self.want.of_size(stat.size());
        let mut part = read_part(&Self { want, ..self.clone() }, &mut file, &stat, &path, call)?;
        let stored = match self.want.synced {
            true => Some(Stored::look_up(workspace, &path, &stat, part.hash, call)?),
            false => None,
        };
        if self.want.hash {
            part.hash = part.hash.or(stored.and_then(|stored| stored.content_on_disk));
        }
        Ok(answer(part, path, stat.size(), stored))
    }

    fn read_paths(&self) -> Vec<WsPath> {
        vec![self.path.clone()]
    }
}

/// What the store knows of a file that was read.
#[derive(Clone, Copy)]
struct Stored {
    /// Whether its newest version is on disk.
    synced: bool,
    /// Whether it was written as JSON.
    json: bool,
    /// The content that is on disk, if the store has it.
    content_on_disk: Option<ContentHash>,
}

impl Stored {
    /// For a file that has no versions.
    const UNVERSIONED: Self = Self { synced: true, json: false, content_on_disk: None };

    fn look_up(
        workspace: &Workspace,
        path: &WsPath,
        stat: &EntryStat,
        hash: Option<ContentHash>,
        call: &Call,
    ) -> Result<Self> {
        let state = workspace.sync_state(path, stat, hash, call)?;
        let (synced, state) = (state.synced, state.node.and_then(|node| node.state));
        let json = state.as_ref().is_some_and(|state| state.json);
        let content = state.and_then(|state| state.content);
        Ok(Self { synced, json, content_on_disk: content.filter(|_| synced) })
    }
}

fn answer(part: Part, path: WsPath, size: u64, stored: Option<Stored>) -> Planned<ReadAnswer> {
    let effect = Effect::one(EffectKind::Read, path.clone());
    let Part { text, first_line, lines, truncated, cut_at_byte, line_count, hash } = part;
    let answer = ReadAnswer {
        path,
        text,
        first_line,
        lines,
        truncated,
        cut_at_byte,
        line_count,
        hash,
        size,
        synced: stored.map(|stored| stored.synced),
        json: stored.is_some_and(|stored| stored.json),
    };
    Planned::Answer { effect, answer }
}

/// The slice of an open file.
fn read_part(
    read: &Read,
    file: &mut File,
    stat: &EntryStat,
    path: &WsPath,
    call: &Call,
) -> Result<Part> {
    if stat.size() <= MAX_WHOLE_BYTES {
        return Part::of_bytes(read, &read_all(file, stat.size(), path)?, path);
    }
    Stream { read, file, path, call }.part()
}

/// The virtual path to which links lead, if they lead to one. Only looked up if a link was followed or nothing was found.
fn virtual_link_target(
    workspace: &Workspace,
    named: &WsPath,
    opened: &Result<(WsPath, File, EntryStat)>,
) -> Result<Option<WsPath>> {
    let may_be_virtual = match opened {
        Ok((path, ..)) => path != named,
        Err(fault) => fault.code() == FaultCode::NotFound,
    };
    if !may_be_virtual {
        return Ok(None);
    }
    let spot = workspace.disk.locate(named, true)?;
    Ok(workspace.virtual_target(named, &spot))
}

/// The plan for command output and virtual files, which have no versions; `None` for every other path.
fn plan_virtual(
    read: &Read,
    workspace: &Workspace,
    path: &WsPath,
    call: &Call,
) -> Result<Option<Planned<ReadAnswer>>> {
    match path.is_command_output() {
        true => plan_command_output(read, workspace, path, call).map(Some),
        false => plan_virtual_file(read, workspace, path, call),
    }
}

/// The plan for command output. Its path may end with the byte to begin at.
fn plan_command_output(
    read: &Read,
    workspace: &Workspace,
    named: &WsPath,
    call: &Call,
) -> Result<Planned<ReadAnswer>> {
    let (path, from) = command_output::split_offset(named);
    let seen = workspace.stat_command_output(&path)?;
    let (mut file, stat) = workspace.disk_of(&path).open_seen(&path, &seen)?;
    let part = match from {
        0 => read_part(read, &mut file, &stat, &path, call)?,
        from => Stream { read, file: &mut file, path: &path, call }.part_after(from)?,
    };
    let stored = read.want.synced.then_some(Stored::UNVERSIONED);
    Ok(answer(part, path, stat.size(), stored))
}

/// The plan for a virtual file; `None` if there is none at that path.
fn plan_virtual_file(
    read: &Read,
    workspace: &Workspace,
    path: &WsPath,
    call: &Call,
) -> Result<Option<Planned<ReadAnswer>>> {
    let Some(bytes) = workspace.virtual_text(path, call)? else {
        return match workspace.virtual_entries_below(path)?.are_in(path) {
            true => Err(is_folder(path)),
            false => Ok(None),
        };
    };
    let part = Part::of_bytes(read, &bytes, path)?;
    let stored = read.want.synced.then_some(Stored::UNVERSIONED);
    Ok(Some(answer(part, path.clone(), bytes.len() as u64, stored)))
}
