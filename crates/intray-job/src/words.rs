//! Enums whose variants have a word in JSON and Lua.

/// Defines an enum with the word of each variant, a parser, a serializer and the list of all variants. An optional second
/// column becomes a method of that name.
macro_rules! words {
    ($(#[$about:meta])* pub enum $name:ident, $column:ident: $type:ty {
        $($(#[$doc:meta])* $variant:ident = $word:literal => $value:expr,)+
    }) => {
        words! { $(#[$about])* pub enum $name { $($(#[$doc])* $variant = $word,)+ } }

        impl $name {
            pub const fn $column(self) -> $type {
                match self {
                    $(Self::$variant => $value,)+
                }
            }
        }
    };
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }
    };
}

/// Serializes types as they are displayed.
#[macro_export]
macro_rules! serialize_displayed {
    ($($type:ty),+) => {
        $(impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        })+
    };
}

pub(super) use words;
