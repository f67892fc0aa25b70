//! A server's house: who comes in, for how long, and which workspaces stay open. The registry, the
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
use yard_core::{Call, Fault, FaultCode, Limits, Result, Role, WorkspaceId, World};
use yard_dialects::Catalog;
use yard_disk::Resolution;
use yard_gate::admin::{
    AuthConfig, Entered, Identity, LoggedIn, NewKey, NewPerson, NewWorkspace, Opener, Refusal,
    Server,
};
use yard_gate::registry::WorkspaceRow;
use yard_gate::{OpenWorkspace, Session, TranscriptFiles};
use yard_kernel::{Opening, Workspace};
use yard_store::{AuditEntry, Registry as _, SqliteRegistry, SqliteStore};
use yard_testkit::FakeWorld;

const PASSWORD: &str = "correct horse battery staple";
const MINUTE: i64 = 60_000;

/// Opens real workspaces in a folder, and remembers which are open.
struct Rooms {
    home: PathBuf,
    world: Arc<FakeWorld>,
    /// The folder that the operator allows.
    allowed: Mutex<Option<String>>,
    opened: AtomicUsize,
    alive: Mutex<Vec<Weak<OpenWorkspace>>>,
}

impl Rooms {
    fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }

    fn still_open(&self) -> usize {
        let alive = self.alive.lock().unwrap();
        alive.iter().filter(|workspace| workspace.strong_count() > 0).count()
    }
}

/// The opener that a house owns, while a test keeps looking at the rooms.
struct Shared(Arc<Rooms>);

impl Opener for Shared {
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
        let rooms = &self.0;
        if let Some(folder) = &row.folder {
            self.admit_folder(folder)?;
        }
        rooms.opened.fetch_add(1, Ordering::Relaxed);
        let own = || rooms.home.join(row.id.to_string());
        let root = row.folder.as_ref().map_or_else(own, PathBuf::from);
        let state_dir = rooms.home.join(format!("{}.state", row.id));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(&state_dir).unwrap();
        let store = Arc::new(SqliteStore::open(&state_dir).unwrap());
        let workspace = Workspace::open(Opening {
            root: root.canonicalize().unwrap(),
            state_dir,
            store: Arc::clone(&store) as _,
            limits: Limits::default(),
            world: Arc::clone(&rooms.world) as _,
            probe: None,
            resolution: Resolution::Auto,
            virtual_files: Some(TranscriptFiles::new(Arc::clone(&store) as _)),
            boxed: None,
        })?;
        let open = OpenWorkspace::new(Arc::new(workspace), store, yard_dialects::CALLER_HINTS);
        rooms.alive.lock().unwrap().push(Arc::downgrade(&open));
        Ok(open)
    }
}

/// A house in a folder of its own.
struct Estate {
    house: Server,
    registry: Arc<SqliteRegistry>,
    rooms: Arc<Rooms>,
    world: Arc<FakeWorld>,
    folder: TempDir,
}

impl Estate {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let world = Arc::new(FakeWorld::new(3));
        let rooms = Arc::new(Rooms {
            home: folder.path().join("rooms"),
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
        let opener = Box::new(Shared(Arc::clone(&rooms)));
        let house = Server::new(Arc::clone(&registry) as _, opener, Arc::clone(&world) as _, auth);
        let house = house.unwrap_or_else(|refusal| panic!("{refusal:?}"));
        Self { house, registry, rooms, world, folder }
    }

    fn register(&self, email: &str) {
        let new = NewPerson {
            email: email.to_owned(),
            password: PASSWORD.to_owned(),
            confirm_password: None,
            full_name: None,
        };
        self.house.register(&new, "127.0.0.1").unwrap();
    }

    fn log_in(&self, email: &str) -> LoggedIn {
        self.house.log_in(email, PASSWORD, "127.0.0.1").unwrap()
    }

    fn person(&self, email: &str) -> Identity {
        self.register(email);
        self.house.identify(&self.log_in(email).access_token).unwrap()
    }

    fn workspace(&self, owner: &Identity) -> Entered {
        let new = NewWorkspace { name: "Work".to_owned(), folder: None };
        let row = self.house.add_workspace(owner, &new).unwrap();
        self.house.enter(owner.clone(), row.id, Role::Owner).unwrap()
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
fn wrong_passwords_are_limited_by_account() {
    let estate = Estate::new();
    estate.register("ada@example.com");
    estate.register("bob@example.com");
    let house = &estate.house;
    let tries = |email: &str, from: usize| {
        house.log_in(email, "a wrong password", &format!("10.0.0.{from}"))
    };
    let mut wrong = 0;
    // From another address each time: it is the account that is guarded.
    while is_unknown(tries(" ADA@example.com", wrong)) {
        wrong += 1;
        assert!(wrong < 100, "at most 100 within a minute");
    }
    assert!(wrong > 30, "more than one address can try by itself");
    let refused = house.log_in("ada@example.com", PASSWORD, "10.0.1.1");
    assert!(matches!(refused, Err(Refusal::TooMany(1..=60))), "the right one has to wait too");
    assert!(house.log_in("bob@example.com", PASSWORD, "10.0.1.1").is_ok(), "others need not");
    estate.world.advance_millis(MINUTE);
    assert!(house.log_in("ada@example.com", PASSWORD, "10.0.1.1").is_ok());
}

#[test]
fn wrong_passwords_are_limited_by_address() {
    let estate = Estate::new();
    estate.register("ada@example.com");
    let house = &estate.house;
    let mut wrong = 0;
    // Another account each time, most of which nobody has.
    while is_unknown(house.log_in(&format!("p{wrong}@example.com"), "a wrong password", "10.0.0.1"))
    {
        wrong += 1;
        assert!(wrong < 20, "at most 20 within a minute");
    }
    let from = |address| house.log_in("ada@example.com", PASSWORD, address);
    assert!(matches!(from("10.0.0.1"), Err(Refusal::TooMany(1..=60))));
    assert!(from("10.0.0.2").is_ok());
    estate.world.advance_millis(MINUTE);
    assert!(from("10.0.0.1").is_ok());
}

#[test]
fn one_address_cannot_keep_a_person_out() {
    let estate = Estate::new();
    estate.register("ada@example.com");
    let house = &estate.house;
    let tries = |address| house.log_in("ada@example.com", "a wrong password", address);
    let wrong = (0..40).take_while(|_| is_unknown(tries("10.0.0.1"))).count();
    assert!((5..20).contains(&wrong), "{wrong} tries");
    assert!(matches!(tries("10.0.0.1"), Err(Refusal::TooMany(1..=60))));
    assert!(house.log_in("ada@example.com", PASSWORD, "10.0.0.2").is_ok(), "she is elsewhere");
}

#[test]
fn tries_at_the_same_time_are_counted_before_they_are_looked_at() {
    let estate = Estate::new();
    estate.register("ada@example.com");
    let (house, all) = (&estate.house, Barrier::new(40));
    let looked_at = std::thread::scope(|scope| {
        let tries = (0..40).map(|_| {
            scope.spawn(|| {
                all.wait();
                is_unknown(house.log_in("ada@example.com", "a wrong password", "10.0.0.1"))
            })
        });
        let tries: Vec<_> = tries.collect();
        tries.into_iter().map(|one| one.join().unwrap()).filter(|looked_at| *looked_at).count()
    });
    assert!((1..20).contains(&looked_at), "{looked_at} of 40");
}

#[test]
fn good_logins_are_not_limited() {
    let estate = Estate::new();
    for nth in 0..21 {
        estate.register(&format!("p{nth}@example.com"));
        estate.log_in("p0@example.com");
    }
}

#[test]
fn tokens_end_and_are_renewed() {
    let estate = Estate::new();
    estate.register("ada@example.com");
    let house = &estate.house;
    let first = estate.log_in("ada@example.com");
    assert!(house.identify(&first.access_token).is_ok());
    estate.world.advance_millis(15 * MINUTE);
    assert!(is_unknown(house.identify(&first.access_token)));
    let second = house.refresh(&first.refresh_token).unwrap();
    assert!(house.identify(&second.access_token).is_ok());
    // One kind of token is never taken for the other.
    assert!(is_unknown(house.identify(&second.refresh_token)));
    assert!(is_unknown(house.refresh(&second.access_token)));
    estate.world.advance_millis(30 * 24 * 60 * MINUTE);
    assert!(is_unknown(house.refresh(&second.refresh_token)));
}

#[test]
fn a_refresh_token_that_comes_back_ends_its_login_and_is_audited() {
    let estate = Estate::new();
    estate.register("ada@example.com");
    let house = &estate.house;
    let (stolen, other) = (estate.log_in("ada@example.com"), estate.log_in("ada@example.com"));
    let renewed = house.refresh(&stolen.refresh_token).unwrap();
    assert!(is_unknown(house.refresh(&stolen.refresh_token)));
    for dead in [&stolen, &renewed] {
        assert!(is_unknown(house.identify(&dead.access_token)), "though its minutes are not over");
        assert!(is_unknown(house.refresh(&dead.refresh_token)));
    }
    assert!(house.identify(&other.access_token).is_ok());
    let rows = estate.registry.audit(0, 99).unwrap();
    let ended: Vec<_> = rows.iter().filter(|row| row.entry.action == "end login").collect();
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0].entry.actor, format!("person:{}", stolen.person.id));
}

#[test]
fn r13_audit_rows_of_people_hold_no_secret() {
    let estate = Estate::new();
    let ada = estate.person("ada@example.com");
    let entered = estate.workspace(&ada);
    let new = NewKey { name: "agent".to_owned(), role: Role::Member, chat: None, toolsets: all() };
    let key = estate.house.add_key(&entered, &new).unwrap();
    let login = estate.log_in("ada@example.com");
    let told = format!("{:?}", estate.registry.audit(0, 99).unwrap());
    for secret in [PASSWORD, "$argon2", "ada@", &key.key, &login.access_token, &login.refresh_token]
    {
        assert!(!told.contains(secret), "{secret} in {told}");
    }
}

#[test]
fn r14_a_key_is_bound_to_no_chat_of_another_workspace() {
    let estate = Estate::new();
    let ada = estate.person("ada@example.com");
    let (here, there) = (estate.workspace(&ada), estate.workspace(&ada));
    let elsewhere = estate.house.session(&there).unwrap();
    let chat = elsewhere.chats().make(&estate.call(), "There", None).unwrap().id;
    let new =
        NewKey { name: "agent".to_owned(), role: Role::Member, chat: Some(chat), toolsets: all() };
    assert!(estate.house.add_key(&here, &new).is_err());
    assert!(estate.house.add_key(&there, &new).is_ok());
}

#[test]
fn r14_a_key_that_is_bound_to_a_chat_never_speaks_outside_of_it() {
    let estate = Estate::new();
    let ada = estate.person("ada@example.com");
    let entered = estate.workspace(&ada);
    let (house, call) = (&estate.house, estate.call());
    let session = house.session(&entered).unwrap();
    let own = session.chats().make(&call, "Own", None).unwrap();
    let other = session.chats().make(&call, "Other", None).unwrap();
    let new = NewKey {
        name: "agent".to_owned(),
        role: Role::Member,
        chat: Some(own.id),
        toolsets: all(),
    };
    let key = house.add_key(&entered, &new).unwrap();

    let agent = house.identify(&key.key).unwrap();
    let inside = house.enter(agent, entered.workspace, Role::Viewer).unwrap();
    let bound = house.session(&inside).unwrap();
    assert_eq!(bound.chat(), Some(own.id));
    assert!(estate.write(&bound, "/a.txt"));
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
fn idle_workspaces_are_closed_when_many_are_open() {
    let estate = Estate::new();
    let ada = estate.person("ada@example.com");
    let rooms: Vec<Entered> = (0..70).map(|_| estate.workspace(&ada)).collect();
    // Somebody stays in the first one, though it was entered longest ago.
    let inside = estate.house.session(&rooms[0]).unwrap();
    for entered in &rooms[1..] {
        estate.house.session(entered).unwrap();
    }
    assert_eq!(estate.rooms.opened(), 70);
    assert_eq!(estate.rooms.still_open(), 64);
    assert!(estate.write(&inside, "/still.txt"));
    estate.house.session(&rooms[0]).unwrap();
    assert_eq!(estate.rooms.opened(), 70, "the one that somebody is in was not opened again");
    // The second was closed; it opens again with everything that was in it.
    assert!(estate.write(&estate.house.session(&rooms[1]).unwrap(), "/again.txt"));
    assert_eq!((estate.rooms.opened(), estate.rooms.still_open()), (71, 64));
}

#[test]
fn workspaces_that_are_in_use_stay_open_however_many() {
    let estate = Estate::new();
    let ada = estate.person("ada@example.com");
    let sessions: Vec<Session> =
        (0..66).map(|_| estate.house.session(&estate.workspace(&ada)).unwrap()).collect();
    assert_eq!(estate.rooms.still_open(), 66);
    assert!(sessions.iter().all(|session| estate.write(session, "/a.txt")));
}

#[test]
fn two_callers_open_a_workspace_once() {
    let estate = Estate::new();
    let ada = estate.person("ada@example.com");
    for _ in 0..5 {
        let (entered, before) = (estate.workspace(&ada), estate.rooms.opened());
        let barrier = Barrier::new(8);
        std::thread::scope(|scope| {
            for nth in 0..8 {
                let (estate, entered, barrier) = (&estate, &entered, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let session = estate.house.session(entered).unwrap();
                    assert!(estate.write(&session, &format!("/{nth}.txt")));
                });
            }
        });
        assert_eq!(estate.rooms.opened(), before + 1);
    }
}

#[test]
fn a_workspace_that_is_deleted_lets_nobody_in_and_keeps_its_files() {
    let estate = Estate::new();
    let (ada, house) = (estate.person("ada@example.com"), &estate.house);
    let entered = estate.workspace(&ada);
    let new = NewKey { name: "agent".to_owned(), role: Role::Member, chat: None, toolsets: all() };
    let key = house.add_key(&entered, &new).unwrap();
    let inside = house.session(&entered).unwrap();
    assert!(estate.write(&inside, "/before.txt"));
    house.delete(&entered).unwrap();

    // Who is inside finishes what was begun; who comes by an old permit, by a key or anew, does not.
    assert!(estate.write(&inside, "/under way.txt"));
    assert!(is_denied(house.session(&entered)));
    assert!(is_denied(house.enter(ada, entered.workspace, Role::Viewer)));
    assert!(is_unknown(house.identify(&key.key)));
    assert!(is_denied(house.delete(&entered)));
    assert!(house.add_key(&entered, &new).is_err());
    drop(inside);
    assert_eq!(estate.rooms.still_open(), 0);
    let files = estate.folder.path().join("rooms").join(entered.workspace.to_string());
    assert!(files.join("before.txt").exists() && files.join("under way.txt").exists());
}

#[test]
fn g16_nobody_learns_of_many_accounts_in_a_minute() {
    let estate = Estate::new();
    let ada = estate.person("ada@example.com");
    let entered = estate.workspace(&ada);
    let asks = |nth: usize| {
        let email = format!("nobody-{nth}@example.com");
        estate.house.add_member(&entered, &email, Role::Viewer)
    };
    let told = (0..30).filter(|nth| matches!(asks(*nth), Err(Refusal::Fault(_)))).count();
    assert_eq!(told, 10);
    assert!(matches!(asks(31), Err(Refusal::TooMany(_))));
    let again = NewPerson {
        email: "ada@example.com".to_owned(),
        password: PASSWORD.to_owned(),
        confirm_password: None,
        full_name: None,
    };
    let register = || estate.house.register(&again, "192.0.2.7");
    assert!((0..10).all(|_| matches!(register(), Err(Refusal::Fault(_)))));
    assert!(matches!(register(), Err(Refusal::TooMany(_))));
}

#[test]
fn r15_a_workspace_that_overlaps_already_can_only_be_removed() {
    let estate = Estate::new();
    let (ada, bob) = (estate.person("ada@example.com"), estate.person("bob@example.com"));
    let house = &estate.house;
    let at = |name: &str| estate.folder.path().join(name).to_str().unwrap().to_owned();
    let add = |who: &Identity, folder: String| {
        *estate.rooms.allowed.lock().unwrap() = Some(folder.clone());
        house.add_workspace(who, &NewWorkspace { name: "P".to_owned(), folder: Some(folder) })
    };
    let first = add(&ada, at("p4")).unwrap();
    for taken in ["p4", "p4/inner", ""] {
        assert!(is_denied(add(&bob, at(taken))), "{taken:?}");
    }
    // As an older version would have let it happen.
    let older = WorkspaceRow { folder: Some(at("p4/inner")), ..first.clone() };
    let older = WorkspaceRow { id: WorkspaceId::new(estate.world.as_ref()), ..older };
    let Identity::Person { person, .. } = &bob else { panic!("a person") };
    let audit = AuditEntry {
        at: older.created_at,
        actor: "test".to_owned(),
        action: "add workspace".to_owned(),
        detail: older.id.to_string(),
    };
    estate.registry.add_workspace(&older, person.id, &audit).unwrap();
    let inside =
        |who: &Identity, row: &WorkspaceRow| house.enter(who.clone(), row.id, Role::Owner).unwrap();
    *estate.rooms.allowed.lock().unwrap() = Some(at("p4"));
    for entered in [inside(&ada, &first), inside(&bob, &older)] {
        assert!(is_denied(house.session(&entered)));
    }
    house.delete(&inside(&bob, &older)).unwrap();
    assert!(estate.write(&house.session(&inside(&ada, &first)).unwrap(), "/a.txt"));
}

#[test]
fn folders_of_the_host_need_the_operators_word_each_time() {
    let estate = Estate::new();
    let (ada, house) = (estate.person("ada@example.com"), &estate.house);
    let host = estate.folder.path().join("project").to_str().unwrap().to_owned();
    let new = NewWorkspace { name: "Project".to_owned(), folder: Some(host.clone()) };
    assert!(is_denied(house.add_workspace(&ada, &new)));
    *estate.rooms.allowed.lock().unwrap() = Some(host.clone());
    let row = house.add_workspace(&ada, &new).unwrap();
    let entered = house.enter(ada, row.id, Role::Owner).unwrap();
    assert!(estate.write(&house.session(&entered).unwrap(), "/a.txt"));
    assert!(PathBuf::from(&host).join("a.txt").exists());
    // Once it is closed, it opens again only if the operator still allows it.
    *estate.rooms.allowed.lock().unwrap() = None;
    let others: Vec<Entered> = (0..64).map(|_| estate.workspace(&entered.identity)).collect();
    for other in &others {
        house.session(other).unwrap();
    }
    assert!(is_denied(house.session(&entered)));
}
