//! Both parsers of patches, and everything that can be done with what they read.

#![no_main]

#[allow(dead_code, clippy::panic, clippy::unwrap_used)]
#[path = "../../crates/yard-core/tests/support/properties.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    properties::patch(&String::from_utf8_lossy(data));
});
