//! Requests that may be sent again, and what was answered to them, for the door that keeps such answers. This is all
//! that a door can write into the registry itself: it holds no right and no account.

use yard_core::Timestamp;
use yard_store::registry::{Claim, Retry};

use super::identity::Entered;
use super::server::Server;

/// How long an answer is kept.
const KEPT_MILLIS: i64 = 24 * 3_600_000;

impl Server {
    /// Begins a request under its key, unless it is known.
    pub fn begin_request(&self, retry: Retry<'_>) -> yard_store::Result<Claim> {
        let now = self.now();
        let forget_before = Timestamp::from_millis(now.as_millis() - KEPT_MILLIS);
        self.registry.claim(retry, now, forget_before)
    }

    /// Keeps the answer of a request that was begun.
    pub fn keep_answer(
        &self,
        retry: Retry<'_>,
        status: u16,
        body: &[u8],
    ) -> yard_store::Result<()> {
        self.registry.answer_claim(retry, status, body)
    }

    /// Forgets a request that was begun and did nothing.
    pub fn forget_request(&self, retry: Retry<'_>) -> yard_store::Result<()> {
        self.registry.drop_claim(retry)
    }

    /// Forgets the answers that were kept to requests about a workspace; that they were answered is still known.
    pub fn forget_answers(&self, entered: &Entered) -> yard_store::Result<()> {
        self.registry.forget_answers(entered.workspace)
    }
}
