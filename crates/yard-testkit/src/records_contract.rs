//! What every store of workspace records promises, one case a promise. A case gets a new, empty store of both traits.

mod comments;
mod seen;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use yard_core::{ApprovalId, ChatId, ContentHash, ProcessId, QuestionId, RunId, Timestamp, World};
use yard_store::{
    ApprovalFilter, ApprovalRequest, ApprovalStatus, ApprovalTotals, AuditEntry, Batch, Chat,
    Decision, EVENT_PATHS, Event, Grant, Mode, NewApproval, NewChat, NewDecision, NewQuestion,
    NewTurn, QuestionAnswer, QuestionFilter, ReplacedGrants, Scope, StepSideEffect, Store,
    StoreError, TerminalState, TurnKind, Via, WorkspaceRecords,
};

use crate::step_builder::path;
use crate::{FakeWorld, StepBuilder};

/// One store, seen from both sides.
pub struct RecordStores {
    /// The journal.
    pub store: Arc<dyn Store>,
    /// The records of the same workspace.
    pub records: Arc<dyn WorkspaceRecords>,
}

/// One promise.
pub type RecordsCase = (&'static str, fn(&RecordStores, &FakeWorld));

/// All promises.
pub const CASES: &[RecordsCase] = &[
    ("an empty store answers with nothing", empty),
    ("a chat reads back under a name of its own", chats),
    ("an actor has one default chat", default_chats),
    ("a transcript is the header and the texts, and its size is known", transcripts),
    ("turns are read in pages, all or of one kind", turns),
    ("a question is answered once", answers),
    ("questions are read in pages, by status, asker and chat", questions),
    ("a step and its side effect happen together or not at all", side_effects),
    ("steps and events are one sequence", events),
    ("an event names some of many paths", many_paths),
    ("a request is decided once, and executed once", approvals),
    ("one process executes a request, and what was started is not started again", claims),
    ("a request that no longer holds is asked again", renewed),
    ("requests are read in pages, by status, asker and chat", approval_pages),
    ("what is allowed for longer is kept by chat, and the policy as it was set", allowances),
    ("what a person put off comes back at its time, and is there for everybody else", put_off),
    ("what matters leaves its row in the audit chain", audited),
    ("what names no chat changes nothing", nowhere),
    ("a comment is its author's alone", comments::comments),
    ("comments are sent as one message, all or none", comments::sent),
    ("a message is received once", comments::unread),
    ("what a person has seen is marked by path and content", seen::marks),
];

/// Runs every case on a store of its own, and panics with the names of those that failed.
pub fn suite(open: &dyn Fn() -> RecordStores) {
    let mut failed = Vec::new();
    for (promise, case) in CASES {
        let stores = open();
        let run = || case(&stores, &FakeWorld::new(7));
        if catch_unwind(AssertUnwindSafe(run)).is_err() {
            failed.push(*promise);
        }
    }
    assert!(failed.is_empty(), "broken promises: {failed:#?}");
}

fn audit(world: &FakeWorld, action: &str) -> AuditEntry {
    let (actor, detail) = ("agent:local".to_owned(), String::new());
    AuditEntry { at: world.now(), actor, action: action.to_owned(), detail }
}

fn turn(world: &FakeWorld, kind: TurnKind, text: &str) -> NewTurn {
    let (actor, data) = ("agent:local".to_owned(), format!("{{\"text\":{text:?}}}"));
    NewTurn { at: world.now(), actor, kind, data, text: text.to_owned() }
}

fn make(stores: &RecordStores, world: &FakeWorld, title: &str) -> Chat {
    make_for(stores, world, title, None)
}

fn make_for(
    stores: &RecordStores,
    world: &FakeWorld,
    title: &str,
    default_of: Option<&str>,
) -> Chat {
    let chat = NewChat {
        id: ChatId::new(world),
        title: title.to_owned(),
        mode: Mode::Plan,
        made_by: "agent:local".to_owned(),
        default_of: default_of.map(str::to_owned),
        at: world.now(),
        header: format!("# {title}\n"),
    };
    stores.records.make_chat(&chat, &audit(world, "make chat")).unwrap()
}

fn ask(stores: &RecordStores, world: &FakeWorld, chat: ChatId, by: &str) -> QuestionId {
    let plans = vec![
        (path("/plans/a.plan"), ContentHash::of(b"a")),
        (path("/b.plan"), ContentHash::from_bytes([0; 32])),
    ];
    let asked = NewQuestion {
        id: QuestionId::new(world),
        chat,
        asked_by: by.to_owned(),
        at: world.now(),
        form: "[]".to_owned(),
        plans,
    };
    let turn = turn(world, TurnKind::Question, "asked\n");
    stores.records.ask(&asked, &turn, &audit(world, "ask")).unwrap();
    let row = stores.records.question(asked.id).unwrap().unwrap();
    assert_eq!((row.chat, &row.plans, row.given, row.used), (chat, &asked.plans, None, false));
    asked.id
}

fn answer(stores: &RecordStores, world: &FakeWorld, id: QuestionId) -> Result<(), StoreError> {
    let (answers, by) = ("{}".to_owned(), "person:local".to_owned());
    let given = QuestionAnswer { answers, by, via: Via::Button, at: world.now() };
    let turn = turn(world, TurnKind::Answer, "answered\n");
    stores.records.answer(id, &given, &turn, &audit(world, "answer"))?;
    assert_eq!(stores.records.question(id)?.unwrap().given, Some(given));
    Ok(())
}

fn empty(stores: &RecordStores, world: &FakeWorld) {
    let records = &stores.records;
    assert_eq!(records.chat(ChatId::new(world)), Ok(None));
    assert_eq!(records.default_chat("agent:local"), Ok(None));
    assert_eq!(records.chats(None, 9), Ok(vec![]));
    assert_eq!(records.turns(ChatId::new(world), None, 0, 9), Ok(vec![]));
    assert_eq!(records.transcript(ChatId::new(world)), Ok(None));
    assert_eq!(records.question(QuestionId::new(world)), Ok(None));
    assert_eq!(records.questions(&QuestionFilter::default(), None, 9), Ok(vec![]));
    assert_eq!(records.events(0, 9), Ok(vec![]));
    assert_eq!(records.last_event(), Ok(0));
}

fn chats(stores: &RecordStores, world: &FakeWorld) {
    let made: Vec<Chat> = (0..3).map(|_| make(stores, world, "a/b")).collect();
    let names: Vec<String> = made.iter().map(|chat| chat.name.to_string()).collect();
    assert_eq!(names, ["a-b.chat", "a-b (2).chat", "a-b (3).chat"]);
    for chat in &made {
        assert_eq!(stores.records.chat(chat.id), Ok(Some(chat.clone())));
        assert_eq!(stores.records.chat_named(&chat.name), Ok(Some(chat.clone())));
    }
    let page = |before, limit| {
        let page = stores.records.chats(before, limit).unwrap();
        page.into_iter().map(|chat| chat.id).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 2), [made[2].id, made[1].id]);
    assert_eq!(page(Some(made[1].id), 2), [made[0].id]);
}

fn default_chats(stores: &RecordStores, world: &FakeWorld) {
    let first = make_for(stores, world, "x", Some("a"));
    let again = make_for(stores, world, "y", Some("a"));
    assert_eq!(first, again);
    assert_eq!(stores.records.default_chat("a"), Ok(Some(first)));
    assert_eq!(stores.records.default_chat("b"), Ok(None));
    assert_eq!(stores.records.last_event(), Ok(1));
}

fn transcripts(stores: &RecordStores, world: &FakeWorld) {
    let (chat, other) = (make(stores, world, "t").id, make(stores, world, "u").id);
    for text in ["one\n", "zwei ä\n", ""] {
        stores.records.post(chat, &turn(world, TurnKind::Message, text)).unwrap();
        stores.records.record(other, &turn(world, TurnKind::Call, "elsewhere\n")).unwrap();
    }
    let mode = turn(world, TurnKind::Mode, "build\n");
    stores.records.set_mode(chat, Mode::Build, &mode, &audit(world, "set mode")).unwrap();
    let text = stores.records.transcript(chat).unwrap().unwrap();
    assert_eq!(text, "# t\none\nzwei ä\nbuild\n");
    let found = stores.records.chat(chat).unwrap().unwrap();
    assert_eq!((found.bytes, found.mode), (text.len() as u64, Mode::Build));
    assert!(found.updated_at > found.created_at);
}

fn turns(stores: &RecordStores, world: &FakeWorld) {
    let chat = make(stores, world, "t").id;
    for n in 0..6 {
        let kind = if n % 2 == 0 { TurnKind::Message } else { TurnKind::Call };
        stores.records.record(chat, &turn(world, kind, &n.to_string())).unwrap();
    }
    let all = stores.records.turns(chat, None, 0, 99).unwrap();
    assert!(all.is_sorted_by_key(|turn| turn.number));
    assert_eq!(all.len(), 6);
    assert_eq!(stores.records.turns(chat, None, all[1].number, 2).unwrap(), all[2..4]);
    let calls = stores.records.turns(chat, Some(TurnKind::Call), all[1].number, 9).unwrap();
    assert_eq!(calls, [all[3].clone(), all[5].clone()]);
}

fn answers(stores: &RecordStores, world: &FakeWorld) {
    let chat = make(stores, world, "t").id;
    let id = ask(stores, world, chat, "a");
    assert_eq!(answer(stores, world, id), Ok(()));
    let before =
        (stores.records.transcript(chat), stores.records.last_event(), stores.store.audit(0, 99));
    assert!(matches!(answer(stores, world, id), Err(StoreError::Misfit(_))));
    let missing = answer(stores, world, QuestionId::new(world));
    assert!(matches!(missing, Err(StoreError::Misfit(_))));
    let after =
        (stores.records.transcript(chat), stores.records.last_event(), stores.store.audit(0, 99));
    assert_eq!(after, before);
}

fn questions(stores: &RecordStores, world: &FakeWorld) {
    let (one, two) = (make(stores, world, "t").id, make(stores, world, "u").id);
    let asked = [(one, "a"), (two, "a"), (one, "b"), (one, "a")];
    let ids = asked.map(|(chat, by)| ask(stores, world, chat, by));
    answer(stores, world, ids[0]).unwrap();
    let list = |filter: QuestionFilter, before, limit| {
        let rows = stores.records.questions(&filter, before, limit).unwrap();
        rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
    };
    let all = QuestionFilter::default();
    assert_eq!(list(all.clone(), None, 3), [ids[3], ids[2], ids[1]]);
    assert_eq!(list(all.clone(), Some(ids[1]), 3), [ids[0]]);
    let answered = |answered| QuestionFilter { answered: Some(answered), ..all.clone() };
    assert_eq!(list(answered(true), None, 9), [ids[0]]);
    assert_eq!(list(answered(false), None, 9), [ids[3], ids[2], ids[1]]);
    let by = QuestionFilter { asked_by: Some("a".to_owned()), chat: Some(one), ..all.clone() };
    assert_eq!(list(by, None, 9), [ids[3], ids[0]]);
    let asked_at = |id| (id, stores.records.question(id).unwrap().unwrap().at);
    assert_eq!(stores.records.pending_questions(2).unwrap(), [ids[1], ids[2]].map(asked_at));
    assert_eq!(stores.records.pending_questions(9).unwrap().len(), 3);
}

fn side_effects(stores: &RecordStores, world: &FakeWorld) {
    let builder = StepBuilder::new(stores.store.as_ref(), world);
    let chat = make(stores, world, "t").id;
    let question = ask(stores, world, chat, "a");
    let attempt = |name: &str| {
        let mut step = builder.step("write", vec![builder.create_folder(root(), &path(name))]);
        let turn = turn(world, TurnKind::Mode, "left\n");
        step.side_effects = vec![StepSideEffect::LeavePlan { chat, question, turn }];
        let batch = Batch { steps: &[step], contents: &[] };
        stores.store.append(stores.store.head().unwrap(), batch)
    };
    assert!(matches!(attempt("/a"), Err(StoreError::Misfit(_))), "not answered yet");
    answer(stores, world, question).unwrap();
    assert_eq!(stores.records.chat(chat).unwrap().unwrap().mode, Mode::Plan);
    assert_eq!(attempt("/a"), Ok(1));
    assert_eq!(stores.records.chat(chat).unwrap().unwrap().mode, Mode::Build);
    assert!(stores.records.question(question).unwrap().unwrap().used);
    assert!(stores.records.transcript(chat).unwrap().unwrap().ends_with("left\n"));
    let last = stores.records.events(stores.records.last_event().unwrap() - 2, 9).unwrap();
    assert!(matches!(&last[0].what, Event::Step(step) if step.verb == "write"));
    assert_eq!(last[1].what, Event::ModeChanged { chat, mode: Mode::Build });
    let before =
        (stores.records.transcript(chat), stores.records.last_event(), stores.store.head());
    assert!(matches!(attempt("/b"), Err(StoreError::Misfit(_))), "used already");
    let after = (stores.records.transcript(chat), stores.records.last_event(), stores.store.head());
    assert_eq!(after, before);
    assert_eq!(stores.store.lookup(&path("/b")), Ok(None));
}

fn request(stores: &RecordStores, world: &FakeWorld, chat: ChatId, by: &str) -> ApprovalId {
    let asked = NewApproval {
        id: ApprovalId::new(world),
        chat,
        asked_by: by.to_owned(),
        at: world.now(),
        asked_in: Some(ProcessId::from_bytes([1; 16])),
        request: asked_for("first"),
    };
    let turn = turn(world, TurnKind::Request, "may I\n");
    stores.records.request(&asked, &turn, &audit(world, "request")).unwrap();
    let row = stores.records.approval(asked.id).unwrap().unwrap();
    assert_eq!((row.chat, &row.request, row.at), (chat, &asked.request, asked.at));
    assert_eq!((row.status, row.decision, row.step), (ApprovalStatus::Pending, None, None));
    asked.id
}

fn asked_for(what: &str) -> ApprovalRequest {
    ApprovalRequest {
        preset: "guarded".to_owned(),
        root: Some("app".to_owned()),
        run: None,
        toolset: "assistant".to_owned(),
        tool: "delete_file".to_owned(),
        args: "{}".to_owned(),
        reason: "it removes".to_owned(),
        effect: "[]".to_owned(),
        diff: what.to_owned(),
        state: ContentHash::of(what.as_bytes()),
    }
}

fn decide(
    stores: &RecordStores,
    world: &FakeWorld,
    id: ApprovalId,
    approves: bool,
    grant: Option<&Grant>,
) -> Result<(), StoreError> {
    let decision = Decision {
        approves,
        scope: Scope::Chat,
        reason: Some("why not".to_owned()),
        parts: approves.then(|| "{}".to_owned()),
        by: "person:local".to_owned(),
        at: world.now(),
    };
    let turn = turn(world, TurnKind::Decision, "said\n");
    let state = stores.records.approval(id)?.map_or(asked_for("first"), |row| row.request).state;
    let other = ContentHash::of(b"not what was shown");
    let made = |shown| NewDecision {
        id,
        shown,
        decision: &decision,
        revision: None,
        claimed_by: None,
        grant,
    };
    let unseen = stores.records.decide(&made(other), &turn, &audit(world, "decide"));
    assert!(matches!(unseen, Err(StoreError::Misfit(_))), "what was not shown is not decided");
    stores.records.decide(&made(state), &turn, &audit(world, "decide"))?;
    assert_eq!(stores.records.approval(id)?.unwrap().decision, Some(decision));
    Ok(())
}

/// Appends a step that is what was approved.
fn execute(
    stores: &RecordStores,
    world: &FakeWorld,
    approval: ApprovalId,
    name: &str,
) -> Result<u64, StoreError> {
    let builder = StepBuilder::new(stores.store.as_ref(), world);
    let mut step = builder.step("write", vec![builder.create_folder(root(), &path(name))]);
    step.side_effects = vec![StepSideEffect::Execute { approval, at: world.now() }];
    stores.store.append(stores.store.head().unwrap(), Batch { steps: &[step], contents: &[] })
}

fn status(stores: &RecordStores, id: ApprovalId) -> ApprovalStatus {
    stores.records.approval(id).unwrap().unwrap().status
}

fn approvals(stores: &RecordStores, world: &FakeWorld) {
    let chat = make(stores, world, "t").id;
    let misfit = |done: Result<_, StoreError>| assert!(matches!(done, Err(StoreError::Misfit(_))));
    let id = request(stores, world, chat, "a");
    misfit(execute(stores, world, id, "/a"));
    decide(stores, world, id, true, None).unwrap();
    misfit(decide(stores, world, id, false, None).map(|()| 0));
    assert_eq!(status(stores, id), ApprovalStatus::Approved);
    assert_eq!(execute(stores, world, id, "/a"), Ok(1));
    misfit(execute(stores, world, id, "/b"));
    assert_eq!(stores.store.lookup(&path("/b")), Ok(None));
    stores.records.conclude(id, ApprovalStatus::Failed, "1", world.now()).unwrap();
    stores.records.conclude(id, ApprovalStatus::Failed, "2", world.now()).unwrap();
    let row = stores.records.approval(id).unwrap().unwrap();
    assert_eq!((row.status, row.answer.as_deref()), (ApprovalStatus::Executed, Some("1")));
    assert!(row.step.is_some());
    let denied = request(stores, world, chat, "a");
    let before = stores.records.approval(denied).unwrap().unwrap().request;
    stores.records.reword(denied, "for another reason").unwrap();
    let reworded = stores.records.approval(denied).unwrap().unwrap().request;
    assert_eq!(reworded, ApprovalRequest { reason: "for another reason".to_owned(), ..before });
    decide(stores, world, denied, false, None).unwrap();
    stores.records.reword(denied, "too late").unwrap();
    assert_eq!(stores.records.approval(denied).unwrap().unwrap().request, reworded);
    misfit(execute(stores, world, denied, "/c"));
    stores.records.conclude(denied, ApprovalStatus::Executed, "3", world.now()).unwrap();
    assert_eq!(status(stores, denied), ApprovalStatus::Denied);
    let looked = request(stores, world, chat, "a");
    decide(stores, world, looked, true, None).unwrap();
    stores.records.conclude(looked, ApprovalStatus::Executed, "4", world.now()).unwrap();
    let row = stores.records.approval(looked).unwrap().unwrap();
    assert_eq!((row.status, row.step), (ApprovalStatus::Executed, None));
    let reply = stores.records.events(stores.records.last_event().unwrap() - 3, 9).unwrap();
    let reply: Vec<Event> = reply.into_iter().map(|row| row.what).collect();
    let approval = looked;
    let decided = Event::Decided { chat, approval, status: ApprovalStatus::Approved };
    let done = Event::Concluded { chat, approval, status: ApprovalStatus::Executed };
    assert_eq!(reply, [Event::Requested { chat, approval }, decided, done]);
    misfit(decide(stores, world, ApprovalId::new(world), true, None).map(|()| 0));
}

fn renewed(stores: &RecordStores, world: &FakeWorld) {
    let chat = make(stores, world, "t").id;
    let id = request(stores, world, chat, "a");
    let again = |what| {
        let output = turn(world, TurnKind::Request, "again\n");
        stores.records.renew(id, &asked_for(what), &output, &audit(world, "request"))
    };
    assert!(matches!(again("x"), Err(StoreError::Misfit(_))), "it waits already");
    decide(stores, world, id, true, None).unwrap();
    assert_eq!(again("second"), Ok(()));
    let row = stores.records.approval(id).unwrap().unwrap();
    assert_eq!((row.status, row.decision), (ApprovalStatus::Pending, None));
    assert_eq!(row.request, asked_for("second"));
    decide(stores, world, id, true, None).unwrap();
    assert_eq!(execute(stores, world, id, "/a"), Ok(1));
    assert!(matches!(again("third"), Err(StoreError::Misfit(_))), "it is done");
}

fn put_off(stores: &RecordStores, _: &FakeWorld) {
    let (at, records) = (Timestamp::from_millis, &stores.records);
    let (one, other) = ([1; 16], [2; 16]);
    records.put_off("ada", one, Some(at(300)), at(0)).unwrap();
    records.put_off("ada", other, Some(at(200)), at(0)).unwrap();
    assert_eq!(records.put_off_by("ada", at(0), 9), Ok(vec![(other, at(200)), (one, at(300))]));
    assert_eq!(records.put_off_by("ada", at(0), 1), Ok(vec![(other, at(200))]));
    assert_eq!(records.put_off_by("ada", at(200), 9), Ok(vec![(one, at(300))]));
    assert_eq!(records.put_off_by("bob", at(0), 9), Ok(Vec::new()));
    records.put_off("ada", one, Some(at(400)), at(200)).unwrap();
    assert_eq!(
        records.put_off_by("ada", at(0), 9),
        Ok(vec![(one, at(400))]),
        "those before are dropped"
    );
    records.put_off("ada", one, None, at(200)).unwrap();
    assert_eq!(records.put_off_by("ada", at(0), 9), Ok(Vec::new()));
}

fn claims(stores: &RecordStores, world: &FakeWorld) {
    let chat = make(stores, world, "t").id;
    let misfit = |done: Result<(), StoreError>| assert!(matches!(done, Err(StoreError::Misfit(_))));
    let [one, two] = [[1; 16], [2; 16]].map(ProcessId::from_bytes);
    let row = |id| stores.records.approval(id).unwrap().unwrap();
    let id = request(stores, world, chat, "a");
    assert_eq!((row(id).asked_in, row(id).claimed_by), (Some(one), None));
    misfit(stores.records.claim(id, None, Some(one)));
    decide(stores, world, id, true, None).unwrap();
    stores.records.claim(id, None, Some(one)).unwrap();
    misfit(stores.records.claim(id, None, Some(two)));
    assert_eq!(row(id).claimed_by, Some(one));
    misfit(stores.records.close(id, ApprovalStatus::Withdrawn, &audit(world, "close")));
    stores.records.claim(id, Some(one), Some(two)).unwrap();
    stores.records.start(id, RunId::from_bytes([3; 16])).unwrap();
    assert!(row(id).started);
    misfit(stores.records.start(id, RunId::from_bytes([4; 16])));
    misfit(stores.records.claim(id, Some(two), Some(one)));
    stores.records.conclude(id, ApprovalStatus::Unknown, "1", world.now()).unwrap();
    assert_eq!(row(id).status, ApprovalStatus::Unknown);
    for decided in [false, true] {
        let id = request(stores, world, chat, "a");
        if decided {
            decide(stores, world, id, true, None).unwrap();
        }
        stores.records.close(id, ApprovalStatus::Withdrawn, &audit(world, "close")).unwrap();
        assert_eq!(row(id).status, ApprovalStatus::Withdrawn);
        misfit(stores.records.close(id, ApprovalStatus::Expired, &audit(world, "close")));
        misfit(decide(stores, world, id, true, None));
    }
}

fn approval_pages(stores: &RecordStores, world: &FakeWorld) {
    let (one, two) = (make(stores, world, "t").id, make(stores, world, "u").id);
    let asked = [(one, "a"), (two, "a"), (one, "b"), (one, "a")];
    let ids = asked.map(|(chat, by)| request(stores, world, chat, by));
    decide(stores, world, ids[0], false, None).unwrap();
    let list = |filter: ApprovalFilter, before, limit| {
        stores.records.approval_ids(&filter, before, limit).unwrap()
    };
    let all = ApprovalFilter::default();
    assert_eq!(list(all.clone(), None, 3), [ids[3], ids[2], ids[1]]);
    assert_eq!(list(all.clone(), Some(ids[1]), 3), [ids[0]]);
    let status = Some(ApprovalStatus::Denied);
    assert_eq!(list(ApprovalFilter { status, ..all.clone() }, None, 9), [ids[0]]);
    let by = ApprovalFilter { asked_by: Some("a".to_owned()), chat: Some(one), ..all.clone() };
    assert_eq!(list(by, None, 9), [ids[3], ids[0]]);
    let request = stores.records.approval(ids[0]).unwrap().unwrap().request;
    let has_diff = Some(!request.diff.is_empty());
    let state = Some(request.state);
    assert_eq!(list(ApprovalFilter { state, has_diff, ..all.clone() }, None, 1), [ids[3]]);
    let has_diff = Some(request.diff.is_empty());
    assert!(list(ApprovalFilter { has_diff, ..all.clone() }, None, 9).is_empty());
    let state = Some(ContentHash::of(b"another"));
    assert!(list(ApprovalFilter { state, ..all.clone() }, None, 9).is_empty());
    let run = Some(RunId::from_bytes([9; 16]));
    assert!(list(ApprovalFilter { run, ..all.clone() }, None, 9).is_empty());
    let bytes = (request.args.len() + request.effect.len() + request.diff.len()) as u64;
    let totals = stores.records.approval_totals(&all).unwrap();
    assert_eq!(totals, ApprovalTotals { count: 4, bytes: 4 * bytes });
    let of_nobody = ApprovalFilter { asked_by: Some("c".to_owned()), ..all };
    assert_eq!(stores.records.approval_totals(&of_nobody), Ok(ApprovalTotals::default()));
    let asked_at = |id| (id, stores.records.approval(id).unwrap().unwrap().at);
    assert_eq!(stores.records.pending_approvals(2).unwrap(), [ids[1], ids[2]].map(asked_at));
    assert_eq!(stores.records.pending_approvals(9).unwrap().len(), 3);
}

fn allowances(stores: &RecordStores, world: &FakeWorld) {
    let (one, two) = (make(stores, world, "t").id, make(stores, world, "u").id);
    let allowed = |chat, rule: &str| Grant {
        chat,
        rule: rule.to_owned(),
        by: "person:local".to_owned(),
        at: world.now(),
    };
    for grant in [allowed(Some(one), "1"), allowed(None, "2"), allowed(Some(two), "3")] {
        let id = request(stores, world, one, "a");
        decide(stores, world, id, true, Some(&grant)).unwrap();
    }
    let rules = |chat| {
        let grants = stores.records.grants(chat).unwrap();
        grants.into_iter().map(|grant| grant.rule).collect::<Vec<_>>()
    };
    assert_eq!(rules(Some(one)), ["1", "2"]);
    assert_eq!(rules(None), ["2"]);
    assert_eq!(stores.records.policy(), Ok(None));
    let set = |before, text, saved: Option<ReplacedGrants<'_>>| {
        stores.records.set_policy(before, text, saved, &audit(world, "policy"))
    };
    set(None, "{}", None).unwrap();
    assert_eq!(rules(None), ["2"]);
    let (known, after) = (stores.records.grants(None).unwrap(), [allowed(None, "4")]);
    let saved = ReplacedGrants { before: &known, after: &after };
    // Who does not know a permission does not replace it.
    let outdated = ReplacedGrants { before: &[], after: &after };
    assert!(matches!(set(Some("{}"), "[]", Some(outdated)), Err(StoreError::Misfit(_))));
    // Who knows an older policy changes nothing.
    for outdated in [None, Some("[]")] {
        assert!(matches!(set(outdated, "[]", Some(saved)), Err(StoreError::Misfit(_))));
    }
    assert_eq!(
        (stores.records.policy(), rules(None)),
        (Ok(Some("{}".to_owned())), vec!["2".to_owned()])
    );
    set(Some("{}"), "[]", Some(saved)).unwrap();
    assert_eq!(stores.records.policy(), Ok(Some("[]".to_owned())));
    assert_eq!(rules(Some(two)), ["3", "4"]);
}

fn root() -> yard_core::FileId {
    yard_core::FileId::ROOT
}

fn events(stores: &RecordStores, world: &FakeWorld) {
    let builder = StepBuilder::new(stores.store.as_ref(), world);
    builder.file("/0", b"0");
    builder.file("/1", b"1");
    let chat = make(stores, world, "t").id;
    let posted = stores.records.post(chat, &turn(world, TurnKind::Message, "m")).unwrap();
    builder.file("/2", b"2");
    let paths = vec![path("/a b"), path("/c")];
    stores.records.changed_outside(world.now(), &paths).unwrap();
    builder.file("/3", b"3");
    let run = RunId::new(world);
    let states = [TerminalState::Running, TerminalState::Ended(137), TerminalState::Interrupted];
    for state in states {
        stores.records.terminal_is(world.now(), chat, run, "t 1", state).unwrap();
    }
    let all = stores.records.events(0, 99).unwrap();
    let words: Vec<String> = all.iter().map(|row| word(&row.what)).collect();
    assert_eq!(
        words,
        ["/0", "/1", "made", "posted", "/2", "outside", "/3", "running", "ended", "interrupted"]
    );
    for (row, state) in all[7..].iter().zip(states) {
        assert_eq!(row.what, Event::Terminal { chat, run, name: "t 1".to_owned(), state });
    }
    assert_eq!(all[3].what, Event::Posted { chat, turn: posted });
    assert_eq!(all[5].what, Event::ChangedOutside { paths });
    for (at, row) in all.iter().enumerate() {
        assert_eq!(row.number, at as u64 + 1);
        assert_eq!(stores.records.events(at as u64, 2).unwrap(), all[at..(at + 2).min(all.len())]);
    }
    assert_eq!(stores.records.last_event(), Ok(10));
    assert_eq!(stores.records.events(10, 9), Ok(vec![]));
    assert_eq!(stores.records.events(99, 9), Ok(vec![]));
}

fn word(event: &Event) -> String {
    match event {
        Event::Step(step) => step.changes[0].path.to_string(),
        Event::ChatMade { .. } => "made".to_owned(),
        Event::Posted { .. } => "posted".to_owned(),
        Event::ChangedOutside { .. } => "outside".to_owned(),
        Event::Terminal { state, .. } => state.word().to_owned(),
        other => panic!("{other:?}"),
    }
}

fn many_paths(stores: &RecordStores, world: &FakeWorld) {
    let builder = StepBuilder::new(stores.store.as_ref(), world);
    let many = EVENT_PATHS + 10;
    let paths: Vec<_> = (0..many).map(|n| path(&format!("/{n}"))).collect();
    let changes = paths.iter().map(|path| builder.create_folder(root(), path)).collect();
    builder.append(changes, &[]).unwrap();
    stores.records.changed_outside(world.now(), &paths).unwrap();
    let rows = stores.records.events(0, 9).unwrap();
    let Event::Step(step) = &rows[0].what else { panic!("{rows:?}") };
    assert_eq!((step.files, step.changes.len()), (many as u64, EVENT_PATHS));
    let Event::ChangedOutside { paths } = &rows[1].what else { panic!("{rows:?}") };
    assert_eq!(paths.len(), EVENT_PATHS);
}

fn audited(stores: &RecordStores, world: &FakeWorld) {
    let chat = make(stores, world, "t").id;
    let id = ask(stores, world, chat, "a");
    answer(stores, world, id).unwrap();
    let mode = turn(world, TurnKind::Mode, "build\n");
    stores.records.set_mode(chat, Mode::Build, &mode, &audit(world, "set mode")).unwrap();
    let rows = stores.store.audit(0, 9).unwrap();
    let actions: Vec<&str> = rows.iter().map(|row| row.entry.action.as_str()).collect();
    assert_eq!(actions, ["make chat", "ask", "answer", "set mode"]);
}

fn nowhere(stores: &RecordStores, world: &FakeWorld) {
    let chat = ChatId::new(world);
    let output = turn(world, TurnKind::Message, "m");
    let misfit = |done: Result<(), StoreError>| assert!(matches!(done, Err(StoreError::Misfit(_))));
    misfit(stores.records.post(chat, &output).map(|_| ()));
    misfit(stores.records.record(chat, &output));
    misfit(stores.records.set_mode(chat, Mode::Plan, &output, &audit(world, "set mode")));
    assert_eq!(stores.records.last_event(), Ok(0));
    assert_eq!(stores.store.audit(0, 9), Ok(vec![]));
}
