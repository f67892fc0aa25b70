//! What differs between the files after two steps.

use std::collections::BTreeMap;

use yard_core::StepId;
use yard_core::op::{ChangePage, Compare, Compared, Undo};
use yard_testkit::{at, mv, replace, rm};

use super::Told;

fn compare(from: StepId, to: Option<StepId>) -> Compare {
    let page = ChangePage { skip: 0, limit: 1_000, max_bytes: 1 << 20, max_diff_bytes: 1 << 20 };
    Compare { from, to, path: None, page }
}

/// Each change as its kind, its paths and its diff.
fn shown(compared: &Compared) -> Vec<(&'static str, String, String, String)> {
    let change = |change: &yard_core::op::ShownChange| {
        let path = |path: &Option<yard_core::WsPath>| {
            path.as_ref().map(ToString::to_string).unwrap_or_default()
        };
        let diff = change.diff.clone().unwrap_or_default();
        let diff = diff.lines().skip(3).map(|line| format!("{line}\n")).collect();
        (change.summary.word(), path(&change.from), path(&change.to), diff)
    };
    compared.changes.iter().map(change).collect()
}

fn row(
    kind: &'static str,
    from: &str,
    to: &str,
    diff: &str,
) -> (&'static str, String, String, String) {
    (kind, from.to_owned(), to.to_owned(), diff.to_owned())
}

#[test]
fn what_happened_in_between_is_one_change_for_each_file() {
    let told = Told::new();
    told.write("/a", "1\n");
    told.write("/kept", "k\n");
    let from = told.write("/gone", "g\n");
    told.step(replace("/a", "1", "2"));
    told.step(mv("/a", "/b"));
    told.step(replace("/b", "2", "3"));
    told.write("/new", "n\n");
    told.write("/passing", "p\n");
    told.step(rm("/passing"));
    told.step(rm("/gone"));
    told.step(replace("/kept", "k", "changed"));
    let to = told.step(replace("/kept", "changed", "k"));
    let forward = told.did(compare(from, None));
    assert_eq!(
        (forward.from, forward.to, forward.truncated, forward.next),
        (from, to, false, None)
    );
    let expected = [
        row("moved", "/a", "/b", "-1\n+3\n"),
        row("removed", "/gone", "", "-g\n"),
        row("created", "", "/new", "+n\n"),
    ];
    assert_eq!(shown(&forward), expected);
    let back = told.did(compare(to, Some(from)));
    let expected = [
        row("moved", "/b", "/a", "-3\n+1\n"),
        row("created", "", "/gone", "+g\n"),
        row("removed", "/new", "", "-n\n"),
    ];
    assert_eq!(shown(&back), expected);
    assert!(told.did(compare(to, Some(to))).changes.is_empty());
    told.write("/later", "l\n");
    assert_eq!(told.did(compare(from, Some(to))), forward, "a later step changes nothing");
}

#[test]
fn a_file_in_a_folder_that_was_moved_has_its_paths_of_then() {
    let told = Told::new();
    told.write("/src/in/a", "1\n");
    let from = told.write("/src/in/b", "1\n");
    told.step(mv("/src", "/lib"));
    told.step(replace("/lib/in/a", "1", "2"));
    let forward = told.did(compare(from, None));
    let expected =
        [row("moved", "/src", "/lib", ""), row("modified", "/src/in/a", "/lib/in/a", "-1\n+2\n")];
    assert_eq!(shown(&forward), expected);
    for path in ["/src/in", "/lib/in/a"] {
        let part = told.did(Compare { path: Some(at(path)), ..compare(from, None) });
        assert_eq!(part.changes.len(), 1, "{path}");
    }
}

#[test]
fn many_changes_come_in_pages_and_long_diffs_are_whole() {
    let told = Told::new();
    let from = told.write("/first", "1\n");
    let text: String = (0..50).map(|number| format!("{number}\n")).collect();
    for number in 0..9 {
        told.write(&format!("/{number}"), &text);
    }
    let by = |limit: usize, max_bytes: u64| {
        let (mut found, mut pages, mut skip) = (Vec::new(), 0, 0);
        loop {
            let page = ChangePage { skip, limit, max_bytes, max_diff_bytes: 1 << 20 };
            let page = told.did(Compare { page, ..compare(from, None) });
            assert!(!page.truncated);
            found.extend(shown(&page));
            pages += 1;
            match page.next {
                Some(next) => skip = next,
                None => return (found, pages),
            }
        }
    };
    let (all, pages) = by(1_000, 1 << 20);
    assert_eq!((all.len(), pages), (9, 1));
    assert_eq!(by(4, 1 << 20), (all.clone(), 3));
    assert_eq!(by(1_000, 300), (all, 5), "a page ends after the diff that fills it");
    let page = ChangePage { skip: 0, limit: 9, max_bytes: 100, max_diff_bytes: 100 };
    let cut = told.did(Compare { page, ..compare(from, None) });
    assert!(cut.truncated && cut.changes.len() == 1 && cut.next == Some(1));
}

#[test]
fn what_a_caller_may_not_see_is_not_compared() {
    let told = Told::new();
    let from = told.write("/a", "1\n");
    told.write("/b", "1\n");
    told.write("/secret/c", "1\n");
    told.step(mv("/b", "/secret/b"));
    let to = told.step(replace("/a", "1", "2"));
    let seen = told.restricted(compare(from, Some(to)), &["/secret"]).unwrap();
    assert_eq!(shown(&seen), [row("modified", "/a", "/a", "-1\n+2\n")]);
}

/// Applying what differs to the tree of one step gives the tree of the other.
#[test]
fn an_undo_takes_away_what_differs() {
    let told = Told::new();
    told.write("/x/a", "1\n2\n3\n");
    let from = told.write("/x/b", "1\n");
    let edit = told.step(replace("/x/a", "2", "two"));
    told.step(mv("/x/b", "/x/c"));
    told.step(Undo::of(edit));
    let kinds: BTreeMap<String, &str> = shown(&told.did(compare(from, None)))
        .into_iter()
        .map(|(kind, from, to, _)| (format!("{from} {to}"), kind))
        .collect();
    assert_eq!(kinds, BTreeMap::from([("/x/b /x/c".to_owned(), "moved")]));
}
