//! The id of the request that a task or thread works for, so that log lines can name it. It is no field of a
//! span: spans are made for traces only, and log lines do not repeat them.

use std::fmt;
use std::sync::Arc;

use uuid::Uuid;
use yard_core::World;

tokio::task_local!(static CURRENT: RequestId);

/// The id of a request: the caller's, or one that was made up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl RequestId {
    /// The id that the caller gave.
    pub(crate) fn new(id: &str) -> Self {
        Self(id.into())
    }

    /// A new UUID of version 7, for a request whose caller gave no id.
    pub(crate) fn generate(world: &dyn World) -> Self {
        let millis = u64::try_from(world.now().as_millis()).unwrap_or(0);
        let [tail @ .., _, _, _, _, _, _] = world.random().to_le_bytes();
        let id: Uuid = uuid::Builder::from_unix_timestamp_millis(millis, &tail).into_uuid();
        Self(id.to_string().into())
    }

    /// The id of the request that this task or thread works for, if it works for one.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Self::clone).ok()
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Runs work of this request on this thread.
    pub(crate) fn in_scope<T>(&self, work: impl FnOnce() -> T) -> T {
        CURRENT.sync_scope(self.clone(), work)
    }

    /// Runs a future of this request.
    pub(crate) async fn scope<F: Future>(&self, work: F) -> F::Output {
        CURRENT.scope(self.clone(), work).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn current() -> Option<String> {
        RequestId::current().map(|id| id.to_string())
    }

    #[tokio::test]
    async fn each_future_and_its_blocking_work_have_their_own_request() {
        let named = |name: &'static str| async move {
            let work = async {
                for _ in 0..3 {
                    assert_eq!(current().as_deref(), Some(name));
                    tokio::task::yield_now().await;
                }
            };
            RequestId::new(name).scope(work).await;
        };
        tokio::join!(named("one"), named("other"));
        RequestId::new("a thread").in_scope(|| assert_eq!(current().as_deref(), Some("a thread")));
        assert_eq!(current(), None);
    }

    #[test]
    fn a_generated_id_is_a_uuid_of_version_7() {
        let world = yard_testkit::FakeWorld::new(1);
        let id: Uuid = RequestId::generate(&world).as_str().parse().unwrap();
        assert_eq!(id.get_version_num(), 7);
        assert_ne!(RequestId::generate(&world), RequestId::generate(&world));
    }
}
