//! The names of an enum's variants, in one table.
//!
//! Configuration, answers, logs and metrics call a variant by its name. The list of all variants is
//! made from the same table, so neither can lack one.

/// Gives an enum without fields the list of its variants, `ALL`, and their names, `name`.
#[doc(hidden)]
#[macro_export]
macro_rules! names {
    ($enum:ident { $($variant:ident: $name:literal),+ $(,)? }) => {
        impl $enum {
            /// Every variant, in order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name used in configuration, answers, logs and metrics.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

pub(crate) use names;
