//! Overrides, which give some subjects other numbers: exact values first, then patterns, then the usual
//! numbers.

use std::net::IpAddr;

use siphasher::sip::SipHasher13;

use crate::account::Account;
use crate::address::Prefix;
use crate::limit::Stamp;
use crate::shape::Shape;
use crate::subject::{Dimension, Fact, Facts, Scope, Values};

/// Other numbers for the subjects it selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    pub(crate) selector: Selector,
    pub(crate) shape: Shape,
}

/// The subjects that an override is for: by one value of a dimension, or by a pattern for its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selector {
    dimension: Dimension,
    value: Box<[u8]>,
    is_pattern: bool,
}

/// The overrides of one limit, ready for look-up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    /// The rules for exact values, sorted by dimension and value. The first that matches counts, so that
    /// a plan, the last of all dimensions, yields to what the limit counts by.
    exact: Vec<Rule>,
    /// The rules for patterns, in the order they were written; the first that matches counts.
    patterns: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    dimension: Dimension,
    value: Box<[u8]>,
    applies: Applies,
}

/// Which numbers apply to a subject, and by which rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Applies {
    pub(crate) stamp: Stamp,
    /// Tells the rules of one limit apart, and stays the same when a reload changes the numbers:
    /// zero for the usual numbers, otherwise a hash of the override's selector.
    pub(crate) role: u32,
}

/// Why an override is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    /// The override matches a dimension that the limit does not count by.
    #[error("an override matches {}, which the limit does not count by", .0.name())]
    OutsideScope(Dimension),
    /// Two overrides match the same value of this dimension.
    #[error("two overrides match the same value of {}", .0.name())]
    Duplicate(Dimension),
    /// The value for a dimension of addresses is not an address.
    #[error("an override of {} must name one IP address", .0.name())]
    NotAnAddress(Dimension),
    /// A pattern for addresses or accounts: it would be compared with text as it was sent, but these are
    /// folded before they count.
    #[error("an override of {} cannot be a pattern; name exact values", .0.name())]
    NoPattern(Dimension),
    /// The limit has too many patterns: the list is searched in order and must stay short.
    #[error("a limit has at most {} override patterns", Overrides::MAX_PATTERNS)]
    TooManyPatterns,
}

// === impl Override ===

impl Override {
    /// An override for one value. An address stands for all of its prefix, a login name for every
    /// spelling of it.
    ///
    /// # Errors
    ///
    /// If the values of the dimension are addresses and `value` is not one.
    pub fn exact(dimension: Dimension, value: &str, shape: Shape) -> Result<Self, OverrideError> {
        let value: Box<[u8]> = match dimension.values() {
            Values::Text | Values::Private => value.as_bytes().into(),
            Values::Accounts => Account::new(value).as_str().as_bytes().into(),
            Values::Addresses(length) => {
                let ip: IpAddr =
                    value.parse().map_err(|_| OverrideError::NotAnAddress(dimension))?;
                Prefix::rolled_up(ip, length).to_bytes().into()
            }
        };
        Ok(Self { selector: Selector { dimension, value, is_pattern: false }, shape })
    }

    /// An override for every value that matches `pattern`, in which `*` stands for any text.
    ///
    /// # Errors
    ///
    /// If the values of the dimension are addresses or accounts.
    pub fn pattern(
        dimension: Dimension,
        pattern: &str,
        shape: Shape,
    ) -> Result<Self, OverrideError> {
        match dimension.values() {
            Values::Text | Values::Private => {
                let value = pattern.as_bytes().into();
                Ok(Self { selector: Selector { dimension, value, is_pattern: true }, shape })
            }
            Values::Accounts | Values::Addresses(_) => Err(OverrideError::NoPattern(dimension)),
        }
    }
}

// === impl Overrides ===

impl Overrides {
    const MAX_PATTERNS: usize = 64;

    pub(crate) fn add(
        &mut self,
        scope: Scope,
        selector: Selector,
        stamp: Stamp,
    ) -> Result<(), OverrideError> {
        let Selector { dimension, is_pattern, .. } = selector;
        // A plan is there to select numbers, although no limit counts by it.
        if !scope.contains(dimension) && dimension != Dimension::Plan {
            return Err(OverrideError::OutsideScope(dimension));
        }
        let applies = Applies { stamp, role: selector.role() };
        let rule = Rule { dimension, value: selector.value, applies };
        match self.place(dimension, &rule.value) {
            _ if is_pattern && self.patterns.len() == Self::MAX_PATTERNS => {
                return Err(OverrideError::TooManyPatterns);
            }
            _ if is_pattern => self.patterns.push(rule),
            Ok(_) => return Err(OverrideError::Duplicate(dimension)),
            Err(place) => self.exact.insert(place, rule),
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn find(&self, facts: Facts<'_>) -> Option<Applies> {
        if self.exact.is_empty() && self.patterns.is_empty() {
            return None;
        }
        self.find_exact(facts).or_else(|| self.find_pattern(facts))
    }

    /// The rule with this role; see [`Applies::role`].
    pub(crate) fn of_role(&self, role: u32) -> Option<Applies> {
        let mut rules = self.exact.iter().chain(&self.patterns).map(|rule| rule.applies);
        rules.find(|applies| applies.role == role)
    }

    /// The values of a dimension that are named exactly.
    pub(crate) fn exact_values(&self, dimension: Dimension) -> impl Iterator<Item = &[u8]> {
        let rules = self.exact.iter().filter(move |rule| rule.dimension == dimension);
        rules.map(|rule| &*rule.value)
    }

    /// The dimension of each rule.
    pub(crate) fn dimensions(&self) -> impl Iterator<Item = Dimension> {
        self.exact.iter().chain(&self.patterns).map(|rule| rule.dimension)
    }

    pub(crate) fn stamps(&self) -> impl Iterator<Item = Stamp> + '_ {
        self.exact.iter().chain(&self.patterns).map(|rule| rule.applies.stamp)
    }

    pub(crate) fn renumber(&mut self, new: impl Fn(Stamp) -> Stamp) {
        for rule in self.exact.iter_mut().chain(&mut self.patterns) {
            rule.applies.stamp = new(rule.applies.stamp);
        }
    }

    fn find_exact(&self, facts: Facts<'_>) -> Option<Applies> {
        let mut rest = self.exact.as_slice();
        while let Some(Rule { dimension, .. }) = rest.first() {
            let place = match facts.get(*dimension) {
                Some(Fact::Plain(value) | Fact::Private(value)) => self.place(*dimension, value),
                Some(Fact::Address(prefix)) => self.place(*dimension, &prefix.to_bytes()),
                None => Err(0),
            };
            if let Ok(place) = place {
                return Some(self.exact[place].applies);
            }
            let others = rest.partition_point(|rule| rule.dimension <= *dimension);
            rest = &rest[others..];
        }
        None
    }

    fn find_pattern(&self, facts: Facts<'_>) -> Option<Applies> {
        let matching = |rule: &&Rule| match facts.get(rule.dimension) {
            Some(Fact::Plain(value) | Fact::Private(value)) => matches(&rule.value, value),
            Some(Fact::Address(_)) | None => false,
        };
        self.patterns.iter().find(matching).map(|rule| rule.applies)
    }

    fn place(&self, dimension: Dimension, value: &[u8]) -> Result<usize, usize> {
        self.exact.binary_search_by(|rule| (rule.dimension, &*rule.value).cmp(&(dimension, value)))
    }
}

// === impl Selector ===

impl Selector {
    fn role(&self) -> u32 {
        let (dimension, kind) = (u64::from(self.dimension as u8), u64::from(self.is_pattern));
        let sip = SipHasher13::new_with_keys(dimension, kind);
        u32::try_from(sip.hash(&self.value) >> 32).unwrap_or_default().max(1)
    }
}

/// Whether `value` matches `pattern`, in which `*` stands for any bytes.
///
/// On a mismatch only the last `*` has to take one byte more, so this is at most
/// `pattern × value` steps, whatever a client sends.
fn matches(pattern: &[u8], value: &[u8]) -> bool {
    matches_in(pattern, value, || {})
}

/// Does what `matches` does, and calls `step` at each step, so that a test can count them.
fn matches_in(pattern: &[u8], value: &[u8], mut step: impl FnMut()) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while seen < value.len() {
        step();
        if pattern.get(at) == Some(&b'*') {
            retry = Some((at + 1, seen));
            at += 1;
        } else if pattern.get(at) == Some(&value[seen]) {
            (at, seen) = (at + 1, seen + 1);
        } else if let Some((after_star, from)) = retry {
            (at, seen) = (after_star, from + 1);
            retry = Some((after_star, from + 1));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests;
