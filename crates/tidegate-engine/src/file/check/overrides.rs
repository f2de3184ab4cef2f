//! Overrides: other numbers for one value of one dimension, each in the shape of its limit.

use std::collections::HashMap;

use tidegate_core::{
    Account, Dimension, Limit, LimitError, Override, OverrideError, Prefix, Scope, Shape, Values,
};

use super::Check;
use super::limit::Frame;
use super::shape::{Filled, Given, Numbers, filled, is_blank};
use crate::file::MAX_EXACT_OVERRIDES;
use crate::file::place::{Place, Placed};
use crate::file::written::limit as written;
use crate::file::written::word::Word;
use crate::file::wrong::Wrong;

/// The value that an override is for, and where it stands.
struct Selected<'w> {
    dimension: Dimension,
    value: &'w str,
    place: Place,
}

impl Check {
    /// The limit with its overrides; `None` if something is wrong with the limit or with one of
    /// them. The numbers of the overrides are added to `shapes`.
    pub(super) fn overridden(
        &mut self,
        mut limit: Option<Limit>,
        frame: Frame<'_>,
        overrides: &[Placed<written::Override>],
        shapes: &mut Vec<Shape>,
    ) -> Option<Limit> {
        let mut exact = 0;
        let mut seen: HashMap<(Dimension, String), Place> = HashMap::new();
        for rule in overrides {
            if self.is_enough() {
                return None;
            }
            let selected = self.selected(rule, frame.scope);
            let shape = self.other_shape(rule, frame);
            exact += usize::from(selected.as_ref().is_some_and(|one| !one.is_pattern()));
            if exact > MAX_EXACT_OVERRIDES {
                self.say(rule.place, Wrong::TooManyOverrides);
                return None;
            }
            if let Some(shape) = shape.as_ref().filter(|shape| !shapes.contains(shape)) {
                shapes.push(shape.clone());
            }
            let rule = selected.zip(shape).and_then(|(selected, shape)| {
                Some((self.rule(&selected, shape, &mut seen)?, selected.place))
            });
            // Once something is wrong, the remaining overrides are only checked.
            limit = limit.zip(rule).and_then(|(limit, (rule, place))| {
                limit.overridden(rule).map_err(|error| self.say(place, of_override(error))).ok()
            });
        }
        limit
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
                let twice = Wrong::BadOverride(OverrideError::Duplicate(dimension));
                self.say_of_two(place, (first, "first here"), twice);
                None
            }
        }
    }

    fn selected<'w>(
        &mut self,
        rule: &'w Placed<written::Override>,
        scope: Option<Scope>,
    ) -> Option<Selected<'w>> {
        let owner = ("an override", rule.place);
        let matches =
            self.required(rule.value.matches.as_ref(), owner, "match", "match: { org: acme }")?;
        let [(name, value)] = matches.value.0.as_slice() else {
            let count = matches.value.0.len();
            self.say(matches.place, Wrong::MatchNotOne { count });
            return None;
        };
        if name.value == "global" {
            self.say(matches.place, Wrong::MatchNotOne { count: 0 });
            return None;
        }
        let word = Placed { value: Word::from(name.value.clone()), place: name.place };
        let dimension: Dimension = self.word(&word)?;
        let counts = |scope: Scope| dimension == Dimension::Plan || scope.contains(dimension);
        if !scope.is_none_or(counts) {
            self.say(name.place, OverrideError::OutsideScope(dimension));
            return None;
        }
        if value.value.is_empty() && dimension.values() != Values::Accounts {
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

    fn other_shape(&mut self, rule: &Placed<written::Override>, frame: Frame<'_>) -> Option<Shape> {
        let given = Given::of_override(&rule.value);
        let filled = self.made_whole(&given, ("this override", rule.place), frame.numbers)?;
        self.fitting_shape(filled.numbers(), frame)
    }

    /// The given numbers, completed with the usual ones; `None` if they are not of the same shape.
    pub(super) fn made_whole(
        &mut self,
        given: &Given,
        (owner, place): (&str, Place),
        usual: Option<Numbers<'_>>,
    ) -> Option<Filled> {
        let given = self.one_shape(owner, place, &given.numbers())?;
        if is_blank(given) {
            let message =
                format!("{owner} changes nothing; write the numbers that differ, or remove it");
            self.say(given.place(), Wrong::BadValue { message });
            return None;
        }
        let usual = usual?;
        let filled = filled(given, usual);
        if filled.is_none() {
            let (expected, found) = (usual.kind(), given.kind());
            self.say(given.place(), Wrong::OtherShape { expected, found });
        }
        filled
    }
}

// === impl Selected ===

impl Selected<'_> {
    fn is_pattern(&self) -> bool {
        self.value.contains('*')
    }
}

/// A text that is the same for values that are counted as one: addresses of one prefix, spellings of
/// one login name.
fn same_as(dimension: Dimension, value: &str) -> String {
    match dimension.values() {
        Values::Text | Values::Private => value.to_owned(),
        Values::Accounts => Account::new(value).as_str().to_owned(),
        Values::Addresses(length) => {
            let prefix = value.parse().map(|ip| format!("{:?}", Prefix::rolled_up(ip, length)));
            prefix.unwrap_or_else(|_| value.to_owned())
        }
    }
}

/// The problem that the core has with an override.
fn of_override(error: LimitError) -> Wrong {
    match error {
        LimitError::Override { error, .. } => Wrong::BadOverride(error),
        LimitError::OtherShape { expected, found, .. } => Wrong::OtherShape { expected, found },
        LimitError::CostAboveCapacity { cost, capacity, .. } => {
            Wrong::CostAboveCapacity { cost, capacity }
        }
        LimitError::TooManyNumbers { .. } => Wrong::TooManyOverrides,
        // The rest are about the limit itself, which was checked before.
        LimitError::NotAttempts { .. } => Wrong::NotAttempts { field: "distinct" },
        LimitError::DistinctOfItself { dimension, .. } => Wrong::DistinctOfItself { dimension },
        LimitError::TooManyDistinct { .. } => Wrong::TooManyDistinct,
        LimitError::Ipv6OfNoAddress { .. } => Wrong::Ipv6OfNoAddress,
        LimitError::CountsByPlan { .. } => Wrong::CountsByPlan,
        LimitError::ForgivesOutcomes { .. } => Wrong::OutcomeSettled { field: "forgiving" },
    }
}
