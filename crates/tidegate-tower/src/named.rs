//! Closed sets of names, such as the labels of a metric.

/// Gives an enum the list of its variants and their names, from one table.
#[doc(hidden)]
#[macro_export]
macro_rules! named {
    ($Set:ident: $($Variant:ident = $name:literal),+ $(,)?) => {
        impl $Set {
            /// All of them.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$Variant),+];

            /// The name used in metrics, logs, records and configuration.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)+
                }
            }
        }
    };
}
