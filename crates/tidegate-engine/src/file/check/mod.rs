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

use std::sync::Arc;

use miette::NamedSource;
use tidegate_core::Name;

use super::error::{FileError, Problem};
use super::place::{Place, Placed};
use super::veil::veiled;
use super::written::top::Top;
use super::wrong::Wrong;
use super::yaml::short;
use super::{Door, File};

/// The check of one file: its text, and the problems found so far.
pub(super) struct Check {
    /// The text as it was read.
    text: String,
    /// The text as it is shown: with secrets covered.
    source: Arc<NamedSource<String>>,
    problems: Vec<Problem>,
    /// The environments that the file declares; `environment` is the one that is being checked.
    environments: Vec<Placed<Name>>,
    environment: Option<Name>,
}

/// Collects what a [`Door`] finds wrong with its sections.
pub struct Report<'c>(&'c mut Check);

/// The most problems that are looked for: a file could have one for every few bytes.
const MOST: usize = 1_000;

/// After this many problems nothing is suggested any more: those that are shown come before.
const SUGGESTED: usize = 100;

// === impl Check ===

impl Check {
    /// Begins to check a text; `name` is what errors call it.
    pub(super) fn new(name: &str, text: &str) -> Self {
        let source = Arc::new(NamedSource::new(name, veiled(text)));
        Self {
            text: text.to_owned(),
            source,
            problems: Vec::new(),
            environments: Vec::new(),
            environment: None,
        }
    }

    /// Notes a problem.
    pub(super) fn say(&mut self, place: Place, wrong: impl Into<Wrong>) {
        self.note(place, None, wrong.into());
    }

    /// Notes a problem that has to do with another place too; `other` is that place and what is
    /// there.
    fn say_of_two(&mut self, place: Place, other: (Place, &'static str), wrong: impl Into<Wrong>) {
        self.note(place, Some(other), wrong.into());
    }

    /// Whether enough problems have been found, so that the rest need not be looked at.
    const fn is_enough(&self) -> bool {
        self.problems.len() >= MOST
    }

    /// Whether it is still worth looking for suggestions.
    const fn suggests(&self) -> bool {
        self.problems.len() < SUGGESTED
    }

    fn note(&mut self, place: Place, other: Option<(Place, &'static str)>, wrong: Wrong) {
        if !self.is_enough() {
            let source = Arc::clone(&self.source);
            self.problems.push(Problem { wrong, place, other, source, environment: None });
        }
    }

    pub(super) fn into_error(self) -> FileError {
        FileError::new(self.problems)
    }

    /// Checks the whole file, for the given environment if there is one.
    pub(super) fn file<D: Door>(
        mut self,
        top: Top<D>,
        environment: Option<&str>,
    ) -> Result<File<D>, FileError> {
        let Top { ours, door, sections, strangers } = top;
        for stranger in &strangers {
            self.say(stranger.place, Wrong::unknown_field(&stranger.value, &sections));
        }
        self.version(&ours);
        let budget = self.budget(ours.memory.as_ref());
        self.declared(&ours, environment);
        let policies = self.policies_everywhere(&ours, environment);
        door.check(&mut Report(&mut self));
        match (policies, budget) {
            (Some(policies), Some(budget)) if self.problems.is_empty() => {
                Ok(File { policies, budget, door })
            }
            _ => Err(self.into_error()),
        }
    }
}

// === impl Report ===

impl Report<'_> {
    /// Says what is wrong with the value at `path`, and what to do about it. The path is names of
    /// fields with points between them, such as `server.listen` or `http.routes[0].cost`. If
    /// nothing is written there, the error points at what comes closest.
    pub fn say(&mut self, path: &str, message: impl AsRef<str>) {
        let place = locate::path(&self.0.text, path);
        self.say_at(place, message);
    }

    /// Says what is wrong at the place of a [`Placed`](super::Placed) value, and what to do about it.
    pub fn say_at(&mut self, place: Place, message: impl AsRef<str>) {
        self.0.say(place, Wrong::BadValue { message: short(message.as_ref()) });
    }
}
