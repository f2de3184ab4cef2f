//! The vectors: traces with their outcomes, which say what the documents mean.
//!
//! They are data, so that every store, in whatever language its steps are written, can be held to
//! the same ones. Reading is strict: a field nobody knows fails, and so does a vector that belongs
//! to no section. What a section says is checked completely; nothing in the file is skipped.

mod failures;
mod keys;
mod merge;
mod run;
mod time;
mod written;

pub use run::check;

use written::Vector;

/// The file, as it came with the requirements.
pub const TEXT: &str = include_str!("../vectors.yaml");

/// What kind of vector it is, and with it who checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// Limits, charged through a store.
    Limits,
    /// The merge of allowances.
    Merge,
    /// The text of keys.
    Keys,
    /// The prefixes of addresses.
    Prefixes,
    /// The abuse log with its blocks, through a store too.
    Attempts,
    /// What becomes of requests while the store fails.
    Failover,
}

/// All vectors.
#[derive(Debug)]
pub struct Vectors(Vec<(Section, Vector)>);

// === impl Vectors ===

impl Vectors {
    /// Reads `text`.
    ///
    /// # Errors
    ///
    /// If it is not what a vector file looks like, down to the last field.
    pub fn parse(text: &str) -> Result<Self, String> {
        let vectors: Vec<Vector> =
            serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let sorted = vectors.into_iter().map(|vector| {
            let section = vector.section()?;
            Ok((section, vector))
        });
        Ok(Self(sorted.collect::<Result<_, String>>()?))
    }

    /// The names of the vectors of one section.
    pub fn names(&self, section: Section) -> impl Iterator<Item = &str> {
        self.of(section).map(|vector| vector.name.as_str())
    }

    fn of(&self, section: Section) -> impl Iterator<Item = &Vector> {
        self.0.iter().filter(move |(other, _)| *other == section).map(|(_, vector)| vector)
    }
}
