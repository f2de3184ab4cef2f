//! A file that was refused: everything that is wrong with it, each with its place.

use core::fmt;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use tidegate_core::Name;

use super::place::Place;
use super::render;
use super::wrong::Wrong;

/// Why a policy file was refused.
///
/// Shown as text it says, for each problem in the order of the file, what is wrong, where (file,
/// line, column and the line itself) and what to do. A host that shows its errors through miette
/// takes the [problems](Self::problems) one by one: each is a diagnostic with code, label and help.
#[derive(Clone, Debug)]
pub struct FileError {
    problems: Vec<Problem>,
    /// How many more problems were found than are kept.
    more: usize,
}

/// One thing that is wrong with a file.
#[derive(Clone, Debug)]
pub struct Problem {
    pub(super) wrong: Wrong,
    pub(super) place: Place,
    /// Another place in the file that the problem has to do with, and what is there.
    pub(super) other: Option<(Place, &'static str)>,
    pub(super) source: Arc<NamedSource<String>>,
    /// The environment in which it is wrong, if it is not wrong everywhere.
    pub(super) environment: Option<Name>,
}

/// The most problems that are kept.
const KEPT: usize = 50;

// === impl FileError ===

impl FileError {
    /// Everything that is wrong, in the order of the file; at most fifty are kept.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many more problems were found than are kept; after a thousand the search ends.
    #[must_use]
    pub const fn more(&self) -> usize {
        self.more
    }

    pub(super) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.place);
        problems.dedup_by(|a, b| a.place == b.place && a.wrong == b.wrong);
        let more = problems.len().saturating_sub(KEPT);
        problems.truncate(KEPT);
        Self { problems, more }
    }

    fn summary(&self) -> String {
        let count = self.problems.len() + self.more;
        let name = self.problems.first().map_or("the policy file", |first| first.source.name());
        let s = if count == 1 { "" } else { "s" };
        format!("{}: {count} problem{s}", render::shown(name))
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.problems {
            writeln!(f, "{}\n", render::problem(problem))?;
        }
        match self.more {
            0 => write!(f, "{}", self.summary()),
            more => write!(f, "{}; {more} of them are not shown", self.summary()),
        }
    }
}

impl core::error::Error for FileError {}

/// Adds nothing to the text, which shows everything already.
impl Diagnostic for FileError {}

// === impl Problem ===

impl Problem {
    /// What is wrong.
    #[must_use]
    pub const fn wrong(&self) -> &Wrong {
        &self.wrong
    }

    /// The environment whose numbers make it wrong; `None` if it is wrong without any.
    #[must_use]
    pub const fn environment(&self) -> Option<&Name> {
        self.environment.as_ref()
    }

    /// The line of the file, counted from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.before().matches('\n').count() + 1
    }

    /// The column of the line in characters, counted from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.before().rsplit('\n').next().unwrap_or_default().chars().count() + 1
    }

    fn before(&self) -> &str {
        let text = self.source.inner();
        &text[..self.place.within(text).start]
    }
}

impl fmt::Display for Problem {
    /// What is wrong, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render::shown(&self.wrong.to_string()))
    }
}

impl core::error::Error for Problem {}

impl Diagnostic for Problem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.wrong.code()))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.wrong.advice().map(|advice| Box::new(render::shown(&advice)) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&*self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let text = self.source.inner();
        let span = |place: Place| {
            let place = place.within(text);
            (place.start, place.end - place.start)
        };
        let here = LabeledSpan::new_primary_with_span(None, span(self.place));
        let there = self
            .other
            .map(|(place, what)| LabeledSpan::new_with_span(Some(what.to_owned()), span(place)));
        Some(Box::new(core::iter::once(here).chain(there)))
    }
}
