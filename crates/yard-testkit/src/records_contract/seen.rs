//! What people have seen.

use yard_core::{ContentHash, World};

use super::RecordStores;
use crate::FakeWorld;
use crate::step_builder::path;

pub(super) fn marks(stores: &RecordStores, world: &FakeWorld) {
    let records = &stores.records;
    let contents = [b"a", b"b"].map(|bytes| ContentHash::of(bytes));
    let mark = |person: &str, name: &str, content| {
        records.mark_seen(person, &path(name), content, world.now()).unwrap();
    };
    mark("person:a", "/one", &contents[0]);
    mark("person:a", "/one", &contents[0]);
    mark("person:a", "/one", &contents[1]);
    mark("person:b", "/one", &contents[1]);
    mark("person:a", "/two", &contents[0]);
    let marks = |person: &str, after, limit| {
        let marks = records.seen_marks(person, after, limit).unwrap();
        let shown = marks.iter().map(|mark| (mark.path.to_string(), mark.content));
        let last = marks.last().map_or(0, |mark| mark.number);
        (shown.collect::<Vec<_>>(), last)
    };
    let one = |content| ("/one".to_owned(), content);
    let (first, last) = marks("person:a", 0, 2);
    assert_eq!(first, [one(contents[0]), one(contents[1])]);
    assert_eq!(marks("person:a", last, 2).0, [("/two".to_owned(), contents[0])]);
    assert_eq!(marks("person:b", 0, 9).0, [one(contents[1])]);
    records.unmark_seen("person:a", &path("/one"), &contents[1]).unwrap();
    records.unmark_seen("person:a", &path("/two"), &contents[1]).unwrap();
    let left = [one(contents[0]), ("/two".to_owned(), contents[0])];
    assert_eq!(marks("person:a", 0, 9).0, left);
    assert_eq!(marks("person:b", 0, 9).0, [one(contents[1])], "another person's");
}
