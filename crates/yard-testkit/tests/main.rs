//! The tests of the store, the kernel and the gate together. They are one program, which is compiled and linked once.

mod admin_server;
mod concurrency;
mod confinement;
mod faults;
mod fidelity;
mod files;
mod fuzz_args;
mod grep_bounds;
mod intruders;
mod looks;
mod purges;
mod registry_contract;
mod search_code;
mod smoke;
mod store_contract;
mod timeline;
mod undo;
mod uploads;
mod virtual_files;
mod waiting_contents;
mod watch;
