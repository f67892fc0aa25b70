//! A page of a listing: bounded, and knowing whether something remains.

use yard_core::Result;
use yard_kernel::store_fault;

/// Most rows of one page, whatever was asked for.
pub const MOST_ROWS: usize = 200;

/// Some rows of a listing.
#[derive(Clone, Debug, PartialEq)]
pub struct ListPage<T> {
    /// The rows, in the listing's order.
    pub rows: Vec<T>,
    /// More remain: go on after the last one.
    pub truncated: bool,
}

impl<T> ListPage<T> {
    /// At most `limit` rows of what `read` finds when it is asked for one more.
    pub(crate) fn read(
        limit: usize,
        read: impl FnOnce(usize) -> yard_store::Result<Vec<T>>,
    ) -> Result<Self> {
        let limit = limit.clamp(1, MOST_ROWS);
        let mut rows = read(limit + 1).map_err(store_fault)?;
        let truncated = rows.len() > limit;
        rows.truncate(limit);
        Ok(Self { rows, truncated })
    }

    /// The same page with every row turned into something else.
    pub(crate) fn try_map<U>(self, turn: impl Fn(T) -> Result<U>) -> Result<ListPage<U>> {
        let rows = self.rows.into_iter().map(turn).collect::<Result<_>>()?;
        Ok(ListPage { rows, truncated: self.truncated })
    }
}
