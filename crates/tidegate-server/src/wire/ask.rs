//! What a request asks: a policy, the facts about who asks, and what it weighs.

use std::borrow::Cow;
use std::net::IpAddr;

use serde::Deserialize;
use tidegate_core::{Account, Cost, Dimension, Subject, Values};

use super::requests;

/// One request for a decision, however it came.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ask<'a> {
    #[serde(borrow, deserialize_with = "requests::policy")]
    pub(crate) policy: Cow<'a, str>,
    #[serde(borrow, default, rename = "subject")]
    pub(crate) facts: AskedFacts<'a>,
    #[serde(default = "requests::one", deserialize_with = "requests::cost")]
    pub(crate) cost: Cost,
}

/// The facts about who asks, borrowed from the request wherever possible.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AskedFacts<'a> {
    /// The facts that are plain text, by their dimension. Boxed, because reading a request moves them a
    /// dozen times.
    texts: Box<[Option<Cow<'a, str>>; Dimension::COUNT]>,
    account: Option<Account<'a>>,
    ip: Option<IpAddr>,
}

/// Why a fact in a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnfitFact {
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

// === impl AskedFacts ===

impl<'a> AskedFacts<'a> {
    /// Adds one fact, as its text.
    pub(crate) fn tell(
        &mut self,
        dimension: Dimension,
        text: Cow<'a, str>,
    ) -> Result<(), UnfitFact> {
        let is_first = match dimension.values() {
            Values::Addresses(_) => {
                self.ip.replace(text.parse().map_err(|_| UnfitFact::NotAnAddress)?).is_none()
            }
            _ if !fits(&text) => return Err(UnfitFact::TooLong),
            Values::Accounts => self.account.replace(Account::from(text)).is_none(),
            Values::Text | Values::Private => {
                self.texts[dimension as usize].replace(text).is_none()
            }
        };
        if is_first { Ok(()) } else { Err(UnfitFact::Twice) }
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
        for (dimension, text) in Dimension::ALL.into_iter().zip(self.texts.iter()) {
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

// === impl UnfitFact ===

impl UnfitFact {
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

/// The names of all facts that a request can give, for messages.
#[cold]
pub(crate) fn fact_names() -> String {
    let mut names: Vec<_> = Dimension::told().map(|fact| format!("`{}`", fact.name())).collect();
    let last = names.pop().unwrap_or_default();
    format!("{} and {last}", names.join(", "))
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
            let mut facts = AskedFacts::default();
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
            let mut facts = AskedFacts::default();
            assert_eq!(facts.tell(dimension, dimension.example().into()), Ok(()));
            let again = facts.tell(dimension, dimension.example().into());
            assert_eq!(again, Err(UnfitFact::Twice), "{}", dimension.name());
        }
    }

    #[test]
    fn messages_name_every_fact() {
        assert_eq!(
            fact_names(),
            "`org`, `upstream`, `route`, `user`, `token`, `account`, `device`, `ip`, `agent`, \
             `class` and `plan`"
        );
    }
}
