//! Messages to agents, taken by several processes: stores of their own on one folder.

use std::sync::Barrier;

use tempfile::TempDir;
use yard_core::{ChatId, World as _};
use yard_store::{
    AuditEntry, ChatStore as _, CommentStore as _, Mode, NewChat, NewTurn, TurnKind,
    UnreadMessages as _,
};
use yard_testkit::FakeWorld;

use super::open;

const MESSAGES: usize = 40;
const TAKERS: usize = 4;

#[test]
fn a_message_is_taken_once_by_whichever_process_asks() {
    let folder = TempDir::new().unwrap();
    let world = FakeWorld::new(5);
    let actor = "person:local".to_owned();
    let audit = AuditEntry {
        at: world.now(),
        actor: actor.clone(),
        action: "send comments".to_owned(),
        detail: String::new(),
    };
    let chat = NewChat {
        id: ChatId::new(&world),
        title: "t".to_owned(),
        mode: Mode::Build,
        made_by: actor.clone(),
        default_of: None,
        at: world.now(),
        header: String::new(),
    };
    let sender = open(folder.path());
    let chat = sender.make_chat(&chat, &audit).unwrap().id;
    let begin = Barrier::new(TAKERS + 1);
    let taken: Vec<u64> = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..TAKERS)
            .map(|_| {
                scope.spawn(|| {
                    let store = open(folder.path());
                    begin.wait();
                    let mut taken = Vec::new();
                    // Each taker ends once it has seen that all were sent and none is left.
                    loop {
                        let was_all_sent = store.turns(chat, None, 0, MESSAGES).unwrap().len();
                        let page = store.take_unread(chat, 2, 1 << 20).unwrap();
                        if page.is_empty() && was_all_sent == MESSAGES {
                            return taken;
                        }
                        taken.extend(page.into_iter().map(|turn| turn.number));
                    }
                })
            })
            .collect();
        begin.wait();
        for number in 0..MESSAGES {
            let (at, text) = (world.now(), number.to_string());
            let (data, kind) = ("{}".to_owned(), TurnKind::Message);
            let turn = NewTurn { at, actor: actor.clone(), kind, data, text };
            sender.send_comments(chat, &[], &turn, &audit).unwrap();
        }
        takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect()
    });
    let mut sorted = taken;
    sorted.sort_unstable();
    let sent: Vec<u64> =
        sender.turns(chat, None, 0, MESSAGES).unwrap().iter().map(|turn| turn.number).collect();
    assert_eq!(sorted, sent, "each one once");
    assert!(!open(folder.path()).has_unread().unwrap(), "also after all others were closed");
}
