//! Every way to read a path of the workspace.

#![no_main]

#[allow(dead_code, clippy::panic, clippy::unwrap_used)]
#[path = "../../crates/yard-core/tests/support/properties.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::path(data));
