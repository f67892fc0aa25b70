//! A cache of the registry's answers about callers, so that consecutive requests of a caller query it once.
//!
//! A change that this process makes empties the cache ([`InvalidatingRegistry`]), so that a revoked key, an ended login
//! or a removed member is refused by the next request. A change by another process on the same folder is seen within
//! [`VALID_MILLIS`]. Only positive answers are cached: an unknown caller is looked up each time. Tokens and keys are
//! cache keys as plain text, at most as long as the process lives: a cryptographic hash of them would cost each request
//! more than the rest of its identification.

use std::borrow::Borrow;
use std::hash::Hash;
use std::ops::Deref;

use parking_lot::Mutex;
use yard_core::{FastMap, Role, Timestamp, UserId, WorkspaceId};
use yard_store::Registry;

use super::identity::Identity;

/// How long a cached answer is valid.
const VALID_MILLIS: i64 = 1_000;
/// With more answers of one kind than this, all of them are removed.
const MAX_ENTRIES: usize = 4_096;

/// The newest answers about callers.
#[derive(Default)]
pub(super) struct CallerCache(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    /// How often the cache was emptied. An answer to a lookup that began before that is not cached after it.
    generation: u64,
    identities: FastMap<Box<str>, CachedAnswer<Identity>>,
    roles: FastMap<(WorkspaceId, UserId), CachedAnswer<Role>>,
}

struct CachedAnswer<T> {
    answer: T,
    since: Timestamp,
    until: Timestamp,
}

/// A lookup in the registry that has begun.
#[derive(Clone, Copy)]
pub(super) struct RegistryLookup {
    generation: u64,
    now: Timestamp,
}

impl RegistryLookup {
    /// An answer that is valid for [`VALID_MILLIS`], at most until `end`.
    fn cached<T>(self, answer: T, end: Option<Timestamp>) -> CachedAnswer<T> {
        let until = Timestamp::from_millis(self.now.as_millis().saturating_add(VALID_MILLIS));
        CachedAnswer { answer, since: self.now, until: end.map_or(until, |end| end.min(until)) }
    }
}

impl CallerCache {
    /// The identity of the caller with this token or key, if it is cached.
    pub(super) fn identity(&self, token: &str, now: Timestamp) -> Option<Identity> {
        valid_answer(&self.0.lock().identities, token, now)
    }

    /// The role of a person in a workspace, if it is cached.
    pub(super) fn role(&self, member: (WorkspaceId, UserId), now: Timestamp) -> Option<Role> {
        valid_answer(&self.0.lock().roles, &member, now)
    }

    /// Begins a lookup; called before the registry is queried.
    pub(super) fn begin_lookup(&self, now: Timestamp) -> RegistryLookup {
        RegistryLookup { generation: self.0.lock().generation, now }
    }

    /// Caches the identity of the caller with a key, or with a token that ends at `end`.
    pub(super) fn store_identity(
        &self,
        lookup: RegistryLookup,
        token: &str,
        identity: &Identity,
        end: Option<Timestamp>,
    ) {
        let mut entries = self.0.lock();
        if entries.generation == lookup.generation {
            insert(&mut entries.identities, token.into(), lookup.cached(identity.clone(), end));
        }
    }

    /// Caches the role of a person in a workspace.
    pub(super) fn store_role(
        &self,
        lookup: RegistryLookup,
        member: (WorkspaceId, UserId),
        role: Role,
    ) {
        let mut entries = self.0.lock();
        if entries.generation == lookup.generation {
            insert(&mut entries.roles, member, lookup.cached(role, None));
        }
    }

    fn clear(&self) {
        let mut entries = self.0.lock();
        let generation = entries.generation.wrapping_add(1);
        *entries = Entries { generation, ..Entries::default() };
    }
}

fn valid_answer<K, Q, T>(all: &FastMap<K, CachedAnswer<T>>, key: &Q, now: Timestamp) -> Option<T>
where
    K: Borrow<Q> + Eq + Hash,
    Q: Eq + Hash + ?Sized,
    T: Clone,
{
    // A clock that was set back must not make an answer last longer.
    let cached = all.get(key).filter(|cached| (cached.since..cached.until).contains(&now))?;
    Some(cached.answer.clone())
}

fn insert<K: Eq + Hash, T>(all: &mut FastMap<K, CachedAnswer<T>>, key: K, answer: CachedAnswer<T>) {
    if all.len() >= MAX_ENTRIES {
        all.clear();
    }
    all.insert(key, answer);
}

/// The registry for a change of it. Dropping this empties the cache.
pub(super) struct InvalidatingRegistry<'a> {
    registry: &'a dyn Registry,
    cache: &'a CallerCache,
}

impl<'a> InvalidatingRegistry<'a> {
    pub(super) fn new(registry: &'a dyn Registry, cache: &'a CallerCache) -> Self {
        Self { registry, cache }
    }
}

impl<'a> Deref for InvalidatingRegistry<'a> {
    type Target = dyn Registry + 'a;

    fn deref(&self) -> &Self::Target {
        self.registry
    }
}

impl Drop for InvalidatingRegistry<'_> {
    fn drop(&mut self) {
        self.cache.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member() -> (WorkspaceId, UserId) {
        (WorkspaceId::from_bytes([1; 16]), UserId::from_bytes([2; 16]))
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn an_answer_is_valid_for_a_second_and_not_before_it_was_stored() {
        let cache = CallerCache::default();
        cache.store_role(cache.begin_lookup(at(5_000)), member(), Role::Member);
        assert_eq!(cache.role(member(), at(5_000)), Some(Role::Member));
        assert_eq!(cache.role(member(), at(5_999)), Some(Role::Member));
        assert_eq!(cache.role(member(), at(6_000)), None);
        assert_eq!(cache.role(member(), at(4_999)), None, "the clock was set back");
    }

    #[test]
    fn an_answer_to_a_lookup_from_before_a_change_is_not_stored_after_it() {
        let cache = CallerCache::default();
        let lookup = cache.begin_lookup(at(0));
        cache.store_role(lookup, member(), Role::Owner);
        cache.clear();
        assert_eq!(cache.role(member(), at(1)), None);
        cache.store_role(lookup, member(), Role::Owner);
        assert_eq!(cache.role(member(), at(1)), None);
    }

    #[test]
    fn memory_is_bounded() {
        let cache = CallerCache::default();
        for number in 0..=MAX_ENTRIES as u128 {
            let person = UserId::from_bytes(number.to_be_bytes());
            cache.store_role(cache.begin_lookup(at(0)), (member().0, person), Role::Viewer);
        }
        assert!(cache.0.lock().roles.len() <= MAX_ENTRIES);
    }
}
