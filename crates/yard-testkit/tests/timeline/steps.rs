//! Steps with counts of lines, the step that they went back to, and filters.

use yard_core::op::{BackTo, LineCount, ListSteps, Mkdir, Undo, UndoScope};
use yard_core::{Author, StepId, WsPath};
use yard_testkit::{at, mv, replace, rm};

use super::{Told, all};

fn counts(told: &Told, wanted: ListSteps) -> Vec<Option<(u64, u64)>> {
    let steps = told.did(wanted).steps;
    let pair = |count: LineCount| (count.added, count.removed);
    steps.iter().map(|step| step.lines.map(pair)).collect()
}

fn ids(told: &Told, wanted: ListSteps) -> Vec<StepId> {
    told.did(wanted).steps.iter().map(|step| step.id).collect()
}

#[test]
fn each_step_has_its_lines_also_after_it_is_opened_again() {
    let told = Told::new();
    told.write("/a", "1\n2\n3\n");
    told.step(replace("/a", "2\n", "two\nand a half\n"));
    told.step(mv("/a", "/b"));
    told.write("/binary", b"\0\x01");
    told.step(rm("/b"));
    let expected = [Some((0, 4)), None, None, Some((2, 1)), Some((3, 0))];
    assert_eq!(counts(&told, all()), expected);
    assert_eq!(counts(&told, all()), expected, "the same from memory");
    let told = Told(told.0.reopen());
    assert_eq!(counts(&told, all()), expected, "an older database has them, too");
}

#[test]
fn what_is_too_large_to_count_has_no_count_and_a_page_of_much_ends_early() {
    let told = Told::new();
    let large: String = (0..600_000).map(|number| format!("line {number}\n")).collect();
    told.write("/large", &large);
    assert_eq!(counts(&told, all()), [None]);
    let text = "x".repeat(999) + "\n";
    for number in 0..20 {
        told.write(&format!("/{number}"), text.repeat(2_000));
    }
    let first = told.did(all());
    assert!(first.truncated && first.steps.len() > 10, "{}", first.steps.len());
    assert!(first.steps.iter().all(|step| step.lines.unwrap().added == 2_000));
    let before = first.steps.last().map(|step| step.id);
    let rest = told.did(ListSteps { before, ..all() });
    assert_eq!((first.steps.len() + rest.steps.len(), rest.truncated), (21, false));
    assert_eq!(told.did(all()).steps.len(), 21, "what is in memory costs nothing");
}

#[test]
fn lines_of_what_a_caller_may_not_read_are_not_counted_for_it() {
    let told = Told::new();
    told.write("/open", "1\n");
    told.write("/hidden/a", "1\n");
    told.write("/moved", "1\n");
    told.step(mv("/moved", "/hidden/moved"));
    told.did(all());
    let steps = told.restricted(all(), &["/hidden"]).unwrap().steps;
    let known: Vec<bool> = steps.iter().map(|step| step.lines.is_some()).collect();
    assert_eq!(known, [false, false, false, true]);
}

#[test]
fn going_back_names_its_step_and_undoes_none() {
    let told = Told::new();
    let first = told.write("/a", "1\n");
    let second = told.write("/b", "2\n");
    let back = told.step(BackTo { step: first, scope: UndoScope::default() });
    let undone = told.step(Undo::of(back));
    let steps = told.did(all()).steps;
    let links: Vec<_> = steps.iter().map(|step| (step.id, step.undoes, step.back_to)).collect();
    let expected = [
        (undone, Some(back), None),
        (back, None, Some(first)),
        (second, None, None),
        (first, None, None),
    ];
    assert_eq!(links, expected);
}

#[test]
fn filters_are_exact_and_go_together() {
    let told = Told::new();
    let made = told.step(Mkdir { path: at("/src") });
    let first = told.write("/src/a", "1\n");
    let other = told.write("/srcs", "1\n");
    let edit = told.step(replace("/src/a", "1", "2"));
    let moved = told.step(mv("/src", "/lib"));
    let later = told.step(replace("/lib/a", "2", "3"));
    let by_path = |path: &str| ListSteps { path: Some(at(path)), ..all() };
    assert_eq!(ids(&told, by_path("/src")), [moved, edit, first, made]);
    assert_eq!(ids(&told, by_path("/lib")), [later, moved, made], "the folder is at that path now");
    assert_eq!(ids(&told, by_path("/lib/a")), [later, edit, first], "the file is at that path now");
    assert!(ids(&told, by_path("/nothing")).is_empty());
    assert_eq!(ids(&told, ListSteps { path: Some(WsPath::root()), ..all() }).len(), 6);
    let verb = |verb: &str| ListSteps { verb: Some(verb.to_owned()), ..all() };
    assert_eq!(ids(&told, verb("edit")), [later, edit]);
    assert_eq!(ids(&told, ListSteps { limit: 1, ..verb("edit") }), [later]);
    assert_eq!(ids(&told, ListSteps { before: Some(later), ..verb("edit") }), [edit]);
    assert!(ids(&told, verb("edi")).is_empty());
    assert!(ids(&told, ListSteps { path: Some(at("/srcs")), ..verb("edit") }).is_empty());
    assert_eq!(ids(&told, by_path("/srcs")), [other]);
    let actor = told.did(all()).steps[0].actor.clone();
    assert_eq!(ids(&told, ListSteps { actor: Some(actor), ..all() }).len(), 6);
    assert!(ids(&told, ListSteps { actor: Some("external".into()), ..all() }).is_empty());
    told.0.put("/srcs", "by hand\n");
    told.step(replace("/srcs", "by", "at"));
    let external = told.did(ListSteps { actor: Some("external".into()), ..all() }).steps;
    assert_eq!((external.len(), external[0].author.word()), (1, "external"));
    assert_eq!(external[0].lines.map(|lines| (lines.added, lines.removed)), Some((1, 1)));
    let of = |author| told.did(ListSteps { author: Some(author), ..all() }).steps;
    assert_eq!(of(Author::External), external);
    assert_eq!(of(Author::External).len() + of(Author::Agent).len() + of(Author::Person).len(), 8);
}

#[test]
fn a_step_is_found_by_its_number() {
    let told = Told::new();
    for i in 0..5 {
        told.write(&format!("/{i}"), "1\n");
    }
    let steps = told.did(all()).steps;
    assert_eq!(steps.iter().map(|step| step.number).collect::<Vec<_>>(), [5, 4, 3, 2, 1]);
    let through = |number| ListSteps { through: Some(number), limit: 1, ..all() };
    for step in &steps {
        assert_eq!(told.did(through(step.number)).steps, std::slice::from_ref(step));
    }
    assert_eq!(told.did(through(99)).steps, steps[..1]);
    assert!(told.did(through(0)).steps.is_empty());
    let before = Some(steps[2].id);
    assert_eq!(told.did(ListSteps { before, ..through(4) }).steps, steps[3..4]);
    assert_eq!(told.did(ListSteps { before, ..through(1) }).steps, steps[4..]);
}
