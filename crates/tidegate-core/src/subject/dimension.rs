//! The kinds of facts there are: one table, which every interface of Tidegate is made from.
//!
//! A fact is told in a request, in a query, in a header a proxy sets, in a policy file and on the
//! command line; it is described in the `OpenAPI` document, in the JSON schema and in `--help`. All
//! of these read the table in this file, so none of them can lack a fact that another one knows.
//!
//! # Adding a fact
//!
//! 1. `subject/dimension.rs` (here): one entry at the **end** of the table. The place of a dimension is
//!    part of the hashes in stored keys, so an entry in the middle would make accounts, addresses,
//!    devices and agents start anew.
//! 2. Nothing else, for a fact that clients of the server or the command line tell: bodies, queries,
//!    gate headers, policy files, schemas, flags and `bench` follow from the entry.
//! 3. `subject.rs`, for a method of [`Subject`](crate::Subject) by its name (optional:
//!    [`with`](crate::Subject::with) takes every fact that is text), and
//!    `tidegate-tower/src/gate/rule.rs` if the layers find the fact in requests themselves.
//!
//! Values that are not plain text need a variant of [`Values`] and, beside that, whatever folds
//! their spellings: `subject.rs`, `overrides.rs` and `key.rs` here, `file/check/overrides.rs` in the
//! engine, `wire/ask.rs` and `routes/gate.rs` in the server.

use crate::address::PrefixLength;

/// How the values of a dimension are written, told apart, and shown in keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Text that counts byte by byte. Keys show it as it is, escaped.
    Text,
    /// Text that counts byte by byte and tells something about a person. Keys show a keyed hash.
    Private,
    /// Login names, all spellings of which are one [`Account`](crate::Account). Keys show a keyed
    /// hash.
    Accounts,
    /// Addresses, which count by their prefix of this length. Keys show a keyed hash.
    Addresses(PrefixLength),
}

/// Makes the columns of the table: each is a field of a row, and a method of [`Dimension`].
macro_rules! columns {
    ($($(#[$doc:meta])* $column:ident: $type:ty,)+) => {
        /// One row of the table: what the interfaces have to know about one dimension.
        struct Row {
            $($column: $type,)+
        }

        impl Dimension {
            $(
                $(#[$doc])*
                #[must_use]
                #[inline]
                pub const fn $column(self) -> $type {
                    self.row().$column
                }
            )+
        }
    };
}

columns! {
    /// The name used in configuration, requests, flags, keys and metrics.
    name: &'static str,
    /// How the values of the dimension are written, told apart, and shown in keys.
    values: Values,
    /// What the dimension is, for descriptions and help: a sentence without its full stop.
    meaning: &'static str,
    /// The word that stands for a value in help, such as `ID`.
    placeholder: &'static str,
    /// An example of a value.
    example: &'static str,
    /// Whether limits may count by this dimension. The [plan](Self::Plan) only selects numbers.
    is_counted: bool,
    /// Whether clients tell this fact, in requests and on the command line. They do not tell the wider
    /// prefixes of an address, which follow from the address.
    is_told: bool,
    /// Whether many clients usually have the same value, as with an organisation or a class. Made-up
    /// clients (`tidegate bench`) then share one.
    is_common: bool,
}

/// Makes [`Dimension`] and the table of its rows from one list, so that both have the same order.
macro_rules! dimensions {
    ($($(#[$doc:meta])* $variant:ident => $row:expr,)+) => {
        /// One kind of fact about a request. The order is that of the parts in a key. Values appear
        /// in keys as they are, escaped, unless a variant says otherwise.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Dimension {
            $($(#[$doc])* $variant,)+
        }

        const TABLE: [Row; Dimension::COUNT] = [$($row),+];

        impl Dimension {
            /// Every dimension, in the order of the parts in a key.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$variant),+];

            /// The number of dimensions.
            pub const COUNT: usize = [$(stringify!($variant)),+].len();
        }
    };
}

dimensions! {
    /// The organisation: the tenant whose limits these are.
    Org => Row::text("org", "ID", "acme", "The organisation").common(),
    /// The upstream a gateway forwards to.
    Upstream => Row::text("upstream", "NAME", "search", "The upstream a gateway forwards to").common(),
    /// The route, as its template and never as the raw path.
    Route => Row::text("route", "TEMPLATE", "/v1/items/{id}", "The route, as its template").common(),
    /// The user within the organisation.
    User => Row::text("user", "ID", "u7", "The user within the organisation"),
    /// The token or API key, by its public id and never by its secret.
    Token => Row::text(
        "token", "ID", "tok_5f3a",
        "The token or API key, by its public id and never by its secret",
    ),
    /// The account somebody tries to enter, by its login name ([`Account`](crate::Account)). Appears
    /// in keys only as a keyed hash.
    Account => Row::text(
        "account", "NAME", "alice@example.com",
        "The account somebody tries to enter, as typed; every spelling of a name is one account",
    ).of(Values::Accounts),
    /// The device, by an id that the host vouches for. Appears in keys only as a keyed hash.
    Device => Row::text("device", "ID", "d-41", "The device, by an id that the host vouches for")
        .of(Values::Private),
    /// The client's address prefix: IPv4 /32, IPv6 /64. Appears in keys only as a keyed hash.
    Ip => Row::text(
        "ip", "ADDRESS", "203.0.113.7",
        "The client's address, which counts by its prefix: IPv4 /32, IPv6 /64",
    ).of(Values::Addresses(PrefixLength::P64)),
    /// The IPv6 /56 around the client's address, for limits that rotation inside a /56 must not escape.
    /// IPv4 is not rolled up: it is /32. Appears in keys only as a keyed hash.
    Ip56 => Row::text("ip56", "ADDRESS", "2001:db8::7", "The IPv6 /56 around the client's address")
        .of(Values::Addresses(PrefixLength::P56))
        .derived(),
    /// The IPv6 /48 around the client's address. IPv4 is not rolled up: it is /32. Appears in keys only
    /// as a keyed hash.
    Ip48 => Row::text("ip48", "ADDRESS", "2001:db8::7", "The IPv6 /48 around the client's address")
        .of(Values::Addresses(PrefixLength::P48))
        .derived(),
    /// The user agent, which a client chooses: beside other dimensions, never alone. Appears in keys only
    /// as a keyed hash.
    Agent => Row::text("agent", "TEXT", "curl/8.5.0", "The user agent, which a client chooses")
        .of(Values::Private)
        .common(),
    /// The endpoint class: read, write, admin, auth, … If the policy is bound to a class, that one is
    /// counted.
    Class => Row::text(
        "class", "NAME", "write", "The endpoint class, unless the policy is bound to one",
    ).common(),
    /// The plan of the subject, as the host knows it. It only selects numbers, by overrides; nothing
    /// counts by it, so it is in no key.
    Plan => Row::text(
        "plan", "NAME", "pro", "The plan, by which limits choose numbers; nothing counts by it",
    ).common().uncounted(),
}

// === impl Row ===

impl Row {
    /// A row for a fact that is text, that clients tell, that limits may count by and that differs
    /// between clients.
    const fn text(
        name: &'static str,
        placeholder: &'static str,
        example: &'static str,
        meaning: &'static str,
    ) -> Self {
        let values = Values::Text;
        let (is_counted, is_told, is_common) = (true, true, false);
        Self { name, values, meaning, placeholder, example, is_counted, is_told, is_common }
    }

    /// Makes the values of the row something else than plain text.
    const fn of(self, values: Values) -> Self {
        Self { values, ..self }
    }

    /// Makes the fact follow from another one, so that nobody tells it.
    const fn derived(self) -> Self {
        Self { is_told: false, ..self }
    }

    /// Makes the fact one whose values many clients have in common.
    const fn common(self) -> Self {
        Self { is_common: true, ..self }
    }

    /// Makes the fact one that no limit may count by.
    const fn uncounted(self) -> Self {
        Self { is_counted: false, ..self }
    }
}

// === impl Dimension ===

impl Dimension {
    /// Every dimension that clients tell, in the order of the parts in a key.
    pub fn told() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|dimension| dimension.is_told())
    }

    /// The dimension that clients tell under this name.
    #[must_use]
    #[inline]
    pub fn told_as(name: &str) -> Option<Self> {
        Self::told().find(|dimension| dimension.name() == name)
    }

    /// The length of the prefix that addresses of this dimension count by; `None` for other values.
    #[must_use]
    #[inline]
    pub const fn prefix_length(self) -> Option<PrefixLength> {
        match self.values() {
            Values::Addresses(length) => Some(length),
            Values::Text | Values::Private | Values::Accounts => None,
        }
    }

    pub(super) const fn bit(self) -> u16 {
        1 << self as u8
    }

    const fn row(self) -> &'static Row {
        const ROWS: &[Row; Dimension::COUNT] = &TABLE;
        &ROWS[self as usize]
    }
}

// A scope has one of sixteen bits for each dimension.
const _: () = assert!(Dimension::COUNT <= 16);

#[cfg(test)]
mod tests {
    //! The table, held to what stored keys and configurations rely on.

    use super::*;

    #[test]
    fn a_dimension_keeps_its_name_and_its_place() {
        let names = Dimension::ALL.map(|dimension| (dimension as u8, dimension.name()));
        let expected = [
            (0, "org"),
            (1, "upstream"),
            (2, "route"),
            (3, "user"),
            (4, "token"),
            (5, "account"),
            (6, "device"),
            (7, "ip"),
            (8, "ip56"),
            (9, "ip48"),
            (10, "agent"),
            (11, "class"),
            (12, "plan"),
        ];
        assert_eq!(names[..expected.len()], expected, "places are hashed into stored keys");
    }

    #[test]
    fn only_what_follows_from_another_fact_is_not_told_and_only_the_plan_is_not_counted() {
        for dimension in Dimension::ALL {
            let name = dimension.name();
            assert_eq!(dimension.is_told(), !["ip56", "ip48"].contains(&name), "{name}");
            assert_eq!(Dimension::told_as(name).is_some(), dimension.is_told(), "{name}");
            assert_eq!(dimension.is_counted(), name != "plan", "{name}");
        }
        assert_eq!(Dimension::told_as("organisation"), None);
    }

    #[test]
    fn every_dimension_is_described() {
        for dimension in Dimension::ALL {
            let (name, meaning) = (dimension.name(), dimension.meaning());
            assert!(meaning.starts_with("The ") && !meaning.ends_with('.'), "{name}: {meaning}");
            assert!(!dimension.placeholder().is_empty() && !dimension.example().is_empty());
            let is_address = dimension.example().parse::<std::net::IpAddr>().is_ok();
            assert_eq!(is_address, dimension.prefix_length().is_some(), "{name}");
        }
    }
}
