//! The values of arguments that are left out, for serde.

/// A number.
pub(crate) fn number<const VALUE: u64>() -> u64 {
    VALUE
}

/// A number of seconds.
pub(crate) fn seconds<const VALUE: u32>() -> f64 {
    VALUE.into()
}

/// Yes.
pub(crate) fn yes() -> bool {
    true
}
