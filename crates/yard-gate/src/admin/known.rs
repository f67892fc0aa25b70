//! What the registry said about callers a moment ago, so that a row of requests asks it once.
//!
//! Whatever this process changes is forgotten with the change ([`Changing`]), so that a revoked key, an
//! ended login or a removed member is refused by the very next request. What another process on the
//! same folder changes is seen within [`GOOD_MILLIS`]. Only good answers are kept: a stranger is looked
//! up each time. Tokens and keys are known by their text, for as long as the process lives at most: a
//! cryptographic hash of them would cost every request more than all the rest of finding out who asks.

use std::borrow::Borrow;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};

use yard_core::{FastMap, Role, Timestamp, UserId, WorkspaceId};
use yard_store::Registry;

use super::identity::Identity;

/// How long an answer is good.
const GOOD_MILLIS: i64 = 1_000;
/// Above this many of a kind, all of them are forgotten.
const MOST: usize = 4_096;

/// The newest answers about callers.
#[derive(Default)]
pub(super) struct Known(Mutex<Answers>);

#[derive(Default)]
struct Answers {
    /// How often everything was forgotten: what was asked before that is not kept after it.
    generation: u64,
    identities: FastMap<Box<str>, Kept<Identity>>,
    roles: FastMap<(WorkspaceId, UserId), Kept<Role>>,
}

struct Kept<T> {
    answer: T,
    since: Timestamp,
    until: Timestamp,
}

/// A question to the registry that has begun.
#[derive(Clone, Copy)]
pub(super) struct RegistryLookup {
    generation: u64,
    now: Timestamp,
}

impl RegistryLookup {
    /// Keeps an answer for as long as answers are good, at most until `end`.
    fn kept<T>(self, answer: T, end: Option<Timestamp>) -> Kept<T> {
        let until = Timestamp::from_millis(self.now.as_millis().saturating_add(GOOD_MILLIS));
        Kept { answer, since: self.now, until: end.map_or(until, |end| end.min(until)) }
    }
}

impl Known {
    /// Who shows this token or key, if that is known.
    pub(super) fn identity(&self, token: &str, now: Timestamp) -> Option<Identity> {
        good(&self.answers().identities, token, now)
    }

    /// What a person is in a workspace, if that is known.
    pub(super) fn role(&self, place: (WorkspaceId, UserId), now: Timestamp) -> Option<Role> {
        good(&self.answers().roles, &place, now)
    }

    /// To be called before the registry is asked.
    pub(super) fn asking(&self, now: Timestamp) -> RegistryLookup {
        RegistryLookup { generation: self.answers().generation, now }
    }

    /// Keeps who shows a token that ends at `end`, or a key.
    pub(super) fn keep_identity(
        &self,
        asked: RegistryLookup,
        token: &str,
        identity: &Identity,
        end: Option<Timestamp>,
    ) {
        let mut answers = self.answers();
        if answers.generation == asked.generation {
            keep(&mut answers.identities, token.into(), asked.kept(identity.clone(), end));
        }
    }

    /// Keeps what a person is in a workspace.
    pub(super) fn keep_role(
        &self,
        asked: RegistryLookup,
        place: (WorkspaceId, UserId),
        role: Role,
    ) {
        let mut answers = self.answers();
        if answers.generation == asked.generation {
            keep(&mut answers.roles, place, asked.kept(role, None));
        }
    }

    fn forget(&self) {
        let mut answers = self.answers();
        let generation = answers.generation.wrapping_add(1);
        *answers = Answers { generation, ..Answers::default() };
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn good<K, Q, T>(all: &FastMap<K, Kept<T>>, key: &Q, now: Timestamp) -> Option<T>
where
    K: Borrow<Q> + Eq + Hash,
    Q: Eq + Hash + ?Sized,
    T: Clone,
{
    // A clock that was set back must not make an answer last longer.
    let kept = all.get(key).filter(|kept| (kept.since..kept.until).contains(&now))?;
    Some(kept.answer.clone())
}

fn keep<K: Eq + Hash, T>(all: &mut FastMap<K, Kept<T>>, key: K, kept: Kept<T>) {
    if all.len() >= MOST {
        all.clear();
    }
    all.insert(key, kept);
}

/// The registry in the hands of who changes it: with the change, whatever was known is forgotten.
pub(super) struct Changing<'a> {
    registry: &'a dyn Registry,
    known: &'a Known,
}

impl<'a> Changing<'a> {
    pub(super) fn new(registry: &'a dyn Registry, known: &'a Known) -> Self {
        Self { registry, known }
    }
}

impl<'a> Deref for Changing<'a> {
    type Target = dyn Registry + 'a;

    fn deref(&self) -> &Self::Target {
        self.registry
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.known.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (WorkspaceId, UserId) {
        (WorkspaceId::from_bytes([1; 16]), UserId::from_bytes([2; 16]))
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn an_answer_is_good_for_a_moment_and_not_before_it_was_given() {
        let known = Known::default();
        known.keep_role(known.asking(at(5_000)), place(), Role::Member);
        assert_eq!(known.role(place(), at(5_000)), Some(Role::Member));
        assert_eq!(known.role(place(), at(5_999)), Some(Role::Member));
        assert_eq!(known.role(place(), at(6_000)), None);
        assert_eq!(known.role(place(), at(4_999)), None, "the clock was set back");
    }

    #[test]
    fn what_was_asked_before_a_change_is_not_kept_after_it() {
        let known = Known::default();
        let asked = known.asking(at(0));
        known.keep_role(asked, place(), Role::Owner);
        known.forget();
        assert_eq!(known.role(place(), at(1)), None);
        known.keep_role(asked, place(), Role::Owner);
        assert_eq!(known.role(place(), at(1)), None);
    }

    #[test]
    fn memory_is_bounded() {
        let known = Known::default();
        for number in 0..=MOST as u128 {
            let person = UserId::from_bytes(number.to_be_bytes());
            known.keep_role(known.asking(at(0)), (place().0, person), Role::Viewer);
        }
        assert!(known.answers().roles.len() <= MOST);
    }
}
