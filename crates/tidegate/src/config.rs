//! What the process works with: the file, with flags and the environment laid over it.
//!
//! Flag before environment before file before default. The first two come as an [`Overlay`], because
//! the command line reads both; nothing else looks at the environment.

use std::net::SocketAddr;

use anyhow::{Context, Result, anyhow};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_core::{PolicySet, PolicySetBuilder};
use tidegate_engine::file::{Door, File, Report, schema};
use tidegate_engine::memory::Budget;
use tidegate_server::{Settings, WrittenSettings};

use crate::cli::Source;
use crate::log;

/// The policies served without a file; `tidegate example` prints them.
pub(crate) const BUILT_IN: &str = include_str!("../example.yaml");

/// What the binary keeps in the policy file, beside the policies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Sections {
    /// How decisions are served over HTTP.
    pub(crate) server: WrittenSettings,
    /// What the process says about itself.
    pub(crate) log: WrittenLog,
}

/// The section `log`, as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenLog {
    /// For people or for machines. Default: human.
    pub(crate) format: Option<log::Format>,
    /// How much. Default: info.
    pub(crate) level: Option<log::Level>,
}

/// What flags and the environment say.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Overlay {
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) threads: Option<usize>,
    pub(crate) format: Option<log::Format>,
    pub(crate) level: Option<log::Level>,
}

/// A file that was found good as a whole.
#[derive(Debug)]
pub(crate) struct Config {
    text: String,
    file: File<Sections>,
    policies: PolicySet,
}

// === impl Sections ===

impl Door for Sections {
    fn check(&self, report: &mut Report<'_>) {
        if let Err(error) = Settings::try_new(&self.server) {
            report.say(&format!("server.{}", error.field), error.problem);
        }
    }
}

// === impl Config ===

impl Config {
    /// Reads and checks.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, with its places.
    pub(crate) fn load(source: &Source) -> Result<Self> {
        let text = source.read().with_context(|| format!("cannot read {source}"))?;
        Self::parse(&source.to_string(), &text)
    }

    /// Checks a text.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, with its places.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self> {
        let file = File::<Sections>::parse(name, text).map_err(|error| anyhow!("{error}"))?;
        // The file has been checked as a whole, so this is for the compiler.
        let policies = file.policies().clone().build(None).with_context(|| name.to_owned())?;
        Ok(Self { text: text.to_owned(), file, policies })
    }

    /// The JSON schema of a file.
    pub(crate) fn schema() -> serde_json::Value {
        schema::<Sections>().into()
    }

    /// The text it was read from.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The policies.
    pub(crate) const fn policies(&self) -> &PolicySet {
        &self.policies
    }

    /// The policies, to be put in force after others.
    pub(crate) fn builder(&self) -> &PolicySetBuilder {
        self.file.policies()
    }

    /// The memory for counters.
    pub(crate) fn budget(&self) -> Budget {
        self.file.budget()
    }

    /// The section `server`, with what flags and environment say laid over it.
    pub(crate) fn server(&self, overlay: &Overlay) -> WrittenSettings {
        let mut written = self.file.door().server.clone();
        written.listen = overlay.listen.or(written.listen);
        written.threads = overlay.threads.or(written.threads);
        written
    }

    /// How to log, likewise.
    pub(crate) fn log(&self, overlay: &Overlay) -> (log::Format, log::Level) {
        let written = self.file.door().log;
        (
            overlay.format.or(written.format).unwrap_or_default(),
            overlay.level.or(written.level).unwrap_or_default(),
        )
    }
}
