//! Other numbers for some: each in the shape of its limit, for one value of one dimension.

use std::collections::HashMap;

use tidegate_core::{
    Dimension, Limit, LimitError, Override, OverrideError, Prefix, PrefixLength, Shape,
};

use super::Check;
use super::limit::Numbers;
use crate::file::MAX_EXACT_OVERRIDES;
use crate::file::place::{Place, Placed};
use crate::file::written::limit::{self as written, Partly, QuotaNumbers, WindowNumbers};
use crate::file::written::word::{CountedBy, Word};
use crate::file::wrong::Wrong;

/// Whom an override is for.
struct Selected<'w> {
    dimension: Dimension,
    value: &'w str,
    place: Place,
}

/// The numbers of an override, with those of its limit for what was left out.
enum Filled {
    Bucket(Placed<written::Bucket>),
    Window(Placed<WindowNumbers>),
    Quota(Placed<QuotaNumbers>),
}

impl Check {
    /// The limit with its overrides; none if one of them is wrong.
    pub(super) fn overridden(
        &mut self,
        limit: Limit,
        usual: Numbers<'_>,
        overrides: &[Placed<written::Override>],
        cost: Option<&Placed<written::Cost>>,
    ) -> Option<Limit> {
        let plain = limit.clone();
        let mut built = Some(limit);
        let mut exact = 0;
        let mut seen: HashMap<(Dimension, String), Place> = HashMap::new();
        for rule in overrides {
            let selected = self.selected(rule, &plain);
            let shape = self.other_shape(rule, &plain, usual, cost);
            let rule = selected.as_ref().zip(shape).and_then(|(selected, shape)| {
                let rule = self.rule(selected, shape, &mut seen)?;
                Some((rule, selected))
            });
            let Some((rule, selected)) = rule else {
                built = None;
                continue;
            };
            exact += usize::from(!selected.is_pattern());
            if exact > MAX_EXACT_OVERRIDES {
                let limit = plain.name().clone();
                self.say(selected.place, Wrong::TooManyOverrides { limit });
                return None;
            }
            // Once one was refused, the others are only checked.
            built = built.and_then(|limit| match limit.overridden(rule) {
                Ok(limit) => Some(limit),
                Err(error) => {
                    self.say(selected.place, of_override(error));
                    None
                }
            });
        }
        built
    }

    fn rule(
        &mut self,
        selected: &Selected<'_>,
        shape: Shape,
        seen: &mut HashMap<(Dimension, String), Place>,
    ) -> Option<Override> {
        let Selected { dimension, value, place } = *selected;
        let rule = if selected.is_pattern() {
            Override::pattern(dimension, value, shape)
        } else {
            Override::exact(dimension, value, shape)
        };
        let rule = rule.map_err(|error| self.say(place, error)).ok()?;
        match seen.insert((dimension, same_as(dimension, value)), place) {
            None => Some(rule),
            Some(first) => {
                let twice = Wrong::Override(OverrideError::Duplicate(dimension));
                self.say_of_two(place, (first, "first here"), twice);
                None
            }
        }
    }

    fn selected<'w>(
        &mut self,
        rule: &'w Placed<written::Override>,
        limit: &Limit,
    ) -> Option<Selected<'w>> {
        let owner = ("an override", rule.place);
        let matches =
            self.required(rule.value.matches.as_ref(), owner, "match", "match: { org: acme }")?;
        let [(name, value)] = matches.value.0.as_slice() else {
            let count = matches.value.0.len();
            self.say(matches.place, Wrong::MatchNotOne { count });
            return None;
        };
        let word = Placed { value: Word::from(name.value.clone()), place: name.place };
        let dimension = match self.word::<CountedBy>(&word)? {
            CountedBy::One(dimension) => dimension,
            CountedBy::Everybody => {
                self.say(matches.place, Wrong::MatchNotOne { count: 0 });
                return None;
            }
        };
        if !limit.scope().contains(dimension) {
            self.say(name.place, OverrideError::OutsideScope(dimension));
            return None;
        }
        if value.value.is_empty() && dimension != Dimension::Account {
            self.say(value.place, Wrong::EmptyMatch { dimension });
            return None;
        }
        let value_place = value.place;
        self.fits(&value.value, value_place).then_some(Selected {
            dimension,
            value: &value.value,
            place: value_place,
        })
    }

    fn other_shape(
        &mut self,
        rule: &Placed<written::Override>,
        limit: &Limit,
        usual: Numbers<'_>,
        cost: Option<&Placed<written::Cost>>,
    ) -> Option<Shape> {
        let written::Override { bucket, window, quota, .. } = &rule.value;
        let bucket = bucket.as_ref().map(whole);
        let window = window.as_ref().map(whole);
        let quota = quota.as_ref().map(whole);
        let given = self.one_shape(
            "this override",
            rule.place,
            [
                bucket.as_ref().map(Numbers::Bucket),
                window.as_ref().map(Numbers::Window),
                quota.as_ref().map(Numbers::Quota),
            ],
        )?;
        let Some(filled) = filled(given, usual) else {
            let (limit, expected, found) = (limit.name().clone(), usual.kind(), given.kind());
            let error = LimitError::OtherShape { limit, expected, found };
            self.say(given.place(), Wrong::OtherShape(error));
            return None;
        };
        let shape = self.shape(filled.numbers())?;
        self.cost_fits(limit, &shape, filled.numbers().at_capacity(), cost).then_some(shape)
    }
}

// === impl Selected ===

impl Selected<'_> {
    fn is_pattern(&self) -> bool {
        self.value.contains('*')
    }
}

// === impl Filled ===

impl Filled {
    const fn numbers(&self) -> Numbers<'_> {
        match self {
            Self::Bucket(bucket) => Numbers::Bucket(bucket),
            Self::Window(window) => Numbers::Window(window),
            Self::Quota(quota) => Numbers::Quota(quota),
        }
    }
}

/// A text that is the same for values that are counted as one: addresses of one prefix.
fn same_as(dimension: Dimension, value: &str) -> String {
    let length = match dimension {
        Dimension::Ip => PrefixLength::P64,
        Dimension::Ip56 => PrefixLength::P56,
        Dimension::Ip48 => PrefixLength::P48,
        _ => return value.to_owned(),
    };
    let prefix = value.parse().map(|ip| format!("{:?}", Prefix::rolled_up(ip, length)));
    prefix.unwrap_or_else(|_| value.to_owned())
}

fn whole<T: Clone>(partly: &Placed<Partly<T>>) -> Placed<T> {
    Placed { value: partly.value.0.clone(), place: partly.place }
}

/// What an override says, and what its limit says where it says nothing; none if they are of
/// different shapes. A period and what goes with it are taken from one of both, and so are the way
/// of counting and its backoff.
fn filled(given: Numbers<'_>, usual: Numbers<'_>) -> Option<Filled> {
    Some(match (given, usual) {
        (Numbers::Bucket(given), Numbers::Bucket(usual)) => {
            let mut bucket = given.clone();
            fill(&mut bucket.value.rate, &usual.value.rate);
            fill(&mut bucket.value.burst, &usual.value.burst);
            Filled::Bucket(bucket)
        }
        (Numbers::Window(given), Numbers::Window(usual)) => {
            let mut window = given.clone();
            let (numbers, usual) = (&mut window.value, &usual.value);
            fill(&mut numbers.count, &usual.count);
            fill(&mut numbers.per, &usual.per);
            if numbers.counts.is_none() {
                fill(&mut numbers.backoff, &usual.backoff);
            }
            fill(&mut numbers.counts, &usual.counts);
            Filled::Window(window)
        }
        (Numbers::Quota(given), Numbers::Quota(usual)) => {
            let mut quota = given.clone();
            let (numbers, usual) = (&mut quota.value, &usual.value);
            fill(&mut numbers.count, &usual.count);
            if numbers.per.is_none() {
                fill(&mut numbers.zone, &usual.zone);
                fill(&mut numbers.billing_day, &usual.billing_day);
                fill(&mut numbers.starts, &usual.starts);
            }
            fill(&mut numbers.per, &usual.per);
            if numbers.counts.is_none() {
                fill(&mut numbers.backoff, &usual.backoff);
            }
            fill(&mut numbers.counts, &usual.counts);
            Filled::Quota(quota)
        }
        _ => return None,
    })
}

fn fill<T: Clone>(given: &mut Option<T>, usual: &Option<T>) {
    if given.is_none() {
        given.clone_from(usual);
    }
}

/// What the core has against an override.
fn of_override(error: LimitError) -> Wrong {
    match error {
        LimitError::Override { error, .. } => Wrong::Override(error),
        other => Wrong::OtherShape(other),
    }
}
