//! Converts enums of requests into enums of the gate. The gate knows nothing of JSON schemas, so that requests have
//! enums of their own, with the same variants.

/// Implements the conversion of an enum into another one whose variants have the same names.
macro_rules! convert_same_variants {
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

pub(super) use convert_same_variants;
