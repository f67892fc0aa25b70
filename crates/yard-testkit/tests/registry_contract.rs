//! Every registry keeps the contract.

use std::cell::Cell;

use tempfile::TempDir;
use yard_store::{Registry, SqliteRegistry};
use yard_testkit::registry_contract;

#[test]
fn sqlite_keeps_the_contract_of_a_registry() {
    let folder = TempDir::new().unwrap();
    let count = Cell::new(0);
    registry_contract::suite(&|| {
        count.set(count.get() + 1);
        let dir = folder.path().join(count.get().to_string());
        Box::new(SqliteRegistry::open(&dir).unwrap())
    });
}

#[test]
fn a_sqlite_registry_survives_closing() {
    let folder = TempDir::new().unwrap();
    let open = || -> Box<dyn Registry> { Box::new(SqliteRegistry::open(folder.path()).unwrap()) };
    registry_contract::survives(&open);
}

#[test]
fn two_processes_share_a_sqlite_registry() {
    let folder = TempDir::new().unwrap();
    let open = || SqliteRegistry::open(folder.path()).unwrap();
    registry_contract::shared(&open(), &open());
}

#[test]
fn a_change_of_any_column_of_the_audit_chain_of_people_is_noticed() {
    let folder = TempDir::new().unwrap();
    let registry = SqliteRegistry::open(folder.path()).unwrap();
    registry_contract::survives(&|| Box::new(SqliteRegistry::open(folder.path()).unwrap()));
    let (rows, problems) = registry.check_audit().unwrap();
    assert!(rows > 2 && problems.is_empty(), "{rows} {problems:?}");
    let raw = rusqlite::Connection::open(folder.path().join("people.db")).unwrap();
    raw.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    for (change, back) in [
        ("at = at + 1", "at = at - 1"),
        ("actor = actor || 'x'", "actor = substr(actor, 1, length(actor) - 1)"),
        ("action = action || 'x'", "action = substr(action, 1, length(action) - 1)"),
        ("detail = detail || 'x'", "detail = substr(detail, 1, length(detail) - 1)"),
        ("number = 9000", "number = 2"),
    ] {
        let of = if change == "number = 9000" { 9_000 } else { 2 };
        raw.execute(&format!("UPDATE audit SET {change} WHERE number = 2"), []).unwrap();
        assert_ne!(registry.check_audit().unwrap().1, Vec::<String>::new(), "{change}");
        raw.execute(&format!("UPDATE audit SET {back} WHERE number = {of}"), []).unwrap();
        assert_eq!(registry.check_audit().unwrap().1, Vec::<String>::new(), "{back}");
    }
    raw.execute("DELETE FROM audit WHERE number = 2", []).unwrap();
    assert_ne!(registry.check_audit().unwrap().1, Vec::<String>::new());
}
