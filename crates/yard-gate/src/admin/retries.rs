//! Requests that may be sent again, and their stored answers. This is all that a door can write into the registry
//! itself: it holds no right and no account.

use yard_core::Timestamp;
use yard_store::registry::{Claim, Retry};

use super::identity::Entered;
use super::server::Server;

/// How long an answer is stored.
const STORED_MILLIS: i64 = 24 * 3_600_000;

impl Server {
    /// Begins a request under its idempotency key, unless one with this key was begun before.
    pub fn begin_request(&self, retry: Retry<'_>) -> yard_store::Result<Claim> {
        let now = self.now();
        let forget_before = Timestamp::from_millis(now.as_millis() - STORED_MILLIS);
        self.registry.claim(retry, now, forget_before)
    }

    /// Stores the answer to a request that was begun.
    pub fn store_answer(
        &self,
        retry: Retry<'_>,
        status: u16,
        body: &[u8],
    ) -> yard_store::Result<()> {
        self.registry.answer_claim(retry, status, body)
    }

    /// Removes a request that was begun and changed nothing.
    pub fn remove_request(&self, retry: Retry<'_>) -> yard_store::Result<()> {
        self.registry.drop_claim(retry)
    }

    /// Removes the stored answers about a workspace. It stays recorded that their requests were answered.
    pub fn remove_answers(&self, entered: &Entered) -> yard_store::Result<()> {
        self.registry.forget_answers(entered.workspace)
    }
}
