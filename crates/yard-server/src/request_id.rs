//! Which request a thread is working for, so that every line that it logs can say so. A span would carry
//! the same and a good deal more, at a price that every request would pay; spans are for traces.

use std::cell::RefCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;

use yard_core::{StepId, World};

thread_local!(static CURRENT: RefCell<Option<RequestId>> = const { RefCell::new(None) });

/// The name of a request: the caller's for it, or one that was made up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl RequestId {
    /// The request of that name.
    pub(crate) fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// A request that its caller gave no name.
    pub(crate) fn fresh(world: &dyn World) -> Self {
        let mut name = String::with_capacity(36);
        StepId::new(world).push_onto(&mut name);
        Self::new(name)
    }

    /// The request that this thread works for now, if it does for one.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Does the work of this request.
    pub(crate) fn in_scope<T>(&self, work: impl FnOnce() -> T) -> T {
        let _before = Before(CURRENT.replace(Some(self.clone())));
        work()
    }

    /// The same for work that waits, on whichever threads it goes on.
    pub(crate) fn within<F: Future>(
        &self,
        mut work: Pin<&mut F>,
    ) -> impl Future<Output = F::Output> {
        poll_fn(move |context| self.in_scope(|| work.as_mut().poll(context)))
    }
}

/// What the thread was working for before, which it goes back to.
struct Before(Option<RequestId>);

impl Drop for Before {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::pin::pin;

    use super::*;

    fn current() -> Option<String> {
        RequestId::current().map(|id| id.to_string())
    }

    #[test]
    fn a_thread_goes_back_to_what_it_worked_for_also_when_work_panics() {
        let (outer, inner) = (RequestId::new("outer"), RequestId::new("inner"));
        assert_eq!(current(), None);
        outer.in_scope(|| {
            inner.in_scope(|| assert_eq!(current().as_deref(), Some("inner")));
            let panics = || inner.in_scope(|| panic!("on purpose"));
            assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
            assert_eq!(current().as_deref(), Some("outer"));
        });
        assert_eq!(current(), None);
    }

    #[tokio::test]
    async fn work_that_waits_is_its_own_requests_whenever_it_goes_on() {
        let named = |name: &'static str| async move {
            let work = async {
                for _ in 0..3 {
                    assert_eq!(current().as_deref(), Some(name));
                    tokio::task::yield_now().await;
                }
            };
            RequestId::new(name).within(pin!(work)).await;
        };
        tokio::join!(named("one"), named("other"));
        assert_eq!(current(), None);
    }
}
