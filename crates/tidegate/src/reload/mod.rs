//! Puts a changed policy file in force while requests are decided.
//!
//! The file is read on SIGHUP, and when it has changed. A file that is wrong is refused as a whole: the
//! policies in force stay, and an error is logged. A file that is gone for a moment, as while it is
//! replaced, is not reported at all. A file that cannot be opened because the process is out of
//! descriptors is not called wrong; it is read when there is one again.

mod watch;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use tidegate_core::Store;
use tidegate_engine::Engine;
use tidegate_server::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::spawn_blocking;
use tracing::{error, info, warn};

use crate::cli::PolicySource;
use crate::config::Config;
use crate::descriptors;
use crate::store::SecretPlaces;
use watch::FileWatch;

/// How often a missing file is looked for before it is reported.
const LOOKS: usize = 10;

/// Reloads the policies of a running engine.
pub(crate) struct Reloader<'a, S> {
    engine: Arc<Engine<S>>,
    handle: Handle<S>,
    /// The settings that the process was started with, some of which cannot change.
    started: &'a Config,
    hangup: Signal,
    /// The file to watch; `None` for the built-in example, which does not change, and for pipes.
    file: Option<Watched>,
}

/// A policy file, and what was last seen of it.
struct Watched {
    path: PathBuf,
    watch: FileWatch,
    /// The text that was last seen, or why there was none. The same is not reported twice.
    seen: Result<String, String>,
}

/// Why the file is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// SIGHUP: somebody asked for a reload, and wants an answer.
    Hangup,
    /// The file may have changed.
    Change,
}

// === impl Reloader ===

impl<'a, S: Store + 'static> Reloader<'a, S> {
    /// Begins to watch the file that the policies in force come from.
    pub(crate) fn start(
        source: &PolicySource,
        started: &'a Config,
        engine: Arc<Engine<S>>,
        handle: Handle<S>,
    ) -> Result<Self> {
        let file = match source {
            // A pipe can be read once.
            PolicySource::File(path) if path.is_file() => {
                let watch = FileWatch::start(path).context("watching the policy file")?;
                Some(Watched { path: path.clone(), watch, seen: Ok(started.text.clone()) })
            }
            PolicySource::File(_) | PolicySource::BuiltIn | PolicySource::Stdin => None,
        };
        let hangup = signal(SignalKind::hangup()).context("listening for SIGHUP")?;
        Ok(Self { engine, handle, started, hangup, file })
    }

    /// Waits for a reason to reload the policies, and reloads them.
    pub(crate) async fn next(&mut self) {
        let Some(file) = &mut self.file else {
            if self.hangup.recv().await.is_some() {
                info!("nothing to reload: the policies come from no file that could have changed");
            }
            return;
        };
        let why = tokio::select! {
            _ = self.hangup.recv() => Why::Hangup,
            () = file.watch.changed() => Why::Change,
        };
        let Some(text) = file.look(why).await else { return };
        let path = file.path.display().to_string();
        match text {
            Ok(text) => self.reload(path, text).await,
            Err(error) => self.refuse(&path, &anyhow!(error).context("it cannot be read")),
        }
    }

    /// Checks a text and puts its policies in force, away from the thread that accepts connections.
    async fn reload(&self, path: String, text: String) {
        let engine = Arc::clone(&self.engine);
        let (name, overlay) = (path.clone(), self.started.overlay.clone());
        let reloaded = spawn_blocking(move || {
            let config = Config::parse(&name, text, overlay)?;
            engine.reload(config.file.policies())?;
            Ok(config)
        });
        match reloaded.await.unwrap_or_else(|error| Err(anyhow!("reading it failed: {error}"))) {
            Ok(config) => self.accept(&path, &config),
            Err(error) => self.refuse(&path, &error),
        }
    }

    fn accept(&self, path: &str, config: &Config) {
        self.handle.count_reload(true);
        let policies = config.policies().policies().len();
        info!(path, policies, "reloaded; the policies of the file are in force");
        let waiting = changed(self.started, config);
        if !waiting.is_empty() {
            let sections = waiting.join(", ");
            warn!(sections, "these have changed and take effect when the process is restarted");
        }
    }

    fn refuse(&self, path: &str, error: &anyhow::Error) {
        self.handle.count_reload(false);
        let diagnostic = format!("{error:#}");
        self.engine.refuse_reload(&diagnostic);
        let why = match descriptors::were_missing(error) {
            true => {
                "no file descriptor is left to read the file with; the policies in force stay, and the \
                 file is read when one is free"
            }
            false => "the file is wrong; the policies in force stay",
        };
        error!(path, diagnostic, "NOT reloaded: {why}");
    }
}

/// The names of the settings that a process keeps as it was `started`, and that a new file changes.
fn changed(started: &Config, new: &Config) -> Vec<&'static str> {
    let (ours, theirs) = (started.server(), new.server());
    let [secrets, new_secrets] =
        [started, new].map(|config| config.secrets().map(SecretPlaces::path));
    let same = [
        ("store", started.store().ok() == new.store().ok()),
        ("secret_file", secrets[0] == new_secrets[0]),
        ("previous_secret_file", secrets[1] == new_secrets[1]),
        ("memory", started.file.budget() == new.file.budget()),
        ("server.listen", ours.listen == theirs.listen),
        ("server.threads", ours.threads == theirs.threads),
        ("log", started.log() == new.log()),
    ];
    let mut changed: Vec<_> =
        same.into_iter().filter(|(_, same)| !same).map(|(name, _)| name).collect();
    let mut rest = theirs.clone();
    (rest.listen, rest.threads) = (ours.listen, ours.threads);
    if rest != ours {
        changed.push("server");
    }
    changed
}

// === impl Watched ===

impl Watched {
    /// Reads the file; `None` if it is as it was and nobody asked.
    async fn look(&mut self, why: Why) -> Option<io::Result<String>> {
        let mut found = self.read().await;
        // A file that is being replaced is back in a moment.
        for _ in 0..LOOKS {
            if found.is_ok() || why == Why::Hangup {
                break;
            }
            self.watch.pause().await;
            found = self.read().await;
        }
        let seen = found.as_ref().map(String::clone).map_err(ToString::to_string);
        let changed = std::mem::replace(&mut self.seen, seen) != self.seen;
        (changed || why == Why::Hangup).then_some(found)
    }

    async fn read(&self) -> io::Result<String> {
        let path = self.path.clone();
        let read = move || {
            // To open a pipe would be to wait for its writer.
            if path.exists() && !path.is_file() {
                return Err(io::Error::other("it is not a file any more"));
            }
            PolicySource::File(path).read()
        };
        spawn_blocking(read).await.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}
