//! One limit: its name, scope, shape, and how it is charged.

use tidegate_core::{Cost, CostRule, Dimension, Limit, LimitError, Name, Scope, Shape, Stage};

use super::Check;
use crate::file::place::{Place, Placed};
use crate::file::written::limit::{self as written, By};
use crate::file::written::scalar::Number;
use crate::file::written::word::{CountedBy, Word};
use crate::file::wrong::Wrong;

/// A limit that is in order by itself.
#[derive(Clone, Debug)]
pub(super) struct Sound {
    pub(super) limit: Limit,
    /// Where its name stands.
    pub(super) place: Place,
}

/// The numbers of a shape as written, whichever it is.
#[derive(Clone, Copy)]
pub(super) enum Numbers<'w> {
    Bucket(&'w Placed<written::Bucket>),
    Window(&'w Placed<written::WindowNumbers>),
    Quota(&'w Placed<written::QuotaNumbers>),
}

impl Check {
    /// A limit with numbers of its own.
    pub(super) fn limit(&mut self, limit: &Placed<written::Limit>) -> Option<Sound> {
        let written = &limit.value;
        let name =
            self.required(written.name.as_ref(), ("a limit", limit.place), "name", "name: burst");
        let place = name.map_or(limit.place, |name| name.place);
        let called = name.map_or_else(
            || "this limit".into(),
            |name| format!("limit `{}`", super::short(&name.value.0)),
        );
        let name = name.and_then(|name| self.name(name));
        let by = self.required(written.by.as_ref(), (&called, place), "by", "by: org");
        let scope = by.and_then(|by| self.scope(by));
        let cost = self.cost(written.cost.as_ref());
        let stage = self.word_or(written.stage.as_ref(), Stage::Action);
        let numbers = self.one_shape(
            &called,
            place,
            [
                written.bucket.as_ref().map(Numbers::Bucket),
                written.window.as_ref().map(Numbers::Window),
                written.quota.as_ref().map(Numbers::Quota),
            ],
        );
        let shape = numbers.and_then(|numbers| self.shape(numbers));
        let (name, scope, numbers, shape) = (name?, scope?, numbers?, shape?);
        let mut limit = Limit::new(name, scope, shape).costing(cost?).at_stage(stage?);
        if written.shadow == Some(true) {
            limit = limit.in_shadow();
        }
        if written.settles == Some(true) {
            limit = limit.settling();
        }
        if written.named_key == Some(true) {
            limit = limit.with_named_key();
        }
        let fits =
            self.cost_fits(&limit, limit.shape(), numbers.at_capacity(), written.cost.as_ref());
        let overrides = written.overrides.as_deref().unwrap_or_default();
        let limit = self.overridden(limit, numbers, overrides, written.cost.as_ref());
        fits.then_some(Sound { limit: limit?, place })
    }

    /// The one shape among those that could be given.
    pub(super) fn one_shape<'w>(
        &mut self,
        owner: &str,
        place: Place,
        shapes: [Option<Numbers<'w>>; 3],
    ) -> Option<Numbers<'w>> {
        let mut given = shapes.into_iter().flatten();
        let owner = || owner.to_owned();
        match (given.next(), given.next()) {
            (Some(one), None) => Some(one),
            (None, _) => {
                self.say(place, Wrong::NoShape { owner: owner() });
                None
            }
            (Some(first), Some(second)) => {
                let wrong =
                    Wrong::TwoShapes { owner: owner(), first: first.kind(), second: second.kind() };
                self.say_of_two(second.place(), (first.place(), "one shape"), wrong);
                None
            }
        }
    }

    pub(super) fn shape(&mut self, numbers: Numbers<'_>) -> Option<Shape> {
        match numbers {
            Numbers::Bucket(bucket) => self.bucket(&bucket.value, bucket.place),
            Numbers::Window(window) => self.window(&window.value, window.place),
            Numbers::Quota(quota) => self.quota(&quota.value, quota.place),
        }
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

    /// Whether the lightest request fits a shape of this limit.
    pub(super) fn cost_fits(
        &mut self,
        limit: &Limit,
        shape: &Shape,
        at_capacity: Place,
        written: Option<&Placed<written::Cost>>,
    ) -> bool {
        let (cost, capacity) = (limit.cost().units(Cost::ONE), shape.capacity());
        if cost.get() <= capacity {
            return true;
        }
        let error = LimitError::CostAboveCapacity { limit: limit.name().clone(), cost, capacity };
        let other = written.map(|cost| (cost.place, "what a request costs"));
        self.note(at_capacity, other, Wrong::CostAboveCapacity(error));
        false
    }

    /// The name of a limit that is named only to be told apart, without judging it.
    pub(super) fn called(limit: &written::Limit) -> Option<Name> {
        limit.name.as_ref().and_then(|name| Name::try_new(&name.value.0).ok())
    }
}

// === impl Numbers ===

impl Numbers<'_> {
    pub(super) const fn kind(self) -> &'static str {
        match self {
            Self::Bucket(_) => "bucket",
            Self::Window(_) => "window",
            Self::Quota(_) => "quota",
        }
    }

    pub(super) const fn place(self) -> Place {
        match self {
            Self::Bucket(bucket) => bucket.place,
            Self::Window(window) => window.place,
            Self::Quota(quota) => quota.place,
        }
    }

    /// Where the most that fits at once is written.
    pub(super) fn at_capacity(self) -> Place {
        let number = match self {
            Self::Bucket(bucket) => bucket.value.burst.as_ref(),
            Self::Window(window) => window.value.count.as_ref(),
            Self::Quota(quota) => quota.value.count.as_ref(),
        };
        number.map_or_else(|| self.place(), |number| number.place)
    }
}
