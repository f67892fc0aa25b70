//! People, logins and workspaces of a server: who is admitted, for how long, and which workspaces stay open. The registry, the
//! stores and the folders are real; the clock is not.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests make folders and look into them"
)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, Weak};

use serde_json::json;
use tempfile::TempDir;
use yard_core::{
    ApprovalId, Call, ContentHash, Fault, FaultCode, Result, Role, Timestamp, WorkspaceId, World,
};
use yard_dialects::Catalog;
use yard_gate::admin::{
    AuthConfig, Entered, Identity, InboxPart, LoginTokens, NewKey, NewPerson, NewWorkspace, Opener,
    PageRequest, Refusal, Server, WaitingRequest,
};
use yard_gate::registry::WorkspaceRow;
use yard_gate::{OpenWorkspace, Session};
use yard_store::{
    ApprovalRequest, AuditEntry, NewApproval, NewTurn, Registry as _, SqliteRegistry, TurnKind,
};
use yard_testkit::{FakeWorld, OpenOptions};

const PASSWORD: &str = "correct horse battery staple";
const MINUTE: i64 = 60_000;

/// Opens real workspaces in a folder, and remembers which are open.
struct WorkspaceOpener {
    home: PathBuf,
    world: Arc<FakeWorld>,
    /// The folder that the operator allows.
    allowed: Mutex<Option<String>>,
    opened: AtomicUsize,
    alive: Mutex<Vec<Weak<OpenWorkspace>>>,
}

impl WorkspaceOpener {
    fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }

    fn still_open(&self) -> usize {
        let alive = self.alive.lock().unwrap();
        alive.iter().filter(|workspace| workspace.strong_count() > 0).count()
    }
}

/// The opener that a server owns, while a test keeps looking at the workspaces.
struct SharedOpener(Arc<WorkspaceOpener>);

impl Opener for SharedOpener {
    fn admit_folder(&self, folder: &str) -> Result<String> {
        let allowed = self.0.allowed.lock().unwrap().clone();
        let denied = || Fault::new(FaultCode::Denied, "the operator does not allow this folder");
        allowed.filter(|allowed| allowed == folder).ok_or_else(denied)
    }

    fn overlap(&self, one: &str, other: &str) -> bool {
        let (one, other) = (Path::new(one), Path::new(other));
        one.starts_with(other) || other.starts_with(one)
    }

    fn open(&self, row: &WorkspaceRow) -> Result<Arc<OpenWorkspace>> {
        let opener = &self.0;
        if let Some(folder) = &row.folder {
            self.admit_folder(folder)?;
        }
        opener.opened.fetch_add(1, Ordering::Relaxed);
        let own = || opener.home.join(row.id.to_string());
        let root = row.folder.as_ref().map_or_else(own, PathBuf::from);
        let state_dir = opener.home.join(format!("{}.state", row.id));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(&state_dir).unwrap();
        let root = root.canonicalize().unwrap();
        let world = Arc::clone(&opener.world) as _;
        let options = OpenOptions { world, ..OpenOptions::default() };
        let open = options.open(&root, &state_dir, yard_dialects::CALLER_HINTS)?;
        opener.alive.lock().unwrap().push(Arc::downgrade(&open));
        Ok(open)
    }
}

/// A server in a folder of its own.
struct ServerFixture {
    server: Server,
    registry: Arc<SqliteRegistry>,
    opener: Arc<WorkspaceOpener>,
    world: Arc<FakeWorld>,
    folder: TempDir,
}

impl ServerFixture {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let world = Arc::new(FakeWorld::new(3));
        let opener = Arc::new(WorkspaceOpener {
            home: folder.path().join("workspaces"),
            world: Arc::clone(&world),
            allowed: Mutex::default(),
            opened: AtomicUsize::new(0),
            alive: Mutex::default(),
        });
        let registry = Arc::new(SqliteRegistry::open(&folder.path().join("people")).unwrap());
        let auth = AuthConfig {
            secret: vec![7; 32],
            access_minutes: 15,
            refresh_days: 30,
            open_registration: true,
        };
        let shared = Box::new(SharedOpener(Arc::clone(&opener)));
        let server = Server::new(Arc::clone(&registry) as _, shared, Arc::clone(&world) as _, auth);
        let server = server.unwrap_or_else(|refusal| panic!("{refusal:?}"));
        Self { server, registry, opener, world, folder }
    }

    fn register(&self, email: &str) {
        let new = NewPerson {
            email: email.to_owned(),
            password: PASSWORD.to_owned(),
            confirm_password: None,
            full_name: None,
        };
        self.server.register(&new, "127.0.0.1").unwrap();
    }

    fn log_in(&self, email: &str) -> LoginTokens {
        self.server.log_in(email, PASSWORD, "127.0.0.1", None).unwrap()
    }

    fn person(&self, email: &str) -> Identity {
        self.register(email);
        self.server.identify(&self.log_in(email).access_token).unwrap()
    }

    fn workspace(&self, owner: &Identity) -> Entered {
        let new = NewWorkspace { name: "Work".to_owned(), folder: None };
        let row = self.server.add_workspace(owner, &new).unwrap();
        self.server.enter(owner.clone(), row.id, Role::Owner).unwrap()
    }

    fn call(&self) -> Call {
        Call::new(Arc::clone(&self.world) as Arc<dyn World>)
    }

    fn write(&self, session: &Session, path: &str) -> bool {
        let args = json!({"path": path, "content": "x\n"});
        Catalog::standard().call("workspace", "write", args, session, &self.call()).ok
    }
}

fn is_unknown<T>(result: std::result::Result<T, Refusal>) -> bool {
    matches!(result, Err(Refusal::Unknown(_)))
}

fn is_denied<T>(result: std::result::Result<T, Refusal>) -> bool {
    matches!(result, Err(Refusal::Fault(fault)) if fault.code() == FaultCode::Denied)
}

/// Every toolset that a session of these tests may name.
fn all() -> Vec<String> {
    ["test", "workspace", "file", "coder", "assistant", "codex"].map(str::to_owned).to_vec()
}

#[test]
fn the_code_of_the_person_of_this_machine_is_dead_after_its_minute() {
    let fixture = ServerFixture::new();
    let server = &fixture.server;
    server.add_local_person("You").unwrap();
    let (early, late) = (server.new_local_code().unwrap(), server.new_local_code().unwrap());
    fixture.world.advance_millis(MINUTE - 1_000);
    assert!(server.log_in_by_code(&early, None).is_ok());
    fixture.world.advance_millis(2_000);
    assert!(is_unknown(server.log_in_by_code(&late, None)), "older than a minute");
    let new = server.new_local_code().unwrap();
    assert!(
        server.log_in_by_code(&new, None).is_ok() && is_unknown(server.log_in_by_code(&new, None))
    );
}

#[test]
fn wrong_passwords_are_limited_by_account() {
    let fixture = ServerFixture::new();
    fixture.register("ada@example.com");
    fixture.register("bob@example.com");
    let server = &fixture.server;
    let tries = |email: &str, from: usize| {
        server.log_in(email, "a wrong password", &format!("10.0.0.{from}"), None)
    };
    let mut wrong = 0;
    // From another address each time: it is the account that is guarded.
    while is_unknown(tries(" ADA@example.com", wrong)) {
        wrong += 1;
        assert!(wrong < 100, "at most 100 within a minute");
    }
    assert!(wrong > 30, "more than one address can try by itself");
    let refused = server.log_in("ada@example.com", PASSWORD, "10.0.1.1", None);
    assert!(matches!(refused, Err(Refusal::TooMany(1..=60))), "the right one has to wait too");
    assert!(
        server.log_in("bob@example.com", PASSWORD, "10.0.1.1", None).is_ok(),
        "others need not"
    );
    fixture.world.advance_millis(MINUTE);
    assert!(server.log_in("ada@example.com", PASSWORD, "10.0.1.1", None).is_ok());
}

#[test]
fn wrong_passwords_are_limited_by_address() {
    let fixture = ServerFixture::new();
    fixture.register("ada@example.com");
    let server = &fixture.server;
    let mut wrong = 0;
    // Another account each time, most of which nobody has.
    while is_unknown(server.log_in(
        &format!("p{wrong}@example.com"),
        "a wrong password",
        "10.0.0.1",
        None,
    )) {
        wrong += 1;
        assert!(wrong < 20, "at most 20 within a minute");
    }
    let from = |address| server.log_in("ada@example.com", PASSWORD, address, None);
    assert!(matches!(from("10.0.0.1"), Err(Refusal::TooMany(1..=60))));
    assert!(from("10.0.0.2").is_ok());
    fixture.world.advance_millis(MINUTE);
    assert!(from("10.0.0.1").is_ok());
}

#[test]
fn one_address_cannot_keep_a_person_out() {
    let fixture = ServerFixture::new();
    fixture.register("ada@example.com");
    let server = &fixture.server;
    let tries = |address| server.log_in("ada@example.com", "a wrong password", address, None);
    let wrong = (0..40).take_while(|_| is_unknown(tries("10.0.0.1"))).count();
    assert!((5..20).contains(&wrong), "{wrong} tries");
    assert!(matches!(tries("10.0.0.1"), Err(Refusal::TooMany(1..=60))));
    assert!(
        server.log_in("ada@example.com", PASSWORD, "10.0.0.2", None).is_ok(),
        "she is elsewhere"
    );
}

#[test]
fn tries_at_the_same_time_are_counted_before_they_are_looked_at() {
    let fixture = ServerFixture::new();
    fixture.register("ada@example.com");
    let (server, all) = (&fixture.server, Barrier::new(40));
    let looked_at = std::thread::scope(|scope| {
        let tries = (0..40).map(|_| {
            scope.spawn(|| {
                all.wait();
                is_unknown(server.log_in("ada@example.com", "a wrong password", "10.0.0.1", None))
            })
        });
        let tries: Vec<_> = tries.collect();
        tries.into_iter().map(|one| one.join().unwrap()).filter(|looked_at| *looked_at).count()
    });
    assert!((1..20).contains(&looked_at), "{looked_at} of 40");
}

#[test]
fn good_logins_are_not_limited() {
    let fixture = ServerFixture::new();
    for nth in 0..21 {
        fixture.register(&format!("p{nth}@example.com"));
        fixture.log_in("p0@example.com");
    }
}

#[test]
fn tokens_end_and_are_renewed() {
    let fixture = ServerFixture::new();
    fixture.register("ada@example.com");
    let server = &fixture.server;
    let first = fixture.log_in("ada@example.com");
    assert!(server.identify(&first.access_token).is_ok());
    fixture.world.advance_millis(15 * MINUTE);
    assert!(is_unknown(server.identify(&first.access_token)));
    let second = server.refresh(&first.refresh_token).unwrap();
    assert!(server.identify(&second.access_token).is_ok());
    // One kind of token is never taken for the other.
    assert!(is_unknown(server.identify(&second.refresh_token)));
    assert!(is_unknown(server.refresh(&second.access_token)));
    fixture.world.advance_millis(30 * 24 * 60 * MINUTE);
    assert!(is_unknown(server.refresh(&second.refresh_token)));
}

#[test]
fn a_refresh_token_that_comes_back_ends_its_login_and_is_audited() {
    let fixture = ServerFixture::new();
    fixture.register("ada@example.com");
    let server = &fixture.server;
    let (stolen, other) = (fixture.log_in("ada@example.com"), fixture.log_in("ada@example.com"));
    let renewed = server.refresh(&stolen.refresh_token).unwrap();
    assert!(is_unknown(server.refresh(&stolen.refresh_token)));
    for dead in [&stolen, &renewed] {
        assert!(is_unknown(server.identify(&dead.access_token)), "though its minutes are not over");
        assert!(is_unknown(server.refresh(&dead.refresh_token)));
    }
    assert!(server.identify(&other.access_token).is_ok());
    let rows = fixture.registry.audit(0, 99).unwrap();
    let ended: Vec<_> = rows.iter().filter(|row| row.entry.action == "end login").collect();
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0].entry.actor, format!("person:{}", stolen.person.id));
}

#[test]
fn r13_audit_rows_of_people_hold_no_secret() {
    let fixture = ServerFixture::new();
    let ada = fixture.person("ada@example.com");
    let entered = fixture.workspace(&ada);
    let new = NewKey { name: "agent".to_owned(), role: Role::Member, chat: None, toolsets: all() };
    let key = fixture.server.add_key(&entered, &new).unwrap();
    let login = fixture.log_in("ada@example.com");
    let answer = format!("{:?}", fixture.registry.audit(0, 99).unwrap());
    for secret in [PASSWORD, "$argon2", "ada@", &key.key, &login.access_token, &login.refresh_token]
    {
        assert!(!answer.contains(secret), "{secret} in {answer}");
    }
}

#[test]
fn r14_a_key_is_bound_to_no_chat_of_another_workspace() {
    let fixture = ServerFixture::new();
    let ada = fixture.person("ada@example.com");
    let (here, there) = (fixture.workspace(&ada), fixture.workspace(&ada));
    let elsewhere = fixture.server.session(&there).unwrap();
    let chat = elsewhere.chats().make(&fixture.call(), "There", None).unwrap().id;
    let new =
        NewKey { name: "agent".to_owned(), role: Role::Member, chat: Some(chat), toolsets: all() };
    assert!(fixture.server.add_key(&here, &new).is_err());
    assert!(fixture.server.add_key(&there, &new).is_ok());
}

#[test]
fn r14_a_key_that_is_bound_to_a_chat_never_speaks_outside_of_it() {
    let fixture = ServerFixture::new();
    let ada = fixture.person("ada@example.com");
    let entered = fixture.workspace(&ada);
    let (server, call) = (&fixture.server, fixture.call());
    let session = server.session(&entered).unwrap();
    let own = session.chats().make(&call, "Own", None).unwrap();
    let other = session.chats().make(&call, "Other", None).unwrap();
    let new = NewKey {
        name: "agent".to_owned(),
        role: Role::Member,
        chat: Some(own.id),
        toolsets: all(),
    };
    let key = server.add_key(&entered, &new).unwrap();

    let agent = server.identify(&key.key).unwrap();
    let inside = server.enter(agent, entered.workspace, Role::Viewer).unwrap();
    let bound = server.session(&inside).unwrap();
    assert_eq!(bound.chat(), Some(own.id));
    assert!(fixture.write(&bound, "/a.txt"));
    let say = |chat| bound.chats().post(&call, chat, yard_gate::MessageRole::Assistant, "hello");
    assert!(say(own.id).is_ok());
    let denied = |result: Result<()>| assert_eq!(result.unwrap_err().code(), FaultCode::Denied);
    denied(say(other.id).map(drop));
    denied(bound.in_chat(other.id).map(drop));
    denied(bound.chats().make(&call, "Third", None).map(drop));
    denied(bound.chats().set_mode(&call, other.id, yard_gate::Mode::Plan).map(drop));
    assert!(bound.in_chat(own.id).unwrap().in_chat(other.id).is_err(), "nor by a detour");
    let turns = session.chats().turns(&call, other.id, None, 0, 9).unwrap();
    assert!(turns.rows.is_empty(), "{turns:?}");
}

#[test]
fn r14_a_key_that_a_person_binds_to_another_agents_chat_goes_on_in_it() {
    let fixture = ServerFixture::new();
    let entered = fixture.workspace(&fixture.person("ada@example.com"));
    let (server, call) = (&fixture.server, fixture.call());
    let session_of = |chat| {
        let new = NewKey { name: "agent".to_owned(), role: Role::Member, chat, toolsets: all() };
        let key = server.add_key(&entered, &new).unwrap();
        let agent = server.identify(&key.key).unwrap();
        let inside = server.enter(agent, entered.workspace, Role::Viewer).unwrap();
        server.session(&inside)
    };
    let first = session_of(None).unwrap();
    let chat = first.chats().make(&call, "Of the first agent", None).unwrap().id;
    assert!(session_of(None).unwrap().in_chat(chat).is_err());
    let bound = session_of(Some(chat)).unwrap();
    assert_eq!(bound.chat(), Some(chat));
    assert!(bound.in_chat(chat).is_ok());
    bound.chats().post(&call, chat, yard_gate::MessageRole::Assistant, "hello").unwrap();
}

#[test]
fn idle_workspaces_are_closed_when_many_are_open() {
    let fixture = ServerFixture::new();
    let ada = fixture.person("ada@example.com");
    let workspaces: Vec<Entered> = (0..70).map(|_| fixture.workspace(&ada)).collect();
    // Somebody stays in the first one, though it was entered longest ago.
    let inside = fixture.server.session(&workspaces[0]).unwrap();
    for entered in &workspaces[1..] {
        fixture.server.session(entered).unwrap();
    }
    assert_eq!(fixture.opener.opened(), 70);
    assert_eq!(fixture.opener.still_open(), 64);
    assert!(fixture.write(&inside, "/still.txt"));
    fixture.server.session(&workspaces[0]).unwrap();
    assert_eq!(fixture.opener.opened(), 70, "the one that somebody is in was not opened again");
    // The second was closed; it opens again with everything that was in it.
    assert!(fixture.write(&fixture.server.session(&workspaces[1]).unwrap(), "/again.txt"));
    assert_eq!((fixture.opener.opened(), fixture.opener.still_open()), (71, 64));
}

#[test]
fn workspaces_that_are_in_use_stay_open_however_many() {
    let fixture = ServerFixture::new();
    let ada = fixture.person("ada@example.com");
    let sessions: Vec<Session> =
        (0..66).map(|_| fixture.server.session(&fixture.workspace(&ada)).unwrap()).collect();
    assert_eq!(fixture.opener.still_open(), 66);
    assert!(sessions.iter().all(|session| fixture.write(session, "/a.txt")));
}

#[test]
fn two_callers_open_a_workspace_once() {
    let fixture = ServerFixture::new();
    let ada = fixture.person("ada@example.com");
    for _ in 0..5 {
        let (entered, before) = (fixture.workspace(&ada), fixture.opener.opened());
        let barrier = Barrier::new(8);
        std::thread::scope(|scope| {
            for nth in 0..8 {
                let (fixture, entered, barrier) = (&fixture, &entered, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let session = fixture.server.session(entered).unwrap();
                    assert!(fixture.write(&session, &format!("/{nth}.txt")));
                });
            }
        });
        assert_eq!(fixture.opener.opened(), before + 1);
    }
}

#[test]
fn a_deleted_workspace_admits_no_caller_and_keeps_its_files() {
    let fixture = ServerFixture::new();
    let (ada, server) = (fixture.person("ada@example.com"), &fixture.server);
    let entered = fixture.workspace(&ada);
    let new = NewKey { name: "agent".to_owned(), role: Role::Member, chat: None, toolsets: all() };
    let key = server.add_key(&entered, &new).unwrap();
    let inside = server.session(&entered).unwrap();
    assert!(fixture.write(&inside, "/before.txt"));
    server.delete(&entered).unwrap();

    // Open sessions finish their calls; nobody gets in with an old permit, with a key or as a new session.
    assert!(fixture.write(&inside, "/under way.txt"));
    assert!(is_denied(server.session(&entered)));
    assert!(is_denied(server.enter(ada, entered.workspace, Role::Viewer)));
    assert!(is_unknown(server.identify(&key.key)));
    assert!(is_denied(server.delete(&entered)));
    assert!(server.add_key(&entered, &new).is_err());
    drop(inside);
    assert_eq!(fixture.opener.still_open(), 0);
    let files = fixture.folder.path().join("workspaces").join(entered.workspace.to_string());
    assert!(files.join("before.txt").exists() && files.join("under way.txt").exists());
}

#[test]
fn g16_a_caller_cannot_probe_many_accounts_in_a_minute() {
    let fixture = ServerFixture::new();
    let ada = fixture.person("ada@example.com");
    let entered = fixture.workspace(&ada);
    let asks = |nth: usize| {
        let email = format!("nobody-{nth}@example.com");
        fixture.server.add_member(&entered, &email, Role::Viewer)
    };
    let answer = (0..30).filter(|nth| matches!(asks(*nth), Err(Refusal::Fault(_)))).count();
    assert_eq!(answer, 10);
    assert!(matches!(asks(31), Err(Refusal::TooMany(_))));
    let again = NewPerson {
        email: "ada@example.com".to_owned(),
        password: PASSWORD.to_owned(),
        confirm_password: None,
        full_name: None,
    };
    let register = || fixture.server.register(&again, "192.0.2.7");
    assert!((0..10).all(|_| matches!(register(), Err(Refusal::Fault(_)))));
    assert!(matches!(register(), Err(Refusal::TooMany(_))));
}

#[test]
fn r15_a_workspace_that_overlaps_already_can_only_be_removed() {
    let fixture = ServerFixture::new();
    let (ada, bob) = (fixture.person("ada@example.com"), fixture.person("bob@example.com"));
    let server = &fixture.server;
    let at = |name: &str| fixture.folder.path().join(name).to_str().unwrap().to_owned();
    let add = |who: &Identity, folder: String| {
        *fixture.opener.allowed.lock().unwrap() = Some(folder.clone());
        server.add_workspace(who, &NewWorkspace { name: "P".to_owned(), folder: Some(folder) })
    };
    let first = add(&ada, at("p4")).unwrap();
    for taken in ["p4", "p4/inner", ""] {
        assert!(is_denied(add(&bob, at(taken))), "{taken:?}");
    }
    // As an older version would have let it happen.
    let older = WorkspaceRow { folder: Some(at("p4/inner")), ..first.clone() };
    let older = WorkspaceRow { id: WorkspaceId::new(fixture.world.as_ref()), ..older };
    let Identity::Person { person, .. } = &bob else { panic!("a person") };
    let audit = AuditEntry {
        at: older.created_at,
        actor: "test".to_owned(),
        action: "add workspace".to_owned(),
        detail: older.id.to_string(),
    };
    fixture.registry.add_workspace(&older, person.id, &audit).unwrap();
    let inside = |who: &Identity, row: &WorkspaceRow| {
        server.enter(who.clone(), row.id, Role::Owner).unwrap()
    };
    *fixture.opener.allowed.lock().unwrap() = Some(at("p4"));
    for entered in [inside(&ada, &first), inside(&bob, &older)] {
        assert!(is_denied(server.session(&entered)));
    }
    server.delete(&inside(&bob, &older)).unwrap();
    assert!(fixture.write(&server.session(&inside(&ada, &first)).unwrap(), "/a.txt"));
}

#[test]
fn folders_of_the_host_need_the_operators_permission_each_time() {
    let fixture = ServerFixture::new();
    let (ada, server) = (fixture.person("ada@example.com"), &fixture.server);
    let host = fixture.folder.path().join("project").to_str().unwrap().to_owned();
    let new = NewWorkspace { name: "Project".to_owned(), folder: Some(host.clone()) };
    assert!(is_denied(server.add_workspace(&ada, &new)));
    *fixture.opener.allowed.lock().unwrap() = Some(host.clone());
    let row = server.add_workspace(&ada, &new).unwrap();
    let entered = server.enter(ada, row.id, Role::Owner).unwrap();
    assert!(fixture.write(&server.session(&entered).unwrap(), "/a.txt"));
    assert!(PathBuf::from(&host).join("a.txt").exists());
    // Once it is closed, it opens again only if the operator still allows it.
    *fixture.opener.allowed.lock().unwrap() = None;
    let others: Vec<Entered> = (0..64).map(|_| fixture.workspace(&entered.identity)).collect();
    for other in &others {
        server.session(other).unwrap();
    }
    assert!(is_denied(server.session(&entered)));
}

#[test]
fn what_a_person_put_off_keeps_nothing_else_out_of_the_inbox() {
    let fixture = ServerFixture::new();
    let ada = fixture.person("ada@example.com");
    let session = fixture.server.session(&fixture.workspace(&ada)).unwrap();
    let chat = session.chats().make(&fixture.call(), "work", None).unwrap().id;
    let open = fixture.opener.alive.lock().unwrap().last().unwrap().upgrade().unwrap();
    let ask = || {
        let (id, at) = (ApprovalId::new(&*fixture.world), fixture.world.now());
        let request = ApprovalRequest {
            toolset: "workspace".to_owned(),
            tool: "rm".to_owned(),
            args: "{}".to_owned(),
            reason: "it removes".to_owned(),
            effect: "{}".to_owned(),
            diff: String::new(),
            state: ContentHash::of(b"state"),
            preset: "guarded".to_owned(),
            run: None,
            root: None,
        };
        let asked_by = "agent:local".to_owned();
        let asked = NewApproval { id, chat, asked_by, at, asked_in: None, request };
        let turn = NewTurn {
            at,
            actor: "agent:local".to_owned(),
            kind: TurnKind::Request,
            data: "{}".to_owned(),
            text: "may I\n".to_owned(),
        };
        let audit = AuditEntry::by_toolyard(at, "request approval", String::new());
        open.records.request(&asked, &turn, &audit).unwrap();
        id
    };
    let later = Timestamp::from_millis(fixture.world.now().as_millis() + 60 * MINUTE);
    // As many as are read of one workspace, all of them older.
    for _ in 0..1_000 {
        session.put_off(&fixture.call(), &ask().to_string(), Some(later)).unwrap();
    }
    let last = ask();
    let page = PageRequest { after: None, limit: 10 };
    let inbox = fixture.server.inbox(&ada, page, InboxPart::Now, &|_| true).unwrap();
    assert_eq!(inbox.entries.len(), 1);
    let WaitingRequest::Approval(row) = &inbox.entries[0].request else { panic!() };
    assert_eq!(row.id, last);
}
