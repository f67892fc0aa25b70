//! Converts values to columns and back. The numbers here are part of the format: new ones may be added, and none may
//! change.

use rusqlite::Row;
use rusqlite::types::{FromSql, ValueRef};
use yard_core::{
    Author, ChatId, ContentHash, DiffSide, FileId, FileKind, FileState, FileType, Name, Timestamp,
    WsPath,
};

use super::error::corrupt;
use crate::{ApprovalStatus, AuditEntry, Formula, Mode, Result, Scope, TurnKind, Via};

/// A row number above every one that there is.
pub(super) const AFTER_NEWEST: i64 = i64::MAX;

pub(super) const LIVING: i64 = 1;
const JSON: i64 = 1 << 1;
const SAME_PATH: i64 = 1 << 2;
const KIND_SHIFT: u32 = 4;
const TYPE_SHIFT: u32 = 8;
const FIELD: i64 = 0xF;

/// An enum whose variants are numbers in the columns: their places in a list.
pub(super) trait Numbered: Copy + PartialEq + 'static {
    const IN_ORDER: &'static [Self];
}

macro_rules! numbered {
    ($($name:ident: $($variant:ident)*;)*) => {$(
        impl Numbered for $name {
            const IN_ORDER: &'static [Self] = &[$(Self::$variant),*];
        }
    )*};
}

numbered! {
    FileKind: File Folder Link;
    FileType: Document Folder Canvas Chat Whiteboard Agent Skill Plan;
    Author: External Agent Person;
    Mode: Plan Build;
    Via: Button Text;
    ApprovalStatus: Pending Approved Denied Executed Failed Unknown Withdrawn Expired;
    Scope: Once Chat Rule;
    TurnKind: Message Call Mode Question Answer Request Decision;
    DiffSide: Old New;
}

/// The flags, kind and type of a state in one number.
pub(super) fn flags(state: Option<&FileState>, same_path: SamePath) -> i64 {
    let same_path = if same_path == SamePath::Yes { SAME_PATH } else { 0 };
    let Some(state) = state else { return same_path };
    let json = if state.json { JSON } else { 0 };
    let kind = to_number(state.kind) << KIND_SHIFT;
    let file_type = to_number(state.file_type) << TYPE_SHIFT;
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

/// The columns of a state.
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
            kind: of_number((self.flags >> KIND_SHIFT) & FIELD)?,
            file_type: of_number((self.flags >> TYPE_SHIFT) & FIELD)?,
            mode: self.mode,
            content: self.content,
            size: self.size,
            json: self.flags & JSON != 0,
        })
    }
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

pub(super) fn to_number<T: Numbered>(one: T) -> i64 {
    // Every variant is in its list; a test goes through them.
    T::IN_ORDER.iter().position(|known| *known == one).unwrap_or(0) as i64
}

pub(super) fn of_number<T: Numbered>(number: i64) -> Result<T> {
    let found = usize::try_from(number).ok().and_then(|at| T::IN_ORDER.get(at).copied());
    found.ok_or_else(|| corrupt("a row holds an unknown number"))
}

/// The variant whose number a column holds.
pub(super) fn numbered<T: Numbered>(row: &Row<'_>, at: usize) -> Result<T> {
    of_number(get(row, at)?)
}

/// A number as SQLite stores it; one that is too large, which a sound store never has, becomes the largest.
pub(super) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// How many rows a query may return.
pub(super) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A column as a Rust type.
pub(super) fn get<T: FromSql>(row: &Row<'_>, at: usize) -> Result<T> {
    Ok(row.get(at)?)
}

pub(super) fn moment(row: &Row<'_>, at: usize) -> Result<Timestamp> {
    Ok(Timestamp::from_millis(row.get(at)?))
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

/// The entry of an audit row: its time, actor, action and detail are four columns from `at` on.
pub(super) fn audit_entry(row: &Row<'_>, at: usize) -> Result<AuditEntry> {
    Ok(AuditEntry {
        at: moment(row, at)?,
        actor: get(row, at + 1)?,
        action: get(row, at + 2)?,
        detail: get(row, at + 3)?,
    })
}

/// The id of a chat, which is the first column.
pub(super) fn chat_id(row: &Row<'_>) -> Result<ChatId> {
    Ok(ChatId::from_bytes(get(row, 0)?))
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

/// The id that a link names: the column `at` has a row number, whose id a join found in column `joined`, or the id
/// itself if the store does not have that row.
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
    fn every_variant_has_its_number() {
        fn check<T: Numbered + std::fmt::Debug>(all: &[T]) {
            for one in all {
                assert_eq!(of_number(to_number(*one)), Ok(*one));
            }
        }
        check(&FileType::ALL);
        check(&Author::ALL);
        check(&TurnKind::ALL);
        check(&ApprovalStatus::ALL);
        check(&Scope::ALL);
        check(&Mode::ALL);
        check(&Via::ALL);
        assert!(of_number::<FileKind>(3).is_err());
    }
}
