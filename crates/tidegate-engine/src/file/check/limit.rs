//! One limit: its name, scope, shape, and how it is charged.

use tidegate_core::{Cost, CostRule, Dimension, Limit, Name, Scope, Shape, ShapeKind, Stage};

use super::Check;
use super::shape::{Numbers, numbers_of};
use crate::file::place::{FilePlace, Placed};
use crate::file::written::limit::{self as written, WrittenScope};
use crate::file::written::scalar::WrittenNumber;
use crate::file::written::word::{CountedBy, Word};
use crate::file::wrong::Wrong;

/// A limit that is in order by itself, before it is compared with others.
#[derive(Clone, Debug)]
pub(super) struct Sound {
    pub(super) limit: Limit,
    /// All numbers of the limit: the usual ones, and those of its overrides.
    pub(super) shapes: Vec<Shape>,
    /// Where the name of the limit stands.
    pub(super) place: FilePlace,
}

/// The parts of a limit that its overrides are checked against; `None` where a part is wrong.
#[derive(Clone, Copy)]
pub(super) struct Frame<'w> {
    pub(super) scope: Option<Scope>,
    pub(super) numbers: Option<&'w Placed<Numbers>>,
    pub(super) cost: Option<CostRule>,
    /// Where the cost is written, if it is.
    pub(super) at_cost: Option<FilePlace>,
    /// Whether the limit counts distinct values, of which fewer can be told apart.
    pub(super) is_distinct: bool,
}

impl Check {
    /// Checks a limit that is written out, as opposed to one named by `shared`.
    pub(super) fn limit(&mut self, limit: &Placed<written::WrittenLimit>) -> Option<Sound> {
        let written = &limit.value;
        let (name, place, called) =
            self.named("limit", limit.place, written.name.as_ref(), "name: burst");
        let by = self.required(written.by.as_ref(), (&called, place), "by", "by: org");
        let scope = by.and_then(|by| self.scope(by));
        let cost = self.cost(written.cost.as_ref());
        let stage = self.word_or(written.stage.as_ref(), Stage::Action);
        let overflow = written.overflow.as_ref().map(|overflow| self.word(overflow));
        let numbers = self.one_shape((&called, place), numbers_of!(written));
        let goes_together = self.goes_together(written, scope, numbers.as_ref());
        let numbers = self.numbers_here(written, numbers);
        let outcomes = self.outcomes(written);
        let at_cost = written.cost.as_ref().map(|cost| cost.place);
        let is_distinct = written.distinct.is_some();
        let frame = Frame { scope, numbers: numbers.as_ref(), cost, at_cost, is_distinct };
        let shape = frame.numbers.and_then(|numbers| self.fitting_shape(numbers, frame));
        let limit = match (name, scope, shape, cost, stage, outcomes) {
            (Some(name), Some(scope), Some(shape), Some(cost), Some(stage), Some(outcomes)) => {
                let limit = Limit::new(name, scope, shape).costing(cost).at_stage(stage);
                let limit = outcomes.into_iter().fold(limit, Limit::counting_outcomes);
                let limit = match overflow {
                    Some(overflow) => overflow.map(|overflow| limit.on_overflow(overflow)),
                    None => Some(limit),
                };
                limit.filter(|_| goes_together).map(|limit| with_settings(limit, written))
            }
            _ => None,
        };
        let overrides = written.overrides.as_ref().map_or(&[][..], |list| list.value.as_slice());
        let mut shapes: Vec<Shape> = limit.iter().map(|limit| limit.shape().clone()).collect();
        let limit = self.overridden(limit, frame, overrides, &mut shapes)?;
        Some(Sound { limit, shapes, place })
    }

    /// The one shape that is given; none or several are reported.
    pub(super) fn one_shape(
        &mut self,
        (owner, place): (&str, FilePlace),
        mut given: impl Iterator<Item = Placed<Numbers>>,
    ) -> Option<Placed<Numbers>> {
        let Some(first) = given.next() else { return self.refuse(place, Wrong::no_shape(owner)) };
        let Some(second) = given.next() else { return Some(first) };
        let wrong = Wrong::two_shapes(owner, first.value.kind(), second.value.kind());
        self.say_of_two(second.place, (first.place, "one shape"), wrong);
        None
    }

    /// The shape of these numbers, if the lightest request fits.
    pub(super) fn fitting_shape(
        &mut self,
        numbers: &Placed<Numbers>,
        frame: Frame<'_>,
    ) -> Option<Shape> {
        let shape = self.shape(numbers, frame.is_distinct)?;
        // An attempt counts once, whatever a request costs.
        if shape.kind() == ShapeKind::Attempts {
            return Some(shape);
        }
        let (cost, capacity) = (frame.cost?.units(Cost::ONE), shape.capacity());
        if cost.get() > capacity {
            let other = frame.at_cost.map(|place| (place, "what a request costs"));
            let place = numbers.value.at_capacity().unwrap_or(numbers.place);
            self.note(place, other, Wrong::cost_above_capacity(cost, capacity));
            return None;
        }
        Some(shape)
    }

    fn scope(&mut self, by: &Placed<WrittenScope>) -> Option<Scope> {
        let words = match &by.value {
            WrittenScope::One(word) => vec![Placed { value: word.clone(), place: by.place }],
            WrittenScope::Many(words) => words.clone(),
        };
        if words.is_empty() {
            return self.refuse(by.place, Wrong::empty_scope());
        }
        let mut dimensions: Vec<Dimension> = Vec::new();
        let before = self.problems.len();
        for word in &words {
            if word.value == Dimension::Plan.name() {
                self.say(word.place, Wrong::counts_by_plan());
                continue;
            }
            match self.word(&word.clone().map(Word::<CountedBy>::from)) {
                None => {}
                Some(CountedBy::Everybody) if words.len() == 1 => return Some(Scope::GLOBAL),
                Some(CountedBy::Everybody) => self.say(word.place, Wrong::global_among_others()),
                Some(CountedBy::One(dimension)) if dimensions.contains(&dimension) => {
                    self.say(word.place, Wrong::repeated_dimension(dimension));
                }
                Some(CountedBy::One(dimension)) => dimensions.push(dimension),
            }
        }
        (self.problems.len() == before).then(|| Scope::of(dimensions))
    }

    fn cost(&mut self, cost: Option<&Placed<written::WrittenCost>>) -> Option<CostRule> {
        let Some(cost) = cost else { return Some(CostRule::default()) };
        match &cost.value {
            written::WrittenCost::Plain(units) => {
                let units = Placed { value: *units, place: cost.place };
                self.units(&units, "cost").map(CostRule::PerUnit)
            }
            written::WrittenCost::Rule(rule) => match (&rule.per_request, &rule.per_unit) {
                (Some(units), None) => self.units(units, "per_request").map(CostRule::PerRequest),
                (None, Some(units)) => self.units(units, "per_unit").map(CostRule::PerUnit),
                _ => self.refuse(cost.place, Wrong::cost_rules()),
            },
        }
    }

    fn units(&mut self, units: &Placed<WrittenNumber>, field: &'static str) -> Option<Cost> {
        let number = self.number(units, field)?;
        self.right(units.place, Cost::try_new(number))
    }

    /// The name of a limit, if it is valid; nothing is reported.
    pub(super) fn called(limit: &written::WrittenLimit) -> Option<Name> {
        limit.name.as_ref().and_then(|name| Name::try_new(&name.value.0).ok())
    }
}

/// The limit with the settings that few limits have, all of which are in order.
fn with_settings(mut limit: Limit, written: &written::WrittenLimit) -> Limit {
    let meant = |word: &Option<Placed<Word<Dimension>>>| word.as_ref()?.value.meaning();
    let set = |flag: &Option<Placed<bool>>| flag.as_ref().is_some_and(|flag| flag.value);
    if let Some(dimension) = meant(&written.unless) {
        limit = limit.unless(dimension);
    }
    if written.only.is_some() {
        limit = limit.only_ipv6();
    }
    if let Some(dimension) = meant(&written.distinct) {
        limit = limit.distinct(dimension);
    }
    if set(&written.forgiving) {
        limit = limit.forgiving();
    }
    if set(&written.shadow) {
        limit = limit.in_shadow();
    }
    if set(&written.settles) {
        limit = limit.settling();
    }
    if set(&written.named_key) { limit.with_named_key() } else { limit }
}
