//! What the last look at a text came to, so that a row of looks works it out once.
//!
//! The file itself is read each time: what is known of a content counts only while every byte is still
//! the same. What the store said of the file is forgotten with each step of this process, and what
//! another process did is seen within [`GOOD_MILLIS`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use yard_core::{ContentHash, FastMap, Timestamp, WsPath};

/// How long the store's word is good.
const GOOD_MILLIS: i64 = 1_000;
/// Above this many, all of them are forgotten.
const MOST: usize = 1_024;

/// What is known of a text in plain UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gist {
    pub(crate) hash: ContentHash,
    pub(crate) lines: u64,
}

/// What the store said of a file with that content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) synced: bool,
    pub(crate) json: bool,
}

/// What the last look at a path came to, with the store's word where that is still good.
pub(crate) type Seen = (Gist, Option<Told>);

/// The newest looks at texts, by their paths.
#[derive(Default)]
pub(crate) struct Glimpses {
    /// How often this process changed something.
    changes: AtomicU64,
    by_path: Mutex<FastMap<WsPath, Glimpse>>,
}

#[derive(Clone, Copy)]
struct Glimpse {
    gist: Gist,
    told: Told,
    when: When,
}

/// A moment before the store was asked.
#[derive(Clone, Copy)]
pub(crate) struct When {
    changes: u64,
    at: Timestamp,
}

impl Glimpses {
    /// The moment that a look begins.
    pub(crate) fn begin(&self, now: Timestamp) -> When {
        When { changes: self.changes.load(Ordering::Acquire), at: now }
    }

    /// What the last look at a path came to.
    pub(crate) fn last(&self, path: &WsPath, now: When) -> Option<Seen> {
        let by_path = self.by_path.lock().unwrap_or_else(PoisonError::into_inner);
        let Glimpse { gist, told, when } = *by_path.get(path)?;
        let age = now.at.as_millis().checked_sub(when.at.as_millis());
        let is_good = when.changes == now.changes
            && age.is_some_and(|millis| (0..GOOD_MILLIS).contains(&millis));
        Some((gist, is_good.then_some(told)))
    }

    /// Keeps what a look came to that began at `when`.
    pub(crate) fn keep(&self, path: &WsPath, when: When, gist: Gist, told: Told) {
        let mut by_path = self.by_path.lock().unwrap_or_else(PoisonError::into_inner);
        if by_path.len() >= MOST {
            by_path.clear();
        }
        by_path.insert(path.clone(), Glimpse { gist, told, when });
    }

    /// To be held by each change that this process makes, until anybody is told of it.
    pub(crate) fn changing(&self) -> Changing<'_> {
        Changing(&self.changes)
    }
}

/// A change that is being made. It counts however it ends: part of it may have happened.
pub(crate) struct Changing<'a>(&'a AtomicU64);

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: Told = Told { synced: true, json: false };

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn path(text: &str) -> WsPath {
        WsPath::parse(text).unwrap()
    }

    fn gist() -> Gist {
        Gist { hash: ContentHash::of(b"x"), lines: 1 }
    }

    #[test]
    fn the_stores_word_is_good_for_a_moment_and_until_the_next_change() {
        let glimpses = Glimpses::default();
        let seen = |millis| glimpses.last(&path("/a"), glimpses.begin(at(millis)));
        assert_eq!(seen(0), None);
        glimpses.keep(&path("/a"), glimpses.begin(at(5_000)), gist(), TOLD);
        assert_eq!(seen(5_000), Some((gist(), Some(TOLD))));
        assert_eq!(seen(5_999), Some((gist(), Some(TOLD))));
        assert_eq!(seen(6_000), Some((gist(), None)));
        assert_eq!(seen(4_999), Some((gist(), None)), "the clock was set back");
        drop(glimpses.changing());
        assert_eq!(seen(5_000), Some((gist(), None)));
    }

    #[test]
    fn what_was_asked_before_a_change_is_no_good_after_it() {
        let glimpses = Glimpses::default();
        let before = glimpses.begin(at(0));
        drop(glimpses.changing());
        glimpses.keep(&path("/a"), before, gist(), TOLD);
        assert_eq!(glimpses.last(&path("/a"), glimpses.begin(at(0))), Some((gist(), None)));
    }

    #[test]
    fn memory_is_bounded() {
        let glimpses = Glimpses::default();
        for number in 0..3 * MOST {
            let when = glimpses.begin(at(0));
            glimpses.keep(&path(&format!("/{number}")), when, gist(), TOLD);
            assert!(glimpses.by_path.lock().unwrap().len() <= MOST);
        }
    }
}
