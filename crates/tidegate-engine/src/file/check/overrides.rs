//! Overrides: other numbers for one value of one dimension, each in the shape of its limit.

use std::collections::HashMap;

use tidegate_core::{
    Account, Dimension, Limit, LimitError, Override, OverrideError, Prefix, Scope, Shape, Values,
};

use super::Check;
use super::limit::Frame;
use super::shape::{Numbers, numbers_of};
use crate::file::MAX_EXACT_OVERRIDES;
use crate::file::place::{FilePlace, Placed};
use crate::file::written::limit as written;
use crate::file::written::word::Word;
use crate::file::wrong::Wrong;

/// The value that an override is for, and where it stands.
struct Selected<'w> {
    dimension: Dimension,
    value: &'w str,
    place: FilePlace,
}

impl Check {
    /// The limit with its overrides; `None` if something is wrong with the limit or with one of
    /// them. The numbers of the overrides are added to `shapes`.
    pub(super) fn overridden(
        &mut self,
        mut limit: Option<Limit>,
        frame: Frame<'_>,
        overrides: &[Placed<written::WrittenOverride>],
        shapes: &mut Vec<Shape>,
    ) -> Option<Limit> {
        let mut exact = 0;
        let mut seen: HashMap<(Dimension, String), FilePlace> = HashMap::new();
        for rule in overrides {
            if self.is_enough() {
                return None;
            }
            let selected = self.selected(rule, frame.scope);
            let shape = self.other_shape(rule, frame);
            exact += usize::from(selected.as_ref().is_some_and(|one| !one.is_pattern()));
            if exact > MAX_EXACT_OVERRIDES {
                return self.refuse(rule.place, Wrong::too_many_overrides());
            }
            if let Some(shape) = shape.as_ref().filter(|shape| !shapes.contains(shape)) {
                shapes.push(shape.clone());
            }
            let rule = selected.zip(shape).and_then(|(selected, shape)| {
                Some((self.rule(&selected, shape, &mut seen)?, selected.place))
            });
            // Once something is wrong, the remaining overrides are only checked.
            limit = limit.zip(rule).and_then(|(limit, (rule, place))| {
                self.right(place, limit.overridden(rule).map_err(of_override))
            });
        }
        limit
    }

    fn rule(
        &mut self,
        selected: &Selected<'_>,
        shape: Shape,
        seen: &mut HashMap<(Dimension, String), FilePlace>,
    ) -> Option<Override> {
        let Selected { dimension, value, place } = *selected;
        let rule = if selected.is_pattern() {
            Override::pattern(dimension, value, shape)
        } else {
            Override::exact(dimension, value, shape)
        };
        let rule = self.right(place, rule)?;
        let Some(first) = seen.insert((dimension, same_as(dimension, value)), place) else {
            return Some(rule);
        };
        self.say_of_two(place, (first, "first here"), OverrideError::Duplicate(dimension));
        None
    }

    fn selected<'w>(
        &mut self,
        rule: &'w Placed<written::WrittenOverride>,
        scope: Option<Scope>,
    ) -> Option<Selected<'w>> {
        let owner = ("an override", rule.place);
        let matches =
            self.required(rule.value.matches.as_ref(), owner, "match", "match: { org: acme }")?;
        let mut pairs = matches.value.0.iter();
        let (Some((name, value)), None) = (pairs.next(), pairs.next()) else {
            return self.refuse(matches.place, Wrong::match_not_one(matches.value.0.len()));
        };
        if name.value == "global" {
            return self.refuse(matches.place, Wrong::match_not_one(0));
        }
        let dimension: Dimension = self.word(&name.clone().map(Word::from))?;
        let counts = |scope: Scope| dimension == Dimension::Plan || scope.contains(dimension);
        if !scope.is_none_or(counts) {
            return self.refuse(name.place, OverrideError::OutsideScope(dimension));
        }
        let Placed { value, place } = value;
        if value.is_empty() && dimension.values() != Values::Accounts {
            return self.refuse(*place, Wrong::empty_match(dimension));
        }
        self.fits(value, *place).then_some(Selected { dimension, value, place: *place })
    }

    fn other_shape(
        &mut self,
        rule: &Placed<written::WrittenOverride>,
        frame: Frame<'_>,
    ) -> Option<Shape> {
        let given = self.one_shape(("this override", rule.place), numbers_of!(rule.value))?;
        let whole = self.made_whole("this override", given, frame.numbers)?;
        self.fitting_shape(&whole, frame)
    }

    /// The given numbers, completed with the usual ones; `None` if they are not of the same shape.
    pub(super) fn made_whole(
        &mut self,
        owner: &str,
        Placed { value: given, place }: Placed<Numbers>,
        usual: Option<&Placed<Numbers>>,
    ) -> Option<Placed<Numbers>> {
        if given.is_blank() {
            let message =
                format!("{owner} changes nothing; write the numbers that differ, or remove it");
            return self.refuse(place, Wrong::bad_value(&message));
        }
        let (usual, found) = (&usual?.value, given.kind());
        let filled = given.filled(usual).ok_or_else(|| Wrong::other_shape(usual.kind(), found));
        Some(Placed { value: self.right(place, filled)?, place })
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
        LimitError::Override { error, .. } => error.into(),
        LimitError::OtherShape { expected, found, .. } => Wrong::other_shape(expected, found),
        LimitError::CostAboveCapacity { cost, capacity, .. } => {
            Wrong::cost_above_capacity(cost, capacity)
        }
        LimitError::TooManyNumbers { .. } => Wrong::too_many_overrides(),
        // The rest are about the limit itself, which was checked before.
        LimitError::NotAttempts { .. } => Wrong::not_attempts("distinct"),
        LimitError::DistinctOfItself { dimension, .. } => Wrong::distinct_of_itself(dimension),
        LimitError::TooManyDistinct { .. } => Wrong::too_many_distinct(),
        LimitError::Ipv6OfNoAddress { .. } => Wrong::ipv6_of_no_address(),
        LimitError::CountsByPlan { .. } => Wrong::counts_by_plan(),
        LimitError::ForgivesOutcomes { .. } => Wrong::outcome_settled("forgiving"),
        LimitError::DegradedAttempts(name) => Wrong::degraded_attempts(&name),
        // A limit of a file is no row.
        row @ (LimitError::NoRow(_)
        | LimitError::RowTag(_)
        | LimitError::OtherRow(_)
        | LimitError::OtherKind { .. }
        | LimitError::TooManyChanges { .. }) => Wrong::same_counters(&row.into()),
    }
}
