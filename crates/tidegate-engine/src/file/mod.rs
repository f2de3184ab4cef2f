//! Policies from a YAML file: parsed once, in two stages, with errors that show what to mend.
//!
//! ```
//! use tidegate_engine::file::File;
//!
//! let file: File = File::parse("policies.yaml", "
//! version: 1
//! policies:
//!   - name: api
//!     failure_mode: fail_open
//!     limits:
//!       - name: burst
//!         by: org
//!         bucket: { rate: 10/s, burst: 20 }
//! ")?;
//! let policies = file.policies().clone().build(None)?;
//! assert!(policies.get("api").is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `written/` | the file as it is written: which fields there are |
//! | `yaml.rs` | reading text into those types, within bounds |
//! | `check/` | making policies of those types, and finding everything that is wrong |
//! | `idle.rs` | limits that can never bind, and why |
//! | `wrong/` | what can be wrong, and what to do about it |
//! | `error.rs`, `render.rs`, `place.rs` | how errors are shown, and where they are |
//! | `hidden.rs`, `veil.rs` | the type of secrets, and hiding them in what is shown |
//! | `schema.rs` | the JSON schema of the format |
//!
//! The format is described in `docs/policy-file.md`.

mod check;
mod error;
mod hidden;
mod idle;
mod place;
mod rate;
mod render;
mod schema;
mod veil;
mod written;
mod wrong;
mod yaml;

pub use check::Report;
pub use error::{FileError, FileProblem, SettingsError};
pub use hidden::Hidden;
pub use place::{FilePlace, Placed};
pub use schema::schema;
pub use written::present;
pub use written::top::SECTIONS;
pub use wrong::Wrong;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tidegate_core::{PolicySet, PolicySetBuilder};

use crate::memory::Budget;
use check::Check;

/// The largest file that is read, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// The longest value an override can match, in bytes; also the longest pattern and name.
pub const MAX_TEXT: usize = 256;

/// The most overrides of exact values that one limit can have.
pub const MAX_EXACT_OVERRIDES: usize = 1_000;

/// The most environments that a file can declare.
pub const MAX_ENVIRONMENTS: usize = 8;

/// A policy file that has been read and checked.
///
/// `D` holds the sections that a [`Door`] keeps in the file beside the policies.
#[derive(Clone, Debug)]
pub struct File<D = NoDoor> {
    policies: PolicySetBuilder,
    /// The policies, built on their own.
    built: PolicySet,
    budget: Budget,
    door: D,
}

/// A part of a program that keeps sections of its own in the file: a struct whose fields are those
/// sections.
///
/// Fields that may be left out take `#[serde(default)]` or an `Option`. Sections of other doors of
/// Tidegate ([`SECTIONS`]) pass unread, so that one file serves several programs; every other section
/// is refused. Give the types within `#[serde(deny_unknown_fields)]`, and nothing of a section that is
/// read goes unseen. A field of the type [`Hidden`] is covered wherever an error would show it.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use tidegate_engine::file::{Door, File, Report};
///
/// #[derive(Debug, Default, Deserialize, JsonSchema)]
/// #[serde(default, deny_unknown_fields)]
/// struct Server { threads: Option<usize> }
///
/// #[derive(Debug, Deserialize, JsonSchema)]
/// struct Sections { #[serde(default)] server: Server }
///
/// impl Door for Sections {
///     fn check(&self, report: &mut Report<'_>) {
///         if self.server.threads == Some(0) {
///             report.say("server.threads", "no thread can serve nobody; write 1 or more");
///         }
///     }
/// }
///
/// let text = "version: 1\nserver:\n  threads: 0\npolicies: []\n";
/// let refused = File::<Sections>::parse("tidegate.yaml", text).unwrap_err().to_string();
/// assert!(refused.contains("--> tidegate.yaml:3:12"), "{refused}");
/// ```
pub trait Door: DeserializeOwned + JsonSchema {
    /// Reports values that the types let pass and the door does not.
    fn check(&self, report: &mut Report<'_>) {
        let _ = report;
    }
}

/// No door: the file holds policies and nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct NoDoor {}

// === impl File ===

impl<D: Door> File<D> {
    /// Reads a file for no particular environment: limits that have other numbers in some
    /// environments have their usual ones. Errors call the file `name`.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, in any environment, or the first thing that keeps it from being
    /// read.
    pub fn parse(name: &str, text: &str) -> Result<Self, FileError> {
        Self::parse_in(name, text, None)
    }

    /// Reads a file for one of the environments that it declares.
    ///
    /// # Errors
    ///
    /// Those of [`parse`](Self::parse), and if the file does not declare this environment.
    pub fn parse_in(name: &str, text: &str, environment: Option<&str>) -> Result<Self, FileError> {
        // The parser does not count a byte order mark in its places.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let bytes = text.len();
        let text = if bytes > MAX_BYTES { text.lines().next().unwrap_or_default() } else { text };
        let text = &text[..text.floor_char_boundary(MAX_BYTES)];
        let mut check = Check::new(name, text);
        if bytes > MAX_BYTES {
            check.say(FilePlace::default(), Wrong::file_too_large(bytes));
            return Err(check.into_error::<D>(&[]));
        }
        match yaml::read::<D>(text) {
            Ok(top) => check.file(top, environment),
            Err((place, wrong)) => {
                check.say(place, wrong);
                Err(check.into_error::<D>(&[]))
            }
        }
    }

    /// The policies, to be built on their own or as successors of others
    /// ([`Engine::reload`](crate::Engine::reload)).
    #[must_use]
    pub const fn policies(&self) -> &PolicySetBuilder {
        &self.policies
    }

    /// The policies as they are without any before them.
    #[must_use]
    pub const fn policy_set(&self) -> &PolicySet {
        &self.built
    }

    /// How many keys the in-memory store counts exactly.
    #[must_use]
    pub const fn budget(&self) -> Budget {
        self.budget
    }

    /// The sections that the door keeps in the file.
    #[must_use]
    pub const fn door(&self) -> &D {
        &self.door
    }
}

// === impl NoDoor ===

impl Door for NoDoor {}
