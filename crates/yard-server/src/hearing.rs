//! Which calls for a connection are heard. Whoever takes a body out of hyper's hands calls for its connection
//! to read on, also where that has read all of it: a turn of the connection for nothing, with every request
//! that has a body. Who knows better says so.

use std::cell::Cell;

/// Who hears the calls that a thread makes itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hearing {
    Everybody,
    Nobody,
    /// Nobody, and one was made.
    NobodyDid,
}

thread_local!(static HEARING: Cell<Hearing> = const { Cell::new(Hearing::Everybody) });

/// Does something whose calls for a connection, made by this thread, may be of no use; whether there was one
/// that nobody has heard. If it was of use after all, the caller has to call.
pub(crate) fn unheard<T>(work: impl FnOnce() -> T) -> (T, bool) {
    let _again = HeardAgain(HEARING.replace(Hearing::Nobody));
    let done = work();
    (done, HEARING.get() == Hearing::NobodyDid)
}

/// Whether a call that is being made is not to be heard.
pub(crate) fn is_unheard() -> bool {
    let unheard = HEARING.get() != Hearing::Everybody;
    if unheard {
        HEARING.set(Hearing::NobodyDid);
    }
    unheard
}

/// What it was before, which it is again.
struct HeardAgain(Hearing);

impl Drop for HeardAgain {
    fn drop(&mut self) {
        HEARING.set(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_unheard_within_and_is_told_of() {
        assert!(!is_unheard());
        assert_eq!(unheard(|| 5), (5, false));
        assert_eq!(unheard(is_unheard), (true, true));
        assert!(std::panic::catch_unwind(|| unheard(|| panic!("on purpose"))).is_err());
        assert!(!is_unheard());
    }
}
