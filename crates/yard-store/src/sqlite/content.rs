//! The table of contents: it stores prepared contents and follows chains of splices back to bytes. The form of a
//! content is chosen in `blobs/`.

use std::borrow::Cow;

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, params};
use yard_core::ContentHash;

use super::error::corrupt;
use super::value::{get, hash, limit, unsigned};
use super::{all, one, purge, run};
use crate::blobs::{Blobs, Form, MAX_CHAIN, TINY, expand, unsplice, unsplice_in_place, verified};
use crate::{ContentLocation, KeptFile, Prepared, Result, Retention, StoreError};

/// The form in which a content is stored. The numbers are those of the database: 2 was a form that
/// `zstd_deltas.rs` re-encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentForm {
    /// Its bytes.
    Raw = 0,
    /// Its bytes, compressed.
    Zstd = 1,
    /// A compressed file in the store's folder.
    Blob = 3,
    /// A file of the kernel's that stays.
    Kept = 4,
    /// A splice of another content.
    Splice = 5,
    /// Nothing any more.
    Purged = 6,
    /// A file of the kernel's that may be evicted.
    Evictable = 7,
    /// A form that this program does not know: the row is damaged, or could not be re-encoded.
    Unknown = -1,
}

impl ContentForm {
    pub(super) const KNOWN: [Self; 7] = [
        Self::Raw,
        Self::Zstd,
        Self::Blob,
        Self::Kept,
        Self::Splice,
        Self::Purged,
        Self::Evictable,
    ];

    /// Whether the store itself has the bytes.
    fn has_bytes(self) -> bool {
        matches!(self, Self::Raw | Self::Zstd | Self::Blob | Self::Splice)
    }

    /// The form of a content that is kept as a file.
    fn of_kept(retention: Retention) -> Self {
        match retention {
            Retention::Keep => Self::Kept,
            Retention::Evictable => Self::Evictable,
        }
    }

    /// How long the file of a kept content stays.
    fn retention(self) -> Option<Retention> {
        match self {
            Self::Kept => Some(Retention::Keep),
            Self::Evictable => Some(Retention::Evictable),
            _ => None,
        }
    }
}

impl ToSql for ContentForm {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(*self as i64))
    }
}

impl FromSql for ContentForm {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = value.as_i64()?;
        let form = Self::KNOWN.into_iter().find(|form| *form as i64 == number);
        Ok(form.unwrap_or(Self::Unknown))
    }
}

/// The file that a row names whose form is in column `at` and whose data, if it is a name, is in the next one.
pub(super) fn kept_file(row: &Row<'_>, at: usize) -> Result<Option<KeptFile>> {
    let Some(retention) = get::<ContentForm>(row, at)?.retention() else { return Ok(None) };
    let name = String::from_utf8(get(row, at + 1)?).map_err(corrupt)?;
    Ok(Some(KeptFile { name, retention }))
}

/// Stores a content unless its bytes are stored already. Returns whether it is stored as a blob, which the caller gives
/// its place.
pub(super) fn store(connection: &Connection, prepared: &Prepared) -> Result<bool> {
    let is_blob = matches!(prepared.form, Form::Blob(_));
    if insert(connection, prepared, None)? {
        return Ok(is_blob);
    }
    let sql = "SELECT id, form FROM content WHERE hash = ?1";
    let mut found = connection.prepare_cached(sql)?;
    let (row, form) = found.query_row([prepared.hash.as_bytes()], |row| {
        Ok((row.get(0)?, row.get::<_, ContentForm>(1)?))
    })?;
    if form == ContentForm::Purged {
        // The same bytes were written again after the purge.
        store_again(connection, row, prepared)?;
        return Ok(is_blob);
    }
    if form.retention().is_some_and(|retention| prepared.is_better_than(retention)) {
        let kept = locate(connection, &prepared.hash)?.and_then(|located| located.kept);
        purge::add_pending_deletion(connection, &prepared.hash, kept.as_ref())?;
        store_again(connection, row, prepared)?;
        return Ok(is_blob);
    }
    // A blob that was lost is there again then.
    Ok(is_blob && form == ContentForm::Blob)
}

/// Stores a content in the row that it had. It is compressed at once, because the packer is past that row.
fn store_again(connection: &Connection, row: i64, prepared: &Prepared) -> Result<()> {
    run(connection, "DELETE FROM content WHERE id = ?1", [row])?;
    let packed = prepared.packed()?;
    match insert(connection, packed.as_ref().unwrap_or(prepared), Some(row))? {
        true => Ok(()),
        false => Err(corrupt("a content was stored twice")),
    }
}

/// Stores the content of a row in another form. Its depth must not grow, because other rows are made from it.
pub(super) fn replace_form(
    connection: &Connection,
    blobs: &Blobs,
    row: i64,
    prepared: &Prepared,
) -> Result<()> {
    let Columns { form, depth, base, data } = columns(connection, prepared)?;
    let sql = "UPDATE content SET form = ?2, depth = ?3, base = ?4, data = ?5 WHERE id = ?1";
    run(connection, sql, params![row, form, depth, base, data.as_deref()])?;
    blobs.place(std::iter::once(prepared))
}

/// The columns of a content's form.
struct Columns<'a> {
    form: ContentForm,
    depth: u8,
    base: Option<i64>,
    data: Option<Cow<'a, [u8]>>,
}

fn columns<'a>(connection: &Connection, prepared: &'a Prepared) -> Result<Columns<'a>> {
    let of = |form, data| Columns { form, depth: 0, base: None, data };
    Ok(match &prepared.form {
        Form::Raw(data) => of(ContentForm::Raw, Some(data.read()?)),
        Form::Zstd(data) => of(ContentForm::Zstd, Some(data.read()?)),
        Form::Splice { base, depth, data } => Columns {
            depth: *depth,
            base: Some(needed_base(connection, base, *depth)?),
            ..of(ContentForm::Splice, Some(data.read()?))
        },
        Form::Blob(_) => of(ContentForm::Blob, None),
        Form::Kept(file) => {
            of(ContentForm::of_kept(file.retention), Some(Cow::Borrowed(file.name.as_bytes())))
        }
    })
}

/// Inserts a content, as row `id` if one is given. Returns false if the content is in the table already.
fn insert(connection: &Connection, prepared: &Prepared, id: Option<i64>) -> Result<bool> {
    let Columns { form, depth, base, data } = columns(connection, prepared)?;
    let sql = "INSERT INTO content (id, hash, size, form, depth, base, data)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (hash) DO NOTHING";
    let size = i64::try_from(prepared.size).map_err(|_| misfit(&prepared.hash, "is too large"))?;
    let hash = prepared.hash.as_bytes();
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.execute(params![id, hash, size, form, depth, base, data.as_deref()])? == 1)
}

/// The row of a content that a step names.
pub(super) fn needed(connection: &Connection, hash: &ContentHash) -> Result<i64> {
    let sql = "SELECT id FROM content WHERE hash = ?1 AND form <> ?2";
    let named = params![hash.as_bytes(), ContentForm::Purged];
    one(connection, sql, named, |row| get(row, 0))?.ok_or_else(|| misfit(hash, "is not stored"))
}

/// The row of a content that another one is made from, which is going to be at `depth`.
fn needed_base(connection: &Connection, hash: &ContentHash, depth: u8) -> Result<i64> {
    let sql = "SELECT id, form FROM content WHERE hash = ?1 AND depth < ?2";
    let found = one(connection, sql, params![hash.as_bytes(), depth], |row| {
        Ok((get(row, 0)?, get::<ContentForm>(row, 1)?))
    })?;
    let base = found.filter(|(_, form)| form.has_bytes()).map(|(row, _)| row);
    base.ok_or_else(|| misfit(hash, "is not stored as it was"))
}

/// Whether a content is stored as a blob.
pub(super) fn is_blob(connection: &Connection, hash: &ContentHash) -> Result<bool> {
    has_form(connection, hash, ContentForm::Blob)
}

/// Whether a content was purged.
pub(super) fn is_purged(connection: &Connection, hash: &ContentHash) -> Result<bool> {
    has_form(connection, hash, ContentForm::Purged)
}

fn has_form(connection: &Connection, hash: &ContentHash, form: ContentForm) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM content WHERE hash = ?1 AND form = ?2)";
    let named = params![hash.as_bytes(), form];
    Ok(connection.prepare_cached(sql)?.query_row(named, |row| row.get(0))?)
}

fn misfit(hash: &ContentHash, why: &str) -> StoreError {
    StoreError::Misfit(format!("content {hash} {why}"))
}

pub(super) fn locate(
    connection: &Connection,
    hash: &ContentHash,
) -> Result<Option<ContentLocation>> {
    let sql = "SELECT size, form, CASE WHEN form IN (?3, ?4) THEN data END FROM content
               WHERE hash = ?1 AND form <> ?2";
    let (purged, kept) = (ContentForm::Purged, [ContentForm::Kept, ContentForm::Evictable]);
    one(connection, sql, params![hash.as_bytes(), purged, kept[0], kept[1]], |row| {
        Ok(ContentLocation { size: unsigned(row, 0)?, kept: kept_file(row, 1)? })
    })
}

pub(super) fn list(
    connection: &Connection,
    after: Option<&ContentHash>,
    count: usize,
) -> Result<Vec<ContentHash>> {
    let sql = "SELECT hash FROM content WHERE hash > ?1 AND form <> ?3 ORDER BY hash LIMIT ?2";
    // The empty blob sorts before every hash.
    let after = after.map_or(&[][..], |hash| hash.as_bytes());
    all(connection, sql, params![after, limit(count), ContentForm::Purged], |row| {
        hash(row, 0)?.ok_or_else(|| corrupt("a content has no hash"))
    })
}

/// The oldest uncompressed contents that the packer has not looked at: row and bytes.
pub(super) fn unpacked(connection: &Connection, count: usize) -> Result<Vec<(i64, Vec<u8>)>> {
    let sql = "SELECT id, data FROM content
               WHERE id > COALESCE((SELECT content FROM packed), 0) AND form = ?3 AND size > ?1
               ORDER BY id LIMIT ?2";
    let bounds = params![TINY as i64, limit(count), ContentForm::Raw];
    all(connection, sql, bounds, |row| Ok((get(row, 0)?, get(row, 1)?)))
}

/// Replaces the bytes of each content that has a compressed form, and records how far the packer got.
pub(super) fn pack(
    connection: &Connection,
    packed: &[(i64, Option<Vec<u8>>)],
    last: i64,
) -> Result<()> {
    let sql = "UPDATE content SET form = ?3, data = ?2 WHERE id = ?1 AND form = ?4";
    let mut statement = connection.prepare_cached(sql)?;
    for (row, data) in packed {
        if let Some(data) = data {
            statement.execute(params![row, data, ContentForm::Zstd, ContentForm::Raw])?;
        }
    }
    let sql = "INSERT INTO packed (id, content) VALUES (1, ?1)
               ON CONFLICT (id) DO UPDATE SET content = max(content, excluded.content)";
    run(connection, sql, [last]).map(drop)
}

/// A row, as far as reading its bytes needs it.
pub(super) struct Stored {
    pub(super) hash: ContentHash,
    pub(super) size: u64,
    form: ContentForm,
    pub(super) depth: u8,
    pub(super) base: Option<i64>,
    data: Option<Vec<u8>>,
}

impl Stored {
    /// The file of the kernel's that holds it, if one does.
    pub(super) fn kept_file(&self) -> Result<Option<KeptFile>> {
        let Some(retention) = self.form.retention() else { return Ok(None) };
        let name = String::from_utf8(self.data.clone().unwrap_or_default()).map_err(corrupt)?;
        Ok(Some(KeptFile { name, retention }))
    }
}

/// Contents that were not purged by their rows, after `after`: for checks.
pub(super) fn rows_after(
    connection: &Connection,
    after: i64,
    count: usize,
) -> Result<Vec<(i64, Stored)>> {
    let sql = "SELECT hash, size, form, depth, base, data, id FROM content
               WHERE id > ?1 AND form <> ?3 ORDER BY id LIMIT ?2";
    let bounds = params![after, limit(count), ContentForm::Purged];
    all(connection, sql, bounds, |row| Ok((get(row, 6)?, stored(row)?)))
}

/// Turns the bytes of a row's base into the bytes of the row, without comparing them with its hash. Returns how many
/// bytes at the start are still those of the base.
pub(super) fn make_from_base(stored: &Stored, bytes: &mut Vec<u8>) -> Result<usize> {
    let data = stored.data.as_deref().unwrap_or_default();
    match stored.form {
        ContentForm::Splice => unsplice_in_place(data, bytes, stored.size),
        form => Err(corrupt(format!("content {} has a base and form {form:?}", stored.hash))),
    }
}

/// The bytes of the content in a row.
pub(super) fn bytes_of_row(
    connection: &Connection,
    blobs: &Blobs,
    row: i64,
) -> Result<Option<Vec<u8>>> {
    let sql = "SELECT hash FROM content WHERE id = ?1";
    match one(connection, sql, [row], |row| hash(row, 0))?.flatten() {
        Some(hash) => bytes(connection, blobs, &hash),
        None => Ok(None),
    }
}

/// The possible base of a new content.
pub(super) enum BaseChoice {
    /// The version before, which has this depth in its chain.
    Previous(u8),
    /// The content from which the chain of the version before starts, because that chain is full ([`chain_root`]).
    ChainRoot,
}

/// The possible base of the version after a content.
pub(super) fn choose_base(
    connection: &Connection,
    hash: &ContentHash,
) -> Result<Option<BaseChoice>> {
    let sql = "SELECT depth, form FROM content WHERE hash = ?1";
    let found = one(connection, sql, [hash.as_bytes()], |row| {
        Ok((get::<u8>(row, 0)?, get::<ContentForm>(row, 1)?))
    })?;
    let depth = found.filter(|(_, form)| form.has_bytes()).map(|(depth, _)| depth);
    Ok(depth.map(|depth| match depth + 1 < MAX_CHAIN {
        true => BaseChoice::Previous(depth),
        false => BaseChoice::ChainRoot,
    }))
}

/// The content from which a chain starts; `None` if it was purged. It reads several rows, which must be of one
/// snapshot.
pub(super) fn chain_root(
    connection: &Connection,
    blobs: &Blobs,
    hash: &ContentHash,
) -> Result<Option<(ContentHash, Vec<u8>)>> {
    let root = chain(connection, hash)?.pop().filter(|root| root.form.has_bytes());
    let Some(root) = root else { return Ok(None) };
    let hash = root.hash;
    Ok(Some((hash, verified(&hash, plain(blobs, root)?)?)))
}

/// The bytes of a content; `None` if it was purged, or the kernel keeps its file. It reads several rows, which must be
/// of one snapshot: a purge re-encodes the contents of a chain.
pub(super) fn bytes(
    connection: &Connection,
    blobs: &Blobs,
    hash: &ContentHash,
) -> Result<Option<Vec<u8>>> {
    let mut chain = chain(connection, hash)?;
    let Some(root) = chain.pop() else { return Ok(None) };
    if root.form == ContentForm::Purged || root.form.retention().is_some() {
        return Ok(None);
    }
    let mut bytes = plain(blobs, root)?;
    for stored in chain.into_iter().rev() {
        let data = stored.data.as_deref().unwrap_or_default();
        bytes = match stored.form {
            ContentForm::Splice => unsplice(data, &bytes, stored.size)?,
            form => return Err(corrupt(format!("content {} has form {form:?}", stored.hash))),
        };
    }
    verified(hash, bytes).map(Some)
}

/// A content's row and the rows of its bases, down to the first that is not a splice.
fn chain(connection: &Connection, hash: &ContentHash) -> Result<Vec<Stored>> {
    let by_hash = "SELECT hash, size, form, depth, base, data FROM content WHERE hash = ?1";
    let mut chain: Vec<Stored> = Vec::new();
    let mut next = one(connection, by_hash, [hash.as_bytes()], stored)?;
    while let Some(stored_row) = next {
        let below = chain.last().is_none_or(|above| stored_row.depth < above.depth);
        let base = stored_row.base;
        chain.push(stored_row);
        next = match base {
            _ if !below => return Err(corrupt(format!("the chain of content {hash} is a loop"))),
            None => None,
            Some(base) => Some(
                by_row(connection, base)?
                    .ok_or_else(|| corrupt(format!("the chain of content {hash} is broken")))?,
            ),
        };
    }
    Ok(chain)
}

fn by_row(connection: &Connection, row: i64) -> Result<Option<Stored>> {
    let sql = "SELECT hash, size, form, depth, base, data FROM content WHERE id = ?1";
    one(connection, sql, [row], stored)
}

fn stored(row: &Row<'_>) -> Result<Stored> {
    Ok(Stored {
        hash: hash(row, 0)?.ok_or_else(|| corrupt("a content has no hash"))?,
        size: unsigned(row, 1)?,
        form: get(row, 2)?,
        depth: get(row, 3)?,
        base: get(row, 4)?,
        data: get(row, 5)?,
    })
}

pub(super) fn plain(blobs: &Blobs, stored: Stored) -> Result<Vec<u8>> {
    match stored.form {
        ContentForm::Raw => Ok(stored.data.unwrap_or_default()),
        ContentForm::Zstd => expand(&stored.data.unwrap_or_default(), stored.size),
        ContentForm::Blob => blobs.read(&stored.hash, stored.size),
        form => Err(corrupt(format!("content {} has form {form:?}", stored.hash))),
    }
}
