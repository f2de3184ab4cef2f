//! The configuration of the process: the policy file, with flags and the environment laid over it.
//!
//! A flag comes before the environment, the environment before the file, the file before the default. The
//! first two come as an [`Overlay`], because the command line reads both; nothing else looks at the
//! environment.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_core::PolicySet;
use tidegate_engine::file::{Door, File, Hidden, Placed, Report, present, schema};
use tidegate_server::{AdminToken, WrittenSettings};
use tidegate_tower::settings::Written as WrittenHttp;

use crate::cli::{Overlay, PolicySource};
use crate::log;
use crate::store::{self, SecretPlaces, StoreChoice};

/// The policies served without a file; `tidegate example` prints them.
pub(crate) const BUILT_IN: &str = include_str!("../example.yaml");

/// All sections of a policy file beside the policies, whichever door they are for: a section that is
/// added here is known to every command, and its name belongs into `tidegate_engine::file::SECTIONS`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Sections {
    /// Where counters are kept: `memory`, or the URL of servers that a fleet shares, such as
    /// `redis://host:6379`. Default: memory.
    #[serde(deserialize_with = "present")]
    #[schemars(extend("pattern" = r"^(memory|rediss?(\+(sentinel|cluster))?://.+)$"))]
    #[schemars(extend("examples" = ["memory", "redis://127.0.0.1:6379"]))]
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
    /// How the layers of a service decide about its requests. The server has no use for it.
    #[serde(deserialize_with = "present")]
    pub(crate) http: Option<WrittenHttp>,
}

/// The section `log`, as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenLog {
    /// Whether the log is for people or for machines. Default: human.
    pub(crate) format: Option<log::LogFormat>,
    /// How much is logged. Default: info.
    pub(crate) level: Option<log::LogLevel>,
}

/// A policy file that was checked as a whole and is good.
pub(crate) struct Config {
    /// The text of the file.
    pub(crate) text: String,
    pub(crate) file: File<Sections>,
    /// The settings from flags and the environment, which come before those of the file.
    pub(crate) overlay: Overlay,
}

// === impl Sections ===

impl Door for Sections {
    fn check(&self, report: &mut Report<'_>) {
        if let Some(store) = &self.store
            && let Err(advice) = StoreChoice::parse(&store.value)
        {
            report.say_at(store.place, advice);
        }
        self.server.check(report);
        if let Some(http) = &self.http {
            http.check(report);
        }
    }
}

// === impl Config ===

impl Config {
    /// Reads and checks a policy file, with the numbers of an environment if the overlay names one.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, with its places.
    pub(crate) fn load(source: &PolicySource, overlay: &Overlay) -> Result<Self> {
        let text = source.read().with_context(|| format!("cannot read {source}"))?;
        Self::parse(&source.to_string(), text, overlay.clone())
    }

    /// Checks the text of a policy file, with the numbers of an environment if the overlay names one.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, with its places.
    pub(crate) fn parse(name: &str, text: String, overlay: Overlay) -> Result<Self> {
        let file = File::<Sections>::parse_in(name, &text, overlay.environment.as_deref());
        let file = file.map_err(|error| anyhow!("{error}"))?;
        Ok(Self { text, file, overlay })
    }

    /// The JSON schema of policy files.
    pub(crate) fn schema() -> serde_json::Value {
        schema::<Sections>().into()
    }

    /// The policies of the file.
    pub(crate) const fn policies(&self) -> &PolicySet {
        self.file.policy_set()
    }

    /// Where counters are kept, as flags, the environment or the file say.
    ///
    /// # Errors
    ///
    /// If the flag or the variable is wrong.
    pub(crate) fn store(&self) -> Result<StoreChoice> {
        let file = self.file.door().store.as_ref().map(|store| &store.value);
        match self.overlay.store.as_ref().or(file) {
            // The text of the file has been checked before, so a wrong one is of the flag or the
            // variable.
            Some(text) => StoreChoice::parse(text)
                .map_err(|advice| anyhow!("--store or TIDEGATE_STORE: {advice}")),
            None => Ok(StoreChoice::Memory),
        }
    }

    /// The places of the current and the previous secret of the fleet, as flags, the environment and the
    /// file give them.
    pub(crate) fn secrets(&self) -> [SecretPlaces<'_>; 2] {
        let (overlay, door) = (&self.overlay, self.file.door());
        [
            SecretPlaces {
                flag: overlay.secret_file.as_deref(),
                environment: overlay.secret.as_ref(),
                file: door.secret_file.as_deref(),
            },
            SecretPlaces {
                flag: overlay.previous_secret_file.as_deref(),
                environment: overlay.previous_secret.as_ref(),
                file: door.previous_secret_file.as_deref(),
            },
        ]
    }

    /// The section `server`, with flags and the environment laid over it.
    pub(crate) fn server(&self) -> WrittenSettings {
        let (overlay, mut written) = (&self.overlay, self.file.door().server.clone());
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
    pub(crate) fn admin_token(&self) -> Result<Option<AdminToken>> {
        let token = store::admin_token(self.admin())?;
        Ok(token.map(|token| AdminToken::try_new(token.reveal())).transpose()?)
    }

    /// The places of the admin token.
    pub(crate) fn admin(&self) -> SecretPlaces<'_> {
        SecretPlaces {
            flag: self.overlay.admin_token_file.as_deref(),
            environment: self.overlay.admin_token.as_ref(),
            file: self.file.door().server.admin.token_file.as_deref(),
        }
    }

    /// The format and level of the log, as flags, the environment or the file say.
    pub(crate) fn log(&self) -> (log::LogFormat, log::LogLevel) {
        let (overlay, written) = (&self.overlay, self.file.door().log);
        (
            overlay.log_format.or(written.format).unwrap_or_default(),
            overlay.log_level.or(written.level).unwrap_or_default(),
        )
    }
}
