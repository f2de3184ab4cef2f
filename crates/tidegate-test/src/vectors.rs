//! The test vectors: traces with their outcomes, which define what the documents mean.
//!
//! They are data, so that every store, whatever language its steps are written in, can be held to
//! the same ones. Parsing is strict: an unknown field is an error, and so is a vector that belongs
//! to no section. Everything that a section says is checked; nothing in the file is skipped.

mod failures;
mod keys;
mod merge;
mod run;
mod time;
mod written;

pub use run::check;

use written::Vector;

/// The vector file, as it came with the requirements.
pub const TEXT: &str = include_str!("../vectors.yaml");

/// The kind of a vector, which determines the function that checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// Limits, charged through a store.
    Limits,
    /// Merges of allowances.
    Merge,
    /// The text of keys.
    Keys,
    /// The prefixes of addresses.
    Prefixes,
    /// Abuse logs with their blocks, also charged through a store.
    Attempts,
    /// Requests while the store fails.
    Failover,
}

/// All vectors of a file.
#[derive(Debug)]
pub struct Vectors(Vec<(Section, Vector)>);

// === impl Vectors ===

impl Vectors {
    /// Parses `text`.
    ///
    /// # Errors
    ///
    /// If the text is not a valid vector file, down to the last field.
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
