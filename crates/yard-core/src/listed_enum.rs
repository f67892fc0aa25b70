//! Macros that declare an enum together with the list of its variants and their spellings, so that neither can miss a
//! variant. They declare only enums whose variants hold no data.

/// Declares an enum with `ALL`: every variant in the order of their declaration.
#[macro_export]
macro_rules! listed_enum {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$of_variant:meta])* $variant:ident,)*
        }
    ) => {
        $(#[$meta])*
        $vis enum $name {
            $($(#[$of_variant])* $variant,)*
        }

        impl $name {
            /// Every variant.
            $vis const ALL: [Self; [$(stringify!($variant)),*].len()] = [$(Self::$variant),*];
        }
    };
}

/// An enum that [`spelled_enum!`] declared.
pub trait Spelled: Copy + 'static {
    /// Every variant with its spelling.
    const SPELLINGS: &'static [(Self, &'static str)];
}

/// Declares an enum as [`listed_enum!`] does, and the spellings of its variants: `WORDS` has every variant with its
/// spelling, `word` returns the spelling, and `from_word` returns the variant of a spelling.
#[macro_export]
macro_rules! spelled_enum {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $($(#[$of_variant:meta])* $variant:ident = $word:literal,)*
        }
    ) => {
        $crate::listed_enum! {
            $(#[$meta])*
            $vis enum $name {
                $($(#[$of_variant])* $variant,)*
            }
        }

        impl $name {
            /// Every variant with its spelling.
            pub const WORDS: [(Self, &'static str); Self::ALL.len()] =
                [$((Self::$variant, $word)),*];

            /// The spelling.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// The variant of that spelling.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::WORDS.into_iter().find(|(_, known)| *known == word).map(|(one, _)| one)
            }
        }

        impl $crate::Spelled for $name {
            const SPELLINGS: &'static [(Self, &'static str)] = &Self::WORDS;
        }
    };
}
