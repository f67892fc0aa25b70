//! blame: for each line of a file the step that it came from. A file keeps its id when it is moved, so that its versions
//! are found wherever it was. Lines that an undo or a restore brings back came from where they came from before.

use std::collections::HashMap;

use yard_core::line_origins::line_count;
use yard_core::op::{Blame, BlameOf, Blamed, BlamedRange, HistoryEntry};
use yard_core::{
    Call, ContentHash, Effect, EffectKind, Fault, FaultCode, Result, StepId, Subject, VersionId,
    WsPath, text,
};
use yard_store::{Change, Node, Seq, StepRow};

use crate::contents::stored_content::purged;
use crate::op::count_lines::Counting;
use crate::op::history::{entry, find_file, last_at, no_history};
use crate::proposal::preview::MAX_SHOWN_BYTES;
use crate::proposal::{Execute, Planned};
use crate::workspace::Workspace;
use crate::workspace::caches::blame_cache::{BlamedVersion, FileOrigins};

/// Changes of a file that are read at once, and first: mostly there are few that are new.
const PAGE: usize = 500;
const FIRST_PAGE: usize = 8;
/// The steps of an answer are listed without counts of lines once so many bytes were compared for those.
const MAX_COUNTED_BYTES: u64 = 256 << 10;
/// A text of more lines has no origins.
const MAX_LINES: usize = 200_000;

impl Execute for Blame {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<Blamed>> {
        let node = match &self.of {
            BlameOf::File(file) => find_file(workspace, *file)?,
            BlameOf::Path(path) => last_at(workspace, path)?.ok_or_else(|| no_history(path))?,
        };
        let path = workspace.store().path_of(node.id)?.unwrap_or_else(|| node.path.clone());
        let wanted = WantedVersion::of(workspace, &node, &path, self.version)?;
        let mut known = workspace.caches.blames.take(node.id);
        // What was found is of use to the next call, also if this one runs out of time.
        let found = bring_up_to_date(workspace, call, &mut known)
            .and_then(|()| answer(workspace, call, &known, &wanted, self, path.clone()));
        workspace.caches.blames.put(known);
        Ok(Planned::Answer { effect: Effect::one(EffectKind::Read, path), answer: found? })
    }
}

/// The version whose lines are asked about.
struct WantedVersion {
    id: VersionId,
    seq: Seq,
    hash: ContentHash,
    size: u64,
}

impl WantedVersion {
    fn of(
        workspace: &Workspace,
        node: &Node,
        path: &WsPath,
        version: Option<VersionId>,
    ) -> Result<Self> {
        let has_no_lines = || {
            let message = format!("{path} has no versions with lines: it is no file");
            Fault::new(FaultCode::IsFolder, message).about(Subject::Path)
        };
        let id = version.or(node.version).ok_or_else(has_no_lines)?;
        let row = workspace.store().version(id)?.filter(|row| row.file == node.id);
        let row = row.ok_or_else(|| {
            let message =
                format!("there is no version {id} of {path}; the file's history lists them");
            Fault::new(FaultCode::NotFound, message)
        })?;
        let hash = row.state.content.ok_or_else(has_no_lines)?;
        if workspace.store().is_purged(&hash)? {
            return Err(purged());
        }
        Ok(Self { id, seq: row.seq, hash, size: row.state.size })
    }
}

/// The lines of a version, as far as they are asked for.
fn answer(
    workspace: &Workspace,
    call: &Call,
    known: &FileOrigins,
    wanted: &WantedVersion,
    part: &Blame,
    path: WsPath,
) -> Result<Blamed> {
    let end = known.versions.partition_point(|version| version.seq <= wanted.seq);
    let at = (0..end).rev().find(|at| known.versions[*at].hash == wanted.hash);
    let Some(origins) = at.and_then(|at| known.origins.origins(at)) else {
        return Err(without_lines(workspace, wanted, &path));
    };
    let mut answer = Blamed {
        file: known.file,
        path,
        version: wanted.id,
        hash: wanted.hash,
        total_lines: origins.len() as u64,
        ranges: Vec::new(),
        steps: Vec::new(),
        next_line: None,
    };
    let step_of = |origin: u32| known.versions[origin as usize].step;
    let mut next = 1;
    for lines in origins.chunk_by(|one, two| step_of(*one) == step_of(*two)) {
        let (first_line, last_line) = (next, next + lines.len() as u64 - 1);
        next = last_line + 1;
        if last_line < part.first_line {
            continue;
        }
        if answer.ranges.len() == part.limit {
            answer.next_line = Some(first_line);
            break;
        }
        answer.ranges.push(BlamedRange { first_line, last_line, step: step_of(lines[0]) });
    }
    answer.steps = steps(workspace, call, &answer.ranges)?;
    Ok(answer)
}

/// The steps of ranges, each once, newest first.
fn steps(workspace: &Workspace, call: &Call, ranges: &[BlamedRange]) -> Result<Vec<HistoryEntry>> {
    let mut rows: HashMap<StepId, StepRow> = HashMap::new();
    for range in ranges {
        if !rows.contains_key(&range.step)
            && let Some(row) = workspace.store().step(range.step)?
        {
            rows.insert(range.step, row);
        }
    }
    let mut rows: Vec<StepRow> = rows.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.seq));
    let mut counting = Counting::up_to(MAX_COUNTED_BYTES, workspace, call);
    let mut steps = Vec::with_capacity(rows.len());
    for row in rows {
        let lines = match counting.is_spent() {
            true => None,
            false => counting.of_step(row.seq, row.files)?,
        };
        steps.push(HistoryEntry { lines, ..entry(row, None) });
    }
    Ok(steps)
}

/// Why a version has no origins of lines.
fn without_lines(workspace: &Workspace, wanted: &WantedVersion, path: &WsPath) -> Fault {
    let text = text_of(workspace, &wanted.hash, wanted.size);
    let (code, why) = if wanted.size > MAX_SHOWN_BYTES {
        let why = format!("has {} bytes, and at most {MAX_SHOWN_BYTES} are compared", wanted.size);
        (FaultCode::TooLarge, why)
    } else if text.is_ok_and(|text| text.is_some()) {
        (FaultCode::TooLarge, format!("has more than {MAX_LINES} lines"))
    } else {
        (FaultCode::Binary, "is no text in that version".to_owned())
    };
    let message = format!(
        "{path} {why}, so that its lines have no steps; the versions of the file say which step changed it"
    );
    Fault::new(code, message).about(Subject::Path)
}

/// A version that is to be added, and the version before it that it brings back, if it undoes something or goes back.
struct NewVersion {
    version: BlamedVersion,
    returns_to: Option<ReturnsTo>,
}

/// The newest version up to, or before, a step.
#[derive(Clone, Copy)]
enum ReturnsTo {
    Before(StepId),
    After(StepId),
}

/// Adds the versions that are new since.
fn bring_up_to_date(workspace: &Workspace, call: &Call, known: &mut FileOrigins) -> Result<()> {
    let mut texts = Texts { workspace, last: None };
    for new in versions_since(workspace, call, known)?.into_iter().rev() {
        call.check()?;
        add(call, known, &mut texts, &new)?;
    }
    Ok(())
}

/// The versions after the known ones, newest first.
fn versions_since(
    workspace: &Workspace,
    call: &Call,
    known: &FileOrigins,
) -> Result<Vec<NewVersion>> {
    let newest_known = known.versions.last().map_or(0, |version| version.seq);
    let (mut found, mut before): (Vec<NewVersion>, Option<Seq>) = (Vec::new(), None);
    let mut limit = FIRST_PAGE;
    loop {
        call.check()?;
        let mut page = workspace.store().file_changes(known.file, before, limit)?;
        let is_full = page.len() == limit;
        limit = PAGE;
        let oldest = page.last().map_or(0, |(row, _)| row.seq);
        // A full page may end within a step: that step is read again, unless the page has no other.
        if is_full && page.first().is_some_and(|(row, _)| row.seq > oldest) {
            page.retain(|(row, _)| row.seq > oldest);
            before = Some(oldest + 1);
        } else {
            before = Some(oldest);
        }
        let new = page.into_iter().filter(|(row, _)| row.seq > newest_known);
        found.extend(new.filter_map(|(row, change)| new_version(&row, &change)));
        if !is_full || oldest <= newest_known {
            return Ok(found);
        }
    }
}

fn new_version(row: &StepRow, change: &Change) -> Option<NewVersion> {
    let state = change.after.as_ref()?;
    let version =
        BlamedVersion { seq: row.seq, step: row.id, hash: state.content?, size: state.size };
    let undone = row.undoes.map(ReturnsTo::Before);
    Some(NewVersion { version, returns_to: undone.or(row.back_to.map(ReturnsTo::After)) })
}

/// Adds a version, unless it has the content of the one before it.
fn add(
    call: &Call,
    known: &mut FileOrigins,
    texts: &mut Texts<'_>,
    new: &NewVersion,
) -> Result<()> {
    let BlamedVersion { hash, size, .. } = new.version;
    if known.versions.last().is_some_and(|last| last.hash == hash) {
        return Ok(());
    }
    match known.first_with.get(&hash) {
        Some(earlier) => known.origins.push_same(*earlier),
        None => match texts.read(&hash, size)? {
            None => known.origins.push_no_text(),
            Some(text) => {
                let previous = match known.origins.last_text() {
                    None => String::new(),
                    Some(last) => texts.take_last(&known.versions[last])?,
                };
                let older = match older(texts.workspace, known, new.returns_to)? {
                    None => None,
                    Some(at) => {
                        let BlamedVersion { hash, size, .. } = known.versions[at];
                        texts.read(&hash, size)?.map(|text| (at, text))
                    }
                };
                let older = older.as_ref().map(|(at, text)| (*at, text.as_str()));
                call.bounding(u64::MAX, |bounds| {
                    known.origins.push(&text, &previous, older, bounds)
                })?;
                texts.last = Some((hash, text));
            }
        },
    }
    known.first_with.entry(hash).or_insert(known.versions.len());
    known.versions.push(new.version);
    Ok(())
}

/// The version that is brought back, if there is one with a text.
fn older(
    workspace: &Workspace,
    known: &FileOrigins,
    returns_to: Option<ReturnsTo>,
) -> Result<Option<usize>> {
    let (step, is_included) = match returns_to {
        None => return Ok(None),
        Some(ReturnsTo::Before(step)) => (step, false),
        Some(ReturnsTo::After(step)) => (step, true),
    };
    let Some(row) = workspace.store().step(step)? else { return Ok(None) };
    let end = row.seq + Seq::from(is_included);
    let count = known.versions.partition_point(|version| version.seq < end);
    Ok(count.checked_sub(1).filter(|at| known.origins.has_text(*at)))
}

/// Reads texts, and keeps the one that the next version is compared with.
struct Texts<'a> {
    workspace: &'a Workspace,
    last: Option<(ContentHash, String)>,
}

impl Texts<'_> {
    /// The text of a version; `None` if it is none, is too large, or is not stored any more.
    fn read(&self, hash: &ContentHash, size: u64) -> Result<Option<String>> {
        let text = text_of(self.workspace, hash, size)?;
        Ok(text.filter(|text| line_count(text) <= MAX_LINES))
    }

    /// The text of the version that was added last, read again if that was in an earlier call.
    fn take_last(&mut self, version: &BlamedVersion) -> Result<String> {
        match self.last.take() {
            Some((hash, text)) if hash == version.hash => Ok(text),
            _ => Ok(self.read(&version.hash, version.size)?.unwrap_or_default()),
        }
    }
}

fn text_of(workspace: &Workspace, hash: &ContentHash, size: u64) -> Result<Option<String>> {
    if size > MAX_SHOWN_BYTES {
        return Ok(None);
    }
    let Some(bytes) = workspace.store().content(hash)? else { return Ok(None) };
    let Ok(encoding) = text::detect(&bytes) else { return Ok(None) };
    Ok(Some(text::decode(&bytes, encoding).into_owned()))
}
