//! Reading history in other ways than step by step.

use yard_core::{Author, ChatId, FileId};
use yard_store::{Batch, ChangedEntry, NewStep, Seq, StepFilter, Store};

use crate::step_builder::path;
use crate::{FakeWorld, StepBuilder};

fn append(store: &dyn Store, step: NewStep) {
    let (head, steps) = (store.head().unwrap(), [step]);
    store.append(head, Batch { steps: &steps, contents: &[] }).unwrap();
}

pub(super) fn went_back(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    builder.file("/a", b"1");
    let first = store.steps(None, None, 1).unwrap()[0].id;
    let mut step = builder.step("back-to", vec![]);
    step.undoes = Some(first);
    append(store, step);
    let row = store.steps(None, None, 1).unwrap().remove(0);
    assert_eq!((row.back_to, row.undoes), (Some(first), None));
}

pub(super) fn found_steps(store: &dyn Store, world: &FakeWorld) {
    let builder = StepBuilder::new(store, world);
    let chat = ChatId::new(world);
    let folder = builder.create_folder(FileId::ROOT, &path("/src"));
    builder.append(vec![folder.clone()], &[]).unwrap();
    let file = builder.create(folder.file, &path("/src/a"), b"1");
    builder.append(vec![file.clone()], &[b"1"]).unwrap();
    let mut step = builder.step("edit", vec![builder.create(FileId::ROOT, &path("/src0"), b"1")]);
    (step.chat, step.audit.actor) = (Some(chat), "key:7".to_owned());
    append(store, step);
    let moved = builder.rename(&builder.node(folder.file), FileId::ROOT, &path("/lib"));
    append(store, NewStep { chat: Some(chat), ..builder.step("move", vec![moved]) });
    let mut moved = builder.rename(&builder.node(file.file), FileId::ROOT, &path("/b"));
    moved.from = Some(path("/lib/a"));
    append(store, NewStep { author: Author::External, ..builder.step("move", vec![moved]) });
    append(store, builder.step("none", vec![]));

    let found = |filter: StepFilter, from: Seq, limit: usize| -> Vec<Seq> {
        let rows = store.find_steps(&filter, from..Seq::MAX, limit).unwrap();
        for row in &rows {
            assert_eq!(store.step(row.id).unwrap().as_ref(), Some(row));
        }
        rows.iter().map(|row| row.seq).collect()
    };
    let any = StepFilter::default();
    assert_eq!(found(any.clone(), 0, 9), [6, 5, 4, 3, 2, 1]);
    assert_eq!(found(any.clone(), 3, 2), [6, 5]);
    assert_eq!(store.find_steps(&any, 2..4, 9).unwrap().len(), 2);
    assert_eq!(store.find_steps(&any, 7..9, 9), Ok(vec![]));
    let of_actor = |actor: &str| StepFilter { actor: Some(actor.to_owned()), ..any.clone() };
    assert_eq!(found(of_actor("key:7"), 0, 9), [3]);
    assert!(found(of_actor("key:8"), 0, 9).is_empty());
    let of_author = |author: Author| StepFilter { author: Some(author), ..any.clone() };
    assert_eq!(found(of_author(Author::Agent), 0, 9), [6, 4, 3, 2, 1]);
    assert_eq!(found(of_author(Author::External), 0, 9), [5]);
    assert!(found(of_author(Author::Person), 0, 9).is_empty());
    let of_verb = |verb: &str| StepFilter { verb: Some(verb.to_owned()), ..any.clone() };
    assert_eq!(found(of_verb("move"), 0, 9), [5, 4]);
    assert_eq!(found(of_verb("move"), 0, 1), [5]);
    let of_chat = StepFilter { chat: Some(chat), ..any.clone() };
    assert_eq!(found(of_chat.clone(), 0, 9), [4, 3]);
    assert_eq!(found(StepFilter { verb: Some("move".to_owned()), ..of_chat }, 0, 9), [4]);
    let at = |text: &str, file: Option<FileId>| StepFilter {
        changed: Some(ChangedEntry { path: path(text), file }),
        ..any.clone()
    };
    // A path counts before and after a change, and what is below it; a longer name is another path.
    assert_eq!(found(at("/src", None), 0, 9), [4, 2, 1]);
    assert_eq!(found(at("/src", None), 2, 9), [4, 2]);
    assert_eq!(found(at("/src", None), 0, 2), [4, 2]);
    assert_eq!(found(at("/lib", None), 0, 9), [5, 4]);
    assert_eq!(found(at("/b", None), 0, 9), [5]);
    assert_eq!(found(at("/b", Some(file.file)), 0, 9), [5, 2]);
    assert!(found(at("/none", Some(FileId::new(world))), 0, 9).is_empty());
    let both = StepFilter { verb: Some("move".to_owned()), ..at("/src", None) };
    assert_eq!(found(both, 0, 9), [4]);
}
