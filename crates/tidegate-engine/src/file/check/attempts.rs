//! Attempts: their numbers, and what goes with them alone.

use tidegate_core::{
    Attempts, Dimension, Ladder, Level, MAX_DISTINCT, Scope, Shape, Span, Threshold,
};

use super::Check;
use super::shape::Numbers;
use crate::file::place::{FilePlace, Placed};
use crate::file::written::attempts::{
    AttemptsNumbers, LADDER, LadderText, Levels, ThresholdNumbers,
};
use crate::file::written::limit as written;
use crate::file::written::scalar::{DurationText, WrittenNumber};
use crate::file::written::word::Only;
use crate::file::wrong::Wrong;

/// Valid numbers, which stand in for the others while one number is tried alone.
const USUAL: Threshold = Threshold { block_at: 2, per: Span::SECOND, block: Span::SECOND };

impl Check {
    /// Whether a limit's exemption, its kind of address, and what it counts and forgives go together;
    /// if not, that is reported.
    pub(super) fn goes_together(
        &mut self,
        written: &written::WrittenLimit,
        scope: Option<Scope>,
        numbers: Option<&Placed<Numbers>>,
    ) -> bool {
        let before = self.problems.len();
        let unless = written.unless.as_ref().and_then(|word| Some((self.word(word)?, word.place)));
        let distinct =
            written.distinct.as_ref().and_then(|word| Some((self.word(word)?, word.place)));
        // If an address is known, so are all its prefixes, and each of them lies in one of the
        // wider ones.
        let with = |dimension: Dimension, by: Dimension| {
            dimension == by || dimension.prefix_length().and(by.prefix_length()).is_some()
        };
        let within = |dimension: Dimension, by: Dimension| {
            let lengths = dimension.prefix_length().zip(by.prefix_length());
            dimension == by || lengths.is_some_and(|(wide, narrow)| wide > narrow)
        };
        let counted = || scope.into_iter().flat_map(Scope::dimensions);
        if let Some((dimension, place)) = unless
            && counted().chain(distinct.map(|(other, _)| other)).any(|by| with(dimension, by))
        {
            self.say(place, Wrong::never_applies(dimension));
        }
        let only = written.only.as_ref().and_then(|word| Some((self.word(word)?, word.place)));
        if let (Some((Only::Ipv6, place)), Some(scope)) = (only, scope)
            && scope.dimensions().all(|by| by.prefix_length().is_none())
        {
            self.say(place, Wrong::ipv6_of_no_address());
        }
        if let Some((dimension, place)) = distinct
            && counted().any(|by| within(dimension, by))
        {
            self.say(place, Wrong::distinct_of_itself(dimension.name()));
        }
        if let Some((Dimension::Plan, place)) = distinct {
            self.say(place, Wrong::counts_by_plan());
        }
        let forgiving = written.forgiving.as_ref().filter(|forgiving| forgiving.value);
        match numbers.map(|numbers| &numbers.value) {
            Some(Numbers::Attempts(_)) => {
                if let Some(cost) = &written.cost {
                    self.say(cost.place, Wrong::cost_of_attempts());
                }
            }
            Some(_) => {
                let distinct = written.distinct.as_ref().map(|at| ("distinct", at.place));
                let forgiving = forgiving.map(|at| ("forgiving", at.place));
                for (field, place) in distinct.into_iter().chain(forgiving) {
                    self.say(place, Wrong::not_attempts(field));
                }
            }
            None => {}
        }
        self.problems.len() == before
    }

    /// The shape of attempts with these numbers.
    pub(super) fn attempts(
        &mut self,
        written: &AttemptsNumbers,
        place: FilePlace,
        is_distinct: bool,
    ) -> Option<Shape> {
        if self.mixes_manners(written) {
            return None;
        }
        let attempts = match written.climbs() {
            true => self.climbing(written, place)?,
            false => self.windows(written, place)?,
        };
        if is_distinct && attempts.keeps() > MAX_DISTINCT {
            let of_long = written.long.as_ref().and_then(|long| long.value.block_at.as_ref());
            let at = of_long.or_else(|| written.block_at()).map_or(place, |number| number.place);
            return self.refuse(at, Wrong::too_many_distinct());
        }
        Some(Shape::Attempts(attempts))
    }

    /// Whether fields of both manners of blocks stand side by side; if so, that is reported.
    fn mixes_manners(&mut self, written: &AttemptsNumbers) -> bool {
        let windows = [
            written.temp.as_ref().map(|temp| ("temp", temp.place)),
            written.long.as_ref().map(|long| ("long", long.place)),
        ];
        let climbing = [
            written.block_at.as_ref().map(|at| ("block_at", at.place)),
            written.per.as_ref().map(|per| ("per", per.place)),
            written.ladder.as_ref().map(|ladder| ("ladder", ladder.place)),
        ];
        let window = windows.into_iter().flatten().next();
        let Some((one, other)) = window.zip(climbing.into_iter().flatten().next()) else {
            return false;
        };
        let (first, second) = if one.1 <= other.1 { (one, other) } else { (other, one) };
        let wrong = Wrong::two_manners(first.0, second.0);
        self.say_of_two(second.1, (first.1, "one manner"), wrong);
        true
    }

    fn windows(&mut self, written: &AttemptsNumbers, place: FilePlace) -> Option<Attempts> {
        let example = "temp: { block_at: 5, per: 10min, block: 15min }";
        let owner = ("a limit of attempts", place);
        let at_temp = self.required(written.temp.as_ref(), owner, "temp", example);
        let temp = at_temp.and_then(|temp| self.threshold(temp, "the short window"));
        let long = written.long.as_ref().map(|long| self.threshold(long, "the long window"));
        let long = match long {
            Some(long) => Some(long?),
            None => None,
        };
        match Attempts::try_new(temp?, long) {
            Ok(attempts) => Some(attempts),
            Err(error) => {
                let other = at_temp.map(|temp| (temp.place, "the short window"));
                let place = written.long.as_ref().map_or(place, |long| long.place);
                self.note(place, other, error.into());
                None
            }
        }
    }

    fn threshold(&mut self, written: &Placed<ThresholdNumbers>, called: &str) -> Option<Threshold> {
        let Placed { value, place } = written;
        let owner = (called, *place);
        let block_at = self.required(value.block_at.as_ref(), owner, "block_at", "block_at: 5");
        let per = self.required(value.per.as_ref(), owner, "per", "per: 10min");
        let block = self.required(value.block.as_ref(), owner, "block", "block: 15min");
        let block_at = block_at.and_then(|at| self.block_at(at));
        let per = per.and_then(|per| self.length(per));
        let block = block.and_then(|block| self.length(block));
        Some(Threshold { block_at: block_at?, per: per?, block: block? })
    }

    fn climbing(&mut self, written: &AttemptsNumbers, place: FilePlace) -> Option<Attempts> {
        let owner = ("a limit of attempts", place);
        let block_at = self.required(written.block_at.as_ref(), owner, "block_at", "block_at: 5");
        let per = self.required(written.per.as_ref(), owner, "per", "per: 10min");
        let ladder = self.required(written.ladder.as_ref(), owner, "ladder", "ladder: all");
        let block_at = block_at.and_then(|at| self.block_at(at));
        let per = per.and_then(|per| self.length(per));
        let ladder = ladder.and_then(|ladder| self.ladder(ladder));
        self.right(place, Attempts::climbing(block_at?, per?, ladder?))
    }

    fn block_at(&mut self, written: &Placed<WrittenNumber>) -> Option<u16> {
        let block_at = self.number(written, "block_at")?;
        // A number beyond the type is beyond the range too, which the core reports.
        let block_at = u16::try_from(block_at).unwrap_or(u16::MAX);
        self.alone(written.place, Threshold { block_at, ..USUAL }).map(|made| made.block_at)
    }

    /// The length of a window or a block.
    fn length(&mut self, written: &Placed<DurationText>) -> Option<Span> {
        let per = self.duration(written)?;
        self.alone(written.place, Threshold { per, ..USUAL }).map(|made| made.per)
    }

    /// Tries one number alone, so that a wrong number does not hide the next.
    fn alone(&mut self, place: FilePlace, threshold: Threshold) -> Option<Threshold> {
        self.right(place, Attempts::try_new(threshold, None)).map(|made| *made.temp())
    }

    fn ladder(&mut self, written: &Placed<LadderText>) -> Option<Ladder> {
        let Levels { from, to } = match &written.value {
            LadderText::Word(word) if word == "all" => return Some(Ladder::default()),
            LadderText::Word(_) => return self.refuse(written.place, Wrong::other_type(LADDER)),
            LadderText::Some(levels) => levels,
        };
        let bottom = self.word_or(from.as_ref(), Level::L1);
        let top = self.word_or(to.as_ref(), Level::L6);
        let place = to.as_ref().map_or(written.place, |to| to.place);
        self.right(place, Ladder::try_new(bottom?, top?))
    }
}
