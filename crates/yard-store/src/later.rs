//! What a person put off: their own marks on requests and questions that wait. A mark hides nothing from anybody else and
//! decides nothing.

use yard_core::Timestamp;

use crate::Result;

/// The id of a request or of a question.
pub type WaitingItem = [u8; 16];

/// The marks of the people of one workspace, in the same database as its journal.
///
/// **Crash notes.** `put_off` may be lost in a crash.
pub trait LaterMarks: Send + Sync {
    /// Puts something off until a time, or takes that back. Marks of the same person whose time is before `now` are
    /// dropped.
    fn put_off(
        &self,
        person: &str,
        item: WaitingItem,
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<()>;

    /// What a person put off until after `now`, at most `limit`, those that come back first.
    fn put_off_by(
        &self,
        person: &str,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(WaitingItem, Timestamp)>>;
}
