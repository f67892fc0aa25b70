//! How values stand in the columns, and how they come back. The numbers here are the format: they
//! may be added to and never changed.

use rusqlite::Row;
use rusqlite::types::{FromSql, ValueRef};
use yard_core::{
    Author, ContentHash, FileId, FileKind, FileState, FileType, Name, Timestamp, WsPath,
};

use super::error::corrupt;
use crate::{ApprovalStatus, Formula, Mode, Result, Scope, TurnKind, Via};

/// A row number above every one that there is.
pub(super) const AFTER_NEWEST: i64 = i64::MAX;

pub(super) const LIVING: i64 = 1;
const JSON: i64 = 1 << 1;
const SAME_PATH: i64 = 1 << 2;
const KIND_SHIFT: u32 = 4;
const TYPE_SHIFT: u32 = 8;
const FIELD: i64 = 0xF;

const KINDS: [FileKind; 3] = [FileKind::File, FileKind::Folder, FileKind::Link];
const TYPES: [FileType; 8] = [
    FileType::Document,
    FileType::Folder,
    FileType::Canvas,
    FileType::Chat,
    FileType::Whiteboard,
    FileType::Agent,
    FileType::Skill,
    FileType::Plan,
];
const AUTHORS: [Author; 3] = [Author::External, Author::Agent, Author::Person];
const MODES: [Mode; 2] = [Mode::Plan, Mode::Build];
const VIAS: [Via; 2] = [Via::Button, Via::Text];
const STATUSES: [ApprovalStatus; 8] = [
    ApprovalStatus::Pending,
    ApprovalStatus::Approved,
    ApprovalStatus::Denied,
    ApprovalStatus::Executed,
    ApprovalStatus::Failed,
    ApprovalStatus::Unknown,
    ApprovalStatus::Withdrawn,
    ApprovalStatus::Expired,
];
const SCOPES: [Scope; 3] = [Scope::Once, Scope::Chat, Scope::Rule];
const TURNS: [TurnKind; 7] = [
    TurnKind::Message,
    TurnKind::Call,
    TurnKind::Mode,
    TurnKind::Question,
    TurnKind::Answer,
    TurnKind::Request,
    TurnKind::Decision,
];

/// The small facts of a change in one number.
pub(super) fn flags(state: Option<&FileState>, same_path: SamePath) -> i64 {
    let same_path = if same_path == SamePath::Yes { SAME_PATH } else { 0 };
    let Some(state) = state else { return same_path };
    let json = if state.json { JSON } else { 0 };
    let kind = position(&KINDS, &state.kind) << KIND_SHIFT;
    let file_type = position(&TYPES, &state.file_type) << TYPE_SHIFT;
    LIVING | json | same_path | kind | file_type
}

/// Whether a change's path before it is the one after it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SamePath {
    Yes,
    No,
}

pub(super) fn has_state(flags: i64) -> bool {
    flags & LIVING != 0
}

pub(super) fn has_same_path(flags: i64) -> bool {
    flags & SAME_PATH != 0
}

/// What `flags` and the other columns of a state say together.
pub(super) struct StateColumns {
    pub(super) flags: i64,
    pub(super) parent: FileId,
    pub(super) name: Name,
    pub(super) mode: u32,
    pub(super) content: Option<ContentHash>,
    pub(super) size: u64,
}

impl StateColumns {
    pub(super) fn state(self) -> Result<FileState> {
        Ok(FileState {
            parent: self.parent,
            name: self.name,
            kind: chosen(&KINDS, (self.flags >> KIND_SHIFT) & FIELD)?,
            file_type: chosen(&TYPES, (self.flags >> TYPE_SHIFT) & FIELD)?,
            mode: self.mode,
            content: self.content,
            size: self.size,
            json: self.flags & JSON != 0,
        })
    }
}

pub(super) fn author_number(author: Author) -> i64 {
    position(&AUTHORS, &author)
}

pub(super) fn author(number: i64) -> Result<Author> {
    chosen(&AUTHORS, number)
}

pub(super) fn formula_number(formula: Formula) -> i64 {
    match formula {
        Formula::First => 1,
        Formula::Second => 2,
    }
}

pub(super) fn formula(number: i64) -> Result<Formula> {
    match number {
        1 => Ok(Formula::First),
        2 => Ok(Formula::Second),
        _ => Err(corrupt("an audit row is of an unknown kind")),
    }
}

pub(super) fn mode_number(mode: Mode) -> i64 {
    position(&MODES, &mode)
}

pub(super) fn mode(number: i64) -> Result<Mode> {
    chosen(&MODES, number)
}

pub(super) fn via_number(via: Via) -> i64 {
    position(&VIAS, &via)
}

pub(super) fn via(number: i64) -> Result<Via> {
    chosen(&VIAS, number)
}

pub(super) fn turn_number(kind: TurnKind) -> i64 {
    position(&TURNS, &kind)
}

pub(super) fn turn(number: i64) -> Result<TurnKind> {
    chosen(&TURNS, number)
}

pub(super) fn status_number(status: ApprovalStatus) -> i64 {
    position(&STATUSES, &status)
}

pub(super) fn status(number: i64) -> Result<ApprovalStatus> {
    chosen(&STATUSES, number)
}

pub(super) fn scope_number(scope: Scope) -> i64 {
    position(&SCOPES, &scope)
}

pub(super) fn scope(number: i64) -> Result<Scope> {
    chosen(&SCOPES, number)
}

fn position<T: PartialEq>(all: &[T], one: &T) -> i64 {
    // Every variant is in its list; a test goes through them.
    all.iter().position(|known| known == one).unwrap_or(0) as i64
}

fn chosen<T: Copy>(all: &[T], number: i64) -> Result<T> {
    let found = usize::try_from(number).ok().and_then(|at| all.get(at).copied());
    found.ok_or_else(|| corrupt("a row holds an unknown number"))
}

/// A number that never reaches the sign bit in a sound store, as SQLite takes it; beyond, the
/// largest one.
pub(super) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// How many rows a query may return.
pub(super) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(super) fn moment(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// A column as any type that knows how to read itself.
pub(super) fn get<T: FromSql>(row: &Row<'_>, at: usize) -> Result<T> {
    Ok(row.get(at)?)
}

pub(super) fn unsigned(row: &Row<'_>, at: usize) -> Result<u64> {
    let number: i64 = row.get(at)?;
    u64::try_from(number).map_err(|_| corrupt("a row holds a negative number"))
}

pub(super) fn hash(row: &Row<'_>, at: usize) -> Result<Option<ContentHash>> {
    let bytes: Option<[u8; 32]> = row.get(at)?;
    Ok(bytes.map(ContentHash::from_bytes))
}

pub(super) fn id<T>(row: &Row<'_>, at: usize, make: impl Fn([u8; 16]) -> T) -> Result<Option<T>> {
    let bytes: Option<[u8; 16]> = row.get(at)?;
    Ok(bytes.map(make))
}

pub(super) fn name(row: &Row<'_>, at: usize) -> Result<Option<Name>> {
    blob(row, at)?.map(|bytes| Name::new(bytes).map_err(corrupt)).transpose()
}

pub(super) fn path(row: &Row<'_>, at: usize) -> Result<Option<WsPath>> {
    blob(row, at)?.map(|bytes| WsPath::from_bytes(bytes).map_err(corrupt)).transpose()
}

fn blob<'a>(row: &'a Row<'_>, at: usize) -> Result<Option<&'a [u8]>> {
    match row.get_ref(at)? {
        ValueRef::Null => Ok(None),
        ValueRef::Blob(bytes) => Ok(Some(bytes)),
        _ => Err(corrupt("a row holds a number where bytes belong")),
    }
}

/// A link that is a row number where the store has the row, and else the id itself: `joined` is the
/// column of the id that a join found.
pub(super) fn link(row: &Row<'_>, at: usize, joined: usize) -> Result<Option<[u8; 16]>> {
    match row.get_ref(at)? {
        ValueRef::Null => Ok(None),
        ValueRef::Blob(_) => get(row, at),
        _ => get(row, joined),
    }
}

/// Whether a link names the row number 0: the root of the workspace.
pub(super) fn is_root(row: &Row<'_>, at: usize) -> Result<bool> {
    Ok(row.get_ref(at)? == ValueRef::Integer(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_type_and_author_has_its_number() {
        for (file_type, _) in FileType::WORDS {
            assert!(TYPES.contains(&file_type), "{file_type:?}");
        }
        for (known, _) in Author::WORDS {
            assert_eq!(author(author_number(known)), Ok(known));
        }
        for (kind, _) in TurnKind::WORDS {
            assert_eq!(turn(turn_number(kind)), Ok(kind));
        }
        for (known, _) in ApprovalStatus::WORDS {
            assert_eq!(status(status_number(known)), Ok(known));
        }
        for (known, _) in Scope::WORDS {
            assert_eq!(scope(scope_number(known)), Ok(known));
        }
        for (known, _) in Mode::WORDS {
            assert_eq!(mode(mode_number(known)), Ok(known));
        }
        assert!(chosen(&KINDS, 3).is_err());
    }
}
