//! Who is asking: the facts known about one request, and what a limit counts by.
//!
//! A [`Subject`] holds facts; a [`Scope`] names the ones a limit counts by. The sets are closed:
//! a key part always comes from a declared dimension, never from whatever field a client made up,
//! and the number of metric labels is known in advance.
//!
//! ```
//! use tidegate_core::{Dimension, Scope, Subject};
//!
//! let subject = Subject::new().org("acme").user("u7").class("write");
//! let per_user = Scope::of([Dimension::Org, Dimension::User]);
//! assert!(subject.covers(per_user));
//! assert!(!subject.covers(Scope::of([Dimension::Ip])));
//! assert!(subject.covers(Scope::GLOBAL), "everybody is in the global scope");
//! ```

mod dimension;

pub use dimension::{Dimension, Values};

use core::fmt;
use std::net::IpAddr;

use crate::account::Account;
use crate::address::Prefix;

/// The dimensions a limit counts by. The empty scope counts everybody together.
///
/// ```
/// use tidegate_core::{Dimension, Scope};
///
/// let scope = Scope::of([Dimension::User, Dimension::Org]);
/// assert_eq!(scope, Scope::of([Dimension::Org, Dimension::User]), "a set, in no order");
/// assert_eq!(scope.to_string(), "org+user");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scope(u16);

/// The facts known about one request. Borrowed, so making one allocates nothing.
///
/// Whatever is known goes in; each limit takes what it counts by, and limits that count by
/// something unknown do not apply.
#[derive(Clone, Debug, Default)]
pub struct Subject<'a> {
    texts: [Option<&'a [u8]>; Dimension::COUNT],
    address: Option<IpAddr>,
}

/// One fact, and how it may appear in the text of a key ([`KeyNames`](crate::KeyNames)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact<'a> {
    /// Shown as it is, escaped; as a keyed hash if it is long.
    Plain(&'a [u8]),
    /// Shown only as a keyed hash: accounts, devices and agents.
    Private(&'a [u8]),
    /// An address prefix, shown only as a keyed hash.
    Address(Prefix),
}

/// The facts that count under one policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) subject: &'a Subject<'a>,
    /// The class the policy is bound to, which counts whatever the subject says.
    pub(crate) class: Option<&'a [u8]>,
}

// === impl Scope ===

impl Scope {
    /// Everybody together: one counter. Every subject covers it.
    pub const GLOBAL: Self = Self(0);

    /// The product of `dimensions`: one counter for each combination of their values.
    #[must_use]
    pub fn of(dimensions: impl IntoIterator<Item = Dimension>) -> Self {
        Self(dimensions.into_iter().fold(0, |bits, dimension| bits | dimension.bit()))
    }

    /// The product of `dimensions`, as [`of`](Self::of), for constants.
    pub(crate) const fn of_all(dimensions: &[Dimension]) -> Self {
        let (mut bits, mut place) = (0, 0);
        while place < dimensions.len() {
            bits |= dimensions[place].bit();
            place += 1;
        }
        Self(bits)
    }

    /// Whether the scope counts by `dimension`.
    #[must_use]
    pub const fn contains(self, dimension: Dimension) -> bool {
        self.0 & dimension.bit() != 0
    }

    /// The dimensions of the scope, in the order of the parts in a key.
    #[inline]
    pub fn dimensions(self) -> impl Iterator<Item = Dimension> {
        let mut bits = self.0;
        core::iter::from_fn(move || {
            let dimension = Dimension::ALL.get(bits.trailing_zeros() as usize);
            bits &= bits.wrapping_sub(1);
            dimension.copied()
        })
    }
}

impl fmt::Display for Scope {
    /// Written as `org+user`, or as `global` for the empty scope.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::GLOBAL {
            return f.write_str("global");
        }
        for (index, dimension) in self.dimensions().enumerate() {
            let separator = if index == 0 { "" } else { "+" };
            write!(f, "{separator}{}", dimension.name())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({self})")
    }
}

// === impl Subject ===

/// Makes the methods that add a fact which is plain text.
macro_rules! texts {
    ($($(#[$doc:meta])* $fact:ident => $dimension:ident;)+) => {
        impl<'a> Subject<'a> {
            $(
                $(#[$doc])*
                #[must_use]
                #[inline]
                pub fn $fact(self, value: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
                    self.with(Dimension::$dimension, value.as_ref())
                }
            )+
        }
    };
}

texts! {
    /// Adds the organisation. Like every fact that is plain text, it replaces an earlier one, and an
    /// empty value is no value ([`with`](Self::with)).
    org => Org;
    /// Adds the user. Count by [`Dimension::Org`] too if ids are unique only within an organisation.
    user => User;
    /// Adds the token or API key, by its public id: it is shown in keys, so never pass a secret.
    token => Token;
    /// Adds the device, by an id that the host vouches for: the owner of the account has used the device
    /// before, and nobody can make up such an id.
    device => Device;
    /// Adds the user agent, which a client chooses.
    agent => Agent;
    /// Adds the endpoint class, which counts unless the policy is bound to one of its own
    /// ([`PolicySpec::class`](crate::PolicySpec::class)).
    class => Class;
    /// Adds the plan, by which limits choose numbers ([`Dimension::Plan`]). All requests that are
    /// counted together should have the same plan: that of the organisation, where limits count by it.
    plan => Plan;
}

impl<'a> Subject<'a> {
    /// A subject of which nothing is known yet. Only global limits apply to it.
    #[must_use]
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the account somebody tries to enter. Pass what was typed, whether or not such an
    /// account exists; otherwise the limit tells which accounts do. An empty name counts: it is still
    /// a guess.
    ///
    /// Every spelling of a name is one account, so this takes no text: an [`Account`] cannot be made
    /// without folding the name.
    #[must_use]
    #[inline]
    pub fn account(mut self, account: &'a Account<'_>) -> Self {
        self.texts[Dimension::Account as usize] = Some(account.as_str().as_bytes());
        self
    }

    /// Adds the client's address: the one that the host trusts, not what a header claims. It counts
    /// as a [`Prefix`].
    #[must_use]
    #[inline]
    pub const fn ip(mut self, address: IpAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Adds any fact that is plain text. The address and the account are not ([`ip`](Self::ip),
    /// [`account`](Self::account)): for their dimensions, this does nothing.
    ///
    /// An empty value is no value: one counter for all who left a field blank would be a limit
    /// nobody meant.
    #[must_use]
    #[inline]
    pub fn with(mut self, dimension: Dimension, value: &'a [u8]) -> Self {
        if matches!(dimension.values(), Values::Text | Values::Private) {
            self.texts[dimension as usize] = (!value.is_empty()).then_some(value);
        }
        self
    }

    /// The fact of one dimension, if it is known.
    #[must_use]
    #[inline]
    pub fn get(&self, dimension: Dimension) -> Option<Fact<'a>> {
        match self.texts[dimension as usize] {
            Some(text) if dimension.values() == Values::Text => Some(Fact::Plain(text)),
            Some(text) => Some(Fact::Private(text)),
            None => self.prefix(dimension).map(Fact::Address),
        }
    }

    fn prefix(&self, dimension: Dimension) -> Option<Prefix> {
        let length = dimension.prefix_length()?;
        self.address.map(|ip| Prefix::rolled_up(ip, length))
    }

    /// Whether every dimension of `scope` is known, so that a limit of that scope applies.
    #[must_use]
    pub fn covers(&self, scope: Scope) -> bool {
        scope.dimensions().all(|dimension| self.get(dimension).is_some())
    }
}

// === impl Facts ===

impl<'a> Facts<'a> {
    /// The fact as text, for all dimensions but addresses.
    #[inline]
    pub(crate) fn text(&self, dimension: Dimension) -> Option<&'a [u8]> {
        match self.class {
            Some(class) if dimension == Dimension::Class => Some(class),
            _ => self.subject.texts[dimension as usize],
        }
    }

    /// The fact as an address prefix.
    pub(crate) fn address(&self, dimension: Dimension) -> Option<Prefix> {
        self.subject.prefix(dimension)
    }

    #[inline]
    pub(crate) fn get(&self, dimension: Dimension) -> Option<Fact<'a>> {
        match self.class {
            Some(class) if dimension == Dimension::Class => Some(Fact::Plain(class)),
            _ => self.subject.get(dimension),
        }
    }
}
