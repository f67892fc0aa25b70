//! Every store keeps the contract, and answers as the model does.

use std::sync::Arc;

use tempfile::TempDir;
use yard_store::sqlite::Options;
use yard_store::{SqliteStore, Store};
use yard_testkit::{ModelStore, contract, model_comparison, records_contract};

#[test]
fn the_model_keeps_the_contract() {
    contract::suite(&|| Box::new(ModelStore::new()));
}

#[test]
fn sqlite_keeps_the_contract() {
    let folder = TempDir::new().unwrap();
    let count = std::cell::Cell::new(0);
    contract::suite(&|| {
        count.set(count.get() + 1);
        let dir = folder.path().join(count.get().to_string());
        let store: Box<dyn Store> =
            Box::new(SqliteStore::open_with(&dir, Options { flush: false }).unwrap());
        store
    });
}

#[test]
fn sqlite_keeps_the_contract_of_a_desk() {
    let folder = TempDir::new().unwrap();
    let count = std::cell::Cell::new(0);
    records_contract::suite(&|| {
        count.set(count.get() + 1);
        let dir = folder.path().join(count.get().to_string());
        let store = Arc::new(SqliteStore::open_with(&dir, Options { flush: false }).unwrap());
        records_contract::RecordStores { store: Arc::clone(&store) as _, records: store }
    });
}

#[test]
fn sqlite_answers_as_the_model_does() {
    for seed in 0..12 {
        let folder = TempDir::new().unwrap();
        let store = SqliteStore::open_with(folder.path(), Options { flush: false }).unwrap();
        model_comparison::run(&store, seed, 120);
    }
}
