//! What a request asks: a policy, the facts about who asks, and what it weighs.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;

use tidegate_core::{Account, Cost, Dimension, Subject, Values};

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
    /// The facts that are plain text, by their dimension.
    texts: [Option<Cow<'a, str>>; Dimension::COUNT],
    account: Option<Account<'a>>,
    ip: Option<IpAddr>,
}

/// Writes the names of all facts that a request can give, for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FactNames;

/// Why a fact in a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The text is longer than [`MAX_FACT`].
    TooLong,
    /// The text is not an address, and has to be one.
    NotAnAddress,
    /// The request gives the same fact twice.
    Twice,
}

/// The most characters of a fact. Characters and not bytes, because that is what a JSON schema can
/// say; in bytes it is at most four times as much.
pub(crate) const MAX_FACT: usize = 256;

// === impl Facts ===

impl<'a> Facts<'a> {
    /// Adds one fact, as its text.
    pub(crate) fn tell(&mut self, dimension: Dimension, text: Cow<'a, str>) -> Result<(), Unfit> {
        let is_first = match dimension.values() {
            Values::Addresses(_) => {
                self.ip.replace(text.parse().map_err(|_| Unfit::NotAnAddress)?).is_none()
            }
            _ if !fits(&text) => return Err(Unfit::TooLong),
            Values::Accounts => self.account.replace(Account::from(text)).is_none(),
            Values::Text | Values::Private => {
                self.texts[dimension as usize].replace(text).is_none()
            }
        };
        if is_first { Ok(()) } else { Err(Unfit::Twice) }
    }

    /// The account as it is counted, if one was told.
    #[inline]
    pub(crate) fn account(&self) -> Option<&str> {
        self.account.as_ref().map(Account::as_str)
    }

    /// The facts as the [`Subject`] that the rules take.
    #[inline]
    pub(crate) fn subject(&self) -> Subject<'_> {
        let mut subject = Subject::new();
        for (dimension, text) in Dimension::ALL.into_iter().zip(&self.texts) {
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

// === impl Unfit ===

impl Unfit {
    /// Says what is wrong; `noun` is `field` or `parameter`.
    #[cold]
    pub(crate) fn detail(self, noun: &str) -> String {
        match self {
            Self::TooLong => format!("a fact has at most {MAX_FACT} characters"),
            Self::NotAnAddress => NOT_AN_ADDRESS.to_owned(),
            Self::Twice => format!("this {noun} is given twice"),
        }
    }
}

const NOT_AN_ADDRESS: &str =
    "this is not an IP address; write 203.0.113.7 or 2001:db8::7, without port, prefix or brackets";

// === impl FactNames ===

impl fmt::Display for FactNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = Dimension::told().last();
        for (place, dimension) in Dimension::told().enumerate() {
            let separator = match place {
                0 => "",
                _ if Some(dimension) == last => " and ",
                _ => ", ",
            };
            write!(f, "{separator}`{}`", dimension.name())?;
        }
        Ok(())
    }
}

/// Whether a text is short enough for a fact.
#[inline]
fn fits(text: &str) -> bool {
    // Most texts are so short in bytes that their characters need not be counted.
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
    fn every_dimension_that_is_told_reaches_the_rules_as_that_dimension() {
        for dimension in Dimension::told() {
            let mut facts = Facts::default();
            assert_eq!(facts.tell(dimension, dimension.example().into()), Ok(()));
            let told = facts.subject();
            for other in Dimension::ALL {
                let is_same = other == dimension
                    || (dimension == Dimension::Ip && ["ip56", "ip48"].contains(&other.name()));
                let name = other.name();
                assert_eq!(told.get(other).is_some(), is_same, "{name} of {}", dimension.name());
            }
        }
    }

    #[test]
    fn nothing_is_told_twice() {
        for dimension in Dimension::told() {
            let mut facts = Facts::default();
            assert_eq!(facts.tell(dimension, dimension.example().into()), Ok(()));
            let again = facts.tell(dimension, dimension.example().into());
            assert_eq!(again, Err(Unfit::Twice), "{}", dimension.name());
        }
    }

    #[test]
    fn messages_name_every_fact() {
        assert_eq!(
            FactNames.to_string(),
            "`org`, `upstream`, `route`, `user`, `token`, `account`, `device`, `ip`, `agent`, \
             `class` and `plan`"
        );
    }
}
