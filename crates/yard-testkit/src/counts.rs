//! How often a test repeats what it does: fully in a soak, a tenth of it otherwise.

/// Whether the tests run with their full counts.
pub fn soak() -> bool {
    std::env::var_os("YARD_SOAK").is_some_and(|value| value == "1")
}

/// The full count in a soak, a tenth of it in an ordinary run.
pub fn scaled(full: usize) -> usize {
    if soak() { full } else { full.div_ceil(10) }
}
