//! From the file as written to policies that make sense: the second of two stages.
//!
//! Everything that is wrong is collected, so that a file is mended once and not line by line. A part
//! that is wrong is left out of what follows; nothing is reported twice because of it.

mod attempts;
mod binding;
mod budget;
mod counts;
mod environment;
mod limit;
mod locate;
mod outcome;
mod overrides;
mod period;
mod policy;
mod scalar;
mod set;
mod shape;

use tidegate_core::text::nearest;
use tidegate_core::{Name, PolicySet};

use super::error::{FileError, Found, Source};
use super::place::{FilePlace, Placed};
use super::schema::schema;
use super::veil::Veil;
use super::written::top::Top;
use super::wrong::Wrong;
use super::yaml::short;
use super::{Door, File};

/// The check of one file: its text, and the problems found so far.
#[derive(Default)]
pub(super) struct Check {
    /// The name that errors call the file by.
    name: String,
    /// The text as it was read.
    text: String,
    problems: Vec<Found>,
    /// The names of sections that are probably meant by misspelt ones.
    misspelt: Vec<&'static str>,
    /// The environments that the file declares; `environment` is the one that is being checked.
    environments: Vec<Placed<Name>>,
    environment: Option<Name>,
}

/// Collects what a [`Door`] finds wrong with its sections.
pub struct Report<'c> {
    check: &'c mut Check,
    policies: Option<&'c PolicySet>,
}

/// The most problems that are looked for: a file could have one for every few bytes.
const MOST: usize = 1_000;

/// After this many problems nothing is suggested any more: those that are shown come before.
const SUGGESTED: usize = 100;

// === impl Check ===

impl Check {
    /// Begins to check a text; `name` is what errors call it.
    pub(super) fn new(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), text: text.to_owned(), ..Self::default() }
    }

    /// Notes a problem.
    pub(super) fn say(&mut self, place: FilePlace, wrong: impl Into<Wrong>) {
        self.note(place, None, wrong.into());
    }

    /// Notes a problem that has to do with another place too; `other` is that place and what is
    /// there.
    fn say_of_two(
        &mut self,
        place: FilePlace,
        other: (FilePlace, &'static str),
        wrong: impl Into<Wrong>,
    ) {
        self.note(place, Some(other), wrong.into());
    }

    /// Notes a problem, and returns nothing in place of the value that is wrong.
    fn refuse<T>(&mut self, place: FilePlace, wrong: impl Into<Wrong>) -> Option<T> {
        self.say(place, wrong);
        None
    }

    /// The value that was made, or nothing after its error has been noted.
    fn right<T, E: Into<Wrong>>(&mut self, place: FilePlace, made: Result<T, E>) -> Option<T> {
        made.map_err(|error| self.say(place, error)).ok()
    }

    /// Whether enough problems have been found, so that the rest need not be looked at.
    const fn is_enough(&self) -> bool {
        self.problems.len() >= MOST
    }

    /// Whether it is still worth looking for suggestions.
    const fn suggests(&self) -> bool {
        self.problems.len() < SUGGESTED
    }

    fn note(&mut self, place: FilePlace, other: Option<(FilePlace, &'static str)>, wrong: Wrong) {
        if !self.is_enough() {
            self.problems.push(Found { wrong, place, other, environment: None });
        }
    }

    /// Everything that was found. The types of a door's sections say what is not shown, and the values
    /// of sections that nobody knows are not shown either.
    pub(super) fn into_error<D: Door>(self, strangers: &[Placed<String>]) -> FileError {
        let text = Veil::new(&schema::<D>(), strangers).over(&self.text);
        FileError::new(self.problems, Source { name: self.name, text })
    }

    /// Checks the whole file, for the given environment if there is one.
    pub(super) fn file<D: Door>(
        mut self,
        top: Top<D>,
        environment: Option<&str>,
    ) -> Result<File<D>, FileError> {
        let Top { ours, door, sections, strangers } = top;
        for stranger in &strangers {
            let meant = nearest(&stranger.value, sections.iter().copied());
            self.misspelt.extend(meant);
            self.say(stranger.place, Wrong::unknown_field(&stranger.value, meant, &sections));
        }
        self.version(&ours);
        let budget = self.budget(ours.memory.as_ref());
        self.declared(&ours, environment);
        let built = self.policies_everywhere(&ours, environment);
        let policies = built.as_ref().map(|(_, policies)| policies);
        if let Some(door) = &door {
            door.check(&mut Report { check: &mut self, policies });
        }
        match (built, budget, door) {
            (Some((policies, built)), Some(budget), Some(door)) if self.problems.is_empty() => {
                Ok(File { policies, built, budget, door })
            }
            _ => Err(self.into_error::<D>(&strangers)),
        }
    }
}

// === impl Report ===

impl Report<'_> {
    /// The policies of the file, for sections that name some of them; `None` if something is wrong with
    /// the policies themselves.
    #[must_use]
    pub const fn policies(&self) -> Option<&PolicySet> {
        self.policies
    }

    /// Says what is wrong with the value at `path`, and what to do about it. The path is names of
    /// fields with points between them, such as `server.listen` or `http.routes[0].cost`. If
    /// nothing is written there, the error points at what comes closest.
    pub fn say(&mut self, path: &str, message: impl AsRef<str>) {
        let place = locate::path(&self.check.text, path);
        self.say_at(place, message);
    }

    /// Says what is wrong at the place of a [`Placed`](super::Placed) value, and what to do about it.
    pub fn say_at(&mut self, place: FilePlace, message: impl AsRef<str>) {
        self.check.say(place, Wrong::bad_value(&short(message.as_ref())));
    }
}
