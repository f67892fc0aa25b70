//! A map for what is looked up with every call. It hashes quickly and is still seeded by chance; it is not
//! for keys that a stranger can choose in any number.

use std::collections::HashMap;

/// A map whose keys are hashed quickly.
pub type FastMap<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
