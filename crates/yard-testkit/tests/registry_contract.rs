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
