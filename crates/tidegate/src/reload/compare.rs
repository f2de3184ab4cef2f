//! The settings that cannot change while the process runs, and whether a new file changes them.

use std::path::PathBuf;

use tidegate_engine::memory::Budget;
use tidegate_server::WrittenSettings;

use crate::config::{Config, Overlay};
use crate::log;
use crate::store::Choice;

/// The settings that a process was started with and keeps.
pub(super) struct Fixed {
    /// `None` if flags or the environment are wrong, and then the process has not started.
    store: Option<Choice>,
    /// The file of the secret, and that of the previous secret.
    secret_files: [Option<PathBuf>; 2],
    server: WrittenSettings,
    budget: Budget,
    log: (log::Format, log::Level),
}

// === impl Fixed ===

impl Fixed {
    pub(super) fn of(config: &Config, overlay: &Overlay) -> Self {
        let (server, log) = (config.server(overlay), config.log(overlay));
        let store = config.store(overlay).ok();
        let secret_files = config.secret_files(overlay);
        Self { store, secret_files, server, budget: config.budget(), log }
    }

    /// The names of the settings that a new file changes.
    pub(super) fn changed(&self, config: &Config, overlay: &Overlay) -> Vec<&'static str> {
        let other = Self::of(config, overlay);
        let (ours, theirs) = (&self.server, &other.server);
        let same = [
            ("store", self.store == other.store),
            ("secret_file", self.secret_files[0] == other.secret_files[0]),
            ("previous_secret_file", self.secret_files[1] == other.secret_files[1]),
            ("memory", self.budget == other.budget),
            ("server.listen", ours.listen == theirs.listen),
            ("server.threads", ours.threads == theirs.threads),
            ("log", self.log == other.log),
        ];
        let mut changed: Vec<_> =
            same.into_iter().filter(|(_, same)| !same).map(|(name, _)| name).collect();
        let mut rest = theirs.clone();
        (rest.listen, rest.threads) = (ours.listen, ours.threads);
        if rest != *ours {
            changed.push("server");
        }
        changed
    }
}
