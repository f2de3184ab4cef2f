//! One limit: its name, scope, shape, and how it is charged.

use tidegate_core::{Cost, CostRule, Dimension, Kind, Limit, Name, Scope, Shape, Stage};

use super::Check;
use super::shape::Numbers;
use crate::file::place::{Place, Placed};
use crate::file::written::limit::{self as written, By};
use crate::file::written::scalar::Number;
use crate::file::written::word::{CountedBy, Word};
use crate::file::wrong::Wrong;
use crate::file::yaml::short;

/// A limit that is in order by itself, before it is compared with others.
#[derive(Clone, Debug)]
pub(super) struct Sound {
    pub(super) limit: Limit,
    /// All numbers of the limit: the usual ones, and those of its overrides.
    pub(super) shapes: Vec<Shape>,
    /// Where the name of the limit stands.
    pub(super) place: Place,
}

/// The parts of a limit that its overrides are checked against; `None` where a part is wrong.
#[derive(Clone, Copy)]
pub(super) struct Frame<'w> {
    pub(super) scope: Option<Scope>,
    pub(super) numbers: Option<Numbers<'w>>,
    pub(super) cost: Option<CostRule>,
    /// Where the cost is written, if it is.
    pub(super) at_cost: Option<Place>,
    /// Whether the limit counts distinct values, of which fewer can be told apart.
    pub(super) is_distinct: bool,
}

impl Check {
    /// Checks a limit that is written out, as opposed to one named by `shared`.
    pub(super) fn limit(&mut self, limit: &Placed<written::Limit>) -> Option<Sound> {
        let written = &limit.value;
        let owner = ("a limit", limit.place);
        let name = self.required(written.name.as_ref(), owner, "name", "name: burst");
        let place = name.map_or(limit.place, |name| name.place);
        let called = match name {
            Some(name) => format!("limit `{}`", short(&name.value.0)),
            None => "this limit".into(),
        };
        let name = name.and_then(|name| self.name(name));
        let by = self.required(written.by.as_ref(), (&called, place), "by", "by: org");
        let scope = by.and_then(|by| self.scope(by));
        let cost = self.cost(written.cost.as_ref());
        let stage = self.word_or(written.stage.as_ref(), Stage::Action);
        let numbers = self.one_shape(&called, place, &Numbers::of(written));
        let special = self.special(written, scope, numbers);
        let here = self.numbers_here(written, numbers);
        let numbers = match &here {
            Some(Some(filled)) => Some(filled.numbers()),
            Some(None) => numbers,
            None => None,
        };
        let outcomes = self.outcomes(written);
        let at_cost = written.cost.as_ref().map(|cost| cost.place);
        let is_distinct = written.distinct.is_some();
        let frame = Frame { scope, numbers, cost, at_cost, is_distinct };
        let shape = numbers.and_then(|numbers| self.fitting_shape(numbers, frame));
        let limit = match (name, scope, shape, cost, stage, special) {
            (Some(name), Some(scope), Some(shape), Some(cost), Some(stage), Some(special)) => {
                let limit = Limit::new(name, scope, shape).costing(cost).at_stage(stage);
                Some(flagged(special.given_to(limit), written))
            }
            _ => None,
        };
        let limit = limit.zip(outcomes).map(|(limit, outcomes)| match outcomes {
            Some(outcomes) => limit.counting_outcomes(outcomes),
            None => limit,
        });
        let overrides = written.overrides.as_ref().map_or(&[][..], |list| list.value.as_slice());
        let mut shapes: Vec<Shape> = limit.iter().map(|limit| limit.shape().clone()).collect();
        let limit = self.overridden(limit, frame, overrides, &mut shapes)?;
        Some(Sound { limit, shapes, place })
    }

    /// The one shape that is given; none or several are reported.
    pub(super) fn one_shape<'w>(
        &mut self,
        owner: &str,
        place: Place,
        given: &[Numbers<'w>],
    ) -> Option<Numbers<'w>> {
        let owner = owner.to_owned();
        match given {
            [] => self.say(place, Wrong::NoShape { owner }),
            [one] => return Some(*one),
            [first, second, ..] => {
                let other = (first.place(), "one shape");
                let wrong = Wrong::TwoShapes { owner, first: first.kind(), second: second.kind() };
                self.say_of_two(second.place(), other, wrong);
            }
        }
        None
    }

    /// The shape of these numbers, if the lightest request fits.
    pub(super) fn fitting_shape(
        &mut self,
        numbers: Numbers<'_>,
        frame: Frame<'_>,
    ) -> Option<Shape> {
        let shape = self.shape(numbers, frame.is_distinct)?;
        // An attempt counts once, whatever a request costs.
        if shape.kind() == Kind::Attempts {
            return Some(shape);
        }
        let (cost, capacity) = (frame.cost?.units(Cost::ONE), shape.capacity());
        if cost.get() > capacity {
            let other = frame.at_cost.map(|place| (place, "what a request costs"));
            let wrong = Wrong::CostAboveCapacity { cost, capacity };
            self.note(numbers.at_capacity(), other, wrong);
            return None;
        }
        Some(shape)
    }

    fn scope(&mut self, by: &Placed<By>) -> Option<Scope> {
        let words = match &by.value {
            By::One(word) => vec![Placed { value: word.clone(), place: by.place }],
            By::Many(words) => words.clone(),
        };
        if words.is_empty() {
            self.say(by.place, Wrong::EmptyScope);
            return None;
        }
        let mut dimensions: Vec<Dimension> = Vec::new();
        let mut sound = true;
        for word in &words {
            if word.value == Dimension::Plan.name() {
                self.say(word.place, Wrong::CountsByPlan);
                sound = false;
                continue;
            }
            let dimension = Word::<CountedBy>::from(word.value.clone());
            let wrong = match self.word(&Placed { value: dimension, place: word.place }) {
                None => {
                    sound = false;
                    continue;
                }
                Some(CountedBy::Everybody) if words.len() == 1 => return Some(Scope::GLOBAL),
                Some(CountedBy::Everybody) => Wrong::GlobalAmongOthers,
                Some(CountedBy::One(dimension)) if dimensions.contains(&dimension) => {
                    Wrong::RepeatedDimension { dimension: dimension.name().into() }
                }
                Some(CountedBy::One(dimension)) => {
                    dimensions.push(dimension);
                    continue;
                }
            };
            self.say(word.place, wrong);
            sound = false;
        }
        sound.then(|| Scope::of(dimensions))
    }

    fn cost(&mut self, cost: Option<&Placed<written::Cost>>) -> Option<CostRule> {
        let Some(cost) = cost else { return Some(CostRule::default()) };
        match &cost.value {
            written::Cost::Plain(units) => {
                let units = Placed { value: *units, place: cost.place };
                self.units(&units, "cost").map(CostRule::PerUnit)
            }
            written::Cost::Rule(rule) => match (&rule.per_request, &rule.per_unit) {
                (Some(units), None) => self.units(units, "per_request").map(CostRule::PerRequest),
                (None, Some(units)) => self.units(units, "per_unit").map(CostRule::PerUnit),
                _ => {
                    self.say(cost.place, Wrong::CostRules);
                    None
                }
            },
        }
    }

    fn units(&mut self, units: &Placed<Number>, field: &'static str) -> Option<Cost> {
        match Cost::try_new(self.number(units, field)?) {
            Ok(cost) => Some(cost),
            Err(error) => {
                self.say(units.place, error);
                None
            }
        }
    }

    /// The name of a limit, if it is valid; nothing is reported.
    pub(super) fn called(limit: &written::Limit) -> Option<Name> {
        limit.name.as_ref().and_then(|name| Name::try_new(&name.value.0).ok())
    }
}

fn flagged(limit: Limit, written: &written::Limit) -> Limit {
    let set = |flag: &Option<Placed<bool>>| flag.as_ref().is_some_and(|flag| flag.value);
    let limit = if set(&written.shadow) { limit.in_shadow() } else { limit };
    let limit = if set(&written.settles) { limit.settling() } else { limit };
    if set(&written.named_key) { limit.with_named_key() } else { limit }
}
