//! Comments that were not sent, and messages that were sent and not received.

use yard_core::{ApprovalId, ChatId, CommentId, ContentHash, DiffSide, StepId, World};
use yard_store::{Comment, CommentTarget, Event, StoreError, TurnKind};

use super::{RecordStores, audit, make, turn};
use crate::FakeWorld;
use crate::step_builder::path;

/// The author of the turns of [`turn`].
const AUTHOR: &str = "agent:local";

fn comment(world: &FakeWorld, author: &str, target: CommentTarget, text: &str) -> Comment {
    Comment {
        id: CommentId::new(world),
        author: author.to_owned(),
        at: world.now(),
        target,
        path: path("/src/a b.rs"),
        side: DiffSide::New,
        line: 7,
        content: ContentHash::of(b"content"),
        text: text.to_owned(),
    }
}

pub(super) fn comments(stores: &RecordStores, world: &FakeWorld) {
    let records = &stores.records;
    let step = CommentTarget::Step(StepId::new(world));
    let request = CommentTarget::Approval(ApprovalId::new(world));
    let one = comment(world, AUTHOR, step, "one");
    let two = Comment { side: DiffSide::Old, ..comment(world, AUTHOR, request, "two") };
    let three = comment(world, AUTHOR, step, "three");
    let others = comment(world, "person:other", step, "others");
    for comment in [&one, &two, &others, &three] {
        records.add_comment(comment).unwrap();
    }
    let list = |target, after, limit| records.comments(AUTHOR, target, after, limit).unwrap();
    assert_eq!(list(None, None, 9), [one.clone(), two.clone(), three.clone()]);
    assert_eq!(list(Some(step), None, 9), [one.clone(), three.clone()]);
    assert_eq!(list(Some(request), None, 9), std::slice::from_ref(&two));
    assert_eq!(list(None, Some(one.id), 1), std::slice::from_ref(&two));
    assert_eq!(records.comment_count(AUTHOR), Ok(3));
    assert_eq!(records.comment(one.id, AUTHOR), Ok(Some(one.clone())));
    assert_eq!(records.comment(others.id, AUTHOR), Ok(None), "another author's");

    assert_eq!(records.edit_comment(one.id, AUTHOR, "new"), Ok(true));
    assert_eq!(records.edit_comment(others.id, AUTHOR, "new"), Ok(false));
    assert_eq!(records.remove_comment(others.id, AUTHOR), Ok(false));
    assert_eq!(records.remove_comment(two.id, AUTHOR), Ok(true));
    assert_eq!(records.remove_comment(two.id, AUTHOR), Ok(false));
    assert_eq!(list(None, None, 9), [Comment { text: "new".to_owned(), ..one }, three]);
    assert_eq!(records.comments("person:other", None, None, 9), Ok(vec![others]));
}

pub(super) fn sent(stores: &RecordStores, world: &FakeWorld) {
    let records = &stores.records;
    let step = CommentTarget::Step(StepId::new(world));
    let drafts: Vec<Comment> =
        (0..3).map(|n| comment(world, AUTHOR, step, &n.to_string())).collect();
    drafts.iter().for_each(|draft| records.add_comment(draft).unwrap());
    let chat = make(stores, world, "t").id;
    let message = turn(world, TurnKind::Message, "m");
    let send = |chat: ChatId, ids: &[CommentId]| {
        records.send_comments(chat, ids, &message, &audit(world, "send comments"))
    };
    let before = (records.last_event().unwrap(), stores.store.audit(0, 9).unwrap().len());
    let gone = send(chat, &[drafts[0].id, CommentId::new(world)]);
    assert!(matches!(gone, Err(StoreError::Misfit(_))), "{gone:?}");
    assert!(matches!(send(ChatId::new(world), &[drafts[0].id]), Err(StoreError::Misfit(_))));
    assert_eq!(records.comment_count(AUTHOR), Ok(3), "all or nothing");
    assert_eq!(records.has_unread(), Ok(false));
    assert_eq!(
        (records.last_event().unwrap(), stores.store.audit(0, 9).unwrap().len()),
        before,
        "all or nothing"
    );

    let number = send(chat, &[drafts[0].id, drafts[2].id]).unwrap();
    assert_eq!(records.comments(AUTHOR, None, None, 9), Ok(vec![drafts[1].clone()]));
    let events = records.events(before.0, 9).unwrap();
    assert_eq!(events[0].what, Event::Posted { chat, turn: number });
    assert_eq!(stores.store.audit(0, 9).unwrap().len(), before.1 + 1);
    assert_eq!(records.turns(chat, None, 0, 9).unwrap()[0].number, number);
    assert_eq!(records.has_unread(), Ok(true));
}

pub(super) fn unread(stores: &RecordStores, world: &FakeWorld) {
    let records = &stores.records;
    let (chat, other) = (make(stores, world, "t").id, make(stores, world, "other").id);
    let send = |chat: ChatId, text: &str| {
        let message = turn(world, TurnKind::Message, text);
        records.send_comments(chat, &[], &message, &audit(world, "send comments")).unwrap()
    };
    let sent: Vec<u64> = ["one", "two", "three"].map(|text| send(chat, text)).to_vec();
    let elsewhere = send(other, "elsewhere");
    // A message that is posted otherwise is not for the agent.
    records.post(chat, &turn(world, TurnKind::Message, "posted")).unwrap();
    let take = |limit, bytes| -> Vec<u64> {
        let turns = records.take_unread(chat, limit, bytes).unwrap();
        turns.iter().map(|turn| turn.number).collect()
    };
    assert_eq!(take(1, 9_999), sent[..1]);
    assert_eq!(take(9, 1), sent[1..2], "at least one");
    records.put_back_unread(chat, &sent[..1]).unwrap();
    records.put_back_unread(chat, &[elsewhere, 999]).unwrap();
    assert_eq!(take(9, 9_999), [sent[0], sent[2]], "oldest first, and only of its chat");
    assert_eq!(take(9, 9_999), Vec::<u64>::new());
    assert_eq!(records.has_unread(), Ok(true), "in the other chat");
    records.remove_chat(other, &audit(world, "remove chat")).unwrap();
    assert_eq!(records.has_unread(), Ok(false));
}
