//! What every registry promises, one case a promise. A case is given a new, empty registry.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;

use yard_core::{ChatId, KeyId, LoginId, Role, Timestamp, UserId, WorkspaceId, World};
use yard_store::registry::{
    Claim, KeyRow, MemberChange, NewRefresh, Retry, Rotation, SecretHash, UserRow, WorkspaceRow,
};
use yard_store::{AuditEntry, Registry};

use crate::FakeWorld;

/// One promise.
pub type RegistryCase = (&'static str, fn(&dyn Registry, &FakeWorld));

/// All promises.
pub const CASES: &[RegistryCase] = &[
    ("an empty registry knows nobody", empty),
    ("an address has one account", addresses),
    ("of many who want one address one gets it", addresses_at_once),
    ("a refresh token is good once, and its copy ends the login", rotation),
    ("a refresh token ends", expiry),
    ("of many who present one token one gets the next", rotation_at_once),
    ("a refresh token is never given twice", taken_tokens),
    ("an ended login stays ended, and is noted once", ended_logins),
    ("ending one login leaves the others", other_logins),
    ("a person sees the logins that have not ended, and ends their own", listed_logins),
    ("a new password ends all other logins", passwords),
    ("a workspace reads back, is renamed, and is gone when deleted", workspaces),
    ("nobody and nothing is in a deleted workspace", deleted_workspaces),
    ("members come once, change and go", members),
    ("nobody is a member of nothing", strangers),
    ("a workspace keeps its last owner", last_owner),
    ("a workspace keeps an owner when all leave at once", last_owner_at_once),
    ("a key opens until it is revoked, from its own workspace only", keys),
    ("keys go with the owner who made them", keys_of_former_owners),
    ("answers about a workspace can be forgotten", forgotten_answers),
    ("lists are read in pages", pages),
    ("a request under a key is begun once and answered once", claims),
    ("of many who begin one request one does it", claims_at_once),
    ("requests of others, and other requests, are told apart", other_claims),
    ("an old request is forgotten, however many there are", forgotten_claims),
    ("a late answer is never another request's", late_answers),
    ("every change leaves one row in an unbroken chain", audited),
    ("what did not happen leaves no row", nothing_audited),
];

/// Runs every case on a registry of its own, and panics with the names of those that failed.
pub fn suite(open: &dyn Fn() -> Box<dyn Registry>) {
    let mut failed = Vec::new();
    for (promise, case) in CASES {
        let registry = open();
        let run = || case(registry.as_ref(), &FakeWorld::new(7));
        if catch_unwind(AssertUnwindSafe(run)).is_err() {
            failed.push(*promise);
        }
    }
    assert!(failed.is_empty(), "broken promises: {failed:#?}");
}

/// What is known survives closing and opening: `open` opens the same registry each time.
pub fn survives(open: &dyn Fn() -> Box<dyn Registry>) {
    let world = FakeWorld::new(9);
    let registry = open();
    let ada = person(registry.as_ref(), &world, "ada@example.com");
    let workspace = workspace(registry.as_ref(), &world, &ada);
    let login = log_in(registry.as_ref(), &world, &ada, 1);
    let key = add_key(registry.as_ref(), &world, &workspace, &ada, 9);
    let retry = retry("person:ada", "k", 1);
    assert_eq!(registry.claim(retry, world.now(), long_ago()).unwrap(), Claim::New);
    let rows = registry.audit(0, 100).unwrap();
    drop(registry);

    let again = open();
    let registry = again.as_ref();
    assert_eq!(registry.person(login).unwrap(), Some(ada.clone()));
    assert_eq!(registry.workspaces_of(ada.id, None, 9).unwrap(), [(workspace, Role::Owner)]);
    assert_eq!(registry.key_by_secret(&secret(9)).unwrap(), Some(key));
    let known = registry.claim(retry, world.now(), long_ago()).unwrap();
    assert!(matches!(known, Claim::Begun { .. }), "{known:?}");
    assert_eq!(registry.audit(0, 100).unwrap(), rows);
    registry.end_login(login, &audit(&world, "logout")).unwrap();
    check_chain(registry, rows.len() + 1);
}

/// Two handles on one registry, as of two processes: what must be one is one.
pub fn shared(one: &dyn Registry, two: &dyn Registry) {
    let world = FakeWorld::new(8);
    let ada = person(one, &world, "ada@example.com");
    log_in(one, &world, &ada, 1);
    let rotated =
        at_once(16, |nth| rotate(if nth % 2 == 0 { one } else { two }, &world, 1, 10 + nth as u8));
    assert_eq!(count_rotated(&rotated), 1, "{rotated:?}");
    at_once(16, |nth| {
        let registry = if nth % 2 == 0 { one } else { two };
        person(registry, &world, &format!("p{nth}@example.com"));
    });
    check_chain(two, 19);
}

fn audit(world: &FakeWorld, action: &str) -> AuditEntry {
    let (actor, detail) = ("person:test".to_owned(), String::new());
    AuditEntry { at: world.now(), actor, action: action.to_owned(), detail }
}

fn user(world: &FakeWorld, email: &str) -> UserRow {
    UserRow {
        id: UserId::new(world),
        email: email.to_owned(),
        full_name: Some("Ada".to_owned()),
        password: "$argon2id$...".to_owned(),
        created_at: world.now(),
    }
}

fn person(registry: &dyn Registry, world: &FakeWorld, email: &str) -> UserRow {
    let row = user(world, email);
    assert!(registry.add_user(&row, &audit(world, "register")).unwrap());
    row
}

fn secret(byte: u8) -> SecretHash {
    [byte; 32]
}

fn fresh(world: &FakeWorld, byte: u8) -> NewRefresh {
    let expires_at = Timestamp::from_millis(world.now().as_millis() + 3_600_000);
    NewRefresh { secret: secret(byte), expires_at }
}

fn log_in(registry: &dyn Registry, world: &FakeWorld, user: &UserRow, byte: u8) -> LoginId {
    let login = LoginId::new(world);
    registry
        .add_login(login, user.id, Some("a browser"), fresh(world, byte), &audit(world, "login"))
        .unwrap();
    login
}

fn workspace(registry: &dyn Registry, world: &FakeWorld, owner: &UserRow) -> WorkspaceRow {
    let now = world.now();
    let row = WorkspaceRow {
        id: WorkspaceId::new(world),
        name: "Work".to_owned(),
        folder: None,
        created_at: now,
        updated_at: now,
    };
    registry.add_workspace(&row, owner.id, &audit(world, "add workspace")).unwrap();
    row
}

fn key_row(world: &FakeWorld, workspace: &WorkspaceRow, maker: &UserRow) -> KeyRow {
    KeyRow {
        id: KeyId::new(world),
        workspace: workspace.id,
        name: "agent".to_owned(),
        role: Role::Member,
        chat: Some(ChatId::new(world)),
        toolsets: Some(vec!["coder".to_owned(), "file".to_owned()]),
        made_by: maker.id,
        created_at: world.now(),
    }
}

fn add_key(
    registry: &dyn Registry,
    world: &FakeWorld,
    workspace: &WorkspaceRow,
    maker: &UserRow,
    byte: u8,
) -> KeyRow {
    let row = key_row(world, workspace, maker);
    registry.add_key(&row, &secret(byte), &audit(world, "add key")).unwrap();
    row
}

fn retry<'a>(actor: &'a str, key: &'a str, fingerprint: u8) -> Retry<'a> {
    Retry { actor, key, fingerprint: secret(fingerprint), workspace: None }
}

fn long_ago() -> Timestamp {
    Timestamp::from_millis(0)
}

/// Does something on many threads, all of which begin together.
fn at_once<T: Send>(threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let (barrier, work) = (Barrier::new(threads), &work);
    std::thread::scope(|scope| {
        let barrier = &barrier;
        let begun: Vec<_> = (0..threads)
            .map(|nth| {
                scope.spawn(move || {
                    barrier.wait();
                    work(nth)
                })
            })
            .collect();
        begun.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Presents one token and wants another in its place.
fn rotate(registry: &dyn Registry, world: &FakeWorld, old: u8, new: u8) -> Rotation {
    let reused = audit(world, "reuse");
    registry.rotate(&secret(old), fresh(world, new), &reused).unwrap()
}

fn count_rotated(rotations: &[Rotation]) -> usize {
    rotations.iter().filter(|rotation| matches!(rotation, Rotation::Rotated { .. })).count()
}

/// That there are so many rows, numbered from 1, each with the hash that follows from those before.
fn check_chain(registry: &dyn Registry, rows: usize) {
    let mut hash = [0; 32];
    let chained = registry.audit(0, 1_000).unwrap();
    assert_eq!(chained.len(), rows, "{chained:#?}");
    for (row, number) in chained.iter().zip(1..) {
        hash = row.expected_hash(&hash);
        assert_eq!((row.number, row.hash), (number, hash));
    }
}

fn empty(registry: &dyn Registry, world: &FakeWorld) {
    let (nobody, nowhere) = (UserId::new(world), WorkspaceId::new(world));
    assert_eq!(registry.user_by_email("ada@example.com").unwrap(), None);
    assert_eq!(registry.person(LoginId::new(world)).unwrap(), None);
    assert_eq!(registry.login_of(&secret(1)).unwrap(), None);
    assert_eq!(rotate(registry, world, 1, 2), Rotation::Dead);
    assert_eq!(registry.workspace(nowhere).unwrap(), None);
    assert!(registry.workspaces_of(nobody, None, 9).unwrap().is_empty());
    assert!(registry.members(nowhere, None, 9).unwrap().is_empty());
    assert!(registry.keys(nowhere, None, 9).unwrap().is_empty());
    assert_eq!(registry.key_by_secret(&secret(1)).unwrap(), None);
    assert!(registry.audit(0, 9).unwrap().is_empty());
}

fn addresses(registry: &dyn Registry, world: &FakeWorld) {
    let ada = person(registry, world, "ada@example.com");
    let other = user(world, "ada@example.com");
    assert!(!registry.add_user(&other, &audit(world, "register")).unwrap());
    assert_eq!(registry.user_by_email("ada@example.com").unwrap(), Some(ada));
    assert_eq!(registry.user_by_email("ada@example.co").unwrap(), None);
    assert_eq!(registry.user_by_email("%").unwrap(), None);
    let unnamed = UserRow { full_name: None, ..user(world, "b@example.com") };
    assert!(registry.add_user(&unnamed, &audit(world, "register")).unwrap());
    assert_eq!(registry.user_by_email("b@example.com").unwrap(), Some(unnamed));
}

fn addresses_at_once(registry: &dyn Registry, world: &FakeWorld) {
    let added = at_once(8, |_| {
        let row = user(world, "ada@example.com");
        registry.add_user(&row, &audit(world, "register")).unwrap()
    });
    assert_eq!(added.iter().filter(|added| **added).count(), 1);
    check_chain(registry, 1);
}

fn rotation(registry: &dyn Registry, world: &FakeWorld) {
    let ada = person(registry, world, "ada@example.com");
    let login = log_in(registry, world, &ada, 1);
    let rotate = |old, new| rotate(registry, world, old, new);
    assert_eq!(rotate(1, 2), Rotation::Rotated { login, user: ada.id });
    assert_eq!(rotate(2, 3), Rotation::Rotated { login, user: ada.id });
    for known in [1, 2, 3] {
        assert_eq!(registry.login_of(&secret(known)).unwrap(), Some((login, ada.id)));
    }
    check_chain(registry, 2);
    // A copy of the first one turns up: the newest is worth nothing either, and that is noted.
    assert_eq!(rotate(1, 4), Rotation::Reused { login });
    check_chain(registry, 3);
    assert_eq!(registry.audit(2, 9).unwrap()[0].entry.action, "reuse");
    assert_eq!(rotate(3, 5), Rotation::Dead);
    assert_eq!(registry.person(login).unwrap(), None);
    // What was to stand in the place of a refused one never was given.
    for never in [4, 5] {
        assert_eq!(registry.login_of(&secret(never)).unwrap(), None);
        assert_eq!(rotate(never, 6), Rotation::Dead);
    }
}

fn expiry(registry: &dyn Registry, world: &FakeWorld) {
    let ada = person(registry, world, "ada@example.com");
    let login = LoginId::new(world);
    let ends = Timestamp::from_millis(world.now().as_millis() + 1_000);
    let refresh = NewRefresh { secret: secret(1), expires_at: ends };
    registry.add_login(login, ada.id, None, refresh, &audit(world, "login")).unwrap();
    let rotate = |old, new, at| {
        let reused = AuditEntry { at, ..audit(world, "reuse") };
        registry.rotate(&secret(old), fresh(world, new), &reused).unwrap()
    };
    assert_eq!(rotate(1, 2, ends), Rotation::Dead);
    let just_before = Timestamp::from_millis(ends.as_millis() - 1);
    assert_eq!(rotate(1, 2, just_before), Rotation::Rotated { login, user: ada.id });
    // One that ran out before it was copied harms nobody.
    assert_eq!(rotate(1, 3, ends), Rotation::Dead);
    assert!(registry.person(login).unwrap().is_some());
    // The next login deletes what has expired.
    world.advance_millis(2_000);
    log_in(registry, world, &ada, 7);
    let is_known = |nth| registry.login_of(&secret(nth)).unwrap().is_some();
    assert_eq!([1, 2, 7].map(is_known), [false, true, true]);
}

fn rotation_at_once(registry: &dyn Registry, world: &FakeWorld) {
    let ada = person(registry, world, "ada@example.com");
    let login = log_in(registry, world, &ada, 1);
    let rotations = at_once(16, |nth| rotate(registry, world, 1, 10 + nth as u8));
    assert_eq!(count_rotated(&rotations), 1, "{rotations:?}");
    let reused = rotations.iter().filter(|one| **one == Rotation::Reused { login }).count();
    // The second one ends the login; for those after it the login has ended.
    assert_eq!(reused, 1, "{rotations:?}");
    assert_eq!(registry.person(login).unwrap(), None);
}

fn taken_tokens(registry: &dyn Registry, world: &FakeWorld) {
    let (ada, bob) = (person(registry, world, "a@x"), person(registry, world, "b@x"));
    let login = log_in(registry, world, &ada, 1);
    log_in(registry, world, &bob, 2);
    for taken in [2, 1] {
        let reused = audit(world, "reuse");
        assert!(registry.rotate(&secret(1), fresh(world, taken), &reused).is_err());
    }
    // What failed did nothing: the first one is still good.
    assert_eq!(rotate(registry, world, 1, 3), Rotation::Rotated { login, user: ada.id });
}

fn ended_logins(registry: &dyn Registry, world: &FakeWorld) {
    let ada = person(registry, world, "ada@example.com");
    let login = log_in(registry, world, &ada, 1);
    assert_eq!(registry.person(login).unwrap(), Some(ada));
    registry.end_login(login, &audit(world, "logout")).unwrap();
    assert_eq!(registry.person(login).unwrap(), None);
    assert_eq!(rotate(registry, world, 1, 2), Rotation::Dead);
    check_chain(registry, 3);
    // Who holds an old token cannot fill the audit chain with it.
    registry.end_login(login, &audit(world, "logout")).unwrap();
    registry.end_login(LoginId::new(world), &audit(world, "logout")).unwrap();
    check_chain(registry, 3);
}

fn listed_logins(registry: &dyn Registry, world: &FakeWorld) {
    let (ada, bob) = (person(registry, world, "a@x"), person(registry, world, "b@x"));
    let began = world.now();
    let one = log_in(registry, world, &ada, 1);
    world.advance_millis(1_000);
    let two = log_in(registry, world, &ada, 2);
    let others = log_in(registry, world, &bob, 3);
    world.advance_millis(1_000);
    rotate(registry, world, 1, 4);
    let listed = |before, limit| registry.logins(ada.id, world.now(), before, limit).unwrap();
    let all = listed(None, 9);
    assert_eq!(all.iter().map(|login| login.id).collect::<Vec<_>>(), [two, one]);
    let since = |time: Timestamp| time.as_millis() - began.as_millis();
    let times: Vec<_> =
        all.iter().map(|login| (since(login.created_at), since(login.last_used_at))).collect();
    // The clock goes on by itself, a millisecond at a time.
    assert!((1_000..1_900).contains(&times[0].0) && (1_000..1_900).contains(&times[0].1));
    assert!((0..900).contains(&times[1].0) && times[1].1 >= 2_000, "it was renewed: {times:?}");
    assert_eq!(all[0].user_agent.as_deref(), Some("a browser"));
    assert_eq!((listed(None, 1), listed(Some(two), 9)), (all[..1].to_vec(), all[1..].to_vec()));
    let end = |login| registry.end_login_of(ada.id, login, &audit(world, "end login")).unwrap();
    let before = rows(registry);
    assert!(!end(others) && !end(LoginId::new(world)), "none of theirs");
    assert_eq!(rows(registry), before, "what did not happen leaves no row");
    assert!(end(two) && !end(two));
    assert_eq!(rows(registry), before + 1);
    assert_eq!(listed(None, 9), all[1..]);
    assert!(registry.person(others).unwrap().is_some());
    // One that cannot be renewed any more is over.
    world.advance_millis(7_200_000);
    assert_eq!(listed(None, 9), []);
}

fn rows(registry: &dyn Registry) -> usize {
    registry.audit(0, 99).unwrap().len()
}

fn passwords(registry: &dyn Registry, world: &FakeWorld) {
    let (ada, bob) = (person(registry, world, "a@x"), person(registry, world, "b@x"));
    let [kept, ended, others] =
        [(&ada, 1), (&ada, 2), (&bob, 3)].map(|(user, byte)| log_in(registry, world, user, byte));
    let change = |old: &str, new: &str| {
        let entry = audit(world, "change password");
        registry.change_password(ada.id, old, new, kept, &entry).unwrap()
    };
    assert!(!change("another", "new"));
    assert!(registry.person(ended).unwrap().is_some(), "nothing happened");
    assert!(change(&ada.password, "new"));
    assert_eq!(registry.user_by_email("a@x").unwrap().unwrap().password, "new");
    assert_eq!(registry.user_by_email("b@x").unwrap().unwrap().password, bob.password);
    let is_open = |login| registry.person(login).unwrap().is_some();
    assert_eq!([kept, ended, others].map(is_open), [true, false, true]);
    assert_eq!(rotate(registry, world, 2, 9), Rotation::Dead);
    assert!(!change(&ada.password, "newer"), "it is another one by now");
}

fn other_logins(registry: &dyn Registry, world: &FakeWorld) {
    let ada = person(registry, world, "ada@example.com");
    let (one, two) = (log_in(registry, world, &ada, 1), log_in(registry, world, &ada, 2));
    registry.end_login(one, &audit(world, "logout")).unwrap();
    assert_eq!(registry.person(two).unwrap(), Some(ada.clone()));
    assert_eq!(rotate(registry, world, 2, 3), Rotation::Rotated { login: two, user: ada.id });
}

fn workspaces(registry: &dyn Registry, world: &FakeWorld) {
    let ada = person(registry, world, "ada@example.com");
    let workspace = workspace(registry, world, &ada);
    assert_eq!(registry.workspace(workspace.id).unwrap(), Some(workspace.clone()));
    assert_eq!(registry.role_of(workspace.id, ada.id).unwrap(), Some(Role::Owner));
    let renaming = audit(world, "rename workspace");
    assert!(registry.rename_workspace(workspace.id, "Play", &renaming).unwrap());
    let renamed =
        WorkspaceRow { name: "Play".to_owned(), updated_at: renaming.at, ..workspace.clone() };
    assert_eq!(registry.workspace(workspace.id).unwrap(), Some(renamed.clone()));
    assert_eq!(registry.workspaces_of(ada.id, None, 9).unwrap(), [(renamed, Role::Owner)]);
    assert!(registry.delete_workspace(workspace.id, &audit(world, "delete workspace")).unwrap());
    assert!(!registry.delete_workspace(workspace.id, &audit(world, "delete workspace")).unwrap());
    assert!(!registry.rename_workspace(workspace.id, "Back", &audit(world, "rename")).unwrap());
    assert_eq!(registry.workspace(workspace.id).unwrap(), None);
    assert!(registry.workspaces_of(ada.id, None, 9).unwrap().is_empty());
}

fn deleted_workspaces(registry: &dyn Registry, world: &FakeWorld) {
    let (ada, bob) = (person(registry, world, "a@x"), person(registry, world, "b@x"));
    let workspace = workspace(registry, world, &ada);
    add_key(registry, world, &workspace, &ada, 1);
    assert!(registry.delete_workspace(workspace.id, &audit(world, "delete workspace")).unwrap());
    assert_eq!(registry.role_of(workspace.id, ada.id).unwrap(), None);
    assert!(registry.members(workspace.id, None, 9).unwrap().is_empty());
    assert!(registry.keys(workspace.id, None, 9).unwrap().is_empty());
    assert_eq!(registry.key_by_secret(&secret(1)).unwrap(), None);
    // Who was let in before it was deleted comes too late.
    assert!(!registry.add_member(workspace.id, bob.id, Role::Owner, &audit(world, "add")).unwrap());
    let change =
        registry.change_member(workspace.id, ada.id, None, &audit(world, "remove")).unwrap();
    assert_eq!(change, MemberChange::NoMember);
    assert!(
        registry
            .add_key(&key_row(world, &workspace, &ada), &secret(2), &audit(world, "k"))
            .is_err()
    );
    assert_eq!(registry.key_by_secret(&secret(2)).unwrap(), None);
}

fn members(registry: &dyn Registry, world: &FakeWorld) {
    let (ada, bob) = (person(registry, world, "a@x"), person(registry, world, "b@x"));
    let (workspace, other) = (workspace(registry, world, &ada), workspace(registry, world, &ada));
    let adding = audit(world, "add member");
    assert!(registry.add_member(workspace.id, bob.id, Role::Viewer, &adding).unwrap());
    assert!(!registry.add_member(workspace.id, bob.id, Role::Owner, &audit(world, "add")).unwrap());
    assert_eq!(registry.role_of(workspace.id, bob.id).unwrap(), Some(Role::Viewer));
    assert_eq!(registry.role_of(other.id, bob.id).unwrap(), None);
    let listed = registry.members(workspace.id, None, 9).unwrap();
    let bobs = listed.iter().find(|row| row.user == bob.id).unwrap();
    assert_eq!((bobs.email.as_str(), bobs.role, bobs.since), ("b@x", Role::Viewer, adding.at));
    let change =
        |role| registry.change_member(workspace.id, bob.id, role, &audit(world, "change")).unwrap();
    assert_eq!(change(Some(Role::Member)), MemberChange::Done(Vec::new()));
    assert_eq!(registry.role_of(workspace.id, bob.id).unwrap(), Some(Role::Member));
    assert_eq!(change(None), MemberChange::Done(Vec::new()));
    assert_eq!(registry.role_of(workspace.id, bob.id).unwrap(), None);
    assert_eq!(change(None), MemberChange::NoMember);
    assert_eq!(change(Some(Role::Owner)), MemberChange::NoMember);
    assert_eq!(registry.role_of(workspace.id, bob.id).unwrap(), None);
}

fn strangers(registry: &dyn Registry, world: &FakeWorld) {
    let ada = person(registry, world, "ada@example.com");
    let workspace = workspace(registry, world, &ada);
    let rows = registry.audit(0, 99).unwrap().len();
    let (nobody, nowhere) = (UserId::new(world), WorkspaceId::new(world));
    let entry = audit(world, "add member");
    assert!(registry.add_member(workspace.id, nobody, Role::Owner, &entry).is_err());
    assert!(!registry.add_member(nowhere, ada.id, Role::Owner, &entry).unwrap());
    assert!(
        registry.add_login(LoginId::new(world), nobody, None, fresh(world, 1), &entry).is_err()
    );
    let homeless = WorkspaceRow { id: nowhere, ..workspace.clone() };
    assert!(registry.add_workspace(&homeless, nobody, &entry).is_err());
    assert_eq!(registry.workspace(nowhere).unwrap(), None);
    assert!(registry.add_workspace(&workspace, ada.id, &entry).is_err());
    check_chain(registry, rows);
}

fn last_owner(registry: &dyn Registry, world: &FakeWorld) {
    let (ada, bob) = (person(registry, world, "a@x"), person(registry, world, "b@x"));
    let workspace = workspace(registry, world, &ada);
    assert!(registry.add_member(workspace.id, bob.id, Role::Member, &audit(world, "add")).unwrap());
    let change = |user: &UserRow, role| {
        registry.change_member(workspace.id, user.id, role, &audit(world, "change")).unwrap()
    };
    for role in [None, Some(Role::Member), Some(Role::Viewer)] {
        assert_eq!(change(&ada, role), MemberChange::LastOwner);
        assert_eq!(registry.role_of(workspace.id, ada.id).unwrap(), Some(Role::Owner));
    }
    assert_eq!(change(&ada, Some(Role::Owner)), MemberChange::Done(Vec::new()));
    assert_eq!(change(&bob, Some(Role::Owner)), MemberChange::Done(Vec::new()));
    assert_eq!(change(&ada, None), MemberChange::Done(Vec::new()));
    assert_eq!(change(&bob, None), MemberChange::LastOwner);
}

fn last_owner_at_once(registry: &dyn Registry, world: &FakeWorld) {
    let ada = person(registry, world, "ada@example.com");
    let workspace = workspace(registry, world, &ada);
    let mut owners = vec![ada];
    for nth in 1..8 {
        let next = person(registry, world, &format!("p{nth}@x"));
        assert!(
            registry.add_member(workspace.id, next.id, Role::Owner, &audit(world, "add")).unwrap()
        );
        owners.push(next);
    }
    let left = at_once(8, |nth| {
        let role = if nth % 2 == 0 { None } else { Some(Role::Viewer) };
        registry.change_member(workspace.id, owners[nth].id, role, &audit(world, "leave")).unwrap()
    });
    assert_eq!(left.iter().filter(|change| **change == MemberChange::LastOwner).count(), 1);
    let owns =
        |row: &&UserRow| registry.role_of(workspace.id, row.id).unwrap() == Some(Role::Owner);
    assert_eq!(owners.iter().filter(owns).count(), 1);
}

fn keys(registry: &dyn Registry, world: &FakeWorld) {
    let ada = person(registry, world, "ada@example.com");
    let (workspace, other) = (workspace(registry, world, &ada), workspace(registry, world, &ada));
    let key = add_key(registry, world, &workspace, &ada, 1);
    assert_eq!(registry.key_by_secret(&secret(1)).unwrap(), Some(key.clone()));
    assert_eq!(registry.keys(workspace.id, None, 9).unwrap(), std::slice::from_ref(&key));
    assert!(registry.keys(other.id, None, 9).unwrap().is_empty());
    let elsewhere = add_key(registry, world, &other, &ada, 7);
    let all = [(key.clone(), workspace.name.clone()), (elsewhere.clone(), other.name.clone())];
    assert_eq!(registry.all_keys(None, 9).unwrap(), all);
    assert_eq!(registry.all_keys(Some(key.id), 9).unwrap(), all[1..]);
    assert_eq!(registry.all_keys(None, 1).unwrap(), all[..1]);
    assert!(registry.revoke_key(other.id, elsewhere.id, &audit(world, "revoke key")).unwrap());
    assert_eq!(registry.all_keys(None, 9).unwrap(), all[..1]);
    let copy = key_row(world, &other, &ada);
    assert!(registry.add_key(&copy, &secret(1), &audit(world, "add key")).is_err());
    let revoke = |workspace: WorkspaceId| {
        registry.revoke_key(workspace, key.id, &audit(world, "revoke key")).unwrap()
    };
    assert!(!revoke(other.id));
    assert!(registry.key_by_secret(&secret(1)).unwrap().is_some());
    assert!(revoke(workspace.id));
    assert!(!revoke(workspace.id));
    assert_eq!(registry.key_by_secret(&secret(1)).unwrap(), None);
    assert!(registry.keys(workspace.id, None, 9).unwrap().is_empty());
}

fn keys_of_former_owners(registry: &dyn Registry, world: &FakeWorld) {
    let (ada, bob) = (person(registry, world, "ada@x"), person(registry, world, "bob@x"));
    let (workspace, other) = (workspace(registry, world, &ada), workspace(registry, world, &bob));
    let added = registry.add_member(workspace.id, bob.id, Role::Owner, &audit(world, "add member"));
    assert!(added.unwrap());
    let is_good = |byte| registry.key_by_secret(&secret(byte)).unwrap().is_some();
    let change = |role| {
        let entry = audit(world, "change role");
        match registry.change_member(workspace.id, bob.id, role, &entry).unwrap() {
            MemberChange::Done(revoked) => revoked,
            other => panic!("{other:?}"),
        }
    };
    add_key(registry, world, &workspace, &ada, 1);
    let bobs = add_key(registry, world, &workspace, &bob, 2);
    add_key(registry, world, &other, &bob, 3);
    assert!(change(Some(Role::Owner)).is_empty());
    assert!(is_good(2), "nothing changed");
    let rows = registry.audit(0, 99).unwrap().len();
    assert_eq!(change(Some(Role::Member)), [bobs.id]);
    assert!(is_good(1) && !is_good(2) && is_good(3), "only the former owner's, only there");
    let written = registry.audit(rows as u64, 9).unwrap();
    let words: Vec<&str> = written.iter().map(|row| row.entry.action.as_str()).collect();
    assert_eq!(words, ["change role", "revoke key"]);
    change(Some(Role::Owner));
    assert!(!is_good(2), "what was revoked stays so");
    add_key(registry, world, &workspace, &bob, 4);
    assert_eq!(change(None).len(), 1);
    assert!(!is_good(4) && is_good(1));
    // Who was an owner when the request came in makes no key after the removal.
    let late = key_row(world, &workspace, &bob);
    assert!(registry.add_key(&late, &secret(5), &audit(world, "add key")).is_err());
    assert!(!is_good(5));
}

fn forgotten_answers(registry: &dyn Registry, world: &FakeWorld) {
    let ada = person(registry, world, "ada@x");
    let (workspace, other) = (workspace(registry, world, &ada), workspace(registry, world, &ada));
    let (now, before) = (world.now(), Timestamp::from_millis(0));
    let about = |key, workspace| Retry { workspace, ..retry("person:1", key, 1) };
    let asked =
        [("1", Some(workspace.id)), ("2", Some(other.id)), ("3", None), ("4", Some(workspace.id))];
    for (key, workspace) in asked {
        let retry = about(key, workspace);
        assert_eq!(registry.claim(retry, now, before), Ok(Claim::New));
        if key != "4" {
            registry.answer_claim(retry, 200, b"a canary").unwrap();
        }
    }
    registry.forget_answers(workspace.id).unwrap();
    let claim = |key| registry.claim(about(key, None), now, before).unwrap();
    assert_eq!(claim("1"), Claim::Forgotten);
    assert_eq!(claim("2"), Claim::Answered { status: 200, body: b"a canary".to_vec() });
    assert_eq!(claim("3"), Claim::Forgotten, "nobody can tell what it was about");
    assert_eq!(claim("4"), Claim::Begun { at: now }, "it will be answered yet");
}

fn pages(registry: &dyn Registry, world: &FakeWorld) {
    let ada = person(registry, world, "ada@example.com");
    let workspaces: Vec<_> = (0..5).map(|_| workspace(registry, world, &ada).id).collect();
    let workspace = registry.workspace(workspaces[0]).unwrap().unwrap();
    let mut people = vec![ada.id];
    let mut made = Vec::new();
    for nth in 1..5 {
        let next = person(registry, world, &format!("p{nth}@x"));
        let added = registry.add_member(workspace.id, next.id, Role::Viewer, &audit(world, "add"));
        assert!(added.unwrap());
        people.push(next.id);
        made.push(add_key(registry, world, &workspace, &ada, nth).id);
    }
    check_pages(&workspaces, |after, limit| {
        let page = registry.workspaces_of(ada.id, after, limit).unwrap();
        page.into_iter().map(|(row, _)| row.id).collect()
    });
    check_pages(&people, |after, limit| {
        let page = registry.members(workspace.id, after, limit).unwrap();
        page.into_iter().map(|row| row.user).collect()
    });
    check_pages(&made, |after, limit| {
        let page = registry.keys(workspace.id, after, limit).unwrap();
        page.into_iter().map(|row| row.id).collect()
    });
    let numbers: Vec<u64> = registry.audit(0, 999).unwrap().iter().map(|row| row.number).collect();
    check_pages(&numbers, |after: Option<u64>, limit| {
        let page = registry.audit(after.unwrap_or(0), limit).unwrap();
        page.into_iter().map(|row| row.number).collect()
    });
}

/// That pages of every size, one after the other, are everything once and in order.
fn check_pages<T>(all: &[T], page: impl Fn(Option<T>, usize) -> Vec<T>)
where
    T: Copy + PartialEq + std::fmt::Debug,
{
    for limit in [1, 2, 3, all.len(), all.len() + 1, usize::MAX] {
        let mut read: Vec<T> = Vec::new();
        loop {
            let next = page(read.last().copied(), limit);
            assert!(next.len() <= limit);
            if next.is_empty() {
                break;
            }
            read.extend(next);
        }
        assert_eq!(read, all, "in pages of {limit}");
    }
    assert!(page(None, 0).is_empty());
}

fn claims(registry: &dyn Registry, world: &FakeWorld) {
    let retry = retry("person:ada", "key", 1);
    let claim = || registry.claim(retry, world.now(), long_ago()).unwrap();
    let began = world.now();
    assert_eq!(registry.claim(retry, began, long_ago()).unwrap(), Claim::New);
    assert_eq!(claim(), Claim::Begun { at: began });
    registry.drop_claim(retry).unwrap();
    assert_eq!(claim(), Claim::New);
    registry.answer_claim(retry, 201, b"{}").unwrap();
    let answered = Claim::Answered { status: 201, body: b"{}".to_vec() };
    assert_eq!(claim(), answered);
    // What was answered stays answered.
    registry.drop_claim(retry).unwrap();
    registry.answer_claim(retry, 500, b"other").unwrap();
    assert_eq!(claim(), answered);
}

fn claims_at_once(registry: &dyn Registry, world: &FakeWorld) {
    let claims = at_once(16, |_| {
        registry.claim(retry("person:ada", "key", 1), world.now(), long_ago()).unwrap()
    });
    assert_eq!(claims.iter().filter(|claim| **claim == Claim::New).count(), 1, "{claims:?}");
}

fn other_claims(registry: &dyn Registry, world: &FakeWorld) {
    let claim = |retry| registry.claim(retry, world.now(), long_ago()).unwrap();
    assert_eq!(claim(retry("person:ada", "key", 1)), Claim::New);
    assert_eq!(claim(retry("person:ada", "key", 2)), Claim::Differs);
    assert_eq!(claim(retry("person:bob", "key", 1)), Claim::New);
    assert_eq!(claim(retry("person:ada", "Key", 1)), Claim::New);
    registry.answer_claim(retry("person:ada", "key", 1), 200, b"ada's").unwrap();
    assert_eq!(claim(retry("person:ada", "key", 2)), Claim::Differs);
    assert!(matches!(claim(retry("person:bob", "key", 1)), Claim::Begun { .. }));
}

fn forgotten_claims(registry: &dyn Registry, world: &FakeWorld) {
    let many: Vec<String> = (0..150).map(|nth| format!("key {nth}")).collect();
    for key in &many {
        let old = retry("person:ada", key, 1);
        assert_eq!(registry.claim(old, world.now(), long_ago()).unwrap(), Claim::New);
        registry.answer_claim(old, 200, b"old").unwrap();
    }
    let now = world.now();
    // The youngest of those that are too old: it is not known, whatever fingerprint comes with it.
    let last = retry("person:ada", &many[149], 2);
    assert_eq!(registry.claim(last, now, now).unwrap(), Claim::New);
    assert_eq!(registry.claim(last, world.now(), now).unwrap(), Claim::Begun { at: now });
}

fn late_answers(registry: &dyn Registry, world: &FakeWorld) {
    let (first, second) = (retry("person:ada", "key", 1), retry("person:ada", "key", 2));
    assert_eq!(registry.claim(first, world.now(), long_ago()).unwrap(), Claim::New);
    let now = world.now();
    // The first was so slow that it is forgotten, and its key serves another request.
    assert_eq!(registry.claim(second, now, now).unwrap(), Claim::New);
    registry.answer_claim(first, 200, b"first").unwrap();
    assert_eq!(registry.claim(second, now, long_ago()).unwrap(), Claim::Begun { at: now });
    registry.drop_claim(first).unwrap();
    assert_eq!(registry.claim(second, now, long_ago()).unwrap(), Claim::Begun { at: now });
    registry.answer_claim(second, 200, b"second").unwrap();
    let answered = Claim::Answered { status: 200, body: b"second".to_vec() };
    assert_eq!(registry.claim(second, now, long_ago()).unwrap(), answered);
}

fn audited(registry: &dyn Registry, world: &FakeWorld) {
    let ada = person(registry, world, "ada@example.com");
    let login = log_in(registry, world, &ada, 1);
    let bob = person(registry, world, "bob@example.com");
    let workspace = workspace(registry, world, &ada);
    registry.add_member(workspace.id, bob.id, Role::Viewer, &audit(world, "add member")).unwrap();
    let changed = Some(Role::Member);
    registry.change_member(workspace.id, bob.id, changed, &audit(world, "change role")).unwrap();
    registry.change_member(workspace.id, bob.id, None, &audit(world, "remove member")).unwrap();
    let key = add_key(registry, world, &workspace, &ada, 9);
    registry.revoke_key(workspace.id, key.id, &audit(world, "revoke key")).unwrap();
    registry.rename_workspace(workspace.id, "Play", &audit(world, "rename workspace")).unwrap();
    registry.delete_workspace(workspace.id, &audit(world, "delete workspace")).unwrap();
    registry.end_login(login, &audit(world, "logout")).unwrap();
    let rows = registry.audit(0, 99).unwrap();
    let actions: Vec<&str> = rows.iter().map(|row| row.entry.action.as_str()).collect();
    let expected = [
        "register",
        "login",
        "register",
        "add workspace",
        "add member",
        "change role",
        "remove member",
        "add key",
        "revoke key",
        "rename workspace",
        "delete workspace",
        "logout",
    ];
    assert_eq!(actions, expected);
    check_chain(registry, expected.len());
}

fn nothing_audited(registry: &dyn Registry, world: &FakeWorld) {
    let ada = person(registry, world, "ada@example.com");
    let workspace = workspace(registry, world, &ada);
    let entry = audit(world, "nothing");
    assert!(!registry.add_user(&user(world, "ada@example.com"), &entry).unwrap());
    assert!(!registry.add_member(workspace.id, ada.id, Role::Viewer, &entry).unwrap());
    registry.change_member(workspace.id, ada.id, None, &entry).unwrap();
    registry.change_member(workspace.id, UserId::new(world), None, &entry).unwrap();
    assert!(!registry.revoke_key(workspace.id, KeyId::new(world), &entry).unwrap());
    assert!(!registry.rename_workspace(WorkspaceId::new(world), "x", &entry).unwrap());
    assert!(!registry.delete_workspace(WorkspaceId::new(world), &entry).unwrap());
    check_chain(registry, 2);
}
