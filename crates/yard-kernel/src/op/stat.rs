//! stat: one entry's metadata, with its hash and line count only on request.

use yard_core::hash::ContentHasher;
use yard_core::op::{Stat, StatAnswer};
use yard_core::{Call, ContentHash, Effect, EffectKind, FileKind, Result, WsPath, lines, text};
use yard_disk::{EntryKind, each_piece, not_found, read_all};

use crate::proposal::{Execute, Planned};
use crate::virtual_files::command_output;
use crate::virtual_files::{file_entry, is_virtual_folder};
use crate::workspace::Workspace;

/// Larger files are streamed.
const MAX_WHOLE_BYTES: u64 = 1 << 20;

impl Execute for Stat {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<StatAnswer>> {
        if let Some(planned) = plan_virtual(self, workspace, &self.path, call)? {
            return Ok(planned);
        }
        let spot = workspace.disk.locate(&self.path, self.follow)?;
        if let Some(target) = workspace.virtual_target(&self.path, &spot)
            && let Some(planned) = plan_virtual(self, workspace, &target, call)?
        {
            return Ok(planned);
        }
        let (path, stat) = spot.present().ok_or_else(|| not_found(&self.path))?;
        let (hash, line_count) = content(self, workspace, &path, &stat, call)?;
        let state = workspace.sync_state(&path, &stat, hash, call)?;
        let created = state.node.as_ref().map(|node| node.created_at);
        let created_at = created.unwrap_or_else(|| stat.created());
        let effect = effect_on(self, &path);
        let entry = workspace.entry(path, &stat, &state);
        let on_disk = Some(stat.on_disk());
        let answer = StatAnswer { entry, created_at, line_count, hash, on_disk };
        Ok(Planned::Answer { effect, answer })
    }
}

/// A hash or a line count reveals something about the content, and so counts as reading; other metadata counts as listing.
fn effect_on(operation: &Stat, path: &WsPath) -> Effect {
    let reads = operation.want.hash || operation.want.line_count;
    Effect::one(if reads { EffectKind::Read } else { EffectKind::List }, path.clone())
}

/// The plan for command output and virtual files; `None` for every other path.
fn plan_virtual(
    operation: &Stat,
    workspace: &Workspace,
    path: &WsPath,
    call: &Call,
) -> Result<Option<Planned<StatAnswer>>> {
    let effect = effect_on(operation, path);
    let answer = match path.is_command_output() {
        true => Some(command_output_answer(operation, workspace, path, call)?),
        false => virtual_answer(operation, workspace, path, call)?,
    };
    Ok(answer.map(|answer| Planned::Answer { effect, answer }))
}

/// The answer for command output.
fn command_output_answer(
    operation: &Stat,
    workspace: &Workspace,
    path: &WsPath,
    call: &Call,
) -> Result<StatAnswer> {
    let stat = workspace.stat_command_output(path)?;
    let (hash, line_count) = content(operation, workspace, path, &stat, call)?;
    let created_at = stat.created();
    let entry = command_output::entry(path.clone(), &stat);
    Ok(StatAnswer { entry, created_at, line_count, hash, on_disk: Some(stat.on_disk()) })
}

/// The answer for a virtual file, or for their folder.
fn virtual_answer(
    operation: &Stat,
    workspace: &Workspace,
    path: &WsPath,
    call: &Call,
) -> Result<Option<StatAnswer>> {
    if let Some(file) = workspace.virtual_file(path)? {
        let wanted = operation.want.hash || operation.want.line_count;
        let text = if wanted { workspace.virtual_text(path, call)? } else { None };
        return Ok(Some(StatAnswer {
            entry: file_entry(path, &file),
            created_at: file.created_at,
            line_count: text.as_deref().and_then(text_lines),
            hash: text.as_deref().map(ContentHash::of),
            on_disk: None,
        }));
    }
    if !is_virtual_folder(path) {
        return Ok(None);
    }
    let virtuals = workspace.virtual_entries_below(path)?;
    let entry = virtuals.entry(path, workspace.disk.stat(path)?.as_ref());
    let answer = entry.zip(virtuals.oldest()).map(|(entry, created_at)| StatAnswer {
        entry,
        created_at,
        line_count: None,
        hash: None,
        on_disk: None,
    });
    Ok(answer)
}

fn content(
    operation: &Stat,
    workspace: &Workspace,
    path: &WsPath,
    stat: &yard_disk::EntryStat,
    call: &Call,
) -> Result<(Option<ContentHash>, Option<u64>)> {
    match stat.kind {
        EntryKind::Known(FileKind::File) if operation.want.hash || operation.want.line_count => {
            let (mut file, stat) = workspace.disk_of(path).open_file(path)?;
            if stat.size() > MAX_WHOLE_BYTES || path.is_command_output() {
                return streamed(&mut file, path, call);
            }
            let bytes = read_all(&mut file, stat.size(), path)?;
            Ok((Some(ContentHash::of(&bytes)), text_lines(&bytes)))
        }
        EntryKind::Known(FileKind::Link) if operation.want.hash => {
            let target = workspace.disk.read_link(path)?;
            Ok((Some(ContentHash::of(&target)), None))
        }
        _ => Ok((None, None)),
    }
}

/// Lines, if the bytes are a text.
fn text_lines(bytes: &[u8]) -> Option<u64> {
    let encoding = text::detect(bytes).ok()?;
    match encoding {
        text::Encoding::Utf16Le | text::Encoding::Utf16Be => {
            Some(lines::count(text::decode(bytes, encoding).as_bytes()))
        }
        _ => Some(lines::count(bytes)),
    }
}

fn streamed(
    file: &mut std::fs::File,
    path: &WsPath,
    call: &Call,
) -> Result<(Option<ContentHash>, Option<u64>)> {
    let mut hasher = ContentHasher::new();
    let (mut newlines, mut last, mut binary) = (0, b'\n', false);
    each_piece(file, path, call, |piece| {
        hasher.update(piece);
        newlines += memchr::memchr_iter(b'\n', piece).count() as u64;
        binary |= !path.is_command_output() && memchr::memchr(0, piece).is_some();
        last = piece.last().copied().unwrap_or(last);
        Ok(true)
    })?;
    let count = newlines + u64::from(last != b'\n');
    Ok((Some(hasher.finish()), (!binary).then_some(count)))
}
