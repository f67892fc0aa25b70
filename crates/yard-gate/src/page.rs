//! A page of a listing: its rows, and whether more remain.

use yard_core::Result;

/// The largest page.
pub(crate) const MAX_ROWS: usize = 200;

/// A page of a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct ListPage<T> {
    /// The rows, in the listing's order.
    pub rows: Vec<T>,
    /// Whether more rows follow the last one.
    pub truncated: bool,
}

impl<T> ListPage<T> {
    /// A page of at most `limit` rows. `read` is asked for one more, to find out whether more remain.
    pub(crate) fn read(
        limit: usize,
        read: impl FnOnce(usize) -> yard_store::Result<Vec<T>>,
    ) -> Result<Self> {
        let limit = limit.clamp(1, MAX_ROWS);
        let mut rows = read(limit + 1)?;
        let truncated = rows.len() > limit;
        rows.truncate(limit);
        Ok(Self { rows, truncated })
    }

    /// The page with each row converted.
    pub(crate) fn try_map<U>(self, convert: impl Fn(T) -> Result<U>) -> Result<ListPage<U>> {
        let rows = self.rows.into_iter().map(convert).collect::<Result<_>>()?;
        Ok(ListPage { rows, truncated: self.truncated })
    }
}
