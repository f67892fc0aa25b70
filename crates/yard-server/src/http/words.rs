//! Words of a request that name what the gate names in the same way. The types of the gate know nothing of JSON
//! schemas, so a request has types of its own; this module makes one into the other.

/// Makes a type of requests into one of the gate whose variants have the same names.
macro_rules! same_names {
    ($from:ident to $to:ident: $($name:ident),+) => {
        impl From<$from> for $to {
            fn from(word: $from) -> Self {
                match word {
                    $($from::$name => Self::$name,)+
                }
            }
        }
    };
}

pub(super) use same_names;
