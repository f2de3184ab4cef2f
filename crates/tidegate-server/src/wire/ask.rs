//! What a request asks: a policy, the facts about who asks, and what it weighs.

use std::borrow::Cow;
use std::net::IpAddr;

use tidegate_core::{Account, Cost, Dimension, Subject};

/// One request for a decision, however it came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ask<'a> {
    pub(crate) policy: Cow<'a, str>,
    pub(crate) facts: Facts<'a>,
    pub(crate) cost: Cost,
}

/// The facts about who asks, borrowed from the request wherever possible.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Facts<'a> {
    /// In the order of [`TEXTS`], without the account.
    texts: [Option<Cow<'a, str>>; TEXTS.len()],
    account: Option<Account<'a>>,
    ip: Option<IpAddr>,
}

/// A fact as requests name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FactName {
    /// The address of the client.
    Ip,
    /// One of [`TEXTS`], by its place.
    Text(usize),
}

/// The facts that are texts. The wider prefixes of an address are not among them: they follow from
/// the address.
pub(crate) const TEXTS: [Dimension; 10] = [
    Dimension::Org,
    Dimension::Upstream,
    Dimension::Route,
    Dimension::User,
    Dimension::Token,
    Dimension::Account,
    Dimension::Device,
    Dimension::Agent,
    Dimension::Class,
    Dimension::Plan,
];

/// The most characters of a fact. Characters and not bytes, because that is what a JSON schema can
/// say; in bytes it is at most four times as much.
pub(crate) const MAX_FACT: usize = 256;

// === impl Facts ===

impl<'a> Facts<'a> {
    /// Adds a text; whether there was none before.
    #[must_use]
    pub(crate) fn set(&mut self, place: usize, text: Cow<'a, str>) -> bool {
        if TEXTS.get(place) == Some(&Dimension::Account) {
            return self.account.replace(Account::from(text)).is_none();
        }
        match self.texts.get_mut(place) {
            Some(slot @ None) => {
                *slot = Some(text);
                true
            }
            _ => false,
        }
    }

    /// Adds the address; whether there was none before.
    #[must_use]
    pub(crate) fn set_ip(&mut self, ip: IpAddr) -> bool {
        self.ip.replace(ip).is_none()
    }

    /// The same as the rules want it.
    #[inline]
    pub(crate) fn subject(&self) -> Subject<'_> {
        let mut subject = Subject::new();
        for (dimension, text) in TEXTS.into_iter().zip(&self.texts) {
            if let Some(text) = text {
                subject = subject.with(dimension, text.as_bytes());
            }
        }
        if let Some(account) = &self.account {
            subject = subject.account(account);
        }
        match self.ip {
            Some(ip) => subject.ip(ip),
            None => subject,
        }
    }
}

// === impl FactName ===

impl FactName {
    /// The fact of this name, if there is one.
    #[inline]
    pub(crate) fn of(name: &str) -> Option<Self> {
        if name == "ip" {
            return Some(Self::Ip);
        }
        TEXTS.iter().position(|dimension| dimension.name() == name).map(Self::Text)
    }
}

/// Whether a text is short enough for a fact.
#[inline]
pub(crate) fn fits(text: &str) -> bool {
    // Most are so short in bytes that nobody has to count characters.
    text.len() <= MAX_FACT || (text.len() <= 4 * MAX_FACT && text.chars().count() <= MAX_FACT)
}

#[cfg(test)]
mod tests {
    //! The bound, and which names there are.

    use super::*;

    #[test]
    fn t12_a_fact_has_at_most_256_characters() {
        for (text, expected) in [
            ("a".repeat(256), true),
            ("a".repeat(257), false),
            ("🌊".repeat(256), true),
            ("🌊".repeat(257), false),
            ("é".repeat(257), false),
        ] {
            assert_eq!(fits(&text), expected, "{} bytes", text.len());
        }
    }

    #[test]
    fn every_dimension_but_the_derived_ones_can_be_told() {
        for dimension in Dimension::ALL {
            let derived = matches!(dimension, Dimension::Ip56 | Dimension::Ip48);
            assert_eq!(FactName::of(dimension.name()).is_none(), derived, "{}", dimension.name());
        }
        assert_eq!(FactName::of("organisation"), None);
    }

    #[test]
    fn nothing_is_told_twice() {
        let mut facts = Facts::default();
        assert!(facts.set(0, "acme".into()));
        assert!(!facts.set(0, "other".into()));
        assert!(facts.set_ip(IpAddr::from([192, 0, 2, 1])));
        assert!(!facts.set_ip(IpAddr::from([192, 0, 2, 2])));
        assert!(facts.subject().get(Dimension::Org).is_some());
        assert!(facts.subject().get(Dimension::Ip48).is_some());
    }
}
