//! A file that was refused: everything that is wrong with it, each with its place.

use core::fmt;
use std::sync::Arc;

use tidegate_core::Name;

use super::place::FilePlace;
use super::render;
use super::wrong::Wrong;

/// Why a policy file was refused.
///
/// Shown as text it says, for each problem in the order of the file, what is wrong, where (file,
/// line, column and the line itself) and what to do. A host that shows errors in its own way takes the
/// [problems](Self::problems) one by one: each has a code, a line, a column and advice.
#[derive(Clone, Debug)]
pub struct FileError {
    problems: Vec<FileProblem>,
    /// How many more problems were found than are kept.
    more: usize,
}

/// One thing that is wrong with a file.
#[derive(Clone, Debug)]
pub struct FileProblem {
    pub(super) found: Found,
    pub(super) source: Arc<Source>,
}

/// A problem as it was found, before there is a text to show it in.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) wrong: Wrong,
    pub(super) place: FilePlace,
    /// Another place in the file that the problem has to do with, and what is there.
    pub(super) other: Option<(FilePlace, &'static str)>,
    /// The environment in which it is wrong, if it is not wrong everywhere.
    pub(super) environment: Option<Name>,
}

/// The file that an error is about.
#[derive(Debug)]
pub(super) struct Source {
    /// The name that errors call the file by.
    pub(super) name: String,
    /// The text as it may be shown: with secrets covered.
    pub(super) text: String,
}

/// Why a section of a file cannot be used, although each of its values can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct SettingsError {
    /// The field, as a path from the top of the file, such as `server.threads`.
    pub field: String,
    /// What is wrong with the field, and what to write instead.
    pub problem: String,
}

/// The most problems that are kept.
const KEPT: usize = 50;

// === impl FileError ===

impl FileError {
    /// Everything that is wrong, in the order of the file; at most fifty are kept.
    #[must_use]
    pub fn problems(&self) -> &[FileProblem] {
        &self.problems
    }

    /// How many more problems were found than are kept; after a thousand the search ends.
    #[must_use]
    pub const fn more(&self) -> usize {
        self.more
    }

    pub(super) fn new(mut found: Vec<Found>, source: Source) -> Self {
        found.sort_by_key(|found| found.place);
        found.dedup_by(|a, b| a.place == b.place && a.wrong == b.wrong);
        let (more, source) = (found.len().saturating_sub(KEPT), Arc::new(source));
        let kept = found.into_iter().take(KEPT);
        let problems =
            kept.map(|found| FileProblem { found, source: Arc::clone(&source) }).collect();
        Self { problems, more }
    }

    fn summary(&self) -> String {
        let count = self.problems.len() + self.more;
        let name = self.problems.first().map_or("the policy file", |first| &first.source.name);
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

// === impl FileProblem ===

impl FileProblem {
    /// What is wrong.
    #[must_use]
    pub const fn wrong(&self) -> &Wrong {
        &self.found.wrong
    }

    /// The environment whose numbers make it wrong; `None` if it is wrong without any.
    #[must_use]
    pub const fn environment(&self) -> Option<&Name> {
        self.found.environment.as_ref()
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
        let text = &self.source.text;
        &text[..self.found.place.within(text).start]
    }
}

impl fmt::Display for FileProblem {
    /// What is wrong, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render::shown(&self.found.wrong.to_string()))
    }
}

impl core::error::Error for FileProblem {}
