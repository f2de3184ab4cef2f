//! The configuration of the process: the policy file, with flags and the environment laid over it.
//!
//! A flag comes before the environment, the environment before the file, the file before the default. The
//! first two come as an [`Overlay`], because the command line reads both; nothing else looks at the
//! environment.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use tidegate_core::{PolicySet, PolicySetBuilder, Secret};
use tidegate_engine::file::{Door, File, Placed, Report, schema};
use tidegate_engine::memory::Budget;
use tidegate_server::{AdminToken, Host, Settings, WrittenSettings};

use crate::cli::Source;
use crate::log;
use crate::store::{self, Choice, Given, Hidden};
use crate::token;

/// The policies served without a file; `tidegate example` prints them.
pub(crate) const BUILT_IN: &str = include_str!("../example.yaml");

/// The sections of a policy file that are for the binary, beside the policies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Sections {
    /// Where counters are kept: `memory`, or the URL of servers that a fleet shares, such as
    /// `redis://host:6379`. Default: memory.
    #[serde(deserialize_with = "present")]
    pub(crate) store: Option<Placed<Hidden>>,
    /// The file with the secret that all nodes of a fleet have in common, unless the environment has
    /// it in `TIDEGATE_SECRET`. Needed where the store is shared.
    #[serde(deserialize_with = "present")]
    pub(crate) secret_file: Option<PathBuf>,
    /// The file with the previous secret, while the secret is being changed, unless the environment has
    /// it in `TIDEGATE_SECRET_PREVIOUS`.
    #[serde(deserialize_with = "present")]
    pub(crate) previous_secret_file: Option<PathBuf>,
    /// How decisions are served over HTTP.
    pub(crate) server: WrittenSettings,
    /// How the process logs.
    pub(crate) log: WrittenLog,
}

/// The section `log`, as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenLog {
    /// Whether the log is for people or for machines. Default: human.
    pub(crate) format: Option<log::Format>,
    /// How much is logged. Default: info.
    pub(crate) level: Option<log::Level>,
}

/// The settings from flags and the environment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overlay {
    /// The environment whose numbers hold.
    pub(crate) environment: Option<String>,
    pub(crate) store: Option<Hidden>,
    pub(crate) secret: Option<Hidden>,
    pub(crate) secret_file: Option<PathBuf>,
    pub(crate) previous_secret: Option<Hidden>,
    pub(crate) previous_secret_file: Option<PathBuf>,
    pub(crate) listen: Option<SocketAddr>,
    /// The names that requests may use for the server.
    pub(crate) hosts: Option<Vec<Host>>,
    pub(crate) admin_listen: Option<SocketAddr>,
    /// Whether operators may come from other machines.
    pub(crate) admin_allow_remote: bool,
    pub(crate) admin_token: Option<Hidden>,
    pub(crate) admin_token_file: Option<PathBuf>,
    pub(crate) threads: Option<usize>,
    pub(crate) format: Option<log::Format>,
    pub(crate) level: Option<log::Level>,
}

/// A policy file that was checked as a whole and is good.
pub(crate) struct Config {
    text: String,
    file: File<Sections>,
    policies: PolicySet,
}

// === impl Sections ===

impl Door for Sections {
    fn check(&self, report: &mut Report<'_>) {
        if let Some(store) = &self.store
            && let Err(advice) = Choice::parse(&store.value)
        {
            report.say_at(store.place, advice);
        }
        if let Err(error) = Settings::try_new(&self.server) {
            report.say(&format!("server.{}", error.field), error.problem);
        }
    }
}

/// Reads a field that may be left out, but not left blank: a blank field is more likely forgotten than
/// meant.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    field: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(field).map(Some)
}

// === impl Config ===

impl Config {
    /// Reads and checks a policy file, with the numbers of an environment if one is named.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, with its places.
    pub(crate) fn load(source: &Source, environment: Option<&str>) -> Result<Self> {
        let text = source.read().with_context(|| format!("cannot read {source}"))?;
        Self::parse(&source.to_string(), &text, environment)
    }

    /// Checks the text of a policy file, with the numbers of an environment if one is named.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, with its places.
    pub(crate) fn parse(name: &str, text: &str, environment: Option<&str>) -> Result<Self> {
        let file = File::<Sections>::parse_in(name, text, environment);
        let file = file.map_err(|error| anyhow!("{error}"))?;
        // The file has been checked as a whole, so this does not fail.
        let policies = file.policies().clone().build(None).with_context(|| name.to_owned())?;
        Ok(Self { text: text.to_owned(), file, policies })
    }

    /// The JSON schema of policy files.
    pub(crate) fn schema() -> serde_json::Value {
        schema::<Sections>().into()
    }

    /// The text of the policy file.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The policies of the file.
    pub(crate) const fn policies(&self) -> &PolicySet {
        &self.policies
    }

    /// The policies of the file, to be put in force in place of others.
    pub(crate) fn builder(&self) -> &PolicySetBuilder {
        self.file.policies()
    }

    /// The memory for counters.
    pub(crate) fn budget(&self) -> Budget {
        self.file.budget()
    }

    /// Where counters are kept, as flags, the environment or the file say.
    ///
    /// # Errors
    ///
    /// If the flag or the variable is wrong.
    pub(crate) fn store(&self, overlay: &Overlay) -> Result<Choice> {
        let file = self.file.door().store.as_ref().map(|store| &store.value);
        match overlay.store.as_ref().or(file) {
            // The text of the file has been checked before, so a wrong one is of the flag or the
            // variable.
            Some(text) => {
                Choice::parse(text).map_err(|advice| anyhow!("--store or TIDEGATE_STORE: {advice}"))
            }
            None => Ok(Choice::Memory),
        }
    }

    /// The secret of the fleet, as flags, the environment or the file give it; with the previous secret,
    /// while it is being changed.
    ///
    /// # Errors
    ///
    /// If there is no secret, or one cannot be read or can be guessed, or both are the same.
    pub(crate) fn secret(&self, overlay: &Overlay) -> Result<Secret> {
        let [current, previous] = self.secrets(overlay);
        store::secret(current, previous)
    }

    /// The files of the current and the previous secret, where a secret is read from a file.
    pub(crate) fn secret_files(&self, overlay: &Overlay) -> [Option<PathBuf>; 2] {
        self.secrets(overlay).map(|given| given.path().map(Path::to_owned))
    }

    fn secrets<'o>(&'o self, overlay: &'o Overlay) -> [Given<'o>; 2] {
        let door = self.file.door();
        [
            Given {
                flag: overlay.secret_file.as_deref(),
                environment: overlay.secret.as_ref(),
                file: door.secret_file.as_deref(),
            },
            Given {
                flag: overlay.previous_secret_file.as_deref(),
                environment: overlay.previous_secret.as_ref(),
                file: door.previous_secret_file.as_deref(),
            },
        ]
    }

    /// The section `server`, with flags and the environment laid over it.
    pub(crate) fn server(&self, overlay: &Overlay) -> WrittenSettings {
        let mut written = self.file.door().server.clone();
        written.listen = overlay.listen.or(written.listen);
        written.hosts = overlay.hosts.clone().or(written.hosts);
        written.threads = overlay.threads.or(written.threads);
        written.admin.listen = overlay.admin_listen.or(written.admin.listen);
        let allowed = overlay.admin_allow_remote.then_some(true);
        written.admin.allow_remote = allowed.or(written.admin.allow_remote);
        written
    }

    /// The admin token, as flags, the environment or the file give it; without one there is no admin
    /// listener.
    ///
    /// # Errors
    ///
    /// If the token cannot be read, or can be guessed.
    pub(crate) fn admin_token(&self, overlay: &Overlay) -> Result<Option<AdminToken>> {
        let token = token::find(self.admin(overlay))?;
        Ok(token.map(|token| AdminToken::try_new(token.reveal())).transpose()?)
    }

    /// The file of the admin token, if the token is read from a file.
    pub(crate) fn admin_token_file(&self, overlay: &Overlay) -> Option<PathBuf> {
        self.admin(overlay).path().map(Path::to_owned)
    }

    fn admin<'o>(&'o self, overlay: &'o Overlay) -> Given<'o> {
        Given {
            flag: overlay.admin_token_file.as_deref(),
            environment: overlay.admin_token.as_ref(),
            file: self.file.door().server.admin.token_file.as_deref(),
        }
    }

    /// The format and level of the log, as flags, the environment or the file say.
    pub(crate) fn log(&self, overlay: &Overlay) -> (log::Format, log::Level) {
        let written = self.file.door().log;
        (
            overlay.format.or(written.format).unwrap_or_default(),
            overlay.level.or(written.level).unwrap_or_default(),
        )
    }
}
